"""Finding tools by what a person or a hints file calls them."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.catalog.model import Tool

_GLOB = re.compile(r"[*?\[]")
_GRAM = 3
_SHORTLIST = 40
_SUGGESTIONS = 3
_LIKENESS = 0.6


class ToolLookup:
    """Answers which tools of a catalogue a name or glob means, in any case.

    Names are looked up in tables; only globs look at every tool.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tuple(tools)
        self._by_id = {tool.id.casefold(): tool for tool in self._tools}
        self._by_key: dict[str, list[int]] = defaultdict(list)
        self._keys = [tuple(dict.fromkeys(_keys(tool))) for tool in self._tools]
        for index, keys in enumerate(self._keys):
            for key in keys:
                self._by_key[key].append(index)
        self._grams: dict[str, list[int]] | None = None

    def get(self, tool_id: str) -> Tool | None:
        """Give the tool of this id, or `None`."""
        return self._by_id.get(tool_id.strip().casefold())

    def is_name(self, pattern: str) -> bool:
        """Return whether *pattern* is an id, a `source::name` or a raw name as it stands."""
        wanted = pattern.strip().casefold()
        return wanted in self._by_id or wanted in self._by_key

    def matching(self, pattern: str) -> tuple[Tool, ...]:
        """Give the tools that an id, `source::name`, raw name or glob over any of these means.

        An id means its one tool, whatever other tools are called.
        """
        wanted = pattern.strip().casefold()
        if wanted in self._by_id:
            return (self._by_id[wanted],)
        if wanted in self._by_key:
            return tuple(self._tools[index] for index in self._by_key[wanted])
        return tuple(self._globbed(wanted)) if _GLOB.search(wanted) else ()

    def suggest(self, reference: str) -> tuple[str, ...]:
        """Give up to three ids that *reference* may be a slip of, the likeliest first."""
        wanted = reference.strip().casefold()
        names = {wanted, wanted.rpartition("::")[2]}
        grams = [gram for name in sorted(names) for gram in _grams(name)]
        counts = Counter(index for gram in grams for index in self._with(gram))
        shortlist = sorted(counts, key=lambda index: (-counts[index], index))[:_SHORTLIST]
        scores = {
            self._tools[index].id: max(
                difflib.SequenceMatcher(None, name, key).ratio()
                for key in self._keys[index]
                for name in names
            )
            for index in shortlist
        }
        close = [tool_id for tool_id, score in scores.items() if score >= _LIKENESS]
        return tuple(sorted(close, key=lambda tool_id: (-scores[tool_id], tool_id))[:_SUGGESTIONS])

    def _globbed(self, pattern: str) -> Iterator[Tool]:
        matches = re.compile(fnmatch.translate(pattern)).match
        for tool, keys in zip(self._tools, self._keys, strict=True):
            if any(matches(key) for key in keys):
                yield tool

    def _with(self, gram: str) -> list[int]:
        """Give the tools that have *gram* in one of their names; the table is made when needed."""
        if self._grams is None:
            self._grams = defaultdict(list)
            for index, keys in enumerate(self._keys):
                for found in dict.fromkeys(gram for key in keys for gram in _grams(key)):
                    self._grams[found].append(index)
        return self._grams.get(gram, [])


def _keys(tool: Tool) -> tuple[str, str, str]:
    name = tool.name.casefold()
    return tool.id.casefold(), f"{tool.source_id.casefold()}::{name}", name


def _grams(text: str) -> list[str]:
    padded = f" {text} "
    return [padded[at : at + _GRAM] for at in range(max(1, len(padded) - _GRAM + 1))]
