"""The tables that a search reads of the graph at hand: texts, edges, and names of nodes.

A search asks three questions, which `mcpg.graph.search.model` writes in SPARQL for other
endpoints and for people. Here they are answered from tables, which can be kept as JSON: a store
matches each value with a regular expression, and one on disk looks each up, which takes seconds at
10,000 tools.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import chain
from math import log, sqrt
from typing import Any, NamedTuple

from mcpg.graph import terms as v
from mcpg.graph.parsing import ANONYMOUS
from mcpg.graph.search.model import (
    DESCRIBED,
    Row,
    SearchProfile,
    SearchTerm,
    build_pattern,
    is_iri,
    join_stems,
)
from mcpg.graph.terms import RdfLiteral, Triple
from mcpg.text import detect_language, split_words

_RUN = 3


class Segment(NamedTuple):
    """One text of a node, and the predicate that has it."""

    node: str
    predicate: str
    text: str


class Distances:
    """Compares words with the runs of characters of some segments."""

    def __init__(self, segments: Sequence[Segment], facts: Mapping[str, Any]) -> None:
        """Compare with *segments*; *facts* are the result of `tabulate_texts` for their texts."""
        self._segments = segments
        self._facts = facts
        self._runs_by_word = [_count_runs(word) for word in facts["words"]]

    def nearest(self, query: str, limit: int) -> list[tuple[Segment, float]]:
        """Return the nearest segment of each of the *limit* nearest nodes, the nearest first.

        Nodes that share no run of characters with *query* are left out. Beside each segment is
        1 / (1 + its distance), from above 0.41 to 1.
        """
        asked: Counter[str] = Counter()
        for word in split_words(query):
            asked.update(_count_runs(word))
        counts, total = self._facts["counts"], len(self._segments)
        rarity = {run: _compute_rarity(total, counts.get(run, 0)) for run in asked}
        weights = {run: count * rarity[run] for run, count in asked.items()}
        length = sqrt(sum(weight**2 for weight in weights.values()))
        rare = {run: weight * rarity[run] for run, weight in weights.items()}
        words = [
            sum(rare[run] * count for run, count in runs.items() if run in rare)
            for runs in self._runs_by_word
        ]
        near = []
        for place, text in enumerate(self._facts["texts"]):
            product = sum(map(words.__getitem__, text))
            if product:
                cosine = product / (length * self._facts["lengths"][place])
                near.append((sqrt(max(0.0, 2 - 2 * cosine)), self._segments[place]))
        near.sort(key=lambda one: (round(one[0], 12), *one[1]))
        best: dict[str, tuple[Segment, float]] = {}
        for distance, segment in near:
            best.setdefault(segment.node, (segment, 1 / (1 + distance)))
        return list(best.values())[:limit]


def tabulate_texts(texts: Sequence[str]) -> dict[str, Any]:
    """Return the words and runs of characters of *texts*, as a JSON object.

    `words` has each word once, `texts` for each text the places of its words, `counts` in how many
    texts each run of three characters occurs, and `lengths` the length of each text's vector.
    """
    split = [split_words(text) for text in texts]
    places = {word: place for place, word in enumerate(dict.fromkeys(chain.from_iterable(split)))}
    runs = [_count_runs(word) for word in places]
    placed = [[places[word] for word in text] for text in split]
    counts = Counter(chain.from_iterable({*chain(*(runs[one] for one in own))} for own in placed))
    rarity = {run: _compute_rarity(len(texts), count) for run, count in counts.items()}
    lengths = []
    for own in placed:
        total: Counter[str] = Counter()
        for word in own:
            total.update(runs[word])
        lengths.append(sqrt(sum((count * rarity[run]) ** 2 for run, count in total.items())))
    return {"words": list(places), "texts": placed, "counts": counts, "lengths": lengths}


def _compute_rarity(texts: int, count: int) -> float:
    return log((texts + 1) / (count + 0.5))


def _count_runs(word: str) -> Counter[str]:
    padded = f" {word} "
    return Counter(padded[start : start + _RUN] for start in range(len(padded) - _RUN + 1))


Bindings = dict[str, str]
Facts = Mapping[str, Any]

_SAMPLE = 500
_NEITHER_LETTER_NOR_DIGIT = r"[\W_]"


class LocalGraph:
    """Answers the questions of a search about one graph."""

    def __init__(self, facts: Facts, profile: SearchProfile) -> None:
        """Search the graph by *profile*; *facts* are the result of `tabulate_nodes`."""
        self._facts = facts
        self._typed = frozenset(facts["typed"])
        self._places = {name: place for place, name in enumerate(facts["nodes"])}
        self.missing = tuple(facts["missing"])
        # The predicates that the graph has.
        self.profile = profile.without(set(self.missing))
        self.language: str | None = facts["language"]
        self.total: int = facts["total"]
        """How many nodes can be found."""

    def rows(self, terms: Sequence[SearchTerm]) -> list[Row]:
        """Return the rows of `evidence_query` for *terms*."""
        if not terms:
            return []
        names: Sequence[str] = self._facts["nodes"]
        read = {one.iri for one in self.profile.texts}
        said: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
        matching = self._matching(terms)
        for node, predicate, place in _split_in_groups(self._facts["stated"], 3):
            if place in matching:
                text, stems = self._facts["texts"][place], self._facts["stems"][place]
                said[node].append((names[predicate], text, stems))
        found = [
            Row(names[node], predicate, text, stems=stems)
            for node, values in said.items()
            if node in self._typed
            for predicate, text, stems in values
            if predicate in read
        ]
        for one in self.profile.relationships:
            for ends in _split_in_groups(self._facts["edges"][one.iri], 2):
                node, other = reversed(ends) if one.is_inbound else ends
                if other in said and node in self._typed:
                    beside = one.iri, names[other], one.is_inbound
                    found += (
                        Row(names[node], predicate, text, *beside, stems=stems)
                        for predicate, text, stems in said[other]
                        if predicate in one.reads
                    )
        return found

    def _matching(self, terms: Sequence[SearchTerm]) -> set[int]:
        """Return the places of the texts in which a word begins like one of *terms*."""
        pattern = re.compile(build_pattern(terms, _NEITHER_LETTER_NOR_DIGIT), re.IGNORECASE)
        beginnings = {one.casefold() for term in terms for one in term.beginnings}
        # Much faster than the pattern, which few texts are left for.
        likely = (
            (place, text)
            for place, text in enumerate(self._facts["texts"])
            if any(map(text.casefold().__contains__, beginnings))
        )
        return {place for place, text in likely if pattern.search(text)}

    def _find_places(self, names: Iterable[str]) -> set[int]:
        return {self._places[one] for one in names if one in self._places}

    def edges(self, nodes: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return the rows of `expansion_query`: node, predicate and related node, in order."""
        names: Sequence[str] = self._facts["nodes"]
        wanted = self._find_places(nodes)
        found = {
            (names[node], one.iri, names[related])
            for one in self.profile.expansions
            for node, related in _split_in_groups(self._facts["edges"][one.iri], 2)
            if node in wanted
        }
        return sorted(found)

    def describe_nodes(self, nodes: Iterable[str]) -> list[Bindings]:
        """Return the rows of `description_query`: node, predicate and value, in order."""
        names: Sequence[str] = self._facts["nodes"]
        wanted, shown = self._find_places(nodes), self._find_places(DESCRIBED)
        texts = {
            (names[node], names[predicate], self._facts["texts"][place])
            for node, predicate, place in _split_in_groups(self._facts["stated"], 3)
            if node in wanted and predicate in shown
        }
        types = {
            (names[node], v.rdf.type, names[kind])
            for node, kind in _split_in_groups(self._facts["types"], 2)
            if node in wanted
        }
        return [
            {"node": node, "predicate": predicate, "value": value}
            for node, predicate, value in sorted(texts | types)
        ]

    def segments(self) -> list[Segment]:
        """Return the values that the profile reads of nodes themselves, in order."""
        names: Sequence[str] = self._facts["nodes"]
        read = self._find_places(one.iri for one in self.profile.texts)
        found = {
            Segment(names[node], names[predicate], self._facts["texts"][place])
            for node, predicate, place in _split_in_groups(self._facts["stated"], 3)
            if node in self._typed and predicate in read
        }
        return sorted(found)


