"""`mcpg doctor` uses every configured part once, and tells what does not work."""

from __future__ import annotations

import sqlite3
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from loopback import answer, chat, serving

from mcpg.cli import checks as extras
from mcpg.cli.checks import Check, Status, run_check
from mcpg.cli.providers import STORE_FILE
from mcpg.embeddings.provider import EmbeddingError
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

ROWS = {"data": [{"index": 0, "embedding": [3.0, 4.0]}], "model": "small"}
SECRET = "sk-Secret0123456789"


def told(run: Callable[..., Run], *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the exit code and every check by its name."""
    done = run("doctor", "--format", "json", *arguments)
    assert done.json["schema"] == "mcpg/doctor/1"
    assert done.json["healthy"] == (done.code == 0)
    assert SECRET not in done.out + done.err
    return done.code, {check["name"]: check for check in done.json["checks"]}


@pytest.fixture
def without_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """No provider at all, which saves the time to load a model."""
    monkeypatch.setenv("MCPG_EMBED_WITH", "none")


@pytest.mark.usefixtures("graph", "without_local")
def test_a_plain_installation_is_healthy(run: Callable[..., Run]) -> None:
    """A bundle and nothing else: what is not asked for is off, and that is no failure."""
    code, checks = told(run)
    assert code == 0
    assert {name for name, check in checks.items() if check["status"] == "failed"} == set()
    assert checks["bundle"]["details"]["tools"] == 4
    assert checks["index"]["status"] == "ok"
    off = ("vectors", "embeddings", "query rewriting", "postgres", "store", "search cache")
    assert [checks[name]["status"] for name in off] == ["off"] * len(off)


@pytest.mark.usefixtures("graph")
def test_text_has_a_line_for_each_check(run: Callable[..., Run]) -> None:
    """The local model embeds one text, as a search would have it do."""
    done = run("doctor", "--strategy", "auto")
    assert done.code == 0
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert any(line.startswith("ok embeddings ") and "384" in line for line in lines)
    assert any(line.startswith("note vectors ") for line in lines)
    assert any(line.startswith("ok store ") for line in lines)
    assert "make them with `mcpg bundle" in " ".join(lines)


@pytest.mark.usefixtures("folder", "without_local")
def test_no_bundle_is_no_failure_but_a_missing_one_is(run: Callable[..., Run]) -> None:
    """Nobody needs a bundle here; whoever names one does."""
    code, checks = told(run)
    assert (code, checks["bundle"]["status"], "index" in checks) == (0, "off", False)
    code, checks = told(run, "-b", "none.mdld")
    assert (code, checks["bundle"]["status"]) == (1, "failed")
    assert "none.mdld" in checks["bundle"]["message"]


@pytest.mark.usefixtures("without_local")
def test_a_damaged_bundle_and_a_folder_are_told_apart(
    run: Callable[..., Run], sources: Path, graph: Path
) -> None:
    """A damaged bundle is a failure; a folder works, and costs an index in memory every time."""
    _, checks = told(run, "-b", str(sources))
    assert (checks["bundle"]["status"], checks["index"]["status"]) == ("ok", "note")
    graph.write_text("{", encoding="utf-8")
    code, checks = told(run)
    assert (code, checks["bundle"]["status"]) == (1, "failed")
    assert str(graph) in checks["bundle"]["message"]


@pytest.mark.usefixtures("graph", "without_local")
def test_a_cache_folder_that_cannot_be_written_is_told(
    run: Callable[..., Run], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies where the folder should be is named."""
    (folder / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("MCPG_CACHE_DIR", str(folder / "file"))
    code, checks = told(run)
    assert (code, checks["cache folder"]["status"]) == (1, "failed")
    for name in ("MCPG_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("HOME", "relative")
    code, checks = told(run)
    assert (code, checks["cache folder"]["status"]) == (0, "note")


@pytest.mark.parametrize(
    ("text", "line"), [("[cache]\nkind = 'disk'", ":2: cache.kind"), ("strategy = 'x'", "strategy")]
)
def test_settings_that_make_no_sense_end_it(
    run: Callable[..., Run], graph: Path, text: str, line: str
) -> None:
    """Nothing that rests on settings is tried, because nobody knows what they mean."""
    (graph.parent / "mcpg.toml").write_text(text, encoding="utf-8")
    code, checks = told(run)
    assert (code, checks["settings"]["status"], "bundle" in checks) == (1, "failed", False)
    assert line in checks["settings"]["message"]


@pytest.mark.usefixtures("graph")
def test_endpoints_are_asked_for_real(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One text is embedded and one query rewritten; the key is sent and never told."""
    monkeypatch.setenv("MCPG_LLM_API_KEY", SECRET)
    monkeypatch.setenv("MCPG_LLM_MODEL", "chat")
    monkeypatch.setenv("MCPG_REWRITE", "1")
    with serving(answer(ROWS)) as vectors, serving(answer(chat("where is it"))) as model:
        monkeypatch.setenv("MCPG_EMBED_URL", vectors.url)
        monkeypatch.setenv("MCPG_LLM_URL", model.url)
        code, checks = told(run, "--embed-with", "openai:small")
        assert (code, len(vectors.asked), len(model.asked)) == (0, 1, 1)
        assert checks["embeddings"]["details"]["dimensions"] == 2
        assert checks["query rewriting"]["status"] == "ok"
        _, checks = told(run, "--embed-with", "openai:small", "--no-rewrite")
        assert checks["query rewriting"]["status"] == "note"
        assert "--rewrite" in checks["query rewriting"]["remedy"]


@pytest.mark.usefixtures("graph")
def test_endpoints_that_do_not_work_are_told(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal that repeats the key, an empty answer, and a model without a name are failures."""
    monkeypatch.setenv("MCPG_LLM_API_KEY", SECRET)
    monkeypatch.setenv("MCPG_REWRITE", "1")
    refusal = {"error": {"message": f"wrong key {SECRET}"}}
    with serving(answer(refusal, 401)) as vectors, serving(answer(chat(" "))) as model:
        monkeypatch.setenv("MCPG_EMBED_URL", vectors.url)
        monkeypatch.setenv("MCPG_LLM_URL", model.url)
        code, checks = told(run, "--embed-with", "openai:small")
        assert (code, checks["embeddings"]["status"]) == (1, "failed")
        assert (checks["query rewriting"]["status"], model.asked) == ("failed", [])
        assert "MCPG_LLM_MODEL" in checks["query rewriting"]["remedy"]
        monkeypatch.setenv("MCPG_LLM_MODEL", "chat")
        _, checks = told(run, "--embed-with", "none")
        assert checks["query rewriting"]["status"] == "failed"


@pytest.mark.usefixtures("graph", "without_local")
def test_a_store_is_written_and_read(
    run: Callable[..., Run], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of vectors works; a file of somebody else's is a failure and stays as it is."""
    monkeypatch.setenv("MCPG_STORE_PATH", str(folder / "mine.sqlite"))
    code, checks = told(run)
    assert (code, checks["store"]["details"]["kind"]) == (0, "sqlite")
    with sqlite3.connect(folder / "other.sqlite") as other:
        other.execute("create table kept (x)")
    other.close()
    before = (folder / "other.sqlite").read_bytes()
    monkeypatch.setenv("MCPG_STORE_PATH", str(folder / "other.sqlite"))
    code, checks = told(run)
    assert (code, checks["store"]["status"]) == (1, "failed")
    assert (folder / "other.sqlite").read_bytes() == before
    monkeypatch.setenv("MCPG_EMBEDDING_STORE", "none")
    assert told(run)[1]["store"]["status"] == "off"


@pytest.mark.usefixtures("graph", "without_local")
def test_a_store_without_numpy(
    run: Callable[..., Run], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that nothing asks for is off without numpy, and one that is set is a failure."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    cache = folder / "other-cache"
    cache.mkdir()
    (cache / STORE_FILE).touch()
    monkeypatch.setenv("MCPG_CACHE_DIR", str(cache))
    code, checks = told(run)
    assert (code, checks["store"]["status"]) == (0, "off")
    assert checks["store"]["message"] == "vectors need numpy, which is not installed"
    assert "[embeddings]" in checks["store"]["remedy"]
    monkeypatch.setenv("MCPG_EMBEDDING_STORE", "none")
    assert told(run)[1]["store"]["message"] == "vectors are not kept between runs"
    monkeypatch.setenv("MCPG_EMBEDDING_STORE", "sqlite")
    code, checks = told(run)
    assert (code, checks["store"]["status"]) == (1, "failed")


@pytest.mark.usefixtures("graph", "without_local")
def test_a_cache_is_tried(run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache in memory works, and is told to help a host alone; one without a database fails."""
    monkeypatch.setenv("MCPG_SEARCH_CACHE", "memory")
    code, checks = told(run)
    assert (code, checks["search cache"]["status"]) == (0, "note")
    monkeypatch.setenv("MCPG_SEARCH_CACHE", "postgres")
    code, checks = told(run)
    assert (code, checks["search cache"]["status"]) == (1, "failed")
    assert "MCPG_POSTGRES" in checks["search cache"]["message"]


@pytest.mark.usefixtures("graph", "without_local")
def test_a_database_is_tried(
    run: Callable[..., Run], postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL is asked for its versions, and store and cache in it are written and read."""
    for name, text in (
        ("MCPG_POSTGRES", postgres),
        ("MCPG_EMBEDDING_STORE", "postgres"),
        ("MCPG_SEARCH_CACHE", "postgres"),
    ):
        monkeypatch.setenv(name, text)
    code, checks = told(run)
    assert code == 0
    assert [checks[name]["status"] for name in ("postgres", "store", "search cache")] == ["ok"] * 3
    assert checks["postgres"]["details"]["pgvector"]


@pytest.mark.usefixtures("graph", "without_local")
def test_a_database_that_is_not_there_is_a_failure(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named without its password."""
    monkeypatch.setenv("MCPG_POSTGRES", f"postgresql://me:{SECRET}@127.0.0.1:1/none")
    code, checks = told(run)
    assert (code, checks["postgres"]["status"]) == (1, "failed")
    assert "127.0.0.1" in checks["postgres"]["message"]


@pytest.mark.untraced
def test_vectors_are_compared_with_the_provider(run: Callable[..., Run], graph: Path) -> None:
    """Fresh ones are fine; another provider's, damaged ones, another bundle's are told."""
    assert run("bundle", "tools", "--embed", "-q").code == 0
    _, checks = told(run)
    assert (checks["vectors"]["status"], checks["vectors"]["details"]["tools"]) == ("ok", 4)
    _, checks = told(run, "--embed-with", "local:multilingual")
    assert checks["vectors"]["status"] == "note"
    assert "was made by" in checks["vectors"]["message"]

    (graph.parent / "tools" / "more.json").write_text('{"tools": [{"name": "x"}]}', "utf-8")
    assert run("bundle", "tools", "-q").code == 0
    assert "not of this bundle" in told(run)[1]["vectors"]["message"]
    (graph.parent / "graph.mdld.vec").write_bytes(b"mcpg-vec")
    assert "graph.mdld.vec" in told(run)[1]["vectors"]["message"]


def test_every_extra_is_looked_for() -> None:
    """Whatever the package offers as an extra, the doctor knows."""
    project = Path(__file__).parents[2] / "pyproject.toml"
    offered = tomllib.loads(project.read_text("utf-8"))["project"]["optional-dependencies"]
    assert sorted(offered) == sorted(extras.EXTRAS)


def test_a_missing_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not installed is no failure, and comes with the command to install it."""
    monkeypatch.setitem(extras.EXTRAS, "llm", ("no_such_package",))
    check = extras.check_extra("llm")
    assert (check.status, check.remedy) == (Status.OFF, install_command("llm"))
    monkeypatch.setitem(extras.EXTRAS, "llm", ("json",))
    assert "of unknown version" in extras.check_extra("llm").message


def test_a_strangers_error_is_told_by_its_kind() -> None:
    """Its text may hold a secret."""

    def fail() -> Check:
        raise RuntimeError(SECRET)

    check = run_check("part", fail)
    assert (check.status, check.message) == (Status.FAILED, "it failed with RuntimeError")


@pytest.mark.usefixtures("graph")
def test_a_provider_that_is_not_installed_is_a_failure_where_it_is_wanted(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever names it needs it; the local model, which nobody named, is merely off."""
    monkeypatch.setitem(sys.modules, "fastembed", None)
    code, checks = told(run, "--embed-with", "fastembed:some")
    assert (code, checks["embeddings"]["status"], checks["vectors"]["status"]) == (
        *(1, "failed"),
        "off",
    )
    assert "install" in checks["embeddings"]["remedy"]

    def missing(_: object) -> None:
        message = "the model is not installed"
        raise EmbeddingError(message, kind="missing", remedy="")

    monkeypatch.setattr("mcpg.cli.providers.ServiceFactory.provider", missing)
    code, checks = told(run)
    assert (code, checks["embeddings"]["status"]) == (0, "off")


@pytest.mark.usefixtures("without_local")
def test_an_index_that_cannot_be_kept_is_told(
    run: Callable[..., Run], graph: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no index can be written, each run makes one in memory, which is reported."""
    index = graph.with_name("graph.mdld.idx")
    index.unlink()
    index.mkdir()
    (folder / "file").touch()
    monkeypatch.setenv("MCPG_CACHE_DIR", str(folder / "file"))
    _, checks = told(run, "-b", str(graph))
    assert (checks["index"]["status"], "in memory" in checks["index"]["message"]) == ("note", True)


@pytest.mark.usefixtures("graph", "without_local")
def test_what_gives_back_something_else_is_a_failure(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store and a cache that forget at once do not work."""
    monkeypatch.setenv("MCPG_EMBEDDING_STORE", "memory")
    monkeypatch.setenv("MCPG_SEARCH_CACHE", "memory")
    monkeypatch.setattr("mcpg.embeddings.provider.MemoryStore.get", lambda *_: {})
    monkeypatch.setattr("mcpg.search.caches.MemoryCache.get", lambda *_: None)
    code, checks = told(run)
    assert code == 1
    assert [checks[name]["status"] for name in ("store", "search cache")] == ["failed"] * 2
