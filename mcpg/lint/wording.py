"""Rules on the texts of a tool: names, descriptions, labels, parameters, schemas."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, starmap
from typing import Any, NamedTuple

from mcpg.catalog.model import Parameter, Tool, follow_pointer
from mcpg.lint.context import EMPTY_WORDS, LintContext, by_key, make_finding, outliers, stems
from mcpg.lint.model import Finding, Location, RelatedTool, Respelling
from mcpg.text import split_words
from mcpg.text.spelling import allowed_edits, edit_distance
from mcpg.text.words import fold, get_stop_words, join_words
from mcpg.values import format_count, list_some, split_sentences

_ALLOWED = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
LONGEST = 64
_PREFIXED = "mcp__{source}__{tool}"
"""How clients name the tool of a server, at the longest that is usual."""
_CASES = {
    "snake_case": re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)+\Z"),
    "kebab-case": re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+\Z"),
    "camelCase": re.compile(r"[a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]*)+\Z"),
    "PascalCase": re.compile(r"(?:[A-Z][a-z0-9]+){2,}\Z"),
    "SCREAMING_CASE": re.compile(r"[A-Z0-9]+(?:_[A-Z0-9]+)+\Z"),
}
# Lower-case letters that begin a name are a word of it, unless capitals follow.
_FIRST = re.compile(r"\A[a-z]+(?![a-zA-Z])")
_DIGITS = re.compile(r"\d+")
_FEWEST_ALIKE = 5
_SHARE_ALIKE = 0.8
_VAGUE = frozenset(
    split_words(
        "tool function method action run execute do call invoke test main handler helper util utils"
        " process task func fn cmd command operation misc stuff thing temp tmp foo bar baz new my"
    )
)


def check_names(catalogue: LintContext) -> Iterator[Finding]:
    """Yield the faults of names."""
    refused: dict[str, Finding] = {}
    for tool in catalogue.tools:
        if not _ALLOWED.match(tool.name):
            fault = "has characters that APIs of models refuse"
            if len(tool.name) > LONGEST:
                fault = f"has {len(tool.name)} characters, more than {LONGEST}"
            message = f"the name {tool.name[:LONGEST]!r} {fault}"
            advice = "use letters, digits, `_` and `-`, at most 64"
            refused[tool.id] = make_finding("N101", tool, message, "name", suggestion=advice)
    yield from outliers(catalogue, refused, "have names that APIs of models refuse")
    yield from outliers(
        catalogue,
        {
            tool.id: _report_prefixed_name(tool, name)
            for tool in catalogue.tools
            if tool.id not in refused
            and len(name := _PREFIXED.format(source=tool.source_id, tool=tool.name)) > LONGEST
        },
        f"have names of more than {LONGEST} characters with the prefix of clients",
    )
    for source_id, tools in catalogue.sources.items():
        yield from _find_other_case(source_id, tools)
        for first, *rest in by_key((join_words(tool.name), tool) for tool in tools).values():
            if rest and first.name != rest[0].name:
                message = (
                    f"the names {first.name!r} and {rest[0].name!r}"
                    " differ only by case or separators"
                )
                others = tuple(RelatedTool(tool.id, "is written alike") for tool in rest)
                yield make_finding(
                    "N103",
                    first,
                    message,
                    "name",
                    suggestion="rename one by its effect",
                    others=others,
                )
    for tool in catalogue.tools:
        beginning = _FIRST.search(tool.name) if tool.name.isascii() else None
        if beginning is not None and beginning[0] not in _VAGUE:
            continue  # as nearly all; to cut identifiers takes long
        if _VAGUE.issuperset(split_words(_DIGITS.sub(" ", tool.name))):
            advice = "name its action and object: `invoice_search`"
            message = f"the name {tool.name!r} is vague"
            yield make_finding("N104", tool, message, "name", suggestion=advice)


def _report_prefixed_name(tool: Tool, prefixed: str) -> Finding:
    message = (
        f"the name {tool.name!r} has {len(prefixed)} characters with the prefix that clients add,"
        f" more than {LONGEST}: {prefixed!r}"
    )
    return make_finding("N105", tool, message, "name", suggestion="shorten it, or its server's")


def _find_other_case(source_id: str, tools: Sequence[Tool]) -> Iterator[Finding]:
    cases = {
        tool.id: next((case for case, form in _CASES.items() if form.match(tool.name)), "")
        for tool in tools
    }
    counts = Counter(case for case in cases.values() if case)
    usual, count = max(counts.items(), key=lambda pair: pair[1], default=("", 0))
    if count < _FEWEST_ALIKE or count < _SHARE_ALIKE * counts.total():
        return
    for tool in tools:
        if cases[tool.id] not in ("", usual):
            message = (
                f"the name {tool.name!r} is in {cases[tool.id]};"
                f" the others of source {source_id!r} are in {usual}"
            )
            yield make_finding("N102", tool, message, "name", suggestion=f"write it in {usual}")


MOST_CHARACTERS = 1_500
"""Length from which a description is too long: every request to a model carries it."""

_FEWEST_SHARING = 3
_REPEATED = 5
_REPEATED_SHARE = 0.3


class _Fault(NamedTuple):
    """A fault of a description: the texts for many tools and for one, and the remedy."""

    whole: str
    message: str
    advice: str


_FAULTS = {
    "D101": _Fault(
        "have no description",
        "{id!r} has no description",
        "describe its effect, its object, and when to use it",
    ),
    "D102": _Fault(
        "have a description of hardly a word",
        "the description of {id!r} has hardly a word about its effect",
        "describe its effect, its object and its result",
    ),
    "D103": _Fault(
        "have a description that fits any tool",
        "the description of {id!r} would fit any tool",
        "name what it acts on and what comes back",
    ),
    "D109": _Fault(
        "have a description that repeats the name",
        "the description of {id!r} adds nothing to its name",
        "add what it returns, what it needs, or when to use it",
    ),
    "D104": _Fault(
        f"have a description of more than {MOST_CHARACTERS:,} characters",
        f"the description of {{id!r}} has {{size:,}} characters, more than {MOST_CHARACTERS:,}",
        "keep what decides whether to call it; move the rest into parameters or docs",
    ),
}
_FEWEST_WORDS = 2
_MORE_WORDS = 3


def check_descriptions(catalogue: LintContext) -> Iterator[Finding]:
    """Yield the faults of descriptions."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for tool in catalogue.tools:
        for sentence in split_sentences(tool.description):
            names[sentence].add(tool.name.casefold())
    boilerplate = {one for one, having in names.items() if len(having) >= _FEWEST_SHARING}
    found: dict[str, dict[str, Finding]] = {code: {} for code in _FAULTS}
    for tool in catalogue.tools:
        code = _judge_description(catalogue, tool, boilerplate)
        if code:
            found[code][tool.id] = make_finding(
                code,
                tool,
                _FAULTS[code].message.format(id=tool.id, size=len(tool.description)),
                "description",
                text="" if code == "D101" else None,
                suggestion=_FAULTS[code].advice,
            )
    for code, fault in _FAULTS.items():
        yield from outliers(catalogue, found[code], fault.whole)
    yield from _find_repeated(catalogue)
    yield from _find_stuffed_descriptions(catalogue)


