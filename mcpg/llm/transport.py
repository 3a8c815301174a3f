"""The transport: one bounded client for endpoints that speak the protocol of OpenAI.

Whatever a server does (hang, drip, lie, break off, redirect, send without end), a request ends
within its time budget, takes a bounded part of memory, and tells nobody the key.
"""

from __future__ import annotations

import json
import random
import weakref
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from mcpg.errors import UsageError
from mcpg.llm.address import Address, address_of
from mcpg.llm.deadline import within
from mcpg.llm.errors import EndpointError
from mcpg.llm.lines import Lines
from mcpg.llm.retrying import PASSING, back_off, retry_after
from mcpg.llm.secret import Secret, quotable
from mcpg.llm.usage import Meter

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from mcpg.jsontypes import JsonObject
    from mcpg.llm.deadline import Call
    from mcpg.llm.usage import Usage

_MOST_REDIRECTS = 3
# A socket counts milliseconds in 32 bits.
_LONGEST_WAIT = 86_400.0
_LONGEST_COMPLAINT = 16_384
_LONGEST_QUOTE = 240
_KEEPS_METHOD = (307, 308)
_REMEDIES = {
    401: "check the API key",
    403: "check the API key and what it is allowed",
    404: "check the address and the name of the model",
    429: "wait, or ask less often",
}


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a request may take, in seconds.

    Attributes:
        connect: To reach the server, for each attempt.
        read: Between two pieces of its answer.
        total: For everything: all attempts, and the waits between them.
        retries: How often a request that fails in passing is repeated.
    """

    connect: float = 5.0
    read: float = 30.0
    total: float = 60.0
    retries: int = 3

    def __post_init__(self) -> None:
        if not (min(self.connect, self.read, self.total) > 0 <= self.retries):
            raise UsageError("a time budget is above 0, and retries are not below 0")


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a server answered, as far as it was read."""

    status: int
    content: bytes
    headers: dict[str, str]


