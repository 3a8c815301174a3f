from __future__ import annotations

import pytest
from builders import make_engine, make_tool

from mcpg.explain.hint_words import MOST_WORDS, RequestWords, as_alias, as_keywords
from mcpg.search.query import analyse

ENGINE = make_engine(
    make_tool("shipment_status", description="Where a shipment is, what it weighs, who gets it."),
    make_tool("order_get", description="The order of a customer, and k8s for its shop."),
    make_tool("paris_map", description="Draw a map."),
    make_tool("time_now", description="What a clock shows."),
)


def words_of(query: str, *, uses_lexicon: bool = False) -> RequestWords:
    """Read *query* as a search for it would."""
    analysis = analyse(query, ENGINE.index, uses_lexicon=uses_lexicon)
    return RequestWords(query, analysis, analysis.language or ENGINE.index.language, ENGINE.index)


def proposed(query: str, present: tuple[str, ...] = ()) -> list[str]:
    """Return the words of *query* that may be added, the preferred first."""
    is_held = [False] * len(analyse(query, ENGINE.index, uses_lexicon=False).clauses)
    return [one.text for one in words_of(query).hint_words(is_held, present)]


FORMAL = [
    "ann@example.org",
    "https://example.org/parcel",
    "/usr/share/parcel",
    "~/parcel",
    "report.pdf",
    "12.30",
    "4711",
    "INV-4711-A",
]
LITERALS = [*FORMAL, '"my parcel"', "`parcel`"]
NAMES = ["tokyo", "Tokyo", "new york", "Anna Schmidt", "in Turkey", "monday", "Zorblax"]


@pytest.mark.parametrize("literal", LITERALS)
def test_literals_are_never_proposed(literal: str) -> None:
    """What a tool is called with is no keyword of it."""
    assert proposed(f"courier {literal}") == ["courier"]


@pytest.mark.parametrize("literal", [*FORMAL, "SELECT * FROM parcels"])
def test_nothing_is_proposed_for_a_request_of_literals(literal: str) -> None:
    """A request that is nothing but an argument has no words of the tool that takes it."""
    assert proposed(literal) == []
    assert words_of(literal).alias() is None


@pytest.mark.parametrize("name", NAMES)
def test_names_of_individuals_are_never_proposed(name: str) -> None:
    """A place, a person or a day is what a tool is called with."""
    assert proposed(f"courier {name}") == ["courier"]


def test_a_name_that_tools_have_in_theirs_is_proposed() -> None:
    """What a tool is called describes what it does."""
    assert "paris" in proposed("courier paris")


def test_a_noun_is_proposed_however_the_language_writes_it() -> None:
    """A capital tells no name where all nouns have one."""
    assert set(proposed("Wo ist der Kurier mit dem Paket")) >= {"kurier", "paket"}


def test_a_request_of_one_quotation_is_read() -> None:
    """Marks around the whole request quote nothing."""
    assert proposed('"courier"') == ["courier"]


def test_a_repaired_word_is_proposed_as_the_catalogue_has_it() -> None:
    """No misspelling is written down, as a keyword or in an alias."""
    assert proposed("shipmnt") == ["shipment"]
    assert words_of("follow my shipmnt").alias() == "follow my shipment"


@pytest.mark.parametrize(
    ("query", "words"),
    [("where is the laundy", ["laundry"]), ("send the invioce", ["invoice"])],
)
def test_a_misspelling_is_proposed_as_english_has_it(query: str, words: list[str]) -> None:
    """A slip that is near no word of the catalogue is no keyword either."""
    analysis = analyse(query, ENGINE.index)
    found = words_of(query, uses_lexicon=True).hint_words([False] * len(analysis.clauses))

    assert {one.text for one in found} >= {*words}
    assert not {"laundy", "invioce"} & {one.text for one in found}


@pytest.mark.parametrize("placeholder", ["foo", "foo baz", "qux", "foobar"])
def test_names_that_stand_for_any_are_never_proposed(placeholder: str) -> None:
    """Placeholders are arguments, but for those that are frequent words."""
    assert proposed(f"courier {placeholder}") == ["courier"]
    assert words_of(f"follow my courier {placeholder}").alias() == "follow my courier"
    assert "bar" in proposed("courier of the bar")


def test_a_sentence_is_no_alias() -> None:
    """An alias names a tool: it has six words at most."""
    assert words_of("please tell me where my parcel is now").alias() is None
    assert words_of("tell me where my parcel is").alias() == "tell me where my parcel is"


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


def test_words_that_say_little_are_doubtful() -> None:
    """Common words, adjectives, adverbs and words of no list come after nouns and verbs."""
    query = "I want to know from zorblax about the late courier"
    analysis = analyse(query, ENGINE.index)
    found = words_of(query).hint_words([False] * len(analysis.clauses))
    doubtful = {one.text for one in found if one.is_doubtful}

    assert {"want", "zorblax", "late"} <= doubtful
    assert "courier" not in doubtful


def test_words_that_the_tool_has_go_last() -> None:
    """A word that is there, or has a related word there, is not what the tool lacks."""
    found = words_of("parcel courier").hint_words([True, False])
    assert [one.text for one in found] == ["courier", "parcel"]


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
        ("what time is it in tokyo", "what time is it"),
        ("what time is it in New York", "what time is it"),
        ("how is the weather in Lyon, France tomorrow", "how is the weather"),
        ("wie spät ist es in Berlin", "wie spät ist es"),
        ("who changed README.md last week", "who changed last week"),
        ("list what is in the /var/log folder", "list what is in the folder"),
        ("rename report.txt to final.txt", None),
        ("one two three four five six seven eight nine", None),
        (" ".join("abcdefgh"[n] * 20 for n in range(5)), None),
        ("what is it", None),
        ("follow my courier zzqx", "follow my courier"),
        ("parcel", None),
        ("parcel cour\u202eier", None),
    ],
)
def test_what_describes_a_short_request_is_an_alias(query: str, alias: str | None) -> None:
    """Arguments, and the stop words that lead to them, are left out of it."""
    assert words_of(query, uses_lexicon=True).alias() == alias


def test_an_alias_in_a_script_without_spaces_has_none() -> None:
    """What is written together remains so."""
    alias = words_of("现在东京几点", uses_lexicon=True).alias()
    assert alias is not None
    assert "东京" not in alias
    assert " " not in alias


@pytest.mark.parametrize("argument", [*LITERALS, *NAMES])
def test_arguments_are_in_no_alias(argument: str) -> None:
    """An alias holds for every call of a tool."""
    alias = words_of(f"follow my courier {argument}").alias()
    assert alias in ("follow my courier", "follow my courier in")


def test_words_become_hints() -> None:
    """Keywords stand in alphabetical order, an alias in the query's."""
    found = words_of("parcel courier").hint_words([False, False])

    assert as_keywords(found).keywords == ("courier", "parcel")
    assert as_alias(found).aliases == ("parcel courier",)
