"""Each extra alone does what its page promises, or the program names the one that is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from shop import HINTS, MANIFEST

from mcpg.cli.checks import EXTRAS
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Runner = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).parent.parent
FUNCTIONS = '''
"""Tools."""

def order_cancel(order_id: str) -> str:
    """Cancel an order."""
    return order_id
'''
ENDPOINT = "openai:some-model"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


def required(extra: str | None) -> set[str]:
    """Return the distributions that mcpg with an *extra* needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    own = [*project["dependencies"], *project["optional-dependencies"].get(extra, ())]
    found: set[str] = set()
    waiting = [("", "")]
    while waiting:
        name, wanted = waiting.pop()
        for text in (metadata.requires(name) or ()) if name else own:
            one = Requirement(text)
            if one.marker is None or one.marker.evaluate({"extra": wanted}):
                inner = [(one.name, extra) for extra in ("", *one.extras)]
                waiting += inner if canonicalize_name(one.name) not in found else inner[1:]
                found.add(canonicalize_name(one.name))
    return found


def parts(distribution: str) -> Iterator[Path]:
    """Return the files and folders that a *distribution* put beside others."""
    files = metadata.distribution(distribution).files or ()
    for name in {one.parts[0] for one in files} - {"..", "__pycache__"}:
        yield Path(str(metadata.distribution(distribution).locate_file(name)))


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | None], Path]:
    """A function that makes a folder of the packages that mcpg with one extra has."""
    made: dict[str | None, Path] = {}

    def make(extra: str | None) -> Path:
        if extra not in made:
            folder = made[extra] = tmp_path_factory.mktemp(extra or "none")
            (folder / "mcpg").symlink_to(ROOT / "mcpg")
            for distribution in required(extra):
                for part in parts(distribution):
                    if not (folder / part.name).exists():
                        (folder / part.name).symlink_to(part)
        return made[extra]

    return make


@pytest.fixture
def run_with(tmp_path: Path, environments: Callable[[str | None], Path]) -> Runner:
    """A function that runs mcpg as it is with one extra alone, in a folder of sources."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "shop.json").write_text(json.dumps(MANIFEST), "utf-8")
    (tmp_path / "tools" / "shop.hints.yaml").write_text(HINTS, "utf-8")
    (tmp_path / "shop_tools.py").write_text(FUNCTIONS, "utf-8")
    variables: Mapping[str, str] = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "MCPG_CACHE_DIR": str(tmp_path / "cache"),
        "MCPG_EMBED_URL": "http://127.0.0.1:9/v1",
        "MCPG_LLM_URL": "http://127.0.0.1:9/v1",
        "MCPG_LLM_MODEL": "some-model",
    }

    def run(extra: str | None, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join((str(environments(extra)), str(tmp_path)))
        return subprocess.run(
            [sys.executable, "-S", "-m", "mcpg", *words],
            cwd=tmp_path,
            env={**variables, "PYTHONPATH": path, **more},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_without_any_extra_the_basics_work(run_with: Runner) -> None:
    """Tools are bundled, searched, explained, exported and queried with what mcpg itself needs."""
    for words in (
        ("bundle", "tools"),
        ("search", "shipment status"),
        ("explain", "shipment status"),
        ("graph", "export"),
        ("graph", "sparql", "ASK {}"),
        ("generate", "tools", "-o", "docs"),
    ):
        done = run_with(None, *words)
        assert done.returncode == 0, done.stderr
        assert "Error" not in done.stderr


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("embeddings", ["bundle", "tools", "--embed", "--embed-with", "local"]),
        ("llm", ["bundle", "tools", "--embed", "--embed-with", ENDPOINT]),
        ("mcp", ["serve", "tools"]),
        ("mcp", ["bundle", "stdio:no-such-program"]),
        ("python", ["bundle", "python:shop_tools", "-o", "functions.mdld"]),
        ("shacl", ["graph", "validate", "-b", "tools"]),
        ("postgres", ["publish", "-b", "graph.mdld"]),
        ("code", ["bundle", "code:.", "-o", "code.mdld"]),
    ],
)
def test_what_needs_an_extra_names_it(run_with: Runner, extra: str, words: list[str]) -> None:
    """Without its extra a command fails with the command that installs it; with it, never so."""
    assert run_with(None, "bundle", "tools").returncode == 0
    database = {"MCPG_POSTGRES": "host=/nowhere connect_timeout=1"}
    without = run_with(None, *words, **database)
    assert without.returncode == 2
    assert install_command(extra).partition("[")[2] in without.stderr
    assert "Traceback" not in without.stderr
    with_it = run_with(extra, *words, **database)
    assert "install" not in with_it.stderr
    assert "Error:" not in with_it.stderr


@pytest.mark.parametrize("extra", ["llm", "faiss", "postgres", None])
@pytest.mark.parametrize("strategy", ["auto", "embeddings"])
def test_a_provider_without_its_packages_leaves_the_graph(
    run_with: Runner, extra: str | None, strategy: str
) -> None:
    """Whichever extra is missing, a search is answered by the graph, with the reason."""
    assert run_with(extra, "bundle", "tools").returncode == 0
    for provider in ("local", ENDPOINT):
        words = ["search", "shipment status", "--strategy", strategy, "--embed-with", provider]
        done = run_with(extra, *words)
        assert "shipment_status" in done.stdout, done.stderr
        assert "unexpectedly" not in done.stderr


def test_a_query_that_cannot_be_rewritten_is_searched_as_it_is(run_with: Runner) -> None:
    """With and without the extra that reaches an endpoint, the graph answers."""
    for extra in (None, "llm"):
        assert run_with(extra, "bundle", "tools").returncode == 0
        done = run_with(extra, "search", "wo ist meine Sendung, shipment status", "--rewrite")
        assert "shipment_status" in done.stdout, done.stderr
        assert ("[llm]" in done.stderr) == (extra is None)


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_an_extra_holds_all_that_doctor_looks_for(run_with: Runner, extra: str) -> None:
    """With one extra installed `mcpg doctor` finds it whole."""
    done = run_with(extra, "doctor", "--format", "json")
    checks = {one["name"]: one["status"] for one in json.loads(done.stdout)["checks"]}
    assert checks[f"extra {extra}"] == "ok"
