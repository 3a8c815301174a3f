from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from builders import make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.bundle import assemble
from mcpg.catalog.model import Hints
from mcpg.index import Index
from mcpg.index.compile import compile_index
from mcpg.index.hint_overlay import HintOverlay
from mcpg.search.features import extract_features
from mcpg.search.model import default_model
from mcpg.search.pipeline import Search, gather
from mcpg.search.results import SearchRequest
from mcpg.search.retrieval import POOL
from mcpg.sources import SourceBatch
from mcpg.text import lexicon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.documents.model import ToolDocument

WORDS = ["ship", "shipping", "shipment", "shipmnt", "order", "getOrder", "order_get", "orders"]
WORDS += ["parcels", "parcel", "посилка", "快递单号", "v2.1", "the", "tracker", "track"]
WORDS += ["enviar el pedido", "el paquete del cliente", "#!?", "\udfff"]

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
lists = st.lists(texts, max_size=3).map(tuple)
tools = st.builds(
    lambda name, text, aliases, keywords: make_tool(
        name, description=text, aliases=aliases, keywords=keywords
    ),
    st.sampled_from(["order_get", "ship_track", "parcel", "x"]),
    texts,
    lists,
    lists,
)
catalogues = st.lists(tools, min_size=1, max_size=4, unique_by=lambda tool: tool.name)


def documents_of(*tools: object) -> Sequence[ToolDocument]:
    """Return the documents of *tools* in order of id."""
    documents = assemble(SourceBatch(tools=tools)).documents  # type: ignore[arg-type]
    return sorted(documents, key=lambda document: document.tool.id)


def seen(index: Index, query: str) -> object:
    """Give all that ranks are made of, without the numbers of terms."""
    analysis, pool = gather(Search(SearchRequest(query), index, default_model(), frozenset()), POOL)
    clauses = [
        (
            clause.text,
            clause.weight,
            clause.role,
            clause.document_frequency,
            [(repair.word, repair.kind, repair.similarity) for repair in clause.repairs],
            [index.term(term) for term, _ in clause.variants],
            [index.fields(tool, [clause.variants]) for tool in range(len(index))],
        )
        for clause in analysis.clauses
    ]
    return clauses, pool.documents, extract_features(range(len(index)), analysis, index)


@settings(deadline=None)
@given(catalogues, st.integers(0, 3), lists, lists, texts)
def test_hints_tried_give_what_hints_compiled_give(
    catalogue: list[object],
    place: int,
    aliases: tuple[str, ...],
    keywords: tuple[str, ...],
    query: str,
) -> None:
    """Every number that decides on a rank is the same as in an index that is compiled anew."""
    documents = list(documents_of(*catalogue))
    tool = place % len(documents)
    before = Index(compile_index(documents))
    hints = Hints.merge(Hints(aliases=aliases, keywords=keywords), documents[tool].tool.hints)
    documents[tool] = replace(documents[tool], tool=replace(documents[tool].tool, hints=hints))

    tried = HintOverlay(before, tool).with_hints(hints)

    compiled = Index(compile_index(documents))
    assert seen(tried, query) == seen(compiled, query)
    for word in (*WORDS, ""):
        assert tried.nearest(word) == compiled.nearest(word)
        assert tried.completions(word[:4], 3) == compiled.completions(word[:4], 3)
        assert tried.exact(word) == compiled.exact(word)


def test_a_hint_may_be_a_related_word() -> None:
    """A word that only a hint tried has is found by the number of its stem, as in an index."""
    documents = documents_of(make_tool("a"), make_tool("b", keywords=("parcel",)))
    number = lexicon.numbers_of_stems()["shipment"]
    before = Index(compile_index(documents))

    tried = HintOverlay(before, 0).with_hints(Hints(keywords=("shipments",)))

    assert before.terms_of_stem(number, with_meanings=True) == []
    assert tried.terms_of_stem(number, with_meanings=True) == [(tried.find_stem("shipment"), 1.0)]
    again = HintOverlay(before, 1).with_hints(Hints(keywords=("parcel", "parcels")))
    number = lexicon.numbers_of_stems()["parcel"]
    assert again.terms_of_stem(number, with_meanings=True) == [(before.find_stem("parcel"), 1.0)]


def test_trying_leaves_the_index_as_it_is() -> None:
    """What is tried on an index changes nothing in it."""
    index = Index(compile_index(documents_of(make_tool("a"), make_tool("b", keywords=("parcel",)))))
    before = seen(index, "parcel tracker")

    tried = HintOverlay(index, 0).with_hints(Hints(keywords=("parcel", "tracker")))

    assert seen(tried, "parcel tracker") != before
    assert seen(index, "parcel tracker") == before


def test_a_nearer_hint_displaces_a_farther_word() -> None:
    """A misspelt word means the words that are nearest to it, hints among them, and no others."""
    documents = documents_of(make_tool("a", description="trackory"), make_tool("b"))
    index = Index(compile_index(documents))
    assert index.nearest("trackers") == (2, ("trackory",))

    tried = HintOverlay(index, 1).with_hints(Hints(keywords=("tracker", "trackoos")))

    assert tried.nearest("trackers") == (1, ("tracker",))
