"""What a gateway tells an observer of: indexes, searches, routes, invocations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client
from opentelemetry import trace
from telemetrical import MOMENTS, Noting, Raising, Recording

from mcpg.gateway import (
    FaultCode,
    FileSource,
    FunctionSource,
    Gateway,
    ServerSource,
    SyncGateway,
    index_build,
)
from mcpg.gateway.serve import META_TOOLS, ServingOptions
from mcpg.gateway.serve.server import GatewayServer
from mcpg.search.results import EngineServices
from mcpg.sources.client_config import HttpServer, StdioServer
from mcpg.sources.registry import name_source_kind
from mcpg.telemetry import BuildFacts, InvokeFacts, RouteFacts, SearchFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.gateway import Source

    Manifest = Callable[..., FileSource]

pytestmark = pytest.mark.anyio

SERVERS = Path(__file__).parents[1] / "servers.py"
SECRET = "sk-secret"


def parcel_status(number: str) -> str:
    """Tell where a parcel is."""
    return f"{number} is on its way"


def parcel_lose(number: str) -> str:
    """Lose a parcel."""
    raise RuntimeError(SECRET + number)


FUNCTIONS = FunctionSource("parcels", (parcel_status, parcel_lose))


async def test_everything_is_told(manifest: Manifest) -> None:
    """Of a search, a route and an invocation the observer hears, and of the index before."""
    noting = Noting()
    mail = manifest("mail", mail_send="Send a mail")
    async with Gateway([mail, FUNCTIONS], observer=noting) as gateway:
        await gateway.search("where is the parcel")
        routed = await gateway.route(" parcel ")
        await gateway.invoke("parcel_status", {"number": SECRET})
    assert [one for one in noting.noted if isinstance(one, tuple)] == [
        ("build",),
        ("search", "where is the parcel", "graph"),
        ("route", "parcel"),
        ("search", "parcel", "graph"),
        ("invoke",),
    ]
    (built,) = noting.facts(BuildFacts)
    assert (built.tools, built.vectorized) == (3, None)
    assert noting.facts(RouteFacts) == [
        RouteFacts(len(routed.categories), len(routed.suggested_matches))
    ]
    assert len(noting.facts(SearchFacts)) == 2
    assert noting.facts(InvokeFacts) == [
        InvokeFacts("success", "function", "parcel_status", "parcels")
    ]
    assert SECRET not in repr(noting.noted)


async def test_the_session_of_a_call_is_told() -> None:
    """Calls that belong together can be found in an export."""
    noting = Noting()
    async with Gateway([FUNCTIONS], services=EngineServices(observer=noting)) as gateway:
        await gateway.invoke("parcel_status", {"number": "7"}, session="s1")
    assert [facts.session for facts in noting.facts(InvokeFacts)] == ["s1"]


async def test_every_outcome_is_told(manifest: Manifest) -> None:
    """What was refused or failed has the code of its fault, and nothing of what was said."""
    noting = Noting()
    mail = manifest("mail", mail_send="Send a mail")
    async with Gateway([mail, FUNCTIONS], services=EngineServices(observer=noting)) as gateway:
        for name, arguments in (
            ("nothing_like_it", {}),
            ("mail_send", {}),
            ("parcel_status", {}),
            ("parcel_lose", {"number": "7"}),
        ):
            await gateway.invoke(name, arguments)
    assert noting.facts(InvokeFacts) == [
        InvokeFacts(FaultCode.NOT_FOUND),
        InvokeFacts(FaultCode.NOT_INVOKABLE, "file", "mail_send", "mail"),
        InvokeFacts(FaultCode.ARGUMENTS_INVALID, "function", "parcel_status", "parcels"),
        InvokeFacts(FaultCode.TOOL_FAILED, "function", "parcel_lose", "parcels"),
    ]
    assert SECRET not in repr(noting.noted)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_spans_nest_under_the_task(backend: str, manifest: Manifest) -> None:
    """Each question is a child of the span of the task that asks; those of two tasks stay apart."""
    recording = Recording()
    tracer = recording.tracers.get_tracer("host")

    async def ask(gateway: Gateway, name: str) -> None:
        with tracer.start_as_current_span(name) as outer:
            await gateway.route("parcel")
            await gateway.invoke("parcel_status", {"number": "7"})
            assert trace.get_current_span() is outer

    async def run() -> None:
        sources = [manifest("mail", mail_send="Send a mail"), FUNCTIONS]
        async with (
            Gateway(sources, observer=recording.observer()) as gateway,
            anyio.create_task_group() as group,
        ):
            await gateway.build_index()
            for name in ("one", "two"):
                group.start_soon(ask, gateway, name)

    anyio.run(run, backend=backend)
    hosts = {span.context.span_id: span.name for span in recording.spans() if len(span.name) == 3}
    routes = recording.spans("mcpg.route")
    for spans in (routes, recording.spans("mcpg.invoke")):
        assert sorted(hosts[span.parent.span_id] for span in spans if span.parent) == ["one", "two"]
    searches = recording.spans("mcpg.search")
    parents = {span.parent.span_id for span in searches if span.parent}
    assert parents == {span.context.span_id for span in routes}
    assert len(recording.spans("mcpg.index.build")) == 1


def test_spans_nest_under_a_program_without_async() -> None:
    """The thread that asks a gateway whose calls wait is where its spans belong."""
    recording = Recording()
    tracer = recording.tracers.get_tracer("host")
    with SyncGateway([FUNCTIONS], observer=recording.observer()) as gateway:
        gateway.warm_up()
        with tracer.start_as_current_span("host") as outer:
            gateway.search("parcel")
            gateway.invoke("parcel_status", {"number": "7"})
    told = {span.name: span for span in recording.spans()}
    for name in ("mcpg.search", "mcpg.invoke"):
        parent = told[name].parent
        assert parent is not None
        assert parent.span_id == outer.get_span_context().span_id


async def test_a_server_is_called_within_the_span(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the SDK tells of its request is a child of the invocation."""
    recording = Recording()
    tracer = recording.tracers.get_tracer("mcp")
    monkeypatch.setattr("mcp.shared._otel._tracer", tracer)
    program = StdioServer("test", "server", sys.executable, (str(SERVERS), "plain"))
    source = ServerSource("server", program)
    async with Gateway([source], observer=recording.observer()) as gateway:
        tools = await gateway.list_tools()
        await gateway.invoke(tools[0].id, {})
    (invoked,) = recording.spans("mcpg.invoke")
    assert (invoked.attributes or {})["mcpg.invoke.source_kind"] == "stdio"
    calls = [span for span in recording.spans() if "tools/call" in span.name]
    assert calls
    assert {span.parent.span_id for span in calls if span.parent} == {invoked.context.span_id}


