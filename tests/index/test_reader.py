from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument
from mcpg.index import tables
from mcpg.index.compile import compile_index
from mcpg.index.layout import ABSENT, IMPACT_SCALE, StaleIndexError, unpack
from mcpg.index.reader import Index
from mcpg.index.recipe import FIELDS
from mcpg.index.tables import Section, bytes_sections

if TYPE_CHECKING:
    from collections.abc import Sequence

REFUND, HIDDEN, TRACK = 0, 1, 2


def fields_of(mask: int) -> list[str]:
    """Name the fields of a mask."""
    return [name for bit, name in enumerate(FIELDS) if mask >> bit & 1]


def found(index: Index, term: int) -> dict[int, list[str]]:
    """Return the tools that hold a term, and the fields."""
    tools, _, masks = index.postings(term)
    return {tool: fields_of(mask) for tool, mask in zip(tools, masks, strict=True)}


def test_sections_are_known_by_name(index: Index) -> None:
    """An index has the sections that it can give, and no other."""
    assert index.has_section("records")
    assert len(index.section("records.crc")) > 0
    assert not index.has_section("model.ignored")
    assert not index.has_section("")
    with pytest.raises(StaleIndexError):
        index.section("model.ignored")


def test_tools_are_numbered_by_id(index: Index) -> None:
    """A tool's texts are at hand without its record."""
    assert [index.tool_id(tool) for tool in range(len(index))] == [
        "billing:refund",
        "billing:shipments",
        "commerce:track",
    ]
    assert index.tool_name(TRACK) == "commerce_trackShipment"
    assert index.display_name(TRACK) == "Track a shipment"
    assert index.summary(TRACK) == "Where is a shipment? See trackShipment."
    assert index.source_id(TRACK) == "commerce"
    assert index.find_source_numbers(range(3)) == [0, 0, 1]
    assert [index.is_enabled(tool) for tool in range(3)] == [True, False, True]
    assert index.find_tool("billing:shipments") == HIDDEN
    assert index.find_tool("billing") == ABSENT


def test_summaries_are_short() -> None:
    """Of a long description the first 300 characters are at hand, on one line."""
    tool = Tool("a", "s", "a", description="one\t two " * 1_000)

    assert Index(compile_index([ToolDocument(tool, "", "")])).summary(0) == ("one two " * 38)[:300]


def test_records_hold_the_whole_document(index: Index, documents: tuple[ToolDocument, ...]) -> None:
    """A record gives the document back, and its Markdown when that was kept."""
    track, refund, hidden = documents

    assert [index.record(tool) for tool in range(3)] == [refund, hidden, track]
    assert index.markdown(TRACK) == "# Track\n"
    assert index.markdown(REFUND) is None


@pytest.mark.parametrize(
    ("key", "tools"),
    [
        ("commercetrack", (TRACK,)),
        ("trackashipment", (TRACK,)),
        ("станпосилки", (TRACK,)),
        ("refund", (REFUND,)),
        ("shipments", (HIDDEN,)),
        ("nothing", ()),
        ("", ()),
    ],
)
def test_exact_keys_find_their_tools(index: Index, key: str, tools: tuple[int, ...]) -> None:
    """Ids, names, titles and aliases are found by their joined forms."""
    assert index.exact(key) == tools


def test_edges_know_their_reasons(index: Index) -> None:
    """A link to a tool is an edge with a reason; one that leads elsewhere is none."""
    ((number, *edge),) = index.edges(TRACK)
    assert edge == [REFUND, "related", 0.5]
    assert index.reason(number) == "shares a word"
    assert index.edges(REFUND) == ()


def test_edges_are_the_links_between_tools(index: Index) -> None:
    """Links that lead elsewhere are no edges; why an edge is there is told on demand."""
    ((number, *edge),) = index.edges(TRACK)

    assert edge == [REFUND, "related", 0.5]
    assert index.reason(number) == "shares a word"


def test_an_index_knows_what_its_tools_are_like(index: Index) -> None:
    """The language of the descriptions and the tools that are off are at hand."""
    assert index.language == "english"
    assert list(index.iter_disabled_tools()) == [HIDDEN]
    assert Index(compile_index([])).language is None


