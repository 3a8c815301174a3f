"""The reference of JSON formats names every format that the code writes, and every member of it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from loopback import answer, chat, serving

from mcpg.cli import main
from mcpg.cli.environment import KEYS, SECRET_VARIABLES
from mcpg.cli.reference import MARKER
from mcpg.documents.markdown import MAX_PARSED
from mcpg.gateway.serve.http import SHORTEST_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs/reference"
PAGE = (REFERENCE / "json-formats.md").read_text("utf-8")
REPORTS = (REFERENCE / "judged-queries.md").read_text("utf-8").partition("## Reports")[2]
FORMAT = re.compile(r"\bmcpg/[a-z-]+/\d+\b")
CODE = re.compile(r"`([^`]+)`")

# Objects whose keys are not members, but names of something else.
OPEN = {
    *("prefixes", "weights", "coefficients", "adjustments", "heldOut"),
    *("inputSchema", "outputSchema", "annotations", "meta", "content", "structured"),
}
OPEN_IN = {"mcpg/doctor/1": {"details"}, "mcpg/explain/1": {"metrics"}}


def section(heading: str) -> str:
    """Return what stands below *heading*, up to the next of the same level or a higher one."""
    found = re.search(rf"^(#+) {re.escape(heading)}$", PAGE, re.MULTILINE)
    assert found, heading
    rest = PAGE[found.end() :]
    return re.split(rf"^#{{1,{len(found[1])}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def described(heading: str) -> set[str]:
    """Name the members that a section describes, and those of the sections that it refers to."""
    names: set[str] = set()
    waiting, seen = [heading], {heading}
    while waiting:
        text = section(waiting.pop())
        spans = [span for span in CODE.findall(text) if not FORMAT.fullmatch(span)]
        names |= {part.removesuffix("[]") for span in spans for part in span.split(".")}
        if "(judged-queries.md#reports)" in text:
            names |= {*CODE.findall(REPORTS)}
        shared = {
            title for title in ("Tool", "Match", "Diagnostic") if f"#{title.lower()})" in text
        }
        waiting += {*shared, *FORMAT.findall(text)} - seen
        seen |= {*waiting}
    return names


def members(value: Any, ignored: set[str]) -> Iterator[str]:
    """Name the members of an object, and of all objects in it."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield name
            if name not in ignored:
                yield from members(part, ignored)
    elif isinstance(value, list):
        for part in value:
            yield from members(part, ignored)


def test_every_format_has_a_section() -> None:
    """What the code calls a format is a heading of the page, and the other way round."""
    files = [*(ROOT / "mcpg").rglob("*.py"), *(ROOT / "mcpg").rglob("data/*.json")]
    written = {
        name
        for file in files
        for name in re.findall(rf'"({FORMAT.pattern})"', file.read_text("utf-8"))
    }
    assert written == set(re.findall(rf"^#+ ({FORMAT.pattern})$", PAGE, re.MULTILINE))


EXPLAIN = ["explain", "where is my shipmnt"]
COMMANDS = [
    ["bundle", "tools", "-o", "other.mdld"],
    ["bundle", "tools", "--check"],
    ["bundle", "tools", "-o", "vectors.mdld", "--embed", "--embed-with", "local"],
    ["cache"],
    ["doctor", "--no-sources"],
    ["eval", "queries.yaml"],
    EXPLAIN,
    [*EXPLAIN, "--tool", "shipment_create"],
    [*EXPLAIN, "--tool", "shipment_create", "--judged", "queries.yaml"],
    [*EXPLAIN, "--route"],
    [*EXPLAIN, "--strategy", "auto", "--embed-with", "local"],
    [*EXPLAIN, "--compare", "graph.mdld", "graph.mdld"],
    ["generate", "tools", "-o", "docs"],
    ["generate", "tools", "-o", "docs", "--check"],
    ["graph", "schema"],
    ["graph", "search", "shipment"],
    ["graph", "stats"],
    ["graph", "validate"],
    ["invoke", "isleap", "--from", "python:calendar:isleap", "--arg", "year=2024"],
    ["invoke", "isleap", "--from", "python:calendar:isleap"],
    ["list"],
    ["route", "where is my shipmnt"],
    ["search", "where is my shipmnt"],
    ["show", "shipment_status"],
    ["tune", "queries.yaml", "--dry-run", "--folds", "2"],
]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the examples with their bundle."""
    path = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "examples", path, dirs_exist_ok=True)
    assert main(["bundle", str(path / "tools"), "-o", str(path / "graph.mdld"), "-q"]) == 0
    return path


@pytest.fixture(autouse=True)
def settings(examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in the folder of the examples, where no setting of the machine is felt."""
    for name in {key.variable for key in KEYS.values()} | SECRET_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MCPG_CACHE", str(examples / "cache"))
    monkeypatch.chdir(examples)


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Run the program and give the object that it prints."""
    main([*arguments, "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def undescribed(printed: dict[str, Any]) -> set[str]:
    """Name the members of an object that the section of its format lacks."""
    name = printed["schema"]
    ignored = OPEN | OPEN_IN.get(name, set())
    return {*members(printed, ignored)} - described(name) - {"schema"}


@pytest.mark.untraced
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_every_member_is_described(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """No command prints a member that the section of its format does not name."""
    assert undescribed(printed(arguments, capsys)) == set()


def test_every_member_of_a_rewritten_search_is_described(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rewritten query adds members to an explanation, which are described as well."""
    with serving(answer(chat("where is my parcel"))) as server:
        monkeypatch.setenv("MCPG_LLM_URL", server.url)
        monkeypatch.setenv("MCPG_LLM_MODEL", "any")
        found = printed(["explain", "wo ist mein Paket geblieben", "--normalize"], capsys)
    names = {*members(found, OPEN)}
    assert {"foundBy", "englishShare", "rewrite"} <= names
    assert undescribed(found) == set()


def test_limits_are_stated() -> None:
    """Limits of tokens and prose stand in the reference."""
    configuration = (REFERENCE / "configuration.md").read_text("utf-8")
    assert f"at least {SHORTEST_TOKEN} ASCII characters" in configuration
    assert f"{MAX_PARSED:,} characters" in (REFERENCE / "document-format.md").read_text("utf-8")


def test_exit_codes_are_stated_for_every_command() -> None:
    """The commands whose help speaks of exit code 1, or that have a gate, are in the table."""
    page, _, generated = (REFERENCE / "cli.md").read_text("utf-8").partition(MARKER)
    stated = set(re.findall(r"`mcpg ([a-z ]+)`", page.partition("| command | exit code 1 |")[2]))
    parts = re.findall(
        r"^## mcpg ([a-z ]+)\n\n```text\n(.*?)^```", generated, re.MULTILINE | re.DOTALL
    )
    told = {
        name for name, text in parts if re.search(r"exits?\s+(with\s+)?1\b", text, re.IGNORECASE)
    }
    assert told <= stated
    assert stated <= {name for name, _ in parts}
