"""A bounded client for endpoints with the OpenAI protocol.

Whatever a server does (hang, drip, break off, redirect, send without end), a request ends within
its time budget and a bounded amount of memory, and its key goes to no other server.
"""

from __future__ import annotations

import base64
import contextvars
import json
import math
import os
import random
import re
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote, quote_plus, urljoin

from mcpg.errors import McpgError, UsageError
from mcpg.net.addresses import Address, parse_address
from mcpg.text.json_values import JsonObject
from mcpg.text.library_errors import connection_reason, install_command
from mcpg.text.safeyaml import UNSAFE, visible_form

if TYPE_CHECKING:
    import httpx


_MOST_KEPT = 4
_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")


@dataclass(slots=True)
class HttpConnection:
    """A client with at most one connection, whose socket is known.

    A client that all requests share would not do: it does not report which connection a request
    waits on, and closing it does not wake threads that read.
    """

    client: httpx.Client
    _socket: socket.socket | None = None
    _is_cut: bool = False

    def trace(self, event: str, details: dict[str, Any]) -> None:
        """Remember the socket once there is one, as the extension `trace` of httpx."""
        if event.endswith(_CONNECTED):
            self._socket = details["return_value"].get_extra_info("socket")
            if self._is_cut:
                self.cut()

    def cut(self) -> None:
        """Shut the socket down, in the middle of whatever it does, or as soon as there is one."""
        self._is_cut = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class ConnectionPool:
    """The connections to one server, shared by threads."""

    def __init__(self, proxy: str | None) -> None:
        self._proxy = proxy
        self._lock = threading.Lock()
        self._free: list[HttpConnection] = []
        self._owner = os.getpid()
        self._trust: ssl.SSLContext | None = None

    @contextmanager
    def connection(self) -> Iterator[HttpConnection]:
        """Lend a connection; it is kept for the next request only if this one ends well."""
        self._drop_inherited()
        with self._lock:
            connection = self._free.pop() if self._free else None
        if connection is None:
            httpx = _import_httpx()
            with self._lock:
                self._trust = self._trust or httpx.create_ssl_context()
            # No proxy or password is read from the environment: callers pass a proxy if needed.
            client = httpx.Client(verify=self._trust, trust_env=False, proxy=self._proxy)
            connection = HttpConnection(client)
        is_well = False
        try:
            yield connection
            is_well = True
        finally:
            with self._lock:
                is_kept = is_well and len(self._free) < _MOST_KEPT
                if is_kept:
                    self._free.append(connection)
            if not is_kept:
                connection.client.close()

    def close(self) -> None:
        self._drop_inherited()
        with self._lock:
            free, self._free = self._free, []
        for connection in free:
            connection.client.close()

    def _drop_inherited(self) -> None:
        """Drop the connections from before the process forked: two must not share one.

        The connection stays open for the parent; a thread of the parent may have had the lock.
        """
        if self._owner != os.getpid():
            inherited, self._free = self._free, []
            self._lock, self._owner = threading.Lock(), os.getpid()
            for connection in inherited:
                connection.client.close()


# Work runs in a thread of its own, so that nothing it does (a slow resolver, a server that sends a
# byte a second, a client that cancels itself) delays or ends the caller.
Result = TypeVar("Result")