def _judge_description(catalogue: LintContext, tool: Tool, boilerplate: Collection[str]) -> str:
    """Return the code of the fault of the description of *tool*, "" for none.

    Sentences of *boilerplate*, which several tools of other names share, do not count.
    """
    text, known = tool.description, catalogue.stems[tool.id]
    if not text.strip():
        return "D101"
    parts = split_sentences(text)
    own = [part for part in parts if part not in boilerplate]
    said = known.description if len(own) == len(parts) else stems(" ".join(own))
    told = said - EMPTY_WORDS
    if not told:
        return "D103"
    if len(told) < _FEWEST_WORDS or len(split_words(text)) <= _FEWEST_WORDS:
        return "D102"
    if told <= known.full_name and len(known.words) <= len(known.full_name) + _MORE_WORDS:
        return "D109"
    return "D104" if len(text) > MOST_CHARACTERS else ""


def _find_repeated(catalogue: LintContext) -> Iterator[Finding]:
    described = [tool for tool in catalogue.tools if tool.description.strip()]
    texts = (" ".join(tool.description.casefold().split()).rstrip(".") for tool in described)
    keys = (f"{tool.source_id}\0{text}" for tool, text in zip(described, texts, strict=True))
    for first, *rest in by_key(zip(keys, described, strict=True)).values():
        if rest:
            whose = repr(rest[0].id) if len(rest) == 1 else f"{len(rest)} others"
            yield make_finding(
                "D105",
                first,
                f"{first.id!r} and {whose} have the same description",
                "description",
                suggestion="add the differences to the descriptions",
                others=tuple(RelatedTool(tool.id, "has the same description") for tool in rest),
            )


