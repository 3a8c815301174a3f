"""Does the steps of `bench_clients.py` with one Python client: `python drive.py CLIENT < JOB`.

It runs in the environment of that client, without mcpg. JOB is a JSON object: `server`, an entry of
`mcpServers`, and `steps`, lists of a method of `Driver` and its arguments. It prints a list of what
they returned (`ok`) or raised (`error`), as JSON.
"""

import asyncio
import base64
import json
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

ANSWER = {"city": "Turin"}
SAMPLE = {"role": "assistant", "model": "none", "content": {"type": "text", "text": "Drip."}}
LIMIT = 60


def plain(value: Any) -> Any:
    """Return *value* as JSON values; objects without a JSON form as their representation."""
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="json", by_alias=True, exclude_none=True))
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if value is None or isinstance(value, str | int | float):
        return value
    known = getattr(value, "__dict__", None)
    return plain(known) if known else repr(value)


class Sdk:
    """The official SDK, versions 1."""

    def __init__(self, session: Any) -> None:
        self.session = session

    @classmethod
    @asynccontextmanager
    async def connected(cls, server: Any) -> Any:
        from mcp import ClientSession, StdioServerParameters, stdio_client, types
        from mcp.client.streamable_http import streamablehttp_client

        async def elicit(*_: Any) -> Any:
            return types.ElicitResult(action="accept", content=ANSWER)

        async def sample(*_: Any) -> Any:
            return types.CreateMessageResult.model_validate(SAMPLE)

        opened = (
            streamablehttp_client(server["url"], headers=server.get("headers"))
            if "url" in server
            else stdio_client(StdioServerParameters(**server))
        )
        async with (
            opened as (incoming, outgoing, *_),
            ClientSession(
                incoming, outgoing, elicitation_callback=elicit, sampling_callback=sample
            ) as session,
        ):
            await session.initialize()
            yield cls(session)

    async def tools(self) -> Any:
        return (await self.session.list_tools()).tools

    async def call(self, name: str, arguments: Any) -> Any:
        return await self.session.call_tool(name, arguments)

    async def resources(self) -> Any:
        return (await self.session.list_resources()).resources

    async def templates(self) -> Any:
        found = await self.session.list_resource_templates()
        return getattr(found, "resource_templates", None) or found.resourceTemplates

    async def read(self, uri: str) -> Any:
        return await self.session.read_resource(uri)

    async def prompts(self) -> Any:
        return (await self.session.list_prompts()).prompts

    async def prompt(self, name: str, arguments: Any) -> Any:
        return await self.session.get_prompt(name, arguments)


class Sdk2(Sdk):
    """The official SDK, versions 2."""

    @classmethod
    @asynccontextmanager
    async def connected(cls, server: Any) -> Any:
        import mcp_types as types
        from mcp import Client, StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        async def elicit(*_: Any) -> Any:
            return types.ElicitResult(action="accept", content=ANSWER)

        async def sample(*_: Any) -> Any:
            return types.CreateMessageResult.model_validate(SAMPLE)

        async with AsyncExitStack() as stack:
            if "url" in server:
                opened = create_mcp_http_client(headers=server.get("headers"))
                http = await stack.enter_async_context(opened)
                transport = streamable_http_client(server["url"], http_client=http)
            else:
                transport = stdio_client(StdioServerParameters(**server))
            client = Client(transport, elicitation_callback=elicit, sampling_callback=sample)
            yield cls(await stack.enter_async_context(client))


def transport_of(server: Any) -> Any:
    """Return FastMCP's transport to a server."""
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    if "url" in server:
        return StreamableHttpTransport(server["url"], headers=server.get("headers"))
    return StdioTransport(**server)


async def elicit(_: Any, response_type: Any, *__: Any) -> Any:
    """Answer an elicitation as FastMCP asks for one."""
    return response_type(**ANSWER)


async def sample(*_: Any) -> Any:
    """Answer a request for sampling as FastMCP asks for one."""
    return SAMPLE["content"]["text"]


