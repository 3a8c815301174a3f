"""The languages of source files, and how a file is parsed."""

from __future__ import annotations

import importlib
import threading
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
        family: The common name of languages whose files import each other.
        shown: The name of the language, if it differs from the grammar's.
    """

    module: str
    family: str
    queries: tuple[str, ...]
    function: str = "language"
    shown: str = ""


USES = "_uses"
"""The ending of files of queries for scopes, names that are bound, and references."""

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
    """Check that the packages of the extra `code` are there."""
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
def query_text(name: str, ending: str = "") -> str:
    """Return the queries of the grammar called *name*, of files with this *ending*."""
    folder = files("mcpg.code") / "queries"
    texts = (folder / f"{part}{ending}.scm" for part in GRAMMARS[name].queries)
    return "".join(text.read_text("utf-8") for text in texts if text.is_file())


@cache
def query(name: str, ending: str = "") -> Query:
    """Return the compiled queries of the grammar called *name*."""
    from tree_sitter import Query  # noqa: PLC0415 - an extra

    return Query(language(name), query_text(name, ending))


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
    """A file takes too many steps to parse, nests too deeply, or has too many facts."""


def parse_source(source: bytes, grammar: str) -> Tree:
    """Parse *source*; raises `UnparsableError` if it is too complex, as no ordinary file is."""
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
        # A node with that many children is an ancestor of one of the examined nodes.
        while root.has_error and (node := cursor.node) is not None:
            is_broken = node.is_error or (node.parent is None and node.has_error)
            if is_broken and node.child_count > _MOST_UNPARSED:
                raise UnparsableError
            if not cursor.goto_parent():
                break
    return tree
