"""Views: the part of a gateway that a client sees.

Hidden tools do not exist for a view's clients: the index of a view is built only from its tools.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase

from mcpg.bundle.assemble import Assembly
from mcpg.catalog.definitions import Key
from mcpg.catalog.model import SourceDocument, Tool
from mcpg.documents.model import ToolDocument
from mcpg.errors import Code, Diagnostic, UsageError, warning
from mcpg.gateway.registry import SourceReading
from mcpg.review.lock_sources import find_texts, keep_documents
from mcpg.sources.model import SourceBatch
from mcpg.sources.registry import FileSource, ServerSource, Source

_SHOWN = 80


class ItemKind(StrEnum):
    """The kinds of items that a view can show."""

    TOOL = "tool"
    PROMPT = "prompt"
    RESOURCE = "resource"
    """Resources and resource templates."""
    SKILL = "skill"
    """Skills, and the resources that are their files."""
    PAGE = "page"
    """Documents that describe no tool, such as those of source code."""


_LISTED = (ItemKind.PROMPT, ItemKind.RESOURCE, ItemKind.SKILL)
"""What servers list beside tools."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions on items, each a list of names or globs, in any case; empty for no condition.

    Attributes:
        servers: Ids of sources, and source ids of tools in files.
        categories: Categories of tools.
        tools: Tools by id, `source::name` or name.
    """

    servers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def matches_server(self, *names: str) -> bool:
        return _is_any(names, self.servers)

    def matches_tool(self, tool: Tool, *servers: str) -> bool:
        """Return whether *tool* of the server with these names is among `tools`."""
        names = (f"{server}::{tool.name}" for server in servers)
        return _is_any((tool.id, tool.name, *names), self.tools)

    def matches_category(self, tool: Tool) -> bool:
        return _is_any(tool.hints.categories, self.categories)

    def may_match_tools_of(self, *names: str) -> bool:
        """Return whether the patterns of `tools` may match a tool of the server with these *names*.

        Patterns without `::` match tools of any server.
        """
        owners = [one.rpartition("::")[0] for one in self.tools]
        return not all(owners) or not owners or _is_any(names, owners)


def _is_any(names: Iterable[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return False
    folded = [one.casefold() for one in patterns]
    return any(
        name in folded or any(fnmatchcase(name, one) for one in folded)
        for name in (name.casefold() for name in names)
    )


@dataclass(frozen=True, slots=True)
class View:
    """The part of a gateway that its clients see.

    An item is shown if it meets every condition of *allow*, none of *deny*, and the others.

    Attributes:
        name: The name of the view.
        read_only: Whether only tools with the hint that they only read are shown.
        kinds: The kinds that are shown. `None` for all, or, since prompts, resources, skills and
            pages are neither tools nor of a category, for tools only if *allow* has tools or
            categories.

    Raises:
        UsageError: It has no condition, and would show everything.
    """

    name: str
    allow: Selection = field(default_factory=Selection)
    deny: Selection = field(default_factory=Selection)
    read_only: bool = False
    kinds: frozenset[ItemKind] | None = None

    def __post_init__(self) -> None:
        nothing = Selection()
        if not self.read_only and not self.kinds and self.allow == self.deny == nothing:
            message = f"the view {self.name!r} has no condition, and would show everything"
            remedy = "set servers, categories, tools, kinds, read_only or deny"
            raise UsageError(message, place=f"views.{self.name}", remedy=remedy)

    def shows_kind(self, kind: ItemKind) -> bool:
        if self.kinds is not None:
            return kind in self.kinds
        return kind is ItemKind.TOOL or not (self.allow.tools or self.allow.categories)

    def shows_server(self, *names: str) -> bool:
        """Return whether items of the server with these *names* may be shown."""
        is_allowed = not self.allow.servers or self.allow.matches_server(*names)
        return is_allowed and not self.deny.matches_server(*names)

    def shows_tool(self, tool: Tool, owner: Source | None = None) -> bool:
        """Return whether *tool* of the source *owner* is shown, by its id and hints.

        A server that the configuration does not name chooses its own name. That name can hide its
        tools, and not show them.
        """
        allow, deny = self.allow, self.deny
        is_claimed = isinstance(owner, ServerSource) and owner.server.name is None
        names = (owner.id,) if owner is not None else ()
        every = (*names, tool.source_id)
        names = names if is_claimed else every
        return (
            self.shows_kind(ItemKind.TOOL)
            and self.shows_server(*names)
            and (not allow.tools or allow.matches_tool(tool, *names))
            and (not allow.categories or allow.matches_category(tool))
            and not (deny.matches_server(*every) or deny.matches_tool(tool, *every))
            and not deny.matches_category(tool)
            and (not self.read_only or tool.hints.read_only is True)
        )

    def may_show(self, source: Source) -> bool:
        """Return whether anything of *source* may be shown.

        Files may have tools and skills of any server, and name it themselves, so that only the name
        in the configuration is sure to hide them.
        """
        if isinstance(source, FileSource):
            return not self.deny.matches_server(*name_server(source))
        return self.may_name(source)

    def may_name(self, source: Source) -> bool:
        """Return whether the names of *source* surely belong to a server that is shown."""
        names = name_server(source)
        others = map(self.shows_kind, _LISTED)
        has_tools = self.shows_kind(ItemKind.TOOL) and self.allow.may_match_tools_of(*names)
        return self.shows_server(*names) and (has_tools or any(others))

    def is_sure_to_show(self, source: Source) -> bool:
        """Return whether *source* is shown regardless of its tools, or the view itself names it."""
        names, allow = name_server(source), self.allow
        is_open = not (allow.tools or allow.categories or self.read_only)
        others = map(self.shows_kind, _LISTED)
        owners = {one.rpartition("::")[0].casefold() for one in allow.tools}
        is_named = bool(allow.servers) or any(one.casefold() in owners for one in names)
        return self.may_name(source) and (is_open or any(others) or is_named)


def name_server(source: Source) -> tuple[str, ...]:
    """Return the id of *source*, and its server's name in the configuration."""
    name = source.server.name if isinstance(source, ServerSource) else None
    return (source.id,) if name is None else (source.id, name)


