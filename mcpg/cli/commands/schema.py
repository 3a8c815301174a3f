"""`mcpg schema`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Annotated, Any

from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.options import argument, option
from mcpg.cli.output import Output
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.source_settings import settings_schema
from mcpg.errors import NotFoundError, UsageError
from mcpg.show.blocks import CodeSpan, Column, Styled, Table
from mcpg.text.json_values import JsonObject
from mcpg.text.spelling import suggest

DIALECT = "https://json-schema.org/draft/2020-12/schema"
LINE = "line"
"""Name of the definition of one line of JSON Lines."""

SETTINGS = "settings"
FILES = ("hints-file", "judged-queries", "lock-file", "observed-file", SETTINGS)
"""Names of the schemas of files, which people write or keep."""

_COMMON = "common"
_FOLDER = files("mcpg.cli") / "schemas"
_REFERENCE = "#/$defs/"
_ONE_LINE = {"$ref": f"{_REFERENCE}{LINE}"}


def format_names() -> list[str]:
    """Return the names of the schemas of commands' output, in alphabetical order."""
    stems = (file.name.removesuffix(".json") for file in _FOLDER.iterdir())
    return sorted(name for name in stems if name not in (*FILES, _COMMON))


def schema_names() -> list[str]:
    """Return the names of all schemas, schemas of files last."""
    return [*format_names(), *FILES]


def json_schema(name: str, *, line: bool = False) -> JsonObject:
    """Return the schema *name*, such as `search` or `graph-stats`, with all that it refers to.

    Args:
        name: One of `schema_names()`, or the name of its format, such as `mcpg/search/1`.
        line: Whether to return the schema of one line of JSON Lines instead.
    """
    known = schema_names()
    stem = {f"mcpg/{one}/1": one for one in format_names()}.get(name, name)
    if stem not in known:
        near = suggest(name, known)
        remedy = f"did you mean {near[0]!r}?" if near else "list them with `mcpg schema`"
        raise NotFoundError(f"no schema is called {name!r}", remedy=remedy)
    schema = _read(stem)
    own = schema.pop("$defs", {})
    if line:
        if LINE not in own:
            raise UsageError(f"{schema['title']} has no lines", place="--jsonl")
        schema = {
            "$id": f"{schema['$id']}:{LINE}",
            "title": f"{schema['title']}, one line",
            "$ref": _REFERENCE + LINE,
        }
    available = common_definitions() | own
    needed: set[str] = set()
    waiting = {*_find_references(schema)}
    while waiting:
        name = waiting.pop()
        needed.add(name)
        waiting |= {*_find_references(available[name])} - needed
    found = {one: part for one, part in available.items() if one in needed}
    definitions = {"$defs": found} if found else {}
    return {"$schema": DIALECT, **schema, **definitions}


def common_definitions() -> JsonObject:
    """Return the definitions that several schemas share, by name."""
    found: JsonObject = _read(_COMMON)["$defs"]
    return found


def _read(stem: str) -> Any:
    if stem == SETTINGS:
        return settings_schema()
    return json.loads((_FOLDER / f"{stem}.json").read_text("utf-8"))


def _find_references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"].removeprefix(_REFERENCE)
        for one in part.values():
            yield from _find_references(one)
    elif isinstance(part, list):
        for one in part:
            yield from _find_references(one)


MARKER = (
    "<!-- Generated from the schemas by `python -m mcpg.cli.reference`: "
    "do not edit below this line. -->"
)

Definitions = Mapping[str, Any]

_DESCRIBED_ABOVE = ("schema", "diagnostics")
"""Members of most formats, which the introduction of the page describes."""


def refreshed_formats(page: str) -> str:
    """Return *page* with its part on the schemas brought up to date."""
    written = page.partition(MARKER)[0].rstrip()
    return "\n\n".join([written, MARKER, *_list_sections()]) + "\n"


