"""Requests with literals: what arguments do to the ranking, and what they do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders import ids, make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

import mcpg


def parameters(**described: str) -> dict[str, object]:
    """Return the schema of an object with a string for each of the *described* parameters."""
    members = {name: {"type": "string", "description": text} for name, text in described.items()}
    return {"type": "object", "properties": members}


EXAMPLES = mcpg.load(Path(__file__).parents[2] / "examples" / "tools")
CLEAR = (
    "refund a payment",
    "get the status of a shipment",
    "list the stock levels",
    "open a pull request",
    "cancel an order",
    "roll back a deployment",
)
WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=8)
DIGITS = st.text("0123456789", min_size=2, max_size=10)
LITERALS = st.one_of(
    DIGITS,
    st.uuids().map(str),
    st.dates().map(str),
    st.datetimes().map(lambda one: one.isoformat(timespec="seconds")),
    st.times().map(lambda one: one.isoformat(timespec="minutes")),
    st.ip_addresses().map(str),
    DIGITS.map("ORD-{}".format),
    DIGITS.map("1z{}".format),
    DIGITS.map("${}.50".format),
    DIGITS.map("{}%".format),
    WORDS.map("/{0}/x-{0}".format),
    WORDS.map("{}.txt".format),
    WORDS.map("*.{}".format),
    WORDS.map("https://{0}.example/{0}?q={0}".format),
    WORDS.map("{}.com".format),
    WORDS.map("jane.{}@example.com".format),
    WORDS.map("@{}".format),
    WORDS.map("#{}".format),
    WORDS.map('"{0} {0}"'.format),
)
# A literal moves the score of a clear request by less than this.
LITTLE = 0.12


@pytest.mark.parametrize("query", CLEAR)
@given(literal=LITERALS)
def test_a_literal_never_changes_the_answer(query: str, literal: str) -> None:
    """With and without an argument, a clear request has one first tool and about one score."""
    alone = EXAMPLES.search(query, limit=1).matches[0]
    with_literal = EXAMPLES.search(f"{query} {literal}", limit=1).matches[0]

    assert with_literal.tool_id == alone.tool_id
    assert abs(with_literal.score - alone.score) < LITTLE


FILES = make_tool(
    "search_items",
    source_id="disk",
    description="Search items.",
    input_schema=parameters(pattern="Glob pattern of the file names."),
)
SITES = make_tool(
    "find_items",
    source_id="web",
    description="Find items.",
    input_schema=parameters(url="URL to begin at."),
)
TABLES = make_tool(
    "get_items",
    source_id="db",
    description="Get items.",
    input_schema=parameters(sql="SQL query to run."),
)
CHATS = make_tool(
    "read_items",
    source_id="chat",
    description="Read items.",
    input_schema=parameters(channel="Channel to read."),
)
ENGINE = make_engine(FILES, SITES, TABLES, CHATS)


@pytest.mark.parametrize(
    ("literal", "tool"),
    [
        ("*.py", "search_items"),
        ("https://example.com/", "find_items"),
        ("select * from users", "get_items"),
        ("#general", "read_items"),
    ],
)
def test_a_literal_is_evidence_for_tools_that_take_its_kind(literal: str, tool: str) -> None:
    """Where tools answer alike, the one comes first whose parameters name the literal's kind."""
    assert ids(ENGINE.search(f"items {literal}").matches)[0] == tool


def test_words_of_a_literal_find_tools() -> None:
    """A word within a literal that the catalogue holds is evidence, too."""
    engine = make_engine(
        make_tool("open_page", source_id="bing", description="Open the page."),
        make_tool("open_page", source_id="google", description="Open the page."),
    )

    assert engine.search("open the page google.com").matches[0].source_id == "google"


def test_a_request_that_is_one_literal_is_searched_by_its_words() -> None:
    """Where there is nothing else to go by, a literal is what is asked for."""
    engine = make_engine(
        make_tool("hosts_list", description="List the hosts."),
        make_tool("invoice_list", description="List the invoices."),
    )

    assert ids(engine.search("/etc/hosts").matches)[0] == "hosts_list"
    assert ids(engine.search('what is "hosts"').matches)[0] == "hosts_list"
    assert engine.search("10482").matches == ()


def test_what_the_catalogue_holds_as_it_stands_is_no_literal() -> None:
    """A name with digits or dots that a tool bears is a word like others."""
    engine = make_engine(
        make_tool("mp3_convert", description="Convert to mp3."),
        make_tool("wav_convert", description="Convert to wav."),
    )

    mp3 = next(word for word in engine.explain("convert to mp3").words if word.text == "mp3")

    assert (mp3.role, mp3.origin) == ("term", "query")


def test_quoted_words_count_less_than_others() -> None:
    """What stands in quotation marks is the content of an argument."""
    engine = make_engine(
        make_tool("issue_create", description="Create an issue with a title."),
        make_tool("invoice_create", description="Create an invoice with a title."),
    )

    assert ids(engine.search('create an issue "invoice"').matches)[0] == "issue_create"
    assert ids(engine.search('create an invoice "issue"').matches)[0] == "invoice_create"


def test_an_explanation_shows_literals_and_what_they_add() -> None:
    """Each literal is shown with its kind, and the catalogue's words that it adds."""
    explanation = ENGINE.explain("find items *.py")
    details = explanation.stages[0].details

    assert details["literals"] == [{"text": "*.py", "kind": "file pattern"}]
    assert [(one.text, one.literal) for one in explanation.words if one.role == "literal"] == [
        ("*.py", "file pattern")
    ]
    assert "pattern" in {one.text for one in explanation.words if one.origin == "literal"}