async def test_what_a_client_asks_is_one_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the gateway is served, its spans are children of the SDK's span of the request."""
    recording = Recording()
    monkeypatch.setattr("mcp.shared._otel._tracer", recording.tracers.get_tracer("mcp"))
    async with Gateway([FUNCTIONS], reserved=META_TOOLS, observer=recording.observer()) as gateway:
        server = GatewayServer(gateway, ServingOptions())
        async with server.running(), Client(server.sdk) as client:
            called = {"toolId": "parcel_status", "arguments": {"number": "7"}}
            await client.call_tool("gateway_tool_invoke", called)
            await client.call_tool("gateway_tools_route", {"query": "parcel"})
    names = {span.context.span_id: span.name for span in recording.spans()}
    for inner, outer in (("invoke", "tool_invoke"), ("route", "tools_route")):
        (span,) = recording.spans(f"mcpg.{inner}")
        assert span.parent is not None
        assert names[span.parent.span_id] == f"tools/call gateway_{outer}"


async def test_a_build_that_fails_is_told(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ends the making of an index is seen by the observer, and searches go on."""
    whole = index_build.assemble

    def fail_once(*_: Any, **__: Any) -> Any:
        monkeypatch.setattr(index_build, "assemble", whole)
        raise ValueError(SECRET)

    noting = Noting()
    monkeypatch.setattr(index_build, "assemble", fail_once)
    sources = [manifest("mail", mail_send="Send a mail"), FUNCTIONS]
    async with Gateway(sources, observer=noting) as gateway:
        assert not await gateway.list_tools()
        assert [one.code for one in gateway.diagnostics] == ["graph_build_failed"]
    assert noting.noted == [("build",), ValueError]


@pytest.mark.parametrize("moment", MOMENTS)
async def test_an_observer_that_raises_breaks_nothing(moment: str, manifest: Manifest) -> None:
    """Index, search, route and invocation are whole; the gateway and the results say so."""
    mail = manifest("mail", mail_send="Send a mail")
    async with Gateway([mail, FUNCTIONS], observer=Raising(moment)) as gateway:
        found = await gateway.search("parcel")
        assert found.matches
        assert found.diagnostics[-1].code == "telemetry_failed"
        assert (await gateway.route("parcel")).suggested_matches
        assert (await gateway.invoke("parcel_status", {"number": "7"})).is_success
        assert [one.code for one in gateway.diagnostics].count("telemetry_failed") == 1


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (FileSource("a", "tools.json"), "file"),
        (FileSource("a", "python:package.module"), "function"),
        (FUNCTIONS, "function"),
        (ServerSource("a", StdioServer("a", None, "program")), "stdio"),
        (ServerSource("a", HttpServer("a", None, "https://example.com/mcp")), "http"),
    ],
)
def test_kinds_of_sources_are_few(source: Source, kind: str) -> None:
    """Each source is of one of four kinds, whatever it is called."""
    assert name_source_kind(source) == kind
