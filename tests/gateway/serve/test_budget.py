from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.model import Hints, Tool
from mcpg.gateway.serve import SMALLEST_BUDGET
from mcpg.gateway.serve.answers import (
    cut,
    first_that_fits,
    line,
    make_error_result,
    make_result,
    pass_on_result,
    prose,
    repair_value,
    size,
)
from mcpg.gateway.serve.prompts_and_resources import resource_answer
from mcpg.gateway.serve.schemas import find_schema_part, prune_schema
from mcpg.gateway.serve.tool_answers import describe_answers

_texts = st.text(st.characters(exclude_categories=[]), max_size=30)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=8,
)


def text(length: int) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": "x" * length}


def test_the_fullest_answer_that_has_room_is_given() -> None:
    """Answers are tried from the fullest to the barest, and none is made that is not needed."""
    made: list[int] = []

    def answers() -> Any:
        for length in (9000, 900, 90):
            made.append(length)
            yield {"text": "x" * length}

    result = first_that_fits(answers(), SMALLEST_BUDGET)
    assert result["structuredContent"] == {"text": "x" * 900}
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert made == [9000, 900]


def test_an_answer_without_room_says_so() -> None:
    """When not even the barest answer has room, the result is an error that says it."""
    result = first_that_fits([{"text": "x" * 9000}], SMALLEST_BUDGET)
    assert result["isError"]
    assert "2,048 bytes" in result["content"][0]["text"]


def test_what_has_room_is_passed_on_as_it_is() -> None:
    """A result within its budget is not touched."""
    result: dict[str, Any] = {"content": [text(5)], "structuredContent": {"a": 1}, "isError": False}
    assert pass_on_result(result, SMALLEST_BUDGET, structured_needed=True) is result


def test_structured_content_goes_first() -> None:
    """Where structured content has no room the text stays, and a note says what is missing."""
    result: dict[str, Any] = {
        "content": [text(500)],
        "structuredContent": {"rows": ["y" * 3000]},
        "isError": False,
    }
    kept = pass_on_result(result, SMALLEST_BUDGET, structured_needed=False)
    assert kept["content"][0] == text(500)
    assert "structured result was left out" in kept["content"][1]["text"]
    assert "structuredContent" not in kept
    assert not kept["isError"]
    assert pass_on_result(result, SMALLEST_BUDGET, structured_needed=True)["isError"]


def test_structured_content_without_text_is_cut_as_text() -> None:
    """A result of structured content alone leaves its beginning."""
    result: dict[str, Any] = {
        "content": [],
        "structuredContent": {"rows": "y" * 9000},
        "isError": False,
    }
    kept = pass_on_result(result, SMALLEST_BUDGET, structured_needed=False)
    assert kept["content"][0]["text"].startswith('{"rows":"yyy')


@pytest.mark.parametrize(
    ("member", "note"), [("_meta", "`_meta` was"), ("vendor", "other members were")]
)
def test_what_is_omitted_beside_the_content_is_named(member: str, note: str) -> None:
    """The note names each member that has no room, and never nothing."""
    result = {"content": [text(10)], "isError": False, member: {"a": "x" * 9000}}
    shown: Any = pass_on_result(result, SMALLEST_BUDGET, structured_needed=False)
    assert shown["content"][0] == text(10)
    assert shown["content"][1]["text"].startswith(f"[mcpg: {note} left out (9,0")
    assert member not in shown


def test_images_are_left_out_whole() -> None:
    """Half an image is none: a block that is no text stays or goes."""
    image = {"type": "image", "data": "A" * 4000, "mimeType": "image/png"}
    result = {"content": [text(10), image, text(20)], "isError": False}
    kept = pass_on_result(result, SMALLEST_BUDGET, structured_needed=False)
    assert kept["content"][:2] == [text(10), text(20)]
    assert "1 blocks were left out" in kept["content"][2]["text"]