class WorkDeadline:
    """Deadline and abandonment of work, shared by its thread and its caller."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._abandoned = threading.Event()
        self._lock = threading.Lock()
        self._cut: Callable[[], None] | None = None

    def remaining(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def sleep(self, seconds: float) -> bool:
        """Wait *seconds*, and return whether the caller still waits for the work."""
        return not self._abandoned.wait(seconds)

    @contextmanager
    def cut_by(self, cut: Callable[[], None]) -> Iterator[None]:
        """Call *cut* if the caller gives up while the block runs, and never after it."""
        with self._lock:
            self._cut = cut
            if self._abandoned.is_set():
                cut()
        try:
            yield
        finally:
            with self._lock:
                self._cut = None

    def abandon(self) -> None:
        with self._lock:
            self._abandoned.set()
            # Under the lock, so that nothing else uses the connection before this has returned.
            if self._cut is not None:
                self._cut()


@dataclass(frozen=True, slots=True)
class WorkOutcome(Generic[Result]):
    """The result of work, or the exception that it raised."""

    result: Result | None
    fault: BaseException | None = None


def within(seconds: float, work: Callable[[WorkDeadline], Result]) -> WorkOutcome[Result] | None:
    """Run *work* for at most *seconds*; return `None` if it has not ended by then.

    An exception of the work is returned, never raised, even its own cancellation or interruption.
    An interruption of the wait itself is raised, and the work abandoned.
    """
    seconds = min(seconds, threading.TIMEOUT_MAX)
    call = WorkDeadline(seconds)
    done = threading.Event()
    ended: list[WorkOutcome[Result]] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            ended.append(WorkOutcome(context.run(work, call)))
        except BaseException as fault:  # noqa: BLE001 - whatever it is, it is the work's own
            ended.append(WorkOutcome(None, fault))
        finally:
            done.set()

    is_done = False
    try:
        threading.Thread(target=run, name="mcpg-deadline", daemon=True).start()
        is_done = done.wait(seconds)
    finally:
        if not is_done:
            call.abandon()
    return ended[0] if is_done else None


_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # a packed answer could unfold to any size
    "User-Agent": "mcpg",
}
_MOST_REDIRECTS = 3
# A socket counts milliseconds in 32 bits.
_LONGEST_WAIT = 86_400.0
_LONGEST_COMPLAINT = 16_384
_LONGEST_QUOTE = 240
_FIRST_DELAY, _LONGEST_DELAY = 0.25, 8.0
_MASK = "***"
_SHORTEST_PREFIX = 4
"""So many leading characters of a key at the end of a text are taken for the key, cut off."""

_ESCAPE = re.compile("%[0-9A-F]{2}")
_KEEPS_METHOD = (307, 308)
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
_PHRASES = {int(status): status.phrase for status in HTTPStatus}
_REMEDIES = {
    401: "check the API key",
    403: "check the API key and its permissions",
    404: "check the address and the name of the model",
    429: "wait, or ask less often",
}


class EndpointError(McpgError):
    """An endpoint gave no usable answer.

    Attributes:
        kind: `missing` (httpx is not installed), `timeout` (the time budget is spent), `refused`
            (the server turns the request down), `failed` (it cannot be reached, breaks off, or is
            at fault itself), or `answer` (its answer cannot be understood).
        status: The status that the server turned the request down with, if any.
    """

    wait: float | None = None
    status: int | None = None

    def __init__(
        self, message: str, *, kind: str, place: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message, place=place, remedy=remedy)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Budget:
    """Time limits of a request, in seconds, and its retries.

    Attributes:
        read: Time between two pieces of the response.
    """

    connect: float = 5.0
    read: float = 30.0
    total: float = 60.0
    retries: int = 3

    def __post_init__(self) -> None:
        if not (min(self.connect, self.read, self.total) > 0 <= self.retries):
            raise UsageError("a time budget is above 0, and retries are not below 0")


@dataclass(frozen=True, slots=True)
class Usage:
    """The requests sent to an endpoint, retries among them, and the tokens they took, in total."""

    requests: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def read_usage(answer: JsonObject) -> Usage | None:
    """Return the tokens that an *answer* reports, `None` if it reports none."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return None
    stated = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
    read, written = (
        max(0, one) if isinstance(one, int) and not isinstance(one, bool) else 0 for one in stated
    )
    return Usage(input_tokens=read, output_tokens=written)


def list_encodings(secret: str) -> tuple[str, ...]:
    """Return the forms in which *secret* may be written: plain, or encoded.

    These are the percent-encodings of the usual libraries, JSON with its options, and base64.
    """
    data = secret.encode("utf-8", "surrogatepass")
    urls = [quote(data, safe=safe) for safe in ("", "/", "!'()*")]
    urls.append(quote_plus(data))
    texts = [json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)]
    coded = (base64.b64encode(data), base64.urlsafe_b64encode(data))
    forms = (
        secret,
        *urls,
        *(_ESCAPE.sub(lambda found: found[0].lower(), one) for one in urls),
        *texts,
        *(one.replace("/", "\\/") for one in texts),
        *(one.decode().rstrip("=") for one in coded),
    )
    return tuple(dict.fromkeys(forms))


