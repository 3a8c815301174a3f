"""A quick run answers exactly as the whole program does, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from builders import make_tool
from shop import plain_search
from typer.main import get_command

import mcpg
from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.cli import _run_guarded, main
from mcpg.cli.app import COMMANDS, app
from mcpg.cli.fast_path import quick_run
from mcpg.sources import SourceBatch

TOOLS = (
    make_tool("shipment_status", description="Tell where a shipment is.", keywords=("parcel",)),
    make_tool(
        "order_get",
        description="Get an order and its shipments.",
        categories=("Orders",),
        read_only=True,
    ),
    make_tool("weird", id="weird", title="Bell\x07 \u202eevil", description="\x1b[31mred\x1b[0m"),
    make_tool("shipment_delete", description="Delete one.", enabled_by_default=False),
)


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a bundle with a fresh index in the current folder."""
    path = tmp_path / "graph.mdld"
    write_bundle(path, build_bundle(assemble(SourceBatch(tools=TOOLS))))
    mcpg.load(path)
    monkeypatch.chdir(tmp_path)
    return path


ORDINARY = [
    ["search", "shipmnt", "status"],
    ["search", "where is my parcel", "-b", "graph.mdld"],
    ["search", "shipment", "-n", "1"],
    ["search", "shipment", "--limit=2", "--strategy", "graph"],
    ["search", "shipment", "--strategy=markdown-ld"],
    ["search", "shipment", "--context", "orders", "--include-disabled"],
    ["search", "where is my parcel", "--lexicon"],
    ["search", "where is my parcel", "--no-lexicon"],
    ["search", "evil red bell"],
    ["search", "order invoices xyzzy"],
    ["search", "shipment", "--source", "COMMERCE", "--source", "nobody"],
    ["search", "shipment", "--category", "orders", "--read-only"],
    ["search", "shipment", "--no-related"],
    ["search", "shipment", "--min-score=0.1"],
    ["search"],
    *(
        ["search", "shipmnt", "status", "--format", form]
        for form in ("json", "jsonl", "csv", "ids", "markdown", "table")
    ),
    ["search", "evil red bell", "--format", "json"],
    ["search", "where is my parcel", "--format", "json", "--no-lexicon"],
    ["search", "shipment", "--format", "json", "--input-schema", "--no-related"],
    ["search", "shipment", "--format", "jsonl", "--input-schema"],
    ["search", "order invoices xyzzy", "-q"],
    ["search", "order invoices xyzzy", "--color", "always"],
    ["search", "order invoices xyzzy", "--color", "never", "--format", "json"],
    ["search", "shipment", "--context-summary", "orders", "--context", "parcels"],
    ["search", "--context-summary", "orders", "--min-score=0.1"],
    ["search", "shipment", "--context-tool", "order_get", "--context-tool", "nothing"],
    [
        "search",
        "shipment",
        *(word for name in (*"12345678", "commerce") for word in ("--source", name)),
    ],
]


FRUITLESS = [
    ["search", "xqzv blorptik"],
    ["search", "shipment", "--min-score=0.9", "--abstain"],
    ["search", "order or none", "--abstain"],
    ["search", "xqzv blorptik", "--min-score=0"],
    ["search", "xqzv blorptik", "--read-only"],
    ["search", "xqzv blorptik", "--format", "json"],
    ["search", "xqzv blorptik", "--format", "ids"],
    ["search", "xqzv blorptik", "-q"],
]


MORE = [
    ["search", "shipment", "--explain"],
    ["search", "shipment", "--input-schema"],
    [
        *("search", "shipment", "--format", "ids"),
        *(word for number in range(12) for word in ("--context-tool", f"nothing{number}")),
    ],
    ["search", "shipment", "-q", "-v", "--color", "always"],
    ["search", "shipment", "-n", "0"],
    ["search", "shipment", "--strategy", "magic"],
    ["search", "shipment", "-b", "graph.mdld", "-b", "absent.mdld"],
    ["search", "shipment", "-b", "absent.mdld"],
    ["search", "--min-score=0.9", "--abstain"],
    ["search", "shipment", "--context", '{"topic": "order"}', "--no-rewrite"],
    ["search", "shipment", "--fusion", "rrf"],
    ["list", "--source", "nobody"],
    ["list", "--format=json", "--verbose"],
    ["show", "order_get"],
    ["show", "order_get", "--document"],
    ["show", "order_got", "--format", "json"],
    ["explain", "shipmnt", "status", "--format", "markdown"],
    ["explain", "shipment", "--tool", "order_get"],
    ["explain", "shipment", "--compare", "graph.mdld", "graph.mdld", "--format", "json"],
    ["explain", "order", "--route", "--prefer", "write"],
]


