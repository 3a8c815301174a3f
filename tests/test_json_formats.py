"""The published schemas describe what the program prints, all of it, and nothing else."""

from __future__ import annotations

import copy
import io
import json
import re
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lopsided
import pytest
from jsonschema import Draft202012Validator
from loopback import answer, chat, serving
from reference import MARKER, commands_below, refreshed_formats
from schemas import assert_described, closed, described_members, used_members
from shop import HINTS, LATER_HINTS, LATER_JUDGED, LATER_MANIFEST, MANIFEST
from typer.main import get_command

from mcpg.ask import INTENTS
from mcpg.cli import main
from mcpg.cli.app import app
from mcpg.cli.commands.schema import (
    common_definitions,
    format_names,
    json_schema,
)
from mcpg.cli.environment import KEYS, SECRET_VARIABLES
from mcpg.documents.markdown import MAX_PARSED
from mcpg.gateway.calls import FaultCode
from mcpg.gateway.serve.http import SHORTEST_TOKEN
from mcpg.relations.edges import Coverage, EdgeOrigin
from mcpg.search.results import FUSIONS, STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs/reference"
PAGE = (REFERENCE / "json-formats.md").read_text("utf-8")
FORMAT = re.compile(r"\bmcpg/[a-z-]+/\d+\b")
LINE = {"$ref": "#/$defs/line"}

EXPLAIN = ["explain", "where is my shipmnt"]
VECTORS = ["--strategy", "auto", "--embed-with", "local", "--fusion", "learned"]
CODE = ["-b", "code.mdld"]
SHOP = ["-b", "shop"]
COMMANDS = [
    ["bundle", "tools", "-o", "other.mdld"],
    ["bundle", "tools/commerce.json", "-o", "graph.mdld", "--check"],
    ["bundle", "shop", "-o", "vectors.mdld", "--embed", "--embed-with", "local"],
    ["bundle", "changed.json", "--source-id", "web", "-o", "web.mdld", "--locked"],
    ["cache"],
    ["diff", "shop", "later", "--queries", "later.yaml", "--fail-on", "rank"],
    ["doctor", "--no-sources"],
    ["enrich", "tools", "--check"],
    ["enrich", "tools", "--dry-run"],
    ["enrich", "tools", "--print-prompt"],
    ["eval", "queries.yaml", "--timings", "--min", "ndcg@5=0.5", *VECTORS],
    ["eval", "queries.yaml", "--baseline", "baseline.json", "-b", "shop"],
    EXPLAIN,
    ["explain"],
    ["explain", "copy ./parcels/list.csv of 2026-04-06"],
    [*EXPLAIN, *VECTORS],
    [*EXPLAIN, "--route"],
    [*EXPLAIN, "--source", "commerce", "--category", "orders", "--read-only"],
    [*EXPLAIN, "--tool", "shipment_create"],
    ["explain", "pay it back", *SHOP, "--tool", "invoice_refund"],
    ["explain", "where is my parcel", *SHOP, "--tool", "shipment_create", "--queries", "shop.yaml"],
    [*EXPLAIN, "--compare", "graph.mdld", "tools/commerce.json"],
    ["generate", "tools", "-o", "docs"],
    ["generate", "tools", "-o", "docs", "--check"],
    ["graph", "schema"],
    ["graph", "search", "shipment"],
    ["graph", "stats"],
    ["graph", "stats", *CODE],
    ["graph", "validate"],
    ["graph", "validate", "-b", "pages"],
    ["validate", "graph.mdld", "--reader", "dotnet"],
    ["init", "--dry-run", "--client", "mcp.json"],
    ["invoke", "isleap", "python:calendar:isleap", "--arg", "year=2024"],
    ["invoke", "isleap", "python:calendar:isleap"],
    ["invoke", "nothing", "python:calendar:isleap"],
    ["learn", "calls.jsonl"],
    ["learn", "calls.jsonl", "--check"],
    ["lint", "faults.json"],
    ["list"],
    ["list", "--kind", "symbol", *CODE],
    ["search", "login", "--kind", "symbol", *CODE],
    ["list", "--source", "nobody"],
    ["list", "--source", "commerce", "--input-schema"],
    ["lock", "changed.json", "--source-id", "web", "--check"],
    ["plan", "refund the order and mail the customer about it"],
    ["plan", "find a time when Kim is free, book a meeting and reserve a room"],
    ["plan", "refund the order", "--context-tool", "order_search"],
    ["plan", "list orders", "-b", "alike.json"],
    ["plan", "fetch the page https://example.org/about", "-b", "alone.json"],
    ["plan", "zzqx"],
    ["route", "where is my shipmnt"],
    ["route", "zzqx"],
    ["rule"],
    ["schema"],
    ["search", "where is my shipmnt"],
    ["search", "merge the pull request", "--include-disabled", *VECTORS],
    ["search", "zzqx wqv"],
    ["search", "where is my shipmnt", "--source", "commerce", "--input-schema"],
    ["search", "where is my shipmnt", "--no-related"],
    ["search"],
    ["search", "where is my parcel", "--as", "openai"],
    ["search", "find a page", "-b", "filter.json", "--as", "anthropic", "--deferred"],
    ["search", "order", "--as", "openai", "--strict-schemas"],
    ["show", "shipment_status"],
    ["show", "page_fetch", "-b", "alone.json"],
    ["tune", "many.jsonl", "-b", "lopsided.mdld", "--dry-run", "--folds", "2"],
    ["tune", "queries.yaml", "--dry-run"],
    ["tune", "queries.yaml", "--kind", "symbol", *CODE],
    ["ask", "what comes before refund_issue"],
    ["ask", "what is order_id in order_get"],
    ["ask", "what is lost_parcel_runbook"],
    ["ask", "example of shipment_status"],
    ["ask", "how do I find a lost parcel", "--max-bytes", "900"],
    ["ask", "who calls login", *CODE],
    ["ask", "where is login()", *CODE, "-b", "next.mdld"],
    ["ask", "zzqx"],
]

