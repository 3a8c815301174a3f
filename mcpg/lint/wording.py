"""Rules on markup in descriptions: HTML and links, which models read as they stand."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from mcpg.catalog.model import Parameter, Tool
from mcpg.lint.context import (
    EMPTY_WORDS,
    LintContext,
    by_key,
    locate_member,
    make_finding,
    outliers,
    stems,
)
from mcpg.lint.model import Finding, RelatedTool, Respelling
from mcpg.text import split_words
from mcpg.text.json_values import JsonObject
from mcpg.text.spelling import allowed_edits, edit_distance
from mcpg.text.words import fold, joined, stop_words_of
from mcpg.values import format_count

_ALLOWED = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
LONGEST = 64
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
    """Yield what is wrong with names."""
    bad = {
        tool.id: _report_refused(tool) for tool in catalogue.tools if not _ALLOWED.match(tool.name)
    }
    yield from outliers(catalogue, bad, "have names that APIs of models refuse")
    for source_id, tools in catalogue.sources.items():
        yield from _find_other_case(source_id, tools)
        yield from _find_written_alike(tools)
    for tool in catalogue.tools:
        first = _FIRST.search(tool.name) if tool.name.isascii() else None
        if first is not None and first[0] not in _VAGUE:
            continue  # as nearly all; to cut identifiers takes long
        words = split_words(_DIGITS.sub(" ", tool.name))
        if _VAGUE.issuperset(words):
            yield make_finding(
                "N104",
                tool,
                f"the name {tool.name!r} tells nothing",
                "name",
                text=tool.name,
                suggestion="name it by what it does, and on what: `invoice_search`",
            )


def _report_refused(tool: Tool) -> Finding:
    fault = (
        f"has {len(tool.name)} characters, more than {LONGEST}"
        if len(tool.name) > LONGEST
        else "has characters that APIs of models refuse"
    )
    return make_finding(
        "N101",
        tool,
        f"the name {tool.name[:LONGEST]!r} {fault}",
        "name",
        text=tool.name,
        suggestion="use letters, digits, `_` and `-`, at most 64",
    )


def _detect_case(name: str) -> str:
    return next((case for case, pattern in _CASES.items() if pattern.match(name)), "")


def _find_other_case(source_id: str, tools: Sequence[Tool]) -> Iterator[Finding]:
    cases = {tool.id: _detect_case(tool.name) for tool in tools}
    counts = Counter(case for case in cases.values() if case)
    usual, count = max(counts.items(), key=lambda pair: pair[1], default=("", 0))
    if count < _FEWEST_ALIKE or count < _SHARE_ALIKE * counts.total():
        return
    for tool in tools:
        if cases[tool.id] not in ("", usual):
            yield make_finding(
                "N102",
                tool,
                f"the name {tool.name!r} is in {cases[tool.id]};"
                f" the others of source {source_id!r} are in {usual}",
                "name",
                text=tool.name,
                suggestion=f"write it in {usual}",
            )


def _find_written_alike(tools: Sequence[Tool]) -> Iterator[Finding]:
    for first, *rest in by_key((joined(tool.name), tool) for tool in tools).values():
        if rest and first.name != rest[0].name:
            yield make_finding(
                "N103",
                first,
                f"the names {first.name!r} and {rest[0].name!r} differ by case or separators alone",
                "name",
                text=first.name,
                suggestion="rename one by what it does",
                others=tuple(RelatedTool(tool.id, "is written alike") for tool in rest),
            )


MOST_CHARACTERS = 1_500
"""Length from which a description is too long: every request to a model carries it."""

_FEWEST_SHARING = 3
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")  # noqa: RUF001 - full stops of CJK
_REPEATED = 5
_REPEATED_SHARE = 0.3


def check_descriptions(catalogue: LintContext) -> Iterator[Finding]:
    """Yield what is wrong with descriptions."""
    boilerplate = _find_shared_sentences(catalogue)
    found: dict[str, dict[str, Finding]] = {code: {} for code in _VERBS}
    for tool in catalogue.tools:
        finding = _judge_description(catalogue, tool, boilerplate)
        if finding is not None:
            found[finding.code][tool.id] = finding
        elif len(tool.description) > MOST_CHARACTERS:
            found["D104"][tool.id] = _overlong(tool)
    for code, verb in _VERBS.items():
        yield from outliers(catalogue, found[code], verb)
    yield from _find_repeated(catalogue)
    yield from _find_stuffed_descriptions(catalogue)


_VERBS = {
    "D101": "have no description",
    "D102": "have a description of hardly a word",
    "D103": "have a description that fits any tool",
    "D109": "have a description that repeats the name",
    "D104": f"have a description of more than {MOST_CHARACTERS:,} characters",
}


def _judge_description(
    catalogue: LintContext, tool: Tool, boilerplate: frozenset[str]
) -> Finding | None:
    """Return what is wrong with what the description of *tool* says, `None` for nothing."""
    text = tool.description
    if not text.strip():
        return make_finding(
            "D101",
            tool,
            f"{tool.id!r} has no description",
            "description",
            suggestion="say what it does, on what, and when to use it",
        )
    names = catalogue.full_name_stems[tool.id]
    parts = _SENTENCE.split(text)
    own = [part for part in parts if part.strip() not in boilerplate]
    all_told = (
        catalogue.description_stems[tool.id] if len(own) == len(parts) else stems(" ".join(own))
    )
    told = all_told - EMPTY_WORDS
    if not told:
        return make_finding(
            "D103",
            tool,
            f"the description of {tool.id!r} would fit any tool",
            "description",
            text=text,
            suggestion="name what it acts on and what comes back",
        )
    if len(told) < _FEWEST_WORDS or len(split_words(text)) <= _FEWEST_WORDS:
        return make_finding(
            "D102",
            tool,
            f"the description of {tool.id!r} has hardly a word that says what it does",
            "description",
            text=text,
            suggestion="say what it does, on what, and what it returns",
        )
    if told <= names and len(catalogue.words[tool.id]) <= len(names) + _MORE_WORDS:
        return make_finding(
            "D109",
            tool,
            f"the description of {tool.id!r} says no more than its name",
            "description",
            text=text,
            suggestion="add what it returns, what it needs, or when to use it",
        )
    return None


_FEWEST_WORDS = 2
_MORE_WORDS = 3


def _overlong(tool: Tool) -> Finding:
    text = tool.description
    return make_finding(
        "D104",
        tool,
        f"the description of {tool.id!r} has {len(text):,} characters,"
        f" more than {MOST_CHARACTERS:,}",
        "description",
        text=text,
        suggestion="keep what decides whether to call it; move the rest into parameters or docs",
    )


def _find_shared_sentences(catalogue: LintContext) -> frozenset[str]:
    """Return the sentences that several tools of other names have in common."""
    names: dict[str, set[str]] = {}
    for tool in catalogue.tools:
        for sentence in filter(str.strip, _SENTENCE.split(tool.description)):
            names.setdefault(sentence.strip(), set()).add(tool.name.casefold())
    return frozenset(one for one, having in names.items() if len(having) >= _FEWEST_SHARING)


def _find_repeated(catalogue: LintContext) -> Iterator[Finding]:
    """Report descriptions that tools of one source have in common, word for word."""
    described = [tool for tool in catalogue.tools if tool.description.strip()]
    keyed = ((f"{tool.source_id}\0{_normal(tool.description)}", tool) for tool in described)
    for tools in by_key(keyed).values():
        first, *rest = tools
        if not rest:
            continue
        others = tuple(RelatedTool(tool.id, "has the same description") for tool in rest)
        yield make_finding(
            "D105",
            first,
            f"{first.id!r} and {_and_others(rest)} have the same description",
            "description",
            text=first.description,
            suggestion="say in each what the others do not do",
            others=others,
        )


def _normal(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _and_others(tools: list[Tool]) -> str:
    return repr(tools[0].id) if len(tools) == 1 else f"{len(tools)} others"


def _find_stuffed_descriptions(catalogue: LintContext) -> Iterator[Finding]:
    """Report descriptions that repeat a word over and over, or are lists of words."""
    for tool in catalogue.tools:
        words = catalogue.words[tool.id]
        word, count = Counter(words).most_common(1)[0] if words else ("", 0)
        if count >= _REPEATED and count > _REPEATED_SHARE * len(words):
            how = f"repeats {word!r} {format_count(count, 'time')} in {len(words)} words"
        elif len(words) >= _MANY_WORDS and len(set(words)) < _DISTINCT_SHARE * len(words):
            how = f"has {format_count(len(set(words)), 'word')} over and over"
        elif _is_list(tool.description):
            how = "is a list of words"
        else:
            continue
        yield make_finding(
            "D106",
            tool,
            f"the description of {tool.id!r} {how}",
            "description",
            text=tool.description,
            suggestion="describe it in sentences; put synonyms into hints",
        )


def _is_list(text: str) -> bool:
    """Return whether a part of *text* is words side by side, as no sentence of English is."""
    for part in _CLAUSE_END.split(text):
        if len(part.split()) >= _LIST_WORDS and part.isascii():
            words = split_words(part)
            stops = sum(word in stop_words_of("english") for word in words)
            commas = part.count(",")
            if stops <= _LIST_STOPS * len(words) and len(set(words)) > len(words) / 2:
                is_enumeration = _ENUMERATION.search(part) is not None
                if not is_enumeration and (commas == 0 or commas >= len(words) / 3):
                    return True
    return False


_CLAUSE_END = re.compile(r"[.!?:;()*\n]|\s[-—]\s")
_LIST_WORDS = 12
_MANY_WORDS = 20
_DISTINCT_SHARE = 0.15
_LIST_STOPS = 0.05
_ENUMERATION = re.compile(
    r"\b(?:such as|including|e\.g|like|supports?|one of|either)\b|[`'\"{}=|<>/]",
    re.IGNORECASE,
)


_FIELDS = (("T101", "categories", "category"), ("T102", "tags", "tag"))
RESPELT = frozenset(code for code, _, _ in _FIELDS)
"""The rules whose findings are fixed by another spelling."""

_MOST_LABELS = 2_000
_RARE = 2
_FREQUENT = 3
MOST_HINTS = 25
"""Number of aliases or keywords from which hints are stuffed."""

_MOST_WORDS = 12


def check_labels(catalogue: LintContext) -> Iterator[Finding]:
    """Yield labels that are spelt like others, and stuffed hints."""
    for code, field, noun in _FIELDS:
        holders: defaultdict[str, list[Tool]] = defaultdict(list)
        for tool in catalogue.tools:
            for label in getattr(tool.hints, field):
                holders[label].append(tool)
        yield from _find_misspelt(code, field, noun, holders)
    yield from _find_stuffed_hints(catalogue)


def _find_misspelt(
    code: str, field: str, noun: str, holders: dict[str, list[Tool]]
) -> Iterator[Finding]:
    labels = sorted(holders, key=lambda label: (-len(holders[label]), label))[:_MOST_LABELS]
    for number, label in enumerate(labels):
        meant = next((one for one in labels[:number] if _is_slip(label, one, holders)), None)
        if meant is None:
            continue
        tool = holders[label][0]
        place = getattr(tool.hints, field).index(label)
        found = make_finding(
            code,
            tool,
            f"the {noun} {label!r} of {format_count(len(holders[label]), 'tool')} is spelt like"
            f" {meant!r} of {format_count(len(holders[meant]), 'tool')}",
            field,
            place,
            text=label,
            suggestion=f"write {meant!r}",
            others=(RelatedTool(holders[meant][0].id, f"has the {noun} {meant!r}"),),
        )
        yield replace(found, respellings=tuple(_respellings(field, label, meant, holders)))


def _respellings(
    field: str, label: str, meant: str, holders: dict[str, list[Tool]]
) -> Iterator[Respelling]:
    """Yield what writes a rare *label* like a frequent one; of two rare ones neither is right."""
    if len(holders[label]) > _RARE or len(holders[meant]) < _FREQUENT:
        return
    for tool in holders[label]:
        labels: Sequence[str] = getattr(tool.hints, field)
        if meant in labels:
            continue
        spot = locate_member(tool, field, labels.index(label), size=len(label), text=label)
        yield Respelling(tool.id, field, spot, meant)


def _is_slip(label: str, meant: str, holders: dict[str, list[Tool]]) -> bool:
    """Return whether *label* is another spelling of *meant*, or a slip of it."""
    one, other = joined(label), joined(meant)
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
    """Yield what is missing from parameters."""
    checks: Mapping[str, tuple[Callable[[Parameter, Tool], bool], str, str]] = {
        "P101": (_is_undescribed, "without a description", "say what it means and how it looks"),
        "P102": (_is_untyped, "without a type", "state its `type`"),
        "P103": (_is_repeated, "whose description repeats the name", "say what the name does not"),
    }
    for code, (is_bad, lack, remedy) in checks.items():
        if code not in catalogue.chosen:
            continue
        found: dict[str, Finding] = {}
        for tool in catalogue.tools:
            bad = [one for one in catalogue.parameters[tool.id] if is_bad(one, tool)]
            if bad:
                found[tool.id] = _finding(code, tool, bad, lack, remedy)
        yield from outliers(
            catalogue,
            found,
            f"have parameters {lack}",
            lambda tool: bool(catalogue.parameters[tool.id]),
        )


def _finding(code: str, tool: Tool, bad: list[Parameter], lack: str, remedy: str) -> Finding:
    names = ", ".join(one.path for one in bad[:_NAMED])
    more = f" and {len(bad) - _NAMED:,} more" if len(bad) > _NAMED else ""
    return make_finding(
        code,
        tool,
        f"{tool.id!r} has {format_count(len(bad), 'parameter')} {lack}: {names}{more}",
        *_way(bad[0]),
        suggestion=remedy,
    )


def _way(parameter: Parameter) -> tuple[str, ...]:
    """Return the way to a parameter at the top; deeper ones stand somewhere within it."""
    top = parameter.path.partition(".")[0].partition("[")[0]
    return ("inputSchema", "properties", top)


def _is_undescribed(parameter: Parameter, tool: Tool) -> bool:
    if parameter.description.strip() or parameter.values:
        return False
    schema = _find_schema(parameter, tool)
    return schema is None or not any(key in schema for key in _SELF_EXPLAINING)


def _find_schema(parameter: Parameter, tool: Tool) -> JsonObject | None:
    """Return the schema of a parameter at the top, `None` for others."""
    properties = tool.input_schema.get("properties")
    schema = properties.get(parameter.path) if isinstance(properties, dict) else None
    return schema if isinstance(schema, dict) else None


def _is_untyped(parameter: Parameter, tool: Tool) -> bool:
    if parameter.type or parameter.values:
        return False
    schema = _find_schema(parameter, tool)
    return schema is not None and not any(key in schema for key in _TYPED)


def _is_repeated(parameter: Parameter, _: Tool) -> bool:
    if not parameter.description.strip() or parameter.values:
        return False
    return stems(parameter.description) - EMPTY_WORDS <= stems(parameter.path)


_TAG = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|br|center|code|dd|div|dl|dt|em|font|h[1-6]|hr|i|img|li|ol|p|pre|"
    r"small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s+[a-z-]+\s*=[^<>]*)?\s*/?>",
    re.IGNORECASE,
)
_LINK = re.compile(r"\bhttps?://[^\s<>\"'`)\]]+", re.IGNORECASE)
_KINDS = (
    ("D107", _TAG, "HTML", "write plain text or Markdown"),
    ("D108", _LINK, "a link", "say what the page says; a model does not open it, or should not"),
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
