"""An MCP server with prompts, resources and requests: `python primitiveserver.py ERA [FAULT]`.

The era is `legacy`, for the protocol up to 2025-11-25, or `modern`, for later versions alone.
With a fault it claims what it does not have: `claims` answers with errors, `hangs` not at all. With
`announces` it announces a change of its lists whenever they are listed, and with `differs` its
prompts differ each time. With the fault `blank` it has an empty cursor.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

ERA, FAULT = sys.argv[1], (sys.argv[2:] or [""])[0]
NAME = os.environ.get("NAME", "shop")
SIZE = int(os.environ.get("SIZE", "1"))
URIS = os.environ.get("URIS", f"note://shared {NAME}://own").split()
TEXT = {"type": "string"}
FORM = {"type": "object", "properties": {"city": TEXT}, "required": ["city"]}
SAMPLED = {"role": "user", "content": {"type": "text", "text": "hello"}}
QUESTIONS: dict[str, types.Request[Any, Any]] = {
    "elicit": types.ElicitRequest(
        params=types.ElicitRequestFormParams(message="Which city?", requested_schema=FORM)
    ),
    "sample": types.CreateMessageRequest.model_validate(
        {"params": {"messages": [SAMPLED], "maxTokens": 9}}
    ),
    "roots": types.ListRootsRequest(),
}
ANSWERS: dict[str, Any] = {
    "elicit": types.ElicitResult,
    "sample": types.CreateMessageResult,
    "roots": types.ListRootsResult,
}
bus = InMemorySubscriptionBus()
prompts = ["greet", "huge"]
folders: list[str] = []
left: list[str] = []
given_up = anyio.Event()


def note(line: str) -> None:
    """Note *line* in the file that the environment names."""
    if "NOTE" in os.environ:
        with Path(os.environ["NOTE"]).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


async def failing(ctx: Any = None) -> None:
    """Fail as wanted; *ctx* is the request of a list."""
    if FAULT in ("announces", "differs") and ctx is not None:
        note("listed")
        await ctx.session.send_resource_list_changed()
        await ctx.session.send_prompt_list_changed()
    if FAULT == "claims":
        raise MCPError(-32601, "Method not found")
    if FAULT == "hangs":
        note("hangs")
        await anyio.sleep(600)


async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
    """List the tools."""
    others = ("log", "change", "touch", "link", "folders", "who")
    names = (*QUESTIONS, *others, *LATER)
    tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in names]
    return types.ListToolsResult(tools=tools)


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Do what the tool is called."""
    if params.name in QUESTIONS:
        return await asked(ctx, params)
    if params.name in LATER:
        return await LATER[params.name](ctx, params)
    if params.name == "log":
        for level in ("debug", "error"):
            await ctx.session.send_log_message(level, {"n": level}, "mine", ctx.request_id)
    if params.name == "change":
        prompts.append("late")
        await ctx.session.send_prompt_list_changed()
        await bus.publish(PromptsListChanged())
    if params.name == "touch":
        await ctx.session.send_resource_updated(URIS[0])
        await bus.publish(ResourceUpdated(URIS[0]))
    if params.name == "link":
        links = [{"type": "resource_link", "name": "a", "uri": uri} for uri in (URIS[0], "x:un")]
        inner = {"type": "resource", "resource": {"uri": URIS[0], "text": NAME}}
        return types.CallToolResult.model_validate({"content": [*links, inner]})
    return result({"folders": " ".join(folders), "who": str(os.getpid())}.get(params.name, "done"))


def result(text: str = "done") -> types.CallToolResult:
    """Return a result."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def leave(_: Any, __: Any) -> types.CallToolResult:
    """Leave a question to a later call."""
    left.append("elicit")
    return result()


async def work(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Log, and ask what an earlier call has left."""
    await ctx.session.send_log_message("error", {"n": "of another call"}, "mine")
    return await asked(ctx, params.model_copy(update={"name": left.pop()}))


