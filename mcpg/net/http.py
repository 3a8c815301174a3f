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
from mcpg.text.install_commands import install_command
from mcpg.text.json_values import JsonObject
from mcpg.text.library_errors import connection_reason
from mcpg.text.safeyaml import UNSAFE, visible_form

if TYPE_CHECKING:
    import httpx


_MOST_KEPT = 4
_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")


class HttpConnection:
    """A client with at most one connection."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self._socket: socket.socket | None = None
        self._is_cut = False

    def trace(self, event: str, details: dict[str, Any]) -> None:
        """Remember the socket once there is one; httpx calls this as it goes along."""
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
        """Lend a connection; it is kept for the next request only if this one ends well.

        Raises:
            ImportError: httpx is not installed.
        """
        self._drop_inherited()
        with self._lock:
            connection = self._free.pop() if self._free else None
        connection = connection or self._connect()
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
        """Close the connections that are not in use."""
        self._drop_inherited()
        with self._lock:
            free, self._free = self._free, []
        for connection in free:
            connection.client.close()

    def _drop_inherited(self) -> None:
        """Drop what the process had before it forked: two must not share a connection.

        The connection stays open for the parent; a thread of the parent's may have held the lock.
        """
        if self._owner != os.getpid():
            inherited, self._free = self._free, []
            self._lock, self._owner = threading.Lock(), os.getpid()
            for connection in inherited:
                connection.client.close()

    def _connect(self) -> HttpConnection:
        import httpx  # noqa: PLC0415 - an extra, and heavy

        with self._lock:
            self._trust = self._trust or httpx.create_ssl_context()
        # No proxy or password is read from the environment: callers that want one pass it.
        return HttpConnection(httpx.Client(verify=self._trust, trust_env=False, proxy=self._proxy))


# Deadlines. Work runs in a thread of its own, so that nothing it does (a slow resolver, a server
# that sends a byte a second, a client that cancels itself) delays or ends the caller.


Result = TypeVar("Result")


class WorkDeadline:
    """Deadline and abandonment of work, shared by its thread and its caller."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._abandoned = threading.Event()
        self._lock = threading.Lock()
        self._cut: Callable[[], None] | None = None

    def remaining(self) -> float:
        """Return how many seconds are left, at least 0."""
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
                self._cut_off()
        try:
            yield
        finally:
            with self._lock:
                self._cut = None

    def abandon(self) -> None:
        """Give up the work."""
        with self._lock:
            self._abandoned.set()
            self._cut_off()

    def _cut_off(self) -> None:
        # Under the lock, so that nothing else uses the connection before this has returned.
        if self._cut is not None:
            with suppress(OSError):
                self._cut()


@dataclass(frozen=True, slots=True)
class WorkOutcome(Generic[Result]):
    """The result of work, or whatever it raised."""

    result: Result | None
    fault: BaseException | None = None


def within(seconds: float, work: Callable[[WorkDeadline], Result]) -> WorkOutcome[Result] | None:
    """Run *work* for at most *seconds*; return `None` if it has not ended by then.

    What the work raises is returned, never raised: even its own cancellation or interruption. What
    interrupts the wait itself is raised, and the work abandoned.
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
    403: "check the API key and what it is allowed",
    404: "check the address and the name of the model",
    429: "wait, or ask less often",
}


class EndpointError(McpgError):
    """An endpoint gave no usable answer.

    Attributes:
        kind: `missing` (httpx is not installed), `timeout` (the time budget is spent), `refused`
            (the server turns the request down), `failed` (it cannot be reached, breaks off, or is
            at fault itself), or `answer` (its answer cannot be understood).
    """

    def __init__(
        self, message: str, *, kind: str, place: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message, place=place, remedy=remedy)
        self.kind = kind


class _RetryableError(Exception):
    """A fault that another attempt may better, at the earliest in *wait* seconds."""

    def __init__(self, fault: EndpointError, wait: float = 0.0) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Budget:
    """Time limits of a request, in seconds, and its retries.

    Attributes:
        connect: Time to connect, for each attempt.
        read: Time between two pieces of the response.
        total: Time for all attempts and the waits between them.
        retries: Maximum number of retries after temporary failures.
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
    """The requests sent to an endpoint and the tokens they took, in total.

    Attributes:
        requests: Requests sent, retries among them.
        retries: Requests that repeat one that failed.
        input_tokens: Tokens that servers report to have read.
        output_tokens: Tokens that servers report to have written.
    """

    requests: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def read_usage(answer: JsonObject) -> Usage | None:
    """Return the tokens that an *answer* reports, `None` where it reports none."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return None
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
    )


def _count(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return max(0, value) if is_count else 0


def list_encodings(secret: str) -> tuple[str, ...]:
    """Return the texts that stand for *secret* where it is written: plain, or encoded.

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
    """An API key that appears in no representation of it, and can be masked in any text."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Keep *text*.

        Raises:
            UsageError: No header field can carry it.
        """
        self._text = text.strip()
        if not (self._text.isascii() and self._text.isprintable() and self._text):
            raise UsageError(
                "the API key is empty or has characters that no header can carry",
                remedy="set it to the key alone, without quotes or line ends",
            )

    def __repr__(self) -> str:
        return f"Secret({_MASK!r})"

    def reveal(self) -> str:
        """Return the key."""
        return self._text

    def hidden_in(self, text: str) -> str:
        """Return *text* with the key masked, plain or encoded, even where it is cut off."""
        for form in list_encodings(self._text):
            text = text.replace(form, _MASK)
            for length in range(min(len(form), len(text)), _SHORTEST_PREFIX - 1, -1):
                if text.endswith(form[:length]):
                    text = text[:-length] + _MASK
                    break
        return text


