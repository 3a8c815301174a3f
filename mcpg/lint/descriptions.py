"""Rules on descriptions: missing, thin, boilerplate, too long, the same twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from mcpg.catalog.model import Tool
from mcpg.lint.catalogue import LintContext, by_key, make_finding, outliers, stems
from mcpg.lint.model import Finding, RelatedTool
from mcpg.lint.vocabulary import EMPTY_WORDS
from mcpg.text import split_words
from mcpg.text.words import stop_words_of
from mcpg.values import format_count

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
