from __future__ import annotations

import pytest
from builders import make_engine, make_tool

from mcpg.engine.hint_suggestions import MOST_WORDS, as_alias, as_keywords, hint_words, whole_alias
from mcpg.engine.query import analyse

ENGINE = make_engine(
    make_tool("shipment_status", description="Where a shipment is, what it weighs, who gets it."),
    make_tool("order_get", description="The order of a customer, and k8s for its shop."),
)


def proposed(query: str, present: tuple[str, ...] = ()) -> list[str]:
    """Return the words of *query* that may be added, the preferred first."""
    analysis = analyse(query, ENGINE.index, uses_lexicon=False)
    impacts = [0.0] * len(analysis.clauses)
    found = hint_words(query, analysis, impacts, present, ENGINE.index.language)
    return [one.text for one in found]


@pytest.mark.parametrize(
    "literal",
    [
        "ann@example.org",
        "https://example.org/parcel",
        "/usr/share/parcel",
        "~/parcel",
        "report.pdf",
        "12.30",
        "4711",
        "INV-4711-A",
        '"my parcel"',
        "`parcel`",
    ],
)
def test_literals_are_never_proposed(literal: str) -> None:
    """What a tool is called with is no keyword of it."""
    assert proposed(f"courier {literal}") == ["courier"]


def test_a_request_of_one_quotation_is_read() -> None:
    """Marks around the whole request quote nothing."""
    assert proposed('"courier"') == ["courier"]


def test_a_repaired_word_is_proposed_as_the_catalogue_has_it() -> None:
    """No misspelling is written down."""
    assert proposed("shipmnt") == ["shipment"]


def test_a_word_of_the_language_is_proposed_as_typed() -> None:
    """A real word is no slip, though the catalogue has none but a near one."""
    assert ENGINE.index.nearest("border") == (1, ("order",))
    assert proposed("border") == ["border"]


def test_keywords_that_are_there_are_not_proposed() -> None:
    """A tool gets no keyword twice, in whatever case."""
    assert proposed("courier parcel", ("Courier",)) == ["parcel"]


def test_function_words_are_not_proposed() -> None:
    """What analysis drops finds nothing."""
    assert "the" not in proposed("where is the courier")


def test_codes_of_the_catalogue_are_words() -> None:
    """A word with a digit that tools use may be a keyword, a code that none has may not."""
    assert proposed("k8s courier x9y8z7") == ["k8s", "courier"]


def test_short_common_words_and_strange_names_come_last() -> None:
    """Words that say little are doubtful."""
    query = "I want to know from Zorblax about the courier"
    analysis = analyse(query, ENGINE.index)
    found = hint_words(query, analysis, [0.0] * len(analysis.clauses), (), "english")
    doubtful = {one.text for one in found if one.is_doubtful}

    assert {"want", "zorblax"} <= doubtful
    assert "courier" not in doubtful


def test_words_of_a_subject_go_before_common_ones() -> None:
    """Of words that the tool lacks, one that people use of anything comes last."""
    assert proposed("provide the courier across") == ["courier", "across", "provide"]


def test_a_time_makes_no_literal_of_a_sentence_without_spaces() -> None:
    """Where words are written together, a number is cut from them first."""
    assert "闹钟" in proposed("请把8:30的闹钟改为9:00。")


def test_words_are_bounded() -> None:
    """A long request is read in part: its weightiest words."""
    assert len(
        proposed(" ".join(f"kw{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60)))
    ) == (MOST_WORDS)


@pytest.mark.parametrize(
    ("query", "alias"),
    [
        ("where is my parcel?", "where is my parcel"),
        ("  де моя  посилка ", "де моя посилка"),
        ("mail ann@example.org", None),
        ('open "this"', None),
        ("one two three four five six seven eight nine", None),
        ("a" * 81, None),
        ("parcel \u202e", None),
    ],
)
def test_a_short_request_may_be_an_alias(query: str, alias: str | None) -> None:
    """A request that is short, and holds nothing that changes from call to call, is a name."""
    assert whole_alias(query) == alias


def test_words_become_hints() -> None:
    """Keywords stand in alphabetical order, an alias in the query's."""
    analysis = analyse("parcel courier", ENGINE.index)
    found = hint_words("parcel courier", analysis, [0.0, 0.0], (), None)

    assert as_keywords(found).keywords == ("courier", "parcel")
    assert as_alias(found).aliases == ("parcel courier",)