class FastMcp(Sdk):
    """FastMCP's client."""

    @classmethod
    @asynccontextmanager
    async def connected(cls, server: Any) -> Any:
        from fastmcp import Client

        transport = transport_of(server)
        client = Client(transport, elicitation_handler=elicit, sampling_handler=sample)
        async with client:
            yield cls(client)

    async def tools(self) -> Any:
        return await self.session.list_tools()

    async def resources(self) -> Any:
        return await self.session.list_resources()

    async def templates(self) -> Any:
        return await self.session.list_resource_templates()

    async def prompts(self) -> Any:
        return await self.session.list_prompts()


class LangChain(Sdk):
    """LangChain's adapters: tools, messages and blobs of LangChain."""

    @classmethod
    @asynccontextmanager
    async def connected(cls, server: Any) -> Any:
        from langchain_mcp_adapters.callbacks import Callbacks
        from langchain_mcp_adapters.client import MultiServerMCPClient
        from mcp import types

        async def elicit(*_: Any) -> Any:
            return types.ElicitResult(action="accept", content=ANSWER)

        kind = "streamable_http" if "url" in server else "stdio"
        connections: Any = {"one": {**server, "transport": kind}}
        callbacks = Callbacks(on_elicitation=elicit)
        client = MultiServerMCPClient(connections, callbacks=callbacks)
        async with client.session("one") as session:
            yield cls(session)

    async def tools(self) -> Any:
        from langchain_core.utils.function_calling import convert_to_openai_tool
        from langchain_mcp_adapters.tools import load_mcp_tools

        self.known = {tool.name: tool for tool in await load_mcp_tools(self.session)}
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "openai": convert_to_openai_tool(tool),
            }
            for tool in self.known.values()
        ]

    async def call(self, name: str, arguments: Any) -> Any:
        message = await self.known[name].ainvoke(
            {"type": "tool_call", "id": "1", "name": name, "args": arguments}
        )
        content = message.content
        if isinstance(content, list):  # each block has an id of chance
            content = [{key: one[key] for key in one if key != "id"} for one in content]
        return {"status": message.status, "content": content, "artifact": message.artifact}

    async def resources(self) -> Any:
        from langchain_mcp_adapters.resources import load_mcp_resources

        found = await load_mcp_resources(self.session)
        return [{"uri": str(one.metadata["uri"]), "data": one.data} for one in found]

    async def templates(self) -> Any:
        raise NotImplementedError

    async def read(self, uri: str) -> Any:
        from langchain_mcp_adapters.resources import load_mcp_resources

        (found,) = await load_mcp_resources(self.session, uris=uri)
        return {"mimetype": found.mimetype, "data": found.data}

    async def prompts(self) -> Any:
        raise NotImplementedError

    async def prompt(self, name: str, arguments: Any) -> Any:
        from langchain_mcp_adapters.prompts import load_mcp_prompt

        messages = await load_mcp_prompt(self.session, name, arguments=arguments)
        return [{"type": one.type, "content": one.content} for one in messages]


class McpUse(FastMcp):
    """mcp-use: its sessions, and its tools for LangChain."""

    @classmethod
    @asynccontextmanager
    async def connected(cls, server: Any) -> Any:
        from mcp import types
        from mcp_use import MCPClient

        async def elicit(*_: Any) -> Any:
            return types.ElicitResult(action="accept", content=ANSWER)

        async def sample(*_: Any) -> Any:
            return types.CreateMessageResult.model_validate(SAMPLE)

        client = MCPClient.from_dict(
            {"mcpServers": {"one": server}}, sampling_callback=sample, elicitation_callback=elicit
        )
        try:
            found = cls(await client.create_session("one"))
            found.client = client
            yield found
        finally:
            await client.close_all_sessions()

    async def tools(self) -> Any:
        from mcp_use.agents.adapters.langchain_adapter import LangChainAdapter

        adapter = LangChainAdapter()
        await adapter.create_all(self.client)
        self.known = {tool.name: tool for tool in adapter.tools}
        return await self.session.list_tools()

    async def call(self, name: str, arguments: Any) -> Any:
        return {
            "session": await self.session.call_tool(name, arguments),
            "langchain": await self.known[name].ainvoke(arguments),
        }

    async def templates(self) -> Any:
        raise NotImplementedError


