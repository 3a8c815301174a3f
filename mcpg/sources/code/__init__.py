"""Source code: the symbols of a folder's source files and the edges between them, as pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from mcpg.build_cache import NO_BUILD_CACHE, ResultKind, BuildCache
from mcpg.catalog.model import SourceDocument
from mcpg.code.model import CodeFile
from mcpg.code.page import write_page
from mcpg.errors import Code, Diagnostic, NotFoundError, info, warning
from mcpg.files import exists, is_file, text_of_path
from mcpg.sources.code.extract import SourceFacts, decode_facts, encode_facts, extract
from mcpg.sources.code.files import FoundFile, SkippedError, read_source, source_files
from mcpg.sources.code.grammars import check_installed, language_of_name, query_text
from mcpg.sources.code.link import link
from mcpg.sources.code.parse import UnparsableError
from mcpg.sources.code.repository import find_repository
from mcpg.sources.model import CODE

MOST_FILES = 200_000
"""Source files that are read."""

_NAMED = 3

FACTS: ResultKind[SourceFacts] = ResultKind("code", encode_facts, decode_facts)
"""The facts of source files, for the build cache."""


def read_code(
    argument: str, memo: BuildCache = NO_BUILD_CACHE
) -> tuple[tuple[SourceDocument, ...], tuple[Diagnostic, ...]]:
    """Read the source files of a folder.

    Args:
        argument: `code:PATH`; PATH is a folder or a file.
        memo: What is known of files that were read before, by their content.

    Returns:
        A page for every source file, and diagnostics about files that are skipped.

    Raises:
        NotFoundError: There is no such folder or file.
        UsageError: The extra `code` is not installed.
    """
    check_installed(argument)
    files, noticed = read_files(Path(argument.removeprefix(CODE)), memo)
    return tuple(map(write_page, files)), noticed


def read_files(
    place: Path, memo: BuildCache = NO_BUILD_CACHE
) -> tuple[list[CodeFile], tuple[Diagnostic, ...]]:
    """Read the symbols and edges of the source files at *place*.

    Raises:
        NotFoundError: There is no such folder or file.
    """
    if not exists(place):
        raise NotFoundError(
            "there is no such folder or file", place=str(place), remedy="check the path"
        )
    here = place.resolve()
    repository = find_repository(here.parent if is_file(here) else here)
    skipped: defaultdict[str, list[str]] = defaultdict(list)
    facts: dict[str, tuple[str, SourceFacts]] = {}
    found = _find_files(here, repository.root)
    for file in islice(found, MOST_FILES):
        try:
            facts[file.path] = (file.language, _facts(file, memo))
        except SkippedError as fault:
            skipped[str(fault)].append(file.path)
    broken = sorted(path for path, (_, one) in facts.items() if one.has_errors)
    home = CodeFile("", "", repository.name, repository.branch, 0)
    root_name = text_of_path(repository.root.name)
    noticed = tuple(_report_skipped(skipped, broken, str(place)))
    if next(found, None) is not None:
        message = f"there are more source files; the first {MOST_FILES:,} are used"
        noticed = (*noticed, warning(Code.SOURCE_INCOMPLETE, message, str(place)))
    return link(facts, home, root_name), noticed


def _find_files(here: Path, root: Path) -> Iterator[FoundFile]:
    if not is_file(here):
        return source_files(here, root)
    language = language_of_name(here.name)
    path = text_of_path(here.relative_to(root).as_posix())
    return iter([FoundFile(here, path, language)] if language else [])


def _facts(file: FoundFile, memo: BuildCache) -> SourceFacts:
    source = read_source(file.location)
    prefix = f"{file.language}\0{query_text(file.language)}\0".encode()
    try:
        return memo.recall(FACTS, lambda: prefix + source, partial(extract, source, file.language))
    except UnparsableError:
        raise SkippedError("too complex to parse") from None


def _report_skipped(
    skipped: defaultdict[str, list[str]], broken: list[str], place: str
) -> Iterator[Diagnostic]:
    for reason, paths in sorted(skipped.items()):
        message = f"{_files(paths)} skipped: {reason} ({_some(paths)})"
        yield info(Code.CODE_SKIPPED, message, place)
    if broken:
        message = f"{_files(broken)} with syntax errors: what could be parsed is used"
        yield info(Code.CODE_SKIPPED, f"{message} ({_some(broken)})", place)


def _files(paths: list[str]) -> str:
    return f"{len(paths):,} source file{'s' if len(paths) > 1 else ''}"


def _some(paths: list[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
