from __future__ import annotations

import io
import json
import sys
from shutil import copytree
from typing import TYPE_CHECKING

import lopsided
import pytest

from mcpg.bundle import RANKING, Bundle, read_bundle, write_bundle
from mcpg.cli import main
from mcpg.index.file import open_index
from mcpg.search.model import read_provenance

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

    from mcpg.evaluation.judged import Judgements

    Runner = Callable[..., Run]


def lines_of(judgements: Judgements) -> str:
    """Judged queries as JSON lines."""
    lines = [{"query": one.query, "relevant": list(one.relevant)} for one in judgements.queries]
    return "\n".join(map(json.dumps, lines))


def write_queries(path: Path, judgements: Judgements) -> None:
    """Write judged queries as JSON lines."""
    path.write_text(lines_of(judgements), "utf-8")


QUERIES = lopsided.by_name(80)
TOOLS = [{"name": one.name, "description": one.description} for one in lopsided.tools()]
FILES = (
    ("tools.json", json.dumps({"server": "commerce", "tools": TOOLS})),
    ("queries.jsonl", lines_of(QUERIES)),
)
BUNDLE = ("bundle", "tools.json", "-q")
QUICKLY = ("--folds", "2")
TUNE = ("tune", "queries.jsonl", "-q", *QUICKLY)


@pytest.fixture
def bundled(folder: Path, built: Callable[..., Path]) -> Path:
    """The bundle of a catalogue of made-up words, beside queries that go by names."""
    copytree(built(FILES, BUNDLE), folder, dirs_exist_ok=True)
    return folder / "graph.mdld"


@pytest.fixture
def tuned(folder: Path, built: Callable[..., Path]) -> Path:
    """The same bundle, tuned on the queries."""
    copytree(built(FILES, BUNDLE, TUNE), folder, dirs_exist_ok=True)
    return folder / "graph.mdld"


@pytest.fixture
def manifest(folder: Path) -> Path:
    """The manifest of that catalogue."""
    return folder / "tools.json"


def test_a_fit_is_told_and_kept(bundled: Path, run: Runner) -> None:
    """Figures go to standard output, the ranking into the bundle and its index."""
    documents = read_bundle(bundled).documents
    done = run("tune", "queries.jsonl")
    assert done.code == 0
    assert done.out.startswith("fitted: 80 queries with an answer, 0 without, in ")
    for told in ("ndcg@5", "recall@5", "ece", "logLoss", "weights      fitted", "nameCoverage"):
        assert told in done.out
    assert done.err.endswith("graph.mdld: tuned on queries.jsonl\n")
    assert read_bundle(bundled).documents == documents
    assert read_bundle(bundled).ranking is not None
    assert read_provenance(open_index(f"{bundled}.idx")).name == "tuned on queries.jsonl"


def test_searches_use_it_and_explain_names_it(bundled: Path, run: Runner) -> None:
    """A query that the shipped weights answer wrongly is answered rightly afterwards."""
    queries = QUERIES.queries
    wrong = next(
        one
        for one in queries
        if run("search", one.query, "--format", "json").json["matches"][0]["toolName"]
        != one.relevant[0]
    )
    assert run("tune", "queries.jsonl", "-b", str(bundled), *QUICKLY).code == 0
    found = run("search", wrong.query, "--format", "json").json
    assert found["matches"][0]["toolName"] == wrong.relevant[0]
    model = run("explain", wrong.query, "--format", "json").json["model"]
    assert model["name"] == "tuned on queries.jsonl"
    assert model["provenance"].startswith("mcpg tune on queries.jsonl")


def test_a_dry_run_writes_nothing(bundled: Path, run: Runner) -> None:
    """With `--dry-run` the bundle stays, and the exit code says what would be done."""
    before = bundled.read_bytes()
    done = run("tune", "queries.jsonl", "--dry-run", *QUICKLY)
    assert (done.code, bundled.read_bytes()) == (0, before)
    assert "would write" in done.err


def test_another_bundle_may_be_written(bundled: Path, run: Runner) -> None:
    """With `-o` the bundle that was read stays as it is; a file of another kind is not replaced."""
    before = bundled.read_bytes()
    assert run("tune", "queries.jsonl", "-o", "tuned.mdld", *QUICKLY).code == 0
    assert bundled.read_bytes() == before
    assert read_bundle("tuned.mdld").ranking is not None
    done = run("tune", "queries.jsonl", "-o", "queries.jsonl", *QUICKLY)
    assert done.code == 2
    assert "is not a bundle" in done.err


def test_the_same_queries_give_the_same_bytes(tuned: Path, run: Runner) -> None:
    """Tuning a tuned bundle again changes nothing."""
    before = tuned.read_bytes()
    again = run("tune", "queries.jsonl", *QUICKLY)
    assert (again.code, tuned.read_bytes()) == (0, before)
    assert "up to date" in again.err


