"""Servers ask the client on whose behalf they were called: sampling, elicitation, roots."""

from __future__ import annotations

import json
import os
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import conformance
import pytest
from forking import forked
from mcp import Client, MCPError
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    TextContent,
)

from mcpg.errors import Code
from mcpg.gateway import Gateway, ServerSource
from mcpg.gateway.serve import INVOKE, META_TOOLS, Exposure, ServingOptions
from mcpg.gateway.serve.http import AccessRules, HttpOptions, serve_http
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources.client_config import HttpServer, ServerAccess, StdioServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

PROGRAM = Path(__file__).parents[2] / "primitiveserver.py"
LIVE = ServerAccess({"PATH": os.environ["PATH"]}, timeout=30)
ALL = ServingOptions(expose=Exposure.ALL)
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


def shop(era: str = "legacy", timeout: float | None = None, **env: str) -> ServerSource:
    """A server that asks."""
    command = forked(PROGRAM, era)
    server = StdioServer("mcp.json: shop", "shop", sys.executable, command, env, timeout=timeout)
    return ServerSource("shop", server)


@asynccontextmanager
async def served(
    source: ServerSource, mode: str = "legacy", serving: ServingOptions = ALL, **how: Any
) -> AsyncIterator[Client]:
    """Serve *source* with all of its tools."""
    async with Gateway([source], live=LIVE, reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, serving)
        async with server.running(), Client(server.sdk, mode=mode, **how) as client:
            await client.list_tools()
            yield client


@asynccontextmanager
async def reached(
    source: ServerSource, serving: ServingOptions = ALL, http: HttpOptions | None = None
) -> AsyncIterator[str]:
    """Serve *source* over HTTP, and give the address."""
    addresses: list[str] = []
    ready = anyio.Event()

    def told(address: str) -> None:
        addresses.append(address)
        ready.set()

    async with (
        Gateway([source], live=LIVE, reserved=META_TOOLS) as gateway,
        anyio.create_task_group() as group,
    ):
        group.start_soon(serve_http, GatewayServer(gateway, serving), http or HttpOptions(), told)
        await ready.wait()
        yield addresses[0]
        group.cancel_scope.cancel()


class Person:
    """Answers what a client is asked, and remembers it."""

    def __init__(self, city: str = "Lisbon", *folders: str) -> None:
        self.asked: list[Any] = []
        self.city = city
        self.folders = list(folders or ("file:///home",))

    async def sampled(self, _: Any, params: Any) -> CreateMessageResult:
        """Make a message."""
        self.asked.append(params)
        content = TextContent(type="text", text=f"hello from {self.city}")
        return CreateMessageResult(role="assistant", content=content, model="m")

    async def elicited(self, _: Any, params: Any) -> ElicitResult:
        """Fill in a form."""
        self.asked.append(params)
        return ElicitResult(action="accept", content={"city": self.city})

    async def rooted(self, _: Any) -> ListRootsResult:
        """Return the folders."""
        return ListRootsResult.model_validate({"roots": [{"uri": uri} for uri in self.folders]})

    def answers(self) -> dict[str, Any]:
        """Return the arguments of a client of the SDK."""
        return {
            "sampling_callback": self.sampled,
            "elicitation_callback": self.elicited,
            "list_roots_callback": self.rooted,
        }


