"""The search of mcpg as the tool retriever of a LangGraph agent.

agent = make_agent(model, tools)
agent.invoke({"messages": [("user", "where is my parcel")]})
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import mcpg
from mcpg.bundle import assemble
from mcpg.engine.loading import compile_assembly
from mcpg.index import Index
from mcpg.sources import read_sources


class State(MessagesState):
    """The messages, and the names of the tools that fit the request."""

    tools: list[str]


def make_retriever(tools: Sequence[BaseTool]) -> Callable[[str], list[str]]:
    """Return a function that finds the names of the *tools* for a request."""
    definitions = [convert_to_openai_tool(tool) for tool in tools]
    engine = mcpg.Engine(Index(compile_assembly(assemble(read_sources(definitions)))))

    def retrieve(query: str) -> list[str]:
        return [match.tool_name for match in engine.search(query, abstain=True).matches]

    return retrieve


def make_agent(model: BaseChatModel, tools: Sequence[BaseTool]) -> Any:
    """Return an agent whose *model* sees only those of the *tools* that fit the request."""
    retrieve, known = make_retriever(tools), {tool.name: tool for tool in tools}

    def select(state: State) -> dict[str, Any]:
        return {"tools": retrieve(str(state["messages"][-1].content))}

    def act(state: State) -> dict[str, Any]:
        bound = model.bind_tools([known[name] for name in state["tools"]])
        return {"messages": [bound.invoke(state["messages"])]}

    graph = StateGraph(State)
    graph.add_node("select", select)
    graph.add_node("act", act)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "select")
    graph.add_edge("select", "act")
    graph.add_conditional_edges("act", tools_condition)
    graph.add_edge("tools", "act")
    return graph.compile()