def _split_in_groups(flat: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    return zip(*(flat[start::size] for start in range(size)), strict=True)


class _NamePlaces(dict[str, int]):
    """Places of names, counted from 0."""

    def __missing__(self, name: str) -> int:
        place = self[name] = len(self)
        return place


def tabulate_nodes(triples: Iterable[Triple], profile: SearchProfile) -> Facts:
    """Return the tables of the nodes that can be found, and of those that edges join with them.

    `nodes` has each IRI and `texts` each value once, with its `stems`. In turn, `stated` has node,
    predicate and text, `edges` by predicate node and node, and `types` node and class. `typed` are
    the nodes of the classes that *profile* finds.
    """
    needed = {*profile.predicates, *DESCRIBED}
    kept = [triple for triple in triples if triple[1] in needed]
    seen = {predicate for _, predicate, _ in kept}
    found = {
        node
        for node, predicate, value in kept
        if predicate == v.rdf.type and value in profile.types
    }
    typed = sorted(filter(_is_named, found))
    joins = {one.iri for one in profile.relationships} | {one.iri for one in profile.expansions}
    edges = [
        (node, predicate, value)
        for node, predicate, value in kept
        if predicate in joins and not isinstance(value, RdfLiteral) and value != node
        if _is_named(node) and _is_named(value)
    ]
    known = {*typed, *(end for node, _, other in edges for end in (node, other))}
    read = {*(one.iri for one in profile.texts), *DESCRIBED} - {v.rdf.type}
    read.update(iri for one in profile.relationships for iri in one.reads)
    nodes, texts = _NamePlaces(), _NamePlaces()
    stated = [
        place
        for node, predicate, value in kept
        if predicate in read and node in known
        if isinstance(value, RdfLiteral) or not value.startswith(ANONYMOUS)
        for text in (value.text if isinstance(value, RdfLiteral) else value,)
        for place in (nodes[node], nodes[predicate], texts[text])
    ]
    own = {nodes[one.iri] for one in profile.texts if one.iri in nodes}
    return {
        "missing": [iri for iri in profile.predicates if iri not in seen],
        "language": _detect_language(list(texts), stated, {nodes[one] for one in typed}, own),
        "total": len(found),
        "texts": list(texts),
        "stems": list(map(join_stems, texts)),
        "stated": stated,
        "edges": {
            iri: [nodes[end] for node, one, other in edges if one == iri for end in (node, other)]
            for iri in sorted(joins)
        },
        "types": [
            nodes[one]
            for node, predicate, value in kept
            if predicate == v.rdf.type and node in known
            if not isinstance(value, RdfLiteral) and _is_named(value)
            for one in (node, value)
        ],
        "typed": [nodes[one] for one in typed],
        "nodes": list(nodes),
    }


def _detect_language(
    texts: Sequence[str], stated: Sequence[int], typed: Collection[int], own: Collection[int]
) -> str | None:
    """Return the language that most of the texts by which nodes are found are in."""
    said = {
        texts[place]
        for node, predicate, place in _split_in_groups(stated, 3)
        if node in typed and predicate in own
    }
    return detect_language(word for text in nsmallest(_SAMPLE, said) for word in split_words(text))


def _is_named(node: str) -> bool:
    return is_iri(node) and not node.startswith(ANONYMOUS)
