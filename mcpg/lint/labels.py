"""Rules on categories and tags: labels that differ by a typo, and hints that are stuffed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mcpg.catalog.model import Tool
from mcpg.lint.catalogue import LintContext, make_finding, locate_member, stems
from mcpg.lint.model import Finding, RelatedTool, Respelling
from mcpg.text.spelling import allowed_edits, edit_distance
from mcpg.text.words import fold, joined
from mcpg.values import format_count

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
