"""Judged queries, read from a file, and the tools of a catalog that they name.

Two layouts are read, JSON lines and YAML; docs/reference/judged-queries.md has their grammar.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from mcpg.catalog.catalog import Catalog
from mcpg.catalog.json_text import parse_json_documents
from mcpg.catalog.model import Hints, Tool
from mcpg.engine import Engine
from mcpg.errors import Code, Diagnostic, InputError, error, warning
from mcpg.explain.hint_words import find_alias
from mcpg.files import MAX_BYTES, read_bytes, text_of_path
from mcpg.search.results import MAX_LIMIT
from mcpg.sources.model import decode
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.safeyaml import load_yaml_with_lines
from mcpg.text.spelling import suggest
from mcpg.values import join_choices

LAYOUT = '{"query": "where is my parcel", "relevant": ["shipment_status"]}'
"""A judged query as a line of a file, for messages."""

_SEE_LAYOUT = f": {LAYOUT}"
_SEE_EMPTY = "; write [] when no tool answers the query"
_YAML_SUFFIXES = (".yaml", ".yml")
_LINES_SUFFIXES = (".jsonl", ".ndjson")
_CONTAINERS = {list: "list", dict: "mapping"}
_DIGITS = 10
_SHOWN = 60
_HALF = re.compile("[\ud800-\udfff]")
# An escaped backslash, so that the text after it is not an escape; two surrogates; one surrogate.
_ESCAPED = re.compile(
    r"\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F]"
    r"[0-9a-fA-F]{2}"
)


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A request, and the tools that answer it according to a person.

    Attributes:
        id: Names the query in reports; unique in its file.
        relevant: References to tools: ids, `source::name`, or names that only one tool has. Empty
            if no tool answers the request.
        line: Its line in the file, from 1.
        context_tools: References to the tools in use at the time of the request.
    """

    id: str
    query: str
    relevant: tuple[str, ...]
    line: int = 1
    context_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgements:
    """The judged queries of one file.

    Attributes:
        queries: In the order of the file, at least one.
        diagnostics: An error for every entry that could not be read.
    """

    queries: tuple[JudgedQuery, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    place: str = ""


def read_judged(path: str | Path) -> Judgements:
    """Read the judged queries of a file.

    A file that cannot be read, or without a usable query, is an `InputError`.
    """
    return parse_judged(read_bytes(path, MAX_BYTES), text_of_path(path))


def parse_judged(data: bytes, place: str) -> Judgements:
    """Read judged queries from the content of a file.

    The name's ending decides on the layout: `.jsonl` and `.ndjson` for lines, `.yaml` and `.yml`
    for YAML. With another ending, text that begins with `{` is lines, everything else YAML, which
    includes JSON arrays. The *data* are UTF-8, or UTF-16 with a byte order mark. A file without a
    usable query is an `InputError`.
    """
    text = decode(data, place)
    name, reading = place.casefold(), _JudgementReader(place)
    is_yaml = name.endswith(_YAML_SUFFIXES)
    has_lines = name.endswith(_LINES_SUFFIXES) or (not is_yaml and text.lstrip()[:1] == "{")
    for entry, line in _lines(text, reading) if has_lines else _yaml(text, reading):
        reading.take(entry, line)
    if reading.queries:
        return Judgements(tuple(reading.queries), tuple(reading.diagnostics), place)
    remedy = f"write one judged query a line: {LAYOUT}"
    broken = [one for one in reading.diagnostics if one.code == Code.JUDGED_INVALID]
    if not broken:
        raise InputError("contains no judged query", place=place, remedy=remedy)
    reason = broken[0].message.removesuffix(_SEE_LAYOUT)
    more = f" (and {len(broken) - 1} more like it)" if len(broken) > 1 else ""
    message = f"no judged query can be used: {reason}{more}"
    raise InputError(message, place=broken[0].place, remedy=remedy)


@dataclass(slots=True)
class _JudgementReader:
    """Reads entries in order and keeps usable ones."""

    place: str
    queries: list[JudgedQuery] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    tried: dict[str, int] = field(default_factory=dict)
    wishes: dict[tuple[str, frozenset[str]], JudgedQuery] = field(default_factory=dict)

    def take(self, entry: JsonValue, line: int) -> None:
        try:
            found = _parse_query(entry, line)
        except _UnusableError as fault:
            self.invalid(str(fault), line)
            return
        clean = replace(
            found,
            id=_HALF.sub("\ufffd", found.id),
            query=_HALF.sub("\ufffd", found.query),
            relevant=tuple(dict.fromkeys(_HALF.sub("\ufffd", one) for one in found.relevant)),
            context_tools=tuple(
                dict.fromkeys(_HALF.sub("\ufffd", one) for one in found.context_tools)
            ),
        )
        if clean != found:
            self.note(Code.TEXT_REPAIRED, "replaced half a character of a text with U+FFFD", line)
        self.keep(clean)

    def keep(self, found: JudgedQuery) -> None:
        """Keep *found* under a unique id; duplicates are not dropped."""
        if found.id in self.ids:
            message = f"the id {found.id[:_SHOWN]!r} is also on line {self.ids[found.id]}"
            self.note(Code.JUDGED_REPEATED, f"{message}; give each query its own", found.line)
            number = self.tried.get(found.id, 1) + 1
            while f"{found.id}#{number}" in self.ids:
                number += 1
            self.tried[found.id] = number
            found = replace(found, id=f"{found.id}#{number}")
        wish = found.query, frozenset(found.context_tools)
        same = self.wishes.get(wish)
        if same is not None:
            differs = ", with other tools" if set(same.relevant) != set(found.relevant) else ""
            message = f"the query is also on line {same.line}{differs}; it counts twice"
            self.note(Code.JUDGED_REPEATED, message, found.line)
        self.ids[found.id] = found.line
        self.wishes.setdefault(wish, found)
        self.queries.append(found)

    def invalid(self, message: str, line: int) -> None:
        self.diagnostics.append(error(Code.JUDGED_INVALID, message, f"{self.place}:{line}"))

    def note(self, code: str, message: str, line: int) -> None:
        self.diagnostics.append(warning(code, message, f"{self.place}:{line}"))


class _UnusableError(Exception):
    """An entry is not a judged query; the text is the reason."""


def _lines(text: str, reading: _JudgementReader) -> Iterator[tuple[JsonValue, int]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        repeated: set[str] = set()
        try:
            values = parse_json_documents(line, reading.place, repeated)
        except InputError as fault:
            column = (fault.place or "").rpartition(":")[2]
            advice = f"; {fault.remedy}" if fault.remedy else ""
            at = f" at column {column}" if column.isdecimal() else ""
            reading.invalid(f"{fault.message}{at}{advice}", number)
            continue
        if repeated:
            keys = ", ".join(repr(key[:_SHOWN]) for key in sorted(repeated))
            reading.note(
                Code.KEY_REPEATED, f"duplicate keys, the last value counts: {keys}", number
            )
        if len(values) > 1:
            reading.invalid(f"has {len(values)} JSON values; write one a line", number)
        else:
            yield values[0], number


def _yaml(text: str, reading: _JudgementReader) -> Iterator[tuple[JsonValue, int]]:
    """Return the entries of a YAML list, or of a mapping from wishes to tools, with their lines."""
    # A JSON array may contain surrogates, which YAML does not have.
    whole = text
    if text.lstrip()[:1] == "[":
        whole = _ESCAPED.sub(
            lambda found: (
                bytes.fromhex(found[1] + found[2]).decode("utf-16-be")
                if found[1]
                else found[0]
                if found[0] == "\\\\"
                else "\ufffd"
            ),
            text,
        )
    value, lines = load_yaml_with_lines(whole, reading.place)
    if isinstance(value, dict) and not {"query", "relevant"} <= value.keys():
        for wish, tools in value.items():
            yield {"query": wish, "relevant": tools}, lines[wish,]
    elif isinstance(value, list):
        for position, entry in enumerate(value):
            yield entry, lines[position,]
    elif value is not None:
        yield value, 1


def _parse_query(entry: JsonValue, line: int) -> JudgedQuery:
    if not isinstance(entry, dict):
        raise _UnusableError(f"is {_kind(entry)} where a judged query is needed{_SEE_LAYOUT}")
    query, name = _require(entry, "query", _SEE_LAYOUT), entry.get("id")
    if not isinstance(query, str):
        raise _UnusableError(f"its 'query' is {_kind(query)} where a text is needed")
    query = query.strip()
    if not query:
        raise _UnusableError("its 'query' is empty")
    in_use = () if entry.get("contextTools") is None else _tools(entry, "contextTools")
    if name is None:
        text = "\n".join((query, *sorted(in_use)))
        name = f"q-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:_DIGITS]}"
    elif not _is_name(name):
        raise _UnusableError(f"its 'id' is {_kind(name)} where a text is needed")
    if _require(entry, "relevant", _SEE_EMPTY) is None:
        raise _UnusableError(f"its 'relevant' is null where tools are needed{_SEE_EMPTY}")
    return JudgedQuery(str(name).strip(), query, _tools(entry, "relevant"), line, in_use)


def _require(entry: JsonObject, key: str, advice: str) -> JsonValue:
    if key not in entry:
        near = suggest(key, entry)
        reason = f"; rename {near[0][:_SHOWN]!r}" if near else advice
        raise _UnusableError(f"has no {key!r}{reason}")
    return entry[key]


def _is_name(value: JsonValue) -> bool:
    """Return whether a value can be a name: a text, or a text that YAML read as a number."""
    is_scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
    return is_scalar and bool(str(value).strip())


def _tools(entry: JsonObject, key: str) -> tuple[str, ...]:
    value = entry[key]
    names = [value] if _is_name(value) else value
    if not isinstance(names, list):
        raise _UnusableError(f"its {key!r} is {_kind(names)} where tools are needed")
    kept = [str(name).strip() for name in names if _is_name(name)]
    if len(kept) < len(names):
        raise _UnusableError(f"its {key!r} has an item that is not the name of a tool")
    return tuple(dict.fromkeys(kept))


def _kind(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    return "a text" if isinstance(value, str) else f"a {_CONTAINERS[type(value)]}"


_NAMED = 3
_EXAMPLES_SHOWN = 80
# A file for other tools misses all of them.
_MOST_SUGGESTED = 50


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A judged query with the ids of its tools.

    Attributes:
        unknown: Names of no tool, or of several, which no search can find.
        context_tools: Ids of the tools in use, without names of no tool or of several.
    """

    judged: JudgedQuery
    relevant: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    context_tools: tuple[str, ...] = ()

    @property
    def is_answerless(self) -> bool:
        """Whether no tool answers it."""
        return not self.judged.relevant

    @property
    def relevant_count(self) -> int:
        """How many tools answer it, including tools that cannot be found."""
        return len(self.relevant) + len(self.unknown)


@dataclass(frozen=True, slots=True)
class ResolvedJudgements:
    """All queries of a file, resolved.

    Attributes:
        diagnostics: One for each name that means no tool or several.
    """

    queries: tuple[ResolvedQuery, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def resolve(judgements: Judgements, catalog: Catalog) -> ResolvedJudgements:
    """Look up in *catalog* every tool that *judgements* name; of an engine, `engine.catalog`."""
    known: dict[str, str | None] = {}
    diagnostics: list[Diagnostic] = []

    def find(asked: Iterable[str], line: int) -> dict[str, str | None]:
        """Look up names, each once, and report unknown ones at their first line."""
        for name in asked:
            if name not in known:
                # By their names, preferring the same case: a pattern is not a judgement.
                keys = [
                    ((tool.id, f"{tool.source_id}::{tool.name}", tool.name), tool)
                    for tool in catalog.matching(name)
                ]
                folded = name.casefold()
                tools = [tool for names, tool in keys if name in names] or [
                    tool for names, tool in keys if folded in map(str.casefold, names)
                ]
                known[name] = tools[0].id if len(tools) == 1 else None
                if len(tools) != 1:
                    suggests = len(diagnostics) < _MOST_SUGGESTED
                    near = catalog.suggest(name) if suggests and not tools else ()
                    place = f"{judgements.place}:{line}"
                    diagnostics.append(_describe_unresolved(name, tools, near, place))
        return {name: known[name] for name in asked}

    queries = []
    for judged in judgements.queries:
        found = find(judged.relevant, judged.line)
        relevant = dict.fromkeys(one for one in found.values() if one is not None)
        unknown = tuple(name for name, tool_id in found.items() if tool_id is None)
        named = find(judged.context_tools, judged.line).values()
        in_use = dict.fromkeys(one for one in named if one is not None)
        queries.append(ResolvedQuery(judged, tuple(relevant), unknown, tuple(in_use)))
    return ResolvedJudgements(tuple(queries), tuple(diagnostics))


def disabled_tools(
    judgements: Judgements, resolved: ResolvedJudgements, catalog: Catalog
) -> list[Diagnostic]:
    """Describe every judged tool that is off by default, at the first query that names it."""
    lines: dict[str, int] = {}
    for one in resolved.queries:
        for tool_id in one.relevant:
            lines.setdefault(tool_id, one.judged.line)
    tools = [tool for tool_id in lines if (tool := catalog.get(tool_id)) and not tool.enabled]
    return [
        warning(
            Code.JUDGED_TOOL_DISABLED,
            f"{tool.id!r} is off by default, so nothing finds it: include disabled tools",
            f"{judgements.place}:{lines[tool.id]}",
        )
        for tool in tools
    ]


def _describe_unresolved(
    name: str, tools: Sequence[Tool], near: Sequence[str], place: str
) -> Diagnostic:
    shown = repr(name[:_EXAMPLES_SHOWN])
    if tools:
        ids = join_choices(tool.id for tool in tools[:_NAMED])
        message = f"{shown} is the name of {len(tools)} tools: use {ids}"
        return warning(Code.JUDGED_TOOL_AMBIGUOUS, message, place)
    advice = f"did you mean {join_choices(near)}?" if near else "see `mcpg list`"
    return warning(Code.JUDGED_TOOL_UNKNOWN, f"no tool is called {shown}: {advice}", place)


@dataclass(frozen=True, slots=True)
class MissedQuery:
    """A judged query for which another tool is first, and the effect of an alias.

    Attributes:
        alias: What remains of it without literals and names.
        rank: The rank of the tool; `None` if it is not found.
        rank_after: Its rank once it has the aliases of all the queries that it misses.
    """

    query: str
    alias: str
    rank: int | None
    rank_after: int | None


def missed_queries(
    engine: Engine, tool: str, judgements: Judgements, *, include_disabled: bool = False
) -> tuple[MissedQuery, ...]:
    """Return the judged queries that *tool* answers and misses, and that aliases of it improve."""

    def find(searched: Engine, asked: ResolvedQuery, limit: int = MAX_LIMIT) -> list[str]:
        result = searched.search(
            asked.judged.query,
            limit=limit,
            context_tools=asked.context_tools,
            include_disabled=include_disabled,
        )
        return [match.tool_id for match in result.matches]

    missed = []
    for one in resolve(judgements, engine.catalog).queries:
        if tool not in one.relevant or {*one.relevant}.intersection(find(engine, one, 1)):
            continue
        alias = engine.consult(partial(find_alias, one.judged.query))
        if alias is not None:
            before = find(engine, one)
            missed.append((one, alias, before.index(tool) + 1 if tool in before else None))
    if not missed:
        return ()
    aliases = tuple(dict.fromkeys(alias for _, alias, _ in missed))
    changed = engine.with_hints(tool, Hints(aliases=aliases))
    improved = []
    for one, alias, rank_before in missed:
        after = find(changed, one)
        rank = after.index(tool) + 1 if tool in after else None
        if rank and (rank_before is None or rank < rank_before):
            improved.append(MissedQuery(one.judged.query, alias, rank_before, rank))
    return tuple(improved)
