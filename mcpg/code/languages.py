"""Which file an import statement means, by the rules of its language."""

from __future__ import annotations

import importlib
import posixpath
import threading
from collections import defaultdict
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from mcpg.errors import UsageError
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from tree_sitter import Language, Query, Tree


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a language is parsed.

    Attributes:
        queries: Names of the files of queries that apply to it.
        function: The function of the package that returns the grammar.
        family: The name that languages share whose files import each other.
        shown: The name of the language, if it is not that of the grammar.
    """

    module: str
    family: str
    queries: tuple[str, ...]
    function: str = "language"
    shown: str = ""


_TYPESCRIPT = ("javascript", "typescript_only")
GRAMMARS = {
    "csharp": Grammar("tree_sitter_c_sharp", "csharp", ("csharp",)),
    "go": Grammar("tree_sitter_go", "go", ("go",)),
    "java": Grammar("tree_sitter_java", "java", ("java",)),
    "javascript": Grammar(
        "tree_sitter_javascript", "javascript", ("javascript", "javascript_only")
    ),
    "python": Grammar("tree_sitter_python", "python", ("python",)),
    "rust": Grammar("tree_sitter_rust", "rust", ("rust",)),
    "tsx": Grammar(
        "tree_sitter_typescript",
        "javascript",
        (*_TYPESCRIPT, "tsx_only"),
        "language_tsx",
        "typescript",
    ),
    "typescript": Grammar(
        "tree_sitter_typescript", "javascript", _TYPESCRIPT, "language_typescript"
    ),
}
"""The grammars, by the name of the language."""

_SUFFIXES = {
    "cjs": "javascript",
    "cs": "csharp",
    "cts": "typescript",
    "go": "go",
    "java": "java",
    "js": "javascript",
    "jsx": "javascript",
    "mjs": "javascript",
    "mts": "typescript",
    "py": "python",
    "pyi": "python",
    "rs": "rust",
    "ts": "typescript",
    "tsx": "tsx",
}


def language_of_name(name: str) -> str | None:
    """Return the grammar for a file of this *name*, `None` if there is none."""
    stem, _, suffix = name.rpartition(".")
    return _SUFFIXES.get(suffix.casefold()) if stem else None


def check_installed(place: str) -> None:
    """Check that the packages of the extra `code` are there.

    Raises:
        UsageError: One is missing.
    """
    try:
        for name in ("tree_sitter", *(one.module for one in GRAMMARS.values())):
            importlib.import_module(name)
    except ModuleNotFoundError as fault:
        message = f"reading source code needs the library {fault.name!r}"
        remedy = install_command("code")
        raise UsageError(message, place=place, remedy=remedy) from fault


@cache
def language(name: str) -> Language:
    """Return the grammar called *name*."""
    from tree_sitter import Language  # noqa: PLC0415 - an extra

    grammar = GRAMMARS[name]
    return Language(getattr(importlib.import_module(grammar.module), grammar.function)())


@cache
def query_text(name: str) -> str:
    """Return the queries of the grammar called *name*."""
    folder = files("mcpg.code") / "queries"
    texts = (folder / f"{part}.scm" for part in GRAMMARS[name].queries)
    return "".join(text.read_text("utf-8") for text in texts)


@cache
def query(name: str) -> Query:
    """Return the compiled queries of the grammar called *name*."""
    from tree_sitter import Query  # noqa: PLC0415 - an extra

    return Query(language(name), query_text(name))


Parsed = TypeVar("Parsed")

# Of 2,800 files in seven languages, none took more than 27 steps for a thousand bytes, nor more
# than 4,000. The time to recover from errors can grow with the square of the steps.
_BYTES_PER_STEP = 20
_LEAST_STEPS, _MOST_STEPS = 2_000, 10_000
# Nor was a part of them read more than 8 times. A comment without an end, for one, is read to the
# end of the file from each place where it may begin.
_CHUNK = 16_384
_READS_PER_CHUNK = 32
_LEAST_READS = 64
# Tree-sitter joins ambiguous parses by recursion, a level for each of their brackets. A thread
# that is only reserved space for 128 bytes of a file's every byte cannot overflow.
_SHORTEST_DEEP = 16_384
_STACK = 256 * 1024 * 1024
# The time of a query grows with the square of the depth, and of the width of what cannot be parsed.
# Depth changes by one from node to node at most, so looking at some nodes suffices.
_DEEPEST = 1_000
_MOST_UNPARSED = 10_000
_SAMPLED = 500


class UnparsableError(Exception):
    """A file takes too many steps to parse, nests too deeply, or states too much."""


def parse_source(source: bytes, grammar: str) -> Tree:
    """Parse *source*; raises `UnparsableError` for what is too complex, as no ordinary file is."""
    if len(source) < _SHORTEST_DEEP:
        return _parse_in_thread(source, grammar)
    before = threading.stack_size(_STACK)
    try:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(_parse_in_thread, source, grammar).result()
    finally:
        threading.stack_size(before)


def _parse_in_thread(source: bytes, grammar: str) -> Tree:
    from tree_sitter import Parser  # noqa: PLC0415 - an extra

    steps = min(_MOST_STEPS, _LEAST_STEPS + len(source) // _BYTES_PER_STEP)
    reads = _LEAST_READS + _READS_PER_CHUNK * len(source) // _CHUNK

    def read(offset: int, _: Any) -> bytes:
        nonlocal reads
        reads -= 1
        return source[offset : offset + _CHUNK] if reads >= 0 else b""

    def is_too_long(*_: Any) -> bool:
        nonlocal steps
        steps -= 1
        return steps < 0 or reads < 0

    try:
        tree = Parser(language(grammar)).parse(read, progress_callback=is_too_long)
    except ValueError as fault:  # parsing was stopped
        raise UnparsableError from fault
    if steps < 0 or reads < 0:
        raise UnparsableError
    root = tree.root_node
    cursor = tree.walk()
    for place in range(0, root.descendant_count, _SAMPLED):
        cursor.goto_descendant(place)
        if cursor.depth > _DEEPEST:
            raise UnparsableError
        # A node with that many children is an ancestor of one of the nodes that are looked at.
        while root.has_error and (node := cursor.node) is not None:
            is_broken = node.is_error or (node.parent is None and node.has_error)
            if is_broken and node.child_count > _MOST_UNPARSED:
                raise UnparsableError
            if not cursor.goto_parent():
                break
    return tree


_ROOTS = ("src/", "lib/", "python/")
_INDEX = "index"
_SCRIPTS = ("ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs")
_PYTHON = ("py", "pyi")
_PACKAGE = "__init__"


class Modules:
    """The files of one family of languages, by what import statements call them."""

    def __init__(self, family: str, paths: Collection[str], root_name: str = "") -> None:
        """Index *paths* of a repository whose root, if it is a package itself, has *root_name*."""
        self._family = family
        self._paths = frozenset(paths)
        self._root_name = root_name
        self._folders: defaultdict[str, list[str]] = defaultdict(list)
        # Folders by their last segments, to see where these name one alone.
        self._by_suffix: defaultdict[str, set[str]] = defaultdict(set)
        for path in sorted(paths):
            self._folders[posixpath.dirname(path)].append(path)
        for folder in self._folders if family == "go" else ():
            parts = folder.split("/")
            for start in range(len(parts)):
                self._by_suffix["/".join(parts[start:])].add(folder)
        self._by_name = self._names() if family == "python" else {}

    def _names(self) -> Mapping[str, str]:
        """Return the files of Python by the dotted name under which they are imported."""
        found: dict[str, str] = {}
        for path in sorted(self._paths, key=lambda path: (path.endswith(".pyi"), path)):
            top = self._package_root(path)
            # A lone script in some folder is known there alone.
            is_lone = "/" in path and top == f"{posixpath.dirname(path)}/"
            roots = [] if is_lone else [top, *(root for root in _ROOTS if path.startswith(root))]
            if top or "/" not in path:
                roots.append("")
            for root in roots:
                parts = path.removeprefix(root).rpartition(".")[0].split("/")
                if parts[-1] == _PACKAGE:
                    parts.pop()
                if not root and self._root_name and f"{_PACKAGE}.py" in self._paths:
                    parts.insert(0, self._root_name)
                name = ".".join(parts)
                if name or is_lone:
                    found.setdefault(name, path)
        return found

    def _package_root(self, path: str) -> str:
        """Return the folder of the outermost package of *path*, with a slash, "" for the root."""
        folder = posixpath.dirname(path)
        while folder and f"{folder}/{_PACKAGE}.py" in self._paths:
            folder = posixpath.dirname(folder)
        return f"{folder}/" if folder else ""

    def resolve_import(self, module: str, importer: str) -> list[str]:
        """Return the paths that the *module* of an import statement in *importer* means.

        These are one file, or for Go all files of a folder; none for a module outside the code.
        """
        if self._family == "python":
            found = self._python(module, importer)
        elif self._family == "javascript":
            found = self._javascript(module, importer)
        else:
            return self._go(module) if self._family == "go" else []
        return [found] if found else []

    def siblings(self, path: str) -> list[str]:
        return self._folders[posixpath.dirname(path)]

    def submodule(self, path: str, name: str) -> str | None:
        """Return the module called *name* in the package whose file is *path*."""
        stem = f"{posixpath.dirname(path)}/{name}".lstrip("/")
        is_package = posixpath.basename(path).startswith(f"{_PACKAGE}.")
        return self._first(stem, _PYTHON, _PACKAGE) if is_package else None

    def _python(self, module: str, importer: str) -> str | None:
        if not module.startswith("."):
            beside = posixpath.join(posixpath.dirname(importer), module.replace(".", "/"))
            is_script = self._package_root(importer).rstrip("/") == posixpath.dirname(importer)
            local = self._first(beside, _PYTHON, _PACKAGE) if is_script else None
            return local or self._by_name.get(module)
        name = module.lstrip(".")
        folder = posixpath.dirname(importer)
        for _ in range(len(module) - len(name) - 1):
            folder = posixpath.dirname(folder)
        return self._first(posixpath.join(folder, name.replace(".", "/")), _PYTHON, _PACKAGE)

    def _javascript(self, module: str, importer: str) -> str | None:
        if not module.startswith("."):
            return None
        stem = posixpath.normpath(posixpath.join(posixpath.dirname(importer), module))
        if stem in self._paths:
            return stem
        # TypeScript imports `./a.js` where `./a.ts` stands.
        bare, end = posixpath.splitext(stem)
        bare = bare if end in {".js", ".mjs", ".cjs"} else stem
        return self._first(stem, _SCRIPTS, _INDEX) or self._first(bare, _SCRIPTS, _INDEX)

    def _first(self, stem: str, suffixes: Collection[str], index: str) -> str | None:
        stem = stem.strip("/")
        files = (f"{stem}.{suffix}" for suffix in suffixes) if stem else ()
        inner = (f"{stem}/{index}.{suffix}".lstrip("/") for suffix in suffixes)
        return next((path for path in (*files, *inner) if path in self._paths), None)

    def _go(self, module: str) -> list[str]:
        parts = module.split("/")
        # The first segment of a package of the standard library has no dot.
        starts = range(len(parts)) if "." in parts[0] or len(parts) > 1 else ()
        for start in starts:
            named = self._by_suffix.get("/".join(parts[start:]), set())
            if len(named) == 1:
                return self._folders[next(iter(named))]
        return []