def test_json_has_all_of_it(bundled: Path, run: Runner) -> None:
    """Programs get the figures, both models and what was done."""
    del bundled
    found = run("tune", "queries.jsonl", "--format", "json", "--folds", "4", "--seed", "7").json
    assert found["schema"] == "mcpg/tune/1"
    assert (found["answerable"], found["folds"], found["seed"]) == (80, 4, 7)
    assert found["weights"]["kept"] is True
    held_out = found["weights"]["heldOut"]["ndcg@5"]
    assert held_out["after"] > held_out["before"]
    assert found["shipped"]["weights"].keys() == found["tuned"]["weights"].keys()
    assert (found["refusal"], found["written"]) == (None, True)
    assert found["diagnostics"] == []


def test_what_cannot_be_learned_is_refused(bundled: Path, run: Runner) -> None:
    """Too few queries, or no gain: exit code 1, the reason, and not a byte is written."""
    before = bundled.read_bytes()
    write_queries(bundled.parent / "few.jsonl", lopsided.by_name(20))
    done = run("tune", "few.jsonl")
    assert (done.code, done.out) == (1, "")
    assert "20 queries have an answer" in done.err
    assert "nothing was written" in done.err
    found = run("tune", "few.jsonl", "--format", "json").json
    assert found["tuned"] is None
    assert "at least 50 are needed" in found["refusal"]
    assert bundled.read_bytes() == before


def test_no_gain_is_refused(bundled: Path, run: Runner) -> None:
    """Where held-out queries gain nothing, the figures show it and nothing is written."""
    import mcpg  # noqa: PLC0415 - the engine of the bundle that was just made

    engine = mcpg.load(bundled)
    before = bundled.read_bytes()
    write_queries(bundled.parent / "chance.jsonl", lopsided.by_chance(engine))
    done = run("tune", "chance.jsonl")
    assert done.code == 1
    assert done.out.count("as shipped: no gain beyond chance") == 2
    assert "not beyond chance" in done.err
    assert bundled.read_bytes() == before


def test_only_a_bundle_can_be_tuned(bundled: Path, manifest: Path, run: Runner) -> None:
    """A manifest, a folder or several bundles: the message says to bundle first."""
    for place in (str(manifest), "."):
        done = run("tune", "queries.jsonl", "-b", place)
        assert done.code == 2
        assert "mcpg bundle" in done.err
    several = run("tune", "queries.jsonl", "-b", str(bundled), "-b", str(bundled))
    assert several.code == 2
    assert "one is tuned at a time" in several.err
    assert run("tune", "queries.jsonl", "-b", "missing.mdld").code == 2
    assert run("tune", "queries.jsonl", "-o", "-").code == 2


def test_broken_queries_are_not_learned_from(bundled: Path, run: Runner) -> None:
    """A file that cannot be read wholly is refused with the line; unknown tools are told."""
    queries = bundled.parent / "queries.jsonl"
    text = queries.read_text("utf-8")
    queries.write_text(f"{text}\nnot json\n{{}}", "utf-8")
    done = run("tune", "queries.jsonl", *QUICKLY)
    assert done.code == 2
    assert "queries.jsonl:81" in done.err
    assert "1 more" in done.err
    queries.write_text(f'{text}\n{{"query": "x", "relevant": ["no_such_tool"]}}', "utf-8")
    done = run("tune", "queries.jsonl", *QUICKLY)
    assert done.code == 0
    assert "judged_tool_unknown" in done.err


def test_of_very_many_queries_some_are_used(bundled: Path, run: Runner) -> None:
    """Two thousand are enough, and that they are drawn is told."""
    lines = [f'{{"query": "q {at}", "relevant": ["no_such_tool"]}}' for at in range(2_100)]
    (bundled.parent / "many.jsonl").write_text("\n".join(lines), "utf-8")
    done = run("tune", "many.jsonl")
    assert "2,000 of the 2,100 queries are used" in done.err
    assert done.code == 1


def test_queries_may_come_from_a_pipe(bundled: Path, run: Runner) -> None:
    """`-` reads standard input, and the ranking is named after it."""
    text = (bundled.parent / "queries.jsonl").read_bytes()
    assert run("tune", "-", *QUICKLY, stdin=text).code == 0
    assert read_provenance(open_index(f"{bundled}.idx")).name == "tuned on standard input"