def _list_sections() -> Iterator[str]:
    shared: Any = common_definitions()
    for name in format_names():
        schema = json_schema(name)
        yield f"## {schema['title']}"
        definitions: Any = schema.get("$defs", {})
        command = f"The result of `mcpg {name.replace('-', ' ')}`."
        about = str(schema["description"]).removeprefix(command).strip()
        if LINE in definitions:
            members: Any = schema["properties"]
            lines = next(key for key, one in members.items() if one.get("items") == _ONE_LINE)
            about = f"{about} Lines: `{lines}`.".strip()
        if about:
            yield about
        yield "\n".join(_MemberList(definitions, _find_described(name)).list(schema))
    yield "## Shared objects"
    for name, one in shared.items():
        if "properties" in one:
            yield f"### {_make_title(name)}"
            described = {} if name == "tool" else shared["tool"]["properties"]
            members = [*_MemberList(shared, described).list(one)]
            bases = (_link(_make_title(_read_name(base["$ref"]))) for base in one.get("allOf", ()))
            added = "".join(f" It has the members of a {base}." for base in bases)
            yield "\n\n".join(filter(None, (f"{one['description']}{added}", "\n".join(members))))


def _find_described(name: str) -> Definitions:
    """Return the members that the page describes elsewhere: of a tool and of a search."""
    shared: Any = common_definitions()
    search: Any = {} if name == "search" else json_schema("search")["properties"]
    own = {key: one for key, one in search.items() if {*_find_references(one)} <= shared.keys()}
    return {**own, **shared["tool"]["properties"]}


class _MemberList:
    """Writes the members of a format, and of the objects that are its lines.

    The members of other objects are only named.
    """

    def __init__(self, definitions: Definitions, described: Definitions) -> None:
        self._definitions = definitions
        self._described = described
        self._written: dict[int, str] = {}

    def list(self, part: Any) -> Iterator[str]:
        """Yield a line for each member of the object *part*, with the members of its lines below.

        Members that the page describes elsewhere are only named, in one line.
        """
        members = {
            f"{name}{'' if name in part.get('required', ()) else '?'}": one
            for name, one in part.get("properties", {}).items()
            if name not in _DESCRIBED_ABOVE
        }
        known = [name for name, one in members.items() if self._is_described(name, one)]
        if known:
            yield f"- {', '.join(f'`{name}`' for name in known)}"
        for name, one in members.items():
            if name not in known:
                yield from self._write(name, one)

    def _is_described(self, name: str, one: Any) -> bool:
        return bool(self._described.get(name.rstrip("?")) == one)

    def _write(self, name: str, one: Any) -> Iterator[str]:
        kind = _name_type(one, self._definitions)
        inner = _find_object(one, self._definitions)
        twin = self._written.setdefault(id(inner), name) if inner else name
        is_expanded = inner is not None and twin == name and one.get("items") == _ONE_LINE
        if twin != name:
            kind += f" like `{twin.rstrip('?')}`"
        elif inner and not is_expanded:
            kind += f" `{{{','.join(inner['properties'])}}}`"
        meaning = _describe(one, self._definitions)
        yield f"- `{name}` {kind}{'' if _is_plain(name, meaning) else f': {meaning}'}"
        if is_expanded:
            yield from (f"  {line}" for line in self.list(inner))


def _find_object(one: Any, definitions: Definitions) -> Any:
    """Return the only object without a section of its own that *one* is or contains."""
    match one:
        case {"$ref": reference} if _has_section(reference):
            return None
        case {"$ref": reference}:
            return _find_object(definitions[_read_name(reference)], definitions)
        case {"items": part} | {"additionalProperties": dict(part)}:
            return _find_object(part, definitions)
        case {"anyOf": [part, {"type": "null"}]}:
            return _find_object(part, definitions)
    return one if "properties" in one else None


def _name_type(one: Any, definitions: Definitions) -> str:
    """Return the type of a member: JSON types, values, or the section on its objects."""
    match one:
        case {"$ref": reference}:
            name = _read_name(reference)
            inner = definitions[name]
            is_linked = _has_section(reference)
            kind = _link(_make_title(name)) if is_linked else _name_type(inner, definitions)
        case {"allOf": [base, *_]}:
            kind = f"{_name_type(base, definitions)} with more members"
        case {"enum": values}:
            kind = f"`{'|'.join(str(value or 'null') for value in values)}`"
        case {"anyOf": choices}:
            kind = " or ".join(dict.fromkeys(_name_type(part, definitions) for part in choices))
            kind = kind.replace(" or null", "?")
        case {"items": part}:
            kind = _make_plural(_name_type(part, definitions))
        case {"additionalProperties": dict(part)}:
            kind = f"object of {_name_type(part, definitions)}"
        case _:
            kinds = one.get("type", "string" if "const" in one else "any")
            kind = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
            kind = kind.replace(" or null", "?")
    return kind