REWRITTEN = ["wo ist mein Paket TRK-4711 geblieben", "--rewrite", *VECTORS]
ASKING_A_MODEL = [
    ["search", *REWRITTEN],
    ["route", *REWRITTEN],
    ["explain", *REWRITTEN],
    ["explain", "wer hat mein Paket angenommen", "--rewrite"],
    ["search", "where is my parcel", "--strategy", "auto", "--embed-with", "openai:none"],
]
"""A model rewrites the first three queries, and fails afterwards."""

SEEN_ELSEWHERE = {
    "publish#": "tests/cli/test_publish.py, which needs a database",
    "init#/search": "tests/cli/test_init.py, which starts servers",
    **dict.fromkeys(
        (f"tune-setting#/{one}" for one in ("fit", "path", "tuned")),
        "tests/cli/test_code_sources.py, which has enough queries",
    ),
    **dict.fromkeys(
        (
            *("enrich#/reviews", "enrich#/usage", "#/$defs/textReview", "#/$defs/obsoleteEntry"),
            *("#/$defs/endpointUsage", "#/$defs/promptEstimate/cost"),
        ),
        "tests/cli/test_enrich.py, which starts models",
    ),
    **dict.fromkeys(
        ("item#", "diff#/items", "init#/skills", "#/$defs/skills", "lint#/items"),
        "tests/cli/test_skills.py, with skills",
    ),
    "#/$defs/node/evidence/*/endpoint": "tests/cli/test_graph_search.py, at an endpoint",
}
"""Members that occur where more is needed than a folder, by the test that has them."""

