"""`mcpg eval`: what it writes, where, and with which exit code."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcpg.search.caches import MemoryCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

    Runner = Callable[..., Run]

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")

QUERIES = """\
{"id": "parcel", "query": "where is my parcel", "relevant": ["shipment_status"]}
{"id": "label", "query": "buy a label", "relevant": ["shop::shipment_create"]}
{"id": "bill", "query": "find the bill of a customer", "relevant": ["invoice_search"]}
{"id": "pizza", "query": "zzxq pizza", "relevant": []}
"""
HOSTILE = "](http://evil)<img src=x onerror=alert(1)> | `x` **b** @all #1 \x1b[31m\u202e\\| end"


@pytest.fixture
def queries(graph: Path) -> Path:
    """Judged queries beside the bundle of the shop."""
    path = graph.parent / "queries.jsonl"
    path.write_text(QUERIES, "utf-8")
    return path


def judged(folder: Path, *lines: object) -> str:
    """Write *lines* as a file of judged queries and give its name."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "own.jsonl").write_text("\n".join(texts), "utf-8")
    return "own.jsonl"


class TestReport:
    """What is written."""

    def test_text_json_and_markdown_say_the_same(self, queries: Path, run: Runner) -> None:
        """One figure in three forms."""
        value = run("eval", str(queries), "--format", "json").json
        figure = f"{value['metrics']['ndcg@5']:.4f}"
        assert re.search(rf"ndcg@5 +{figure}", run("eval", str(queries)).out)
        assert f"| `ndcg@5` | {figure} |" in run("eval", str(queries), "--format", "markdown").out

    def test_the_file_is_an_argument_or_an_option(self, queries: Path, run: Runner) -> None:
        """One of both is needed, and no more; `mcpg tune` asks for the same."""
        assert run("eval", "--queries", str(queries)).out == run("eval", str(queries)).out
        for command in ("eval", "tune"):
            for given in ((), (str(queries), "--queries", str(queries))):
                done = run(command, *given)
                assert done.code == 2
                assert "name one, as QUERIES or with --queries FILE" in done.err

    def test_the_output_is_the_same_every_time(self, queries: Path, run: Runner) -> None:
        """Byte for byte, in every form."""
        for form in ("text", "json", "markdown"):
            one, other = (run("eval", str(queries), "--format", form, "--all") for _ in range(2))
            assert one.out == other.out
            assert one.code == 0

    @pytest.mark.parametrize("form", ["text", "json", "markdown"])
    def test_times_are_told_on_request(self, queries: Path, run: Runner, form: str) -> None:
        """`--timings` adds both percentiles."""
        out = run("eval", str(queries), "--format", form, "--timings").out
        assert "p50" in out
        assert "p95" in out

    def test_queries_come_from_standard_input(self, graph: Path, run: Runner) -> None:
        """As `-`, in either layout."""
        for text in (QUERIES, "where is my parcel: shipment_status\n"):
            result = run("eval", "-", "--format", "json", "-b", str(graph), stdin=text.encode())
            assert result.code == 0
            assert result.json["metrics"]["hit@1"] > 0.5

    def test_a_manifest_works_as_well_as_a_bundle(self, queries: Path, run: Runner) -> None:
        """As everywhere."""
        one = run("eval", str(queries), "--format", "json")
        other = run("eval", str(queries), "-b", "tools", "--format", "json")
        assert other.json["metrics"] == one.json["metrics"]

    def test_a_long_list_of_changes_is_cut(self, graph: Path, run: Runner) -> None:
        """Ten in text, twenty in Markdown; how many more there are is said."""
        entries = [
            {"query": f"where is parcel {n}", "relevant": "shipment_status"} for n in range(25)
        ]
        name = judged(graph.parent, *entries)
        run("eval", name, "--no-lexicon", "--format", "json", "-o", "old.json")
        manifest = graph.parent / "tools" / "shop.json"
        manifest.write_text('{"server": "shop", "tools": [{"name": "shipment_status"}]}', "utf-8")
        (graph.parent / "tools" / "shop.hints.yaml").unlink()
        options = ["-b", "tools", "--baseline", "old.json", "--no-lexicon"]
        assert "... and 15 more" in run("eval", name, *options).out
        assert "... and 15 more" in run("eval", name, *options, "--format", "markdown").out

    def test_worst_and_all(self, queries: Path, run: Runner, graph: Path) -> None:
        """`--worst` shows what is not perfect, `--all` everything."""
        name = judged(
            graph.parent,
            {"query": "where is my parcel", "relevant": ["invoice_search"]},
            {"query": "buy a label", "relevant": ["shipment_create"]},
        )
        for form in ("text", "markdown"):
            shown = run("eval", name, "--worst", "9", "--format", form).out
            assert "where is my parcel" in shown
            assert "buy a label" not in shown
            assert "parcel" not in run("eval", name, "--worst", "0", "--format", form).out
            assert "buy a label" in run("eval", name, "--all", "--format", form).out
        assert "pizza" not in run("eval", str(queries)).out

    def test_a_tool_that_is_off_needs_a_flag(self, graph: Path, run: Runner) -> None:
        """`--include-disabled` as in a search."""
        name = judged(graph.parent, {"query": "pay back", "relevant": "invoice_refund"})
        without = run("eval", name, "--format", "json").json
        asked = run("eval", name, "--format", "json", "--include-disabled").json
        assert (without["metrics"]["mrr"], asked["metrics"]["mrr"]) == (0, 1)