def _make_plural(kind: str) -> str:
    """Return the name of a list of *kind*: strings, objects, [tools](#tool)."""
    if kind.startswith("["):
        return kind.replace("y](", "ie](").replace("ch](", "che](").replace("](", "s](")
    if kind.endswith("s"):
        return f"lists of {kind}"
    return f"{kind}s" if kind.isalpha() and kind != "any" else f"list of {kind}"


def _describe(one: Any, definitions: Definitions) -> str:
    described = definitions[_read_name(one["$ref"])] if "$ref" in one else one
    text = str(one.get("description", described.get("description")))
    text, _, case = text.partition("; `null`")
    text += "." if case else ""
    if text.startswith("Number of "):
        text = text.removeprefix("Number of ").capitalize()
    if "const" in described and described["const"] is not True:
        text += f" Always `{described['const']}`."
    if "examples" in described:
        text += f" For example {', '.join(f'`{choice}`' for choice in described['examples'])}."
    return text


def _is_plain(name: str, meaning: str) -> bool:
    """Return whether *meaning* only repeats the *name* of a member."""
    words = re.sub(r"([A-Z])", r" \1", name.rstrip("?")).lower()
    return re.sub(r"^(?:the|its) ", "", meaning.lower()).rstrip(".") == words


def _has_section(reference: str) -> bool:
    found: Any = common_definitions().get(_read_name(reference), {})
    return "properties" in found


def _read_name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _make_title(name: str) -> str:
    return re.sub(r"([A-Z])", lambda found: f" {found[1].lower()}", name).capitalize()


def _link(title: str) -> str:
    return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"


EXAMPLES = """\
mcpg schema
mcpg schema search > search.schema.json
mcpg schema list --jsonl
mcpg schema hints-file > hints.schema.json
mcpg schema --format ids"""
MORE = "docs/reference/json-formats.md"


def run(
    output: Output,
    *,
    name: Annotated[
        str | None,
        argument(
            "NAME",
            "Name of a schema or format, such as mcpg/search/1. [default: list them]",
            autocompletion=lambda incomplete: [
                n for n in schema_names() if n.startswith(incomplete)
            ],
        ),
    ] = None,
    line: Annotated[bool, option("--jsonl", "Print the schema of one line of JSON Lines.")] = False,
    form: options.ListFormat = "text",
) -> int:
    """Print the JSON Schema of the output of a command, or of a file.

    Ignore unknown members: a version can add some. The schemas settings (mcpg.toml),
    hints-file and judged-queries are for editors.
    """
    if name is not None:
        if form not in ("text", "json"):
            raise UsageError("a schema is JSON", place="--format", remedy="leave it out")
        output.json(json_schema(name, line=line))
        return ExitCode.DONE
    schemas = []
    for stem, schema in ((one, json_schema(one)) for one in schema_names()):
        about = {"name": stem, "title": schema["title"], "id": schema["$id"]}
        definitions: Any = schema.get("$defs", ())
        about |= {"hasLines": LINE in definitions, "description": schema["description"]}
        schemas.append(about)
    if form == "json":
        output.json({"schema": "mcpg/schema/1", "schemas": schemas})
        return ExitCode.DONE
    rows = []
    for one in schemas:
        sentence = str(one["description"]).partition(". ")[0].removesuffix(".")
        rows.append((Styled(CodeSpan(str(one["name"])), "cyan"), CodeSpan(f"{sentence}.")))
    columns = (Column("schema", is_whole=True), Column("description"))
    members = ("name", "title", "id", "hasLines", "description")
    table = Table("Schemas", columns, tuple(rows), has_heads=True)
    write_listing(RecordListing(schemas, members, "name", table), form, output)
    return ExitCode.DONE
