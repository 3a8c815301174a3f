from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st
from vectorial import document_of

from mcpg.catalog.model import Hints, ToolExample
from mcpg.vectors import RECIPE
from mcpg.vectors.build import (
    WEIGHTS,
    embedding_text,
    embedding_texts,
    hash_texts,
    text_weights,
)

FULL = make_tool(
    "github.createPullRequest",
    title="Open a pull request",
    description="Asks for\r\na review\tof a branch.",
    input_schema={
        "type": "object",
        "properties": {
            "baseBranch": {"type": "string", "description": "Where it goes."},
            "draft": {"type": "boolean"},
        },
    },
    aliases=("запит на злиття",),
    keywords=("merge", "review"),
    categories=("code",),
    tags=("git",),
    examples=(ToolExample("open a PR for my branch", output="ignored"),),
)
LINES = """\
Open a pull request. github create pull request
Asks for a review of a branch.
запит на злиття
merge, review
code, git
base branch: Where it goes.; draft
open a PR for my branch
Needs a token."""


def test_a_tool_is_told_in_lines_the_most_telling_first() -> None:
    """Names, description, labels, parameters, examples and the author's words, one line each."""
    assert embedding_text(document_of(FULL, "Needs\n\na token.")) == LINES


def test_other_texts_need_another_recipe() -> None:
    """Whoever changes what is embedded raises `RECIPE`, so that no old vector passes for new."""
    digest = hash_texts(embedding_texts(document_of(FULL, "Needs\n\na token.")))
    assert (RECIPE, digest[:16]) == (2, "ca94486bc16642b5")


def test_names_and_description_are_texts_of_their_own() -> None:
    """What a tool does not have is its names, or else its whole text."""
    whole, names, description = embedding_texts(document_of(FULL))
    assert whole == embedding_text(document_of(FULL))
    assert whole.startswith(f"{names}\n{description}\n")
    assert embedding_texts(document_of(make_tool("get"))) == ("get", "get", "get")
    assert embedding_texts(document_of(make_tool("\u200b"))) == ("commerce",) * 3


def test_the_same_words_divided_otherwise_are_other_texts() -> None:
    """The hash tells texts apart that only joined are the same."""
    assert hash_texts(("a", "b c")) != hash_texts(("a b", "c"))


def test_the_hash_is_that_of_utf_8() -> None:
    """A hash is the same on every platform, and is there for texts that are no Unicode."""
    assert hash_texts(("",)) == sha256(f"{RECIPE}\0".encode()).hexdigest()
    assert hash_texts(("ä",)) == hash_texts(("\u00e4",)) != hash_texts(("a\u0308",))
    assert len(hash_texts(("\ud800",))) == 64


def test_a_long_part_does_not_displace_the_others() -> None:
    """Parameters and examples are there however long the description is."""
    tool = make_tool(
        "one",
        description="word " * 10_000,
        aliases=("x" * 5_000,),
        input_schema={
            "type": "object",
            "properties": {f"p{n}": {"description": "long " * 99} for n in range(500)},
        },
        examples=(ToolExample("the end " * 50),) * 2,
    )
    text = embedding_text(document_of(tool, "b" * 9_999))
    names, description, aliases, parameters, examples, body = text.split("\n")
    assert names == "one"
    assert description.endswith("word")
    assert len(description) in range(590, 601)
    assert (len(aliases), len(body)) == (200, 200)
    assert parameters.startswith("p0: long long")
    assert examples.startswith("the end the end")
    assert len(text) < 2_000


def test_a_name_without_words_stays_a_name() -> None:
    """No text is empty, for a provider may have no vector for an empty one."""
    assert embedding_text(document_of(make_tool("!!"))) == "!!"
    assert embedding_text(document_of(make_tool("get", title="Get"))) == "Get"
    assert embedding_text(document_of(make_tool("\u200b"))) == "commerce"


TEXTS = st.text(max_size=900)


@given(name=st.text(min_size=1), title=TEXTS, description=TEXTS, body=TEXTS, alias=TEXTS)
def test_hostile_texts_become_plain_lines(
    name: str, title: str, description: str, body: str, alias: str
) -> None:
    """No control character, half of a surrogate pair or invisible sign reaches a provider."""
    tool = make_tool(name, id="one", title=title, description=description, aliases=(alias,))
    text = embedding_text(document_of(tool, body))
    assert text
    assert text == embedding_text(document_of(tool, body))
    assert text.replace("\n", "").isprintable() or not text.isascii()
    assert all(line == line.strip() != "" for line in text.split("\n"))
    assert text.encode()


def test_generated_texts_are_one_part() -> None:
    """Aliases and examples in turn weigh as much as the rest, and add nothing to the whole text."""
    aliases = tuple(f"alias {number}" for number in range(6))
    examples = tuple(ToolExample(f"request {number}") for number in range(3))
    tool = replace(FULL, generated=Hints(aliases, ("word",), examples=examples))
    own, found = (embedding_texts(document_of(one)) for one in (FULL, tool))
    assert found[:3] == own
    assert found[3:] == (
        *("alias 0", "request 0", "alias 1", "request 1", "alias 2", "request 2"),
        *("alias 3", "alias 4"),
    )
    weights = text_weights(len(found))
    assert weights[:3] == WEIGHTS
    assert sum(weights[3:]) == sum(WEIGHTS)
    assert text_weights(3) == WEIGHTS
