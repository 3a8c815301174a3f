"""Source code: the symbols of a folder's source files and the edges between them, as pages."""

from __future__ import annotations

import marshal
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from mcpg.caching.build_cache import NO_BUILD_CACHE, BuildCache, ResultKind, encode_parts
from mcpg.catalog.model import SourceDocument
from mcpg.code.extract import extract
from mcpg.code.facts import SourceFacts, decode_facts, encode_facts
from mcpg.code.languages import (
    GRAMMARS,
    USES,
    UnparsableError,
    check_installed,
    language_of_name,
    query_text,
)
from mcpg.code.link import link
from mcpg.code.model import CodeFile, write_page
from mcpg.code.modules import MANIFESTS
from mcpg.code.scip import SUFFIX, ScipDocument, read_index, use_indexes
from mcpg.errors import Code, Diagnostic, InputError, McpgError, NotFoundError, info, warning
from mcpg.files import exists, is_file, is_link, read_bytes, text_of_path
from mcpg.plugins.hooks import SourceContent, SourceRequest
from mcpg.sources.model import CODE

_TOKEN = re.compile(r"\\(.)|(\*+)|(\?)|\[([!^]?+)(\]?+(?:\\.|[^\]\\])*)\]|(.)", re.DOTALL)
_IN_SET = re.compile(r"\\(.)|([^-]|(?<=.-)-)", re.DOTALL)
_TRAILING_BLANKS = re.compile(r"(?<!\\)[ \r]+\Z")
_ANY_FOLDERS = "(?:[^/]+/)*"
_LONGEST = 1024  # compiling takes long


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of a `.gitignore` file.

    Attributes:
        path: Matches whole paths, relative to the folder of the file.
    """

    path: re.Pattern[str]
    is_for_folders: bool
    ignores: bool


def read_rules(text: str) -> Iterator[IgnoreRule]:
    """Yield the rules of a `.gitignore` file in their order; an invalid line makes none."""
    for line in text.split("\n"):
        pattern = _TRAILING_BLANKS.sub("", line)
        negated = pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        if pattern.strip("/") and not line.startswith("#") and len(pattern) <= _LONGEST:
            try:
                path = re.compile(_path(pattern), re.DOTALL)
            except re.error:  # such as a range from z to a
                continue
            yield IgnoreRule(path, pattern.endswith("/"), not negated)


def _path(pattern: str) -> str:
    """Translate a pattern of paths to a regular expression."""
    names = pattern.strip("/").split("/")
    if "/" not in pattern.rstrip("/"):
        names.insert(0, "**")
    parts: list[list[str]] = [[]]
    for name in names:
        if name == "**":
            parts.append([])
        else:
            parts[-1].append(_name(name))
    first, *others = ("".join(f"{name}/" for name in part) for part in parts)
    if not others:
        return first.removesuffix("/")
    *middle, last = others
    inner = "".join(f"(?>{_ANY_FOLDERS}?{part})" for part in middle if part)
    return f"{first}{inner}{_ANY_FOLDERS}{last.removesuffix('/') or '[^/]+'}"


def _name(pattern: str) -> str:
    """Translate a pattern of names, without a slash, to a regular expression."""
    chunks = [""]
    for token in _TOKEN.finditer(pattern):
        escaped, stars, question, negation, members, plain = token.groups()
        if stars:
            chunks.append("")
        elif question:
            chunks[-1] += "[^/]"
        elif members:
            kept = _IN_SET.sub(lambda one: re.escape(one[1] or one[2]), members)
            chunks[-1] += f"[^/{kept}]" if negation else f"[{kept}]"
        else:
            chunks[-1] += re.escape(escaped or plain)
    first, *others = chunks
    if not others:
        return first
    *middle, last = others
    return f"{first}{''.join(f'(?>[^/]*?{one})' for one in middle)}[^/]*{last}"


MOST_BYTES = 1024 * 1024
"""Longest source file that is parsed."""

_MOST_IGNORE_BYTES = 64 * 1024
_LONG_LINES = 400
_HEAD = 2048
# The marks of Go, C#, Meta and Google; see https://go.dev/s/generatedcode.
_GENERATED = re.compile(
    rb"Code generated .* DO NOT EDIT|@generated\b|<auto-?generated", re.IGNORECASE
)
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
# Installed packages and build output, in case no `.gitignore` names them.
_FOREIGN = frozenset({"node_modules", "__pycache__", "site-packages"})


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A source file of a folder.

    Attributes:
        path: Its path relative to the root of the repository, with `/`.
    """

    location: Path
    path: str
    language: str


