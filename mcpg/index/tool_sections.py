"""The sections of tool names, groups and links, and in which fields of a tool a term occurs."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING

from mcpg.index.layout import (
    KINDS,
    NONE,
    SUMMARY_LENGTH,
    Section,
    keys_sections,
    rows_sections,
    texts_sections,
)
from mcpg.index.reader import Index, posting
from mcpg.index.scoring import BY_NUMBER, FIELDS, OF_PARAMETERS, field_texts, occurrence_weight
from mcpg.text import iter_words, joined, stem

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool
    from mcpg.documents.model import ToolDocument
    from mcpg.relations.model import EdgeKind


def tool_sections(tools: Sequence[Tool]) -> Iterator[Section]:
    """Return the sections that hold one text or number for each tool."""
    sources = sorted({tool.source_id for tool in tools})
    numbers = {source: number for number, source in enumerate(sources)}
    yield from keys_sections("ids", [tool.id for tool in tools])
    yield from texts_sections("names", (tool.name for tool in tools))
    yield from texts_sections("titles", (tool.display_name for tool in tools))
    yield from texts_sections("summaries", (summary(tool.description) for tool in tools))
    yield from texts_sections("sources", sources)
    yield Section("source_of", "I", array("I", (numbers[t.source_id] for t in tools)).tobytes())
    yield Section("enabled", "B", bytes(tool.enabled for tool in tools))


def summary(description: str) -> str:
    """Return the beginning of *description* on one line."""
    return " ".join(description[: 4 * SUMMARY_LENGTH].split())[:SUMMARY_LENGTH]


def key_sections(tools: Iterable[Tool]) -> Iterator[Section]:
    """Return the sections that find tools by a joined id, name, title or alias."""
    texts, holders = _held(map(_keys, tools))
    yield from keys_sections("keys", texts)
    yield from rows_sections("keys.tools", holders)


def group_sections(documents: Sequence[ToolDocument]) -> Iterator[Section]:
    """Return the sections of groups and their members."""
    groups, members = _held(document.groups for document in documents)
    numbers = {group: number for number, group in enumerate(groups)}
    yield from texts_sections("groups", groups)
    yield from rows_sections("members", members)
    rows = ([numbers[group] for group in document.groups] for document in documents)
    yield from rows_sections("groups_of", rows)


def link_sections(documents: Sequence[ToolDocument]) -> Iterator[Section]:
    """Return the sections of links: to whom, what they say, how strong they are and why."""
    tools = {document.uri: number for number, document in enumerate(documents)}
    links = [link for document in documents for link in document.links]
    reasons = sorted({link.reason for link in links})
    numbers = {reason: number for number, reason in enumerate(reasons)}
    kinds: dict[EdgeKind | str, int] = {kind: number for number, kind in enumerate(KINDS)}
    yield from rows_sections(
        "links", ([tools.get(link.target, NONE) for link in one.links] for one in documents)
    )
    yield Section("links.kind", "B", bytes(kinds[link.kind] for link in links))
    yield Section("links.weight", "d", array("d", (link.weight for link in links)).tobytes())
    reason_of = array("I", (numbers[link.reason] for link in links))
    yield Section("links.reason", "I", reason_of.tobytes())
    yield from texts_sections("reasons", reasons)


def _keys(tool: Tool) -> Iterable[str]:
    names = (tool.id, tool.name, tool.display_name, *tool.hints.aliases)
    return filter(None, dict.fromkeys(map(joined, names)))


def _held(texts_of: Iterable[Iterable[str]]) -> tuple[list[str], list[list[int]]]:
    """Return all texts, sorted, and for each the numbers of those that hold it."""
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for number, texts in enumerate(texts_of):
        for text in dict.fromkeys(texts):
            holders[text].append(number)
    texts = sorted(holders)
    return texts, [holders[text] for text in texts]


_MASK_OF_PARAMETERS = sum(1 << FIELDS.index(name) for name in OF_PARAMETERS)


def field_shares(index: Index, document: int, terms: Iterable[int]) -> dict[int, dict[str, float]]:
    """Return the share, summing to 1, of each field in the frequency of each term in *document*.

    Terms that do not occur there are left out. The document is read only where a term occurs in
    several fields, for a single one has it all.
    """
    masks = {term: posting(index, term, document)[1] for term in terms}
    several = {term: mask for term, mask in masks.items() if mask & mask - 1}
    counted = _counted(index, document, several) if several else {}
    return {
        term: counted[term] if term in several else {FIELDS[mask.bit_length() - 1]: 1.0}
        for term, mask in masks.items()
        if mask
    }


def _counted(index: Index, document: int, masks: Mapping[int, int]) -> dict[int, dict[str, float]]:
    """Count the terms of *masks* in the fields that any of them names."""
    wanted = 0
    for mask in masks.values():
        wanted |= mask
    terms = {index.term(term): term for term in masks}
    counts: dict[int, Counter[int]] = {term: Counter() for term in masks}
    lengths: Counter[int] = Counter()
    document_texts = field_texts(
        index.record(document), with_parameters=bool(wanted & _MASK_OF_PARAMETERS)
    )
    for field, content in document_texts:
        if not wanted >> field & 1:
            continue
        for word in iter_words(content):
            term = terms.get(word.text if word.whole else stem(word.text))
            lengths[field] += not word.whole
            if term is not None:
                counts[term][field] += 1
    means = index.section("fields.mean")
    weights = {
        field: occurrence_weight(lengths[field], means[field], BY_NUMBER[field])
        for field in lengths
    }
    return {term: _shares(found, weights) for term, found in counts.items()}


def _shares(counts: Mapping[int, int], weights: Mapping[int, float]) -> dict[str, float]:
    parts = {FIELDS[field]: count * weights[field] for field, count in sorted(counts.items())}
    total = fsum(parts.values())
    return {name: part / total for name, part in parts.items()}