@given(
    st.lists(_texts.map(lambda one: {"type": "text", "text": one * 99}), max_size=6),
    st.none() | st.dictionaries(_texts, _values, max_size=4),
    st.integers(SMALLEST_BUDGET, 9000),
)
def test_no_result_is_larger_than_its_budget(
    blocks: list[Any], structured: dict[str, Any] | None, budget: int
) -> None:
    """Whatever a tool answers, what is passed on has room and is JSON in UTF-8."""
    result: Any = {"content": blocks, "isError": False}
    if structured is not None:
        result["structuredContent"] = structured
    kept = pass_on_result(repair_value(result), budget, structured_needed=False)
    assert size(kept) <= budget
    json.dumps(kept, ensure_ascii=False).encode()


@given(_values)
def test_an_answer_may_fill_its_room_to_the_last_byte(value: Any) -> None:
    """A success is given where exactly its size is allowed, and an error where one byte less is."""
    answer = {"value": value}
    room = size(make_result(answer))
    assert first_that_fits([answer], room) == make_result(answer)
    assert first_that_fits([answer], room - 1)["isError"]


@given(_values)
def test_whole_text_is_utf8(value: Any) -> None:
    """Halves of characters are replaced wherever they stand."""
    json.dumps(repair_value(value), ensure_ascii=False).encode()
    assert make_result(value)["content"][0]["text"].encode()
    assert make_error_result("a\ud800")["content"][0]["text"] == "a\ufffd"


@given(_texts, st.integers(1, 40))
def test_lines_are_short_and_safe(value: str, characters: int) -> None:
    """A line has no more than the characters it may have, and nothing that steers a reader."""
    assert len(line(value, characters)) <= characters
    assert line(value, 99).isprintable() or not value.isprintable()


@given(st.text(" ab\t\n\x7f\xa0é\u2028", max_size=12))
def test_the_words_of_a_line_are_a_space_apart(value: str) -> None:
    """White space of any kind and control characters are single spaces, and none at the ends."""
    words = re.sub("[\x7f\u2028]", " ", value).split()
    assert line(value, 99) == " ".join(words)


def test_prose_keeps_its_lines() -> None:
    """A description keeps its lines, and loses what hides or steers."""
    assert prose("one\n\ttwo\u202e\x1b[31m three\u200b", 99) == "one\n two  [31m three"
    assert prose("a" * 20, 5) == "aaaa…"


def test_texts_are_cut_at_words() -> None:
    """A text is cut where a word ends, if one ends near; and marked."""
    assert cut("alpha beta gamma", 13) == "alpha beta…"
    assert cut("a" * 20, 5) == "aaaa…"
    assert cut("short", 5) == "short"


SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "prose",
    "properties": {
        "description": {"type": "string", "description": "prose", "default": "prose"},
        "filter": {
            "type": "object",
            "properties": {"a/b": {"type": "array", "items": {"type": "integer"}}},
            "required": ["a/b"],
        },
        "anything": True,
    },
    "required": ["description"],
}


def test_schemas_lose_prose_and_then_depth() -> None:
    """A schema that is told in part allows more, and keeps names, types and what is required."""
    bare, *shallow, nothing = prune_schema(SCHEMA)
    assert bare["properties"]["description"] == {"type": "string"}  # type: ignore[index,call-overload]
    assert bare["required"] == ["description"]
    last = shallow[-1]
    assert last["properties"]["filter"] == {"type": "object", "required": ["a/b"]}  # type: ignore[index,call-overload]
    assert last["properties"]["anything"] is True  # type: ignore[index,call-overload]
    assert nothing == {"type": "object"}


def test_parts_of_schemas_are_named_by_pointers() -> None:
    """A JSON pointer names a part of a schema; a wrong one names nothing."""
    assert find_schema_part(SCHEMA, "/properties/filter/properties/a~1b/items") == {
        "type": "integer"
    }
    assert find_schema_part(SCHEMA, "#/required/0") == "description"
    for pointer in ("/nowhere", "/required/7", "/required/x", "/type/0"):
        with pytest.raises(LookupError):
            find_schema_part(SCHEMA, pointer)


def test_what_is_said_of_a_tool_is_whole_or_said_to_be_cut() -> None:
    """A long description is given to its end where there is room, and else is said to be cut."""
    tool = Tool("long", "shop", "long", description="word " * 4000 + "end")
    whole, *others = describe_answers(tool)
    assert str(whole["description"]).endswith("end")
    assert "truncated" not in whole
    assert all("end of the description" in str(other["truncated"]) for other in others)