@dataclass(frozen=True, slots=True)
class _Ignored:
    """The rules of one `.gitignore`, and those above it.

    Attributes:
        rules: The rules, the last one first.
    """

    folder: Path
    rules: tuple[IgnoreRule, ...]
    above: _Ignored | None

    def has(self, path: Path, *, is_folder: bool) -> bool:
        """Return whether *path* is ignored; the last matching rule of the nearest file decides."""
        name = path.relative_to(self.folder).as_posix()
        for rule in self.rules:
            if (is_folder or not rule.is_for_folders) and rule.path.fullmatch(name):
                return rule.ignores
        return self.above is not None and self.above.has(path, is_folder=is_folder)


def source_files(folder: Path, root: Path) -> Iterator[FoundFile]:
    """Find the source files in *folder*, sorted by path; *folder* may be such a file itself.

    Hidden entries, links, and files that `.gitignore` names are skipped. Links are not followed, so
    that circles end and no file outside the folder is read. The `.gitignore` files of *root*, the
    repository, also apply.
    """
    if is_file(folder):
        language = language_of_name(folder.name)
        if language:
            yield FoundFile(folder, text_of_path(folder.relative_to(root).as_posix()), language)
        return
    above: _Ignored | None = None
    between = folder.relative_to(root).parts
    for depth in range(len(between)):
        above = _with_rules(root.joinpath(*between[:depth]), above)
    stack = [(folder, above)]
    while stack:
        here, outer = stack.pop()
        rules = _with_rules(here, outer)
        files, folders = _list_folder(here)
        for path in files:
            language = language_of_name(path.name)
            if language and not (rules and rules.has(path, is_folder=False)):
                yield FoundFile(path, path.relative_to(root).as_posix(), language)
        stack += [
            (path, rules)
            for path in reversed(folders)
            if not (rules and rules.has(path, is_folder=True))
        ]


