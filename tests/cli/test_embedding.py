from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from shop import MANIFEST
from vectorial import FailingProvider, HashProvider, embed_with

import mcpg
from mcpg.cli import embedding
from mcpg.cli.environment import cache_folder
from mcpg.embeddings.provider import EmbeddingError
from mcpg.index.file import content_key
from mcpg.vectors import build, matrix
from mcpg.vectors.build import WEIGHTS
from mcpg.vectors.file import open_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

EMBED = ("bundle", "tools", "--embed")


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> HashProvider:
    """The provider that every run gets; it counts what it is asked."""
    made = HashProvider()
    embed_with(monkeypatch, made)
    return made


def report(run: Callable[..., Run], *arguments: str) -> dict[str, object]:
    """Run with `--embed`, and give the members of the report that tell of vectors."""
    found = run(*EMBED, *arguments, "--format", "json").json
    names = ("written", "indexWritten", "vectorsWritten", "embedded", "reused")
    return {name: found[name] for name in names}


@pytest.mark.usefixtures("sources")
def test_vectors_stand_beside_the_bundle(run: Callable[..., Run], provider: HashProvider) -> None:
    """A bundle with vectors is the same bundle, with one more file beside it."""
    plain = run("bundle", "tools", "-q")
    before = Path("graph.mdld").read_bytes()
    told = run(*EMBED)

    assert plain.code == told.code == 0
    assert Path("graph.mdld").read_bytes() == before
    assert told.err.startswith("up to date: graph.mdld: 4 tools")
    assert told.err.endswith("; embedded 4 tools, reused 0 vectors; wrote its vectors\n")
    file = open_vectors("graph.mdld.vec")
    assert file.is_fresh(content_key("graph.mdld"), 4, provider.fingerprint)
    assert file.vectors.stored.kind == "float16"