def _find_stuffed_descriptions(catalogue: LintContext) -> Iterator[Finding]:
    for tool in catalogue.tools:
        words = catalogue.stems[tool.id].words
        word, count = Counter(words).most_common(1)[0] if words else ("", 0)
        if count >= _REPEATED and count > _REPEATED_SHARE * len(words):
            how = f"repeats {word!r} {format_count(count, 'time')} in {len(words)} words"
        elif len(words) >= _MANY_WORDS and len(set(words)) < _DISTINCT_SHARE * len(words):
            how = f"has {format_count(len(set(words)), 'word')} over and over"
        elif any(starmap(_is_list, pairwise(("", *_CLAUSE_END.split(tool.description))))):
            how = "is a list of words"
        else:
            continue
        yield make_finding(
            "D106",
            tool,
            f"the description of {tool.id!r} {how}",
            "description",
            suggestion="describe it in sentences; put synonyms into hints",
        )


def _is_list(before: str, part: str) -> bool:
    """Return whether a part of a text is words side by side, as no sentence of English is.

    Values that the part *before* introduces, as in `Supports: a, b`, are not.
    """
    if len(part.split()) < _LIST_WORDS or not part.isascii():
        return False
    if any(map(_ENUMERATION.search, (before, part))):
        return False
    words, commas = split_words(part), part.count(",")
    stops = sum(word in get_stop_words("english") for word in words)
    is_bare = stops <= _LIST_STOPS * len(words) and len(set(words)) > len(words) / 2
    return is_bare and (commas == 0 or commas >= len(words) / 3)


_CLAUSE_END = re.compile(r"[.!?:;()*\n]|\s[-—]\s")
_LIST_WORDS = 12
_MANY_WORDS = 20
_DISTINCT_SHARE = 0.15
_LIST_STOPS = 0.05
_ENUMERATION = re.compile(
    r"\b(?:such as|includ(?:e|es|ing)|e\.g|like|supports?|one of|either)\b|[`'\"{}=|<>/]",
    re.IGNORECASE,
)

_FIELDS = (("T101", "categories", "category"), ("T102", "tags", "tag"))
RESPELT = frozenset(code for code, _, _ in _FIELDS)
"""The rules with findings that another spelling fixes."""

_MOST_LABELS = 2_000
_RARE = 2
_FREQUENT = 3
MOST_HINTS = 25

_MOST_WORDS = 12


def check_labels(catalogue: LintContext) -> Iterator[Finding]:
    """Yield labels with spellings close to others, and stuffed hints."""
    for code, field, noun in _FIELDS:
        holders: defaultdict[str, list[Tool]] = defaultdict(list)
        for tool in catalogue.tools:
            for label in getattr(tool.hints, field):
                holders[label].append(tool)
        labels = sorted(holders, key=lambda label: (-len(holders[label]), label))[:_MOST_LABELS]
        for number, label in enumerate(labels):
            meant = next((one for one in labels[:number] if _is_slip(label, one, holders)), None)
            if meant is not None:
                yield _report_slip(code, field, noun, label, meant, holders)
    yield from _find_stuffed_hints(catalogue)


