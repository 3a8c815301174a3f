"""From a Python function to a tool: signature and type hints by pydantic, docstrings parsed."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_type_hints

from docstring_parser import ParseError, parse
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError

from mcpg.authoring import mark_of
from mcpg.catalog.hints import HINT_KEYS, hints_from, unusable_keys
from mcpg.catalog.json_text import repair_surrogates
from mcpg.catalog.model import Hints, Tool
from mcpg.errors import Code, Diagnostic, warning
from mcpg.json_types import JsonObject, JsonValue

_OWN = ("name", "title", "description")


class _Generator(GenerateJsonSchema):
    """JSON Schema without made-up titles, the same on every run and every machine."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's
        return False

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Say nothing: a default that JSON cannot hold is left out."""

    def encode_default(self, dft: Any) -> Any:
        value = super().encode_default(_in_order(dft, super().encode_default))
        try:
            json.dumps(value, allow_nan=False)
        except ValueError as fault:
            raise PydanticSerializationError(str(fault)) from fault
        return value


def described(
    function: Callable[..., Any], name: str, source_id: str, place: str, noticed: list[Diagnostic]
) -> Tool:
    """Describe *function* as a tool.

    Args:
        function: A function whose arguments can be given by name.
        name: Its name, unless its author gave the tool another.
        source_id: Source id of the tool.
        place: Where it is, for messages.
        noticed: Gets what cannot be used of the hints and of the type that is returned.

    Raises:
        Exception: Its annotations cannot be evaluated, or have no JSON Schema.
    """
    mark = mark_of(function) or {}
    text, about, answer = _documented(function)
    form: Any = function  # its type does not say that a function is a form, too
    schema = TypeAdapter(form).json_schema(schema_generator=_Generator)
    if schema.get("type") != "object":
        raise TypeError(name)
    for argument, member in schema.get("properties", {}).items():
        if about.get(argument):
            member.setdefault("description", about[argument])
    returned = _returned(function, place, noticed)
    if returned is not None and answer:
        returned.setdefault("description", answer)
    return Tool(
        id="",
        source_id=source_id,
        name=tool_name(function, name),
        title=_whole(str(mark.get("title", "")).strip()) or None,
        description=_whole(str(mark.get("description", text))),
        input_schema=_whole_object({"properties": {}, **schema}),
        output_schema=_whole_object(returned) if returned else None,
        hints=_hints(function, mark, place, noticed),
        place=place,
    )


def tool_name(function: Callable[..., Any], name: str) -> str:
    """Return the name of the tool that *function* is, which is called *name* where it stands."""
    mark = mark_of(function) or {}
    return _whole(str(mark.get("name", "")).strip() or name)


def _documented(function: Callable[..., Any]) -> tuple[str, Mapping[str, str], str]:
    """Return what the docstring says of the function, of each parameter, and of the answer."""
    text = inspect.getdoc(function) or ""
    try:
        parsed = parse(text)
    except ParseError:
        return text, {}, ""
    parts = (parsed.short_description, parsed.long_description)
    about = {one.arg_name: one.description or "" for one in parsed.params}
    answer = parsed.returns.description if parsed.returns else None
    return "\n\n".join(part for part in parts if part), about, answer or ""


def _returned(
    function: Callable[..., Any], place: str, noticed: list[Diagnostic]
) -> JsonObject | None:
    """Return the schema of what *function* returns, `None` where nothing is said of it."""
    try:
        annotation = get_type_hints(function, include_extras=True).get("return", Any)
        if annotation in (Any, type(None)):
            return None
        adapter = TypeAdapter(annotation)
        return adapter.json_schema(mode="serialization", schema_generator=_Generator) or None
    except Exception as fault:  # noqa: BLE001 - what annotations of others raise is up to them
        message = f"the type that it returns cannot be described ({type(fault).__name__})"
        noticed.append(warning(Code.SCHEMA_INCOMPLETE, message, place))
        return None


def _hints(
    function: Callable[..., Any], mark: Mapping[str, Any], place: str, noticed: list[Diagnostic]
) -> Hints:
    given: JsonObject = {
        key: _in_order(value, str) for key, value in mark.items() if key not in _OWN
    }
    noticed.extend(_problems(given, place))
    deprecated = isinstance(getattr(function, "__deprecated__", None), str)
    off = Hints(enabled_by_default=False if deprecated else None)
    known = {key: value for key, value in given.items() if key in HINT_KEYS}
    return Hints.merge(hints_from(_whole_object(known)), off)


def _problems(given: JsonObject, place: str) -> Iterator[Diagnostic]:
    unknown = [key for key in given if key not in HINT_KEYS]
    for key in unknown:
        yield warning(Code.HINT_INVALID, f"{key[:80]!r} is no known hint", place)
    for key in unusable_keys(given):
        part = "an item" if isinstance(given[key], list) else "the value"
        message = f"{part} of {key!r} is not of a kind that this hint takes; it is left out"
        yield warning(Code.HINT_INVALID, message, place)


def _in_order(value: Any, plain: Callable[[Any], Any]) -> Any:
    """Make lists of sets, sorted by their members as JSON: Python's own order is by chance."""
    if isinstance(value, set | frozenset):
        return sorted((plain(one) for one in value), key=lambda one: json.dumps(one, default=str))
    if type(value) in (list, tuple):
        return [_in_order(one, plain) for one in value]
    if type(value) is dict:
        return {key: _in_order(one, plain) for key, one in value.items()}
    return value


def _whole(text: str) -> str:
    return str(repair_surrogates(text, "", []))


def _whole_object(value: JsonObject) -> JsonObject:
    whole: JsonValue = repair_surrogates(value, "", [])
    return whole if isinstance(whole, dict) else {}