def test_a_bundle_that_is_written_meanwhile_stays(
    bundled: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents that came while a ranking was fitted are not replaced by those before them."""
    queries = (bundled.parent / "queries.jsonl").read_bytes()
    tools = bundled.parent / "tools.json"

    class Meanwhile(io.BytesIO):
        """Queries, before which somebody puts another tool into the bundle."""

        def read1(self, size: int | None = -1, /) -> bytes:
            monkeypatch.setattr(Meanwhile, "read1", io.BytesIO.read1)
            shop = json.loads(tools.read_text("utf-8"))
            shop["tools"].append({"name": "newcomer", "description": "Come late."})
            tools.write_text(json.dumps(shop), "utf-8")
            assert main(["bundle", str(tools), "-q"]) == 0
            return self.read1(size)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Meanwhile(queries)))
    assert main(["tune", "-", *QUICKLY]) == 2
    assert any("newcomer" in one.path for one in read_bundle(bundled).documents)
    assert run("tune", "-", *QUICKLY, stdin=queries).code == 0
    assert read_bundle(bundled).ranking is not None


def test_disabled_tools_are_told_unless_they_are_included(
    manifest: Path, bundled: Path, run: Runner
) -> None:
    """Judged tools that are off by default cannot be found, which is told."""
    name = QUERIES.queries[0].relevant[0]
    hints = manifest.parent / "x.hints.yaml"
    hints.write_text(f"tools:\n  {name}: {{enabledByDefault: false}}\n", "utf-8")
    assert run("bundle", str(manifest), str(hints), "-q").code == 0
    del bundled
    assert "judged_tool_disabled" in run("tune", "queries.jsonl", "--dry-run", *QUICKLY).err
    included = run("tune", "queries.jsonl", "--dry-run", "--include-disabled", *QUICKLY)
    assert "judged_tool_disabled" not in included.err


class TestBundle:
    """`mcpg bundle` and the ranking of the bundle that it replaces."""

    def test_a_ranking_stays(self, tuned: Path, manifest: Path, run: Runner) -> None:
        """A bundle that is built anew carries on, byte for byte, and is not stale."""
        before = tuned.read_bytes()
        assert run("bundle", str(manifest), "--check").code == 0
        for _ in range(2):
            done = run("bundle", str(manifest))
            assert done.code == 0
            assert "up to date" in done.err
            assert tuned.read_bytes() == before
        assert read_provenance(open_index(f"{tuned}.idx")).name == "tuned on queries.jsonl"

    def test_changed_sources_keep_it(self, tuned: Path, manifest: Path, run: Runner) -> None:
        """A tool more, and the ranking is still there."""
        ranking = read_bundle(tuned).ranking
        more = manifest.parent / "more.json"
        more.write_text(json.dumps([{"name": "another"}]), "utf-8")
        assert run("bundle", str(manifest), str(more)).code == 0
        assert read_bundle(tuned).ranking == ranking

    def test_it_can_be_dropped(
        self, tuned: Path, manifest: Path, run: Runner, built: Callable[..., Path]
    ) -> None:
        """`--reset-ranking` restores the shipped ranking; `--check` sees what that changes."""
        plain = (built(FILES, BUNDLE) / "graph.mdld").read_bytes()
        done = run("bundle", str(manifest), "--reset-ranking", "--check")
        assert done.code == 1
        assert "extension: ranking" in done.err
        assert run("bundle", str(manifest), "--reset-ranking").code == 0
        assert tuned.read_bytes() == plain

    def test_a_copy_of_a_bundle_carries_it(self, tuned: Path, run: Runner) -> None:
        """A bundle among the sources brings its ranking, to standard output too."""
        assert run("bundle", str(tuned), "-o", "copy.mdld").code == 0
        assert read_bundle("copy.mdld").ranking == read_bundle(tuned).ranking
        assert '"ranking"' in run("bundle", str(tuned), "-o", "-").out

    def test_a_damaged_ranking_is_left_out(
        self, bundled: Path, manifest: Path, run: Runner
    ) -> None:
        """What cannot be used is not kept: it is told, stale, and a finding under `--strict`."""
        write_bundle(bundled, Bundle(read_bundle(bundled).documents, {RANKING: {"schema": 1}}))
        found = run("search", "any", "-b", str(bundled))
        assert "ranking_ignored" in found.err
        assert "ranking_ignored" in run("search", "any", "-b", str(bundled)).err
        assert run("bundle", str(manifest), "--strict").code == 1
        checked = run("bundle", str(manifest), "--check")
        assert checked.code == 1
        assert "ranking_ignored" in checked.err
        assert run("bundle", str(manifest)).code == 0
        assert read_bundle(bundled).ranking is None

    def test_a_damaged_bundle_carries_nothing(
        self, bundled: Path, manifest: Path, run: Runner
    ) -> None:
        """A bundle that cannot be read is replaced as before."""
        bundled.write_bytes(bundled.read_bytes()[:-20] + b'"ranking"')
        assert run("bundle", str(manifest)).code == 0
        assert read_bundle(bundled).ranking is None

    def test_tuning_mends_a_damaged_ranking(self, bundled: Path, run: Runner) -> None:
        """A fit replaces whatever ranking was there, and does not complain of it."""
        write_bundle(bundled, Bundle(read_bundle(bundled).documents, {RANKING: []}))
        done = run("tune", "queries.jsonl", *QUICKLY)
        assert done.code == 0
        assert "ranking_ignored" not in done.err
