"""Which module imports from which: at run time, for types, and inside functions."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "mcpg"


def modules(root: Path = ROOT, package: str = PACKAGE) -> dict[str, Path]:
    """Return the files of *package* below *root* by the names under which they are imported."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(root.glob(f"{package}/**/*.py"))
    }


def import_graph(root: Path = ROOT, package: str = PACKAGE) -> dict[str, set[str]]:
    """Return for each module those that it imports from, wherever the import stands.

    A name that a package's `__init__` only hands on counts for the module that defines it, so the
    package is no detour by which everything in it would be joined. The package at the root, which
    hands out what stands on every floor, is left out.
    """
    sources = {name: _Source.read(name, path) for name, path in modules(root, package).items()}
    return {
        name: {target for target in _targets(source, sources) if target not in {name, package}}
        for name, source in sources.items()
        if name != package
    }


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components of *graph* with two nodes or more.

    Tarjan, R. (1972). Depth-first search and linear graph algorithms. SIAM J. Computing 1(2).
    """
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            place = stack.index(node)
            found.append(set(stack[place:]))
            del stack[place:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted((circle for circle in found if len(circle) > 1), key=min)


@dataclass
class _Source:
    """The imports of one module.

    Attributes:
        is_package: Whether it is the `__init__` of a package.
        froms: Module and name of each `from module import name`, by the name that it gets here.
        plain: What `import module` names.
    """

    is_package: bool
    froms: list[tuple[str, str, str]] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, name: str, path: Path) -> _Source:
        found = cls(path.name == "__init__.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.plain += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.module, f"{name}: write absolute imports"
                assert node.level == 0, f"{name}: write absolute imports"
                found.froms += [
                    (node.module, alias.name, alias.asname or alias.name) for alias in node.names
                ]
        return found


def _targets(source: _Source, sources: Mapping[str, _Source]) -> Iterator[str]:
    yield from (name for name in source.plain if name in sources)
    for module, name, _ in source.froms:
        if module in sources:
            yield _defining(module, name, sources)


def _defining(module: str, name: str, sources: Mapping[str, _Source]) -> str:
    """Return the module that `from module import name` takes *name* from."""
    if f"{module}.{name}" in sources:
        return f"{module}.{name}"
    if sources[module].is_package:
        for origin, original, here in sources[module].froms:
            if here == name and origin in sources and origin != module:
                return _defining(origin, original, sources)
    return module
