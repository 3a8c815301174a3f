"""Texts to write: for tools without generated texts, and for those whose texts are stale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mcpg.catalog.catalog import Catalog
from mcpg.catalog.definitions import definition_digest
from mcpg.catalog.hints import hints_from
from mcpg.catalog.model import Hints, Tool
from mcpg.enrich.file import STAMP, GeneratedFile, name_file
from mcpg.text.json_values import JsonObject

_DIGITS = 16


def digest_definition(tool: Tool) -> str:
    """Return the first digits of the digest of *tool*, as a prompt can show it."""
    return definition_digest(tool)[:_DIGITS]


class TextState(StrEnum):
    """The state of the generated texts of a tool."""

    CURRENT = "current"
    MISSING = "missing"
    CHANGED = "changed"
    """The definition of the tool has changed since."""
    OUTDATED = "outdated"
    """They are of an earlier prompt."""
    UNSTAMPED = "unstamped"
    """The definition that they were written for is unknown."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a file of generated texts, with the tools that its key means."""

    file: GeneratedFile
    key: str
    tools: tuple[Tool, ...]

    @property
    def members(self) -> JsonObject:
        """Its members, as they are in the file now."""
        return self.file.entries[self.key]

    @property
    def hints(self) -> Hints:
        """Its texts."""
        found = hints_from(self.members)
        return Hints(aliases=found.aliases, keywords=found.keywords, examples=found.examples)


@dataclass(frozen=True, slots=True)
class EnrichPlan:
    """The tools of a catalog with the states of their generated texts.

    Attributes:
        prompt: The version of the prompt.
        servers: The tools of each server that is not excluded.
        states: The state of each tool by its id.
        keys: The key of a new entry of each tool by its id.
        obsolete: Entries of servers in the catalog that no longer match a tool.
    """

    prompt: int
    servers: Mapping[str, tuple[Tool, ...]]
    states: Mapping[str, TextState]
    keys: Mapping[str, str]
    entries: Sequence[Entry]
    obsolete: Sequence[Entry]
    files: dict[Path, GeneratedFile]

    def list_tools(self, *, all_states: bool = False) -> Iterator[Tool]:
        """Yield the tools for which texts are to be written."""
        for tools in self.servers.values():
            for tool in tools:
                if all_states or self.states[tool.id] is not TextState.CURRENT:
                    yield tool

    def store(self, tool: Tool, texts: Hints, stamp: JsonObject, path: Path) -> GeneratedFile:
        """Put *texts* into the file that has an entry of *tool*, else into that at *path*.

        The file is not written yet.
        """
        own = (one for one in self.entries if one.tools == (tool,))
        entry = next(own, None)
        if entry is None:
            file = self.files.setdefault(path.resolve(), GeneratedFile(path))
            key = self.keys[tool.id]
        else:
            file, key = entry.file, entry.key
        file.entries[key] = {
            "aliases": list(texts.aliases),
            "keywords": list(texts.keywords),
            "examples": [{"input": one.input} for one in texts.examples],
            STAMP: {"definition": digest_definition(tool), "prompt": self.prompt, **stamp},
        }
        return file


def make_plan(
    catalog: Catalog,
    files: Iterable[GeneratedFile],
    prompt: int,
    excluded: Collection[str] = (),
) -> EnrichPlan:
    """Compare the tools of *catalog* with the entries of *files*.

    The tools that a pattern of *excluded* matches are left out.
    """
    left_out = {tool.id for pattern in excluded for tool in catalog.matching(pattern)}
    servers: defaultdict[str, list[Tool]] = defaultdict(list)
    for tool in catalog.tools:
        if tool.id not in left_out:
            servers[tool.source_id].append(tool)
    stores = {file.path.resolve(): file for file in files}
    found = [
        Entry(file, key, catalog.matching(key)) for file in stores.values() for key in file.entries
    ]
    by_tool: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in found:
        for tool in entry.tools:
            by_tool[tool.id].append(entry)
    states = {
        tool.id: _find_state(tool, by_tool[tool.id], prompt)
        for tools in servers.values()
        for tool in tools
    }
    present = {tool.source_id.casefold() for tool in catalog.tools}
    gone = [
        one
        for one in found
        if not one.tools and one.key.rpartition("::")[0].strip().casefold() in present
    ]
    keys: dict[str, str] = {}
    for tool in catalog.tools:
        key = "::".join(tool.key)
        keys[tool.id] = key if catalog.matching(key) == (tool,) else tool.id
    fixed = {name: tuple(tools) for name, tools in sorted(servers.items())}
    used = [one for one in found if one.tools]
    return EnrichPlan(prompt, fixed, states, keys, used, gone, stores)


def _find_state(tool: Tool, entries: Sequence[Entry], prompt: int) -> TextState:
    """Return current if one of *entries* is, else the state of the first."""
    digest = digest_definition(tool)
    found = [_find_entry_state(one, digest, prompt) for one in entries]
    if TextState.CURRENT in found:
        return TextState.CURRENT
    return found[0] if found else TextState.MISSING


def _find_entry_state(entry: Entry, digest: str, prompt: int) -> TextState:
    stamp = entry.members.get(STAMP)
    stated = stamp if isinstance(stamp, dict) else {}
    version = stated.get("prompt")
    if not stated.get("definition"):
        return TextState.UNSTAMPED
    if stated["definition"] != digest:
        return TextState.CHANGED
    is_old = not isinstance(version, int) or version < prompt
    return TextState.OUTDATED if is_old else TextState.CURRENT


def choose_file(tool: Tool, plan: EnrichPlan, paths: Sequence[str], folder: str | None) -> Path:
    """Return the file for the texts of the server of *tool*: in *folder*, else beside its source.

    *paths* are the files and folders that are read.
    """
    name = name_file(tool.source_id, plan.servers)
    if folder is not None:
        return Path(folder) / name
    for path in map(Path, paths):
        if is_below(tool.place, path):
            return (path if path.is_dir() else path.parent) / name
    folders = [path for path in map(Path, paths) if path.is_dir()]
    return (folders[0] if folders else Path()) / name


def is_below(place: str, path: Path) -> bool:
    """Return whether *place* of a tool is the file *path*, or is in the folder."""
    if path == Path():
        return not Path(place).is_absolute()
    start, rest = str(path), place.removeprefix("./")
    return rest.startswith(start) and rest[len(start) : len(start) + 1] in ("", ":", "/", "\\")
