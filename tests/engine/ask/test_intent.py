"""What a question wants is decided by what it names and by its shape."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from asked import QUESTIONS

from mcpg.ask import INTENTS, IntentPattern
from mcpg.ask.model import MODELLED_INTENTS
from mcpg.errors import UsageError

if TYPE_CHECKING:
    from mcpg.engine import Engine


def share_right(engine: Engine, *, misleading: bool) -> float:
    """Return the share of the questions of one kind whose intent is decided right."""
    right = [
        engine.ask(question).decision.intent == intent
        for intent, question, misleads in QUESTIONS
        if misleads == misleading
    ]
    return sum(right) / len(right)


def test_half_of_the_questions_mislead() -> None:
    """There are 120 labelled questions, half of them worded to mislead by verbs."""
    assert len(QUESTIONS) == 120
    assert sum(misleads for *_, misleads in QUESTIONS) >= 60
    assert {intent for intent, *_ in QUESTIONS} == {*MODELLED_INTENTS}


@pytest.mark.parametrize("misleading", [False, True])
def test_intents_are_right(engine: Engine, misleading: bool) -> None:
    """At least 95 of 100 intents are right, of plain and of misleading questions."""
    assert share_right(engine, misleading=misleading) >= 0.95


@pytest.mark.parametrize(
    "question", [question for intent, question, _ in QUESTIONS if intent == "search"]
)
def test_no_search_is_hijacked(engine: Engine, question: str) -> None:
    """A request that names no tool is a search, and its results are those of the search."""
    answer = engine.ask(question, limit=5)
    found = engine.search(question, limit=5).matches
    assert answer.decision.intent == "search"
    assert [one.symbol for one in answer.results] == [one.tool_id for one in found]


@pytest.mark.parametrize("name", ["move_to_cycle", "move-to-cycle", "moveToCycle", "MoveToCycle"])
def test_a_name_alone_is_navigation(engine: Engine, name: str) -> None:
    """The name of a tool, however its words are joined, asks where it is."""
    answer = engine.ask(name)
    assert answer.decision.intent == "navigation"
    assert answer.decision.decided_by == "name"
    assert [one.symbol for one in answer.results] == ["move_to_cycle"]


def test_plain_words_are_a_search_even_where_they_are_a_name(engine: Engine) -> None:
    """Words that nothing marks as a name may be a wish, and the tool of that name comes first."""
    answer = engine.ask("move to cycle")
    assert answer.decision.intent == "search"
    assert answer.results[0].symbol == "move_to_cycle"


def test_a_misspelt_name_is_recognised(engine: Engine) -> None:
    """One or two typing errors in a long name leave it recognisable; the score says so."""
    (result,) = engine.ask("where is shedule_meetng").results
    assert (result.symbol, result.score) == ("schedule_meeting", 0.9)


def test_the_caller_overrides(engine: Engine) -> None:
    """An intent that the caller gives is not decided again."""
    answer = engine.ask("what comes before AcceptQuote", intent="documentation")
    assert answer.decision.decided_by == "caller"
    assert [one.type for one in answer.results] == ["documentation"]


def test_evidence_is_given(engine: Engine) -> None:
    """A decision names what is mentioned, and its probability."""
    decision = engine.ask("what comes before AcceptQuote").decision
    assert decision.evidence[0] == "mentions tool 'AcceptQuote'"
    assert 0.5 < decision.probability <= 1


def test_a_pattern_of_the_host_decides(engine: Engine) -> None:
    """A wording that a host adds has its intent; other questions are decided as ever."""
    patterns = [IntentPattern("who owns {tool} *", "documentation")]
    owned = engine.ask("who owns pinMessage these days?", patterns=patterns)
    assert (owned.decision.decided_by, owned.decision.intent) == ("pattern", "documentation")
    other = engine.ask("what comes before pinMessage", patterns=patterns)
    assert other.decision.decided_by == "model"


@pytest.mark.parametrize(
    ("template", "intent"),
    [("{tool}", "ownership"), ("", "search"), ("{thing} x", "search"), ("a " * 100, "search")],
)
def test_a_bad_pattern_is_refused(engine: Engine, template: str, intent: str) -> None:
    """A pattern with an unknown intent or placeholder, or without or with too many words."""
    with pytest.raises(UsageError):
        engine.ask("pinMessage", patterns=[IntentPattern(template, intent)])


def test_no_pattern_is_catastrophic(engine: Engine) -> None:
    """A template of nothing but wildcards is decided at once: work is bounded by both lengths."""
    pattern = IntentPattern("* a " * 31 + "b", "similar")
    started = time.process_time()
    assert engine.ask("a " * 250, patterns=[pattern]).decision.intent == "search"
    assert time.process_time() - started < 30


@pytest.mark.parametrize(
    "question",
    [
        "x" * 50_000,
        "git " * 20_000,
        "_" * 9_000,
        "\u202eerofeb semoc tahw\u202c",
        "\ud800 what comes before \udfff",
        "e\u0301" * 500 + "\u0301" * 5_000,
        "\x00\x1b[31m what\tcomes \x07 after",
        "之后做什么",
        "similar:",
        "()()()``''",
    ],
)
def test_hostile_questions_are_answered(engine: Engine, question: str) -> None:
    """Huge, broken and odd questions are searched for, never refused with a crash."""
    assert engine.ask(question).decision.intent in INTENTS


@pytest.mark.parametrize("question", ["", "  \n", None])
def test_no_question_is_refused(engine: Engine, question: str | None) -> None:
    """Without a question there is nothing to answer."""
    with pytest.raises(UsageError, match="the question is empty"):
        engine.ask(question)


def test_a_long_question_is_cut(engine: Engine) -> None:
    """Of 50 kB, the first 8 kB are read, with a diagnostic."""
    codes = [one.code for one in engine.ask("the lunch " * 5_000).diagnostics]
    assert "query_truncated" in codes


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("¿qué viene después de schedule_meeting?", "relations"),
        ("was bedeutet row_limit bei run_query?", "documentation"),
        ("run_query返回什么", "documentation"),
        ("un exemple de create_issue", "examples"),
        ("ich möchte eine Nachricht anheften", "search"),
    ],
)
def test_other_languages(engine: Engine, question: str, intent: str) -> None:
    """A recognised name makes questions in other languages understood; all else is a search."""
    assert engine.ask(question).decision.intent == intent


def test_an_unknown_name_is_reported(engine: Engine) -> None:
    """What looks like a name and is none here is reported, and the question searched for."""
    answer = engine.ask("what does frobnicate_widget do")
    assert answer.decision.intent == "search"
    assert "ask_name_unknown" in [one.code for one in answer.diagnostics]
