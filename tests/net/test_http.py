from __future__ import annotations

import base64
import math
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Conversation, answer, serving

from mcpg.errors import UsageError
from mcpg.net.http import Budget, Endpoint, EndpointError, Usage
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = "sk-Marker0123456789abcdef"
QUICK = Budget(connect=1.0, read=0.3, total=2.0, retries=2)
SHORT = Budget(connect=1.0, read=5.0, total=0.3, retries=0)


def endpoint(url: str, budget: Budget = QUICK, **options: Any) -> Endpoint:
    """Return an endpoint that retries at once."""
    return Endpoint(url, key=KEY, budget=budget, jitter=lambda: -0.99, **options)


def fault_of(url: str, budget: Budget = QUICK, **options: Any) -> EndpointError:
    """Return the fault of a request that cannot succeed, which never shows the key."""
    with pytest.raises(EndpointError) as caught:
        endpoint(url, budget, **options).post("things", {})
    fault = caught.value
    assert fault.__cause__ is None
    assert KEY not in f"{fault} {fault!r} {fault.args} {fault.place} {fault.remedy}"
    return fault


def hanging(conversation: Conversation) -> None:
    """Never answer."""
    conversation.wait(30)


def dripping(conversation: Conversation) -> None:
    """Answer a byte at a time, for ever."""
    conversation.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while not conversation.wait(0.02):
        conversation.wfile.write(b" ")


def dripping_headers(conversation: Conversation) -> None:
    """Begin an answer that never gets to its body."""
    conversation.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not conversation.wait(0.02):
        conversation.wfile.write(b"X: y\r\n")


def breaking_off(conversation: Conversation) -> None:
    """End in the middle of what was promised."""
    conversation.send(b'{"half": ', length=1000)


def endless(conversation: Conversation) -> None:
    """Promise a gigabyte, and begin to send it."""
    conversation.send_response(200)
    conversation.send_header("Content-Length", str(1 << 30))
    conversation.end_headers()
    while not conversation.wait(0):
        conversation.wfile.write(b" " * 65_536)


@contextmanager
def silent_port() -> Iterator[str]:
    """Return the address of a port that takes connections and says nothing, not even good-bye."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def test_a_request_is_posted_with_its_key_and_the_answer_is_given() -> None:
    """Path, query, body and bearer token arrive as they should."""
    with serving(answer({"ok": 1})) as server:
        asked = endpoint(f"{server.url}/?api-version=7")
        assert asked.post("things", {"a": "ü"}) == {"ok": 1}
        (request,) = server.asked
        assert request.path == "/v1/things?api-version=7"
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        assert request.body == {"a": "ü"}
        assert asked.display == f"{server.url}/"
        asked.close()


def test_connections_are_used_again() -> None:
    """Requests one after the other share a connection."""
    ports = set()

    def script(conversation: Conversation) -> None:
        ports.add(conversation.client_address[1])
        conversation.send({})

    with serving(script) as server:
        asked = endpoint(server.url)
        for _ in range(3):
            asked.post("things", {})
        assert len(ports) == 1
        asked.close()


def test_without_a_key_none_is_sent() -> None:
    """A server of one's own needs no key."""
    with serving(answer({})) as server:
        asked = Endpoint(server.url)
        asked.post("things", {})
        assert "Authorization" not in server.asked[0].headers
        asked.close()


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(status: int) -> None:
    """A server that is busy or stumbles is asked once more, and usage tells of it."""
    good = {"usage": {"prompt_tokens": 5, "completion_tokens": True, "total_tokens": 9}}
    with serving(answer("no", status), answer(good)) as server:
        asked = endpoint(server.url)
        assert asked.post("things", {}) == good
        assert asked.usage == Usage(requests=2, retries=1, input_tokens=5)
        asked.close()


@pytest.mark.parametrize(("status", "kind"), [(400, "refused"), (401, "refused"), (501, "failed")])
def test_what_does_not_pass_is_not_tried_again(status: int, kind: str) -> None:
    """A server that turns a request down is asked once, and quoted."""
    with serving(answer({"error": {"message": "not this"}}, status)) as server:
        fault = fault_of(server.url)
        assert fault.kind == kind
        assert f"{status}" in fault.message
        assert "not this" in fault.message
        assert len(server.asked) == 1


def test_retries_end() -> None:
    """A server that stays busy is asked as often as the budget says."""
    with serving(answer("busy", 503)) as server:
        assert fault_of(server.url).kind == "failed"
        assert len(server.asked) == 1 + QUICK.retries


def test_the_server_says_when_to_come_back() -> None:
    """`Retry-After` is waited for."""
    moments = []

    def script(conversation: Conversation) -> None:
        moments.append(time.monotonic())
        first = len(moments) == 1
        conversation.send({}, 429 if first else 200, Retry_After="0.2")

    with serving(script) as server:
        asked = endpoint(server.url)
        asked.post("things", {})
        assert moments[1] - moments[0] >= 0.2
        asked.close()