ADDRESS = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
ALONE = {"tools": [{"name": "page_fetch", "description": "Fetch a page.", "inputSchema": ADDRESS}]}
CHANGED = {"tools": [{"name": "page_fetch", "description": "Fetch it.", "inputSchema": ADDRESS}]}
PAGES = {"type": "object", "properties": {"filter[name]": {"type": "string"}}}
FILTER = {"tools": [{"name": "find", "description": "Find a page.", "inputSchema": PAGES}]}
ALIKE = {
    "tools": [
        {"name": "list_orders", "description": "List orders."},
        {"name": "list_order", "description": "List all orders of a shop."},
    ]
}
FAULTS = {
    "server": "shop",
    "tools": [
        {"name": "find_orders", "description": "Find orders of a customer by date."},
        {"name": "search_orders", "description": "Search orders of a customer by date and shop."},
        {"name": "list_stock", "description": "List what every warehouse has in stock."},
        {"name": "stock_list", "description": "List what every warehouse has in stock."},
        {
            "name": "reserve",
            "description": "Reserve a seat on a train for a passenger, with a view.",
        },
        {
            "name": "seat",
            "description": "Reserve a view seat on a train for a passenger, with a view.",
        },
        {"name": "order_pay", "description": "Pay an\x1b[2J order of a customer."},
    ],
}
SOURCE = "def login():\n    pass\n\n\ndef post():\n    login()\n"
PAGE_AT_FAULT = "---\nsource: s\nsummary: A page.\ndate_published: soon\n---\n"


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the examples with their bundle, and what else the commands read."""
    path = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "examples", path, dirs_exist_ok=True)
    made = [{"name": one.name, "description": one.description} for one in lopsided.tools()]
    judged = [
        {"query": one.query, "relevant": list(one.relevant)} for one in lopsided.by_name(80).queries
    ]
    files = {
        "shop/shop.json": json.dumps(MANIFEST),
        "shop/shop.hints.yaml": HINTS,
        "later/shop.json": json.dumps(LATER_MANIFEST),
        "later/shop.hints.yaml": LATER_HINTS,
        "later.yaml": LATER_JUDGED,
        "shop.yaml": "where is my parcel: shipment_create\npay it back: invoice_refund\n",
        "alone.json": json.dumps(ALONE),
        "changed.json": json.dumps(CHANGED),
        "alike.json": json.dumps(ALIKE),
        "faults.json": json.dumps(FAULTS),
        "filter.json": json.dumps(FILTER),
        "lopsided.json": json.dumps({"tools": made}),
        "many.jsonl": "\n".join(map(json.dumps, judged)),
        "src/app.py": SOURCE,
        "src/.git/HEAD": "ref: refs/heads/main\n",
        "other/app.py": SOURCE,
        "other/.git/HEAD": "ref: refs/heads/next\n",
        "pages/page.md": PAGE_AT_FAULT,
        "mcp.json": json.dumps({"mcpServers": {"tracker": {"url": "https://tracker.example"}}}),
    }
    for name, text in files.items():
        (path / name).parent.mkdir(exist_ok=True, parents=True)
        (path / name).write_text(text, "utf-8")
    return path


@pytest.fixture(scope="module", autouse=True)
def settings(examples: Path) -> Iterator[None]:
    """Run in the folder of the examples, where no setting of the machine is felt."""
    with pytest.MonkeyPatch.context() as patch:
        for name in {key.variable for key in KEYS.values()} | SECRET_VARIABLES:
            patch.delenv(name, raising=False)
        patch.setenv("MCPG_CACHE_DIR", str(examples / "cache"))
        patch.chdir(examples)
        yield


def ran(*arguments: str) -> str:
    """Run the program and return what it writes to standard output."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        main(arguments)
    return out.getvalue()


def printed(arguments: list[str]) -> dict[str, Any]:
    """Run the program and return the object that it prints."""
    found: dict[str, Any] = json.loads(ran(*arguments, "--format", "json"))
    return found


@pytest.fixture(scope="module")
def objects(settings: None, examples: Path) -> dict[str, dict[str, Any]]:  # noqa: ARG001 - as above
    """Return what every command prints, by its words."""
    ran("bundle", "tools", "-q")
    ran("bundle", "code:src", "-o", "code.mdld", "-q")
    ran("bundle", "code:other", "-o", "next.mdld", "-q")
    ran("lock", "alone.json", "--source-id", "web", "-q")
    ran("bundle", "lopsided.json", "-o", "lopsided.mdld", "-q")
    ran("eval", "queries.yaml", "--format", "json", "-o", "baseline.json")
    found = {" ".join(arguments): printed(arguments) for arguments in COMMANDS}
    rewrites = [answer(chat("where is my parcel TRK-4711"))] * 3
    broken = answer({}, 400)
    with serving(*rewrites, broken) as server, pytest.MonkeyPatch.context() as at:
        at.setenv("MCPG_LLM_URL", server.url)
        at.setenv("MCPG_LLM_MODEL", "any")
        at.setenv("MCPG_EMBED_URL", server.url)
        for arguments in ASKING_A_MODEL:
            found[" ".join(arguments)] = printed(arguments)
    return found