class Secret:
    """An API key that appears in no representation of it, and can be masked in any text.

    Raises:
        UsageError: No header field can carry it.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        if not (self.text.isascii() and self.text.isprintable() and self.text):
            raise UsageError(
                "the API key is empty or has characters that no header can carry",
                remedy="set it to the key only, without quotes or line ends",
            )

    def __repr__(self) -> str:
        return f"Secret({_MASK!r})"

    def mask(self, text: str) -> str:
        """Return *text* with the key masked, plain or encoded, even if it is cut off."""
        for form in list_encodings(self.text):
            text = text.replace(form, _MASK)
            for length in range(min(len(form), len(text)), _SHORTEST_PREFIX - 1, -1):
                if text.endswith(form[:length]):
                    text = text[:-length] + _MASK
                    break
        return text


def back_off(attempt: int, jitter: float) -> float:
    """Return the seconds to wait after the attempt numbered *attempt*, from 0.

    The bound doubles with every attempt, and *jitter* in [0, 1) picks a moment in its upper half,
    so that clients that failed together do not come back together.

    Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015, "equal jitter".
    """
    bound = min(_LONGEST_DELAY, _FIRST_DELAY * 2.0**attempt)
    return bound * (1 + jitter) / 2


def parse_retry_after(header: str | None, now: datetime | None = None) -> float:
    """Return the seconds of a `Retry-After` header (RFC 9110, section 10.2.3), 0 without one."""
    if not header:
        return 0.0
    with suppress(ValueError):
        seconds = float(header)
        return max(0.0, seconds) if math.isfinite(seconds) else 0.0
    with suppress(ValueError, TypeError, OverflowError):
        moment = parsedate_to_datetime(header)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
    return 0.0


@dataclass(frozen=True, slots=True)
class _HttpAnswer:
    """The answer of a server, as far as it was read."""

    status: int
    content: bytes
    headers: dict[str, str]


class Endpoint:
    """Posts JSON to one server; may be used by many threads at once.

    Attributes:
        display: The address, without anything secret.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        budget: Budget | None = None,
        longest_answer: int = 1_048_576,
        proxy: str | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Prepare requests to paths below *url*; nothing is sent yet.

        The *key* is a bearer token, *longest_answer* is in bytes, *proxy* is an address (the
        environment is not read), and *jitter* returns numbers in [0, 1) that spread retries.
        """
        self._address = parse_address(url)
        self._secret = None if key is None else Secret(key)
        self.display = self._address.display
        self.budget = budget or Budget()
        self.usage = Usage()
        self._longest = longest_answer
        self._jitter = jitter
        self._pool = ConnectionPool(proxy)
        self._lock = threading.Lock()
        # Pooled connections end with the endpoint even if it is never closed.
        weakref.finalize(self, self._pool.close)

    def __repr__(self) -> str:
        return f"Endpoint({self.display!r})"

    def close(self) -> None:
        self._pool.close()

    def post(self, path: str, payload: JsonObject) -> JsonObject:
        """Post *payload* to *path* and return the JSON object of the answer."""
        address, total = self._address.join(path), self.budget.total
        body = json.dumps(payload).encode()
        ended = within(total, lambda call: self._request(address, body, call))
        if ended is None:
            raise _error(f"no answer within {total:g} seconds", "timeout", address)
        if ended.result is None:
            raise ended.fault or AssertionError
        return ended.result

    def quote(self, text: str) -> str:
        """Return the server's message as one harmless line of at most 240 characters.

        The key is masked before anything is cut or escaped, so that no part of it is left.
        """
        if self._secret is not None:
            text = self._secret.mask(text)
        line = " ".join(UNSAFE.sub(visible_form, " ".join(text.split())).split())
        return line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1].rstrip() + "…"

    def _request(self, address: Address, body: bytes, call: WorkDeadline) -> JsonObject:
        """Send the request until there is an answer, or a fault that no retry can better."""
        attempt = 0
        while True:
            try:
                answer = self._attempt(address, body, call)
            except EndpointError as fault:
                if fault.wait is None or attempt == self.budget.retries:
                    raise
                delay = max(fault.wait, back_off(attempt, self._jitter()))
                if delay >= call.remaining() or not call.sleep(delay):
                    raise
            else:
                used = read_usage(answer) or Usage()
                self._count(input_tokens=used.input_tokens, output_tokens=used.output_tokens)
                return answer
            attempt += 1
            self._count(retries=1)

    def _count(self, **counts: int) -> None:
        """Add *counts*, named as the members of `Usage`, from any thread."""
        with self._lock:
            sums = {name: getattr(self.usage, name) + count for name, count in counts.items()}
            self.usage = replace(self.usage, **sums)

    def _attempt(self, address: Address, body: bytes, call: WorkDeadline) -> JsonObject:
        """Send the request once, and follow redirects to the same server."""
        place = address
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._send(place, body, call)
            if not 300 <= answer.status < 400:  # noqa: PLR2004 - the class of redirects
                return self._read_object(answer, place)
            target, location = None, answer.headers.get("location", "")
            if answer.status in _KEEPS_METHOD and location:
                with suppress(UsageError, ValueError):
                    target = parse_address(urljoin(place.parts.geturl(), location))
            if target is None or target.origin != place.origin:
                message = (
                    f"the server answers with a redirect ({answer.status}) to another place, which"
                    " is not followed, to keep the key from other servers"
                )
                raise _error(message, "refused", place, "give the address that is redirected to")
            place = target
        raise _error("the server redirects without end", "failed", address)

    def _send(self, address: Address, body: bytes, call: WorkDeadline) -> _HttpAnswer:
        httpx = _import_httpx()
        # A read beyond the deadline is cut off there; a connection cannot be before it is open.
        connect = min(self.budget.connect, max(call.remaining(), 0.001), _LONGEST_WAIT)
        timeout = httpx.Timeout(min(self.budget.read, _LONGEST_WAIT), connect=connect)
        key = {} if self._secret is None else {"Authorization": f"Bearer {self._secret.text}"}
        # `cut` is withdrawn before the connection returns to the pool, for another request.
        with self._pool.connection() as connection, call.cut_by(connection.cut):
            self._count(requests=1)
            try:
                with connection.client.stream(
                    "POST",
                    address.parts.geturl(),
                    content=body,
                    headers={**_HEADERS, **key},
                    timeout=timeout,
                    extensions={"trace": connection.trace},
                ) as response:
                    return self._read_body(response, address)
            except httpx.HTTPError as fault:
                is_late = isinstance(fault, httpx.TimeoutException)
                reason = self.quote(connection_reason(fault))
                message = (
                    f"the server took too long ({reason})" if is_late else f"no answer: {reason}"
                )
                remedy = "check the address, and that the server runs"
                error = _error(message, "timeout" if is_late else "failed", address, remedy)
                error.wait = 0.0
                raise error from None
            except (httpx.InvalidURL, httpx.StreamError) as fault:
                raise _error(self.quote(str(fault)), "failed", address) from None

    def _read_body(self, response: httpx.Response, address: Address) -> _HttpAnswer:
        is_success = response.is_success
        longest = self._longest if is_success else _LONGEST_COMPLAINT
        content = bytearray()
        for piece in response.iter_raw():
            content += piece
            if len(content) > longest:
                if is_success:
                    raise _error(f"its answer is longer than {longest:,} bytes", "answer", address)
                del content[longest:]
                break
        return _HttpAnswer(response.status_code, bytes(content), dict(response.headers))

    def _read_object(self, answer: _HttpAnswer, address: Address) -> JsonObject:
        if answer.status // 100 != 2:  # noqa: PLR2004 - the class of successes
            raise self._describe_refusal(answer, address)
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise _error("its answer is packed, unasked", "answer", address)
        try:
            found = json.loads(answer.content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            message = (
                f"its answer is not a JSON object: {self._quote_message(answer) or 'it is empty'}"
            )
            raise _error(message, "answer", address, "check the address: most end in /v1")
        return found

    def _describe_refusal(self, answer: _HttpAnswer, address: Address) -> EndpointError:
        status = answer.status
        phrase = _PHRASES.get(status, "no known status")
        quote = self._quote_message(answer)
        message = f"the server answers {status} ({phrase})" + (f": {quote}" if quote else "")
        is_retried = status in _RETRIED
        kind = "failed" if is_retried or status >= 500 else "refused"  # noqa: PLR2004 - the server's own faults
        fault = _error(message, kind, address, _REMEDIES.get(status))
        fault.status = status
        fault.wait = parse_retry_after(answer.headers.get("retry-after")) if is_retried else None
        return fault

    def _quote_message(self, answer: _HttpAnswer) -> str:
        """Return the message of the server, as errors of this protocol have it, or all it wrote."""
        text = answer.content.decode("utf-8", "replace")
        error = None
        with suppress(ValueError, RecursionError):
            found = json.loads(text)
            error = found.get("error", found) if isinstance(found, dict) else None
        if isinstance(error, dict):
            error = error.get("message") or error.get("detail")
        return self.quote(error if error and isinstance(error, str) else text)


def _error(message: str, kind: str, address: Address, remedy: str | None = None) -> EndpointError:
    return EndpointError(message, kind=kind, place=address.display, remedy=remedy)


def _import_httpx() -> ModuleType:
    try:
        import httpx  # noqa: PLC0415 - an extra, and heavy
    except ImportError:
        raise EndpointError(
            "the package httpx is not installed",
            kind="missing",
            remedy=f"install it with: {install_command('llm')}",
        ) from None
    return httpx