def test_a_wait_beyond_the_budget_is_not_begun() -> None:
    """Who is to come back in an hour is told at once that it failed."""
    with serving(answer("later", 429, Retry_After="3600")) as server:
        start = time.monotonic()
        assert "429" in fault_of(server.url).message
        assert time.monotonic() - start < QUICK.total
        assert len(server.asked) == 1


@pytest.mark.parametrize("script", [hanging, dripping, dripping_headers])
def test_the_time_budget_holds_whatever_the_server_does(
    script: Callable[[Conversation], None],
) -> None:
    """A server that hangs or drips costs the budget, and its connection is cut."""
    with serving(script) as server:
        fault = fault_of(server.url, SHORT)
        assert fault.kind == "timeout"
        assert "0.3 seconds" in fault.message


def test_a_server_that_never_speaks_is_given_up() -> None:
    """A connection nobody answers is a timeout of its own, within the budget."""
    with silent_port() as url:
        budget = Budget(connect=0.2, read=0.1, total=5.0, retries=1)
        assert fault_of(url, budget).kind == "timeout"


@pytest.mark.parametrize("endless", ["connect", "read", "total", "connect read total"])
def test_a_budget_may_have_no_end(endless: str) -> None:
    """Seconds beyond what clocks and sockets can count are no fault."""
    budget = Budget(**dict.fromkeys(endless.split(), math.inf))
    with serving(answer({"well": 1})) as server:
        assert endpoint(server.url, budget).post("things", {}) == {"well": 1}


def test_work_that_nobody_waits_for_ends() -> None:
    """The thread of a request that was given up ends when its connection is cut."""
    with serving(dripping_headers) as server:
        fault_of(server.url, SHORT)
        mine = [one for one in threading.enumerate() if one.name == "mcpg-deadline"]
        for thread in mine:
            thread.join(5)
        assert not any(thread.is_alive() for thread in mine)


def test_a_broken_connection_is_tried_again() -> None:
    """An answer that breaks off is asked for once more."""
    with serving(breaking_off, answer({"whole": True})) as server:
        asked = endpoint(server.url)
        assert asked.post("things", {}) == {"whole": True}
        asked.close()


def test_an_answer_that_always_breaks_off_is_a_failure() -> None:
    """Half an answer is none."""
    with serving(breaking_off) as server:
        assert fault_of(server.url).kind == "failed"


