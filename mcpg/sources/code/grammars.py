"""Languages of source files: their names, grammars and queries."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from mcpg.errors import UsageError
from mcpg.installation import install_command

if TYPE_CHECKING:
    from tree_sitter import Language, Query


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
    folder = files("mcpg.sources.code") / "queries"
    texts = (folder / f"{part}.scm" for part in GRAMMARS[name].queries)
    return "".join(text.read_text("utf-8") for text in texts)


@cache
def query(name: str) -> Query:
    """Return the compiled queries of the grammar called *name*."""
    from tree_sitter import Query  # noqa: PLC0415 - an extra

    return Query(language(name), query_text(name))
