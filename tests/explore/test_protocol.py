"""Requests as browsers, other pages and other programs send them."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from exploring import opened, serving

import mcpg
from mcpg.errors import UsageError
from mcpg.explore import explorer as explorer_module
from mcpg.explore import server as server_module
from mcpg.explore.server import MOST_BYTES, ExploreServer
from mcpg.show.json import result_json

if TYPE_CHECKING:
    from exploring import Served

DEADLINE = 30


def refused(page: Served, **headers: str | None) -> tuple[int, str]:
    """Return how a request for an answer with these headers is refused."""
    answer = page.post("state", **headers)
    return answer.status, answer.json["error"]["message"]


def test_an_answer_is_what_the_command_line_prints(page: Served) -> None:
    """The explanation is the object of `mcpg explain --format json`, but for its times."""
    shown = page.post("explain", {"query": "shipmnt refund", "limit": 3}).json
    printed = result_json(mcpg.load("graph.mdld").explain("shipmnt refund", limit=3))
    for one in (shown, printed):
        for stage in one["stages"]:
            stage.pop("durationMs")
    assert shown == json.loads(json.dumps(printed))


def test_the_page_and_its_parts_come_from_here_alone(page: Served) -> None:
    """Everything that the page names is served here, under a policy without inline scripts."""
    found = page.request("GET", "/", {"Host": page.headers["Host"]})
    policy = found.headers["Content-Security-Policy"]
    assert found.status == 200
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert b"<script>" not in found.content
    assert b"http://" not in found.content
    assert b"https://" not in found.content
    for name in server_module._PACKAGES:
        part = page.request("GET", f"/assets/{name}", {"Host": page.headers["Host"]})
        assert part.status == 200
        assert part.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "localhost@evil.example:{port}",
        "[::1",
        "",
    ],
)
def test_another_host_is_refused(page: Served, host: str) -> None:
    """A name that a rebinding attack leads here gets nothing, not even the page."""
    named = host.format(port=page.port)
    assert refused(page, Host=named) == (421, "this host is not served")
    assert page.request("GET", "/", {"Host": named}).status == 421


def sent(page: Served, *lines: str) -> bytes:
    """Return the whole answer to a request that is sent as these *lines*."""
    head = "\r\n".join((*lines, f"Host: 127.0.0.1:{page.port}", "", ""))
    with socket.create_connection(("127.0.0.1", page.port), timeout=DEADLINE) as line:
        line.sendall(f"{head}GET /smuggled HTTP/1.1\r\n\r\n".encode())
        line.shutdown(socket.SHUT_WR)
        with line.makefile("rb") as answer:
            return answer.read()


@pytest.mark.parametrize(
    "lines",
    [
        ["GET / HTTP/1.1", "Content-Length: 30"],
        ["GET / HTTP/1.1", "Transfer-Encoding: chunked"],
        ["POST /api/state HTTP/1.1", "Content-Length: 0", "Content-Length: 30"],
        ["POST /api/state HTTP/1.1", "Content-Length: 30", "Transfer-Encoding: chunked"],
    ],
)
def test_a_body_is_never_taken_for_a_request(page: Served, lines: list[str]) -> None:
    """Where the length of a body is in doubt, or none is expected, the connection ends."""
    bearer = f"Authorization: {page.headers['Authorization']}"
    answer = sent(page, *lines, bearer, "Content-Type: application/json")
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 411 "))
    assert answer.count(b"HTTP/1.1 ") == 1


def test_two_hosts_are_refused(page: Served) -> None:
    """A request that names two hosts is not decided upon."""
    with socket.create_connection(("127.0.0.1", page.port), timeout=DEADLINE) as line:
        line.sendall(
            f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nHost: evil.example\r\n\r\n".encode()
        )
        assert line.recv(100).startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}"])
def test_another_origin_is_refused(page: Served, origin: str) -> None:
    """A page of another origin gets no answer, even if it knew the token."""
    named = origin.format(port=page.port)
    assert refused(page, Origin=named) == (403, "this origin is not served")
    assert refused(page, Origin=None, Sec_Fetch_Site="cross-site")[0] == 403


@pytest.mark.parametrize("token", [None, "", "Bearer", "Bearer wrong", "Basic {token}", "ü"])
def test_without_the_token_there_is_no_answer(page: Served, token: str | None) -> None:
    """A request without the token of this run is refused, whatever it asks for."""
    given = token and token.format(token=page.server.token)
    assert refused(page, Authorization=given) == (401, "the token is missing or wrong")
    assert page.post("save", Authorization=given).status == 401


def test_a_form_cannot_ask(page: Served) -> None:
    """What a form of another page can send is no request for an answer."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", None):
        assert page.post("state", Content_Type=kind).status == 415
    assert page.request("GET", "/api/state", page.headers).status == 404