@pytest.mark.parametrize("arguments", [*ORDINARY, *FRUITLESS, *MORE], ids=" ".join)
@pytest.mark.usefixtures("bundle")
def test_both_ways_print_the_same(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A quick run prints to the byte what the whole program prints, and ends as it does."""
    code = quick_run(arguments)
    quick = capsys.readouterr()

    assert code is not None
    assert (_run_guarded(arguments), capsys.readouterr()) == (code, quick)


@pytest.mark.parametrize("arguments", ORDINARY, ids=" ".join)
@pytest.mark.usefixtures("bundle")
def test_a_plain_search_needs_no_settings(arguments: list[str]) -> None:
    """What only searches one bundle by the graph is answered from its index alone."""
    assert plain_search(*arguments[1:]) == 0


@pytest.mark.parametrize("arguments", FRUITLESS, ids=" ".join)
@pytest.mark.usefixtures("bundle")
def test_a_plain_search_that_finds_nothing_says_so(arguments: list[str]) -> None:
    """To find nothing is as quick as to find something, with an exit code of its own."""
    assert plain_search(*arguments[1:]) == 1


@pytest.mark.parametrize(
    "arguments",
    [one for one in MORE if one[0] == "search" and "--explain" not in one],
    ids=" ".join,
)
@pytest.mark.usefixtures("bundle")
def test_what_is_not_plain_prints_nothing_yet(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a plain search cannot answer, nothing was printed."""
    assert plain_search(*arguments[1:]) is None
    assert capsys.readouterr() == ("", "")


UNUSUAL = [
    [],
    ["eval"],
    ["--quiet", "search", "shipment"],
    ["search", "--help"],
    ["search", "shipment", "--format", "xml"],
    ["search", "shipment", "-n", "many"],
    ["search", "shipment", "-n", "\u0663"],
    ["search", "shipment", "-n"],
    ["search", "shipment", "-n3"],
    ["search", "shipment", "--bundle="],
    ["search", "shipment", "--abstain=yes"],
    ["search", "shipment", "--context", "a", "--context", "b"],
    ["search", "shipment", "--min-score", "1.5"],
    ["search", "shipment", "--min-score", "nan"],
    ["search", "--", "shipment"],
    ["list", "everything"],
    ["show"],
    ["show", "order_get", "shipment_status"],
    ["explain", "shipment", "--compare", "graph.mdld"],
]


@pytest.mark.parametrize("arguments", UNUSUAL, ids=" ".join)
@pytest.mark.usefixtures("bundle")
def test_whatever_is_unusual_is_left_to_the_whole_program(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A quick run says nothing of what it does not accept."""
    assert quick_run(arguments) is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_program_knows_the_help_of_its_commands(name: str) -> None:
    """The line that stands for a command in the program's help is the first of its own."""
    command = get_command(app).commands[name]  # type: ignore[attr-defined]
    assert (command.help or "").partition("\n")[0] == COMMANDS[name]


def test_a_stale_or_damaged_index_is_left_to_the_whole_program(bundle: Path) -> None:
    """An index that does not fit its bundle is not searched, and is made anew."""
    index = bundle.with_name("graph.mdld.idx")
    index.write_bytes(index.read_bytes()[:-100])

    assert plain_search("shipment") is None
    assert main(["search", "shipment"]) == 0
    assert plain_search("shipment") == 0


NAMED = pytest.mark.parametrize("named", [[], ["-b", "../graph.mdld"]], ids=["found", "named"])


CONFIGURED = [
    "limit = 1\n",
    "# nothing yet\n",
    'strategy = "markdown-ld"\nlexicon = false\n[serve]\nhttp = "8080"\n',
    'bundle = "graph.mdld"\n[[sources]]\npath = "tools"\n',
]


@pytest.mark.parametrize("text", CONFIGURED)
@pytest.mark.parametrize("arguments", [ORDINARY[0], ORDINARY[2], FRUITLESS[0]], ids=" ".join)
@pytest.mark.usefixtures("bundle")
def test_a_plain_configuration_is_obeyed_quickly(
    arguments: list[str],
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A file that is written plainly needs no library, and changes what the settings change."""
    (tmp_path / "mcpg.toml").write_text(text, encoding="utf-8")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    code = plain_search(*arguments[1:])
    quick = capsys.readouterr()

    assert code is not None
    assert (_run_guarded(arguments), capsys.readouterr()) == (code, quick)


@NAMED
@pytest.mark.parametrize("name", ["mcpg.toml", "pyproject.toml"])
@pytest.mark.usefixtures("bundle")
def test_a_configuration_is_obeyed(
    name: str,
    named: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A configuration in a folder above counts, whether the bundle is found or named."""
    section = "" if name == "mcpg.toml" else "[tool.mcpg]\n"
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")

    def search(setting: str) -> tuple[int, str]:
        (tmp_path / name).write_text(section + setting, encoding="utf-8")
        code = main(["search", "shipment", *named])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    code, printed = search("limit = 1\n")
    assert (code, "shipment_status" in printed, "order_get" in printed) == (0, True, False)
    code, printed = search("limt = 1\n")
    assert (code, "did you mean 'limit'?" in printed) == (2, True)


@NAMED
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[project]\ndependencies = ["mcpg"]\n', 0),
        ('tool = "mcpg"\n', 0),
        ('dependencies = [\n  "mcpg-graph>=1",\n]\n', 0),
        ("tool.mcpg.limit = 1\n", None),
        ('[tool]\n"mcpg" = { limit = 1 }\n', None),
        ("[mcpg\n", None),
        ('dependencies = ["mcpg-graph>=1"]\n[broken\n', 0),
    ],
)
@pytest.mark.usefixtures("bundle")
def test_a_project_without_settings_is_searched_quickly(
    text: str, code: int | None, named: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project file that mentions mcpg alone configures nothing; a broken one is explained."""
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")

    assert plain_search("shipment", *named) == code


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [
        ("LIMIT", "1", 0),
        ("STRATEGY", "graph", 0),
        ("STRATEGY", "auto", None),
        ("LIMIT", "x", None),
        ("LEXICON", "no", None),
        ("REWRITE", "yes", None),
        ("TELEMETRY", "1", None),
    ],
)
@pytest.mark.usefixtures("bundle")
def test_a_variable_is_heard(
    variable: str,
    value: str,
    code: int | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A variable that changes the search is heard, or left to the whole program."""
    monkeypatch.setenv(f"MCPG_{variable}", value)

    assert plain_search("shipment", "--format", "ids") == code
    assert len(capsys.readouterr().out.split()) == (0 if code is None else 1 if value == "1" else 2)


@pytest.mark.usefixtures("bundle")
def test_the_bundle_of_the_environment_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MCPG_BUNDLE names the bundle, from wherever one looks."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("MCPG_BUNDLE", "../graph.mdld")

    assert plain_search("shipment") == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize(
    ("device", "mode", "reason"),
    [("/dev/full", "wb", "cannot be written"), (os.devnull, "rb", "is closed for writing")],
)
@pytest.mark.usefixtures("bundle")
def test_output_that_cannot_be_written_is_reported_once(
    device: str, mode: str, reason: str
) -> None:
    """What has been noticed is printed once, then why the matches cannot be."""
    with Path(device).open(mode) as unwritable:
        done = subprocess.run(
            [sys.executable, "-m", "mcpg", "search", "zebra shipment of quantum bananas"],
            stdout=unwritable,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 2
    noticed, error, hint = done.stderr.splitlines()
    assert "low_confidence" in noticed
    assert error.startswith(f"error: standard output: {reason}")
    assert "hint" in hint


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("option", ["--color=always", "--color=never"])
@pytest.mark.usefixtures("bundle")
def test_an_error_of_output_has_the_colour_that_is_asked_for(option: str) -> None:
    """What cannot be written is reported in colour, or without, as every error is."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mcpg", "search", "shipment status", option],
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | {"FORCE_COLOR": "1"},
            text=True,
            check=False,
        )

    assert ("\x1b[31merror:" in done.stderr) == (option == "--color=always")
    assert "error:" in done.stderr


SLOW = (
    *("typer", "rich", "pydantic", "importlib.metadata", "numpy", "yaml"),
    *("rdflib", "oxrdflib", "pyoxigraph", "pyld", "mcpg.graph", "mcpg.plugins"),
    *("mcpg.telemetry", "mcpg.search.telemetry", "opentelemetry"),
)


@pytest.mark.parametrize("query", ["shipmnt status", "zebra shipment of quantum bananas"])
def test_the_quick_way_imports_next_to_nothing(bundle: Path, query: str) -> None:
    """A plain search, sure or doubtful, loads no module that takes longer than the search."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from mcpg.cli import main\n"
        f"code = main(['search', {query!r}, '-b', {str(bundle)!r}])\n"
        "print(code, *sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    exit_code, *loaded = run.stderr.splitlines()[-1].split()

    assert "shipment_" in run.stdout
    assert exit_code == "0"
    assert ("low_confidence" in run.stderr) == ("bananas" in query)
    assert not set(SLOW) & set(loaded)


@pytest.mark.usefixtures("bundle")
def test_context_may_be_json_and_have_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    """An object is read as its keys and values, and a summary as context of its own."""

    def printed(*arguments: str) -> str:
        assert main(["search", "shipment", *arguments]) == 0
        return capsys.readouterr().out

    told = printed("--context", "topic order")

    assert told != printed()
    assert printed("--context", '{"topic": "order"}') == told
    assert printed("--context", '{"topic"', "--context-summary", "order") == told
    assert printed("--context-summary", "topic order") == told