def test_nobody_there_is_a_failure_with_a_remedy() -> None:
    """An address where nothing listens is told, with what to check."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    fault = fault_of(f"http://127.0.0.1:{port}/v1")
    assert fault.kind == "failed"
    assert fault.place == f"http://127.0.0.1:{port}/v1/things"
    assert "check the address" in str(fault)


def test_an_answer_is_read_only_so_far() -> None:
    """A gigabyte is refused after the first bytes too many."""
    with serving(endless) as server:
        fault = fault_of(server.url, longest_answer=100_000)
        assert fault.kind == "answer"
        assert "100,000 bytes" in fault.message


def test_a_complaint_is_read_only_so_far() -> None:
    """A complaint without end is cut, and still one."""
    with serving(answer("no " * 100_000, 400)) as server:
        assert len(fault_of(server.url).message) < 500


@pytest.mark.parametrize(
    "content", ["<html><b>Welcome</b></html>", "[1]", "", "[" * 100_000, "9" * 10_000, b"\xff\xfe"]
)
def test_what_is_no_json_object_is_refused(content: str | bytes) -> None:
    """A page, a list, nothing, endless nesting, a number too long: none is an answer."""
    with serving(answer(content)) as server:
        fault = fault_of(server.url)
        assert fault.kind == "answer"
        assert len(server.asked) == 1


def test_a_packed_answer_is_refused() -> None:
    """What could unfold to any size is not unpacked."""
    with serving(answer(b"\x1f\x8b", Content_Encoding="gzip")) as server:
        assert "packed" in fault_of(server.url).message


def test_a_redirect_within_the_server_is_followed() -> None:
    """A server that moved a path is followed with the same request."""
    with serving(answer("", 307, Location="/v2/things"), answer({"moved": 1})) as server:
        asked = endpoint(server.url)
        assert asked.post("things", {"a": 1}) == {"moved": 1}
        assert server.asked[1].path == "/v2/things"
        assert server.asked[1].body == {"a": 1}
        asked.close()


def test_a_redirect_to_another_server_is_not_followed() -> None:
    """The key goes to nobody else, be it the same host on another port."""
    with serving(answer({})) as other:
        moved = answer("", 308, Location=f"{other.url}/things")
        with serving(moved) as server:
            fault = fault_of(server.url)
            assert fault.kind == "refused"
            assert "redirect" in fault.message
            assert not other.asked


@pytest.mark.parametrize("location", ["", "http://", "http://[/", "ftp://x/y", "http://a:b/"])
def test_a_redirect_to_nowhere_is_refused(location: str) -> None:
    """What is no address is not followed."""
    with serving(answer("", 307, Location=location)) as server:
        assert fault_of(server.url).kind in {"refused", "failed"}


def test_a_redirect_that_changes_the_request_is_not_followed() -> None:
    """302 would turn the request into another one."""
    with serving(answer("", 302, Location="/v1/things")) as server:
        assert fault_of(server.url).kind == "refused"


def test_redirects_end() -> None:
    """A loop of redirects is given up."""
    with serving(answer("", 307, Location="/v1/things")) as server:
        assert "without end" in fault_of(server.url).message
        assert len(server.asked) == 4


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 200, 399, 799])
def test_a_key_that_is_sent_back_is_not_quoted(status: int) -> None:
    """Plain, in JSON, packed, at the place where a text is cut: no part of the key is quoted."""
    packed = base64.b64encode(KEY.encode()).decode()
    for text in (
        f"your key {KEY} is wrong",
        f"x {packed} x",
        "y" * 225 + KEY,
        "z" * (16_384 - 9) + KEY,
    ):
        with serving(answer(text, status)) as server:
            budget = Budget(retries=0)
            fault = fault_of(server.url, budget)
            assert "sk-M" not in str(fault)
            assert packed[:8] not in str(fault)


def test_a_complaint_cannot_steer_a_terminal() -> None:
    """Escapes, line ends and hidden characters of a server become visible ones."""
    told = {"error": "\x1b[31mred\u202e\nline\ud800"}
    with serving(answer(told, 400)) as server:
        message = fault_of(server.url).message
        assert "\\x1b[31mred\\u{202e} line\\u{d800}" in message


def test_nothing_shows_the_key() -> None:
    """Neither the endpoint nor what it is made of has the key in its representation."""
    asked = endpoint("https://api.example.com/v1?key=hidden")
    parts = [asked, *vars(asked).values()]
    assert not any(KEY in repr(part) or "hidden" in repr(part) for part in parts)


@pytest.mark.parametrize("key", ["", "a\nb", "schlüssel", "a\x00"])
def test_a_key_that_no_header_carries_is_refused_unseen(key: str) -> None:
    """The error does not repeat the key."""
    with pytest.raises(UsageError) as caught:
        Endpoint("http://localhost", key=key)
    assert not key or repr(key)[1:-1] not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["", "api.example.com", "ftp://x", "http://", "http://a b", "http://x:y", "http://[", "h\nx"],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """What is no address of HTTP is a mistake, told at once."""
    with pytest.raises(UsageError, match="https://api"):
        Endpoint(url)


def test_an_address_with_a_password_is_refused_unseen() -> None:
    """Passwords have no place in addresses, which are shown."""
    with pytest.raises(UsageError) as caught:
        Endpoint("https://me:hush@example.com/v1")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("members", [{"total": 0}, {"connect": -1}, {"retries": -1}])
def test_a_budget_makes_sense(members: dict[str, Any]) -> None:
    """No time at all, or less than no retries, is a mistake."""
    with pytest.raises(UsageError):
        Budget(**members)


def test_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment sees nothing of what is asked."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with serving(answer({})) as server:
        asked = endpoint(server.url)
        asked.post("things", {})
        asked.close()
        assert [one.path for one in server.asked] == ["/v1/things"]


def test_a_proxy_that_is_named_is_used() -> None:
    """What is asked goes through the proxy."""
    with serving(answer({"by": "proxy"})) as proxy:
        address = proxy.url.removesuffix("/v1")
        asked = Endpoint("http://example.invalid/v1", proxy=address)
        assert asked.post("things", {}) == {"by": "proxy"}
        assert proxy.asked[0].path == "http://example.invalid/v1/things"
        asked.close()


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is told, with how to install it."""
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    fault = fault_of("http://127.0.0.1:9/v1")
    assert fault.kind == "missing"
    assert install_command("llm") in str(fault)


FORKED = """
import os, sys
from mcpg.net.http import Endpoint

def wrong(name):
    return sum(endpoint.post(name, {"n": n}).get("said") != f"/v1/{name} {n}" for n in range(100))

endpoint = Endpoint(sys.argv[1])
endpoint.post("first", {"n": 0})
child = os.fork()
failed = wrong("parent" if child else "child")
if not child:
    endpoint.close()
    sys.exit(failed != 0)
_, status = os.waitpid(child, 0)
assert (failed, status) == (0, 0), (failed, status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_forks_has_its_own_connections() -> None:
    """Parent and child get their own answers, though a connection was kept before the fork."""

    def echo(conversation: Conversation) -> None:
        conversation.send({"said": f"{conversation.asked.path} {conversation.asked.body['n']}"})

    with serving(echo) as server:
        command = [sys.executable, "-W", "ignore", "-c", FORKED, server.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