def _report_slip(
    code: str, field: str, noun: str, label: str, meant: str, holders: Mapping[str, list[Tool]]
) -> Finding:
    """Report a *label*; a rare one should be written like a frequent one, if that is frequent."""
    having, right = holders[label], holders[meant]
    found = make_finding(
        code,
        having[0],
        f"the {noun} {label!r} of {format_count(len(having), 'tool')} is spelt like"
        f" {meant!r} of {format_count(len(right), 'tool')}",
        field,
        getattr(having[0].hints, field).index(label),
        text=label,
        suggestion=f"write {meant!r}",
        others=(RelatedTool(right[0].id, f"has the {noun} {meant!r}"),),
    )
    respellings: list[Respelling] = []
    for tool in having if len(having) <= _RARE and len(right) >= _FREQUENT else ():
        labels: Sequence[str] = getattr(tool.hints, field)
        if meant not in labels:
            spot = Location(tool.place, (field, labels.index(label)), 0, len(label), label)
            respellings.append(Respelling(tool.id, field, spot, meant))
    return replace(found, respellings=tuple(respellings))


def _is_slip(label: str, meant: str, holders: Mapping[str, list[Tool]]) -> bool:
    """Return whether *label* is another spelling of *meant*, or a slip of it."""
    one, other = join_words(label), join_words(meant)
    if one == other or fold(label) == fold(meant):
        return True
    if any(sign.isdecimal() for sign in one + other):
        return False
    if stems(label) == stems(meant) and stems(label):
        return True
    edits = allowed_edits(other)
    is_rare = len(holders[label]) <= _RARE and len(holders[meant]) >= len(holders[label])
    close = edit_distance(one, other, edits) if edits and one[:1] == other[:1] else None
    return is_rare and close is not None and 0 < close <= edits


def _find_stuffed_hints(catalogue: LintContext) -> Iterator[Finding]:
    for tool in catalogue.tools:
        for field in ("aliases", "keywords"):
            texts: Sequence[str] = getattr(tool.hints, field)
            counts = Counter(word for text in texts for word in stems(text))
            repeated = max(counts.values(), default=0)
            if len(texts) > MOST_HINTS or (field == "keywords" and repeated > _MOST_WORDS):
                yield make_finding(
                    "K101",
                    tool,
                    f"{tool.id!r} has {len(texts)} {field}",
                    field,
                    text=texts[0],
                    suggestion="keep those that people use for it; the others hide other tools",
                )


_NAMED = 3
_SELF_EXPLAINING = ("enum", "const", "examples")
_TYPED = ("type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "properties", "items", "not")


def check_parameters(catalogue: LintContext) -> Iterator[Finding]:
    """Yield the gaps of parameters."""
    lacking: defaultdict[str, defaultdict[str, list[str]]]
    lacking = defaultdict(lambda: defaultdict(list))
    for tool in catalogue.tools:
        for parameter in catalogue.parameters[tool.id]:
            for code in _find_lacks(parameter, tool):
                lacking[code][tool.id].append(parameter.path)
    for code, (lack, remedy) in _LACKS.items():
        found: dict[str, Finding] = {}
        for tool_id, paths in lacking[code].items():
            found[tool_id] = make_finding(
                code,
                catalogue.by_id[tool_id],
                f"{tool_id!r} has {format_count(len(paths), 'parameter')} {lack}:"
                f" {list_some(paths, _NAMED)}",
                *("inputSchema", "properties"),
                paths[0].partition(".")[0].partition("[")[0],  # deeper ones are within it
                suggestion=remedy,
            )
        yield from outliers(
            catalogue,
            found,
            f"have parameters {lack}",
            lambda tool: bool(catalogue.parameters[tool.id]),
        )


def _find_lacks(parameter: Parameter, tool: Tool) -> Iterator[str]:
    properties = tool.input_schema.get("properties")
    # Of a parameter within others only this is known.
    schema = properties.get(parameter.path) if isinstance(properties, dict) else None
    stated = schema.keys() if isinstance(schema, dict) else frozenset()
    text = parameter.description.strip()
    if not text and parameter.path in tool.description:
        told = re.search(_TOLD.format(re.escape(parameter.path)), tool.description)
        text = told[0] if told else ""
    if not (text or parameter.values or not stated.isdisjoint(_SELF_EXPLAINING)):
        yield "P101"
    is_typed = parameter.type or parameter.values or not stated.isdisjoint(_TYPED)
    if isinstance(schema, dict) and not is_typed:
        yield "P102"
    if text and not parameter.values and stems(text) - EMPTY_WORDS <= stems(parameter.path):
        yield "P103"


# A description has the argument under `Args:`, as `:param name:`, or in a list.
_TOLD = r"(?:\n|\bArgs:|\bParameters:|:param)[\s*`-]*{}[`*]*\s*(?:\([^)]*\)[*`]*\s*)?[:-].*"
_LACKS = {
    "P101": ("without a description", "describe its meaning and form"),
    "P102": ("without a type", "add its `type`"),
    "P103": ("whose description repeats the name", "add the form of the value, or its effect"),
}


_TAG = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|br|center|code|dd|div|dl|dt|em|font|h[1-6]|hr|i|img|li|ol|p|pre|"
    r"small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s+[a-z-]+\s*=[^<>]*)?\s*/?>",
    re.IGNORECASE,
)
_LINK = re.compile(r"\bhttps?://[^\s<>\"'`)\]]+", re.IGNORECASE)
_KINDS = (
    ("D107", _TAG, "HTML", "write plain text or Markdown"),
    ("D108", _LINK, "a link", "copy the important content of the page; models do not open it"),
)


