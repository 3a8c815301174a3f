"""Warming up: what searches look up is read before them, and no answer changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from builders import make_engine, make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.catalog.model import Hints
from mcpg.engine import Engine
from mcpg.index import Index
from mcpg.index.layout import ABSENT, StaleIndexError
from mcpg.index.lookups import Grams
from mcpg.index.tables import KeyTable, keys_sections
from mcpg.search import searcher
from mcpg.search.query_terms import TermReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COLD = make_engine(
    make_tool("delete_file", source_id="disk", description="Remove a file from a folder."),
    make_tool("list_directory", source_id="disk", description="List all files of a directory."),
    make_tool("send_email", source_id="mail", description="Send an e-mail to a customer."),
    make_tool("find_customer", source_id="crm", description="Look a customer up by name."),
    make_tool("pay_invoice", source_id="crm", hints=Hints(aliases=("settle the bill",))),
    make_tool("off", source_id="crm", enabled_by_default=False),
)
WORDS = ("erase", "delet", "folder", "files", "datei", "löschen", "buyer", "invoce", "settle")
WORDS = (*WORDS, "the", "bill", "customer", "send_email", "C:/a.txt", "off", ".", "qwxz")
QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


def warm(engine: Engine) -> Engine:
    """Return another engine of the same index, warmed up."""
    other = Engine(Index(engine.index.data))
    other.warm_up()
    return other


WARM = warm(COLD)


@pytest.fixture
def nothing_is_read() -> Iterator[None]:
    """Have names, 3-grams of tools and hashes of texts fail to be read."""
    with (
        patch.object(Index, "name_terms", side_effect=AssertionError),
        patch.object(Grams, "_find", side_effect=AssertionError),
        patch("mcpg.index.tables.crc32", side_effect=AssertionError),
    ):
        yield


@settings(deadline=None, max_examples=100)
@given(QUERIES, st.booleans(), st.integers(1, 6))
def test_a_warm_engine_answers_as_a_cold_one(query: str, lexicon: bool, limit: int) -> None:
    """Reading ahead changes no answer."""
    cold = COLD.search(query, lexicon=lexicon, limit=limit)

    assert WARM.search(query, lexicon=lexicon, limit=limit) == cold


@pytest.mark.usefixtures("nothing_is_read")
def test_the_first_search_reads_nothing_anew() -> None:
    """What a search looks up by the words of a catalogue has been read."""
    assert WARM.search("remove files of a customer").matches


@pytest.mark.usefixtures("nothing_is_read")
def test_usual_words_are_read_though_no_tool_has_them() -> None:
    """People use the frequent words of their language, whatever the catalogue holds."""
    assert WARM.search("tell the government about a customer").matches


EVERYTHING = frozenset(("all tools", "all postings", "invoice", "government"))
"""Kinds of what is read ahead; the third is a word of the catalogue, the last one of English."""


def read_ahead() -> set[str]:
    """Warm an engine up, and return which of `EVERYTHING` it reads."""
    words: set[str] = set()
    terms: set[int] = set()
    tools: set[int] = set()

    def noticing(method: Any, notice: Callable[[Any], None]) -> Any:
        def call(*given: Any) -> Any:
            notice(given)
            return method(*given)

        return call

    with (
        patch.object(
            searcher, "find_needs", noticing(searcher.find_needs, lambda one: tools.add(one[0]))
        ),
        patch.object(Index, "impacts", noticing(Index.impacts, lambda one: terms.add(one[1]))),
        patch.object(
            TermReader, "read", noticing(TermReader.read, lambda one: words.update(one[1]))
        ),
    ):
        engine = warm(COLD)
    assert engine.search("erase a file") == COLD.search("erase a file")
    found = words & {"invoice", "government"}
    found |= {"all tools"} if len(tools) == len(COLD.index) else set()
    return found | ({"all postings"} if len(terms) == len(COLD.index.texts("terms")) else set())


@pytest.mark.parametrize(
    ("bound", "left"),
    [
        ("MOST_TOOLS", {"all tools"}),
        ("MOST_POSTINGS", {"all postings"}),
        ("MOST_WORDS", {"invoice"}),
        ("MOST_FREQUENT", {"government"}),
        ("FREQUENT_PER_WORD", {"government"}),
    ],
)
def test_what_would_not_be_kept_is_not_read_ahead(bound: str, left: set[str]) -> None:
    """Beyond a bound nothing of its kind is read ahead, and the answers are the same."""
    assert read_ahead() == EVERYTHING
    with patch.object(searcher, bound, 0):
        assert read_ahead() == EVERYTHING - left


def test_damage_is_mended_while_reading_ahead() -> None:
    """An index that turns out to be damaged is replaced, as in a search."""
    rebuilt: list[Index] = []

    def rebuild() -> Index:
        rebuilt.append(Index(COLD.index.data))
        return rebuilt[0]

    engine = Engine(Index(COLD.index.data), rebuild=rebuild)
    damaged = StaleIndexError("a row leads out of its table")
    with (
        patch.object(engine.index, "impacts", side_effect=damaged),
        patch.object(engine.index, "display_name", side_effect=damaged),
    ):
        engine.warm_up()

    assert [engine.index] == rebuilt


@given(st.lists(st.text(max_size=8), unique=True, max_size=40), st.text(max_size=8))
def test_texts_that_are_read_ahead_are_found_as_before(texts: list[str], other: str) -> None:
    """Decoding all texts of a table changes no number that it finds."""
    texts.sort(key=lambda text: text.encode("utf-8", "surrogatepass"))
    data, starts, slots = (section.data for section in keys_sections("x", texts))
    keys = KeyTable(memoryview(data), memoryview(starts).cast("I"), memoryview(slots).cast("I"))
    before = [keys.find(text) for text in (*texts, other)]
    keys.read_ahead()

    assert [keys.find(text) for text in (*texts, other)] == before
    assert before[-1] == (texts.index(other) if other in texts else ABSENT)
