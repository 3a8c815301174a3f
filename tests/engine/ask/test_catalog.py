"""Questions about the catalog are answered by its facts: what tools do, and where they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from builders import make_engine, make_tool

import mcpg
from mcpg.catalog.model import Hints

if TYPE_CHECKING:
    from mcpg.ask import AskResult
    from mcpg.engine import Engine

_TOOLS = {
    "obsidian": {
        "note_create": "Create a note in the vault.",
        "note_delete": "Delete a note from the vault.",
        "note_search": "Find notes by their words.",
        "vault_purge": "Erase all attachments that no note links to.",
    },
    "calendar-server": {
        "event_create": "Create a calendar event with guests and a room.",
        "event_list": "List the events of a calendar.",
        "event_rename": "Rename an event.",
        "agenda_email": "Send the agenda of a day to the guests.",
    },
    "weather": {
        "forecast_get": "Return the forecast of a place.",
        "station_list": "List stations near a place.",
        "radar": "Pictures of rain near a place.",
    },
}
_READS = frozenset(("forecast_get", "station_list", "radar"))


@pytest.fixture(scope="module")
def catalog() -> Engine:
    """Return an engine over three servers, of which one states that all of its tools read."""
    return make_engine(
        *(
            make_tool(
                name,
                id=name,
                source_id=source,
                description=description,
                hints=Hints(
                    read_only=True if name in _READS else None,
                    destructive=True if name == "event_rename" else None,
                    enabled_by_default=False if name == "vault_purge" else None,
                    categories=("planning",) if source == "calendar-server" else (),
                ),
            )
            for source, tools in _TOOLS.items()
            for name, description in tools.items()
        )
    )


def names(answer: AskResult) -> set[str]:
    """Return what an answer lists."""
    return {one.symbol for one in answer.results}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("which tools delete things", {"note_delete"}),
        ("all delete tools", {"note_delete"}),
        ("welche Tools löschen etwas?", {"note_delete"}),
        ("are there any tools that remove something?", {"note_delete"}),
        ("which tools of obsidian create something", {"note_create"}),
        ("tools of obsidian", {"note_create", "note_delete", "note_search"}),
        ("what can the obsidian server do?", {"note_create", "note_delete", "note_search"}),
        ("qué herramientas tiene obsidian", {"note_create", "note_delete", "note_search"}),
        ("how many tools has obsidian", {"note_create", "note_delete", "note_search"}),
        ("which tools in the weather server only read", {*_TOOLS["weather"]}),
        ("read-only tools of obsidian", {"note_search"}),
        ("which tools of obsidian do not change anything", {"note_search"}),
        ("tools of the planning category", {*_TOOLS["calendar-server"]}),
        ("which tools are destructive", {"event_rename", "note_delete"}),
        ("which tools are disabled", {"vault_purge"}),
        ("which tools rename things", {"event_rename"}),
        ("which tools of obsidian do not delete anything", {"note_create", "note_search"}),
        ("which tools of obsidian delete nothing", {"note_create", "note_search"}),
        ("welche Tools von obsidian löschen nichts", {"note_create", "note_search"}),
        ("which tools of obsidian do not create or delete", {"note_search"}),
        ("which tools of obsidian create but do not delete", {"note_create"}),
        ("readonly tools of obsidian", {"note_search"}),
        ("all tools except those of obsidian", {*_TOOLS["calendar-server"], *_TOOLS["weather"]}),
        ("tools not from obsidian", {*_TOOLS["calendar-server"], *_TOOLS["weather"]}),
        ("what can I do with obsidian", {"note_create", "note_delete", "note_search"}),
        ("was kann der Obsidian-Server", {"note_create", "note_delete", "note_search"}),
        ("que peut faire le serveur obsidian", {"note_create", "note_delete", "note_search"}),
        ("qué puede hacer obsidian", {"note_create", "note_delete", "note_search"}),
        ("obsidian 有哪些工具", {"note_create", "note_delete", "note_search"}),
        ("obsidian のツール一覧", {"note_create", "note_delete", "note_search"}),
        ("哪些工具会删除数据", {"note_delete"}),
        ("どのツールが削除しますか", {"note_delete"}),
        ("zeige mir alle Werkzeuge von weather, die nur lesen", {*_TOOLS["weather"]}),
    ],
)
def test_tools_are_listed_by_what_they_do(
    catalog: Engine, question: str, expected: set[str]
) -> None:
    """Verbs, hints, sources and categories are conditions; counts and reasons are the evidence."""
    answer = catalog.ask(question)
    assert (answer.decision.intent, answer.decision.direction) == ("catalog", "tools")
    assert names(answer) == expected
    assert answer.decision.evidence[0].startswith(f"{len(expected)} of ")
    assert all(one.why for one in answer.results)


def test_words_restrict_what_is_listed(catalog: Engine) -> None:
    """What tools are about is searched among those that do what is asked, the best first."""
    answer = catalog.ask("which tool creates a calendar event?")
    assert answer.decision.intent == "catalog"
    assert answer.results[0].symbol == "event_create"
    assert answer.results[0].why[0] == "its name has 'create'"
    assert "note_create" not in names(answer)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("list all servers", ["calendar-server", "obsidian", "weather"]),
        ("which servers are read-only?", ["weather"]),
        ("which servers can delete something", ["obsidian"]),
        ("which servers aren't read only", ["calendar-server", "obsidian"]),
        ("which servers create but do not delete", ["calendar-server"]),
        ("how many tools does each server have", ["calendar-server", "obsidian", "weather"]),
        ("哪些服务器是只读的", ["weather"]),
        ("サーバーの一覧", ["calendar-server", "obsidian", "weather"]),
        ("which categories are there?", ["planning"]),
    ],
)
def test_groups_are_listed_with_their_tools(
    catalog: Engine, question: str, expected: list[str]
) -> None:
    """A server only reads if all of its tools do; those with most tools come first."""
    answer = catalog.ask(question)
    assert answer.decision.intent == "catalog"
    assert [one.symbol for one in answer.results] == expected
    follow_up = answer.suggestions[0].command[1]
    assert names(catalog.ask(follow_up)) <= {tool for held in _TOOLS.values() for tool in held}


def test_reasons_tell_hints_from_words(catalog: Engine) -> None:
    """The reason of a result is its hint, or the verb in its name."""
    found = {one.symbol: one for one in catalog.ask("which tools only read").results}
    assert found["radar"].why == ("readOnlyHint: true",)
    assert found["note_search"].why == ("its name has 'search'",)
    assert found["radar"].score > found["note_search"].score


def test_an_unknown_source_is_reported(catalog: Engine) -> None:
    """A misspelled source is taken for the one that is like it; one like none has no tools."""
    near = catalog.ask("which obsidan tools delete something")
    assert names(near) == {"note_delete"}
    assert [one.message for one in near.diagnostics] == [
        "no source is called 'obsidan'; did you mean 'obsidian'?"
    ]
    unknown = catalog.ask("tools of jira")
    assert (unknown.decision.intent, unknown.total) == ("catalog", 0)
    assert "no source is called 'jira'; the sources are" in unknown.diagnostics[0].message
    assert "no category is called 'sales'" in (
        catalog.ask("tools of the sales category").diagnostics[0].message
    )


@pytest.mark.parametrize(
    "question",
    [
        "delete the note about rain",
        "list all events of the calendar",
        "I need a tool to plan a trip",
        "which tool should I use to pay an invoice",
        "how many events are in my calendar",
        "show the server logs",
        "is there any tool for cooking",
    ],
)
def test_wishes_are_searches(catalog: Engine, question: str) -> None:
    """What asks for a task, and not for facts of the catalog, is a search."""
    assert catalog.ask(question).decision.intent == "search"


def test_names_of_tools_win(catalog: Engine) -> None:
    """A question that names a tool is about that tool."""
    assert catalog.ask("what tools come after event_create").decision.intent == "relations"
    assert catalog.ask("which server has the note_delete tool").decision.intent == "navigation"


def test_what_nothing_is_about_is_searched(catalog: Engine) -> None:
    """Where no tool that does so is about the words, the answer counts none, and searches."""
    answer = catalog.ask("which tools delete stations")
    assert answer.decision.intent == "search"
    assert answer.decision.evidence == ("0 of 10 tools that delete about 'stations'",)
    assert names(answer)


def test_filters_hold(catalog: Engine) -> None:
    """Filters of a caller restrict what is listed and counted."""
    answer = catalog.ask("list all tools", sources=["weather"])
    assert names(answer) == {*_TOOLS["weather"]}
    assert answer.decision.evidence == ("3 tools",)
    assert names(catalog.ask("which servers are there", read_only=True)) == {"weather"}
    answer = catalog.ask("tools of obsidian")
    left_out = "1 disabled tool is left out"
    assert answer.decision.evidence == (f"3 of 10 tools of source 'obsidian'; {left_out}",)
    assert catalog.ask("which servers are there").decision.evidence == (f"3 sources; {left_out}",)
    assert "vault_purge" in names(catalog.ask("tools of obsidian", include_disabled=True))


def test_a_clear_verb_in_a_name_outweighs_other_words() -> None:
    """A tool called create_ creates, though the other words of its texts are of changes."""
    engine = mcpg.load(Path(__file__).parents[3] / "examples" / "tools")
    answer = engine.ask("which tool creates a calendar event")
    assert answer.results[0].symbol == "calendar_event_create"


@pytest.mark.parametrize(
    "question",
    [
        "which tools are safe",
        "which tools play music",
        "how many servers are in my cluster",
        "list categories of products",
        "disable the tool",
        "who am I in obsidian",
        "what is new in obsidian",
        "tools without side effects",
    ],
)
def test_other_questions_are_searches(catalog: Engine, question: str) -> None:
    """A word that no fact answers makes it a search, and no list of all tools."""
    assert catalog.ask(question).decision.intent == "search"


def test_a_noun_after_an_article_is_the_topic() -> None:
    """`Order` is a verb and a noun; what changes an order is about orders."""
    engine = mcpg.load(Path(__file__).parents[3] / "examples" / "tools")
    answer = engine.ask("which tools of commerce change an order")
    assert answer.decision.evidence[0].endswith("of source 'commerce' about 'order'")
    assert "order_cancel" in names(answer)
    assert not answer.diagnostics


def test_a_tool_may_list_servers() -> None:
    """Where a tool has the name, its servers are meant, and not those of the catalog."""
    engine = make_engine(make_tool("list_servers", description="List the servers of a guild."))
    assert engine.ask("list servers").results[0].symbol == "list_servers"
