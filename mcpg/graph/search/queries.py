"""The SPARQL that a search asks: whole, ordered, and of nothing but registered predicates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcpg.graph import vocabulary as v
from mcpg.graph.iris import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcpg.graph.search.profile import Relationship, SearchProfile

LABELS = (v.SCHEMA_NAME, v.SKOS_PREF_LABEL)
"""The predicates of names, the best first."""

DESCRIBED = (*LABELS, v.SCHEMA_DESCRIPTION, v.RDF_TYPE)
"""The predicates by which a node is shown."""

_SAMPLE = 500


def evidence_query(profile: SearchProfile, pattern: str) -> str:
    """Ask for every registered value in which the regular expression *pattern* is found."""
    test = f'FILTER(REGEX(STR(?text), {_string(pattern)}, "i"))'
    branches = []
    if profile.texts:
        values = " ".join(_name(one.iri) for one in profile.texts)
        branches.append(
            f"    VALUES ?predicate {{ {values} }}\n    ?node ?predicate ?text .\n    {test}"
        )
    branches += (
        _beside([one for one in profile.relationships if one.is_inbound is is_inbound], test)
        for is_inbound in (False, True)
    )
    union = "\n  } UNION {\n".join(branch for branch in branches if branch)
    return _with_prefixes(
        "SELECT DISTINCT ?node ?predicate ?text ?via ?related ?inbound WHERE {\n"
        f"  VALUES ?type {{ {' '.join(map(_name, profile.types))} }}\n"
        f"  ?node a ?type .\n  {{\n{union}\n  }}\n"
        "}\nORDER BY ?node ?predicate ?text ?via ?related"
    )


def expansion_query(profile: SearchProfile, nodes: Iterable[str]) -> str:
    """Ask for what the registered edges of *nodes* lead to."""
    edges = " ".join(_name(one.iri) for one in profile.expansions)
    return _with_prefixes(
        "SELECT DISTINCT ?node ?predicate ?related WHERE {\n"
        f"  VALUES ?node {{ {' '.join(map(_name, nodes))} }}\n"
        f"  VALUES ?predicate {{ {edges} }}\n"
        "  ?node ?predicate ?related .\n"
        "  FILTER(ISIRI(?related) && ?related != ?node)\n"
        "}\nORDER BY ?node ?predicate ?related"
    )


def description_query(nodes: Iterable[str]) -> str:
    """Ask how *nodes* are called, what they are, and of which classes."""
    return _with_prefixes(
        "SELECT DISTINCT ?node ?predicate ?value WHERE {\n"
        f"  VALUES ?node {{ {' '.join(map(_name, nodes))} }}\n"
        f"  VALUES ?predicate {{ {' '.join(map(_name, DESCRIBED))} }}\n"
        "  ?node ?predicate ?value .\n"
        "}\nORDER BY ?node ?predicate ?value"
    )


def counting_query(profile: SearchProfile) -> str:
    """Ask how many nodes can be found."""
    types = " ".join(map(_name, profile.types))
    return _with_prefixes(
        f"SELECT (COUNT(DISTINCT ?node) AS ?count) WHERE {{ VALUES ?type {{ {types} }}"
        " ?node a ?type }"
    )


def sampling_query(profile: SearchProfile) -> str:
    """Ask for some values, enough to tell the language that most are in."""
    types = " ".join(map(_name, profile.types))
    texts = " ".join(_name(one.iri) for one in profile.texts)
    return _with_prefixes(
        f"SELECT DISTINCT ?text WHERE {{ VALUES ?type {{ {types} }} VALUES ?predicate {{ {texts} }}"
        f" ?node a ?type ; ?predicate ?text }} ORDER BY ?text LIMIT {_SAMPLE}"
    )


def at_endpoint(query: str, endpoint: str) -> str:
    """Give *query* as one that another endpoint answers."""
    lines = query.split("\n")
    heads = [line for line in lines if line.startswith("PREFIX ")]
    body = [f"    {line}" for line in lines[len(heads) :]]
    return "\n".join((*heads, f"SELECT * WHERE {{\n  SERVICE <{endpoint}> {{", *body, "  }\n}"))


def is_iri(text: str) -> bool:
    """Say whether *text* can stand between `<` and `>` as it is."""
    return ":" in text and escaped(text) == text


def _beside(relationships: Sequence[Relationship], test: str) -> str:
    if not relationships:
        return ""
    pairs = " ".join(
        f"({_name(one.iri)} {_name(iri)})" for one in relationships for iri in one.reads
    )
    is_inbound = relationships[0].is_inbound
    edge = "?related ?via ?node" if is_inbound else "?node ?via ?related"
    mark = "\n    BIND(true AS ?inbound)" if is_inbound else ""
    return (
        f"    VALUES (?via ?predicate) {{ {pairs} }}\n"
        f"    {edge} .\n    ?related ?predicate ?text .\n"
        f"    FILTER(?related != ?node)\n    {test}{mark}"
    )


def _name(iri: str) -> str:
    for prefix, namespace in v.PREFIXES.items():
        rest = iri.removeprefix(namespace)
        if rest != iri and rest.isidentifier() and rest.isascii():
            return f"{prefix}:{rest}"
    return f"<{iri}>"


def _with_prefixes(query: str) -> str:
    used = [prefix for prefix in v.PREFIXES if f" {prefix}:" in query or f"({prefix}:" in query]
    return "".join((*(f"PREFIX {one}: <{v.PREFIXES[one]}>\n" for one in used), query))


def _string(text: str) -> str:
    """Give *text* as a SPARQL string; those of JSON are some, but for pairs of surrogates."""
    return json.dumps(text, ensure_ascii=False)