async def wait(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Ask until that is given up, and then, if the arguments name it, for something else."""
    async with anyio.create_task_group() as group:
        group.start_soon(asked, ctx, params.model_copy(update={"name": "elicit"}))
        await given_up.wait()
        group.cancel_scope.cancel()
    then = (params.arguments or {}).get("then")
    return result() if then is None else await asked(ctx, params.model_copy(update={"name": then}))


async def give_up(_: Any, __: Any) -> types.CallToolResult:
    """Give up what is asked."""
    given_up.set()
    return result()


async def crowd(ctx: Any, _: Any) -> types.CallToolResult:
    """Ask eleven questions at once, until one is refused."""
    refused: list[str] = []

    async def ask() -> None:
        try:
            await ctx.session.send_request(QUESTIONS["elicit"], ANSWERS["elicit"])
        except MCPError as fault:
            refused.append(fault.error.message)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for _ in range(11):
            group.start_soon(ask)
    return result(refused[0])


LATER = {"leave": leave, "work": work, "wait": wait, "give_up": give_up, "crowd": crowd}


async def asked(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Ask the client, and answer what it answers."""
    question, model = QUESTIONS[params.name], ANSWERS[params.name]
    if ERA == "modern":
        if not params.input_responses:
            return types.InputRequiredResult(input_requests={"q": question}, request_state="s")
        assert params.request_state == "s"
        answer = params.input_responses["q"]
    else:
        related = ServerMessageMetadata(related_request_id=ctx.request_id)
        try:
            answer = await ctx.session.send_request(question, model, metadata=related)
        except MCPError as fault:
            note(f"{params.name} refused: {fault.error.message}")
            return result(f"refused: {fault.error.message}")
    return result(model.model_validate(answer.model_dump()).model_dump_json(by_alias=True))


async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    """List the resources, in two pages as the fault `blank` has it, with an empty cursor."""
    await failing(ctx)
    if FAULT == "blank":
        is_first = params is None or params.cursor is None
        shown = URIS[:1] if is_first else URIS[1:]
        resources = [types.Resource(name=u, uri=u) for u in shown]
        return types.ListResourcesResult(resources=resources, next_cursor="" if is_first else None)
    return types.ListResourcesResult(resources=[types.Resource(name=u, uri=u) for u in URIS])


async def list_templates(ctx: Any, __: Any) -> types.ListResourceTemplatesResult:
    """List the template."""
    await failing(ctx)
    template = types.ResourceTemplate(name="item", uri_template="item:///{id}/data")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Read a resource."""
    await failing()
    if params.uri == "note://missing":
        raise MCPError(-32002, "no such note", {"uri": params.uri})
    text = "x" * SIZE if params.uri == "note://huge" else f"{NAME} {params.uri}"
    contents = types.TextResourceContents(uri=params.uri, text=text)
    return types.ReadResourceResult(contents=[contents])


async def list_prompts(ctx: Any, __: Any) -> types.ListPromptsResult:
    """List the prompts."""
    await failing(ctx)
    since = f" since {time.time()}" if FAULT == "differs" else ""
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(name=name, description=f"{name} of {NAME}{since}") for name in prompts
        ]
    )


async def get_prompt(_: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """Return a prompt."""
    await failing()
    if "refuse" in (params.arguments or {}):
        raise MCPError(-32602, "refused", params.arguments)
    text = "x" * SIZE if params.name == "huge" else f"{NAME}: {params.arguments}"
    content = types.TextContent(type="text", text=text)
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


async def complete(_: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Complete an argument."""
    ref = params.ref
    of = ref.name if isinstance(ref, types.PromptReference) else ref.uri
    values = [f"{NAME} {of} {params.argument.value}"]
    return types.CompleteResult(completion=types.Completion(values=values))


async def noted(ctx: Any, params: Any) -> types.EmptyResult:
    """Note a request that has no result."""
    note(f"{ctx.method} {params.model_dump(exclude_none=True)}")
    return types.EmptyResult()


async def take_roots(ctx: Any, _: Any) -> None:
    """Ask for the roots, as servers of folders do when they are connected, and when told."""
    try:
        found = await ctx.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
        folders[:] = [str(one.uri) for one in found.roots]
    except MCPError as fault:
        note(f"no roots: {fault.error.message}")


async def only_later(ctx: Any, call_next: Any) -> Any:
    """Refuse the handshake of the older versions."""
    if ctx.method == "initialize":
        note("refused")
        raise MCPError(types.UNSUPPORTED_PROTOCOL_VERSION, "too old", {"supported": ["2026-07-28"]})
    return await call_next(ctx)


async def main() -> None:
    """Serve."""
    server: Server[Any] = Server(
        NAME,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
        on_subscribe_resource=noted,
        on_unsubscribe_resource=noted,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_subscriptions_listen=ListenHandler(bus),
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, noted)
    if "ROOTS" in os.environ:
        for method in ("notifications/initialized", "notifications/roots/list_changed"):
            server.add_notification_handler(method, types.NotificationParams, take_roots)
    if ERA == "modern":
        server.middleware.append(only_later)
    options = server.create_initialization_options(NotificationOptions(True, True, True))
    async with stdio_server() as (incoming, outgoing):
        if ERA == "legacy":
            await serve_loop(server, incoming, outgoing, lifespan_state={}, init_options=options)
        else:
            await server.run(incoming, outgoing, options)


if __name__ == "__main__":
    anyio.run(main)
