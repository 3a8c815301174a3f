"""Finding tools by what they are called: an id, `source::name`, a raw name, or a glob."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Generic, Protocol, TypeVar

from mcpg.errors import NotFoundError
from mcpg.suggestions import Suggester

_SIGNS_OF_GLOBS = "*?["
_SUGGESTIONS = 3
# What is said of a name that is no one's: so many tools, so many characters.
_NAMED = 5
_SHOWN = 120


class NamedTool(Protocol):
    """What a tool is called."""

    @property
    def id(self) -> str: ...

    @property
    def source_id(self) -> str: ...

    @property
    def name(self) -> str: ...


AnyTool = TypeVar("AnyTool", bound=NamedTool)


class ToolLookup(Generic[AnyTool]):
    """Finds tools by id, name or glob, ignoring case.

    Names are looked up in tables, which are made when they are needed; only globs look at every
    tool.
    """

    def __init__(self, tools: Sequence[AnyTool]) -> None:
        self._tools = tuple(tools)

    @cached_property
    def _by_id(self) -> dict[str, AnyTool]:
        return {tool.id.casefold(): tool for tool in self._tools}

    @cached_property
    def _keys(self) -> list[tuple[str, ...]]:
        return [tuple(dict.fromkeys(_keys(tool))) for tool in self._tools]

    @cached_property
    def _by_key(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for index, keys in enumerate(self._keys):
            for key in keys:
                found[key].append(index)
        return found

    @cached_property
    def _suggester(self) -> Suggester:
        from mcpg.suggestions import Suggester  # noqa: PLC0415 - most names are right

        return Suggester(dict.fromkeys(one for tool in self._tools for one in (tool.id, tool.name)))

    def get(self, tool_id: str) -> AnyTool | None:
        """Return the tool of this id, or `None`."""
        return self._by_id.get(tool_id.strip().casefold())

    def is_name(self, pattern: str) -> bool:
        """Return whether *pattern* is an id, a `source::name` or a raw name as it stands."""
        wanted = pattern.strip().casefold()
        return wanted in self._by_id or wanted in self._by_key

    def matching(self, pattern: str) -> tuple[AnyTool, ...]:
        """Return the tools that an id, `source::name`, raw name or glob over any of these means.

        An id means its one tool, whatever other tools are called.
        """
        wanted = pattern.strip().casefold()
        if wanted in self._by_id:
            return (self._by_id[wanted],)
        if wanted in self._by_key:
            return tuple(self._tools[index] for index in self._by_key[wanted])
        is_glob = any(sign in wanted for sign in _SIGNS_OF_GLOBS)
        return tuple(self._match_glob(wanted)) if is_glob else ()

    def find_named(self, name: str) -> AnyTool:
        """Return the one tool that *name* means, as `matching` finds it.

        Raises:
            NotFoundError: No tool is called so, or several are.
        """
        found = self.matching(name)
        if len(found) == 1:
            return found[0]
        if found:
            names = _either([tool.id for tool in found[:_NAMED]])
            message = f"{name[:_SHOWN]!r} is the name of {len(found)} tools"
            raise NotFoundError(message, remedy=f"use {names}")
        near = self.suggest(name)
        advice = f"did you mean {_either(near)}?" if near else "see `mcpg list`"
        raise NotFoundError(f"no tool is called {name[:_SHOWN]!r}", remedy=advice)

    def suggest(self, reference: str) -> tuple[str, ...]:
        """Return up to three ids that *reference* may be a slip of, the likeliest first."""
        # A tool may be named with a source that it does not have.
        names = dict.fromkeys((reference, reference.rpartition("::")[2]))
        near = (one for name in names for one in self._suggester.suggest(name, 2 * _SUGGESTIONS))
        found = (self._tools[at].id for one in near for at in self._by_key[one.casefold()])
        return tuple(islice(dict.fromkeys(found), _SUGGESTIONS))

    def _match_glob(self, pattern: str) -> Iterator[AnyTool]:
        import fnmatch  # noqa: PLC0415 - most tools are named by their names
        import re  # noqa: PLC0415 - as above

        matches = re.compile(fnmatch.translate(pattern)).match
        for tool, keys in zip(self._tools, self._keys, strict=True):
            if any(matches(key) for key in keys):
                yield tool


def _keys(tool: NamedTool) -> tuple[str, str, str]:
    name = tool.name.casefold()
    return tool.id.casefold(), f"{tool.source_id.casefold()}::{name}", name


def _either(names: Sequence[str]) -> str:
    *head, last = names
    return f"{', '.join(head)} or {last}" if head else last