@pytest.mark.usefixtures("sources")
def test_nothing_changed_embeds_nothing(
    run: Callable[..., Run], provider: HashProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run asks the provider for nothing, whether the sources are parsed again or not."""
    first = report(run)
    data = Path("graph.mdld.vec").read_bytes()
    provider.asked.clear()

    assert first == {
        "written": True,
        "indexWritten": True,
        "vectorsWritten": True,
        "embedded": 4,
        "reused": 0,
    }
    unchanged = {
        "written": False,
        "indexWritten": False,
        "vectorsWritten": False,
        "embedded": 0,
        "reused": 4,
    }
    assert report(run, "--force") == unchanged
    monkeypatch.setattr("mcpg.cli.build.read_sources", None)
    assert report(run) == unchanged
    assert provider.asked == []
    assert Path("graph.mdld.vec").read_bytes() == data


def test_only_what_changed_is_embedded(
    sources: Path, run: Callable[..., Run], provider: HashProvider
) -> None:
    """An edit of one tool costs one text, and so does it without the store."""
    report(run)
    manifest = sources / "shop.json"
    for number, cleared in enumerate((False, True)):
        if cleared:
            for kept in Path.cwd().parent.glob(f"{Path.cwd().name}-cache/*.sqlite*"):
                kept.unlink()
        text = manifest.read_text().replace("Create a shipment", f"{number} Create a shipment")
        manifest.write_text(text)
        provider.asked.clear()
        changed = report(run)
        assert (changed["embedded"], changed["reused"]) == (1, 3)
        assert len(provider.asked) <= len(WEIGHTS)
    assert open_vectors("graph.mdld.vec").is_fresh(
        content_key("graph.mdld"), 4, provider.fingerprint
    )


@pytest.mark.usefixtures("sources")
def test_a_lost_file_is_written_from_the_store(
    run: Callable[..., Run], provider: HashProvider
) -> None:
    """What was embedded once is in the cache folder; a damaged file is as good as none."""
    report(run)
    path = Path("graph.mdld.vec")
    data = path.read_bytes()
    provider.asked.clear()
    for damage in (None, b"mcpg-vec", data[:-1]):
        path.unlink()
        if damage:
            path.write_bytes(damage)
        again = report(run)
        assert (again["embedded"], again["reused"], again["vectorsWritten"]) == (0, 4, True)
        assert path.read_bytes() == data
    assert provider.asked == []


@pytest.mark.usefixtures("sources")
def test_numbers_are_kept_as_asked(run: Callable[..., Run], provider: HashProvider) -> None:
    """Another kind of numbers is another file, and costs no text."""
    for kind in ("float16", "int8", "float32", "int8"):
        again = report(run, "--vector-type", kind)
        assert again["vectorsWritten"]
        assert open_vectors("graph.mdld.vec").vectors.stored.kind == kind
    assert len(provider.batches) == 1


@pytest.mark.usefixtures("sources")
def test_an_interrupted_run_is_gone_on_with(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was embedded before the interruption is not embedded again."""
    monkeypatch.setattr(build, "BATCH", 2)
    embed_with(monkeypatch, FailingProvider(KeyboardInterrupt(), batches=1))
    stopped = run(*EMBED)
    assert stopped.code == 130
    assert Path("graph.mdld").exists()
    assert not Path("graph.mdld.vec").exists()
    provider = HashProvider()
    embed_with(monkeypatch, provider)
    gone_on = report(run)
    assert (gone_on["embedded"], gone_on["reused"], len(provider.batches)) == (2, 2, 1)


@pytest.mark.usefixtures("sources")
def test_a_provider_that_fails_costs_no_bundle(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bundle and index are written, the failure is told, and the exit code says so."""
    monkeypatch.setattr(build, "BATCH", 2)
    fault = EmbeddingError("the server is gone", kind="failed")
    embed_with(monkeypatch, FailingProvider(fault))
    failed = run(*EMBED, "--format", "json")
    assert failed.code == 1
    assert "warning[embedding_failed]: 4 of 4 tools have no vector" in failed.err
    assert [one["code"] for one in failed.json["diagnostics"]] == ["embedding_failed"]
    assert (failed.json["written"], failed.json["vectorsWritten"]) == (True, False)
    embed_with(monkeypatch, FailingProvider(fault, batches=1))
    partly = run(*EMBED)
    assert partly.code == 1
    assert "embedded 2 tools, reused 0 vectors; wrote its vectors" in partly.err
    embed_with(monkeypatch, HashProvider())
    mended = run(*EMBED)
    assert mended.code == 0
    assert "embedded 2 tools, reused 2 vectors; wrote its vectors" in mended.err


@pytest.mark.usefixtures("sources")
def test_a_check_looks_at_vectors_where_it_is_asked_to(
    sources: Path, run: Callable[..., Run], provider: HashProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `--embed` vectors are nobody's business; with it, stale ones fail the check."""
    run("bundle", "tools", "-q")
    assert run("bundle", "tools", "--check").code == 0
    missing = run(*EMBED, "--check")
    assert (missing.code, "no vectors" in missing.err) == (1, True)
    run(*EMBED)
    provider.asked.clear()
    assert run(*EMBED, "--check").code == 0
    (sources / "shop.json").write_text(json.dumps({**MANIFEST, "tools": MANIFEST["tools"][:3]}))
    run("bundle", "tools", "-q")
    stale = run(*EMBED, "--check", "--format", "json")
    assert (stale.code, stale.json["differences"]) == (1, ["the vectors are out of date"])
    embed_with(monkeypatch, HashProvider(name="other"))
    other = run(*EMBED, "--diff")
    assert other.code == 1
    assert "it was made by test:hashes:8, not by test:other:8" in other.err
    assert provider.asked == []


def test_a_folder_that_cannot_be_written_has_its_vectors_in_the_cache(
    graph: Path, run: Callable[..., Run], provider: HashProvider
) -> None:
    """Where the place beside the bundle is taken, the cache folder has the file; it is found."""
    graph.with_name("graph.mdld.vec").mkdir()
    assert report(run)["vectorsWritten"]
    (kept,) = Path.cwd().parent.glob(f"{Path.cwd().name}-cache/*.vec")
    assert open_vectors(str(kept)).is_fresh(content_key("graph.mdld"), 4, provider.fingerprint)
    provider.asked.clear()
    assert report(run)["vectorsWritten"] is False
    assert provider.asked == []


def test_vectors_that_a_search_made_are_written_beside_the_bundle(
    graph: Path, run: Callable[..., Run], provider: HashProvider
) -> None:
    """Vectors in the cache folder are of this machine; `--embed` writes those that travel."""
    engine = mcpg.load(graph, embeddings=provider, cache_dir=cache_folder())
    engine.search("shipment", strategy="embeddings")
    (kept,) = Path.cwd().parent.glob(f"{Path.cwd().name}-cache/*.vec")
    assert kept.is_file()
    provider.asked.clear()

    checked = run(*EMBED, "--check", "--format", "json")
    assert (checked.code, len(checked.json["differences"])) == (1, 1)
    assert "are missing or out of date" in checked.json["differences"][0]
    written = report(run)
    assert (written["vectorsWritten"], written["embedded"], written["reused"]) == (True, 0, 4)
    file = open_vectors("graph.mdld.vec")
    assert file.is_fresh(content_key("graph.mdld"), 4, provider.fingerprint)
    assert run(*EMBED, "--check").code == 0
    assert provider.asked == []


@pytest.mark.usefixtures("sources", "provider")
def test_pages_have_no_vectors(run: Callable[..., Run]) -> None:
    """A page beside the tools neither makes their vectors stale nor has them looked for anew."""
    Path("tools/guide.md").write_text("---\ntitle: Guide\ntool: false\n---\n# Guide\n", "utf-8")
    run(*EMBED)
    assert run(*EMBED, "--check").code == 0
    assert "reused 4 vectors\n" in run(*EMBED).err


@pytest.mark.usefixtures("sources", "provider")
def test_a_check_fails_where_a_run_would_write(run: Callable[..., Run]) -> None:
    """Vectors whose numbers are to be kept in another way are written, so the check fails."""
    report(run)
    for kind in ("float16", "int8", "float32"):
        checked = run(*EMBED, "--vector-type", kind, "--check")
        assert checked.code == int(report(run, "--vector-type", kind)["vectorsWritten"])
        assert run(*EMBED, "--vector-type", kind, "--check").code == 0


@pytest.mark.usefixtures("sources", "provider")
def test_clusters_are_made_on_another_machine(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, provider: HashProvider
) -> None:
    """A bundle that came with its vectors gets its clusters, and no text is embedded."""
    assert run(*EMBED).code == 0
    for module in (matrix, embedding):
        monkeypatch.setattr(module, "FEWEST", 3)
    provider.asked.clear()
    assert report(run)["vectorsWritten"] is False
    assert len([*Path.cwd().parent.glob(f"{Path.cwd().name}-cache/*.vec.near")]) == 1
    assert provider.asked == []


@pytest.mark.usefixtures("sources", "provider")
def test_many_vectors_are_put_into_clusters(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clusters lie in the cache folder, and never beside the bundle."""
    for module in (matrix, embedding):
        monkeypatch.setattr(module, "FEWEST", 3)
    assert run(*EMBED).code == 0
    (kept,) = Path.cwd().parent.glob(f"{Path.cwd().name}-cache/*.vec.near")
    assert kept.read_bytes().startswith(b"mcpgnear")
    assert not [*Path.cwd().glob("*.near")]


def test_vectors_that_can_be_kept_nowhere_are_a_failure(
    graph: Path, run: Callable[..., Run], provider: HashProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asked for vectors hears that there are none."""
    graph.with_name("graph.mdld.vec").mkdir()
    Path("file").write_text("")
    monkeypatch.setenv("MCPG_CACHE_DIR", str(Path("file").resolve()))
    failed = run(*EMBED)
    assert failed.code == 2
    assert "warning[embedding_store_load_failed]" in failed.err
    assert "cannot be written" in failed.err
    assert len(provider.batches) == 1


@pytest.mark.usefixtures("sources")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--embed", "-o", "-"), "standard output has none"),
        (("--embed-with", "local"), "add --embed"),
        (("--embed", "--embed-with", "none"), "no embedding provider is selected"),
        (("--embed", "--embed-with", "nobody"), "unknown embedding provider"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    run: Callable[..., Run], arguments: tuple[str, ...], told: str
) -> None:
    """Nothing is written before it is known that vectors can be made."""
    refused = run("bundle", "tools", *arguments)
    assert refused.code == 2
    assert told in refused.err
    assert not Path("graph.mdld").exists()


@pytest.mark.usefixtures("sources")
def test_the_local_model_embeds_once(run: Callable[..., Run]) -> None:
    """With the model that ships in a package, a second run embeds nothing and writes the same."""
    first = run(*EMBED, "--format", "json").json
    data = Path("graph.mdld.vec").read_bytes()
    Path("graph.mdld.vec").unlink()
    second = run(*EMBED, "--force", "--format", "json").json
    assert (first["embedded"], second["embedded"], second["reused"]) == (4, 0, 4)
    assert first["fingerprint"] == second["fingerprint"]
    assert Path("graph.mdld.vec").read_bytes() == data
    assert open_vectors("graph.mdld.vec").vectors.dimensions == 384
