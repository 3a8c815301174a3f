"""Hooks: the parts that a plugin can register.

A plugin is a `Plugin`, or a function that returns one. A package names it as an entry point of the
group `mcpg.plugins`; docs/how-to/plugins.md has an example. A reference, written `module:name`, is
imported when it is needed, so that `mcpg --help` imports none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from mcpg.errors import Diagnostic
from mcpg.values import JsonObject

Reference = str
"""`module:name`; the name may have dots."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the program, with one line of help.

    Attributes:
        module: The module whose function `register` adds it to a `typer.Typer`.
        after: The command below which it is listed; "" for the end.
    """

    name: str
    summary: str
    module: str
    after: str = ""


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """A source to read.

    Attributes:
        argument: The argument that names it.
        source_id: Source id of all its tools; `None` for its own.
        memo: Results of earlier builds, a `mcpg.caching.build_cache.BuildCache`.
    """

    argument: str
    source_id: str | None = None
    memo: Any = None


@dataclass(frozen=True, slots=True)
class SourceContent:
    """The content of a source.

    Attributes:
        tools: Tools as in a `tools/list` response.
        documents: Documents and pages, each a `mcpg.catalog.model.SourceDocument`.
        diagnostics: Problems that did not stop the reading.
    """

    tools: Sequence[Mapping[str, Any]] = ()
    documents: Sequence[Any] = ()
    diagnostics: Sequence[Diagnostic] = ()


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source, such as `code`.

    Attributes:
        test: Returns whether an argument names a source of this kind.
        read: Reads one; takes a `SourceRequest` and returns a `SourceContent`. An `McpgError` that
            it raises is the error of the run.
        path: Returns the file or folder that an argument names, "" for none: its place, watched
            for changes, and the name of the source.
    """

    name: str
    test: Callable[[str], bool]
    read: Reference
    path: Callable[[str], str] = lambda _: ""


class Item(NamedTuple):
    """An item of a bundle beside tools, as `mcpg list --kind` and `mcpg search --kind` show it.

    Attributes:
        id: Its id.
        type: Its type among the items of its kind, such as `class`.
        place: Its place, such as `src/store.py:10-24`.
        score: How well it fits a query, in [0, 1]; `None` without a query.
        why: The reason for the match, for readers.
    """

    id: str
    type: str
    place: str
    description: str = ""
    score: float | None = None
    why: tuple[str, ...] = ()


class ItemDetails(NamedTuple):
    """All of one item, as `mcpg show --kind` prints it.

    Attributes:
        details: Its further properties, as JSON.
        facts: The same for readers, by name.
        document: Its text.
    """

    item: Item
    details: JsonObject
    facts: Mapping[str, str]
    document: str


class ItemContent(NamedTuple):
    """The content of an item, for locks and comparisons.

    Attributes:
        name: Its name at its source, which begins with its kind: `skill:pdf-forms`.
        files: The digest of each of its files by path, such as `sha256:1f0c...`.
        place: The place of its page.
    """

    source_id: str
    name: str
    description: str
    files: Mapping[str, str]
    place: str = ""


class ItemSearch(Protocol):
    """Lists and searches the items of one kind in a bundle."""

    def list_items(self) -> Iterable[Item]:
        """Return all items, in order."""

    def search_items(self, query: str, limit: int) -> Iterable[Item]:
        """Return the items that fit a query, the best first."""

    def count_items(self) -> Mapping[str, Mapping[str, int]]:
        """Return how many items and edges there are of each type, by the name of the count."""


