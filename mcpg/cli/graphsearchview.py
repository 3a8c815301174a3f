"""What a search of the graph finds, and what the graph is made of, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.sanitise import cut, one_line, pad
from mcpg.cli.wording import counted
from mcpg.gateway.answerjson import SCORE_DECIMALS, diagnostics_json
from mcpg.graph.search.model import Role, ScoreKind
from mcpg.graph.sparql.answer import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcpg.diagnostics import Diagnostic
    from mcpg.graph.schema import ClassUse, GraphSchema, PredicateUse
    from mcpg.graph.search import Evidence, GraphMatch, GraphSearchResult, SearchProfile
    from mcpg.jsontypes import JsonObject

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
        meaning = _MEANINGS[found.matches[0].score_kind]
        blocks.append([f"scores: {meaning}; not probabilities"])
    if explain:
        blocks += ([query] for query in (found.sparql, found.expansion_sparql) if query)
    return "\n\n".join("\n".join(block) for block in blocks)


def result_json(found: GraphSearchResult, noticed: Iterable[Diagnostic]) -> JsonObject:
    """Give the object that `graph search` prints; *noticed* is what loading noticed."""
    return {
        "schema": "mcpg/graph-search/1",
        "query": found.query,
        "mode": found.mode.value,
        "isFederated": found.is_federated,
        "endpoints": list(found.endpoints),
        "usedSchemaSearch": found.used_schema_search,
        "usedSchemaFallback": found.used_schema_fallback,
        "matches": [_match_json(match) for match in found.matches],
        "relatedMatches": [_match_json(match) for match in found.related],
        "nextStepMatches": [_match_json(match) for match in found.next_steps],
        "generatedSparql": found.sparql,
        "expansionSparql": found.expansion_sparql,
        "diagnostics": diagnostics_json((*noticed, *found.diagnostics)),
    }


def schema_json(found: GraphSchema, noticed: Iterable[Diagnostic]) -> JsonObject:
    """Give the object that `graph schema` prints."""
    return {
        "schema": "mcpg/graph-schema/1",
        "triples": found.triples,
        "prefixes": dict(found.prefixes),
        "classes": [
            {"iri": one.iri, "name": shortened(one.iri), "count": one.count, "example": one.example}
            for one in found.classes
        ],
        "predicates": [_predicate_json(one) for one in found.predicates],
        "search": _profile_json(found.profile),
        "diagnostics": diagnostics_json(noticed),
    }


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


def _match_json(match: GraphMatch) -> JsonObject:
    return {
        "node": match.node,
        "label": match.label,
        "description": match.description,
        "types": list(match.types),
        "role": match.role.value,
        "toolId": match.tool_id,
        "score": round(match.score, SCORE_DECIMALS),
        "scoreKind": match.score_kind.value,
        "evidence": [_evidence_json(one, match.role) for one in match.evidence],
    }


def _evidence_json(evidence: Evidence, role: Role) -> JsonObject:
    members: JsonObject = {
        "predicate": evidence.predicate,
        "kind": evidence.kind,
        "score": round(evidence.score, SCORE_DECIMALS),
        "related": evidence.related or None,
        "relatedLabel": evidence.related_label or None,
        "endpoint": evidence.endpoint or None,
        "sources": [{"id": one.id, "label": one.label} for one in evidence.sources],
    }
    if role is Role.PRIMARY:
        members |= {
            "matchedText": evidence.text,
            "terms": list(evidence.terms),
            "via": evidence.via or None,
        }
    return members


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


def _predicate_json(one: PredicateUse) -> JsonObject:
    return {
        "iri": one.iri,
        "name": shortened(one.iri),
        "count": one.count,
        "subjects": list(one.subjects),
        "objects": list(one.objects),
        "example": one.example,
    }


def _profile_json(profile: SearchProfile) -> JsonObject:
    return {
        "types": list(profile.types),
        "texts": [{"predicate": one.iri, "weight": one.weight} for one in profile.texts],
        "relationships": [
            {
                "predicate": one.iri,
                "weight": one.weight,
                "reads": list(one.reads),
                "isInbound": one.is_inbound,
            }
            for one in profile.relationships
        ],
        "expansions": [
            {"predicate": one.iri, "weight": one.weight, "role": one.role}
            for one in profile.expansions
        ],
        "relatedLimit": profile.related_limit,
        "nextLimit": profile.next_limit,
    }


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
