"""The house stands as it is drawn in docs/explanation/architecture.md."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from imports import circles, import_graph, modules

import mcpg

ROOT = Path(__file__).parent.parent
FLOORS = [
    {"plugins", "text"},
    {"caching", "net"},
    {"catalog"},
    {"embeddings", "llm"},
    {"relations", "sources"},
    {"documents"},
    {"bundle", "index", "vectors"},
    {"search"},
    {"ask", "explain", "plan", "route"},
    {"rewrite"},
    {"engine"},
    {"evaluation", "lint"},
    {"enrich", "review"},
    {"show"},
    {"cli"},
    {"code", "postgres", "servers", "skills", "telemetry"},
    {"graph"},
    {"explore", "gateway"},
]
OPTIONAL = {"code", "explore", "gateway", "graph", "postgres", "servers", "skills", "telemetry"}
"""The rooms that the core does without: they register what they add."""

GROUND = {"mcpg.errors", "mcpg.values", "mcpg.files"}
"""The modules beside the rooms, below all of them."""
HEIGHTS = {folder: height for height, floor in enumerate(FLOORS, 1) for folder in floor}
IMPORTED_BY_MCPG_ALONE = {"mcpg"}


def tree(module: Path) -> ast.Module:
    """Parse *module*."""
    return ast.parse(module.read_text(encoding="utf-8"))


def folder_of(name: str) -> str | None:
    """Return the folder in which the module *name* stands, `None` for those beside the folders."""
    folder = name.split(".")[1]
    return folder if folder in HEIGHTS else None


def height_of(name: str) -> int:
    """Return the floor of the module *name*: 0 beside the folders, the last for `__main__`."""
    return sys.maxsize if name == "mcpg.__main__" else HEIGHTS.get(folder_of(name) or "", 0)


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    """Return what every module imports from, for types and inside functions as well."""
    return import_graph()


def test_every_folder_has_a_floor() -> None:
    """A new folder of the package is drawn into the house before it is built."""
    folders = {path.parent.name for path in ROOT.glob("mcpg/*/__init__.py")}
    assert folders == HEIGHTS.keys()


def test_the_page_draws_the_house() -> None:
    """The page lists every folder, none before one that it may import from."""
    page = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^\| `mcpg/(\w+)` \|", page, re.MULTILINE)
    assert sorted(drawn) == sorted(HEIGHTS)
    assert [HEIGHTS[folder] for folder in drawn] == sorted(HEIGHTS.values())


def test_imports_run_one_way(graph: dict[str, set[str]]) -> None:
    """A module imports from its own folder and from floors below it, and from nowhere else."""
    wrong = {
        f"{module} imports {target}"
        for module, targets in graph.items()
        for target in targets
        if folder_of(target) not in {None, folder_of(module)}
        and height_of(target) >= height_of(module)
    }
    assert wrong == set()


def test_imports_make_no_circle(graph: dict[str, set[str]]) -> None:
    """No modules import from each other, not even for types or inside functions."""
    assert circles(graph) == []


def test_the_ground_imports_nothing_but_ground(graph: dict[str, set[str]]) -> None:
    """What every room may import, and the hooks of plugins, need no room."""
    assert {name for name in graph if folder_of(name) is None} == {*GROUND, "mcpg.__main__"}
    assert all(graph[name] <= GROUND for name in (*GROUND, "mcpg.plugins.hooks"))


def test_the_core_imports_no_optional_room(graph: dict[str, set[str]]) -> None:
    """No module of the core needs one, not for types and not inside a function."""
    wrong = {
        f"{module} imports {target}"
        for module, targets in graph.items()
        for target in targets
        if folder_of(module) not in OPTIONAL and folder_of(target) in OPTIONAL
    }
    assert wrong == set()


def test_only_the_table_of_rooms_names_them() -> None:
    """No other module of the core has a name to import one by."""
    pattern = re.compile(rf"mcpg\.(?:{'|'.join(sorted(OPTIONAL))})(?:[.:]\w+)*")
    named = {
        name
        for name, path in modules().items()
        if folder_of(f"{name}.") not in OPTIONAL
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and pattern.fullmatch(node.value)
    }
    assert named == {"mcpg.plugins.registry"}


def test_public_names_are_sorted_and_exist() -> None:
    """Every public name can be had from the package and is listed in order, once."""
    assert mcpg.__all__ == sorted(set(mcpg.__all__))
    assert dir(mcpg) == mcpg.__all__
    assert all(getattr(mcpg, name) is not None for name in mcpg.__all__)


def test_public_names_are_those_declared_for_types() -> None:
    """What type checkers see is what `__all__` hands out."""
    blocks = [node for node in tree(ROOT / "mcpg/__init__.py").body if isinstance(node, ast.If)]
    (block,) = [node for node in blocks if ast.unparse(node.test) == "TYPE_CHECKING"]
    declared = {
        alias.asname or alias.name
        for node in block.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mcpg")
        for alias in node.names
    }
    assert declared | {"__version__"} == set(mcpg.__all__)


def test_other_names_do_not_exist() -> None:
    """A name that is not public is an ordinary error of attributes."""
    with pytest.raises(AttributeError, match="Enginee"):
        mcpg.Enginee  # noqa: B018


def test_importing_mcpg_imports_nothing_else() -> None:
    """`import mcpg` costs next to nothing: no other module of ours, no package of others."""
    code = (
        "import sys; before = set(sys.modules); import mcpg; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    added = set(done.stdout.split())
    assert {name for name in added if name.partition(".")[0] not in sys.stdlib_module_names} == (
        IMPORTED_BY_MCPG_ALONE
    )
