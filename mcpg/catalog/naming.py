"""Tool ids: short, safe, unique, and the same whatever order the tools came in.

The rules are those of the .NET gateway, so that an id means the same tool on both sides; but a name
of which nothing can be kept has a hash in its id here, for a fallback that the first such tool gets
would come to mean another tool when one is added.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from mcpg.diagnostics import Code, Diagnostic, info

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcpg.catalog.model import Tool

MAX_LENGTH = 64
"""Longest id, in characters; the limit that model providers set for tool names."""

TOOL_FALLBACK = "gateway_tool"
SOURCE_FALLBACK = "source"

_KEPT_OF_LONG = 55
_HASH_DIGITS = 8
_EDGE = "_-"
_RUN = re.compile(r"[A-Za-z0-9_-]+")


def normalize(value: str, fallback: str) -> str:
    """Turn any text into a name of at most 64 characters out of `a-z`, `0-9`, `_` and `-`.

    Args:
        value: A name as its server gives it.
        fallback: What to return when nothing of *value* can be kept.

    Returns:
        The name; an over-long one is cut and ends in a hash of its whole text.
    """
    return _kept(value) or fallback


def _kept(value: str) -> str:
    name = ""
    for run in _RUN.findall(value):
        name += run if not name or name.endswith("_") else f"_{run}"
    return _shorten(name.lower().strip(_EDGE))


def source_qualified(source_id: str, name: str, fallback: str) -> str:
    """Put the source before the name, unless the name already begins with it."""
    source = normalize(source_id, SOURCE_FALLBACK)
    tool = normalize(name, fallback)
    if tool.startswith((f"{source}_", f"{source}-")):
        return tool
    return _shorten(f"{source}_{tool}")


def append_suffix(name: str, suffix: str) -> str:
    """Add *suffix* to *name*, cutting the name so that both fit into 64 characters."""
    if len(name) + len(suffix) <= MAX_LENGTH:
        return name + suffix
    return name[: MAX_LENGTH - len(suffix)].rstrip(_EDGE) + suffix


def tool_id(
    source_id: str, name: str, reserved: Collection[str], *, require_source_prefix: bool
) -> str:
    """Find an id for one tool.

    Args:
        source_id: Where the tool comes from, as given.
        name: The tool's name, as given.
        reserved: Ids that are taken, in any case.
        require_source_prefix: Whether the id has to name the source.

    Returns:
        The first free of: the name, the source and the name, that with a hash, that with a number.
        Where nothing of the name can be kept, or nothing of a source that it has to name, the
        first is the one with a hash.
    """
    pool = _IdPool(reserved)
    return pool.take(source_id, name, require_source_prefix=require_source_prefix)


def assign_ids(
    tools: Iterable[Tool], reserved: Collection[str] = ()
) -> tuple[tuple[Tool, ...], tuple[Diagnostic, ...]]:
    """Give every tool of a catalogue its id.

    A tool whose normalised name nobody else has is called so; where several tools share one, each
    is called by its source and name, with a diagnostic. See `tool_id` for what follows when these
    are taken, too, or nothing of them can be kept.

    Args:
        tools: All tools of the catalogue; ids that they carry are not looked at.
        reserved: Ids that no tool may get, in any case.

    Returns:
        The tools sorted by id, and what was noticed. Neither depends on the order of *tools*.
    """
    ordered = in_stable_order(tools)
    names = [_alone(tool.source_id, tool.name) for tool in ordered]
    holders = Counter(names)
    pool = _IdPool(reserved)
    assigned: list[Tool] = []
    diagnostics: list[Diagnostic] = []
    # Sole holders come first, so that no qualified name can take theirs away.
    pairs = sorted(zip(ordered, names, strict=True), key=lambda pair: holders[pair[1]] > 1)
    for tool, name in pairs:
        shared = holders[name] > 1
        found = pool.take(tool.source_id, tool.name, require_source_prefix=shared)
        assigned.append(replace(tool, id=found))
        if shared or found != name:
            diagnostics.append(_not_its_name(assigned[-1], name, holders[name]))
    return tuple(sorted(assigned, key=lambda tool: tool.id)), tuple(diagnostics)


def in_stable_order(tools: Iterable[Tool]) -> list[Tool]:
    """Sort tools by source, name and content, so that nothing depends on the order they came in."""
    ordered: list[Tool] = []
    by_name = sorted(tools, key=lambda tool: (tool.source_id, tool.name))
    for _, group in itertools.groupby(by_name, key=lambda tool: (tool.source_id, tool.name)):
        members = list(group)
        ordered.extend(sorted(members, key=content_key) if len(members) > 1 else members)
    return ordered


def content_key(tool: Tool) -> str:
    """Write all that a tool says, but its id and place, as one canonical text."""
    content = [
        tool.source_id,
        tool.name,
        tool.title,
        tool.description,
        tool.input_schema,
        tool.output_schema,
        tool.annotations,
        tool.meta,
        asdict(tool.hints),
        tool.source_kind,
    ]
    return json.dumps(content, sort_keys=True)


class _IdPool:
    """Ids that are taken, and how far numbering has come for each hashed one."""

    def __init__(self, reserved: Collection[str]) -> None:
        self._taken = {item.casefold() for item in reserved}
        self._numbers: dict[str, int] = {}

    def take(self, source_id: str, name: str, *, require_source_prefix: bool) -> str:
        """Find the first free id and mark it as taken."""
        found = self._free(source_id, name, require_source_prefix=require_source_prefix)
        self._taken.add(found)
        return found

    def _free(self, source_id: str, name: str, *, require_source_prefix: bool) -> str:
        alone = _alone(source_id, name)
        if not require_source_prefix and alone not in self._taken:
            return alone
        qualified = source_qualified(source_id, name, TOOL_FALLBACK)
        if qualified not in self._taken and _kept(name) and _kept(source_id):
            return qualified
        hashed = _hashed(source_id, name)
        return hashed if hashed not in self._taken else self._numbered(hashed)

    def _numbered(self, hashed: str) -> str:
        # Numbering goes on where it stopped: thousands of namesakes must not cost a square.
        number = self._numbers.get(hashed, 2)
        while (found := append_suffix(hashed, f"_{number}")) in self._taken:
            number += 1
        self._numbers[hashed] = number + 1
        return found


def _alone(source_id: str, name: str) -> str:
    """Return the id of a tool that shares its name with no other."""
    return _kept(name) or _hashed(source_id, name)


def _hashed(source_id: str, name: str) -> str:
    qualified = source_qualified(source_id, name, TOOL_FALLBACK)
    return append_suffix(qualified, f"_{_identity_hash(source_id, name)}")


def _identity_hash(source_id: str, name: str) -> str:
    # The length in front keeps ("ab", "c") apart from ("a", "bc").
    source = source_id.encode("utf-8", "surrogatepass")
    content = len(source).to_bytes(4, "big") + source + name.encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:_HASH_DIGITS]


def _shorten(name: str) -> str:
    if len(name) <= MAX_LENGTH:
        return name
    digest = hashlib.sha256(name.encode("utf-8")).hexdigest()[:_HASH_DIGITS]
    return f"{name[:_KEPT_OF_LONG].rstrip(_EDGE)}_{digest}"


def _not_its_name(tool: Tool, name: str, holders: int) -> Diagnostic:
    why = f"{holders} tools are called {name!r}" if holders > 1 else f"the id {name!r} is taken"
    message = f"{why}, so {tool.name!r} of source {tool.source_id!r} has the id {tool.id!r}"
    return info(Code.DUPLICATE_TOOL_ID, message, tool.place or None)
