"""What a search of the graph finds, and what the graph is made of, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.sanitise import cut, one_line, pad
from mcpg.cli.wording import counted
from mcpg.graph.search.model import ScoreKind
from mcpg.graph.sparql.answer import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcpg.graph.schema import ClassUse, GraphSchema, PredicateUse
    from mcpg.graph.search import Evidence, GraphMatch, GraphSearchResult, SearchProfile

_EVIDENCE = 3
_NAME, _TEXT = 28, 60
_MEANINGS = {
    ScoreKind.COVERAGE: "how much of the query its texts cover, by the rarity of the words",
    ScoreKind.NEARNESS: "1 / (1 + distance) of the nearest text, by runs of characters",
    ScoreKind.RANKING: "those of an ordinary search",
}


def result_text(found: GraphSearchResult, *, explain: bool) -> str:
    """Give matches, what comes with them, what the scores are, and perhaps the queries."""
    blocks = [list(_matches(found.matches))] if found.matches else [["no match"]]
    for title, matches in (("related", found.related), ("next", found.next_steps)):
        if matches:
            blocks.append([title, *_comers(matches)])
    if found.matches:
        kinds = dict.fromkeys(match.score_kind for match in found.matches)
        meanings = "; of the tools after that, ".join(map(_MEANINGS.__getitem__, kinds))
        blocks.append([f"scores: {meanings}; not probabilities"])
    if explain:
        blocks += ([query] for query in (found.sparql, found.expansion_sparql) if query)
    return "\n\n".join("\n".join(block) for block in blocks)


def schema_text(found: GraphSchema) -> str:
    """Give prefixes, classes, predicates, and what a search reads."""
    prefixes = (f"    {pad(prefix, 10)}{iri}" for prefix, iri in found.prefixes.items())
    blocks = (
        [f"{counted(found.triples, 'triple')}"],
        ["prefixes", *prefixes],
        ["classes", *map(_class_line, found.classes)],
        ["predicates", *(line for one in found.predicates for line in _predicate_lines(one))],
        ["read by `mcpg graph search`, with weights", *_profile_lines(found.profile)],
    )
    return "\n\n".join("\n".join(block) for block in blocks)


def _matches(matches: Sequence[GraphMatch]) -> Iterator[str]:
    for place, match in enumerate(matches, start=1):
        yield f"{place}. {_score(match)}  {_titled(match)}"
        for evidence in match.evidence[:_EVIDENCE]:
            yield f"     {_evidence_line(evidence)}"
        if len(match.evidence) > _EVIDENCE:
            yield f"     and {len(match.evidence) - _EVIDENCE:,} more"


def _comers(matches: Iterable[GraphMatch]) -> Iterator[str]:
    for match in matches:
        edge = match.evidence[0]
        told = f"{shortened(edge.predicate)} of {one_line(edge.related_label)}"
        yield f"   {_score(match)}  {_titled(match)}  ({told})"


def _score(match: GraphMatch) -> str:
    return f"{match.score:.3f}"


def _titled(match: GraphMatch) -> str:
    label = one_line(match.label)
    name = one_line(match.tool_id or match.node)
    return label if label == name else f"{name}  {label}"


def _evidence_line(evidence: Evidence) -> str:
    path = shortened(evidence.predicate)
    if evidence.via:
        path = f"{shortened(evidence.via)}/{path}"
    words = f"  [{one_line(', '.join(evidence.terms))}]" if evidence.terms else ""
    where = f"  at {evidence.endpoint}" if evidence.endpoint else ""
    return f"{one_line(path)}: {cut(one_line(evidence.text), _TEXT)}{words}{where}"


def _class_line(one: ClassUse) -> str:
    name = cut(one_line(shortened(one.iri)), _NAME)
    return f"    {pad(name, _NAME)}{one.count:>10,}  {one_line(one.example)}"


def _predicate_lines(one: PredicateUse) -> Iterator[str]:
    name = cut(one_line(shortened(one.iri)), _NAME)
    sides = f"{_named(one.subjects)} -> {_named(one.objects)}"
    yield f"    {pad(name, _NAME)}{one.count:>10,}  {sides}"
    yield f"    {' ' * _NAME}{' ' * 10}  {cut(one_line(shortened(one.example)), _TEXT)}"


def _named(iris: Iterable[str]) -> str:
    return one_line(", ".join(map(shortened, iris))) or "-"


def _profile_lines(profile: SearchProfile) -> Iterator[str]:
    yield f"    {pad('nodes of', 14)}{_named(profile.types)}"
    for text in profile.texts:
        yield _weighted("text", shortened(text.iri), text.weight, "")
    for beside in profile.relationships:
        mark = "^" if beside.is_inbound else ""
        reads = f"reads {_named(beside.reads)}"
        yield _weighted("relationship", f"{mark}{shortened(beside.iri)}", beside.weight, reads)
    for edge in profile.expansions:
        yield _weighted("expansion", shortened(edge.iri), edge.weight, edge.role)
    limits = f"{profile.related_limit} related, {profile.next_limit} next"
    yield f"    {pad('at most', 14)}{limits}"


def _weighted(kind: str, name: str, weight: float, told: str) -> str:
    return f"    {pad(kind, 14)}{pad(one_line(name), 24)}{weight:>5g}  {told}".rstrip()