def test_groups_know_their_members(index: Index) -> None:
    """Groups of a tool keep its order; members of a group are in order of tool."""
    groups = list(index.groups(TRACK))

    assert [index.group(group) for group in groups] == ["domain:parcel", "a"]
    assert [list(index.members(group)) for group in groups] == [[TRACK], [REFUND, TRACK]]
    assert list(index.groups(HIDDEN)) == []


def test_words_lead_to_their_stems(index: Index) -> None:
    """Inflections share a term, whose postings say which tools hold it, and where."""
    singular, plural = index.find_word("shipment"), index.find_word("shipments")
    term = index.term_of_word(singular)

    assert index.term_of_word(plural) == term == index.find_stem("shipment")
    assert index.word(index.word_of_term(term)) == "shipment"
    assert found(index, term) == {
        HIDDEN: ["name"],
        TRACK: ["name", "title", "description"],
    }
    assert index.document_frequency(term) == 2
    assert index.find_word("shipmen") == ABSENT


def test_impacts_are_in_range_and_bounded_by_the_highest(index: Index) -> None:
    """No impact is 0, none is above the one that is noted as the highest."""
    for term in range(len(index.texts("terms"))):
        tools, impacts, _ = index.postings(term)
        assert list(tools) == sorted(set(tools))
        assert 0 < max(impacts) == index.max_impact(term) < IMPACT_SCALE


def test_identifiers_are_terms_but_no_words(index: Index) -> None:
    """A compound is found whole, is the stem of nothing, and is offered as nobody's repair."""
    term = index.find_identifier("trackshipment")

    assert index.term(term) == "trackshipment"
    assert found(index, term) == {TRACK: ["description"]}
    assert index.find_stem("trackshipment") == ABSENT
    assert index.find_word("trackshipment") == ABSENT
    assert index.word_of_term(term) == ABSENT
    assert index.nearest("trackshipmnet") == (0, ())
    assert index.find_identifier("shipment") == ABSENT
    assert index.find_identifier("nothing") == ABSENT


def test_a_term_may_be_stem_and_identifier() -> None:
    """What one tool writes as a compound and another as a word is one term of both."""
    tools = Tool("a", "s", "gitCommit"), Tool("b", "s", "x", description="a gitcommit")
    index = Index(compile_index(ToolDocument(tool, tool.id, tool.id) for tool in tools))
    term = index.find_identifier("gitcommit")

    assert index.find_stem("gitcommit") == term
    assert list(index.postings(term)[0]) == [0, 1]


def test_name_terms_leave_the_source_out(index: Index) -> None:
    """Words of the source say nothing of the tool, unless its name has no others."""
    tool = Tool("a", "git", "git")
    alone = Index(compile_index([ToolDocument(tool, "", "")]))

    assert [index.term(term) for term in index.name_terms(TRACK)] == ["track", "shipment"]
    assert [alone.term(term) for term in alone.name_terms(0)] == ["git"]


def test_misspellings_and_beginnings_lead_to_words(index: Index) -> None:
    """Words are found by near misses and by their first characters."""
    assert index.nearest("shipmnt") == (1, ("shipment",))
    assert index.nearest("refundng") == (1, ("refunding",))
    assert index.completions("ship", 5) == ["shipment", "shipments"]
    assert index.completions("shipment", 5) == ["shipments"]
    assert index.completions("ship", 1) == ["shipment"]
    assert index.completions("shi", 5) == []
    assert index.completions("zzzz", 5) == []


def test_a_prefix_is_completed_by_all_words_that_begin_with_it(index: Index) -> None:
    """They stand in order, without the prefix itself."""
    words = [*index.texts("words")]
    for prefix in {word[:length] for word in words for length in range(4, 9) if len(word) >= 4}:
        longer = [word for word in words if word.startswith(prefix) and word != prefix]
        assert index.completions(prefix, len(words)) == longer


def test_order_of_documents_does_not_matter(documents: Sequence[ToolDocument], data: bytes) -> None:
    """The same documents give the same bytes."""
    again = compile_index(
        reversed(documents), key=bytes(range(32)), texts={"track.md": "# Track\n"}
    )

    assert again == data