def _list_folder(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the files and the folders in *folder*, sorted, without hidden ones and links."""
    files: list[Path] = []
    folders: list[Path] = []
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda one: one.name)
    except OSError:
        return files, folders
    for entry in entries:
        name = entry.name
        is_unicode = name.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in name)
        with suppress(OSError):
            if name.startswith(".") or not is_unicode:
                continue
            if entry.is_file(follow_symlinks=False):
                files.append(Path(entry.path))
            elif entry.is_dir(follow_symlinks=False) and name not in _FOREIGN:
                folders.append(Path(entry.path))
    return files, folders


def _with_rules(folder: Path, above: _Ignored | None) -> _Ignored | None:
    place = folder / ".gitignore"
    if is_link(place) or not is_file(place):
        return above
    try:
        text = read_bytes(place, _MOST_IGNORE_BYTES).decode("utf-8-sig", "replace")
    except InputError:
        return above
    return _Ignored(folder, tuple(read_rules(text))[::-1], above)


class SkippedError(Exception):
    """A source file is not parsed; the message is the reason."""


def read_source(location: Path) -> bytes:
    """Read a source file as UTF-8 with LF line ends.

    If parsing it is of no use, this is a `SkippedError`.
    """
    try:
        data = read_bytes(location, MOST_BYTES)
    except InputError as fault:
        too_big = "is larger than" in fault.message
        reason = f"larger than {MOST_BYTES:,} bytes" if too_big else fault.message
        raise SkippedError(reason) from fault
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        # Every byte is a character of Latin-1, so names in ASCII stay readable.
        text = data.decode("latin-1")
    if "\0" in text:
        raise SkippedError("binary")
    source = text.replace("\r\n", "\n").replace("\r", "\n").encode()
    lines = source.count(b"\n") + 1
    if len(source) > _LONG_LINES * lines and len(source) > _HEAD:
        raise SkippedError("minified")
    if _GENERATED.search(source, 0, _HEAD):
        raise SkippedError("generated")
    return source


_MOST_BYTES = 1024 * 1024
_SHORT_HASH = 12
_ORIGIN = re.compile(r'^\[remote "origin"\][^\[]*?^[ \t]*+url[ \t]*+=[ \t]*+(\S+)', re.MULTILINE)
_BEFORE_NAME = re.compile(r"[/:\\@]")


@dataclass(frozen=True, slots=True)
class Repository:
    """The origin of source files.

    Attributes:
        root: The folder of the repository, or the folder that was named without one.
        name: Last part of the address of its origin, else the name of the folder.
    """

    root: Path
    name: str
    branch: str


def find_repository(folder: Path) -> Repository:
    """Find the repository of *folder*."""
    here = folder.resolve()
    for root in (here, *here.parents):
        git = root / ".git"
        if git.is_file():
            # A worktree or submodule names its folder in a file.
            kind, _, place = _read(git).strip().partition(": ")
            git = root / place if kind == "gitdir" else git
        if (git / "HEAD").is_file():
            place = _read(git / "commondir").strip()
            common = git / place if place else git
            origin = _ORIGIN.search(_read(common / "config"))
            # Only the name: an address may contain a password.
            address = origin[1].rstrip("/") if origin else ""
            name = _BEFORE_NAME.split(address)[-1].removesuffix(".git")
            head = _read(git / "HEAD").strip()
            reference = head.removeprefix("ref: ")
            is_commit = reference == head
            branch = head[:_SHORT_HASH] if is_commit else reference.removeprefix("refs/heads/")
            return Repository(root, name or text_of_path(root.name), branch)
    return Repository(here, text_of_path(here.name), "")


def _read(path: Path) -> str:
    try:
        return read_bytes(path, _MOST_BYTES).decode("utf-8", "replace")
    except (McpgError, OSError):
        return ""


MOST_FILES = 200_000
"""Source files that are read."""

_NAMED = 3

FACTS: ResultKind[bytes] = ResultKind("code", bytes, bytes)
"""The encoded facts of source files, for the build cache."""

_Pages: TypeAlias = "tuple[tuple[SourceDocument, ...], list[str]]"


def _encode_pages(pages: _Pages) -> bytes:
    rows = [(one.path, one.content, one.canonical_uri) for one in pages[0]]
    return encode_parts((rows, pages[1]))


def _decode_pages(data: bytes) -> _Pages:
    rows, broken = marshal.loads(data)  # noqa: S302 - of this program, in a sealed file
    return tuple(SourceDocument(*row) for row in rows), broken


PAGES: ResultKind[_Pages] = ResultKind("code pages", _encode_pages, _decode_pages)
"""The pages of all files of a source, and the paths of those with errors, for the build cache."""


def read_pages(request: SourceRequest) -> SourceContent:
    """Read a source `code:PATH`: a page for every source file at PATH, a folder or a file."""
    check_installed(request.argument)
    place, memo = Path(request.argument.removeprefix(CODE)), request.memo or NO_BUILD_CACHE
    found = _read_sources(place, memo)
    if found.indexes:
        files, noticed = _link_indexed(found)
        return SourceContent(documents=tuple(map(write_page, files)), diagnostics=noticed)

    def write_pages() -> _Pages:
        files, broken = _link(found, found.decode())
        return tuple(map(write_page, files)), broken

    pages, broken = memo.recall(PAGES, lambda: encode_parts(found.parts), write_pages)
    return SourceContent(documents=pages, diagnostics=found.report(broken))


def read_files(
    place: Path, memo: BuildCache = NO_BUILD_CACHE
) -> tuple[list[CodeFile], tuple[Diagnostic, ...]]:
    """Read the symbols and edges of the source files at *place*."""
    found = _read_sources(place, memo)
    return _link_indexed(found)


@dataclass(frozen=True, slots=True)
class _Sources:
    """The source files at a place, each read for itself.

    Attributes:
        facts: Grammar and encoded facts of each file, by path.
        manifests: The texts of files such as `go.mod`, by path.
        indexes: The SCIP indexes that may describe the files.
        texts: The location and text of each file, by path; only if there are indexes.
        skipped: The paths of files that are not used, by reason.
        is_whole: Whether there are no more files than are read.
    """

    place: Path
    repository: Repository
    facts: dict[str, tuple[str, bytes]]
    manifests: dict[str, str]
    indexes: list[Path]
    texts: dict[str, tuple[Path, str]]
    skipped: dict[str, list[str]]
    is_whole: bool

    @property
    def parts(self) -> tuple[object, ...]:
        """All inputs of the pages, without indexes."""
        home = self.repository
        names = home.name, home.branch, text_of_path(home.root.name)
        return (*names, [*self.facts.items()], [*self.manifests.items()])

    def decode(self) -> dict[str, tuple[str, SourceFacts]]:
        return {path: (name, decode_facts(data)) for path, (name, data) in self.facts.items()}

    def report(self, broken: list[str]) -> tuple[Diagnostic, ...]:
        """Report which files were not used, wholly or in part."""
        place = str(self.place)
        what = [(f"skipped: {reason}", paths) for reason, paths in sorted(self.skipped.items())]
        if broken:
            what.append(("with syntax errors: the rest is used", broken))
        noticed = [info(Code.CODE_SKIPPED, _describe(paths, one), place) for one, paths in what]
        if not self.is_whole:
            message = f"there are more source files; the first {MOST_FILES:,} are used"
            noticed.append(warning(Code.SOURCE_INCOMPLETE, message, place))
        return tuple(noticed)


def _read_sources(place: Path, memo: BuildCache) -> _Sources:
    if not exists(place):
        raise NotFoundError("no such folder or file", place=str(place), remedy="check the path")
    here = place.resolve()
    repository = find_repository(here.parent if is_file(here) else here)
    indexes = _find_indexes(here, repository.root)
    here = here.parent if here in indexes else here
    skipped: defaultdict[str, list[str]] = defaultdict(list)
    facts: dict[str, tuple[str, bytes]] = {}
    texts: dict[str, tuple[Path, str]] = {}
    found = source_files(here, repository.root)
    for file in islice(found, MOST_FILES):
        try:
            source = read_source(file.location)
            facts[file.path] = (file.language, _facts(source, file.language, memo))
        except SkippedError as fault:
            skipped[str(fault)].append(file.path)
            continue
        if indexes:
            texts[file.path] = file.location, source.decode()
    manifests = _read_manifests(repository.root, facts)
    is_whole = next(found, None) is None
    return _Sources(place, repository, facts, manifests, indexes, texts, skipped, is_whole)


def _link(
    found: _Sources, facts: Mapping[str, tuple[str, SourceFacts]]
) -> tuple[list[CodeFile], list[str]]:
    """Link the files by syntax; return them, and the paths of those with errors."""
    home = found.repository
    root_name = text_of_path(home.root.name)
    files = link(facts, (home.name, home.branch), root_name, found.manifests)
    return files, sorted(path for path, (_, one) in facts.items() if one.has_errors)


def _link_indexed(found: _Sources) -> tuple[list[CodeFile], tuple[Diagnostic, ...]]:
    """Link the files, those that an index describes by that."""
    facts = found.decode()
    files, broken = _link(found, facts)
    noticed = found.report(broken)
    if not found.indexes:
        return files, noticed
    indexed = _IndexedFiles(found.indexes, found.texts, found.repository.root)
    texts = {path: text for path, (_, text) in found.texts.items() if path in indexed.documents}
    files = [
        replace(one, is_newer=True) if one.path in indexed.newer else one
        for one in use_indexes(files, facts, texts, indexed.documents)
    ]
    return files, (*noticed, *indexed.report(str(found.place)))


def _find_indexes(here: Path, root: Path) -> list[Path]:
    """Return the SCIP indexes in a folder and at the root of its repository, or the named one."""
    if is_file(here):
        return [here] if here.suffix == SUFFIX else []
    found = (path for folder in {here, root} for path in folder.glob(f"*{SUFFIX}"))
    return sorted(path for path in found if is_file(path) and not is_link(path))


class _IndexedFiles:
    """The documents of SCIP indexes that describe files as they are.

    Attributes:
        documents: The documents with their indexers, by path.
        newer: The paths of files that are newer than the index that describes them.
    """

    def __init__(self, indexes: list[Path], read: dict[str, tuple[Path, str]], root: Path) -> None:
        self.documents: dict[str, tuple[ScipDocument, str]] = {}
        self.newer: set[str] = set()
        self._outside: list[str] = []
        self._faults: list[Diagnostic] = []
        for place in indexes:
            try:
                index = read_index(place)
                made = place.stat().st_mtime
            except (InputError, OSError) as fault:
                reason = fault.message if isinstance(fault, InputError) else type(fault).__name__
                self._faults.append(warning(Code.CODE_INDEX_UNUSABLE, reason, str(place)))
                continue
            if not any(is_file(place.parent / one.path) for one in index.documents):
                reason = "it describes no file that is there; put it in the folder that was indexed"
                self._faults.append(warning(Code.CODE_INDEX_UNUSABLE, reason, str(place)))
            for one in index.documents:
                path = os.path.normpath(place.parent / one.path)
                name = Path(path).relative_to(root).as_posix() if _is_below(path, root) else ""
                if not name:
                    self._outside.append(one.path)
                elif name in read and read[name][0].stat().st_mtime > made:
                    self.newer.add(name)
                elif name in read:
                    self.documents[name] = one, index.indexer
        self.newer -= self.documents.keys()

    def report(self, place: str) -> Iterator[Diagnostic]:
        """Yield the parts of the indexes that were not used."""
        yield from self._faults
        if self.newer:
            what = "newer than the index: read without it; run the indexer again"
            yield warning(Code.CODE_INDEX_STALE, _describe(sorted(self.newer), what), place)
        if self._outside:
            what = "of the index outside the folder: ignored"
            yield warning(Code.CODE_INDEX_UNUSABLE, _describe(self._outside, what), place)


def _is_below(path: str, root: Path) -> bool:
    return Path(path).is_relative_to(root)


def _read_manifests(root: Path, facts: Mapping[str, tuple[str, bytes]]) -> dict[str, str]:
    """Read the files such as `go.mod` in the folders around the source files."""
    names = {
        (GRAMMARS[language].family, Path(path).parent) for path, (language, _) in facts.items()
    }
    places = {
        above / MANIFESTS[family]
        for family, folder in names
        if family in MANIFESTS
        for above in (folder, *folder.parents)
    }
    return {
        place.as_posix(): _read(root / place)
        for place in sorted(places)
        if is_file(root / place) and not is_link(root / place)
    }


def _facts(source: bytes, language: str, memo: BuildCache) -> bytes:
    queries = query_text(language) + query_text(language, USES)
    prefix = f"{language}\0{queries}\0".encode()
    try:
        work = partial(_extract, source, language)
        return memo.recall(FACTS, lambda: prefix + source, work)
    except UnparsableError:
        raise SkippedError("too complex to parse") from None


def _extract(source: bytes, language: str) -> bytes:
    return encode_facts(extract(source, language))


def _describe(paths: list[str], what: str) -> str:
    more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    files = f"{len(paths):,} source file{'s' if len(paths) > 1 else ''}"
    return f"{files} {what} ({', '.join(paths[:_NAMED])}{more})"