def quotable(text: str, secret: Secret | None, longest: int) -> str:
    """Return untrusted *text* as one harmless line of at most *longest* characters.

    The secret is masked before anything is cut or escaped, so that no part of it is left.
    """
    if secret is not None:
        text = secret.hidden_in(text)
    line = " ".join(UNSAFE.sub(visible_form, " ".join(text.split())).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def back_off(attempt: int, jitter: float) -> float:
    """Return the seconds to wait after the attempt numbered *attempt*, from 0.

    The bound doubles with every attempt, and *jitter* in [0, 1) picks a moment in its upper half,
    so that clients that failed together do not come back together.

    Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015, "equal jitter".
    """
    bound = min(_LONGEST_DELAY, _FIRST_DELAY * 2.0**attempt)
    return bound * (1 + jitter) / 2


def retry_after(header: str | None, now: datetime | None = None) -> float:
    """Return the seconds of a `Retry-After` header, 0 without a valid one.

    It is a number of seconds or a date (RFC 9110, section 10.2.3); *now* is the present.
    """
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
    """Posts JSON to one server; may be used by many threads at once."""

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
        """Prepare requests; nothing is sent yet.

        Args:
            url: Base address of all paths, such as `https://api.openai.com/v1`.
            key: Bearer token, sent to this server only.
            budget: Time limits and retries.
            longest_answer: Maximum size of a response in bytes.
            proxy: Address of a proxy; the environment is not read.
            jitter: Returns numbers in [0, 1) that spread retries.

        Raises:
            UsageError: *url* or *key* cannot be used.
        """
        self._address = parse_address(url)
        self._secret = None if key is None else Secret(key)
        self._budget = budget or Budget()
        self._longest = longest_answer
        self._jitter = jitter
        self._pool = ConnectionPool(proxy)
        self._lock = threading.Lock()
        self._usage = Usage()
        # Pooled connections end with the endpoint even if it is never closed.
        weakref.finalize(self, self._pool.close)

    def __repr__(self) -> str:
        return f"Endpoint({self.display!r})"

    @property
    def display(self) -> str:
        """The address, without anything secret."""
        return self._address.display

    @property
    def usage(self) -> Usage:
        """The usage so far."""
        return self._usage

    @property
    def budget(self) -> Budget:
        """How long a request may take."""
        return self._budget

    def close(self) -> None:
        """Close the connections that are kept for further requests."""
        self._pool.close()

    def post(self, path: str, payload: JsonObject) -> JsonObject:
        """Post *payload* to *path* and return the JSON object of the answer.

        Raises:
            EndpointError: No usable answer came in time; its `kind` is the reason.
        """
        address = self._address.of(path)
        body = json.dumps(payload).encode()
        ended = within(self._budget.total, lambda call: self._request(address, body, call))
        if ended is None:
            raise self._error(
                f"no answer within {self._budget.total:g} seconds", "timeout", address
            )
        if ended.result is None:
            raise ended.fault or AssertionError
        return ended.result

    def quotable(self, text: str) -> str:
        """Return what the server wrote as one harmless line without the key."""
        return quotable(text, self._secret, _LONGEST_QUOTE)

    def _request(self, address: Address, body: bytes, call: WorkDeadline) -> JsonObject:
        """Send the request until there is an answer, or a fault that no retry can better."""
        attempt = 0
        while True:
            try:
                answer = self._attempt(address, body, call)
            except _RetryableError as retryable:
                delay = max(retryable.wait, back_off(attempt, self._jitter()))
                is_last = attempt == self._budget.retries or delay >= call.remaining()
                if is_last or not call.sleep(delay):
                    raise retryable.fault from None
            else:
                used = read_usage(answer) or Usage()
                self._count(input_tokens=used.input_tokens, output_tokens=used.output_tokens)
                return answer
            attempt += 1
            self._count(retries=1)

    def _count(self, **counts: int) -> None:
        """Add *counts*, named as the members of `Usage`, from any thread."""
        with self._lock:
            sums = {name: getattr(self._usage, name) + count for name, count in counts.items()}
            self._usage = replace(self._usage, **sums)

    def _attempt(self, address: Address, body: bytes, call: WorkDeadline) -> JsonObject:
        """Send the request once, and follow redirects to the same server."""
        place = address
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._send(place, body, call)
            if not 300 <= answer.status < 400:  # noqa: PLR2004 - the class of redirects
                return self._read(answer, place)
            place = self._redirect_target(answer, place)
        raise self._error("the server redirects without end", "failed", address)

    def _redirect_target(self, answer: _HttpAnswer, place: Address) -> Address:
        target = _target(place, answer.headers.get("location", ""))
        if answer.status in _KEEPS_METHOD and target and target.origin == place.origin:
            return target
        raise self._error(
            f"the server answers with a redirect ({answer.status}) to another place, which is not"
            " followed, so that nobody else gets the key",
            "refused",
            place,
            "give the address that is redirected to",
        )

    def _send(self, address: Address, body: bytes, call: WorkDeadline) -> _HttpAnswer:
        httpx = _httpx()
        # A read beyond the deadline is cut off there; a connection cannot be before it stands.
        connect = min(self._budget.connect, max(call.remaining(), 0.001), _LONGEST_WAIT)
        timeout = httpx.Timeout(min(self._budget.read, _LONGEST_WAIT), connect=connect)
        # `cut` is withdrawn before the connection returns to the pool, for another request.
        with self._pool.connection() as connection, call.cut_by(connection.cut):
            self._count(requests=1)
            try:
                with connection.client.stream(
                    "POST",
                    address.whole,
                    content=body,
                    headers=self._headers(),
                    timeout=timeout,
                    extensions={"trace": connection.trace},
                ) as response:
                    return self._read_body(response, address)
            except httpx.HTTPError as fault:
                is_late = isinstance(fault, httpx.TimeoutException)
                raise _RetryableError(
                    self._connection_error(fault, address, is_late=is_late)
                ) from None
            except (httpx.InvalidURL, httpx.StreamError) as fault:
                raise self._error(self.quotable(str(fault)), "failed", address) from None

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            # A packed answer could unfold to any size.
            "Accept-Encoding": "identity",
            "User-Agent": "mcpg",
        }
        if self._secret is not None:
            headers["Authorization"] = f"Bearer {self._secret.reveal()}"
        return headers

    def _read_body(self, response: httpx.Response, address: Address) -> _HttpAnswer:
        """Read the body of *response*, up to the bound on its size."""
        is_success = response.is_success
        longest = self._longest if is_success else _LONGEST_COMPLAINT
        content = bytearray()
        for piece in response.iter_raw():
            content += piece
            if len(content) > longest:
                if is_success:
                    message = f"its answer is longer than {longest:,} bytes"
                    raise self._error(message, "answer", address)
                del content[longest:]
                break
        return _HttpAnswer(response.status_code, bytes(content), dict(response.headers))

    def _read(self, answer: _HttpAnswer, address: Address) -> JsonObject:
        """Return the JSON object of an answer that is not a redirect."""
        if answer.status // 100 != 2:  # noqa: PLR2004 - the class of successes
            raise self._complaint(answer, address)
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise self._error("its answer is packed, unasked", "answer", address)
        try:
            found = json.loads(answer.content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._error(
                f"its answer is no JSON object: {self._quote(answer) or 'it is empty'}",
                "answer",
                address,
                "check the address: most end in /v1",
            )
        return found

    def _complaint(self, answer: _HttpAnswer, address: Address) -> Exception:
        status = answer.status
        phrase = _PHRASES.get(status, "no known status")
        quote = self._quote(answer)
        message = f"the server answers {status} ({phrase})" + (f": {quote}" if quote else "")
        is_retried = status in _RETRIED
        kind = "failed" if is_retried or status >= 500 else "refused"  # noqa: PLR2004 - the server's own faults
        fault = self._error(message, kind, address, _REMEDIES.get(status))
        if not is_retried:
            return fault
        return _RetryableError(fault, retry_after(answer.headers.get("retry-after")))

    def _quote(self, answer: _HttpAnswer) -> str:
        """Return the error message of the server."""
        text = answer.content.decode("utf-8", "replace")
        try:
            return self.quotable(_message_in(json.loads(text)) or text)
        except (ValueError, RecursionError):
            return self.quotable(text)

    def _connection_error(
        self, fault: Exception, address: Address, *, is_late: bool
    ) -> EndpointError:
        reason = self.quotable(connection_reason(fault))
        message = f"the server took too long ({reason})" if is_late else f"no answer: {reason}"
        remedy = "check the address, and that the server runs"
        return self._error(message, "timeout" if is_late else "failed", address, remedy)

    def _error(
        self, message: str, kind: str, address: Address, remedy: str | None = None
    ) -> EndpointError:
        return EndpointError(message, kind=kind, place=address.display, remedy=remedy)


def _httpx() -> ModuleType:
    """Import httpx."""
    try:
        import httpx  # noqa: PLC0415 - an extra, and heavy
    except ImportError:
        raise EndpointError(
            "the package httpx is not installed",
            kind="missing",
            remedy=f"install it with: {install_command('llm')}",
        ) from None
    return httpx


def _target(place: Address, location: str) -> Address | None:
    """Return the address that a redirect from *place* leads to, `None` if it is invalid."""
    try:
        return parse_address(urljoin(place.whole, location)) if location else None
    except (UsageError, ValueError):
        return None


def _message_in(found: Any) -> str:
    """Return the message of an error as servers of this protocol write it, "" without one."""
    error = found.get("error", found) if isinstance(found, dict) else None
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail")
    return error if isinstance(error, str) else ""