def test_large_bodies_are_not_read(page: Served) -> None:
    """A body beyond the limit is refused by its length, before it has arrived."""
    for length, status in ((str(MOST_BYTES + 1), 413), ("9" * 50, 413), ("-1", 411), ("", 411)):
        headers = {**page.headers, "Content-Length": length}
        assert page.request("POST", "/api/state", headers, b"{}").status == status
    chunked = {**page.headers, "Transfer-Encoding": "chunked", "Content-Length": "2"}
    assert page.request("POST", "/api/state", chunked, b"{}").status == 411


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"1", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(page: Served, body: bytes) -> None:
    """Whatever the bytes are, the request is refused and nothing fails."""
    answer = page.request("POST", "/api/explain", page.headers, body)
    assert (answer.status, answer.json["error"]["message"]) == (
        400,
        "the body is not a JSON object",
    )
    assert page.faults == []


def test_a_body_that_does_not_arrive_is_given_up(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that announces more than it sends is not waited for forever."""
    monkeypatch.setattr(server_module._PageHandler, "timeout", 0.2)
    headers = {**page.headers, "Content-Length": "20"}
    assert page.request("POST", "/api/state", headers, b"{}").status == 408


@pytest.mark.parametrize("body", ["", "Content-Length: 1000\r\n\r\n"])
def test_a_request_that_trickles_in_is_given_up(
    page: Served, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    """A client that sends a byte now and then does not keep its connection."""
    monkeypatch.setattr(server_module._PageHandler, "timeout", 0.4)
    head = (
        f"POST /api/state HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n"
        f"Authorization: {page.headers['Authorization']}\r\nContent-Type: application/json\r\n"
    )
    end = time.monotonic() + DEADLINE
    with socket.create_connection(("127.0.0.1", page.port), timeout=0.1) as line:
        line.sendall(f"{head}{body}".encode())
        while time.monotonic() < end:
            try:
                line.sendall(b"a")
                if line.recv(1000):
                    continue
            except TimeoutError:
                continue
            except OSError:
                pass
            return
    pytest.fail("the connection is held")


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/assets/../server.py",
        "/assets/..%2fserver.py",
        "/assets//etc/passwd",
        "/assets/explore.html",
        "/assets/",
        "/map/",
        "/map/guess",
        "//evil.example/",
        "/graph.mdld",
    ],
)
def test_no_other_path_is_served(page: Served, path: str) -> None:
    """Only the named parts are served, whatever a path climbs to."""
    assert page.request("GET", path, {"Host": page.headers["Host"]}).status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "X" * 50])
def test_other_methods_are_refused(page: Served, method: str) -> None:
    """No other method does anything, and no preflight is answered."""
    answer = page.request(method, "/api/state", page.headers)
    assert answer.status == 501
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("explain", {"query": 3}),
        ("explain", {"query": "x" * 20_000}),
        ("explain", {"query": "refund", "limit": 0}),
        ("explain", {"query": "refund", "limit": -(10**30)}),
        ("explain", {"tool": "refund_issue"}),
        ("explain", {"query": "refund", "tool": ["refund_issue"]}),
        ("try", {"query": "refund", "tool": "refund_issue"}),
        ("try", {"query": "", "tool": "refund_issue", "hints": {"aliases": ["a"]}}),
        ("hints", {"tool": "refund_issue", "hints": []}),
        ("judge", {"query": " ", "tool": "refund_issue"}),
    ],
)
def test_what_makes_no_sense_is_explained(page: Served, name: str, body: dict[str, Any]) -> None:
    """A request that cannot be answered is refused with a message, and nothing fails."""
    answer = page.post(name, body)
    assert answer.status == 400
    assert answer.json["error"]["message"]
    assert page.faults == []


def test_unknown_tools_are_named(page: Served) -> None:
    """A tool that is not there gives 404 with the nearest names."""
    answer = page.post("explain", {"query": "refund", "tool": "refund_isue"})
    assert answer.status == 404
    assert "refund_issue" in answer.json["error"]["remedy"]


def test_tools_are_found_by_parts_of_their_names(page: Served) -> None:
    """Words in any order and case find the tools that have all of them, at most eight."""

    def found(text: str) -> list[str]:
        return [one["toolId"] for one in page.post("tools", {"text": text}).json["tools"]]

    assert found("GET_inv") == ["invoice_get"]
    assert found("get voice") == ["invoice_get"]
    assert len(found("e")) == 8
    assert found(" ") == found("zebra") == []


def test_hostile_texts_pass_as_they_are(page: Served) -> None:
    """Texts of a query come back as JSON text, halves of characters as replacements."""
    query = "</script><script>alert(1)</script> \u202e\x00 \ud800"
    answer = page.post("explain", {"query": query})
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert "<script>" in answer.json["query"]


def test_half_a_character_is_replaced(page: Served) -> None:
    """What no file can hold is judged and saved with U+FFFD in its place."""
    judged = page.post("judge", {"query": "a \ud800", "tool": "refund_issue"})
    assert judged.json["judgements"][0]["query"] == "a \ufffd"
    body = {"tool": "refund_issue", "hints": {"keywords": ["b \ud800"]}, "version": ""}
    assert "b \ufffd" in page.post("save", body).json["diff"]
    assert page.faults == []


def test_a_broken_file_of_judged_queries_ends_no_trial(page: Served) -> None:
    """Hints can be tried, and the file is named where its queries are listed."""
    file = Path("judged.jsonl")
    file.write_text("{", "utf-8")
    hints = {"aliases": ["zebra"]}
    tried = page.post("try", {"query": "zebra", "tool": "refund_issue", "hints": hints})
    assert (tried.status, tried.json["ranks"]["now"], tried.json["effect"]) == (200, 1, None)
    listed = page.post("judged")
    assert listed.status == 400
    assert "judged.jsonl" in listed.json["error"]["place"]


def test_a_judged_query_is_taken_out(page: Served) -> None:
    """A query whose tool is not there any more is taken out like any other."""
    file = Path("judged.jsonl")
    file.write_text('{"query": "refund", "relevant": ["gone"]}\n', "utf-8")
    assert page.post("judged").json["judgements"][0]["relevant"] == []
    assert page.post("forget", {"query": "refund"}).json["judgements"] == []
    assert file.read_bytes() == b""


def test_requests_run_side_by_side(page: Served) -> None:
    """Many requests at once, of several tabs, are each answered for themselves."""
    queries = ["refund", "where is my parcel", "cancel the meeting", "stock of kettles"] * 6
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda q: page.post("explain", {"query": q}).json["query"], queries))
    assert found == queries


def test_connections_are_bounded(page: Served) -> None:
    """Idle connections do not use up the machine: beyond the limit they are closed."""
    many = range(server_module.MOST_CONNECTIONS + 5)
    lines = [socket.create_connection(("127.0.0.1", page.port), timeout=DEADLINE) for _ in many]
    try:
        assert lines[-1].recv(10) == b""
    finally:
        for line in lines:
            line.close()
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        try:
            assert page.post("state").status == 200
            break
        except OSError:
            time.sleep(0.05)


def test_the_map_has_an_address_that_cannot_be_guessed(page: Served) -> None:
    """The map is served under a name that only the page learns, framed by the page alone."""
    address = page.post("state").json["map"]
    found = page.request("GET", address, {"Host": page.headers["Host"]})
    assert found.status == 200
    assert found.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert b"shipment_status" in found.content
    assert page.server.token not in address


def test_a_port_in_use_is_explained(page: Served) -> None:
    """A port that cannot be had is a usage error that names it."""
    with pytest.raises(UsageError, match="cannot listen") as fault:
        ExploreServer(page.server.explorer, page.port, print)
    assert fault.value.place == f"127.0.0.1:{page.port}"


def until(page: Served, key: str, is_so: Any) -> Any:
    """Return the state once its member *key* is as it should be."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        state = page.post("state").json
        if is_so(state[key]):
            return state
        time.sleep(0.05)
    pytest.fail(f"{key} is {state[key]}")


def test_a_bundle_that_is_removed_is_searched_on(page: Served) -> None:
    """Without its bundle the page tells so and searches what was loaded; then it finds it again."""
    bundle = Path("graph.mdld")
    content = bundle.read_bytes()
    bundle.unlink()
    state = until(page, "fault", lambda fault: fault is not None)
    assert state["generation"] == 1
    assert page.post("explain", {"query": "refund"}).json["matches"]

    bundle.write_bytes(content)
    state = until(page, "fault", lambda fault: fault is None)
    assert state["generation"] == 2


def test_a_bundle_that_breaks_is_told(page: Served) -> None:
    """A bundle that cannot be read is named, and the last one still answers."""
    Path("graph.mdld").write_text("{", "utf-8")
    state = until(page, "fault", lambda fault: fault is not None)
    assert "graph.mdld" in state["fault"]["place"]
    assert page.post("explain", {"query": "refund"}).json["matches"]


def test_many_judged_queries_are_not_measured(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long file is listed without its ranks, and is not measured for each tried hint."""
    for name in ("MOST_LISTED", "MOST_MEASURED"):
        monkeypatch.setattr(explorer_module, name, 1)
    for query in ("refund", "cancel"):
        judged = page.post("judge", {"query": query, "tool": "refund_issue"}).json
    assert (len(judged["judgements"]), judged["report"]) == (2, None)
    hints = {"aliases": ["zebra"]}
    tried = page.post("try", {"query": "refund", "tool": "refund_issue", "hints": hints}).json
    assert tried["effect"] is None


def test_a_new_bundle_is_loaded(folder: Path) -> None:
    """Tools that are added to what is searched are found without a restart."""
    for page in serving(opened(folder, "tools")):
        extra = {"server": "zoo", "tools": [{"name": "feed_zebra", "description": "Feed."}]}
        Path("tools/zoo.json").write_text(json.dumps(extra), "utf-8")
        until(page, "generation", lambda number: number == 2)
        matches = page.post("explain", {"query": "feed the zebra"}).json["matches"]
        assert matches[0]["toolId"] == "feed_zebra"