class TestHostile:
    """Queries and tools are text from strangers."""

    @pytest.fixture
    def name(self, graph: Path) -> str:
        """A file whose query and unknown tool carry markup and control characters."""
        entry = {"id": f"i {HOSTILE}", "query": f"parcel {HOSTILE}", "relevant": [f"t {HOSTILE}"]}
        return judged(graph.parent, entry)

    def test_nothing_steers_a_terminal(self, name: str, run: Runner) -> None:
        """Control characters are made visible on both streams, in every form."""
        for form in ("text", "json", "markdown"):
            result = run("eval", name, "--format", form, "--all")
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", result.out + result.err)

    def test_nothing_becomes_markup(self, name: str, run: Runner) -> None:
        """In Markdown a cell stays a cell, and nothing in it is a link, a tag or a mention."""
        out = run("eval", name, "--format", "markdown", "--all").out
        assert "<img" not in out
        assert "](" not in out
        assert "@all" not in out
        rows = [line for line in out.split("\n") if line.startswith("|")]
        tables = [row for row in rows if "parcel" in row]
        assert all(row.count("|") == 8 for row in tables)
        assert tables


class TestBadInput:
    """What a file of judged queries can hold."""

    def test_a_broken_line(self, graph: Path, run: Runner) -> None:
        """Line and cause are told, the rest is measured, and the exit code says so."""
        name = judged(graph.parent, *QUERIES.splitlines()[:2], "{broken", '{"query": "x"}')
        result = run("eval", name, "--format", "json")
        assert result.code == 2
        assert result.json["queries"] == 2
        assert [(one["code"], one["place"]) for one in result.json["diagnostics"]] == [
            ("judged_invalid", "own.jsonl:3"),
            ("judged_invalid", "own.jsonl:4"),
        ]
        assert "error: own.jsonl: 2 entries could not be read" in result.err
        assert "(own.jsonl:3)" in run("eval", name).err

    def test_an_unknown_tool(self, graph: Path, run: Runner) -> None:
        """It is named with what was meant, counted, and the run goes on."""
        name = judged(
            graph.parent, {"query": "where is my parcel", "relevant": ["shipmnet_status"]}
        )
        result = run("eval", name)
        assert result.code == 0
        assert "warning[judged_tool_unknown]: no tool is called 'shipmnet_status'" in result.err
        assert "did you mean shipment_status" in result.err
        assert "shipmnet_status (no such tool)" in result.out
        assert "1 query (1 tool unknown), " in result.out
        assert run("eval", name, "--strict").code == 1

    def test_queries_without_a_file(self, graph: Path, run: Runner) -> None:
        """A file that is not there, a folder, and an empty file are errors."""
        (graph.parent / "empty.jsonl").write_text("", "utf-8")
        for name in ("none.jsonl", "tools", "empty.jsonl"):
            result = run("eval", name)
            assert (result.code, result.out) == (2, "")
            assert result.err.startswith(f"error: {name}")

    def test_no_bundle(self, folder: Path, run: Runner) -> None:
        """The queries alone are not enough."""
        result = run("eval", judged(folder, {"query": "a", "relevant": ["b"]}))
        assert result.code == 2
        assert "no bundle" in result.err

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--min", "ndgc@5=0.8"], "did you mean ndcg@5?"),
            (["--max-drop", "0.02"], "--baseline"),
            (["--baseline", "none.json"], "no such file"),
            (["--baseline", "queries.jsonl"], "not a report of `mcpg eval`"),
            (["--baseline", "empty.json"], "not a report of `mcpg eval`"),
            (["--limit", "0"], "--help"),
            (["--worst", "-1"], "--help"),
            (["--format", "html"], "--help"),
            (["--strategy", "guess"], "use graph"),
            (["--fusion", "rrf"], "use the strategy 'auto'"),
            (["--strategy", "auto", "--fusion", "guess"], "use cosine, learned or rrf"),
        ],
    )
    def test_options_that_make_no_sense(
        self, queries: Path, run: Runner, options: list[str], said: str
    ) -> None:
        """The error says what to do instead; nothing is measured."""
        queries.with_name("empty.json").touch()
        result = run("eval", str(queries), *options)
        assert (result.code, result.out) == (2, "")
        assert said in result.err


