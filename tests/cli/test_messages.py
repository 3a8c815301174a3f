"""What is said of mistakes: a table of bad inputs, whose messages are kept in files.

Run with MCPG_UPDATE_GOLDEN=1 to write them anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

GOLDEN = Path(__file__).parent / "golden_messages"

LIST = ("list",)
SOURCES = ("bundle", "--check")
CLIENT = ("bundle", "mcp.json", "-o", "new.mdld")
HINTS = ("bundle", "tools", "a.hints.yaml", "-o", "new.mdld")
JUDGED = ("eval", "queries.yaml")
OPENAPI = ("bundle", "api.yaml", "-o", "new.mdld")
PYTHON = ("python:calendar:isleap", "--arg", "year=2024")
MANIFEST = ("bundle", "a.json", "-o", "new.mdld")

Case = tuple[str, str, tuple[str, ...]]


def config(text: str, *command: str) -> Case:
    """Return a case with a configuration file."""
    return "mcpg.toml", text, command or LIST


def source(text: str) -> Case:
    """Return a case with an entry of `[[sources]]`."""
    return "mcpg.toml", f"[[sources]]\n{text}\n", SOURCES


def variable(name: str, value: str, *command: str) -> Case:
    """Return a case with a variable of the environment."""
    return f"${name}", value, command or LIST


def words(*command: str) -> Case:
    """Return a case of the command line alone."""
    return "", "", command


TABLES: dict[str, dict[str, Case]] = {
    "configuration": {
        "no equals sign": config("limit 5"),
        "no value": config("limit ="),
        "unquoted text": config("strategy = graph"),
        "open text": config('strategy = "graph'),
        "open list": config('[serve]\nallow_hosts = ["a"'),
        "open table": config("[serve\nhttp = 8080"),
        "a key twice": config("limit = 5\nlimit = 6"),
        "a section twice": config("[serve]\n[cache]\n[serve]"),
        "a bad escape": config('bundle = "C:\\work"'),
        "two statements on a line": config("limit = 5 lexicon = true"),
        "not UTF-8": ("mcpg.toml", "limit = \udcff", LIST),
        "text for a number": config('limit = "many"'),
        "a fraction for a whole number": config("limit = 2.5"),
        "a date for a number": config("limit = 2026-01-01"),
        "a number for a text": config("strategy = 5"),
        "a number for a boolean": config("lexicon = 1"),
        "a text for a list": config('[serve]\nallow_hosts = "tools.example"', "serve", "tools"),
        "a number in a list of texts": config("[serve]\nallow_hosts = [5]"),
        "a text for a section": config('serve = "http"'),
        "a list for a section": config("cache = []"),
        "an unknown key": config("limit = 5\nlimt = 3"),
        "an unknown key of a section": config("[serve]\nhtpp = 8080"),
        "an unknown section": config("[embedings]\nprovider = 'local'"),
        "a key far from all others": config("zzz = 1"),
        "a long unknown key": config(f"{'k' * 300} = 1"),
        "a key with control characters": config('"\\u001b[31mlimit" = 1'),
        "an unknown choice": config('[store]\nkind = "sqlit"'),
        "an unknown choice far from all": config('[cache]\nkind = "redis"'),
        "an unknown strategy": config('strategy = "grahp"', "search", "x", "-b", "tools"),
        "an unknown fusion": config('fusion = "learnt"', "search", "x", "-b", "tools"),
        "a limit of none": config("limit = 0", "search", "x", "-b", "tools"),
        "a negative timeout": config("[embeddings]\ntimeout = -1"),
        "an endless timeout": config("[limits]\ninvoke_timeout = inf"),
        "negative entries": config("[cache]\nentries = -1"),
        "no connection": config("[postgres]\npool = 0"),
        "no dimension": config("[embeddings]\ndimensions = 0"),
        "too few bytes": config("[serve]\nmax_bytes = 10"),
        "a long text for a number": config(f'limit = "{"x" * 500}"'),
        "a secret in the file": config('[postgres]\npassword = "hunter2"'),
        "a secret in an address": config('[embeddings]\nurl = "https://me:hunter2@host/v1"'),
        "sources are a text": config('sources = "mcp.json"', *SOURCES),
        "sources are a table": config('[sources]\npath = "tools"', *SOURCES),
    },
    "sources": {
        "nothing named": source(""),
        "an unknown key": source('pth = "tools"'),
        "two kinds": source('path = "tools"\nurl = "https://x.example/mcp"'),
        "a key of another kind": source('path = "tools"\nargs = ["x"]'),
        "a missing file": source('path = "nothing"'),
        "not an address": source('url = "x.example/mcp"'),
        "an unknown transport": source('url = "https://x.example/mcp"\ntransport = "htp"'),
        "a command as a list": source('command = ["npx", "server"]'),
        "arguments as a text": source('command = "npx"\nargs = "server"'),
        "an empty command": source('command = " "'),
        "a secret in a header": source(
            'url = "https://x.example/mcp"\nheaders = { Authorization = "Bearer abc" }'
        ),
        "a header that is a list": source('url = "https://x.example/mcp"\nheaders = ["a"]'),
        "a timeout of none": source('command = "npx"\ntimeout = 0'),
        "a timeout as a text": source('command = "npx"\ntimeout = "long"'),
        "a timeout too long": source('command = "npx"\ntimeout = 100000'),
        "enabled as a text": source('path = "tools"\nenabled = "yes"'),
        "an unset variable": source('command = "npx"\nargs = ["${MCPG_TEST_UNSET}"]'),
        "not a module": source('python = "1st.module"'),
        "a missing module": source('python = "no_such_module_of_mcpg"'),
        "an unknown key of oauth": source(
            'url = "https://x.example/mcp"\noauth = { clientid = "a" }'
        ),
        "an unknown grant": source('url = "https://x.example/mcp"\noauth = { grant = "implicit" }'),
        "a port out of range": source(
            'url = "https://x.example/mcp"\noauth = { callback_port = 70000 }'
        ),
        "two of one id": source('path = "tools"\nid = "a"\n[[sources]]\npath = "tools"\nid = "A"'),
    },
    "environment": {
        "not a number": variable("MCPG_LIMIT", "many", "search", "x"),
        "an unknown strategy": variable("MCPG_STRATEGY", "grahp", "search", "x", "-b", "tools"),
        "not a boolean": variable("MCPG_LEXICON", "maybe", "search", "x", "-b", "tools"),
        "not a timeout": variable("MCPG_INVOKE_TIMEOUT", "soon", "invoke", "isleap", *PYTHON),
        "an unknown store": variable(
            "MCPG_EMBEDDING_STORE", "sqlit", "search", "x", "--strategy", "auto"
        ),
        "a missing bundle": variable("MCPG_BUNDLE", "nothing.mdld", "list"),
        "not a connection string": variable("MCPG_POSTGRES", "garbage", "publish"),
        "not yes or no": variable("MCPG_REWRITE", "perhaps", "search", "x"),
    },
    "client": {
        "not JSON": ("mcp.json", '{"mcpServers": {"a": {"command": "npx",}}', CLIENT),
        "no servers": ("mcp.json", '{"mcpServers": []}', CLIENT),
        "a server that is a text": ("mcp.json", '{"mcpServers": {"a": "npx"}}', CLIENT),
        "a server without command": ("mcp.json", '{"mcpServers": {"a": {"args": []}}}', CLIENT),
        "a command that is a number": ("mcp.json", '{"mcpServers": {"a": {"command": 5}}}', CLIENT),
        "arguments that are a text": (
            "mcp.json",
            '{"mcpServers": {"a": {"command": "npx", "args": "x"}}}',
            CLIENT,
        ),
        "not an address": ("mcp.json", '{"mcpServers": {"a": {"url": "ftp://x"}}}', CLIENT),
        "an unknown type": (
            "mcp.json",
            '{"mcpServers": {"a": {"type": "grpc", "url": "https://x.example"}}}',
            CLIENT,
        ),
        "a missing program": (
            "mcp.json",
            '{"mcpServers": {"a": {"command": "no-such-program-of-mcpg"}}}',
            CLIENT,
        ),
    },
    "hints": {
        "not YAML": ("a.hints.yaml", "tools:\n  a: [x\n", HINTS),
        "a colon too many": ("a.hints.yaml", "tools: a: b\n", HINTS),
        "a tab": ("a.hints.yaml", "tools:\n\ta: {tags: [x]}\n", HINTS),
        "an open quote": ("a.hints.yaml", 'tools:\n  a: {tags: ["x]}\n', HINTS),
        "a wrong indent": ("a.hints.yaml", "tools:\n  a:\n    tags: [x]\n   b: 1\n", HINTS),
        "a list for a mapping": ("a.hints.yaml", "- a\nb: c\n", HINTS),
        "an unknown escape": ("a.hints.yaml", 'tools: {a: {tags: ["\\q"]}}', HINTS),
        "an anchor": ("a.hints.yaml", "tools: {a: &x {tags: [x]}}", HINTS),
        "a tag": ("a.hints.yaml", "tools: !!set {a}", HINTS),
        "a key twice": ("a.hints.yaml", "tools:\n  a: {tags: [x]}\n  a: {tags: [y]}\n", HINTS),
        "two documents": ("a.hints.yaml", "tools: {}\n---\ntools: {}\n", HINTS),
        "a percent sign": ("a.hints.yaml", "%tools\na: b\n", HINTS),
        "a star": ("a.hints.yaml", "tools: {a: *x}", HINTS),
        "no tools": ("a.hints.yaml", "tool: {a: {tags: [x]}}", HINTS),
        "tools as a list": ("a.hints.yaml", "tools: [a]", HINTS),
        "an unknown hint": ("a.hints.yaml", "tools: {shipment_status: {alias: [x]}}", HINTS),
        "a hint of another type": (
            "a.hints.yaml",
            "tools: {shipment_status: {tags: {a: 1}}}",
            HINTS,
        ),
        "an unknown tool": ("a.hints.yaml", "tools: {shipment_statsu: {tags: [x]}}", HINTS),
        "not UTF-8": ("a.hints.yaml", "tools: {a: {tags: [\udcff]}}", HINTS),
    },
    "judged": {
        "not YAML": ("queries.yaml", "where is it: [a\n", JUDGED),
        "a number for tools": ("queries.yaml", "where is my parcel: 5\n", JUDGED),
        "an unknown tool": ("queries.yaml", "where is my parcel: shipment_statsu\n", JUDGED),
        "empty": ("queries.yaml", "", JUDGED),
        "not JSON lines": ("q.jsonl", '{"query": "a" "relevant": []}\n', ("eval", "q.jsonl")),
        "a line that is a list": ("q.jsonl", "[1]\n", ("eval", "q.jsonl")),
        "no query": ("q.jsonl", '{"relevant": ["shipment_status"]}\n', ("eval", "q.jsonl")),
        "an unknown key": (
            "q.jsonl",
            '{"query": "a", "relevnt": ["shipment_status"]}\n',
            ("eval", "q.jsonl"),
        ),
        "an open text": ("q.jsonl", '{"query": "a\n', ("eval", "q.jsonl")),
    },
    "manifests": {
        "a trailing comma": ("a.json", '{"tools": [{"name": "a"},]}', MANIFEST),
        "a single quote": ("a.json", "{'tools': []}", MANIFEST),
        "no comma": ("a.json", '{"tools": [{"name": "a"} {"name": "b"}]}', MANIFEST),
        "no colon": ("a.json", '{"tools" []}', MANIFEST),
        "an open text": ("a.json", '{"tools": [{"name": "a}]}', MANIFEST),
        "a line break in a text": ("a.json", '{"tools": [{"name": "a\nb"}]}', MANIFEST),
        "a bad escape": ("a.json", '{"tools": [{"name": "C:\\work"}]}', MANIFEST),
        "a bad code point": ("a.json", '{"tools": [{"name": "\\u12"}]}', MANIFEST),
        "cut short": ("a.json", '{"tools": [', MANIFEST),
        "not a number": ("a.json", '{"tools": [{"name": "a", "x": NaN}]}', MANIFEST),
        "a bundle that is not JSON": (
            "a.mdld",
            '{"version": 1, "documents": [}',
            ("list", "-b", "a.mdld"),
        ),
        "a document with broken front matter": (
            "a.md",
            "---\ntitle: a: b\n---\n",
            ("bundle", "a.md"),
        ),
        "an OpenAPI document that is not YAML": (
            "api.yaml",
            "openapi: 3.1.0\npaths: {a\n",
            OPENAPI,
        ),
        "paths that are a list": ("api.yaml", "openapi: 3.1.0\npaths: []\n", OPENAPI),
        "an old version": ("api.yaml", "swagger: '1.2'\npaths: {}\n", OPENAPI),
    },
    "commands": {
        "an unknown command": words("serch", "x"),
        "an unknown option": words("search", "x", "--limt", "3"),
        "an option without its value": words("search", "x", "--limit"),
        "not a number": words("search", "x", "--limit", "many"),
        "a fraction": words("search", "x", "--limit", "2.5"),
        "not a fraction": words("search", "x", "--min-score", "high"),
        "out of range": words("search", "x", "--min-score", "2"),
        "an unknown choice": words("list", "--color", "alway"),
        "an unknown choice far from all": words("list", "--color", "blue"),
        "a missing argument": words("show"),
        "an argument too many": words("graph", "context", "now"),
        "a value of a switch": words("list", "--quiet=yes"),
        "one value of two": words("explain", "x", "--compare", "a"),
        "an unknown strategy": words("search", "x", "--strategy", "grahp"),
        "an unknown provider": words("search", "x", "--strategy", "auto", "--embed-with", "locl"),
        "an unknown metric": words("eval", "q.jsonl", "--min", "ndgc@5=0.8"),
        "not a metric": words("eval", "q.jsonl", "--min", "ndcg@5=high"),
        "not a day": words("learn", "--forget-before", "soon"),
        "not an argument": words("invoke", "a", "tools", "--arguments", "{a: 1}"),
        "not a port": words("serve", "tools", "--http", "many"),
        "not a header": words("bundle", "https://x.example/mcp", "--header", "a"),
        "not an endpoint": words("graph", "search", "x", "--federate", "--endpoint", "x"),
        "a broken query": words("graph", "sparql", "SELECT * {"),
        "a wrong keyword": words("graph", "sparql", "SELEC ?a { ?a ?b ?c }"),
        "an unknown prefix": words("graph", "sparql", "SELECT * { ?a foo:bar ?c }"),
        "a broken pattern": words("graph", "sparql", "SELECT * { ?a ?b }"),
        "an update": words("graph", "sparql", "DELETE WHERE { ?a ?b ?c }"),
        "a missing shape": words("graph", "validate", "--shapes", "none.ttl"),
        "an unknown tool": words("show", "shipment_statsu"),
        "an unknown cache": words("cache", "clean"),
        "a missing file": words("list", "-b", "nothing.mdld"),
        "one missing file of two": words(
            *("search", "shipment", "--format", "ids", "-b", "tools", "-b", "nothing.mdld")
        ),
        "nothing to validate": words("validate", "nothing.mdld"),
        "no command": words("bundle", "stdio:", "-o", "new.mdld"),
        "no provider": words("bundle", "tools", "--embed", "--embed-with", "none"),
        "no old catalog": words("diff"),
        "a drop from nothing": words("eval", "q.jsonl", "--max-drop", "0.1"),
        "a header for files": words("bundle", "tools", "--header", "A: b"),
        "no goal": words("plan"),
        "a limit above the maximum": words("search", "shipment", "-n", "100", "--format", "ids"),
        "a closed endpoint": words(
            *("graph", "search", "x", "--federate", "--endpoint", "http://127.0.0.1:9/sparql")
        ),
    },
    "turtle": {
        "not Turtle": (
            "s.ttl",
            "@prefix sh: <http://x/> \nsh:a sh:b",
            ("graph", "validate", "--shapes", "s.ttl"),
        ),
        "an unknown prefix": (
            "s.ttl",
            "foo:a foo:b foo:c .",
            ("graph", "validate", "--shapes", "s.ttl"),
        ),
        "an open text": (
            "s.ttl",
            '<urn:a> <urn:b> "c .',
            ("graph", "validate", "--shapes", "s.ttl"),
        ),
    },
}
THEIRS = re.compile(
    r"Input should|Extra inputs|valid (?:integer|number|string|boolean|list)|unable to parse|"
    r"while (?:parsing|scanning)|block mapping|flow sequence|(?<!un)expected (?:<|'|one of)|"
    r"could not find|did not find|at line \d+, column|[Ee]xpecting|delimiter|[Uu]nterminated|"
    r"JSONDecode|[Ee]rrno|Traceback|[a-z]Error\b|pydantic|NoneType|object has no|[Pp]arser error|"
    r"is not one of|requires an argument|argument\(s\)"
)


@pytest.mark.parametrize("table", TABLES)
def test_messages(
    table: str, graph: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mistake is reported in our words, with its place, what is expected and a remedy."""
    monkeypatch.setenv("NO_COLOR", "1")
    shown = "".join(
        told(name, case, graph.parent, run, monkeypatch) for name, case in TABLES[table].items()
    )
    file = GOLDEN / f"{table}.txt"
    if os.environ.get("MCPG_UPDATE_GOLDEN"):
        file.write_text(shown, "utf-8", newline="\n")
    assert shown == file.read_text("utf-8")


def told(
    name: str, case: Case, folder: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> str:
    """Run a case, and return what is said of it."""
    place, content, command = case
    with monkeypatch.context() as patch:
        if place.startswith("$"):
            patch.setenv(place[1:], content)
        elif place:
            (folder / place).write_bytes(content.encode("utf-8", "surrogateescape"))
        done = run(*command)
    if place and not place.startswith("$"):
        (folder / place).unlink()
    said = done.err.replace(str(folder), "<folder>")
    assert not THEIRS.search(said), f"{name}: {said}"
    assert max(map(len, said.splitlines())) < 400
    return f"## {name}\n$ mcpg {' '.join(command)}\n{said}exit code {done.code}\n\n"


def test_there_are_many() -> None:
    """The table has every kind of file and of option."""
    assert sum(map(len, TABLES.values())) >= 60


def test_every_file_is_used() -> None:
    """No recorded message is left behind."""
    assert {file.stem for file in GOLDEN.iterdir()} == set(TABLES)
