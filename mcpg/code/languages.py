"""Which file an import statement means, by the rules of its language."""

from __future__ import annotations

import importlib
import posixpath
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from mcpg.errors import UsageError
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query, Tree


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a language is parsed.

    Attributes:
        module: The package of its grammar.
        queries: Names of the files of queries that apply to it.
        function: The function of the package that returns the grammar.
        family: The language whose names it shares.
    """

    module: str
    queries: tuple[str, ...]
    function: str = "language"
    family: str = ""


_TYPESCRIPT = ("javascript", "typescript_only")
GRAMMARS = {
    "csharp": Grammar("tree_sitter_c_sharp", ("csharp",)),
    "go": Grammar("tree_sitter_go", ("go",)),
    "java": Grammar("tree_sitter_java", ("java",)),
    "javascript": Grammar("tree_sitter_javascript", ("javascript", "javascript_only")),
    "python": Grammar("tree_sitter_python", ("python",)),
    "rust": Grammar("tree_sitter_rust", ("rust",)),
    "tsx": Grammar(
        "tree_sitter_typescript", (*_TYPESCRIPT, "tsx_only"), "language_tsx", "javascript"
    ),
    "typescript": Grammar(
        "tree_sitter_typescript", _TYPESCRIPT, "language_typescript", "javascript"
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
_NAMES = {"tsx": "typescript"}


def language_of_name(name: str) -> str | None:
    """Return the grammar for a file of this *name*, `None` if there is none."""
    stem, _, suffix = name.rpartition(".")
    return _SUFFIXES.get(suffix.casefold()) if stem else None


def shown_language(grammar: str) -> str:
    """Return the name of the language of a *grammar*."""
    return _NAMES.get(grammar, grammar)


def language_family(grammar: str) -> str:
    """Return the name that languages share whose files import each other."""
    return GRAMMARS[grammar].family or grammar


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
    """Parse *source* with the *grammar*.

    Raises:
        UnparsableError: It is too complex, as no ordinary file is.
    """
    if len(source) < _SHORTEST_DEEP:
        return _parse_in_thread(source, grammar)
    return _with_deep_stack(lambda: _parse_in_thread(source, grammar))


def _with_deep_stack(work: Callable[[], Parsed]) -> Parsed:
    before = threading.stack_size(_STACK)
    try:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(work).result()
    finally:
        threading.stack_size(before)


class _ParserInput:
    """Hands a source to the parser, and counts what that takes."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._steps = min(_MOST_STEPS, _LEAST_STEPS + len(source) // _BYTES_PER_STEP)
        self._reads = _LEAST_READS + _READS_PER_CHUNK * len(source) // _CHUNK

    @property
    def is_too_long(self) -> bool:
        return self._steps < 0 or self._reads < 0

    def read(self, offset: int, _: Any) -> bytes:
        """Return what stands at *offset*; nothing more once it was read too often."""
        self._reads -= 1
        return self._source[offset : offset + _CHUNK] if self._reads >= 0 else b""

    def step(self, *_: Any) -> bool:
        """Return whether parsing is to stop."""
        self._steps -= 1
        return self.is_too_long


def _parse_in_thread(source: bytes, grammar: str) -> Tree:
    from tree_sitter import Parser  # noqa: PLC0415 - an extra

    reading = _ParserInput(source)
    try:
        tree = Parser(language(grammar)).parse(reading.read, progress_callback=reading.step)
    except ValueError as fault:  # parsing was stopped
        raise UnparsableError from fault
    if reading.is_too_long:
        raise UnparsableError
    _check_shape(tree)
    return tree


def _check_shape(tree: Tree) -> None:
    root = tree.root_node
    cursor = tree.walk()
    for place in range(0, root.descendant_count, _SAMPLED):
        cursor.goto_descendant(place)
        if cursor.depth > _DEEPEST:
            raise UnparsableError
        # A node with that many children is an ancestor of one of the nodes that are looked at.
        while root.has_error and cursor.node is not None:
            if _is_wide_error(cursor.node):
                raise UnparsableError
            if not cursor.goto_parent():
                break