class TestGates:
    """Figures held to a bar."""

    def test_gates_decide_on_the_exit_code(self, queries: Path, run: Runner) -> None:
        """A bar that is missed gives 1 and is told; one that is reached gives 0."""
        kept = run("eval", str(queries), "--min", "ndcg@5=0.1", "--max", "ece=1")
        assert kept.code == 0
        assert kept.err == ""
        missed = run("eval", str(queries), "--min", "ndcg@5=0.1", "--max", "ece=0", "-q")
        assert missed.code == 1
        assert re.search(r"error: --max: ece is 0\.\d{4}; required: at most 0", missed.err)
        assert "--min" not in missed.err

    @pytest.mark.parametrize("form", ["text", "json", "markdown"])
    def test_every_form_tells_the_gates(self, queries: Path, run: Runner, form: str) -> None:
        """Passed and failed ones."""
        options = ["--min", "hit@1=0", "--max", "hit@1=0", "--format", form]
        result = run("eval", str(queries), *options)
        assert result.code == 1
        if form == "json":
            assert [gate["passed"] for gate in result.json["gates"]] == [True, False]
        else:
            assert "passed" in result.out
            assert "failed" in result.out

    @pytest.mark.parametrize(
        ("options", "is_cached"),
        [
            ([], True),
            (["--max", "ece=1"], True),
            (["--max", "p95=60000"], False),
            (["--timings"], False),
        ],
    )
    def test_times_are_those_of_searches(
        self,
        queries: Path,
        run: Runner,
        monkeypatch: pytest.MonkeyPatch,
        options: list[str],
        is_cached: bool,
    ) -> None:
        """Where times are measured, no cache answers."""
        asked: list[str] = []
        get = MemoryCache.get
        monkeypatch.setattr(
            MemoryCache, "get", lambda cache, kind, key: asked.append(kind) or get(cache, kind, key)
        )
        Path("mcpg.toml").write_text('[cache]\nkind = "memory"\n', "utf-8")
        result = run("eval", str(queries), "-b", "graph.mdld", "--rewrite", *options)
        assert result.code == 0, result.err
        assert bool(asked) == is_cached


class TestBaseline:
    """Comparison with an earlier run."""

    @pytest.fixture
    def baseline(self, queries: Path, run: Runner) -> Path:
        """A report on the bundle as it is."""
        path = queries.parent / "report.json"
        assert run("eval", str(queries), "--format", "json", "-o", str(path)).code == 0
        return path

    def test_nothing_changed(self, queries: Path, baseline: Path, run: Runner) -> None:
        """The same bundle falls by nothing."""
        result = run("eval", str(queries), "--baseline", str(baseline), "--max-drop", "0")
        assert result.code == 0
        assert "may be chance" in result.out

    def test_another_limit_is_no_drop(self, graph: Path, run: Runner) -> None:
        """What only a deeper run looked at has not fallen."""
        tools = [
            {"name": f"parcel_{number:02}", "description": "parcel " * (40 - number)}
            for number in range(40)
        ]
        Path("many.json").write_text(json.dumps({"tools": tools}), "utf-8")
        found = run("search", "parcel", "-b", "many.json", "--limit", "30", "--format", "json").json
        name = judged(
            graph.parent, {"query": "parcel", "relevant": [found["matches"][24]["toolName"]]}
        )
        options = [name, "-b", "many.json"]
        run("eval", *options, "--limit", "50", "--format", "json", "-o", "deep.json")
        result = run("eval", *options, "--baseline", "deep.json", "--max-drop", "0")
        assert result.code == 0, result.err

    @pytest.mark.parametrize("option", ["-o", "--html"])
    def test_the_baseline_is_not_replaced(
        self, queries: Path, baseline: Path, run: Runner, option: str
    ) -> None:
        """Or the next run would compare itself with the drop."""
        before = baseline.read_bytes()
        folder = baseline.parent / "tools" / ".."
        for name in (baseline, folder / baseline.name):
            options = ["--baseline", str(baseline), option, str(name), "--force"]
            result = run("eval", str(queries), *options, "--format", "json")
            assert (result.code, result.out) == (2, "")
            assert "baseline" in result.err
        assert baseline.read_bytes() == before

    @pytest.mark.parametrize("form", ["text", "markdown", "json"])
    def test_a_drop_fails(self, queries: Path, baseline: Path, run: Runner, form: str) -> None:
        """A tool that lost its words is told with its ranks then and now."""
        manifest = queries.parent / "tools" / "shop.json"
        text = manifest.read_text("utf-8").replace("shipment_create", "tool_seventeen")
        manifest.write_text(text.replace("Create a shipment and buy its label.", "Do."), "utf-8")
        options = ["--baseline", str(baseline), "--max-drop", "0.02", "-b", "tools"]
        result = run("eval", str(queries), *options, "--format", form)
        assert result.code == 1
        assert re.search(r"error: --max-drop: ndcg@5 fell by 0\.\d+; at most 0\.02", result.err)
        if form == "json":
            worse = result.json["baseline"]["worse"]
            assert [(one["id"], one["rankBefore"], one["rankNow"]) for one in worse] == [
                ("label", 1, None)
            ]
        else:
            assert f"1 {'->' if form == 'text' else '→'} -" in result.out

    def test_other_queries(self, queries: Path, baseline: Path, run: Runner) -> None:
        """New, gone and otherwise judged queries are named in every form."""
        lines = QUERIES.replace("invoice_search", "invoice_refund").splitlines()[1:]
        name = judged(queries.parent, *lines, {"id": "new", "query": "a", "relevant": ["b"]})
        for form, said in (
            ("text", "only now (1)          new"),
            ("markdown", "only now (1): `new`"),
        ):
            out = run("eval", name, "--baseline", str(baseline), "--format", form).out
            assert said in out
            assert "parcel" in out
            assert "bill" in out


