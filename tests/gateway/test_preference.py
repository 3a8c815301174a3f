"""What a request prefers is told by the tools of the catalogue, in any language."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import pytest
from builders import make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.route import asked_preference, derived_preference, log_rate_ratio, surprise

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool
    from mcpg.engine import Engine
    from mcpg.gateway import Preference

THINGS = [
    "invoice",
    "order",
    "parcel",
    "ticket",
    "contract",
    "recipe",
    "letter",
    "garden",
    "engine",
    "picture",
]
NEEDED = log(9)
PAIRS = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(sorted)


def prefers(engine: Engine, query: str, odds: float = 9.0) -> Preference:
    """Ask the tools of *engine* which kind of tool *query* wants."""
    return engine.consult(lambda index: derived_preference(index, query, odds))


def pair(thing: str, read: str, write: str, *, says: bool = True) -> list[Tool]:
    """Make a tool that reads *thing* and one that writes it."""
    return [
        make_tool(
            f"{verb}_{thing}",
            description=f"{verb} the {thing}",
            read_only=is_reading if says else None,
        )
        for verb, is_reading in ((read, True), (write, False))
    ]


def catalogue(read: str, write: str, *, says: bool = True) -> Engine:
    """Make an engine whose tools all *read* or *write* something."""
    tools = [tool for thing in THINGS for tool in pair(thing, read, write, says=says)]
    return make_engine(*tools)


@pytest.mark.parametrize(
    ("read", "write"),
    [("show", "delete"), ("показати", "видалити"), ("zeige", "lösche"), ("blorp", "fnord")],
)
def test_words_of_tools_that_read_speak_for_reading(read: str, write: str) -> None:
    """A verb means what the tools of the catalogue that bear it do, whatever its language."""
    engine = catalogue(read, write)
    assert prefers(engine, f"{read} invoice").name == "read-only"
    assert prefers(engine, f"{write} invoice").name == "write"
    assert prefers(engine, "invoice").name == "none"


def test_a_verb_of_english_means_nothing_by_itself() -> None:
    """Where the tools called *delete* are read-only, *delete* asks for tools that read."""
    assert prefers(catalogue("delete", "show"), "delete the parcel").name == "read-only"


def test_the_evidence_is_told_word_by_word() -> None:
    """The words' evidence adds up, the most telling word is first, and counts are shown."""
    preference = prefers(catalogue("show", "delete"), "delete invoice wqxzv")
    assert [word.text for word in preference.words] == ["delete", "invoice"]
    delete = preference.words[0]
    assert (delete.read_only, delete.writing) == (0, len(THINGS))
    assert preference.evidence == pytest.approx(sum(word.evidence for word in preference.words))
    assert preference.evidence <= -NEEDED == -preference.needed
    assert (preference.read_only, preference.writing) == (len(THINGS), len(THINGS))
    assert not preference.is_asked


def test_nothing_is_preferred_on_weak_evidence() -> None:
    """What one tool says of itself is no evidence, and more is asked for where a host asks."""
    small = make_engine(*pair("invoice", "show", "delete"))
    assert prefers(small, "delete invoice").name == "none"
    assert prefers(catalogue("show", "delete"), "delete invoice", odds=1e6).name == "none"


def test_nothing_is_preferred_where_the_catalogue_does_not_say() -> None:
    """Without tools of both kinds there is nothing to compare."""
    silent = prefers(catalogue("show", "delete", says=False), "delete invoice")
    assert (silent.name, silent.words) == ("none", ())
    reading = make_engine(*(make_tool(f"show_{one}", read_only=True) for one in THINGS))
    assert prefers(reading, "show invoice").name == "none"


def test_nothing_is_preferred_where_nothing_is_asked() -> None:
    """No query, nonsense, and function words leave everything open."""
    engine = catalogue("show", "delete")
    assert {prefers(engine, query).name for query in ("", "wqx zzv", "4711", "?!")} == {"none"}


def test_what_parameters_are_called_tells_nothing() -> None:
    """A word counts where a tool says what it does, not where it says to what."""
    tools = [tool for thing in THINGS for tool in pair(thing, "show", "delete")]
    schema = {"type": "object", "properties": {"draft": {"type": "string"}}}
    drafts = [make_tool(f"{thing}_maker", read_only=False, input_schema=schema) for thing in THINGS]
    assert prefers(make_engine(*tools, *drafts), "draft").words == ()


def test_words_of_the_same_tools_are_one_witness() -> None:
    """What the very same tools say in two words is heard once."""
    once = prefers(catalogue("show", "delete"), "delete")
    twice = prefers(catalogue("show", "delete forever"), "delete forever")
    assert twice.evidence == once.evidence
    assert len(twice.words) == 1


def test_a_caller_who_says_so_is_not_argued_with() -> None:
    """A stated preference is taken as it is."""
    stated = [asked_preference(said) for said in (True, False, None)]
    assert [one.name for one in stated] == ["read-only", "write", "none"]
    assert all(one.is_asked for one in stated)


@given(first=PAIRS, second=PAIRS)
def test_two_rates_are_compared_either_way(first: list[int], second: list[int]) -> None:
    """To swap the kinds negates the evidence; what surprises is the same, and at least 0."""
    (few, many), (some, all_) = first, second
    there, back = (few, many + 1, some, all_ + 1), (some, all_ + 1, few, many + 1)
    assert log_rate_ratio(*there) == pytest.approx(-log_rate_ratio(*back))
    assert surprise(*there) == pytest.approx(surprise(*back))
    assert surprise(*there) >= -1e-9


def test_surprise_is_that_of_the_literature() -> None:
    """Equal rates surprise nobody; a word of one kind alone does, the more the more hold it."""
    assert surprise(3, 10, 6, 20) == pytest.approx(0.0, abs=1e-9)
    assert surprise(10, 10, 0, 10) == pytest.approx(4 * 10 * log(2))
    assert surprise(1, 10, 0, 10) < surprise(2, 10, 0, 10) < surprise(3, 10, 0, 10)
