"""The house stands as it is drawn in docs/explanation/architecture.md."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mcpg

ROOT = Path(__file__).parent.parent
MODULES = sorted(ROOT.glob("mcpg/**/*.py"))
FLOORS = [
    {"text", "caches", "telemetry"},
    {"net"},
    {"llm"},
    {"embeddings"},
    {"postgres"},
    {"catalog"},
    {"relations"},
    {"documents"},
    {"bundle", "graph", "index", "vectors"},
    {"engine"},
    {"evaluation", "gateway"},
    {"tuning"},
    {"reports"},
    {"cli"},
]
IMPORTED_BY_MCPG_ALONE = {"mcpg"}


def tree(module: Path) -> ast.Module:
    """Parse *module*."""
    return ast.parse(module.read_text(encoding="utf-8"))


def imported(module: Path) -> set[str]:
    """Name the modules that *module* imports anywhere, for types as well."""
    found: set[str] = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: write absolute imports"
            found.add(node.module or "")
            # `from mcpg.bundle import files` may import a module, too.
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def floor_of(name: str) -> str | None:
    """Give the folder of mcpg in which the module *name* stands, `None` for those beside them."""
    parts = name.split(".")
    known = {folder for floor in FLOORS for folder in floor}
    return parts[1] if parts[0] == "mcpg" and len(parts) > 1 and parts[1] in known else None


def dotted(module: Path) -> str:
    """Give the name under which *module* is imported."""
    return ".".join(module.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_every_folder_has_a_floor() -> None:
    """A new folder of the package is drawn into the house before it is built."""
    folders = {path.parent.name for path in ROOT.glob("mcpg/*/__init__.py")}
    assert folders == {folder for floor in FLOORS for folder in floor}


@pytest.mark.parametrize("module", MODULES, ids=dotted)
def test_imports_run_one_way(module: Path) -> None:
    """A module imports from its own folder and from floors below it, and from nowhere else."""
    own = floor_of(dotted(module))
    if own is None and dotted(module) in {"mcpg", "mcpg.__main__"}:
        return  # the door: it hands out what stands on every floor
    height = next((n for n, floor in enumerate(FLOORS) if own in floor), 0)
    below = {folder for floor in FLOORS[:height] for folder in floor}
    used = {floor_of(name) for name in imported(module)} - {own, None}
    assert used <= below


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
