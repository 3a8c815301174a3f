"""Front matter of authors that other readers may not take, as strategies of Hypothesis."""

from __future__ import annotations

from generated import texts
from hypothesis import strategies as st

NAMES = [
    *("schema:Thing", "Schema:Thing", "skos:Concept", "mcpg:Tool", "owl:sameAs", "ex:A", "EX:a"),
    *("nobody:Knows", "Thing", ":x", "x:", "", " ", "urn:ex:a", "urn:", "http://ex.test/a b"),
    *("http://[", "https:ex.test", "http://", "mailto:a@ex.test", "/rooted", "id", "predicate"),
    *("xsd:date", "schema", "http:x", "Prov:used", "物流:倉庫", 'http://ex.test/"q"', "a:b:c"),
]
ADDRESSES = [
    *("http://ex.test/", "urn:ex:", "http://schema.org/", "https://schema.org/", "ex", "/x"),
    *("http://www.w3.org/2004/02/skos/core#", "http://[", "", "http://ex.test", "file:///x/"),
]
names = st.sampled_from(NAMES) | texts
scalars = names | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
members = st.sampled_from(["id", "value", "datatype", "dataType", "lang", "label", "ID", "type"])
objects = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(members, inner, max_size=3),
    max_leaves=5,
)
prefixes = st.dictionaries(
    st.sampled_from(["ex", "EX", "ex:", "schema", "Schema", "skos", "", "http", "物流", "xsd"]),
    st.sampled_from(ADDRESSES) | scalars,
    max_size=4,
)
keys = st.sampled_from(["rdf_prefixes", "rdfPrefixes", "RDF_Prefixes"])
type_keys = st.sampled_from(["rdf_types", "rdfTypes", "Rdf_Types"])
property_keys = st.sampled_from(["rdf_properties", "rdfProperties", "RDFPROPERTIES"])
fronts = st.builds(
    lambda *parts: {key: value for part in parts for key, value in part.items()},
    st.dictionaries(keys, prefixes | objects | st.lists(prefixes, max_size=2), max_size=2),
    st.dictionaries(type_keys, st.lists(objects, max_size=3) | objects, max_size=2),
    st.dictionaries(
        property_keys, st.dictionaries(names, objects, max_size=3) | objects, max_size=2
    ),
    st.dictionaries(st.sampled_from(["title", "about"]), scalars, max_size=1),
)

LABELS = [
    *("物流", "返品", "Склад", "C++", "C#", "C", "stock_peek", "stockpeek", "7", "مستودع 7", "R&D"),
    *("document", "http://ex.test/a#b", "http://ex.test/a#c", "http://EX.test/a", "domain:stock"),
    *("Domain:Stock", "a.md", "b.md", "../a.md", "A", "urn:x:" + "y" * 10_000, "a b", "a  b"),
]
labels = st.sampled_from(LABELS) | scalars
items = labels | st.dictionaries(
    st.sampled_from(["id", "label", "name", "type", "sameAs", "target"]), labels, max_size=3
)
edges = st.dictionaries(
    st.sampled_from(["subject", "predicate", "object", "target"]), items, max_size=4
)
nodes = st.dictionaries(
    st.sampled_from(
        ["graph_groups", "graph_entities", "graph_related", "about", "author", "Graph_Groups"]
    ),
    st.lists(items, max_size=4) | items,
    max_size=4,
)
node_fronts = st.builds(
    lambda named, stated: named | stated,
    nodes,
    st.dictionaries(st.sampled_from(["graph_edges", "graphEdges"]), st.lists(edges, max_size=3)),
)
"""Front matter that names nodes: groups, things, topics, and ends of relations."""
