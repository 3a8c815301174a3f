"""The SPARQL endpoint: read-only queries in, bounded results out.

A query is checked before it runs: its form, its length and its `SERVICE` endpoints. Strings,
comments and IRIs are distinguished as in the grammar of SPARQL 1.1 (terminals [139] to [160]), so
that a word within them is not mistaken for a keyword.
"""

from __future__ import annotations

import re
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from threading import Lock, Thread
from typing import Any, Self
from urllib.parse import urlsplit

from mcpg.documents.model import ToolDocument
from mcpg.errors import InputError, UsageError, os_reason
from mcpg.graph.cache import CachedGraph
from mcpg.graph.sparql_worker import SparqlAnswer
from mcpg.graph.terms import PREFIXES, unknown_names
from mcpg.graph.worker import SHORTEST, Worker, WorkerEndedError
from mcpg.net.addresses import is_loopback, split_address
from mcpg.text.library_errors import sparql_reason

_LARGEST_QUERY = 4 * 1024 * 1024
_PIECE = 64 * 1024


class EndpointBlockedError(UsageError):
    """A query names an endpoint that is not on the list."""


class EndpointInvalidError(UsageError):
    """The address of an endpoint is invalid."""


class _EndpointFailedError(Exception):
    """An endpoint did not answer as it should; the message explains."""


