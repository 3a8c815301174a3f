"""Findings have the line and column at which a person finds the text at fault."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint.conftest import sound, tool

from mcpg.lint.locate import FileText, JsonSpans
from mcpg.lint.model import Location

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.lint import Report

BAD = "Log in to p\u0430ypal for the parcels of a customer."
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


def at_fault(report: Report) -> str:
    """Return the line and column of the only finding."""
    (one,) = report.findings
    return f"{one.place.line}:{one.place.column}-{one.place.end_column}" if one.place else ""


def where(text: str, needle: str) -> str:
    """Return the line and column at which *needle* first stands in *text*."""
    at = text.index(needle)
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return f"{line}:{column}-{column + len(needle)}"


WORD = "p\u0430ypal"
MANIFESTS = {
    "indented": lambda tools: json.dumps({"tools": tools}, indent=2, ensure_ascii=False),
    "one line": lambda tools: json.dumps({"tools": tools}, ensure_ascii=False),
    "array": lambda tools: json.dumps(tools, indent=4, ensure_ascii=False),
    "envelope": lambda tools: json.dumps(
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}, indent=1, ensure_ascii=False
    ),
    "pages": lambda tools: "\n".join(
        json.dumps({"tools": part}, ensure_ascii=False) for part in (tools[:3], tools[3:])
    ),
    "functions": lambda tools: json.dumps(
        [{"type": "function", "function": one} for one in tools], indent=2, ensure_ascii=False
    ),
    "line ends": lambda tools: json.dumps({"tools": tools}, indent=2, ensure_ascii=False).replace(
        "\n", "\r\n"
    ),
    "mark": lambda tools: "\ufeff" + json.dumps({"tools": tools}, ensure_ascii=False),
}


@pytest.mark.parametrize("layout", MANIFESTS)
def test_places_in_json(layout: str, check: Callable[..., Report]) -> None:
    """A word in a description has its place in every layout of a manifest."""
    text = MANIFESTS[layout]([*sound(), tool("parcel_pay", BAD)])
    report = check({"shop.json": text}, ["H103"])
    assert at_fault(report) == where(text.removeprefix("\ufeff"), WORD)


def test_places_behind_escapes(check: Callable[..., Report]) -> None:
    """Escapes before and within the text at fault count as they are written."""
    text = json.dumps({"tools": [tool("parcel_pay", f'A "tab\t" \U0001f600 {BAD}')]}, indent=2)
    assert at_fault(check({"shop.json": text}, ["H103"])) == where(text, "p\\u0430ypal")


def test_places_in_schemas(check: Callable[..., Report]) -> None:
    """The description of a parameter has a place of its own, also where another text is equal."""
    schema = {
        "type": "object",
        "properties": {
            "a.b": {"type": "string", "description": "x"},
            "c": {"type": "array", "items": {"type": "string", "description": BAD}},
        },
    }
    text = json.dumps([tool("parcel_pay", "x", inputSchema=schema)], indent=2, ensure_ascii=False)
    assert at_fault(check({"shop.json": text}, ["H103"])) == where(text, WORD)


def test_places_in_front_matter(check: Callable[..., Report]) -> None:
    """A description in the front matter of a document has its line and column."""
    text = f"---\nname: parcel_pay\nsource: shop\ndescription: {BAD}\n---\n\n# Pay\n\nProse.\n"
    assert at_fault(check({"pay.md": text}, ["H103"])) == where(text, WORD)


@pytest.mark.parametrize(
    "text",
    [
        f"---\r\nname: parcel_pay\r\nsource: shop\r\ndescription: {BAD}\r\n---\r\n",
        f"---\nname: parcel_pay\nsource: shop\ndescription: \U0001f600 \U0001f600 {BAD}\n---\n",
        f"---\nname: parcel_pay\nsource: shop\ndescription: >-\n  Words before.\n  {BAD}\n---\n",
        f'---\nname: parcel_pay\nsource: shop\ntitle: "a\u2028b"\ndescription: {BAD}\n---\n',
        f"\ufeff---\nname: parcel_pay\nsource: shop\ndescription: {BAD}\n---\n",
    ],
    ids=["line ends", "astral", "folded", "line separator", "mark"],
)
def test_places_in_any_front_matter(text: str, check: Callable[..., Report]) -> None:
    """Line ends, characters beyond the first plane, folded texts and marks shift no place."""
    report = check({"pay.md": text}, ["H103"])
    assert at_fault(report) == where(text.removeprefix("\ufeff"), WORD)


def test_places_in_repeated_members(check: Callable[..., Report]) -> None:
    """Of members of the same name the last counts, as for readers."""
    member = json.dumps(BAD, ensure_ascii=False)
    text = f'[{{"name": "parcel_pay", "description": "Fine.",\n"description": {member}}}]'
    assert at_fault(check({"shop.json": text}, ["H103"])) == where(text, WORD)


def test_places_in_hints(check: Callable[..., Report]) -> None:
    """A hint has the place of its own member, also where its text stands elsewhere before."""
    hints = f"tools:\n  order_search: # {BAD}\n    tags: [x]\n    keywords:\n      - {BAD}\n"
    report = check({"shop.json": sound(), "all.hints.yaml": hints}, ["H103"])
    (one,) = report.findings
    assert one.place
    assert one.place.line == 5


def test_places_in_prose(check: Callable[..., Report]) -> None:
    """A description that is the first paragraph has its place, and so has a schema in a fence."""
    fence = json.dumps(
        {"type": "object", "properties": {"x": {"description": "An article."}}}, indent=2
    )
    text = (
        f"---\nname: parcel_pay\nsource: shop\n---\n\n# Pay\n\n{BAD}\n\n"
        f"## Input Schema\n\n```json\n{fence}\n```\n"
    )
    assert at_fault(check({"pay.md": text}, ["H103"])) == where(text, WORD)
    (untyped,) = check({"pay.md": text}, ["P102"]).findings
    assert untyped.place
    assert untyped.place.line == text.count("\n", 0, text.index('"x"')) + 1


def test_places_in_openapi(check: Callable[..., Report]) -> None:
    """Operations of OpenAPI in YAML and JSON have the line of their description."""
    document = {
        "openapi": "3.0.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "paths": {"/pay/v1.2": {"post": {"operationId": "pay", "description": BAD}}},
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    assert at_fault(check({"api.json": text}, ["H103"])) == where(text, WORD)


def test_places_in_openapi_yaml(check: Callable[..., Report]) -> None:
    """The same holds for YAML."""
    text = (
        "openapi: 3.0.0\ninfo:\n  title: Shop\n  version: '1'\nservers:\n"
        "  - url: https://shop.example\npaths:\n  /pay:\n    post:\n      operationId: pay\n"
        f"      description: {BAD}\n"
    )
    assert at_fault(check({"api.yaml": text}, ["H103"])) == where(text, WORD)


@given(VALUES)
@settings(max_examples=60)
def test_every_value_is_found(value: object) -> None:
    """The range of each value in a document is its text, however the document is nested."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    spans = JsonSpans(text)
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while waiting:
        way, part = waiting.pop()
        span = spans.value(way)
        assert span is not None
        assert json.loads(text[span[0] : span[1]]) == part
        if isinstance(part, dict):
            waiting += [((*way, key), one) for key, one in part.items()]
        elif isinstance(part, list):
            waiting += [((*way, at), one) for at, one in enumerate(part)]


@given(st.text(min_size=1, max_size=20), st.booleans(), st.data())
@settings(max_examples=60)
def test_parts_of_texts_are_found(text: str, is_ascii: bool, data: st.DataObject) -> None:
    """The range of a part of a text holds what is written for it."""
    start = data.draw(st.integers(0, len(text) - 1))
    size = data.draw(st.integers(1, len(text) - start))
    written = json.dumps({"description": text}, ensure_ascii=is_ascii)
    span = FileText("x.json", written).span(
        "", Location("x.json", ("description",), start, size, text)
    )
    assert span is not None
    part = written[span[0] : span[1]]
    assert json.loads(f'"{part}"') == text[start : start + size]