class _PassingError(Exception):
    """A fault that another attempt may better, at the earliest in so many seconds."""

    def __init__(self, fault: EndpointError, wait: float = 0.0) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.wait = wait


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
        """Prepare to ask; nothing is sent yet.

        Args:
            url: What all paths stand below, such as `https://api.openai.com/v1`.
            key: Sent as a bearer token, to this server alone.
            budget: How long a request may take.
            longest_answer: The most bytes of an answer that are read.
            proxy: The proxy to go through; the environment is not asked.
            jitter: Gives numbers in [0, 1) that spread retries.

        Raises:
            UsageError: *url* or *key* cannot be used.
        """
        self._address = address_of(url)
        self._secret = None if key is None else Secret(key)
        self._budget = budget or Budget()
        self._longest = longest_answer
        self._jitter = jitter
        self._lines = Lines(proxy)
        self._meter = Meter()
        # Connections that are kept end with the endpoint, though nobody closes it.
        weakref.finalize(self, self._lines.close)

    def __repr__(self) -> str:
        return f"Endpoint({self.shown!r})"

    @property
    def shown(self) -> str:
        """The address, without anything secret."""
        return self._address.shown

    @property
    def usage(self) -> Usage:
        """What asking has cost so far."""
        return self._meter.total

    @property
    def budget(self) -> Budget:
        """How long a request may take."""
        return self._budget

    def close(self) -> None:
        """Close the connections that are kept for further requests."""
        self._lines.close()

    def post(self, path: str, payload: JsonObject) -> JsonObject:
        """Post *payload* to *path* and give the object that comes back.

        Raises:
            EndpointError: No usable answer came in time; its `kind` says why.
        """
        address = self._address.of(path)
        body = json.dumps(payload).encode()
        ended = within(self._budget.total, lambda call: self._answered(address, body, call))
        if ended is None:
            raise self._error(
                f"no answer within {self._budget.total:g} seconds", "timeout", address
            )
        if ended.result is None:
            raise ended.fault or AssertionError
        return ended.result

    def quotable(self, text: str) -> str:
        """Bring what the server wrote to one harmless line without the key."""
        return quotable(text, self._secret, _LONGEST_QUOTE)

    def _answered(self, address: Address, body: bytes, call: Call) -> JsonObject:
        """Ask until there is an answer, or a fault that does not pass."""
        attempt = 0
        while True:
            try:
                answer = self._asked(address, body, call)
                self._meter.add_answer(answer)
            except _PassingError as passing:
                delay = max(passing.wait, back_off(attempt, self._jitter()))
                if attempt == self._budget.retries or delay >= call.remaining():
                    raise passing.fault from None
                if not call.sleep(delay):
                    raise passing.fault from None
            else:
                return answer
            attempt += 1
            self._meter.add(retries=1)

    def _asked(self, address: Address, body: bytes, call: Call) -> JsonObject:
        """Ask once, and follow redirects that stay with the same server."""
        place = address
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._sent(place, body, call)
            if not 300 <= answer.status < 400:  # noqa: PLR2004 - the class of redirects
                return self._read(answer, place)
            place = self._redirected(answer, place)
        raise self._error("the server redirects without end", "failed", address)

    def _redirected(self, answer: _Answer, place: Address) -> Address:
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

    def _sent(self, address: Address, body: bytes, call: Call) -> _Answer:
        # What cuts the line is taken back before the line is, which then may be another's.
        with self._lines.line() as line, call.cut_by(line.cut):
            import httpx  # noqa: PLC0415 - heavy; the line has seen to it that it is there

            self._meter.add(requests=1)
            try:
                with line.client.stream(
                    "POST",
                    address.whole,
                    content=body,
                    headers=self._headers(),
                    timeout=self._timeout(call),
                    extensions={"trace": line.trace},
                ) as response:
                    return self._taken(response, address)
            except httpx.HTTPError as fault:
                raise _PassingError(self._unreached(fault, address)) from None
            except (httpx.InvalidURL, httpx.StreamError) as fault:
                raise self._error(self.quotable(str(fault)), "failed", address) from None

    def _timeout(self, call: Call) -> httpx.Timeout:
        import httpx  # noqa: PLC0415 - as above

        # A read beyond the deadline is cut off there; a connection cannot be before it stands.
        connect = min(self._budget.connect, max(call.remaining(), 0.001), _LONGEST_WAIT)
        return httpx.Timeout(min(self._budget.read, _LONGEST_WAIT), connect=connect)

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

    def _taken(self, response: httpx.Response, address: Address) -> _Answer:
        """Read the body of *response*, up to the most that is read."""
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
        return _Answer(response.status_code, bytes(content), dict(response.headers))

    def _read(self, answer: _Answer, address: Address) -> JsonObject:
        """Give the object of an answer that is no redirect."""
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

    def _complaint(self, answer: _Answer, address: Address) -> Exception:
        status = answer.status
        phrase = HTTPStatus(status).phrase if status in _STATUSES else "no known status"
        quote = self._quote(answer)
        message = f"the server answers {status} ({phrase})" + (f": {quote}" if quote else "")
        passes = status in PASSING
        kind = "failed" if passes or status >= 500 else "refused"  # noqa: PLR2004 - the server's own faults
        fault = self._error(message, kind, address, _REMEDIES.get(status))
        if not passes:
            return fault
        return _PassingError(fault, retry_after(answer.headers.get("retry-after")))

    def _quote(self, answer: _Answer) -> str:
        """Give what the server says is wrong."""
        text = answer.content.decode("utf-8", "replace")
        try:
            return self.quotable(_message_in(json.loads(text)) or text)
        except (ValueError, RecursionError):
            return self.quotable(text)

    def _unreached(self, fault: Exception, address: Address) -> EndpointError:
        import httpx  # noqa: PLC0415 - as above

        is_late = isinstance(fault, httpx.TimeoutException)
        told = self.quotable(str(fault)) or type(fault).__name__
        message = f"the server took too long ({told})" if is_late else f"no answer: {told}"
        remedy = "check the address, and that the server runs"
        return self._error(message, "timeout" if is_late else "failed", address, remedy)

    def _error(
        self, message: str, kind: str, address: Address, remedy: str | None = None
    ) -> EndpointError:
        return EndpointError(message, kind=kind, place=address.shown, remedy=remedy)


_STATUSES = frozenset(HTTPStatus)


def _target(place: Address, location: str) -> Address | None:
    """Give the address that a redirect from *place* leads to, `None` when it is none."""
    from urllib.parse import urljoin  # noqa: PLC0415 - few servers redirect

    try:
        return address_of(urljoin(place.whole, location)) if location else None
    except (UsageError, ValueError):
        return None


def _message_in(found: Any) -> str:
    """Give the message of an error as servers of this protocol write it, "" if there is none."""
    error = found.get("error", found) if isinstance(found, dict) else None
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail")
    return error if isinstance(error, str) else ""
