"""An MCP server with a tool, resource and prompt of every kind: `python everykindserver.py [PORT]`.

With a port it serves over streamable HTTP, else over standard input and output. Real clients call
it directly and behind the gateway, so it speaks all versions of the protocol.
"""

import sys
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5E"
    "rkJggg=="
)
CITY = {"type": "string", "description": "Name of a city."}
TAKES_CITY = {"type": "object", "properties": {"city": CITY}, "required": ["city"]}
TAKES_NOTHING = {"type": "object", "properties": {}}
DEGREES = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "number"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
CITIES = {"type": "array", "items": {"type": "string"}}
TEXT = {"type": "text", "text": "Rain, 11 degrees."}
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
NOTE = {"uri": "note://embedded", "mimeType": "text/plain", "text": "An embedded note."}
EMBEDDED = {"type": "resource", "resource": NOTE}
LINK = {"type": "resource_link", "name": "manual", "uri": "note://manual"}
MEASURED = {"content": [TEXT], "structuredContent": {"city": "Turin", "degrees": 11.5}}
REFUSAL = {"type": "text", "text": "The station of Turin is offline."}
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "measure_temperature": ("Measure the temperature of a city now.", {"outputSchema": DEGREES}),
    "measure_humidity": ("Fails: the station is offline.", {"outputSchema": DEGREES}),
    "measure_wind": ("Fails, with a code that its schema lacks.", {"outputSchema": DEGREES}),
    "forecast_text": ("Write a weather forecast as text.", {}),
    "draw_map": ("Draw a weather map as an image.", {}),
    "attach_note": ("Attach a note and a link to another.", {}),
    "count_down": ("Count down slowly, with progress.", {}),
    "break_down": ("Answer with an error of the protocol.", {}),
    "ask_city": ("Ask the user for a city.", {}),
    "ask_model": ("Ask the model for a poem about rain.", {}),
}
RESULTS: dict[str, Any] = {
    "measure_temperature": MEASURED,
    "measure_humidity": {"content": [REFUSAL], "isError": True},
    "measure_wind": {"content": [REFUSAL], "isError": True, "structuredContent": {"code": 7}},
    "forecast_text": {"content": [TEXT]},
    "draw_map": {"content": [TEXT, IMAGE]},
    "attach_note": {"content": [EMBEDDED, LINK]},
}


def said(text: str) -> types.CallToolResult:
    """Make a result of text."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
    """List the tools."""
    listed = [
        {
            "name": name,
            "description": text,
            "inputSchema": TAKES_CITY if name.startswith("measure") else TAKES_NOTHING,
            **more,
        }
        for name, (text, more) in TOOLS.items()
    ]
    return types.ListToolsResult.model_validate({"tools": listed})


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Do what a tool of this name does."""
    if params.name in RESULTS:
        return types.CallToolResult.model_validate(RESULTS[params.name])
    if params.name == "count_down":
        for step in range(3):
            await ctx.session.report_progress(step, 3, f"step {step}")
            await anyio.sleep(0.05)
        return said("counted")
    if params.name in ("ask_city", "ask_model"):
        return await asked(ctx, params)
    raise MCPError(-32010, "The station is broken.", {"since": "Monday"})


QUESTIONS: dict[str, tuple[Any, Any]] = {
    "ask_city": (
        types.ElicitRequest(
            params=types.ElicitRequestFormParams(message="Which city?", requested_schema=TAKES_CITY)
        ),
        types.ElicitResult,
    ),
    "ask_model": (
        types.CreateMessageRequest.model_validate(
            {
                "params": {
                    "messages": [{"role": "user", "content": {"type": "text", "text": "Rain?"}}],
                    "maxTokens": 9,
                }
            }
        ),
        types.CreateMessageResult,
    ),
}


async def asked(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Ask the client, and return what it answers."""
    question, model = QUESTIONS[params.name]
    if ctx.protocol_version >= "2026":
        if not params.input_responses:
            return types.InputRequiredResult(input_requests={"q": question}, request_state="s")
        answer = model.model_validate(params.input_responses["q"].model_dump())
    else:
        related = ServerMessageMetadata(related_request_id=ctx.request_id)
        try:
            answer = await ctx.session.send_request(question, model, metadata=related)
        except MCPError as fault:
            return said(f"refused: {fault.error.message}")
    return said(answer.model_dump_json(by_alias=True, exclude_none=True))


async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
    """List the resources."""
    listed = [
        {"name": "manual", "uri": "note://manual", "mimeType": "text/plain"},
        {"name": "logo", "uri": "note://logo", "mimeType": "image/png"},
    ]
    return types.ListResourcesResult.model_validate({"resources": listed})


async def list_templates(_: Any, __: Any) -> types.ListResourceTemplatesResult:
    """List the template."""
    template = types.ResourceTemplate(name="station", uri_template="station:///{id}/report")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Read a resource."""
    uri = str(params.uri)
    if uri == "note://missing":
        raise MCPError(-32002, "Resource not found", {"uri": uri})
    content: Any = types.TextResourceContents(uri=uri, mime_type="text/plain", text=f"at {uri}")
    if uri == "note://logo":
        content = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
    return types.ReadResourceResult(contents=[content])


async def list_prompts(_: Any, __: Any) -> types.ListPromptsResult:
    """List the prompts."""
    listed = [
        {"name": "greet", "description": "Greet somebody.", "arguments": [{"name": "name"}]},
        {"name": "show_map", "description": "Show a map."},
    ]
    return types.ListPromptsResult.model_validate({"prompts": listed})


async def get_prompt(_: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """Return a prompt."""
    contents: list[Any] = [
        {"type": "text", "text": f"Hello {(params.arguments or {}).get('name')}"}
    ]
    if params.name == "show_map":
        contents = [IMAGE, EMBEDDED]
    messages = [{"role": "user", "content": one} for one in contents]
    return types.GetPromptResult.model_validate({"description": params.name, "messages": messages})


async def complete(_: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Complete an argument."""
    values = [f"{params.argument.value}rin"]
    return types.CompleteResult(completion=types.Completion(values=values, total=1))


async def serve(server: Server[Any]) -> None:
    """Serve over standard input and output."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def main() -> None:
    """Serve."""
    server: Server[Any] = Server(
        "weather",
        version="1",
        instructions="Weather of cities.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )
    if len(sys.argv) > 1:
        app = server.streamable_http_app()
        uvicorn.run(app, port=int(sys.argv[1]), log_level="critical")
    else:
        anyio.run(serve, server)


if __name__ == "__main__":
    main()
