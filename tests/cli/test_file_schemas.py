"""The schemas of files that people write accept what mcpg reads, and refuse what it reports."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from shop import HINTS

from mcpg.catalog.hints import HINT_FIELDS, HINT_KEYS, read_hint_rules, read_texts
from mcpg.cli.commands.schema import FILES, json_schema
from mcpg.cli.environment import KEYS
from mcpg.cli.setting_models import check_settings
from mcpg.cli.source_settings import check_sources
from mcpg.errors import InputError, McpgError, UsageError
from mcpg.evaluation.judged import parse_judged

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

ROOT = Path(__file__).parents[2]


def accepts(name: str, value: Any) -> bool:
    """Return whether a value is valid by a schema."""
    return Draft202012Validator(json_schema(name)).is_valid(value)


@pytest.mark.parametrize("name", FILES)
def test_schemas_are_sound(name: str) -> None:
    """Each is a valid schema, and its id has its name and version."""
    schema = json_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:mcpg:schema:{name}:1"


# Hints files


@pytest.mark.parametrize("key", [*HINT_KEYS, "related", "nextSteps", "next_steps"])
def test_every_key_of_a_hint_is_known(key: str) -> None:
    """All spellings of a hint are accepted with a value of its type, and with no other type."""
    reads = {one: field.read for field in HINT_FIELDS.values() for one in field.keys}
    kind = reads.get(key, read_texts).__name__
    value = {"_read_boolean": True, "_read_tier": "Low"}.get(kind, ["text"])
    assert accepts("hints-file", {"tools": {"a": {key: value}}})
    assert not accepts("hints-file", {"tools": {"a": {key: {"no": "hint"}}}})


HINTS_FILES = [
    *(path.read_text("utf-8") for path in sorted(ROOT.glob("examples/tools/*.hints.yaml"))),
    HINTS,
    "tools:\n",
    "tools: {a: {examples: how}}",
    "tools: {a: {examples: [{request: how, response: so}]}}",
    "tools: {a: {keywords: [2026, plan], costTier: HIGH, readOnly: 'true', tags: null}}",
    '{"$schema": "hints.schema.json", "tools": {"a*": {"aliases": "b"}}}',
    "tools: {a: {keyword: x}}",
    "tools: {a: {keywords: [[x]]}}",
    "tools: {a: {costTier: cheap}}",
    "tools: {a: {readOnly: 'perhaps'}}",
    "tools: {a: {examples: [{output: so}]}}",
    "tools: {a: none}",
    "tools: {a: {}}\nfurther: 1",
    "tool: {}",
]


@pytest.mark.parametrize("text", HINTS_FILES)
def test_hints_files(text: str) -> None:
    """What is read without a diagnostic is valid, and nothing else."""
    try:
        is_read = not read_hint_rules(text, "x.hints.yaml")[1]
    except InputError:
        is_read = False
    assert accepts("hints-file", yaml.safe_load(text)) == is_read


# Judged queries


JUDGED = [
    (ROOT / "examples/queries.yaml").read_text("utf-8"),
    "- {query: a, relevant: [b], contextTools: c, id: 7}",
    "{query: a, relevant: b}",
    "a: b\nc: []\nd: [e, f]",
    "- {query: a, relevant: []}\n- {query: b, relevant: c, note: ignored}",
    "- {query: a}",
    "- {query: a, relevant: null}",
    "- {query: '', relevant: b}",
    "- {query: a, relevant: {b: c}}",
    "- {query: a, relevant: [b], contextTools: true}",
    "- text",
    "a: null",
]


@pytest.mark.parametrize("text", JUDGED)
def test_judged_queries(text: str) -> None:
    """What is read without a diagnostic is valid, and nothing else."""
    try:
        is_read = not parse_judged(text.encode(), "queries.yaml").diagnostics
    except InputError:
        is_read = False
    assert accepts("judged-queries", yaml.safe_load(text)) == is_read


def test_a_line_of_judged_queries() -> None:
    """A line of JSON Lines has a schema of its own."""
    line = Draft202012Validator(json_schema("judged-queries", line=True))
    assert line.is_valid({"query": "a", "relevant": ["b"]})
    assert not line.is_valid([{"query": "a", "relevant": ["b"]}])


# Observed files


def test_observed_files(folder: Path, run: Callable[..., Run]) -> None:
    """Every line that `mcpg learn` writes is valid, and no other."""
    calls = (ROOT / "examples/calls.jsonl").read_text("utf-8")
    (folder / "calls.jsonl").write_text(calls, "utf-8")
    assert run("learn", "calls.jsonl", "-b", str(ROOT / "examples/tools")).code == 0
    rows = (folder / "graph.observed.jsonl").read_text("utf-8").splitlines()
    lines = [json.loads(row) for row in rows]
    assert {key for line in lines for key in line} >= {"sessions", "file", "tool", "pair"}
    assert all(accepts("observed-file", line) for line in lines)
    for broken in ({"tool": "a"}, {"pair": ["a"], "days": {}}, {"tool": "a", "days": {"": [1]}}):
        assert not accepts("observed-file", broken)


# mcpg.toml


PAGE = (ROOT / "docs/reference/configuration.md").read_text("utf-8")
SETTINGS = [
    *re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[:1],
    "",
    "limit = 3\n[limits]\nresult_bytes = 1",
    "[[sources]]\nurl = 'https://a.example'\noauth = false",
    "[[sources]]\nurl = 'https://a.example'\noauth = {scope = ['a', 'b']}",
    "[[sources]]\ncommand = 'uvx'\nargs = ['a', 1, true]",
    "limit = '3'",
    "limt = 3",
    "[limits]\nresult_bytes = 0",
    "[store]\nkind = 'redis'",
    "[[sources]]\npath = 'a'\ncommand = 'b'",
    "[[sources]]\nid = 'a'",
    "[sources]\npath = 'a'",
]


@pytest.mark.parametrize("text", SETTINGS)
def test_settings(text: str) -> None:
    """What is read is valid, and what has the wrong key or type is not."""
    values = tomllib.loads(text)

    def fail(message: str, *_: object) -> McpgError:
        return UsageError(message)

    try:
        check_settings({key: one for key, one in values.items() if key != "sources"}, fail)
        check_sources(values.get("sources", []), fail)
        is_read = True
    except UsageError:
        is_read = False
    assert accepts("settings", values) == is_read


def test_every_setting_has_a_description() -> None:
    """The schema has every key of the settings, each with what it means."""
    schema: Any = json_schema("settings")
    for key in KEYS:
        part = schema
        for step in key.split("."):
            part = part["properties"][step]
            part = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        assert part["description"].endswith("."), key
    assert "unset" not in json.dumps(schema)
