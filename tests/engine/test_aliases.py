"""Aliases, keywords and examples: they only ever help the tool that has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from builders import ids, make_engine, make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.catalog.model import ToolExample

if TYPE_CHECKING:
    from typing import Any

    from mcpg.catalog.model import Tool
    from mcpg.engine import Engine

TOOLS = (
    make_tool("get_current_time", description="Get the time in a time zone.", source_id="time"),
    make_tool("convert_time", description="Convert a time between time zones.", source_id="time"),
    make_tool("create_directory", description="Create a directory at a path.", source_id="files"),
    make_tool("list_directory", description="List what a directory holds.", source_id="files"),
    make_tool("read_file", description="Read the contents of a file.", source_id="files"),
    make_tool("mean", description="Compute the average of numbers.", source_id="numbers"),
    make_tool("send_email", description="Send a message to a recipient.", source_id="mail"),
    make_tool("delete_records", description="Delete rows of a table.", source_id="tables"),
)
FOREIGN = (
    "crear una carpeta",
    "leer un archivo",
    "wie spät ist es",
    "eine Nachricht senden",
    "supprimer des lignes",
    "который час",
    "прочитать файл",
    "lista de ficheros",
    "read_file",
    "time zone",
    "directory",
)
QUERIES = (
    "what time is it in tokyo",
    "convert a time between zones",
    "make a folder",
    "show what a directory holds",
    "read a fiel",
    "average of some numbers",
    "mail a message to a friend",
    "delete rows",
    "leer un archivo de texto",
    "Ordner anlegen",
    "read the file and send it by email, then delete the rows",
)

aliases = st.lists(st.sampled_from(FOREIGN), min_size=1, max_size=8, unique=True).map(tuple)


def with_hints(name: str, **hints: tuple[Any, ...]) -> list[Tool]:
    """Return the tools, the one called *name* with *hints*."""
    return [
        replace(tool, hints=replace(tool.hints, **hints)) if tool.name == name else tool
        for tool in TOOLS
    ]


ENGINE = make_engine(*TOOLS)
# Each tool with a twin, which the least loss puts before it.
TWINS = tuple(replace(tool, source_id=source) for tool in TOOLS for source in ("alpha", "beta"))


def rank(engine: Engine, query: str, tool: Tool) -> int:
    """Return the place of *tool* in the answer to *query*, that after all where it is not."""
    matches = engine.search(query, limit=len(TWINS)).matches
    found = [(match.source_id, match.tool_name) for match in matches]
    own = (tool.source_id, tool.name)
    return found.index(own) if own in found else len(TWINS)


OF_TWINS = make_engine(*TWINS)


@settings(deadline=None)
@given(
    st.sampled_from(QUERIES),
    st.integers(0, len(TWINS) - 1),
    aliases,
    st.sampled_from(["aliases", "keywords"]),
)
def test_an_alias_never_lowers_the_rank_of_its_tool(
    query: str, place: int, added: tuple[str, ...], field: str
) -> None:
    """Whatever aliases or keywords a tool is given, it ranks at least as high as without."""
    tool = TWINS[place]
    hinted = replace(tool, hints=replace(tool.hints, **{field: added}))
    engine = make_engine(*TWINS[:place], hinted, *TWINS[place + 1 :])

    assert rank(engine, query, tool) <= rank(OF_TWINS, query, tool)


@pytest.mark.parametrize(
    "hints",
    [
        {"aliases": FOREIGN[:8]},
        {"keywords": ("carpeta", "archivo", "Uhrzeit", "сообщение")},
        {"examples": tuple(map(ToolExample, FOREIGN[:8]))},
    ],
    ids=["aliases", "keywords", "examples"],
)
def test_hints_in_other_words_change_no_score(hints: dict[str, tuple[Any, ...]]) -> None:
    """A request that has none of the words of the hints is answered as without them."""
    engine = make_engine(*with_hints("create_directory", **hints))

    for query in ("create a directory", "delete the rows of a table", "average of the numbers"):
        found = [(one.tool_id, one.score) for one in engine.search(query).matches]
        assert found == [(one.tool_id, one.score) for one in ENGINE.search(query).matches]


def test_a_longer_list_of_aliases_discounts_none_of_them() -> None:
    """A tool is found by an alias as well when it has many others."""
    query = "eine Nachricht schreiben"
    one = make_engine(*with_hints("send_email", aliases=("eine Nachricht senden",)))
    many = make_engine(*with_hints("send_email", aliases=FOREIGN[:8]))

    assert many.search(query).matches[0].score >= one.search(query).matches[0].score
    assert many.search(query).matches[0].tool_id == "send_email"


def test_a_word_that_one_tool_has_in_hints_is_as_rare_as_in_the_texts() -> None:
    """What one tool gains by an alias makes its words no less rare for the others."""
    engine = make_engine(*with_hints("mean", aliases=("directory of numbers",)))
    words = {word.text: word for word in engine.explain("list a directory").words}

    assert words["directory"].document_frequency == 2


def test_an_alias_in_a_language_leaves_the_others_their_translations() -> None:
    """A foreign word that one tool has as an alias still stands for what it means."""
    engine = make_engine(*with_hints("delete_records", aliases=("directorio de filas",)))

    (word,) = (one for one in engine.explain("crear un directorio").words if "dir" in one.text)
    kinds = [repair.kind for repair in word.repairs]
    assert kinds[0] == "exact"
    assert "translation" in kinds
    assert ids(engine.search("crear un directorio").matches)[0] == "create_directory"


@pytest.mark.parametrize(
    "query", ["what time is it in tokyo", "What time is it now?", "what time is it at the office"]
)
def test_an_alias_that_opens_a_request_decides(query: str) -> None:
    """An alias at the beginning of a longer request puts its tool first, stop words or not."""
    engine = make_engine(*with_hints("get_current_time", aliases=("what time is it",)))

    assert ids(engine.search(query).matches)[0] == "get_current_time"


def test_the_longest_alias_that_opens_a_request_wins() -> None:
    """Of two aliases that open a request, the longer is meant."""
    tools = with_hints("get_current_time", aliases=("what time is it",))
    tools[1] = replace(
        tools[1], hints=replace(tools[1].hints, aliases=("what time is it when it is",))
    )

    found = make_engine(*tools).search("what time is it when it is noon in Rome").matches

    assert ids(found)[0] == "convert_time"


@pytest.mark.parametrize(
    "query", ["mean of what I read in this file", "read what is in the mean file"]
)
def test_an_alias_of_one_word_is_no_phrase(query: str) -> None:
    """A single word that opens a request names no tool, nor does an alias inside a request."""
    engine = make_engine(*with_hints("mean", aliases=("mean", "in the mean")))

    shares = {
        part.feature: part.value
        for match in engine.explain(query).matches
        if match.tool_id == "mean"
        for part in match.contributions
    }

    assert shares["exactName"] == 0


def test_explain_shows_the_alias() -> None:
    """The words of an alias are shown in its field, and that it opens the request."""
    engine = make_engine(*with_hints("get_current_time", aliases=("what time is it",)))

    explanation = engine.explain("what time is it in tokyo")

    match = explanation.matches[0]
    assert ("time", "alias", "aliases") in {
        (term.query, term.kind, term.field) for term in match.terms
    }
    (part,) = (part for part in match.contributions if part.feature == "exactName")
    assert 0 < part.value < 1
    (retrieved,) = (one.details for one in explanation.stages if one.name == "retrieve")
    assert retrieved["exactNames"] == ["get_current_time"]
