"""Data flow: what one tool gives that another must be given."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.relations.affinity import affordable, quoted
from mcpg.relations.fields import (
    Field,
    FieldKey,
    accepts,
    given_fields,
    needed_fields,
    singular,
)
from mcpg.relations.vocabulary import rarity, subject_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcpg.catalog.model import Tool

_PARTIAL = 0.7
_UNQUALIFIED = 0.5
_FAINTEST = 0.15
# In a handful of tools that all work on one thing its name is common, and yet no idle word.
_TOO_FEW_TO_COUNT = 16
_FIELDS_IN_REASON = 3


@dataclass(frozen=True, slots=True)
class Flow:
    """What flows from one tool to another.

    Attributes:
        strength: Above 0; greater the rarer the fields are and the more of the need they meet.
        fields: Pairs of the output field and the required argument that it fills, rarest first.
    """

    strength: float
    fields: tuple[tuple[str, str], ...]

    @property
    def reason(self) -> str:
        """Say for people what flows."""
        told = self.fields[:_FIELDS_IN_REASON]
        names = quoted([given for given, _ in told])
        if any(given != needed for given, needed in told):
            arguments = quoted([needed for _, needed in told])
            verb = (
                "fills the required argument" if len(told) == 1 else "fill the required arguments"
            )
            return f"its output {_plural('field', told)} {names} {verb} {arguments} there"
        verb = "is a required argument" if len(told) == 1 else "are required arguments"
        return f"its output {_plural('field', told)} {names} {verb} there"


@dataclass(frozen=True, slots=True)
class FlowIndex:
    """Finds the tools that need what a tool gives, by an inverted index from field to tools.

    Attributes:
        sources: For each tool, its source id.
        given: For each tool, the fields of its result that it was not itself given.
        needs: For each tool, how many arguments it requires.
        postings: For each field, the tools that require it and the argument it is there.
        holders: For each field, how many tools give or require it.
    """

    sources: Sequence[str]
    given: Sequence[Mapping[FieldKey, Field]]
    needs: Sequence[int]
    postings: Mapping[FieldKey, Sequence[tuple[int, Field]]]
    holders: Mapping[FieldKey, int]

    def flows(self, position: int, near: Mapping[int, float]) -> dict[int, Flow]:
        """Give what flows from the tool at *position* to others, by position.

        Args:
            position: The tool that gives.
            near: Tools that share a term with it. A field of one word, such as `message`, names
                no subject of its own: it counts in full between these, by half between other
                tools of one server, and nothing between servers.
        """
        given = self.given[position]
        found: defaultdict[int, dict[str, tuple[float, str]]] = defaultdict(dict)
        size = max(_TOO_FEW_TO_COUNT, len(self.needs))
        for key in affordable(given, self.postings):
            worth = rarity(self.holders[key], size)
            for other, needed in self.postings[key]:
                trust = self._trust(position, other, near) if len(key) == 1 else 1.0
                if other != position and trust and accepts(needed.types, given[key].types):
                    found[other][needed.name] = (worth * trust, given[key].name)
        flows = {other: self._flow(other, fills) for other, fills in found.items()}
        return {other: flow for other, flow in flows.items() if flow.strength >= _FAINTEST}

    def _trust(self, position: int, other: int, near: Mapping[int, float]) -> float:
        if other in near:
            return 1.0
        return _UNQUALIFIED if self.sources[position] == self.sources[other] else 0.0

    def _flow(self, other: int, fills: Mapping[str, tuple[float, str]]) -> Flow:
        ranked = sorted((-weight, needed, given) for needed, (weight, given) in fills.items())
        total = sum(-weight for weight, _, _ in ranked)
        share = 1.0 if len(fills) == self.needs[other] else _PARTIAL
        return Flow(total * share, tuple((given, needed) for _, needed, given in ranked))


def build_flow(tools: Sequence[Tool]) -> FlowIndex:
    """Build the index over *tools*."""
    needed = [needed_fields(tool) for tool in tools]
    given = [_given(tool, fields) for tool, fields in zip(tools, needed, strict=True)]
    postings: defaultdict[FieldKey, list[tuple[int, Field]]] = defaultdict(list)
    holders: defaultdict[FieldKey, int] = defaultdict(int)
    for position, fields in enumerate(needed):
        for field in fields:
            postings[field.key].append((position, field))
        for key in {field.key for field in fields} | given[position].keys():
            holders[key] += 1
    sources = [tool.source_id for tool in tools]
    needs = [len(tool.required_arguments) for tool in tools]
    return FlowIndex(sources, given, needs, postings, holders)


def _given(tool: Tool, needed: Sequence[Field]) -> dict[FieldKey, Field]:
    """Index what *tool* gives by every name that it may be asked for under."""
    known = {field.key for field in needed}
    fields = given_fields(tool)
    subjects = [singular(term) for term in subject_terms(tool.name)] if fields else []
    # A field's own name goes before what its owner or the tool would make of it.
    names = [(field.key, field) for field in fields]
    names += [(key, field) for field in fields for key in _qualified(field, subjects)]
    given: dict[FieldKey, Field] = {}
    for key, field in names:
        # What a tool had to be given is nothing that it finds.
        if key and key not in known:
            given.setdefault(key, field)
    return given


def _qualified(field: Field, subjects: Sequence[str]) -> Iterator[FieldKey]:
    """Name a field of one word in full: the `id` of an order is an `order_id` to others."""
    if len(field.key) == 1:
        if field.owner:
            yield _joined(field.key, field.owner)
        yield _joined(field.key, tuple(subjects))
        yield from (_joined(field.key, (subject,)) for subject in subjects)


def _joined(key: FieldKey, owner: FieldKey) -> FieldKey:
    return tuple(sorted({*key, *owner}))


def _plural(noun: str, things: Sequence[object]) -> str:
    return noun if len(things) == 1 else f"{noun}s"