@pytest.mark.untraced
def test_all_that_is_printed_is_described(objects: dict[str, dict[str, Any]]) -> None:
    """No command prints a member or a value that the schema of its format lacks."""
    for arguments, found in objects.items():
        assert_described(found), arguments


@pytest.mark.untraced
@pytest.mark.parametrize("path", ["", "/matches/0", "/matches/0/evidence", "/focusedGraph"])
def test_what_is_not_described_is_noticed(objects: dict[str, dict[str, Any]], path: str) -> None:
    """A further member fails the test above wherever it is; the published schema allows it."""
    found = copy.deepcopy(objects["search where is my shipmnt"])
    at: Any = found
    for step in path.split("/")[1:]:
        at = at[int(step) if step.isdecimal() else step]
    at["further"] = 1
    with pytest.raises(AssertionError, match="further"):
        assert_described(found)
    assert Draft202012Validator(json_schema("search")).is_valid(found)


@pytest.mark.untraced
def test_all_that_is_described_is_printed(objects: dict[str, dict[str, Any]]) -> None:
    """Every member of a schema has a value somewhere in what the commands print."""
    used = set().union(*map(used_members, objects.values()))
    described = set().union(*map(described_members, format_names()))
    unused = {one for one in described - used if not one.startswith(tuple(SEEN_ELSEWHERE))}
    assert unused == set()


def test_every_format_has_a_schema() -> None:
    """What the code calls a format has a schema or, where only files have it, a section."""
    files = [*(ROOT / "mcpg").rglob("*.py"), *(ROOT / "mcpg").rglob("data/*.json")]
    written = {
        name
        for file in files
        for name in re.findall(rf'"({FORMAT.pattern})"', file.read_text("utf-8"))
    }
    of_files = set(re.findall(rf"^### ({FORMAT.pattern})$", PAGE, re.MULTILINE))
    titles = {str(json_schema(name)["title"]) for name in format_names()}
    assert written == of_files | titles
    assert not of_files & titles


@pytest.mark.parametrize("name", format_names())
def test_schemas_are_sound(name: str) -> None:
    """Each is valid, names itself alike everywhere, and says what every member means."""
    schema = json_schema(name)
    Draft202012Validator.check_schema(schema)
    properties: Any = schema["properties"]
    assert schema["title"] == properties["schema"]["const"] == f"mcpg/{name}/1"
    assert schema["$id"] == f"urn:mcpg:schema:{name}:1"
    assert [*undescribed(schema, schema.get("$defs", {}))] == []


def undescribed(part: Any, definitions: Any) -> Iterator[str]:
    """Name the members within *part* without a description of their own or of what they are."""
    if isinstance(part, dict):
        for name, one in part.get("properties", {}).items():
            if not one.get("description", "").endswith(".") and "$ref" not in one:
                yield name
        for one in part.values():
            yield from undescribed(one, definitions)
    elif isinstance(part, list):
        for one in part:
            yield from undescribed(one, definitions)


def commands_with_lines() -> set[str]:
    """Name the formats of the commands that have `--format jsonl`."""
    return {
        path.removeprefix("mcpg ").replace(" ", "-")
        for path, command in commands_below(get_command(app), "mcpg")
        for one in command.params
        if "jsonl" in (one.metavar or "")
    } - {"graph-sparql"}


def test_lines_have_schemas_where_there_are_lines() -> None:
    """A schema describes a line where its command writes lines; those of SPARQL are of W3C."""
    described = {name for name in format_names() if "line" in json_schema(name).get("$defs", {})}  # type: ignore[operator]
    assert described == {*commands_with_lines(), "items"}


