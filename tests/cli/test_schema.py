"""`mcpg schema`: the published schemas on standard output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcpg.cli.commands.schema import json_schema, schema_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run


def test_names_are_listed(run: Callable[..., Run]) -> None:
    """Without a name, there is a line for each schema, or its name alone."""
    done = run("schema")
    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == schema_names()
    assert "The result of `mcpg search`." in done.out
    assert run("schema", "--format", "ids").out.split() == schema_names()
    (search,) = (
        one for one in run("schema", "--format", "json").json["schemas"] if one["name"] == "search"
    )
    assert (search["id"], search["hasLines"]) == ("urn:mcpg:schema:search:1", True)


def test_a_schema_is_json(run: Callable[..., Run]) -> None:
    """A schema has no other format."""
    assert run("schema", "search", "--format", "json").out == run("schema", "search").out
    refused = run("schema", "search", "--format", "csv")
    assert (refused.code, refused.out) == (2, "")
    assert "--format: a schema is JSON" in refused.err


@pytest.mark.parametrize("name", ["search", "mcpg/search/1"])
def test_a_schema_is_printed(run: Callable[..., Run], name: str) -> None:
    """A schema is found by its name and by that of its format."""
    done = run("schema", name)
    assert done.code == 0
    assert json.loads(done.out) == json_schema("search")


def test_a_schema_needs_no_other_file(run: Callable[..., Run]) -> None:
    """All references lead into the same document."""
    for name in schema_names():
        text = run("schema", name).out
        found = json.loads(text)
        targets = {part.split('"')[0] for part in text.split('"$ref": "')[1:]}
        assert targets == {f"#/$defs/{one}" for one in found.get("$defs", {})}


def test_a_line_is_described_by_itself(run: Callable[..., Run]) -> None:
    """The schema of a line has an id of its own; the object's schema has it at an anchor."""
    line = json.loads(run("schema", "list", "--jsonl").out)
    assert line["$id"] == "urn:mcpg:schema:list:1:line"
    assert line["$defs"]["line"]["$anchor"] == "line"
    refused = run("schema", "show", "--jsonl")
    assert refused.code == 2
    assert "mcpg/show/1 has no lines" in refused.err


def test_an_unknown_name_is_an_error(run: Callable[..., Run]) -> None:
    """The error suggests the name that was meant."""
    done = run("schema", "serach")
    assert (done.code, done.out) == (2, "")
    assert "no schema is called 'serach'" in done.err
    assert "did you mean 'search'?" in done.err