def report_unmatched(
    view: View, tools: Sequence[Tool], servers: Iterable[str], unread: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a warning for each name in *view* that matches none of *tools* and *servers*.

    Names that may match items of the *unread* servers are not reported.
    """
    servers = {*servers, *unread, *(one.source_id for one in tools)}
    categories = {name for one in tools for name in one.hints.categories}
    for part in (view.allow, view.deny):
        for name in part.servers:
            if not _is_any(servers, [name]):
                yield _report_name(view, "server", name)
        for name in part.categories if not unread else ():
            if not _is_any(categories, [name]):
                yield _report_name(view, "category", name)
        for name in part.tools:
            selected = Selection(tools=(name,))
            is_unread = bool(unread) and selected.may_match_tools_of(*unread)
            if not is_unread and not any(selected.matches_tool(one, *servers) for one in tools):
                yield _report_name(view, "tool", name)


def _report_name(view: View, kind: str, name: str) -> Diagnostic:
    message = f"the view {view.name!r} names the {kind} {name[:_SHOWN]!r}, which does not exist"
    return warning(Code.SERVED_NAME_UNKNOWN, message, f"views.{view.name}")


@dataclass(frozen=True, slots=True)
class ShownItems:
    """The part of an index that views show.

    Attributes:
        tools: The tools, by identity.
        pages: Paths of the documents that describe no tool.
    """

    tools: frozenset[Key]
    pages: frozenset[str]


def is_shown_whole(reading: SourceReading, shown: ShownItems, views: Iterable[View]) -> bool:
    """Return whether views show all items of a source."""
    tools = reading.batch.tools
    is_named = all(view.may_name(reading.source) for view in views)
    has_others = reading.batch.documents or reading.batch.bundles or reading.batch.rules
    return is_named and not has_others and all(one.key in shown.tools for one in tools)


def narrow_batch(batch: SourceBatch, shown: ShownItems, whole: Assembly) -> SourceBatch:
    """Return the *shown* part of *batch*, from which *whole* is assembled."""
    kept = {*find_texts(whole.read, shown.tools)}
    of_tools = {*find_texts(whole.read, {item.document.tool.key for item in whole.read})}

    def is_kept(one: SourceDocument) -> bool:
        return one in kept or (one.path in shown.pages and one not in of_tools)

    tools = tuple(one for one in batch.tools if one.key in shown.tools)
    return keep_documents(replace(batch, tools=tools), is_kept)


def drop_broken_links(assembly: Assembly, whole: Assembly) -> Assembly:
    """Return *assembly* without links to items that only *whole* has."""
    documents = (*whole.documents, *whole.pages)
    known = {link.target for one in documents for link in one.links} - whole.by_uri.keys()
    known |= assembly.by_uri.keys()

    def keep_links(document: ToolDocument) -> ToolDocument:
        links = tuple(link for link in document.links if link.target in known)
        return document if links == document.links else replace(document, links=links)

    return replace(
        assembly,
        documents=tuple(map(keep_links, assembly.documents)),
        pages=tuple(map(keep_links, assembly.pages)),
    )
