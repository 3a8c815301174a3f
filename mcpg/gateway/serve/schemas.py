"""Texts and schemas of the meta-tools, read from `meta_tools.json`, and abridged other schemas.

Output schemas require only the members of every answer, so that abridged answers stay valid; an
abridged input schema allows more than the whole schema, never less.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from mcpg.catalog.hints import TYPED_ANNOTATIONS
from mcpg.catalog.model import Hints, Tool
from mcpg.gateway import serve
from mcpg.gateway.serve import Exposure
from mcpg.gateway.serve.answers import source_name
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import format_count, to_json

CODE_FILTERS = ("languages", "branches", "repositories", "paths")
"""The arguments of `gateway_ask` that choose among source files."""

TOOLS, PROMPTS, RESOURCES, SKILLS = "tool", "prompt", "resource", "skill"
USUAL_KINDS = (TOOLS, PROMPTS, RESOURCES)


def _expand(part: Any, definitions: JsonObject) -> Any:
    """Return a part of the file with each `$ref` replaced by the definition of that name."""
    if isinstance(part, dict):
        if "$ref" in part:
            return _expand(definitions[part["$ref"]], definitions)
        return {key: _expand(one, definitions) for key, one in part.items()}
    return part


_FILE: Any = json.loads((files("mcpg.gateway.serve") / "meta_tools.json").read_text("utf-8"))
_META: Any = _expand(_FILE["tools"], _FILE["$defs"])

TITLES: dict[str, str] = {name: one["title"] for name, one in _META.items()}

INPUTS: dict[str, JsonObject] = {name: one["input"] for name, one in _META.items()}
"""The arguments of each meta-tool."""

DEFAULTS: dict[str, JsonObject] = {
    tool: {
        name: argument["default"]
        for name, argument in one["input"]["properties"].items()
        if "default" in argument
    }
    for tool, one in _META.items()
}
"""The defaults of the arguments of each meta-tool."""

OUTPUTS: dict[str, JsonObject] = {
    name: one["output"] | {"properties": {**one["output"]["properties"], **_FILE["commonOutput"]}}
    for name, one in _META.items()
    if "output" in one
}
"""Output schema of each meta-tool except `INVOKE`, which returns their results."""

KINDS: JsonObject = {"kinds": _FILE["kindsInput"]}
"""The argument of a search that is listed where there are skills."""

FOUND_SKILLS: JsonObject = {"skills": _expand(_FILE["skillsOutput"], _FILE["$defs"])}
"""The member of the answer to a search that is listed where there are skills."""

_DEPTHS = (4, 2, 1)
_PROSE = ("description", "title", "examples", "default", "$comment")
_NAMESPACES = ("properties", "patternProperties", "$defs", "definitions")


def find_schema_part(schema: JsonValue, pointer: str) -> JsonValue:
    """Return the part of *schema* at a JSON pointer (RFC 6901); raises `LookupError`."""
    at = schema
    for step in pointer.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(at, list) and name.isdecimal() and name.isascii():
            at = at[int(name[:9])]
        elif isinstance(at, dict):
            at = at[name]
        else:
            raise LookupError(pointer)
    return at


def prune_schema(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield *schema* without prose, then less and less deep, at last empty."""
    bare = _without_prose(schema)
    yield bare
    for depth in _DEPTHS:
        yield _shallow(bare, depth)
    yield {"type": "object"}