class OpenAi(Sdk):
    """The OpenAI Agents SDK."""

    @classmethod
    @asynccontextmanager
    async def connected(cls, server: Any) -> Any:
        from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

        made = MCPServerStreamableHttp if "url" in server else MCPServerStdio
        async with made(
            params=server, cache_tools_list=True, client_session_timeout_seconds=LIMIT
        ) as found:
            yield cls(found)

    async def tools(self) -> Any:
        from agents.mcp import MCPUtil

        listed = await self.session.list_tools()
        functions = [
            MCPUtil.to_function_tool(one, self.session, convert_schemas_to_strict=True)
            for one in listed
        ]
        self.known = {one.name: one for one in functions}
        return [
            {
                **plain(one),
                "strict": [
                    self.known[one.name].strict_json_schema,
                    self.known[one.name].params_json_schema,
                ],
            }
            for one in listed
        ]

    async def call(self, name: str, arguments: Any) -> Any:
        from agents.mcp import MCPUtil
        from agents.run_context import RunContextWrapper

        listed = {one.name: one for one in await self.session.list_tools()}
        context = RunContextWrapper(context=None)
        return {
            "session": await self.session.call_tool(name, arguments),
            "function": await MCPUtil.invoke_mcp_tool(
                self.session, listed[name], context, json.dumps(arguments)
            ),
        }

    async def templates(self) -> Any:
        found = await self.session.list_resource_templates()
        return getattr(found, "resource_templates", None) or found.resourceTemplates


class PydanticAi(FastMcp):
    """Pydantic AI's toolset."""

    @classmethod
    @asynccontextmanager
    async def connected(cls, server: Any) -> Any:
        from pydantic_ai.mcp import MCPToolset

        transport = transport_of(server)
        async with MCPToolset(
            transport,
            elicitation_handler=elicit,
            sampling_handler=sample,
            init_timeout=LIMIT,
        ) as toolset:
            yield cls(toolset)

    async def tools(self) -> Any:
        return await self.session.list_tools()

    async def call(self, name: str, arguments: Any) -> Any:
        return await self.session.direct_call_tool(name, arguments)


class PydanticAi1(PydanticAi):
    """Pydantic AI's servers, versions 1."""

    @classmethod
    @asynccontextmanager
    async def connected(cls, server: Any) -> Any:
        from pydantic_ai.mcp import MCPServerStdio, MCPServerStreamableHTTP

        if "url" in server:
            made: Any = MCPServerStreamableHTTP(
                server["url"], headers=server.get("headers"), timeout=LIMIT
            )
        else:
            made = MCPServerStdio(**server, timeout=LIMIT)
        async with made as found:
            yield cls(found)

    async def prompts(self) -> Any:
        raise NotImplementedError

    async def prompt(self, name: str, arguments: Any) -> Any:
        raise NotImplementedError


CLIENTS = {
    "mcp1": Sdk,
    "mcp2": Sdk2,
    "fastmcp": FastMcp,
    "langchain": LangChain,
    "mcp-use": McpUse,
    "openai": OpenAi,
    "pydantic": PydanticAi,
    "pydantic1": PydanticAi1,
}


async def main(name: str, job: Any) -> list[Any]:
    """Return the outcomes."""
    outcomes: list[Any] = []
    async with CLIENTS[name].connected(job["server"]) as client:
        for method, *arguments in job["steps"]:
            try:
                value = await asyncio.wait_for(getattr(client, method)(*arguments), LIMIT)
                outcomes.append({"ok": plain(value)})
            except (NotImplementedError, AttributeError) as error:
                outcomes.append({"unsupported": str(error)})
            except Exception as error:
                outcomes.append({"error": f"{type(error).__name__}: {error}"})
    return outcomes


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], json.load(sys.stdin)))))