class _NoRedirectHandler(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: its target is on no list of allowed endpoints."""

    def redirect_request(self, *_: Any) -> None:
        return None


class FederationProxy:
    """Asks endpoints on a list for the process that evaluates queries; one has *seconds* to answer.

    It listens on the loopback interface, under a path that cannot be guessed, from the first
    address that it gives until it is closed.
    """

    def __init__(self, allowed: Collection[str], seconds: float, size: int) -> None:
        """Allow the endpoints of *allowed*; one has *seconds* for *size* bytes."""
        self.allowed = tuple(check_endpoint(one) for one in allowed)
        self.seconds, self._size = seconds, size
        self._path = secrets.token_urlsafe(24)
        self._server: ThreadingHTTPServer | None = None
        self._failures: list[str] = []
        # Neither proxies of the environment nor redirections: the address is used as given.
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), _NoRedirectHandler
        )

    def get_proxy_address(self, endpoint: str) -> str:
        """Return the address behind which this proxy asks *endpoint*.

        One that is not on the list is an `EndpointBlockedError`.
        """
        if endpoint not in self.allowed:
            raise EndpointBlockedError(
                f"the query uses the endpoint {endpoint!r}, which is not allowed",
                remedy=f"allow it with --allow-service {endpoint}, or leave the SERVICE out",
            )
        if self._server is None:
            self._server = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(self))
            Thread(target=self._server.serve_forever, daemon=True).start()
        port = self._server.server_address[1]
        return f"http://127.0.0.1:{port}/{self._path}/{self.allowed.index(endpoint)}"

    def failures(self) -> list[str]:
        """Return the failures since the last call."""
        failures, self._failures = self._failures, []
        return failures

    def close(self) -> None:
        """Stop listening."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def forward_query(self, path: str, query: bytes, kinds: str) -> tuple[HTTPStatus, str, bytes]:
        """Ask the endpoint behind *path*; give status, content type and content."""
        token, _, place = path.strip("/").partition("/")
        if not (secrets.compare_digest(token, self._path) and place.isdecimal()):
            return HTTPStatus.NOT_FOUND, "text/plain", b""
        endpoint = self.allowed[int(place)]
        try:
            return HTTPStatus.OK, *self._fetch(endpoint, query, kinds)
        except _EndpointFailedError as fault:
            message = f"the endpoint {endpoint} {fault}"
            self._failures.append(message)
            return HTTPStatus.BAD_GATEWAY, "text/plain", message.encode()

    def _fetch(self, endpoint: str, query: bytes, kinds: str) -> tuple[str, bytes]:
        headers = {"Content-Type": "application/sparql-query", "Accept": kinds}
        request = urllib.request.Request(endpoint, query, headers, method="POST")  # noqa: S310 - checked
        seconds = self.seconds
        until = time.monotonic() + seconds
        data = bytearray()
        try:
            with self._opener.open(request, timeout=seconds) as answer:
                # Piece by piece, for it may drip.
                while piece := answer.read1(_PIECE):
                    data += piece
                    if len(data) > self._size:
                        raise _EndpointFailedError(f"returned more than {self._size:,} bytes")
                    if time.monotonic() > until:
                        raise TimeoutError
                return answer.headers.get_content_type(), bytes(data)
        except urllib.error.HTTPError as fault:
            fault.close()
            raise _EndpointFailedError(f"responded with status {fault.code}") from None
        except (OSError, ValueError) as fault:
            reason = getattr(fault, "reason", fault)
            if isinstance(reason, TimeoutError):
                late = f"did not respond within {round(seconds, 1):g} seconds"
                raise _EndpointFailedError(late) from None
            raise _EndpointFailedError(f"cannot be reached: {os_reason(reason)}") from None


def check_endpoint(address: str) -> str:
    """Return *address* if an endpoint may be there: with https, or with http on this machine.

    Others are an `EndpointInvalidError`.
    """
    parts = split_address(address) or urlsplit("")
    host = parts.hostname or ""
    is_local = parts.scheme == "http" and is_loopback(host)
    if not (host and (parts.scheme == "https" or is_local)):
        raise EndpointInvalidError(
            f"{address!r} is not the address of an endpoint: write https://HOST/PATH",
            remedy="use an absolute https address, or http on this machine",
        )
    if parts.username is not None or parts.password is not None:
        raise EndpointInvalidError(
            "an endpoint's address has a name or password in it",
            remedy="remove it: it would appear in queries and logs",
        )
    return address


def _make_handler(proxy: FederationProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Takes one question of the process that evaluates."""

        def do_POST(self) -> None:
            size = min(int(self.headers.get("Content-Length") or 0), _LARGEST_QUERY)
            kinds = self.headers.get("Accept") or "application/sparql-results+json"
            status, kind, data = proxy.forward_query(self.path, self.rfile.read(size), kinds)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            # The client may have ended meanwhile.
            with suppress(OSError):
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    return Handler


# Each quantifier is possessive or bounded, so that no text takes longer than its length allows; a
# string that does not end goes as far as it can.
_TOKEN = re.compile(
    r"""
    (?P<long>'''(?:'{0,2}(?:[^'\\]|\\.))*+(?:''')?|\"\"\"(?:"{0,2}(?:[^"\\]|\\.))*+(?:\"\"\")?)
    | (?P<string>'(?:[^'\\\n\r]|\\.)*+'?|"(?:[^"\\\n\r]|\\.)*+"?)
    | (?P<iri><[^<>"{}|^`\\\x00-\x20]*+>)
    | (?P<comment>\#[^\n\r]*+)
    | (?P<space>\s++)
    | (?P<name>[\w.-]{0,100}:(?:[\w:.%-]|\\.)*+|[?$]\w++)
    | (?P<word>\w++)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_LAST_CHARACTER = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Service:
    """A call of another endpoint in a query, and the span of the term for the endpoint.

    The term is an IRI in angle brackets, a prefixed name, or a variable.
    """

    term: str
    start: int
    end: int

    @property
    def endpoint(self) -> str | None:
        """The endpoint's address, `None` when it is not written in full."""
        return self.term[1:-1] if self.term.startswith("<") else None


def unescape_query(query: str) -> str:
    r"""Return *query* with every `\uXXXX` and `\UXXXXXXXX` replaced, as SPARQL does first."""
    return _ESCAPE.sub(
        lambda found: (
            chr(code) if (code := int(found[1] or found[2], 16)) <= _LAST_CHARACTER else found[0]
        ),
        query,
    )


def services_in(query: str) -> list[Service]:
    """Return every `SERVICE` of *query*, which has no escapes left, in the order of the text."""
    tokens = _list_tokens(query)
    words = [text.upper() if kind == "word" else "" for kind, text, _ in tokens]
    found: list[Service] = []
    for place, word in enumerate(words, start=1):
        if word == "SERVICE":
            after = place + (words[place : place + 1] == ["SILENT"])
            for _, term, start in tokens[after : after + 1]:
                found.append(Service(term, start, start + len(term)))
    return found


def unknown_names_in(text: str) -> dict[str, list[str]]:
    """Return the prefixed names of a query that nothing defines, each with the likeliest others."""
    tokens = _list_tokens(unescape_query(text))
    declared = {
        name.removesuffix(":")
        for (_, word, _), (_, name, _) in pairwise(tokens)
        if word.upper() == "PREFIX" and name.endswith(":")
    }
    names = (text.rstrip(".") for kind, text, _ in tokens if kind == "name")
    return unknown_names(names, declared)


def _list_tokens(query: str) -> list[tuple[str | None, str, int]]:
    return [
        (found.lastgroup, found.group(), found.start())
        for found in _TOKEN.finditer(query)
        if found.lastgroup not in {"comment", "space"}
    ]


def _sort_variables(query: str, variables: Sequence[str]) -> Sequence[str]:
    """Return *variables*, for `SELECT *` in the order in which the *query* names them."""
    tokens = _list_tokens(query)
    words = [text.upper() for _, text, _ in tokens]
    place = words.index("SELECT") + 1 if "SELECT" in words else len(words)
    if words[place : place + 1] in (["DISTINCT"], ["REDUCED"]):
        place += 1
    if words[place : place + 1] != ["*"]:
        return variables
    named = [text[1:] for kind, text, _ in tokens if kind == "name" and text[0] in "?$"]
    return sorted(variables, key=lambda one: named.index(one) if one in named else len(named))


LONGEST = 1024 * 1024
"""The most characters of a query."""


_WORKER = "mcpg.graph.sparql_worker"
_SHARE_OF_OTHERS = 0.8
"""The share of a query's time to be evaluated in which another endpoint must have answered."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one query.

    Attributes:
        seconds: Of time, for the whole of it.
        rows: Rows or triples of the answer; the rest is cut, and this is reported.
        size: Bytes of the answer, and of answers of other endpoints; the rest is cut.
        memory: Bytes beyond the graph itself, if the system has such a bound.
    """

    seconds: float = 10.0
    rows: int = 1_000
    size: int = 16 * 1024 * 1024
    memory: int = 1024 * 1024 * 1024


class SparqlEndpoint:
    """Answers SPARQL queries about documents; close it after use, or use it as a context.

    Queries are evaluated by Oxigraph in a process of its own, which is started with the first one
    and kept for the next. A query that takes too long ends that process. Queries of several threads
    are answered in turn.
    """

    def __init__(
        self,
        documents: Iterable[ToolDocument] | CachedGraph,
        *,
        services: Collection[str] = (),
        limits: Limits | None = None,
    ) -> None:
        """Prepare to answer about *documents*; those with the same node count once.

        Nothing is started yet. *services* are addresses of endpoints that `SERVICE` may ask, each
        as queries write it.
        """
        # Kept, for a process that was ended is followed by another.
        if isinstance(documents, CachedGraph):
            self._graph = documents
        else:
            known = tuple(documents)
            self._graph = CachedGraph(lambda: known)
        self._data: bytes | None = None
        self._limits = limits or Limits()
        self._services = tuple(services)
        self._proxy = self._make_proxy() if self._services else None
        self._worker: Worker | None = None
        self._lock = Lock()

    @classmethod
    def over(cls, turtle_data: bytes, limits: Limits | None = None) -> Self:
        """Make an endpoint for any graph, written as Turtle."""
        endpoint = cls((), limits=limits)
        endpoint._data = turtle_data
        return endpoint

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process; another query would start it again."""
        with self._lock:
            self._end()
            if self._proxy is not None:
                self._proxy.close()

    def query(self, text: str) -> SparqlAnswer:
        """Answer the query *text*: `SELECT`, `ASK`, `CONSTRUCT` or `DESCRIBE`.

        An update, and an endpoint that may not be asked, is a `UsageError`; a query that is not
        SPARQL, or exceeds the limits, an `InputError`.
        """
        if len(text) > LONGEST:
            message = f"the query has more than {LONGEST:,} characters"
            raise InputError(message, remedy="split the query")
        query = unescape_query(text)
        if any("\ud800" <= character <= "\udfff" for character in query):
            raise InputError("the query contains a lone surrogate", remedy="write it as UTF-8")
        limits = self._limits
        with self._lock:
            self._get_worker()
            until = time.monotonic() + limits.seconds
            if "service" in query.casefold():
                query = self._route_services(query, until)
            request = {"query": query, "rows": limits.rows, "size": limits.size}
            found = self._ask_worker(request, until)
            if found.get("kind") == "evaluation" and self._graph.is_damaged():
                self._end()
                self._graph.drop_store()
                found = self._ask_worker(request, until)
            return _read_answer(found, self._proxy.failures() if self._proxy else [], query)

    def _route_services(self, query: str, until: float) -> str:
        """Return *query* such that it reaches other endpoints through the proxy.

        Two parsers that read a query differently are how such checks are bypassed. So the endpoints
        in its text must be those that the process finds which evaluates it.
        """
        proxy = self._proxy = self._proxy or self._make_proxy()
        # A failure too late for an earlier query does not concern this one.
        proxy.failures()
        services = services_in(query)
        stated = [service.endpoint for service in services if service.endpoint is not None]
        found = self._ask_worker({"query": query, "is_parsed": True}, until)
        if "error" in found:
            raise InputError(
                "a query that contains the word SERVICE must parse before it runs, and this one"
                f" does not: {sparql_reason(found['error'], query)[0]}",
                remedy="correct it, or remove that word",
            )
        if sorted(stated) != sorted(found["endpoints"]):
            raise InputError(
                "the endpoints of the query cannot be determined reliably",
                remedy="write SERVICE <address> with the full address",
            )
        for service in reversed(services):
            if service.endpoint is None:
                raise UsageError(
                    f"SERVICE {service.term} does not name its endpoint",
                    remedy="write the full endpoint address between < and >",
                )
            address = proxy.get_proxy_address(service.endpoint)
            query = f"{query[: service.start]}<{address}>{query[service.end :]}"
        proxy.seconds = max(_SHARE_OF_OTHERS * (until - time.monotonic()), SHORTEST)
        return query

    def _make_proxy(self) -> FederationProxy:
        return FederationProxy(self._services, self._limits.seconds, self._limits.size)

    def _ask_worker(self, request: dict[str, Any], until: float) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self._get_worker().ask(request, until)
        except WorkerEndedError as fault:
            if fault.is_late:
                raise InputError(
                    f"the query timed out after {self._limits.seconds:g} seconds",
                    remedy="simplify the query, or raise the timeout",
                ) from None
            size = f"{self._limits.memory / 2**30:.2g} GiB"
            raise InputError(
                f"the query failed: it needs more than {size} of memory, or nests too deeply",
                remedy="simplify it: fewer open patterns, fewer levels; or raise --max-memory",
            ) from None
        return found

    def _get_worker(self) -> Worker:
        if self._worker is not None and self._worker.is_running:
            return self._worker
        self._end()
        head = {"memory": self._limits.memory, "parses": bool(self._services)}
        if self._data is None and self._graph.store is not None:
            try:
                self._worker = Worker(_WORKER, b"", store=self._graph.store, **head)
            except WorkerEndedError:
                self._graph.drop_store()
            else:
                return self._worker
        try:
            self._worker = Worker(_WORKER, self._data or self._graph.turtle(), **head)
        except WorkerEndedError:
            raise InputError(
                "the query process did not start",
                remedy="check that Python can start subprocesses here, and that memory is free",
            ) from None
        return self._worker

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()


def _read_answer(found: dict[str, Any], failures: list[str], query: str) -> SparqlAnswer:
    error = found.get("error")
    if error is None:
        return SparqlAnswer(
            found["form"],
            tuple(_sort_variables(query, found.get("variables", ()))),
            tuple(found.get("rows", ())),
            found.get("truth", False),
            tuple(found.get("triples", ())),
            found.get("cut", ""),
        )
    if found["kind"] == "update":
        raise UsageError(
            "the query is an update, and the graph is read-only",
            remedy="change the documents, and bundle them again",
        )
    if found["kind"] == "syntax":
        problem, remedy = sparql_reason(error, query)
        for name, likely in reversed(unknown_names_in(query).items()):
            prefix = name.partition(":")[0]
            if prefix not in PREFIXES:
                problem = f"the prefix {prefix!r} is not known"
                meant = f"did you mean {' or '.join(likely)}? " if likely else ""
                remedy = f"{meant}declare it, or use one of {', '.join(PREFIXES)}"
        raise InputError(f"invalid SPARQL query: {problem}", remedy=remedy)
    if failures:
        raise InputError(failures[0], remedy="write SERVICE SILENT to continue without it")
    raise InputError(f"the query failed: {error}", remedy="rewrite the query")
