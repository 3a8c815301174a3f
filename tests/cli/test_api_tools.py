"""`mcpg search --as`: found tools as the list that an API of language models takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run


pytestmark = pytest.mark.usefixtures("graph")


def test_the_list_has_the_matches_in_their_order(run: Callable[..., Run]) -> None:
    """Related tools are added on request, deferred ones last, none twice."""
    ids = run("search", "refund", "--format", "ids").out.split()
    found = run("search", "refund", "--as", "anthropic").json
    assert [one["name"] for one in found["tools"]] == [*found["origins"]] == ids
    more = run("search", "refund", "--as", "anthropic", "--related").json["origins"]
    assert [*more][: len(ids)] == ids
    assert len(more) > len(ids)
    listed = run("list", "--format", "json").json["tools"]
    tools = [one["toolId"] for one in listed if one["isEnabledByDefault"]]
    search, *others = run("search", "refund", "--as", "anthropic", "--deferred").json["tools"]
    assert search["type"] == "tool_search_tool_bm25_20251119"
    assert sorted(one["name"] for one in others) == sorted(tools)
    assert [one["name"] for one in others if "defer_loading" not in one] == ids


def test_definitions_are_strict_or_named(run: Callable[..., Run]) -> None:
    """Each definition is strict, or the list has the reason."""
    words = ("search", "order", "-n", "8", "--as", "openai", "--strict-schemas")
    found = run(*words).json
    strict = {one["function"]["name"] for one in found["tools"] if "strict" in one["function"]}
    assert strict
    assert strict.isdisjoint(found.get("notStrict", {}))
    assert strict | {*found.get("notStrict", {})} == {*found["origins"]}


def test_gemini_gets_its_own_list(run: Callable[..., Run]) -> None:
    """All functions are in one tool, in the order of the matches."""
    ids = run("search", "refund", "--format", "ids").out.split()
    (listed,) = run("search", "refund", "--as", "gemini").json["tools"]
    assert [one["name"] for one in listed["functionDeclarations"]] == ids


def test_nothing_found_is_an_empty_list(run: Callable[..., Run]) -> None:
    """The output is JSON all the same, and the exit code says that nothing was found."""
    found = run("search", "zzqx wqv", "--as", "openai")
    assert (found.code, found.json["tools"]) == (1, [])
    assert "no tool matches" in found.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--as", "openai", "--deferred"], "use openai-responses or anthropic"),
        (["--deferred"], "--deferred: no API is named"),
        (["--strict-schemas"], "--strict-schemas: no API is named"),
        (["--as", "anthropic", "--strict-schemas"], "use openai or openai-responses"),
        (["--as", "mcp", "--format", "csv"], "leave --format csv out"),
        (["--as", "mcp", "--explain"], "leave --explain out"),
        (["--as", "mcp", "--input-schema"], "leave --input-schema out"),
        (["--as", "bedrock"], "bedrock"),
        (["--as", "gemini", "--deferred"], "use openai-responses or anthropic"),
    ],
)
def test_options_that_do_not_fit_are_named(
    run: Callable[..., Run], options: list[str], told: str
) -> None:
    """A list for a model is JSON of a search, and no API has more than it has."""
    found = run("search", "refund", *options)
    assert (found.code, found.out) == (2, "")
    assert told in found.err
