"""Facts from the labelled lines of the sections *Tool Identity* and *Execution Contract*."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.catalog.model import Hints, ToolExample, unique
from mcpg.documents.descriptor import (
    DESCRIPTION_LABEL,
    ENABLED_LABEL,
    EXAMPLES_LABEL,
    FLAG_LABELS,
    INPUT_LABEL,
    LIST_LABELS,
    OUTPUT_LABEL,
    TIER_LABELS,
)
from mcpg.documents.facets import read_enabled, read_flag, read_tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_EXAMPLE_LABELS = (DESCRIPTION_LABEL, INPUT_LABEL, OUTPUT_LABEL)


def read_labels(lines: Iterable[str]) -> dict[str, str]:
    """Read `Label: value` lines, bulleted or not; the first of equal labels counts."""
    labels: dict[str, str] = {}
    for line in lines:
        label, colon, value = line.removeprefix("- ").partition(":")
        if colon:
            labels.setdefault(label, value.strip())
    return labels


def read_hints(labels: Mapping[str, str]) -> Hints:
    """Read the hints of an execution contract, whose lists are joined by commas."""
    lists = {name: unique(labels.get(label, "").split(", ")) for name, label in LIST_LABELS.items()}
    flags = {name: read_flag(labels.get(label, "")) for name, label in FLAG_LABELS.items()}
    tiers = {name: read_tier(labels.get(label, "")) for name, label in TIER_LABELS.items()}
    enabled = read_enabled(labels.get(ENABLED_LABEL, ""))
    return Hints(**lists, **flags, **tiers, enabled_by_default=enabled)  # type: ignore[arg-type]


def read_examples(lines: list[str]) -> tuple[ToolExample, ...]:
    """Read the examples that end an execution contract; a line without a label goes on the last."""
    heading = f"{EXAMPLES_LABEL}:"
    starts = [position for position, line in enumerate(lines) if line.strip() == heading]
    if not starts:
        return ()
    found: list[dict[str, list[str]]] = [{}]
    last = ""
    for line in lines[starts[-1] + 1 :]:
        label, colon, value = line.partition(":")
        if colon and label in _EXAMPLE_LABELS:
            if _begins_example(label, found[-1]):
                found.append({})
            found[-1][label] = [value.strip()]
            last = label
        elif last and line.strip():
            found[-1][last].append(line.rstrip())
    texts = ({label: "\n".join(lines) for label, lines in one.items()} for one in found)
    return tuple(
        ToolExample(members[INPUT_LABEL], members.get(OUTPUT_LABEL), members.get(DESCRIPTION_LABEL))
        for members in texts
        if members.get(INPUT_LABEL)
    )


def _begins_example(label: str, members: Mapping[str, object]) -> bool:
    """Whether *label* cannot belong to the example that has *members* already."""
    return label in members or (label == DESCRIPTION_LABEL and INPUT_LABEL in members)


def read_description(lines: list[str], flat: str) -> str:
    """Find the lines of a description whose breaks the front matter has turned into spaces.

    Args:
        lines: The execution contract, where the .NET gateway keeps the breaks.
        flat: The description as the front matter gives it.

    Returns:
        The description with its breaks, or *flat* when the contract does not hold it.
    """
    wanted = flat.split()
    for start, line in enumerate(lines):
        if line.startswith(f"{DESCRIPTION_LABEL}:"):
            return _join_until(lines, start, wanted) or flat
    return flat


def _join_until(lines: list[str], start: int, wanted: list[str]) -> str:
    """Join lines from *start* on for as long as their words are the *wanted* ones."""
    text = lines[start].partition(":")[2].strip()
    words = text.split()
    for line in lines[start + 1 :]:
        if len(words) >= len(wanted):
            break
        text += f"\n{line}"
        words += line.split()
    return text.rstrip() if words == wanted and "\n" in text else ""
