"""Published schemas as tests use them: closed to further members, and searched for unused ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from mcpg.cli.commands.schema import json_schema

_WHOLE = ("properties", "$ref", "allOf")


def assert_described(printed: dict[str, Any]) -> None:
    """Fail unless the schema that *printed* names describes all of it, and allows its values.

    A new member is described in `mcpg/cli/schemas`.
    """
    faults = [
        f"/{'/'.join(map(str, fault.absolute_path))}: {fault.message[:500]}"
        for fault in _validator(printed["schema"]).iter_errors(printed)
    ]
    assert not faults, faults


@cache
def _validator(name: str) -> Draft202012Validator:
    schema = closed(json_schema(name))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def closed(part: Any) -> Any:
    """Return a schema that refuses members that *part* does not describe.

    A published schema allows them, because a later version may add some.
    """
    within = _with_closed_parts(part)
    is_open = "additionalProperties" in part or not any(key in part for key in _WHOLE)
    return within if is_open else within | {"unevaluatedProperties": False}


def _with_closed_parts(part: Any) -> Any:
    changed = dict(part)
    if "properties" in part:
        changed["properties"] = {name: closed(one) for name, one in part["properties"].items()}
    if "anyOf" in part:
        changed["anyOf"] = [closed(one) for one in part["anyOf"]]
    for key in ("items", "additionalProperties"):
        if isinstance(part.get(key), dict):
            changed[key] = closed(part[key])
    # Each place that combines or refers to these is closed as a whole.
    if "allOf" in part:
        changed["allOf"] = [_with_closed_parts(one) for one in part["allOf"]]
    if "$defs" in part:
        changed["$defs"] = {name: _with_closed_parts(one) for name, one in part["$defs"].items()}
    return changed


def described_members(name: str) -> set[str]:
    """Return where the schema *name* describes members, as JSON pointers.

    Those within definitions are the same for every schema that shares these.
    """
    schema = json_schema(name)
    found = {f"{name}#{pointer}" for pointer in _members(schema, "")}
    shared = {
        f"#/$defs/{title}{pointer}"
        for title, one in schema.get("$defs", {}).items()
        for pointer in _members(one, "")
    }
    return found | shared


def _members(part: Any, pointer: str) -> Iterator[str]:
    for member, one in part.get("properties", {}).items():
        yield f"{pointer}/{member}"
        yield from _members(one, f"{pointer}/{member}")
    for key, steps in _PARTS.items():
        found = part.get(key)
        for one in found if isinstance(found, list) else [found]:
            if isinstance(one, dict):
                yield from _members(one, pointer + steps)


_PARTS = {"allOf": "", "anyOf": "", "items": "/*", "additionalProperties": "/*"}


def used_members(printed: dict[str, Any]) -> set[str]:
    """Return which of `described_members` have a value in *printed*."""
    schema = _validator(printed["schema"]).schema
    assert isinstance(schema, dict)
    name = printed["schema"].split("/")[1]
    return {*_Use(schema.get("$defs", {})).members(printed, schema, f"{name}#")}


class _Use:
    """Finds the members of a schema that a value uses."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions

    def members(self, value: Any, part: Any, pointer: str) -> Iterator[str]:
        for where, one in self._applied(value, part, pointer):
            yield from self.members(value, one, where)
        if isinstance(value, list):
            for item in value:
                yield from self.members(item, part.get("items", {}), f"{pointer}/*")
        elif isinstance(value, dict):
            yield from self._within(value, part, pointer)

    def _applied(self, value: Any, part: Any, pointer: str) -> Iterator[tuple[str, Any]]:
        """Yield the schemas that describe the same value, and where they stand."""
        if "$ref" in part:
            title = part["$ref"].rpartition("/")[2]
            yield f"#/$defs/{title}", self._definitions[title]
        for one in part.get("allOf", ()):
            yield pointer, one
        for one in part.get("anyOf", ()):
            if Draft202012Validator(one | {"$defs": self._definitions}).is_valid(value):
                yield pointer, one

    def _within(self, value: dict[str, Any], part: Any, pointer: str) -> Iterator[str]:
        described, others = part.get("properties", {}), part.get("additionalProperties")
        for name, one in value.items():
            if name in described and one is not None:
                yield f"{pointer}/{name}"
                yield from self.members(one, described[name], f"{pointer}/{name}")
            elif isinstance(others, dict):
                yield from self.members(one, others, f"{pointer}/*")