def _is_wide_error(node: Node) -> bool:
    is_broken = node.is_error or (node.parent is None and node.has_error)
    return is_broken and node.child_count > _MOST_UNPARSED


_ROOTS = ("src/", "lib/", "python/")
_INDEX = "index"
_SCRIPTS = ("ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs")
_PYTHON = ("py", "pyi")
_PACKAGE = "__init__"


def _stem(path: str) -> str:
    return path.rpartition(".")[0]


class Modules:
    """The files of one family of languages, by what import statements call them."""

    def __init__(self, family: str, paths: Collection[str], root_name: str = "") -> None:
        """Index *paths*.

        Args:
            family: The family of languages.
            paths: Paths of its files, relative to the root of the repository.
            root_name: Name of the folder that holds them, for a root that is a package itself.
        """
        self._family = family
        self._paths = frozenset(paths)
        self._root_name = root_name
        self._folders: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(paths):
            self._folders[posixpath.dirname(path)].append(path)
        self._by_name = self._names() if family == "python" else {}
        self._by_suffix = self._suffixes() if family == "go" else {}

    def _names(self) -> Mapping[str, str]:
        """Return the files of Python by the dotted name under which they are imported."""
        found: dict[str, str] = {}
        for path in sorted(self._paths, key=lambda path: (path.endswith(".pyi"), path)):
            top = self._package_root(path)
            names = [self._dotted_name(path, top)]
            names += [self._dotted_name(path, root) for root in _ROOTS if path.startswith(root)]
            if top or "/" not in path:
                names.append(self._dotted_name(path, ""))
            # A lone script in some folder is known there alone.
            if not (top == f"{posixpath.dirname(path)}/" and "/" in path):
                for name in filter(None, names):
                    found.setdefault(name, path)
            else:
                found.setdefault(self._dotted_name(path, ""), path)
        return found

    def _package_root(self, path: str) -> str:
        """Return the folder of the outermost package of *path*, with a slash, "" for the root."""
        folder = posixpath.dirname(path)
        while folder and f"{folder}/{_PACKAGE}.py" in self._paths:
            folder = posixpath.dirname(folder)
        return f"{folder}/" if folder else ""

    def _dotted_name(self, path: str, root: str) -> str:
        parts = _stem(path.removeprefix(root)).split("/")
        if parts[-1] == _PACKAGE:
            parts.pop()
        if not root and self._root_name and f"{_PACKAGE}.py" in self._paths:
            parts.insert(0, self._root_name)
        return ".".join(parts)

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
        """Return the files of the folder of *path*."""
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
        bare = _stem(stem) if posixpath.splitext(stem)[1] in {".js", ".mjs", ".cjs"} else stem
        return self._first(stem, _SCRIPTS, _INDEX) or self._first(bare, _SCRIPTS, _INDEX)

    def _first(self, stem: str, suffixes: Collection[str], index: str) -> str | None:
        stem = stem.strip("/")
        files = (f"{stem}.{suffix}" for suffix in suffixes) if stem else ()
        inner = (f"{stem}/{index}.{suffix}".lstrip("/") for suffix in suffixes)
        return next((path for path in (*files, *inner) if path in self._paths), None)

    def _suffixes(self) -> Mapping[str, str]:
        """Return the folders by their last segments, where these name one alone."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for folder in self._folders:
            parts = folder.split("/")
            for start in range(len(parts)):
                found["/".join(parts[start:])].add(folder)
        return {suffix: folders.pop() for suffix, folders in found.items() if len(folders) == 1}

    def _go(self, module: str) -> list[str]:
        parts = module.split("/")
        # The first segment of a package of the standard library has no dot.
        starts = range(len(parts)) if "." in parts[0] or len(parts) > 1 else ()
        suffixes = ("/".join(parts[start:]) for start in starts)
        folder = next((self._by_suffix[one] for one in suffixes if one in self._by_suffix), None)
        return self._folders[folder] if folder is not None else []
