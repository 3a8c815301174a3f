"""Servers, agents and other resources that catalogs list, before anything connects to them.

A bundle has them as records of a page for each catalog. Everything in a record is a text of
strangers: it is searched and shown, and nothing in it is run or fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import quote

from mcpg.catalog.model import SourceDocument
from mcpg.text.json_values import JsonObject, JsonValue

MCP_SERVER = "application/mcp-server-card+json"
AGENT = "application/a2a-agent-card+json"
SKILL = "application/agent-skills+zip"
REGISTRY = "application/ai-registry+json"
CATALOG = "application/ai-catalog+json"
"""Media types of entries in a catalog (Agentic Resource Discovery 0.91)."""

MEDIA_TYPES = {
    "application/mcp-server+json": MCP_SERVER,
    "application/mcp-server-card": MCP_SERVER,
    "application/agent-card+json": AGENT,
    "application/ai-registry": REGISTRY,
}
"""Older names of media types."""

ENTRY_TYPE = "listed-servers"
"""The `entry_type` of pages of listed servers."""

CATALOG_KEY = "catalog"
"""The key of these pages that names their catalog."""


@dataclass(frozen=True, slots=True)
class ListedServer:
    """A server, an agent or another resource as a catalog lists it.

    Attributes:
        catalog: The catalog that lists it; with *name* its identity.
        name: The name or identifier that the catalog gives it, such as `io.github.acme/weather`.
        type: Its media type.
        status: `deprecated` if the catalog marks it so, "" otherwise.
        identifier: Its `urn:air:` identifier, "" if it has none.
        url: Address of the document that describes it.
        website: Address of its website or repository, for people.
        capabilities: Names of its tools or skills.
        queries: Requests that it serves, by its publisher.
        texts: Further texts that describe its capabilities.
        packages: Packages that run it, as a `server.json` of 2025-12-11 has them.
        remotes: Addresses at which it runs, in the same format.
    """

    catalog: str
    name: str
    title: str = ""
    description: str = ""
    version: str = ""
    type: str = MCP_SERVER
    status: str = ""
    identifier: str = ""
    url: str = ""
    website: str = ""
    capabilities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    packages: tuple[JsonObject, ...] = ()
    remotes: tuple[JsonObject, ...] = ()

    @property
    def display_name(self) -> str:
        return self.title or self.name

    def to_dict(self) -> JsonObject:
        """Return its members, without those that are empty."""
        members = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in members.items()
            if value
        }


_FOLDER = "servers"
_URI = "https://managedcode.com/mcpgateway/knowledge/servers/"
_MARK = f'entry_type: "{ENTRY_TYPE}"\n'
_LONGEST_FRONT = 4096
_FENCE = "```"
_PAGE_RECORDS = 1000
_DEFAULTS = {one.name: one.default for one in fields(ListedServer)}
_LISTS = frozenset(name for name, default in _DEFAULTS.items() if default == ())
_OBJECTS = frozenset({"packages", "remotes"})


def write_listing_pages(catalog: str, servers: Sequence[ListedServer]) -> Iterator[SourceDocument]:
    """Yield the pages of a *catalog*, a thousand servers each, in order of their names.

    Equal servers give equal texts.
    """
    ordered = sorted(servers, key=lambda one: (one.name, one.version))
    for number, start in enumerate(range(0, len(ordered), _PAGE_RECORDS), 1):
        name = catalog if number == 1 else f"{catalog}-{number}"
        uri = f"{_URI}{quote(name, safe='')}/"
        records = (_write_record(one) for one in ordered[start : start + _PAGE_RECORDS])
        text = "".join(
            (
                f"---\ntitle: {_json(f'Servers of {name}')}\ntool: false\n{_MARK}",
                f"canonical_url: {_json(uri)}\ncatalog: {_json(catalog)}\n---\n",
                f"\n# Servers\n\n{_FENCE}jsonl\n",
                *records,
                f"{_FENCE}\n",
            )
        )
        yield SourceDocument(f"{_FOLDER}/{quote(name, safe=' ')}.md", text, uri)


def _write_record(server: ListedServer) -> str:
    members = server.to_dict()
    del members["catalog"]
    if server.type == MCP_SERVER:
        del members["type"]
    return f"{_json(members)}\n"


def _json(value: object) -> str:
    # Escapes keep line separators and control characters of strangers out of YAML.
    return json.dumps(value, ensure_ascii=True)


def is_listing_page(document: SourceDocument) -> bool:
    """Return whether *document* is a page of listed servers, without parsing it."""
    return _MARK in document.content[:_LONGEST_FRONT]


def read_listing_page(further: JsonObject, body: str) -> Iterator[ListedServer]:
    """Yield the servers of a page, by the front matter and the text below it.

    Another page has none; damaged records are left out.
    """
    catalog = further.get(CATALOG_KEY)
    if further.get("entry_type") != ENTRY_TYPE or not isinstance(catalog, str):
        return
    for line in body.split("\n"):
        if line.startswith("{"):
            try:
                members: Any = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(members, dict) and (found := _read_record(catalog, members)):
                yield found


def _read_record(catalog: str, members: JsonObject) -> ListedServer | None:
    given: dict[str, Any] = {"catalog": catalog}
    for name, value in members.items():
        if name in _LISTS and isinstance(value, list):
            kind = dict if name in _OBJECTS else str
            given[name] = tuple(one for one in value if isinstance(one, kind))
        elif name in _DEFAULTS and name not in _LISTS and isinstance(value, str):
            given[name] = value
    return ListedServer(**given | {"catalog": catalog}) if given.get("name") else None


LONGEST_NAME, LONGEST_TEXT, LONGEST_LINE, LONGEST_ADDRESS = 256, 4_000, 500, 2_000
MOST_TEXTS = 200
"""How long texts of a listed server are at most, in characters, and how many a list has."""

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def clean_text(value: JsonValue, longest: int = LONGEST_LINE) -> str:
    """Return a text of a stranger on one line, cut to *longest* characters; "" for no text."""
    if not isinstance(value, str):
        return ""
    return " ".join(_CONTROLS.sub(" ", value[: 4 * longest]).split())[:longest]


def clean_texts(values: Iterable[JsonValue], longest: int = LONGEST_LINE) -> tuple[str, ...]:
    """Return texts of a stranger, each once, the first `MOST_TEXTS`."""
    found = dict.fromkeys(filter(None, (clean_text(one, longest) for one in values)))
    return tuple(found)[:MOST_TEXTS]