def _without_prose(value: Any) -> Any:
    """Return a schema without text for people; names of properties are not keywords."""
    if isinstance(value, list):
        return [_without_prose(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept: JsonObject = {}
    for key, part in value.items():
        if key in _NAMESPACES and isinstance(part, dict):
            kept[key] = {name: _without_prose(one) for name, one in part.items()}
        elif key not in _PROSE:
            kept[key] = _without_prose(part)
    return kept


def _shallow(schema: JsonObject, depth: int) -> JsonObject:
    kept: JsonObject = {key: schema[key] for key in ("type", "required") if key in schema}
    properties = schema.get("properties")
    if isinstance(properties, dict) and depth:
        kept["properties"] = {
            name: _shallow(one, depth - 1) if isinstance(one, dict) else one
            for name, one in properties.items()
        }
    return kept


_HINT_NAMES = {
    "aliases": "searchAliases",
    "keywords": "searchKeywords",
    "examples": "usageExamples",
}
_ANNOTATED = dict(
    zip(TYPED_ANNOTATIONS, ("read_only", "destructive", "idempotent", "open_world"), strict=True)
)


def hints_json(hints: Hints) -> JsonObject:
    """Return *hints* under the keys of the .NET gateway, without the annotations of MCP."""
    members = to_json(hints, _HINT_NAMES, without=_ANNOTATED.values())
    members["usageExamples"] = [
        {key: value for key, value in example.items() if value is not None}
        for example in members["usageExamples"]
    ]
    return {key: value for key, value in members.items() if value not in (None, [])}


def annotations_json(tool: Tool) -> JsonObject:
    """Return the annotations of MCP, as hints resolve them."""
    resolved = ((key, getattr(tool.hints, name)) for key, name in _ANNOTATED.items())
    return {key: value for key, value in resolved if value is not None}


_NAMED = 12


@dataclass(frozen=True, slots=True)
class InstructionsContext:
    """Facts about the catalog for instructions and descriptions.

    They come from the configuration, files and a bundle, and not from servers: lists of tools are
    the same at every start, no matter which servers respond, so that prompt caches can reuse them.

    Attributes:
        sources: Names of the sources, most tools first, reduced to safe characters.
        tools: Number of enabled tools; `None` if that depends on servers.
        can_call: Whether the tools of any source can be called.
        about: The operator's addition to the description of the tool that searches.
    """

    sources: tuple[str, ...] = ()
    tools: int | None = None
    can_call: bool = True
    about: str = ""

    @classmethod
    def make(
        cls, tools: Iterable[Tool], servers: Iterable[str], *, can_call: bool, about: str
    ) -> InstructionsContext:
        """Return the facts on *tools* from files, and on *servers* without tools in files."""
        counts = Counter(source_name(tool.source_id) for tool in tools)
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        others = [one for one in dict.fromkeys(map(source_name, servers)) if one not in counts]
        is_one = len(ordered) + len(others) == 1
        names = (name if is_one else f"{name} ({count:,})" for name, count in ordered)
        return cls((*names, *others), None if others else counts.total(), can_call, about)

    def __str__(self) -> str:
        rest = len(self.sources) - _NAMED
        more = f" and {rest:,} more" if rest > 0 else ""
        sources = f"{', '.join(self.sources[:_NAMED])}{more}"
        if self.tools is None:
            return f"the tools of {sources}" if sources else "the tools of other servers"
        if not self.tools:
            return "no tool yet"
        return f"{format_count(self.tools, 'tool')} of {sources}"


def instructions(context: InstructionsContext, expose: Exposure = Exposure.META) -> str:
    """Return the instructions of the server for a model."""
    if not context.can_call:
        return (
            f"A catalog of {context}. They can be found and described here, but not called: find "
            f"them with {serve.SEARCH} when a task may need one, and look at arguments with "
            f"{serve.DESCRIBE}. Search again for each new task before you say that there is no "
            "tool."
        )
    if expose is Exposure.FOUND:
        return (
            f"A gateway to {context}. Their tools are listed here once they are found: search with "
            f"{serve.SEARCH} when a task may need one. Then call what it has found by its own "
            f"name, or with {serve.INVOKE} if it is not listed. Search again for each new task "
            "before you say that there is no tool."
        )
    return (
        f"A gateway to {context}. Their tools are not listed here: find them with {serve.SEARCH} "
        f"when a task may need one, look at arguments with {serve.DESCRIBE}, and call them with "
        f"{serve.INVOKE}. Search again for each new task before you say that there is no tool."
    )


def description(name: str, context: InstructionsContext, expose: Exposure = Exposure.META) -> str:
    """Return the description of the meta-tool *name* for a model."""
    about, form = _META[name], "description"
    if not context.can_call:
        form = "descriptionWithoutCalls"
    elif expose is Exposure.FOUND:
        form = "descriptionOnDemand"
    text = str(about.get(form, about["description"])).format(context=context)
    return f"{text} {context.about}" if context.about and name == serve.SEARCH else text
