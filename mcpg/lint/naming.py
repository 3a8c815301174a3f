"""Rules on names: what APIs of models refuse, what differs from the others of a source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from mcpg.catalog.model import Tool
from mcpg.lint.catalogue import LintContext, by_key, make_finding, outliers
from mcpg.lint.model import Finding, RelatedTool
from mcpg.text import split_words
from mcpg.text.words import joined

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
