"""A server with what the conformance suite of MCP tests: `python conformanceserver.py PORT`.

It has the names and results that the suite documents for servers under test.
"""

import sys
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5E"
    "rkJggg=="
)
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
RESOURCE = {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "An embedded one."}
EMBEDDED = {"type": "resource", "resource": RESOURCE}
TITLED = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
OPTIONS = ["option1", "option2", "option3"]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["One", "Two"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
ANSWER = {"response": {"type": "string", "description": "The response of the user"}}
FORMS = {
    "test_elicitation": ANSWER,
    "test_elicitation_sep1034_defaults": DEFAULTS,
    "test_elicitation_sep1330_enums": ENUMS,
}
ADDRESS = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
CONTENT: dict[str, list[Any]] = {
    "test_simple_text": [{"type": "text", "text": "This is a simple text response for testing."}],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}],
    "test_embedded_resource": [EMBEDDED],
    "test_multiple_content_types": [{"type": "text", "text": "Multiple:"}, IMAGE, EMBEDDED],
    "json_schema_2020_12_tool": [{"type": "text", "text": "done"}],
}
TOOLS = (*CONTENT, *FORMS, "test_tool_with_logging", "test_tool_with_progress")
PROMPTS: dict[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
}


def said(text: str, *, is_error: bool = False) -> types.CallToolResult:
    """Make a result of text."""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], is_error=is_error
    )


def logged(step: int) -> types.LoggingMessageNotification:
    """Make a log message."""
    params = types.LoggingMessageNotificationParams(level="info", data=f"step {step}")
    return types.LoggingMessageNotification(params=params)


async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
    """List the tools."""
    tools = []
    for name in (*TOOLS, "test_sampling", "test_error_handling"):
        schema = ADDRESS if name == "json_schema_2020_12_tool" else {"type": "object"}
        tools.append(types.Tool(name=name, description=name, input_schema=schema))
    return types.ListToolsResult(tools=tools)


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Do what a tool of this name does."""
    name, arguments = params.name, params.arguments or {}
    if name in CONTENT:
        return types.CallToolResult.model_validate({"content": CONTENT[name]})
    if name in FORMS:
        form = {"type": "object", "properties": FORMS[name], "required": []}
        message = arguments.get("message", "Please fill in")
        found = await ctx.session.elicit_form(message, form, ctx.request_id)
        return said(f"action={found.action}, content={found.content}")
    if name == "test_sampling":
        content = {"type": "text", "text": arguments["prompt"]}
        asked = {"messages": [{"role": "user", "content": content}], "maxTokens": 100}
        request = types.CreateMessageRequest.model_validate({"params": asked})
        related = ServerMessageMetadata(related_request_id=ctx.request_id)
        model = types.CreateMessageResult
        made = await ctx.session.send_request(request, model, metadata=related)
        return said(f"LLM response: {made.content.text}")
    if name == "test_error_handling":
        return said("This tool intentionally returns an error for testing", is_error=True)
    for step in (0, 50, 100):
        if name == "test_tool_with_logging":
            await ctx.session.send_notification(logged(step), ctx.request_id)
        else:
            await ctx.session.report_progress(step, 100, f"step {step}")
        await anyio.sleep(0.05)
    return said("done")


async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
    """List the resources."""
    names = ("static-text", "static-binary", "watched-resource")
    listed = [
        types.Resource(name=name, uri=f"test://{name}", description=name, mime_type="text/plain")
        for name in names
    ]
    return types.ListResourcesResult(resources=listed)


async def list_templates(_: Any, __: Any) -> types.ListResourceTemplatesResult:
    """List the template."""
    template = types.ResourceTemplate(name="data", uri_template="test://template/{id}/data")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Read a resource."""
    uri = params.uri
    content: Any = types.TextResourceContents(uri=uri, mime_type="text/plain", text=f"at {uri}")
    if uri == "test://static-binary":
        content = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
    return types.ReadResourceResult(contents=[content])


async def list_prompts(_: Any, __: Any) -> types.ListPromptsResult:
    """List the prompts."""
    return types.ListPromptsResult.model_validate(
        {
            "prompts": [
                {"name": name, "description": name, "arguments": [{"name": one} for one in given]}
                for name, given in PROMPTS.items()
            ]
        }
    )


async def get_prompt(_: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """Return a prompt."""
    given = params.arguments or {}
    contents: list[Any] = [{"type": "text", "text": f"Prompt with {', '.join(given.values())}"}]
    if "resourceUri" in given:
        contents.append({**EMBEDDED, "resource": {**RESOURCE, "uri": given["resourceUri"]}})
    if params.name == "test_prompt_with_image":
        contents.append(IMAGE)
    messages = [{"role": "user", "content": one} for one in contents]
    return types.GetPromptResult.model_validate({"messages": messages})


async def complete(_: Any, __: Any) -> types.CompleteResult:
    """Complete an argument."""
    return types.CompleteResult(completion=types.Completion(values=["test"], total=1))


async def noted(_: Any, __: Any) -> types.EmptyResult:
    """Accept a request."""
    return types.EmptyResult()


def main(port: int) -> None:
    """Serve over HTTP."""
    server: Server[Any] = Server(
        "conformance",
        version="1",
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
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, noted)
    uvicorn.run(server.streamable_http_app(), port=port, log_level="critical")


if __name__ == "__main__":
    main(int(sys.argv[1]))