@dataclass(frozen=True, slots=True)
class ItemKind:
    """A kind of items of a bundle beside tools, such as pages of source code.

    Attributes:
        test: Returns whether a `mcpg.catalog.model.SourceDocument` is such an item, without parsing
            it. Its text is never changed.
        open: Returns the search of the items among the pages of a bundle; with a method
            `describe_item`, which takes a name and returns `ItemDetails`, items can be shown.
        noun: The word of `--kind` for an item; "" if `open` returns no `ItemSearch`.
        documents: Takes the pages of a bundle and returns the items among them as
            `mcpg.documents.model.ToolDocument`s, which are searched as tools are, in an index of
            their own; `meta["type"]` is the type of an item. "" for items that *open* searches.
        check: Takes the pages of a bundle and yields a `mcpg.lint.model.Finding` for each fault of
            its items. Their *documents* are also checked, like descriptions, likeness and hidden
            text of tools. "" if items are not checked.
        contents: Takes the pages of a bundle and yields an `ItemContent` for each item. "" if
            items are neither locked nor compared.
        tune: Takes an engine, judged queries, and the number and seed of folds, and fits a setting
            of the search to them: a `mcpg.evaluation.tune.ItemTuning`. "" for none.
    """

    name: str
    test: Callable[[Any], bool]
    open: Reference
    noun: str = ""
    documents: Reference = ""
    check: Reference = ""
    contents: Reference = ""
    tune: Reference = ""


@dataclass(frozen=True, slots=True)
class MetaTool:
    """A tool that `mcpg serve` offers beside its own.

    Attributes:
        name: Its name, also for clients.
        description: What models read.
        input_schema: JSON Schema of its arguments.
        call: Takes the `mcpg.Engine` of the present tools and the arguments, and returns a JSON
            object; runs in a thread. An `McpgError` that it raises is an error for the model.
    """

    name: str
    description: str
    input_schema: JsonObject
    call: Reference


@dataclass(frozen=True, slots=True)
class Answerer:
    """The answers to questions of `mcpg ask` about items beside tools.

    Attributes:
        name: Its name.
        make: Takes a `mcpg.index.Index`, and returns a `mcpg.ask.asker.SymbolAnswerer`.
    """

    name: str
    make: Reference


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """The input of a service's factory.

    Attributes:
        environment: The environment.
        value: Returns a setting by its name, `None` if it is not set.
        shared: Values that services of one run share.
    """

    environment: Mapping[str, str]
    value: Callable[[str], Any]
    shared: MutableMapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Service:
    """A service of an engine, by the name of its setting.

    Attributes:
        role: `store`, `cache`, `candidates`, `catalog` or `observer`.
        make: Takes a `ServiceRequest` and options by name, and returns the service.
        is_installed: Returns whether its packages are installed; "" if `make` reports that.
    """

    role: str
    name: str
    make: Reference
    is_installed: Reference = ""


@dataclass(frozen=True, slots=True)
class GraphReader:
    """Reads the RDF graphs among sources.

    Attributes:
        read: Takes a `mcpg.sources.SourceBatch`, and returns one with documents in their place.
    """

    name: str
    read: Reference


@dataclass(frozen=True, slots=True)
class Cache:
    """A kind of entries of the cache folder, which `mcpg cache` lists and clears.

    Attributes:
        is_entry: Returns whether a path is an entry.
        measure: Returns the size of an entry in bytes.
        remove: Removes an entry.
    """

    name: str
    is_entry: Reference
    measure: Reference
    remove: Reference


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """A check of `mcpg doctor`.

    Attributes:
        run: Takes the settings and the `mcpg.cli.providers.ServiceFactory`, and returns a
            `mcpg.cli.checks.Check`.
    """

    name: str
    run: Reference


@dataclass(frozen=True, slots=True)
class Plugin:
    """What one plugin registers; each attribute is a hook."""

    commands: tuple[Command, ...] = ()
    source_kinds: tuple[SourceKind, ...] = ()
    item_kinds: tuple[ItemKind, ...] = ()
    meta_tools: tuple[MetaTool, ...] = ()
    answerers: tuple[Answerer, ...] = ()
    services: tuple[Service, ...] = ()
    graph_readers: tuple[GraphReader, ...] = ()
    caches: tuple[Cache, ...] = ()
    checks: tuple[DoctorCheck, ...] = ()


HOOKS: Mapping[type, str] = {
    Command: "commands",
    SourceKind: "source_kinds",
    ItemKind: "item_kinds",
    MetaTool: "meta_tools",
    Answerer: "answerers",
    Service: "services",
    GraphReader: "graph_readers",
    Cache: "caches",
    DoctorCheck: "checks",
}
"""The hook of each type that can be registered."""