@pytest.mark.untraced
@pytest.mark.parametrize("name", sorted(commands_with_lines()))
def test_a_line_is_a_member_of_the_list(name: str, objects: dict[str, dict[str, Any]]) -> None:
    """What `--format jsonl` writes is the list of the object, and has the schema of a line."""
    line = Draft202012Validator(closed(json_schema(name, line=True)))
    arguments = next(one for one in COMMANDS if listed(name, objects[" ".join(one)]))
    rows = [json.loads(row) for row in ran(*arguments, "--format", "jsonl").splitlines()]
    assert rows
    assert lasting(rows) == lasting(listed(name, printed(arguments)))
    assert all(map(line.is_valid, rows))
    assert not line.is_valid({**rows[0], "further": 1})
    assert Draft202012Validator(json_schema(name, line=True)).is_valid({**rows[0], "further": 1})


def listed(name: str, found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the list of an object whose members are lines; nothing for another format."""
    properties: Any = json_schema(name)["properties"]
    (member,) = (key for key, one in properties.items() if one.get("items") == LINE)
    rows: list[dict[str, Any]] = found[member] if found["schema"] == f"mcpg/{name}/1" else []
    return rows


def lasting(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *rows* without sizes and times, which differ from run to run."""
    return [{key: row[key] for key in row.keys() - {"details", "bytes", "message"}} for row in rows]


def test_enumerations_are_those_of_the_code() -> None:
    """Where the code names all values, the schemas list the same."""
    search, ask, show, plan, evaluation, invoke = (
        json_schema(name) for name in ("search", "ask", "show", "plan", "eval", "invoke")
    )
    assert set(values_of(search, "strategy")) == {*STRATEGIES}
    assert set(values_of(evaluation, "fusion")) == {*FUSIONS, None}
    assert set(values_of(ask, "intent")) == {*INTENTS}
    assert set(values_of(show["$defs"]["edge"], "origin")) == {*EdgeOrigin}  # type: ignore[call-overload,index]
    assert set(values_of(show["$defs"]["edge"], "coverage")) == {*Coverage, None}  # type: ignore[call-overload,index]
    origins = plan["$defs"]["line"]["properties"]["dependsOn"]["items"]  # type: ignore[call-overload,index]
    assert set(values_of(origins, "origin")) == {*EdgeOrigin}
    assert set(values_of(invoke["properties"]["faults"]["items"], "code")) == {*FaultCode}  # type: ignore[call-overload,index]


def values_of(schema: Any, member: str) -> list[Any]:
    """Return the values that *schema* allows a member."""
    found: list[Any] = schema["properties"][member]["enum"]
    return found


def test_shared_definitions_are_used() -> None:
    """What stands in the common file is a part of some schema."""
    used = {name for schema in format_names() for name in json_schema(schema).get("$defs", {})}  # type: ignore[union-attr]
    assert common_definitions().keys() <= used


def test_the_page_is_that_of_the_schemas() -> None:
    """Run `python tests/reference.py` on the page where this fails."""
    assert refreshed_formats(PAGE) == PAGE


def test_limits_are_stated() -> None:
    """Limits of tokens and prose stand in the reference."""
    configuration = (REFERENCE / "configuration.md").read_text("utf-8")
    assert f"at least {SHORTEST_TOKEN} ASCII characters" in configuration
    assert f"{MAX_PARSED:,} characters" in (REFERENCE / "document-format.md").read_text("utf-8")


def test_exit_codes_are_stated_for_every_command() -> None:
    """The commands whose help speaks of exit code 1, or that have a gate, are in the table."""
    page = (REFERENCE / "cli.md").read_text("utf-8").partition(MARKER)[0]
    stated = set(re.findall(r"`mcpg ([a-z ]+)`", page.partition("| command | exit code 1 |")[2]))
    helps = {
        path.removeprefix("mcpg "): " ".join([one.help, *(p.help or "" for p in one.params)])
        for path, one in commands_below(get_command(app), "mcpg")
        if not hasattr(one, "commands")
    }
    told = {
        name
        for name, text in helps.items()
        if re.search(r"\bexits?\s+(with\s+)?1\b", text, re.IGNORECASE)
    }
    assert told <= stated
    assert stated <= helps.keys()
