"""Results of tools as our own server gives them."""

from __future__ import annotations

from typing import Any

from mcp_types.methods import validate_server_result

from mcpg.catalog.model import Tool
from mcpg.gateway.calls import CallResult, Fault, FaultCode
from mcpg.gateway.serve.answers import convert_result
from mcpg.gateway.serve.catalogue import export_tool

ROOM = 9999
LISTED: Any = {"type": "array", "items": {"type": "string"}}


def passed(invoked: CallResult, tool: Tool | None = None) -> Any:
    """Return the result, which every version of MCP accepts."""
    result: Any = convert_result(invoked, ROOM, export_tool(tool) if tool is not None else None)
    for version in ("2025-11-25", "2026-07-28"):
        validate_server_result("tools/call", version, {"resultType": "complete", **result})
    return result


def test_blocks_that_no_client_knows_become_text() -> None:
    """Text, images and links pass as they are; what MCP does not know is shown as JSON."""
    blocks: Any = (
        {"type": "text", "text": "a\x1b[31m"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource_link", "name": "b", "uri": "file:///b"},
        {"type": "hologram", "depth": 3},
    )
    *known, odd = passed(CallResult("one", content=blocks))["content"]
    assert known == list(blocks[:3])
    assert odd == {"type": "text", "text": '{"type":"hologram","depth":3}'}


def test_a_structured_result_alone_is_text_as_well() -> None:
    """Clients that read no structured content see it as JSON; scalars are text alone."""
    result = passed(CallResult("one", structured={"a": [None]}))
    assert result["structuredContent"] == {"a": [None]}
    assert result["content"] == [{"type": "text", "text": '{"a":[null]}'}]
    assert "structuredContent" not in passed(CallResult("one", structured=7))
    assert passed(CallResult("one", structured=["a"]))["structuredContent"] == {"result": ["a"]}
    assert passed(CallResult("one"))["content"] == []


def test_faults_are_told_with_field_and_remedy() -> None:
    """A fault is a sentence for the model and members for a program."""
    fault = Fault(FaultCode.ARGUMENTS_INVALID, "is\nno number", "give one", "/count")
    result = passed(CallResult("one", faults=(fault,)))
    assert result["isError"]
    assert result["content"][0]["text"] == "arguments_invalid at /count: is no number (give one)"
    told = {"code": "arguments_invalid", "message": "is no number", "remedy": "give one"}
    assert "structuredContent" not in result
    assert result["_meta"] == {
        "toolId": "one",
        "faults": [{**told, "field": "/count"}],
    }


def test_what_a_tool_declares_is_held() -> None:
    """A result that clients would refuse is an error that says so; the others pass."""
    tool = Tool("one", "shop", "One", output_schema=LISTED)
    assert passed(CallResult("one", structured=["a"]), tool)["structuredContent"] == {
        "result": ["a"]
    }
    for wrong in ([1], None):
        result = passed(
            CallResult("one", content=({"type": "text", "text": "x"},), structured=wrong), tool
        )
        assert result["isError"]
        assert "structuredContent" not in result
        assert "violates its declared output schema" in result["content"][-1]["text"]


def test_text_that_happens_to_be_json_stays_text() -> None:
    """No structured content is made of the text of a tool, unless its schema needs it."""
    block: Any = {"type": "text", "text": '{"a":1}'}
    read = CallResult("one", content=(block,), structured={"a": 1}, is_parsed=True)
    assert "structuredContent" not in passed(read)
    declared = Tool("one", "shop", "One", output_schema={"type": "object"})
    assert passed(read, declared)["structuredContent"] == {"a": 1}


def test_an_error_has_nothing_that_its_output_schema_refuses() -> None:
    """A client that checks structured content of errors as well would lose the text."""
    declared = Tool("one", "shop", "One", output_schema={"type": "object", "required": ["a"]})
    block: Any = {"type": "text", "text": "no"}
    wire: Any = {"content": [block], "isError": True, "structuredContent": {"b": 1}}
    fault = Fault(FaultCode.TOOL_FAILED, "no")
    theirs = CallResult("one", content=(block,), structured={"b": 1}, faults=(fault,), wire=wire)
    result = passed(theirs, declared)
    assert "structuredContent" not in result
    assert result["_meta"] == {"structuredContent": {"b": 1}}
    assert passed(theirs) == wire
    ours = CallResult("one", content=(block,), structured={"b": 1}, faults=(fault,))
    assert "structuredContent" not in passed(ours, declared)
    fitting: Any = {**wire, "structuredContent": {"a": 1}}
    assert passed(CallResult("one", faults=(fault,), wire=fitting), declared) == fitting


def test_half_characters_do_not_pass() -> None:
    """Text that UTF-8 cannot hold is repaired."""
    result = passed(CallResult("one", content=({"type": "text", "text": "\ud800"},)))
    assert result["content"][0]["text"] == "\ufffd"
