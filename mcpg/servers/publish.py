"""Catalogs for others: entries of Agentic Resource Discovery, written and searched.

The specification is a changing draft; its names are only used here. Entries follow 0.91 and are
also valid by 0.9.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from mcpg.catalog.catalog import SOURCE_FALLBACK, normalize
from mcpg.catalog.model import Hints, Tool
from mcpg.engine import Engine
from mcpg.errors import Code, Diagnostic, InputError, UsageError, warning
from mcpg.servers.items import ListedServers
from mcpg.sources.listings import MCP_SERVER, MEDIA_TYPES, REGISTRY, ListedServer, clean_text
from mcpg.sources.registry import free_name
from mcpg.text.json_values import JsonObject, JsonValue, write_json
from mcpg.values import format_count

_NO_DOMAIN = re.compile("[^a-zA-Z0-9.-]+")

SPEC_VERSION = "1.0"
"""Version in manifests of 0.9; 0.91 ignores it."""

FEWEST_QUERIES, MOST_QUERIES = 2, 5
"""How many representative queries an entry should have."""

_LONGEST_QUERY = 200
_LONGEST_DESCRIPTION = 300
_MOST_TAGS = 10
_MOST_CAPABILITIES = 200
_DOMAIN = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}"
)


@dataclass(frozen=True, slots=True)
class Publisher:
    """The publisher of a catalog.

    Attributes:
        domain: The domain that all identifiers begin with.
        url: The address of `mcpg serve --http`, "" if nothing is served.
    """

    domain: str
    url: str = ""

    def name_entry(self, kind: str, name: str) -> str:
        return f"urn:air:{self.domain}:{kind}:{name}"


def check_domain(domain: str) -> str:
    """Return *domain* in lower case."""
    found = domain.strip().rstrip(".").lower()
    if not _DOMAIN.fullmatch(found):
        message = f"{domain[:80]!r} is not a domain name"
        raise UsageError(message, place="--publisher", remedy="give one of yours, such as acme.com")
    return found


@dataclass(frozen=True, slots=True)
class Publication:
    """A manifest, and notices about its entries."""

    manifest: JsonObject
    diagnostics: tuple[Diagnostic, ...] = ()


def make_manifest(
    tools: Iterable[Tool], publisher: Publisher, *, generated: bool = False
) -> Publication:
    """Return the manifest of the servers of *tools*, one entry each, in order of their names.

    Disabled tools are left out, and example requests of a language model unless *generated* is set.
    """
    entries: list[JsonValue] = []
    noticed: list[Diagnostic] = []
    for server, entry in make_entries(tools, publisher, generated=generated).items():
        entries.append(_with_address(entry, publisher))
        if "representativeQueries" not in entry:
            message = (
                "it has no representative queries, by which others find it: "
                f"fewer than {FEWEST_QUERIES} examples among the hints of its tools"
            )
            noticed.append(warning(Code.QUERIES_MISSING, message, server))
    if publisher.url:
        entries.append(
            {
                "identifier": publisher.name_entry("registry", "mcpg"),
                "displayName": f"Registry of {publisher.domain}",
                "type": REGISTRY,
                "url": f"{publisher.url}/",
            }
        )
    manifest: JsonObject = {
        "specVersion": SPEC_VERSION,
        "host": {"displayName": publisher.domain},
        "entries": entries,
    }
    return Publication(manifest, tuple(noticed))


def make_entries(
    tools: Iterable[Tool], publisher: Publisher, *, generated: bool = False
) -> dict[str, JsonObject]:
    """Return an entry for each server of *tools*, without its address, by source id in order.

    The arguments are as for `make_manifest`.
    """
    servers: defaultdict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        if tool.enabled:
            servers[tool.source_id].append(tool)
    taken: set[str] = set()
    entries: dict[str, JsonObject] = {}
    for source_id, members in sorted(servers.items()):
        name = free_name(normalize(source_id, SOURCE_FALLBACK), taken)
        entries[source_id] = _make_entry(source_id, name, members, publisher, generated=generated)
    return entries


def _with_address(entry: JsonObject, publisher: Publisher) -> JsonObject:
    """Return the entry of a server with its address at *publisher*, if any."""
    card = entry["data"]
    if not publisher.url or not isinstance(card, dict):
        return entry
    remote: JsonObject = {"type": "streamable-http", "url": f"{publisher.url}/mcp"}
    return {**entry, "data": {**card, "remotes": [remote]}}


def _make_entry(
    source_id: str, name: str, tools: Sequence[Tool], publisher: Publisher, *, generated: bool
) -> JsonObject:
    title = clean_text(source_id) or name
    reverse = ".".join(reversed(publisher.domain.split(".")))
    card: JsonObject = {"name": f"{reverse}/{name}", "title": title}
    shown = ", ".join(clean_text(tool.display_name) for tool in tools)
    description = f"{format_count(len(tools), 'tool')}: {shown}"
    if len(description) > _LONGEST_DESCRIPTION:
        description = f"{description[: _LONGEST_DESCRIPTION - 1].rsplit(',', 1)[0]}, …"
    entry: JsonObject = {
        "identifier": publisher.name_entry("server", name),
        "displayName": title,
        "type": MCP_SERVER,
        "description": description,
        "capabilities": [tool.name for tool in tools[:_MOST_CAPABILITIES]],
    }
    categories = Counter(one for tool in tools for one in tool.hints.categories)
    if categories:
        entry["tags"] = [one for one, _ in categories.most_common(_MOST_TAGS)]
    queries = _choose_queries(tools, generated=generated)
    if len(queries) >= FEWEST_QUERIES:
        entry["representativeQueries"] = list(queries)
    entry["data"] = card
    return entry


def _choose_queries(tools: Iterable[Tool], *, generated: bool) -> list[str]:
    """Return the first example of each tool, then the second ones, without repeats."""

    def read_examples(hints: Hints) -> Iterator[str]:
        return (clean_text(one.input, _LONGEST_QUERY + 1) for one in hints.examples)

    rows = [
        [
            text
            for hints in (tool.hints, tool.generated)[: 1 + generated]
            for text in read_examples(hints)
            if 0 < len(text) <= _LONGEST_QUERY
        ]
        for tool in tools
    ]
    found: dict[str, str] = {}
    for text in (text for row in zip_longest(*rows) for text in row if text is not None):
        found.setdefault(text.casefold(), text)
    return list(found.values())[:MOST_QUERIES]


class RequestError(InputError):
    """A search request is malformed."""


@dataclass(frozen=True, slots=True)
class RegistryRequest:
    """A request of `POST /search`.

    Attributes:
        filter: Values by the paths of terms; an entry has one of each.
        offset: How many results were sent before.
    """

    text: str
    filter: Mapping[str, frozenset[str]] = field(default_factory=dict)
    page_size: int = 10
    offset: int = 0

    @property
    def digest(self) -> str:
        """The digest of the request without its page."""
        terms = sorted((path, sorted(values)) for path, values in self.filter.items())
        text = write_json([self.text, terms]).encode(errors="surrogatepass")
        return hashlib.sha256(text).hexdigest()[:16]

    def token_at(self, offset: int) -> str:
        return f"{offset}.{self.digest}"


_FEDERATION = ("auto", "referrals", "none")
_MOST_RESULTS = 100
_LONGEST_TEXT = 10_000
_MOST_VALUES = 100
_TOKEN = re.compile(r"([0-9]{1,6})\.([0-9a-f]{16})")
_TERMS = frozenset(
    (
        *("identifier", "displayName", "type", "url", "data", "description", "capabilities"),
        *("tags", "version", "publisher"),
    )
)


def parse_request(body: JsonValue) -> RegistryRequest:
    """Read the body of `POST /search`.

    Raises:
        RequestError: It is malformed, or filters by a member that entries never have.
    """
    if not isinstance(body, dict) or not isinstance(query := body.get("query"), dict):
        raise RequestError("`query` is not an object")
    text = query.get("text")
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST_TEXT:
        raise RequestError(f"`query.text` is not a text of 1 to {_LONGEST_TEXT:,} characters")
    if body.get("federation", "auto") not in _FEDERATION:
        raise RequestError(f"`federation` is none of {', '.join(_FEDERATION)}")
    size = body.get("pageSize", 10)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise RequestError("`pageSize` is not a number of at least 1")
    given = query.get("filter", {})
    if not isinstance(given, dict) or len(given) > _MOST_VALUES:
        raise RequestError(f"`query.filter` is not an object of at most {_MOST_VALUES} terms")
    terms = {path: _read_values(path, values) for path, values in given.items()}
    request = RegistryRequest(text.strip(), terms, min(size, _MOST_RESULTS))
    token = body.get("pageToken")
    if token is None:
        return request
    found = _TOKEN.fullmatch(token) if isinstance(token, str) else None
    if found is None or found[2] != request.digest:
        raise RequestError("`pageToken` is not of this request")
    return RegistryRequest(request.text, terms, request.page_size, int(found[1]))


def _read_values(path: str, values: JsonValue) -> frozenset[str]:
    term = path.partition(".")[0]
    if term not in _TERMS:
        raise RequestError(f"`query.filter` has the unsupported term {path[:80]!r}")
    listed = values if isinstance(values, list) else [values]
    if len(listed) > _MOST_VALUES or not all(isinstance(one, str) for one in listed):
        raise RequestError(
            f"`query.filter` has values of {path[:80]!r} that are not at most {_MOST_VALUES} texts"
        )
    texts = map(str, listed)
    return frozenset(MEDIA_TYPES.get(one, one) if term == "type" else one for one in texts)


def answer_request(
    engine: Engine,
    entries: Mapping[str, JsonObject],
    request: RegistryRequest,
    publisher: Publisher,
) -> JsonObject:
    """Return the result of `POST /search`: servers of tools, and listed ones, the best first.

    A server is as relevant as the best of its tools; `score` is the confidence in percent. The
    *entries* are those of `make_entries`.
    """
    own = _rank_servers(engine, entries, request.text)
    found = [(score, _with_address(entry, publisher)) for score, entry in own]
    found += _rank_listed(engine, request.text)
    source = f"{publisher.url}/"
    results = [
        {**entry, "score": score, "source": source}
        for score, entry in sorted(found, key=lambda one: (-one[0], str(one[1]["identifier"])))
        if score > 0 and _fits(entry, request.filter)
    ]
    end = request.offset + request.page_size
    answer: JsonObject = {"results": results[request.offset : end]}  # type: ignore[dict-item]
    if end < len(results):
        answer["pageToken"] = request.token_at(end)
    return answer


_MOST_MATCHES = 50


def _rank_servers(
    engine: Engine, entries: Mapping[str, JsonObject], text: str
) -> Iterator[tuple[int, JsonObject]]:
    best: dict[str, float] = {}
    ranked: defaultdict[str, list[str]] = defaultdict(list)
    for match in engine.search(text, limit=_MOST_MATCHES).matches:
        best.setdefault(match.source_id, match.score)
        ranked[match.source_id].append(match.tool_name)
    for source_id in best.keys() & entries.keys():
        names: Any = entries[source_id]["capabilities"]
        names = dict.fromkeys((*ranked[source_id], *names))
        entry = {**entries[source_id], "capabilities": [*names][:_MOST_CAPABILITIES]}
        entry.pop("representativeQueries", None)  # which are for indexing
        yield round(100 * best[source_id]), entry


def _rank_listed(engine: Engine, text: str) -> Iterator[tuple[int, JsonObject]]:
    listed = engine.kind_engine("server")
    if listed is None:
        return
    servers: ListedServers = engine.items("server")
    for match in listed.search(text, limit=_MOST_MATCHES).matches:
        yield round(100 * match.score), entry_of_listed(servers.by_id[match.tool_id])


def entry_of_listed(server: ListedServer) -> JsonObject:
    """Return a listed server as an entry, with the known members of its own catalog."""
    identifier = server.identifier
    if not identifier:
        owner, _, name = server.name.rpartition("/")
        domain = ".".join(reversed(owner.split("."))) if owner else "unknown.invalid"
        domain = _NO_DOMAIN.sub("-", domain).strip(".-") or "unknown.invalid"
        identifier = f"urn:air:{domain}:server:{normalize(name, 'server')}"
    entry: JsonObject = {
        "identifier": identifier,
        "displayName": server.display_name,
        "type": server.type,
    }
    for key in ("description", "version"):
        if value := getattr(server, key):
            entry[key] = value
    for key in ("capabilities", "tags"):
        if values := getattr(server, key):
            entry[key] = list(values)
    if server.url:
        entry["url"] = server.url
    else:
        card: JsonObject = {"name": server.name, "title": server.display_name}
        options = {"packages": server.packages, "remotes": server.remotes}
        entry["data"] = card | {key: list(value) for key, value in options.items() if value}
    return entry


def _fits(entry: JsonObject, terms: Mapping[str, frozenset[str]]) -> bool:
    return all(not values.isdisjoint(_read_path(entry, path)) for path, values in terms.items())


def _read_path(entry: JsonObject, path: str) -> Iterator[str]:
    """Yield the texts at a path of terms, for each item of a list."""
    if path == "publisher":
        yield from str(entry["identifier"]).split(":")[2:3]
        return
    held: list[Any] = [entry]
    for term in path.split("."):
        values = (one.get(term) for one in held if isinstance(one, dict))
        held = [
            item for value in values for item in (value if isinstance(value, list) else [value])
        ]
    yield from (one for one in held if isinstance(one, str))