def test_callers_add_sections_and_weights(documents: Sequence[ToolDocument]) -> None:
    """Weights and further arrays travel in the file."""
    extra = Section("channel", "H", b"\1\0\2\0")
    index = Index(compile_index(documents, model=[0.5, -1.0], extra=[extra]))

    assert list(index.section("model")) == [0.5, -1.0]
    assert list(index.section("channel")) == [1, 2]
    assert b'"tools": 3' in bytes(index.section("meta"))
    with pytest.raises(StaleIndexError, match="no section 'other'"):
        index.section("other")


def test_pages_are_kept_beside_the_tools(documents: Sequence[ToolDocument], index: Index) -> None:
    """Documents of no tool are read back in order of paths; without any, nothing is written."""
    pages = [
        ToolDocument(Tool("", "notes", name), f"{name}.md", f"urn:{name}", is_page=True)
        for name in ("second", "first")
    ]
    kept = Index(compile_index(documents, pages=pages))

    assert kept.pages() == pages[::-1]
    assert len(kept) == len(index)
    assert index.pages() == []
    assert compile_index(documents, pages=()) == compile_index(documents)
    with pytest.raises(StaleIndexError, match="record"):
        Index(compile_index(documents, extra=bytes_sections("pages", [b"{}"], "Q"))).pages()


def test_an_empty_catalogue_has_an_index() -> None:
    """Without documents every question has an answer: nothing."""
    index = Index(compile_index([]))

    assert (len(index), len(index.texts("terms"))) == (0, 0)
    assert index.exact("a") == ()
    assert index.nearest("shipmnet") == (0, ())
    assert index.completions("ship", 5) == []
    assert index.find_word("a") == ABSENT
    with pytest.raises(StaleIndexError):
        index.tool_id(0)
    index.verify()


@pytest.mark.parametrize("name", ["", "one", "\0", "\0\0one", "two"])
def test_any_name_is_kept(name: str) -> None:
    """Names are told from the id where they differ, and titles from the name."""
    tools = Tool("one", "s", name), Tool("two", "s", name, title="Title")
    index = Index(compile_index([ToolDocument(tool, tool.id, tool.id) for tool in tools]))

    assert [index.tool_name(0), index.tool_name(1)] == [name, name]
    assert [index.display_name(0), index.display_name(1)] == [name, "Title"]
    assert index.record(0).tool == tools[0]


def test_documents_have_their_place_in_the_bundle() -> None:
    """A bundle holds documents and pages in the order of their paths."""
    paths = {"b": "a", "c": "z"}
    documents = [ToolDocument(Tool(one, "s", one), path, one) for one, path in paths.items()]
    page = ToolDocument(Tool("", "", ""), "k.md", "page")
    index = Index(compile_index(documents, pages=[page]))

    assert [index.place(0), index.place(1)] == [0, 2]


def test_texts_of_any_characters_are_kept() -> None:
    """Halves of surrogate pairs and control characters neither fail nor change."""
    tool = Tool("\ud800", "\0", "a\udfff b", description="x\u202e\ud800y")
    document = ToolDocument(tool, "p", "u", groups=("\ud800",))
    index = Index(compile_index([document]))

    assert (index.tool_id(0), index.source_id(0), index.group(0)) == ("\ud800", "\0", "\ud800")
    assert index.record(0) == document


def test_large_files_are_checked_on_demand(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a size, damage within a section shows only when one asks for it."""
    place = unpack(data)[1]["names"].start
    damaged = data[:place] + b"R" + data[place + 1 :]
    with pytest.raises(StaleIndexError):
        Index(damaged).tool_name(REFUND)
    monkeypatch.setattr(tables, "CHECKED_SIZE", 0)
    index = Index(damaged)

    assert index.tool_name(REFUND) == "Refund"
    with pytest.raises(StaleIndexError, match="is damaged"):
        index.verify()


def test_threads_may_share_an_index(data: bytes) -> None:
    """Many threads that open the same sections at once get the same answers."""
    index = Index(data)

    def ask(_: int) -> object:
        return index.nearest("shipmnt"), index.edges(TRACK), index.record(TRACK).uri

    with ThreadPoolExecutor(8) as pool:
        assert len({str(answer) for answer in pool.map(ask, range(64))}) == 1