def check_markup(catalogue: LintContext) -> Iterator[Finding]:
    """Yield descriptions with HTML or links."""
    for code, pattern, what, remedy in _KINDS:
        found: dict[str, Finding] = {}
        for tool in catalogue.tools:
            match = pattern.search(tool.description)
            if match is not None:
                found[tool.id] = make_finding(
                    code,
                    tool,
                    f"the description of {tool.id!r} has {what}",
                    "description",
                    text=tool.description,
                    start=match.start(),
                    size=match.end() - match.start(),
                    suggestion=remedy,
                )
        yield from outliers(catalogue, found, f"have descriptions with {what}")


_TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))
_MOST_SCHEMAS = 2_000
_LONGEST_PATTERN = 1_000
_LONGEST_SHOWN = 40
_INNER = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_BOUNDS = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)
_PYTHON: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}

_Way = tuple[str | int, ...]
_Faults = Iterator[tuple[str, tuple[str, ...], str]]
"""The code, the key and the message of each fault of one schema."""


def check_tool_schemas(catalogue: LintContext) -> Iterator[Finding]:
    """Yield the faults of schemas, each kind once a tool; null defaults are a habit of sources."""
    nulls: dict[str, Finding] = {}
    for tool in catalogue.tools:
        for name, root in (
            ("inputSchema", tool.input_schema),
            ("outputSchema", tool.output_schema),
        ):
            seen: set[str] = set()
            for code, way, message in _find_faults(name, root) if root is not None else ():
                if code in seen:
                    continue
                seen.add(code)
                found = make_finding(code, tool, f"{tool.id!r}: {message}", *way)
                if code == "S108":
                    nulls.setdefault(tool.id, found)
                else:
                    yield found
    yield from outliers(catalogue, nulls, "have defaults of null that their types do not allow")


def _find_faults(name: str, root: dict[str, Any]) -> Iterator[tuple[str, _Way, str]]:
    if root.get("type", "object") != "object":
        yield (
            "S101",
            (name, "type"),
            f"the type of {name} is {_show(root.get('type'))}, not 'object'",
        )
    for way, schema in _walk_schemas(name, root):
        names = [str(step) for step in way[1:] if step not in _MAPS]
        where = f"the parameter {'.'.join(names)!r}" if names else str(way[0])
        for check in (_check_types, _check_required, _check_values, _check_bounds):
            for code, key, message in check(schema):
                yield code, (*way, *key), f"{where} {message}"
        reference = schema.get("$ref")
        if isinstance(reference, str) and not _leads(reference, root):
            message = f"has a reference that leads nowhere: {reference!r}"
            yield "S105", (*way, "$ref"), f"{where} {message}"


def _walk_schemas(name: str, root: dict[str, Any]) -> Iterator[tuple[_Way, dict[str, Any]]]:
    """Yield the schemas in *root*, without recursion: they may nest deeply."""
    waiting: list[tuple[_Way, Any]] = [((name,), root)]
    for _ in range(_MOST_SCHEMAS):
        if not waiting:
            return
        way, schema = waiting.pop()
        if not isinstance(schema, dict):
            continue
        yield way, schema
        inner = [((*way, key), schema[key]) for key in _INNER if key in schema]
        for key in _LISTS:
            if isinstance(schema.get(key), list):
                inner += [((*way, key, at), one) for at, one in enumerate(schema[key])]
        for key in _MAPS:
            if isinstance(schema.get(key), dict):
                inner += [((*way, key, one), held) for one, held in schema[key].items()]
        waiting += reversed(inner)


