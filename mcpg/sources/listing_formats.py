"""Catalogs of servers in the formats in which they are met.

These are `server.json` of the MCP registry (2025-07-09 to 2025-12-11), a list or an export of a
registry, manifests of Agentic Resource Discovery (`ard.json`, and `ai-catalog.json` before it),
server cards, and agent cards of A2A.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from mcpg.catalog.catalog import SOURCE_FALLBACK, normalize
from mcpg.catalog.manifest import parse_repaired
from mcpg.catalog.model import SourceDocument
from mcpg.errors import Code, Diagnostic, SourceError, info, warning
from mcpg.sources.listings import (
    AGENT,
    CATALOG,
    LONGEST_ADDRESS,
    LONGEST_NAME,
    LONGEST_TEXT,
    MEDIA_TYPES,
    REGISTRY,
    ListedServer,
    clean_text,
    clean_texts,
    write_listing_pages,
)
from mcpg.text.json_values import JsonObject, JsonValue, write_json
from mcpg.values import format_count, list_some

MOST_SERVERS = 200_000
"""How many servers of one file are read."""

_MARKS = re.compile(
    r'"(?:packages|remotes|version_detail|entries|servers|skills|\$schema)"\s*:\s*["\[{]'
)
_SCHEMAS = ("server.schema.json", "server-card.schema.json")
_CARD_KEYS = ("protocolVersion", "defaultInputModes", "supportedInterfaces", "capabilities")
_OFFICIAL = "io.modelcontextprotocol.registry/official"
_DEEPEST = 8
_LONGEST_OPTION = 64 * 1024
_SNAKE = re.compile("_([a-z])")
_NUMBERS = re.compile("[0-9]+")
_SHOWN = 3


def is_catalog(text: str) -> bool:
    """Return whether a JSON text lists servers, agents or other resources."""
    if not _MARKS.search(text):
        return False
    try:
        values = parse_repaired(text, "", [])
    except SourceError:
        return False
    return any(map(_is_listing, values))


def _is_listing(value: JsonValue) -> bool:
    if isinstance(value, list):
        return bool(value) and _is_listing(value[0])
    if not isinstance(value, dict):
        return False
    return _is_server(value) or _is_agent_card(value) or _members(value) is not None


def _members(value: JsonObject) -> list[JsonValue] | None:
    """Return the servers of a registry, or the entries of a manifest; `None` for another."""
    servers, entries = value.get("servers"), value.get("entries")
    is_registry = isinstance(servers, list) and any(
        isinstance(one, dict) and (isinstance(one.get("server"), dict) or _is_server(one))
        for one in servers
    )
    if is_registry or servers == []:
        return servers  # type: ignore[return-value]
    is_manifest = isinstance(entries, list) and any(
        isinstance(one, dict) and "identifier" in one and ("type" in one or "mediaType" in one)
        for one in entries
    )
    is_empty = entries == [] and "specVersion" in value
    return entries if is_manifest or is_empty else None  # type: ignore[return-value]


def _is_server(value: JsonObject) -> bool:
    if not isinstance(value.get("name"), str):
        return False
    schema = value.get("$schema")
    if isinstance(schema, str) and schema.endswith(_SCHEMAS):
        return True
    options = [one for key in ("packages", "remotes") for one in _list(value.get(key))]
    keys = {"identifier", "registry_name", "registryType", "registry_type", "url"}
    has_options = any(isinstance(one, dict) and keys & one.keys() for one in options)
    return has_options or isinstance(value.get("version_detail"), dict)


def _is_agent_card(value: JsonObject) -> bool:
    is_named = isinstance(value.get("name"), str) and isinstance(value.get("skills"), list)
    return is_named and any(key in value for key in _CARD_KEYS)


@dataclass(slots=True)
class _CatalogReader:
    """Reads the servers of one file, and keeps its diagnostics."""

    place: str
    catalog: str
    noticed: list[Diagnostic] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)
    addresses: list[str] = field(default_factory=list)

    def read(self, value: JsonValue, path: str = "", depth: int = 0) -> Iterator[ListedServer]:
        """Yield the servers of a catalog, of one entry, or of a list of either."""
        if isinstance(value, list):
            for index, one in enumerate(value):
                yield from self.read(one, f"{path}[{index}]", depth)
            return
        found: ListedServer | None = None
        if depth > _DEEPEST:
            self.unread["nested too deep"] += 1
        elif not isinstance(value, dict):
            self.unread["no object"] += 1
        elif (members := _members(value)) is not None:
            key = "servers" if members is value.get("servers") else "entries"
            self._check_page(value)
            yield from self.read(members, f"{path}.{key}".lstrip("."), depth + 1)
        elif isinstance(server := value.get("server"), dict):
            found = self._read_server(server, {**value, **_table(value, "_meta")})
        elif "identifier" in value:
            yield from self._read_entry(value, f"{path}.data", depth)
        elif _is_agent_card(value):
            found = self._read_agent_card(value)
        else:
            found = self._read_server(value, _table(value, "_meta"))
        if found is not None:
            yield found

    def _check_page(self, page: JsonObject) -> None:
        metadata = _table(page, "metadata")
        if any(metadata.get(key) for key in ("nextCursor", "next_cursor")):
            message = (
                "the last page names a next one: more servers follow that are not in this file"
            )
            self.noticed.append(warning(Code.SOURCE_INCOMPLETE, message, self.place))
        if page.get("collections"):
            message = "`collections` is not a member of a catalog any more, and is ignored"
            self.noticed.append(info(Code.SOURCE_SKIPPED, message, self.place))

    def _read_server(self, given: JsonObject, meta: JsonObject) -> ListedServer | None:
        """Read a `server.json` or a server card; `None` for one without name, or deleted."""
        name = clean_text(given.get("name"), LONGEST_NAME)
        if not name:
            self.unread["without a name"] += 1
            return None
        official = {**_table(meta, f"x-{_OFFICIAL}"), **_table(meta, _OFFICIAL)}
        status = str(official.get("status") or given.get("status") or "")
        if status == "deleted":
            self.unread["deleted"] += 1
            return None
        tools = [one for one in _list(given.get("tools")) if isinstance(one, dict)]
        detail = _table(given, "version_detail")
        version = given.get("version") or detail.get("version")
        website = given.get("websiteUrl") or given.get("website_url")
        repository = _table(given, "repository").get("url")
        return ListedServer(
            catalog=self.catalog,
            name=name,
            title=clean_text(given.get("title")),
            description=clean_text(given.get("description"), LONGEST_TEXT),
            version=clean_text(version, LONGEST_NAME),
            status=status if status == "deprecated" else "",
            website=clean_text(website or repository, LONGEST_ADDRESS),
            capabilities=clean_texts((one.get("name") for one in tools), LONGEST_NAME),
            texts=clean_texts(one.get("description") for one in tools),
            packages=self._read_options(name, given.get("packages")),
            remotes=self._read_options(name, given.get("remotes")),
        )

    def _read_options(self, name: str, given: JsonValue) -> tuple[JsonObject, ...]:
        """Return packages or remotes with the names of members of 2025-12-11."""
        found = [_with_present_names(one) for one in _list(given) if isinstance(one, dict)]
        if len(write_json(found)) <= _LONGEST_OPTION:
            return tuple(found)
        message = f"the packages or remotes of {name!r} are too long and are left out"
        self.noticed.append(warning(Code.TEXT_LEFT_OUT, message, self.place))
        return ()

    def _read_agent_card(self, given: JsonObject) -> ListedServer | None:
        server = self._read_server({**given, "packages": None, "remotes": None}, {})
        if server is None:
            return None
        skills = [one for one in _list(given.get("skills")) if isinstance(one, dict)]
        interfaces = _list(given.get("supportedInterfaces"))
        address = next(
            (one["url"] for one in interfaces if isinstance(one, dict) and "url" in one), ""
        )
        return replace(
            server,
            type=AGENT,
            url=clean_text(given.get("url") or address, LONGEST_ADDRESS),
            website=clean_text(given.get("documentationUrl"), LONGEST_ADDRESS),
            capabilities=clean_texts((one.get("name") for one in skills), LONGEST_NAME),
            tags=clean_texts(tag for one in skills for tag in _list(one.get("tags"))),
            queries=clean_texts(text for one in skills for text in _list(one.get("examples"))),
            texts=clean_texts(one.get("description") for one in skills),
        )

    def _read_entry(self, entry: JsonObject, path: str, depth: int) -> Iterator[ListedServer]:
        """Read an entry of Agentic Resource Discovery, or the entries of a catalog within it."""
        identifier = clean_text(entry.get("identifier"), LONGEST_NAME)
        identifier = re.sub(r"\Aurn:ai:", "urn:air:", identifier)
        kind = clean_text(entry.get("type") or entry.get("mediaType"), LONGEST_NAME)
        kind = MEDIA_TYPES.get(kind, kind)
        data, url = entry.get("data"), clean_text(entry.get("url"), LONGEST_ADDRESS)
        if kind == CATALOG and isinstance(data, dict):
            yield from self.read(data.get("entries", []), f"{path}.entries", depth + 1)
        elif kind in (CATALOG, REGISTRY):
            self.addresses.append(url)
        elif not identifier:
            self.unread["without an identifier"] += 1
        else:
            yield self._merge_entry(entry, identifier, kind, url)

    def _merge_entry(self, entry: JsonObject, identifier: str, kind: str, url: str) -> ListedServer:
        """Return the members of an entry, and those that a card within it adds."""
        data = {"name": identifier, **_table(entry, "data")}
        card = self._read_agent_card(data) if _is_agent_card(data) else self._read_server(data, {})
        known = card or ListedServer(self.catalog, identifier)
        own_name = known.name if known.name != identifier else ""
        title = clean_text(entry.get("displayName"))
        description = clean_text(entry.get("description"), LONGEST_TEXT)
        capabilities = clean_texts(_list(entry.get("capabilities")), LONGEST_NAME)
        queries = clean_texts(_list(entry.get("representativeQueries")))
        return replace(
            known,
            name=identifier,
            identifier=identifier,
            title=title or known.title or own_name,
            description=description or known.description,
            version=clean_text(entry.get("version"), LONGEST_NAME) or known.version,
            type=kind,
            url=url or known.url,
            capabilities=clean_texts((*capabilities, *known.capabilities)),
            tags=clean_texts((*_list(entry.get("tags")), *known.tags)),
            queries=clean_texts((*queries, *known.queries)),
        )

    def report(self) -> Iterator[Diagnostic]:
        """Yield the diagnostics of reading."""
        yield from self.noticed
        for reason, count in self.unread.items():
            message = f"{format_count(count, 'entry', 'entries')} left out: {reason}"
            yield warning(Code.SOURCE_SKIPPED, message, self.place)
        if self.addresses:
            some = list_some(self.addresses, _SHOWN)
            message = f"it names other catalogs, which are not fetched: {some}"
            yield info(Code.SOURCE_SKIPPED, message, self.place)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _table(value: JsonObject, key: str) -> JsonObject:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _with_present_names(value: Any, *, is_map: bool = False) -> Any:
    """Return packages or remotes of any version with the names of members of 2025-12-11.

    Names of `variables` are their author's own.
    """
    if isinstance(value, list):
        return [_with_present_names(one) for one in value]
    if not isinstance(value, dict):
        return value
    members = {
        key if is_map else _SNAKE.sub(lambda found: found[1].upper(), key): _with_present_names(
            one, is_map=key == "variables" and not is_map
        )
        for key, one in value.items()
    }
    if not is_map:
        members.setdefault("type", members.pop("transportType", None))
        if "registryName" in members:  # before 2025-07-09
            members["registryType"] = members.pop("registryName")
            members.setdefault("identifier", members.pop("name", None))
    return {key: one for key, one in members.items() if one is not None}


def _keep_latest(servers: Iterable[ListedServer]) -> tuple[list[ListedServer], int]:
    """Return the latest version of each server, and how many others there were."""
    versions: defaultdict[str, list[ListedServer]] = defaultdict(list)
    for one in servers:
        versions[one.name].append(one)
    # Of equal versions the last counts: it was published last.
    latest = [max(reversed(same), key=_version_key) for same in versions.values()]
    return latest, sum(map(len, versions.values())) - len(latest)


def _version_key(server: ListedServer) -> tuple[tuple[int, ...], bool]:
    release, _, before = server.version.partition("-")
    return tuple(int(one[:9]) for one in _NUMBERS.findall(release)), not before


def read_catalog(
    text: str, place: str, *, path: str, source_id: str | None = None
) -> tuple[tuple[SourceDocument, ...], tuple[Diagnostic, ...]]:
    """Return the pages of the servers of a catalog, and diagnostics.

    It is called *source_id*, else by the file at *path*.
    A file of one server is called like the server.
    """
    noticed: list[Diagnostic] = []
    values = parse_repaired(text, place, noticed)
    reader = _CatalogReader(
        place, source_id or PurePath(path).stem.strip() or SOURCE_FALLBACK, noticed
    )
    found = [one for value in values for one in reader.read(value)]
    if len(found) > MOST_SERVERS:
        message = f"has more than {MOST_SERVERS:,} servers"
        raise SourceError(message, place=place, remedy="split it into smaller files")
    servers, older = _keep_latest(found)
    if older:
        message = f"{format_count(older, 'older version')} of servers left out"
        reader.noticed.append(info(Code.SOURCE_SKIPPED, message, place))
    catalog = reader.catalog
    if source_id is None and len(values) == len(servers) == 1 and _is_lone(values[0]):
        catalog = normalize(servers[0].name, SOURCE_FALLBACK)
        servers = [replace(servers[0], catalog=catalog)]
    pages = tuple(replace(page, place=place) for page in write_listing_pages(catalog, servers))
    return pages, tuple(reader.report())


def _is_lone(value: JsonValue) -> bool:
    return isinstance(value, dict) and _members(value) is None