def test_descriptions_say_less_until_they_have_room() -> None:
    """A tool's output schema goes first, then its hints, then parts of its input schema."""
    many = {f"property_{n}": {"type": "string", "description": "x" * 80} for n in range(200)}
    tool = Tool(
        "wide",
        "shop",
        "wide",
        description="d" * 9000,
        input_schema={"type": "object", "properties": {"body": {"properties": many}}},
        hints=Hints(tags=("a tag",)),
        output_schema={"type": "object", "description": "x" * 9000},
    )
    rooms = [size(make_result(answer)) for answer in describe_answers(tool)]
    assert first_that_fits(describe_answers(tool), rooms[0])["structuredContent"]["outputSchema"]
    cut_short = first_that_fits(describe_answers(tool), rooms[1])["structuredContent"]
    assert len(cut_short["description"]) <= 8000
    assert "end of the description" in cut_short["truncated"]["howToGetTheRest"]
    without = first_that_fits(describe_answers(tool), rooms[2])["structuredContent"]
    assert "outputSchema" not in without
    assert "output schema" in without["truncated"]["howToGetTheRest"]
    least = first_that_fits(describe_answers(tool), SMALLEST_BUDGET)["structuredContent"]
    assert least["inputSchema"]["properties"]["body"] == {}
    assert "pointer" in least["truncated"]["howToGetTheRest"]
    part = first_that_fits(
        describe_answers(tool, "/properties/body/properties/property_7"), SMALLEST_BUDGET
    )
    assert part["structuredContent"]["inputSchema"] == many["property_7"]
    cut_part = first_that_fits(describe_answers(tool, "/properties/body"), SMALLEST_BUDGET)
    assert "truncated" in cut_part["structuredContent"]
    for pointer in ("/properties/nothing", "/type"):
        with pytest.raises(LookupError):
            list(describe_answers(tool, pointer))


_contents = st.lists(
    st.builds(lambda one, text: {"uri": one, "text": text}, st.just("a:b"), st.text(max_size=3000))
    | st.builds(
        lambda data: {"uri": "a:c", "blob": b64encode(data).decode()}, st.binary(max_size=3000)
    ),
    max_size=4,
)


@given(_contents)
def test_the_text_of_a_resource_is_read_in_parts(contents: Any) -> None:
    """The parts are the whole text, each fits, and a binary content is whole or reported."""
    parts: list[str] = []
    shown, offset = [], 0
    while True:
        result: Any = resource_answer(contents, offset, SMALLEST_BUDGET)
        assert size(result) <= SMALLEST_BUDGET
        blocks = [one["resource"] for one in result["content"] if one["type"] == "resource"]
        parts += [one["text"] for one in blocks if "text" in one]
        shown += [one for one in blocks if "blob" in one]
        last = result["content"][-1].get("text", "") if result["content"] else ""
        following = re.search(r"`offset` (\d+)", last)
        if following is None:
            break
        assert int(following[1]) > offset
        offset = int(following[1])
    assert "".join(parts) == "".join(one.get("text", "") for one in contents)
    kept = [one for one in contents if one in shown]
    binary = [one for one in contents if "blob" in one]
    first: Any = resource_answer(contents, 0, SMALLEST_BUDGET)
    assert ("binary contents" in str(first)) == (len(kept) < len(binary))


def test_a_binary_resource_without_room_is_refused_by_size() -> None:
    """The error has the size, the limit and the name of the setting."""
    result: Any = resource_answer([{"uri": "a:b", "blob": "AAAA" * 1000}], 0, SMALLEST_BUDGET)
    assert result["isError"]
    for part in ("3,000 bytes", "2,048 bytes", "--max-result-bytes"):
        assert part in result["content"][0]["text"]
    result = resource_answer([{"uri": "a:b", "text": "abc"}], 3, SMALLEST_BUDGET)
    assert result["isError"]
    assert "3 characters" in result["content"][0]["text"]