def _check_types(schema: dict[str, Any]) -> _Faults:
    if "type" in schema:
        stated = schema["type"]
        names = stated if isinstance(stated, list) else [stated]
        bad = next((one for one in names if not isinstance(one, str) or one not in _TYPES), None)
        if bad is not None or not names:
            yield "S102", ("type",), f"has the type {_show(bad)}, which JSON Schema does not have"
        if stated == "array" and not any(key in schema for key in ("items", "prefixItems")):
            yield "S107", ("type",), "is an array without `items`"
    for key in ("properties", "$defs"):
        if key in schema and not isinstance(schema[key], dict):
            yield "S102", (key,), f"has `{key}` that is not an object"


def _check_required(schema: dict[str, Any]) -> _Faults:
    required = schema.get("required")
    if required is None:
        return
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        yield "S103", ("required",), "has `required` that is not a list of names"
        return
    properties = schema.get("properties")
    is_open = any(key in schema for key in ("$ref", *_LISTS, "patternProperties"))
    if isinstance(properties, dict) and not is_open:
        missing = [one for one in required if one not in properties]
        if missing:
            message = f"requires {missing[0]!r}, which is not among its properties"
            yield "S103", ("required",), message


def _check_values(schema: dict[str, Any]) -> _Faults:
    choices = schema.get("enum")
    if "enum" in schema and (not isinstance(choices, list) or not choices):
        yield "S104", ("enum",), "has an `enum` without values"
    elif isinstance(choices, list):
        shown = [repr(one) for one in choices]
        if len(set(shown)) < len(shown):
            yield "S104", ("enum",), "has an `enum` with a value twice"
        if schema.get("default") is not None and repr(schema["default"]) not in shown:
            message = f"has the default {_show(schema['default'])}, which is not among its values"
            yield "S104", ("default",), message
    kind = schema.get("type")
    default = schema.get("default")
    names = kind if isinstance(kind, list) else [kind] if isinstance(kind, str) else []
    if "default" in schema and default is None and names and "null" not in names:
        yield "S108", ("default",), f"has the default null, which is not of the type {_show(kind)}"
    if default is None or not isinstance(kind, str) or kind not in _PYTHON or choices:
        return
    is_boolean = isinstance(default, bool) and kind in ("integer", "number")
    is_whole = kind == "integer" and isinstance(default, float) and default.is_integer()
    if is_boolean or not (isinstance(default, _PYTHON[kind]) or is_whole):
        message = f"has the default {_show(default)}, which is not of the type {kind!r}"
        yield "S104", ("default",), message


def _show(value: Any) -> str:
    """Return a value of a schema as JSON writes it, except that a text has the usual quotes."""
    return (
        repr(value[:_LONGEST_SHOWN])
        if isinstance(value, str)
        else (json.dumps(value, default=str)[:_LONGEST_SHOWN])
    )


def _check_bounds(schema: dict[str, Any]) -> _Faults:
    for low, high in _BOUNDS:
        least, most = schema.get(low), schema.get(high)
        if isinstance(least, int | float) and isinstance(most, int | float) and least > most:
            yield "S106", (low,), f"has a {low} of {_show(least)} and a {high} of {_show(most)}"
    pattern = schema.get("pattern")
    if not isinstance(pattern, str) or len(pattern) > _LONGEST_PATTERN:
        return
    # ECMAScript has escapes and groups that Python lacks; brackets are the same in both.
    if re.search(r"\\[pPcuk]|\(\?<|\\d-", pattern):
        return
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        yield "S106", ("pattern",), f"has an invalid regular expression: {pattern[:40]!r}"


def _leads(reference: str, root: dict[str, Any]) -> bool:
    if not reference.startswith("#/"):
        return True  # the whole, an anchor, or another schema
    try:
        follow_pointer(reference, root)
    except LookupError:
        return False
    return True