class TestFile:
    """Reports on disk."""

    @pytest.mark.parametrize("form", ["text", "json", "markdown"])
    def test_a_report_is_replaced(self, queries: Path, run: Runner, form: str) -> None:
        """The file holds what standard output would; what is ours may be replaced."""
        said = run("eval", str(queries), "--format", form, "--color", "always")
        plain = run("eval", str(queries), "--format", form)
        for _ in range(2):
            result = run("eval", str(queries), "--format", form, "-o", "out", "--color", "always")
            assert (result.code, result.out) == (0, "")
            assert result.err.endswith("ece " + result.err.rsplit(" ", 1)[1])
            assert Path("out").read_bytes() == plain.out.encode()
        assert ("\x1b[" in said.out) == (form == "text")

    def test_a_report_takes_the_place_of_another_form(self, queries: Path, run: Runner) -> None:
        """All forms are ours."""
        for form in ("text", "json", "markdown", "text"):
            assert run("eval", str(queries), "--format", form, "-o", "out").code == 0

    def test_report_and_page_are_two_files(self, queries: Path, run: Runner) -> None:
        """Neither replaces the other."""
        result = run("eval", str(queries), "-o", "out", "--html", "./out", "--force")
        assert (result.code, result.out) == (2, "")
        assert "one file" in result.err
        assert not Path("out").exists()

    def test_a_foreign_file_stands(self, queries: Path, run: Runner) -> None:
        """What mcpg did not write is replaced on request only."""
        before = queries.read_bytes()
        result = run("eval", str(queries), "-o", str(queries))
        assert (result.code, result.out) == (2, "")
        assert "not overwritten" in result.err
        assert "--force" in result.err
        assert queries.read_bytes() == before
        Path("diary").write_text("my diary", "utf-8")
        assert run("eval", str(queries), "-o", "diary", "--force").code == 0
        assert Path("diary").read_text("utf-8").startswith("evaluated: ")

    def test_the_report_is_written_below_a_gate_too(self, queries: Path, run: Runner) -> None:
        """CI wants to see why."""
        result = run(
            "eval", str(queries), "--max", "hit@1=0", "-o", "out.md", "--format", "markdown"
        )
        assert result.code == 1
        assert "failed" in Path("out.md").read_text("utf-8")

    @posix
    @pytest.mark.parametrize("target", ["tools", "queries.jsonl/x", "/proc/mcpg/x", "x" * 300])
    def test_unwritable(self, queries: Path, run: Runner, target: str) -> None:
        """The error names the place and a remedy."""
        before = sorted(queries.parent.rglob("*"))
        result = run("eval", str(queries), "-o", target)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"error: {target}: cannot be written")
        assert "hint: " in result.err
        assert sorted(queries.parent.rglob("*")) == before