async def told(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool, and give its text."""
    result = await client.call_tool(tool, arguments)
    return result.content[0].text  # type: ignore[union-attr]


async def until(client: Client, folders: str) -> None:
    """Wait until the server has the *folders*."""
    for _ in range(100):
        if await told(client, "folders") == folders:
            return
        await anyio.sleep(0.1)
    raise AssertionError(folders)


async def until_noted(note: Path, text: str) -> None:
    """Wait until the server has noted *text*."""
    for _ in range(100):
        if text in await anyio.Path(note).read_text("utf-8"):
            return
        await anyio.sleep(0.1)
    raise AssertionError(text)


@ERAS
@MODES
async def test_the_client_that_called_is_asked(era: str, mode: str) -> None:
    """Whichever protocol they speak, the server has the answer, and the client knows who asks."""
    person = Person()
    async with served(shop(era), mode, **person.answers()) as client:
        assert json.loads(await told(client, "elicit"))["content"] == {"city": "Lisbon"}
        assert person.asked[-1].message.endswith("Which city?")
        if (era, mode) != ("modern", "auto"):
            assert person.asked[-1].message == "shop: Which city?"
            assert person.asked[-1].meta["sourceId"] == "shop"
        assert "hello from Lisbon" in await told(client, "sample")
        assert "file:///home" in await told(client, "roots")
        assert json.loads(await told(client, INVOKE, toolId="elicit"))["action"] == "accept"


@MODES
async def test_an_answer_takes_no_place_of_a_request(mode: str) -> None:
    """A call that waits for the answer of its client gets it, with no other place for requests."""
    one = HttpOptions(rules=AccessRules(requests=1))
    async with (
        reached(shop(), http=one) as address,
        Client(address, mode=mode, **Person().answers()) as client,
    ):
        with anyio.fail_after(30):
            assert json.loads(await told(client, "elicit"))["content"] == {"city": "Lisbon"}


@MODES
async def test_a_client_that_takes_no_questions(mode: str) -> None:
    """The server gets the error that the SDK has for it, and the call goes on."""
    async with served(shop(), mode) as client:
        assert await told(client, "sample") == "refused: Sampling not supported"
        assert await told(client, "elicit") == "refused: Elicitation not supported"
        assert await told(client, "roots") == "refused: List roots not supported"
        assert await told(client, "log") == "done"


async def test_a_client_that_refuses() -> None:
    """Its error is the one that the server gets."""

    async def refused(_: Any, __: Any) -> ErrorData:
        return ErrorData(code=-1, message="not today")

    async with served(shop(), elicitation_callback=refused) as client:
        assert await told(client, "elicit") == "refused: not today"


@MODES
async def test_an_answer_that_never_comes_ends_nothing(mode: str, tmp_path: Path) -> None:
    """The server gets an error after a time; its call, and others, go on."""

    async def silent(_: Any, __: Any) -> ElicitResult:
        await anyio.sleep(600)
        raise AssertionError

    serving = replace(ALL, ask_seconds=0.5)
    (tmp_path / "note").touch()
    source = shop(NOTE=str(tmp_path / "note"))
    async with served(source, mode, serving, elicitation_callback=silent) as client:
        if mode == "legacy":
            expected = "refused: no response of the client within 0.5 s"
            assert await told(client, "elicit") == expected
        else:  # the client itself waits for its user
            with anyio.move_on_after(1.5):
                await told(client, "elicit")
            await until_noted(tmp_path / "note", "elicit refused: no response")
        assert await told(client, "log") == "done"


@MODES
async def test_the_time_of_a_call_stops_while_its_client_thinks(mode: str) -> None:
    """A person may take longer than a tool."""
    person = Person()

    async def slow(context: Any, params: Any) -> ElicitResult:
        await anyio.sleep(1.5)
        return await person.elicited(context, params)

    async with served(shop(timeout=1), mode, elicitation_callback=slow) as client:
        assert await told(client, "log") == "done"
        assert "Lisbon" in await told(client, "elicit")


async def test_a_server_that_lives_on_roots_has_those_of_the_client() -> None:
    """It is given them when it is connected, and again when they change."""
    person = Person("", "file:///one")
    async with served(shop(ROOTS="1"), **person.answers()) as client:
        await until(client, "file:///one")
        person.folders = ["file:///two", "file:///three"]
        await client.send_roots_list_changed()
        await until(client, "file:///two file:///three")


async def test_roots_reach_a_server_by_a_client_that_is_only_asked_during_calls() -> None:
    """The first call asks for them, and goes on when the server has them."""
    person = Person("", "file:///one")
    async with served(shop(ROOTS="1"), "auto", **person.answers()) as client:
        await until(client, "file:///one")
        assert await told(client, "folders") == "file:///one"


async def test_clients_never_get_the_questions_of_others(tmp_path: Path) -> None:
    """Over HTTP a server that asks gets a process for each client, with the folders of that one."""
    one, two = Person("Lisbon", "file:///one"), Person("Porto", "file:///two")
    source = shop(ROOTS="1", NOTE=str(tmp_path / "note"))
    async with (
        reached(source) as address,
        Client(address, mode="legacy", **one.answers()) as first,
        Client(address, mode="legacy", **two.answers()) as second,
    ):
        await first.list_tools()
        processes = [await told(client, "who") for client in (first, second)]
        assert processes[0] != processes[1]
        assert await told(first, "folders") == "file:///one"
        assert await told(second, "folders") == "file:///two"
        found: dict[str, str] = {}

        async def ask(name: str, client: Client) -> None:
            found[name] = await told(client, "elicit")

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "first", first)
            group.start_soon(ask, "second", second)
        assert ("Lisbon" in found["first"], "Porto" in found["second"]) == (True, True)
    # What all share got the folders of nobody.
    assert "no roots: " in (tmp_path / "note").read_text("utf-8")


async def test_a_refused_handshake_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of later protocols alone is started once for each client of an older one."""
    # The SDK takes one that is slow to start, as on a busy machine, for one of an older protocol.
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", LIVE.timeout)
    source = shop("modern", NOTE=str(tmp_path / "note"))
    source = replace(source, server=replace(source.server, sessions="client"))
    async with reached(source) as address:
        processes = set()
        for _ in range(3):
            async with Client(address, mode="legacy") as client:
                await client.list_tools()
                processes.add(await told(client, "who"))
        assert len(processes) == 3
    assert (tmp_path / "note").read_text("utf-8").split() == ["refused"]


async def test_nobody_is_asked_where_it_is_uncertain_who_called() -> None:
    """Two clients that share a server are told apart from its first question on."""
    one, two = Person("Lisbon"), Person("Porto")
    async with (
        reached(shop()) as address,
        Client(address, mode="legacy", **one.answers()) as first,
        Client(address, mode="legacy", **two.answers()) as second,
    ):
        await first.list_tools()
        found: list[tuple[str, str]] = []

        async def ask(city: str, client: Client) -> None:
            found.append((city, await told(client, "elicit")))

        for _ in range(3):
            async with anyio.create_task_group() as group:
                group.start_soon(ask, "Lisbon", first)
                group.start_soon(ask, "Porto", second)
    assert all(city in text or "several clients" in text for city, text in found)
    assert all(city in text for city, text in found[2:])


async def test_what_one_call_began_concerns_no_client_of_another() -> None:
    """A program that clients share asks, and sends a log message, during a call of another one."""
    one, two = Person("Lisbon"), Person("Porto")
    logged: list[Any] = []

    async def log(params: Any) -> None:
        logged.append(params)

    async with (
        reached(shop()) as address,
        Client(address, mode="legacy", **one.answers()) as first,
        Client(address, mode="legacy", logging_callback=log, **two.answers()) as second,
    ):
        await first.list_tools()
        assert await told(first, "leave") == "done"
        refusal = await told(second, "work")
        assert "several clients" in refusal
        assert 'sessions = "client"' in refusal
        assert (one.asked, two.asked, logged) == ([], [], [])
        # From then on each has a process of its own.
        await told(second, "leave")
        assert "Porto" in await told(second, "work")
        assert [params.data for params in logged] == [{"n": "of another call"}]


async def test_the_only_client_of_a_process_is_asked() -> None:
    """What no other client has called asks, and logs for, nobody else."""
    person = Person()
    logged: list[Any] = []

    async def log(params: Any) -> None:
        logged.append(params.data)

    async with (
        reached(shop()) as address,
        Client(address, mode="legacy", logging_callback=log, **person.answers()) as client,
    ):
        await client.list_tools()
        await told(client, "log")
        assert logged == [{"n": "debug"}, {"n": "error"}]
        assert "Lisbon" in await told(client, "elicit")


async def test_a_log_message_in_a_response_reaches_the_client_of_the_request() -> None:
    """Over HTTP a server that clients share can show which call a message belongs to."""
    logged: list[tuple[str, Any]] = []

    def log_of(name: str) -> Any:
        async def log(params: Any) -> None:
            logged.append((name, params.data))

        return log

    with conformance.served(str(conformance.SERVER), "{port}") as url:
        shared = HttpServer("mcp.json: far", "far", url, oauth=None, sessions="shared")
        async with (
            reached(ServerSource("far", shared)) as address,
            Client(address, mode="legacy", logging_callback=log_of("first")) as first,
            Client(address, mode="legacy", logging_callback=log_of("second")) as second,
        ):
            await first.list_tools()
            await first.call_tool("test_simple_text", {})
            await second.call_tool("test_tool_with_logging", {})
    assert {name for name, _ in logged} == {"second"}


async def test_log_messages_that_reach_no_client_are_reported_once() -> None:
    """The operator learns why: the program is shared."""
    reported: list[Any] = []
    first_report = anyio.Event()

    def report(diagnostics: Any) -> None:
        reported[:] = [one for one in diagnostics if one.code == Code.LOG_DROPPED]
        if reported:
            first_report.set()

    serving = replace(ALL, on_diagnostics=report)
    async with (
        reached(shop(), serving) as address,
        Client(address, mode="legacy") as first,
        Client(address, mode="legacy") as second,
    ):
        await first.list_tools()
        for client in (first, second, second):
            await told(client, "log")
        with anyio.fail_after(20):
            await first_report.wait()
    assert [(one.severity, one.place) for one in reported] == [("info", "mcp.json: shop")]


async def test_concurrent_calls_of_the_only_client_are_of_one_client() -> None:
    """Without sessions its calls cannot be told apart, and the question reaches its user."""
    person = Person()
    async with served(shop(), "auto", **person.answers()) as client:
        texts: list[str] = []

        async def elicit() -> None:
            texts.append(await told(client, "elicit"))

        async with anyio.create_task_group() as group:
            group.start_soon(elicit)
            group.start_soon(elicit)
    assert [json.loads(text)["action"] for text in texts] == ["accept", "accept"]


CITY = {"action": "accept", "content": {"city": "Lisbon"}}


async def call(client: Client, earlier: Any = None, tool: str = "wait", **arguments: str) -> Any:
    """Call *tool*, or repeat the call with an answer to all that *earlier* asks."""
    more: dict[str, Any] = {}
    if earlier is not None:
        answers = {key: ElicitResult.model_validate(CITY) for key in earlier.input_requests}
        more = {"input_responses": answers, "request_state": earlier.request_state}
    with anyio.fail_after(20):
        return await client.session.call_tool(
            tool, {**arguments}, allow_input_required=True, **more
        )


async def test_an_answer_is_given_to_its_own_question_only() -> None:
    """A server that gives up a question and sends another gets no answer to the first for it."""
    async with served(shop(), "auto", **Person().answers()) as client:
        asked = await call(client, then="roots")
        await told(client, "give_up")
        again = await call(client, asked)
        (question,) = again.input_requests.values()
        assert question.method == "roots/list"
        assert {*asked.input_requests}.isdisjoint(again.input_requests)


async def test_a_late_answer_gets_the_result_at_once() -> None:
    """A call that went on without the answer has a result, which the client gets."""
    async with served(shop(), "auto", **Person().answers()) as client:
        asked = await call(client)
        await told(client, "give_up")
        await told(client, "log")  # the result of the call comes before this one's
        assert (await call(client, asked)).content[0].text == "done"


async def test_a_call_is_repeated_once() -> None:
    """A state that was used, or whose result is kept no more, starts its tool no second time."""
    async with served(shop(), "auto", **Person().answers()) as client:
        for tool in ("elicit", INVOKE):
            given = {"toolId": "elicit"} if tool == INVOKE else {}
            asked = await call(client, tool=tool, **given)
            assert "accept" in str((await call(client, asked, tool=tool, **given)).content)
            try:
                answer = str((await call(client, asked, tool=tool, **given)).content)
            except MCPError as fault:
                answer = fault.message
            assert "unknown `requestState`" in answer


async def test_calls_that_ask_nothing_need_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """When all places for calls that wait for input are in use, the next question is refused."""
    monkeypatch.setattr("mcpg.gateway.serve.relay._MOST", 0)
    async with served(shop(), "auto", **Person().answers()) as client:
        assert await told(client, "log") == "done"
        assert await told(client, "elicit") == "refused: too many calls wait for input"


async def test_a_call_that_nobody_repeats_keeps_no_other_from_asking() -> None:
    """Where it is uncertain which call a question is of, it is taken for one of the latest."""
    async with served(shop(), "auto", **Person().answers()) as client:
        await call(client)
        with anyio.fail_after(20):
            assert "Lisbon" in await told(client, "elicit")


async def test_a_server_has_a_limit_of_open_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it asks beyond that is refused at once, while the others wait for their client."""
    monkeypatch.setattr("mcpg.sources.live.server_requests._MOST_OPEN", 10)

    async def silent(_: Any, __: Any) -> ElicitResult:
        await anyio.sleep(600)
        raise AssertionError

    async with served(shop(), elicitation_callback=silent) as client:
        with anyio.fail_after(20):
            assert await told(client, "crowd") == "too many requests wait for an answer"


async def test_a_question_ends_with_its_call() -> None:
    """A cancellation goes to the server, whose own goes back to the client; others go on."""
    asked, ended = anyio.Event(), anyio.Event()

    async def silent(_: Any, __: Any) -> ElicitResult:
        asked.set()
        try:
            await anyio.sleep(600)
        finally:
            ended.set()
        raise AssertionError

    async with served(shop(), elicitation_callback=silent) as client:
        scope = anyio.CancelScope()

        async def call() -> None:
            with scope:
                await told(client, "elicit")

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            with anyio.fail_after(20):
                await asked.wait()
                scope.cancel()
                await ended.wait()
        assert await told(client, "log") == "done"
