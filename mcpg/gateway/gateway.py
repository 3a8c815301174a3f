"""The gateway: lists, searches, routes and calls the tools of many sources."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack, nullcontext
from copy import copy
from dataclasses import is_dataclass, replace
from functools import partial, wraps
from os import PathLike
from typing import Any, Concatenate, Self, Unpack, cast
from uuid import uuid4

import anyio
import anyio.to_thread

from mcpg.catalog.model import Tool
from mcpg.engine.engine import Engine
from mcpg.errors import (
    Code,
    Diagnostic,
    McpgError,
    NotFoundError,
    UsageError,
    warning,
)
from mcpg.gateway.calls import CallRecorder, CallResult, Fault, Limits, RecordedCall
from mcpg.gateway.former_route import route
from mcpg.gateway.index_build import IndexSpec
from mcpg.gateway.invoke import Invoker
from mcpg.gateway.options import (
    ConfigurationLike,
    GatewayOptions,
    check_options,
    read_configuration,
)
from mcpg.gateway.prompts_and_resources import Primitives
from mcpg.gateway.registry import (
    GENERATED,
    DocumentSource,
    ReviewedDocuments,
    SourceRegistry,
)
from mcpg.gateway.sessions import Sessions
from mcpg.gateway.skills import find_local_skills
from mcpg.gateway.snapshots import IndexManager, OnIndex, Snapshot
from mcpg.gateway.views import View
from mcpg.review.lock_sources import OnChange, ToolLock
from mcpg.search.caches import MemoryCache, NoCache
from mcpg.search.observer import SUCCESS, GuardedObserver, InvokeFacts, Observer
from mcpg.search.results import (
    DEFAULT_LIMIT,
    NONE,
    EngineServices,
    SearchResult,
    Strategy,
    check_limit,
    check_text,
    check_texts,
)
from mcpg.skills.folder import Skill
from mcpg.sources.client_config import Server, ServerAccess
from mcpg.sources.live.requests import Progress, current_session
from mcpg.sources.registry import (
    FileSource,
    ServerSource,
    Source,
    SourceLike,
    collect_sources,
    name_source_kind,
)
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import Answer, Given, format_count

_MOST_CHARACTERS = 240
_MOST_TOOLS = 20_000
# Options that do not slow a search down; other options that are set may.
_FREE = frozenset(("limit", "include_disabled", "min_score", "abstain", "fusion", "lexicon"))


def is_brief_search(engine: Engine, query: object = None, **options: Any) -> bool:
    """Return whether a search is sure to be short, if it is not the engine's first.

    The *options* are all other arguments of `Engine.search`.
    """
    if not isinstance(query, str) or len(query) > _MOST_CHARACTERS or not query.strip():
        return False
    if options.pop("strategy", Strategy.GRAPH) != Strategy.GRAPH:
        return False
    if any(value for name, value in options.items() if name not in _FREE):
        return False
    held = engine.services
    has_to_wait = held is not None and not (
        isinstance(held.cache, MemoryCache | NoCache | None)
        and held.candidates is None
        and held.observer is None
    )
    return len(engine.index) <= _MOST_TOOLS and not has_to_wait


NOT_OPEN = "use it as a context manager"
"""The remedy for a gateway that is not open."""

_AT_ONCE = 8
"""Concurrent searches; the interpreter lock makes more of them useless."""

WRAPPED = ("__name__", "__doc__")
"""The attributes that a method takes over from the method that it calls."""


def _of_engine(
    method: Callable[Concatenate[Engine, Given], Answer],
    is_brief: Callable[..., bool] | None = None,
) -> Callable[Concatenate[Gateway, Given], Coroutine[Any, Any, Answer]]:
    """Return a method of a gateway that calls *method* with the engine of its snapshot.

    It has the parameters and the documentation of *method*, and runs in a thread, unless *is_brief*
    returns for the same arguments that a warm engine needs little time.
    """

    @wraps(method, assigned=WRAPPED)
    async def answer(self: Gateway, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        snapshot = await self._use()
        engine = snapshot.engine
        if snapshot.is_early:
            return _mark_early(await self._in_thread(partial(method, engine, *given, **named)))
        if is_brief is None:
            return await self._in_thread(partial(method, engine, *given, **named))
        if engine is self._warm and is_brief(engine, *given, **named):
            return method(engine, *given, **named)
        result = await self._in_thread(partial(method, engine, *given, **named))
        self._warm = engine
        return result

    return answer


_STARTING = warning(
    Code.SERVERS_STARTING,
    "servers are still starting: their tools are those that were last known, and may have changed",
)


def _mark_early(result: Answer) -> Answer:
    """Return the *result* of an engine, marked as lacking servers that have not responded yet."""
    marked: Any = result
    if isinstance(result, SearchResult):
        marked = result._replace(diagnostics=(*result.diagnostics, _STARTING))
    elif is_dataclass(result) and hasattr(result, "diagnostics"):
        marked = replace(marked, diagnostics=(*result.diagnostics, _STARTING))
    return cast("Answer", marked)


def _make_facts(invoked: CallResult, owner: Source | None, session: str) -> InvokeFacts:
    outcome = str(invoked.faults[0].code) if invoked.faults else SUCCESS
    kind = name_source_kind(owner) if owner else ""
    return InvokeFacts(outcome, kind, invoked.tool_name, invoked.source_id, session)


class Gateway:
    """Lists, searches, routes and invokes the tools of its sources.

    It is an asynchronous context manager that any number of tasks may use. Sources are read
    concurrently when their tools are first needed, and the index is built once however many tasks
    wait for it. A failed source or graph is reported as a diagnostic, without effect on the others;
    a failed build leaves the last good index. When the host adds or removes a source, the next
    search sees it; when a server announces changes, searches use the last index until the new one
    is built. Requests to a gateway that is not open raise `UsageError`.

    Attributes:
        limits: Limits of calls.
    """

    def __init__(  # noqa: PLR0913 - each is optional for a host
        self,
        sources: SourceLike | Iterable[SourceLike] = (),
        *,
        graph: DocumentSource | str | PathLike[str] = GENERATED,
        lock: ToolLock | str | PathLike[str] | None = None,
        live: ServerAccess | None = None,
        reserved: Collection[str] = (),
        limit: int = DEFAULT_LIMIT,
        services: EngineServices = NONE,
        observer: Observer | None = None,
        limits: Limits | None = None,
        cache_dir: str | None = None,
        diagnostics: Iterable[Diagnostic] = (),
        left_out: Collection[str] = (),
        record_calls: str | PathLike[str] | CallRecorder | None = None,
    ) -> None:
        """Create a gateway; no source is read or started yet.

        Args:
            sources: Sources of its tools, in any number. A text or path is opened as by
                `open_sources`: the configuration of a client, a bundle, a folder, the address of a
                server ...
            graph: Source of the documents that it searches; a path is a `ReviewedDocuments`.
            lock: Approved definitions that tools must match; a path is a lock file, which is read
                now.
            live: Options for querying servers, `None` for the environment of this process and the
                default timeout.
            reserved: Ids that no tool may get.
            limit: Default maximum number of matches of a search, at least 1.
            services: Services of its engine.
            observer: Observer of builds, searches, routes and invocations, `None` for the observer
                in *services*; see `mcpg.telemetry`.
            limits: Limits of calls.
            cache_dir: Folder for the indexes of bundles in read-only folders.
            diagnostics: Earlier diagnostics of the sources.
            left_out: Names of further sources that views may name without effect.
            record_calls: File to which calls are appended, without arguments and results, for
                `mcpg learn`; or a recorder, which the gateway closes with itself.

        Raises:
            UsageError: A source is invalid, two sources have the same id, an argument has the wrong
                type, or *limit* is below 1.
            NotFoundError: A path does not exist.
            SourceError: A file contains no tools.
            InputError: The lock is invalid.
        """
        if isinstance(graph, str | PathLike):
            graph = ReviewedDocuments(os.fspath(graph))
        if isinstance(lock, str | PathLike):
            lock = ToolLock.read(lock)
        check_options(
            graph=graph,
            lock=lock,
            live=live,
            services=services,
            limits=limits,
            cache_dir=cache_dir,
            diagnostics=diagnostics,
            record_calls=record_calls,
        )
        self.limits = limits or Limits()
        self._live = live or ServerAccess(os.environ)
        opened, noticed = collect_sources(sources, self._live)
        self._registry = SourceRegistry(opened)
        if observer is not None:
            services = services._replace(observer=observer)
        self._observer = services.observer
        self._plan = IndexSpec(
            graph,
            frozenset(check_texts("reserved", reserved)),
            services,
            cache_dir,
            check_limit(limit),
            lock=lock,
            left_out=frozenset(check_texts("left_out", left_out)),
        )
        self._before = (*diagnostics, *noticed)
        if isinstance(record_calls, str | PathLike):
            record_calls = CallRecorder(os.fspath(record_calls))
        self._recorder = record_calls
        self._session = uuid4().hex
        self._callbacks: list[OnIndex] = []
        self._warm: Engine | None = None
        self._views: tuple[View, ...] = ()
        self._stack: AsyncExitStack | None = None

    @classmethod
    def from_config(
        cls, configuration: ConfigurationLike, **options: Unpack[GatewayOptions]
    ) -> Self:
        """Return a gateway to the servers of a client's configuration; none is started yet.

        Args:
            configuration: Its path, such as `mcp.json`, or the object in it, such as
                `{"mcpServers": {...}}`.
            **options: Further arguments of `Gateway`.

        Raises:
            NotFoundError, SourceError, UsageError: The configuration or an option cannot be used.
        """
        sources, options = read_configuration(configuration, options)
        return cls(sources, **options)

    def __repr__(self) -> str:
        state = "open" if self._stack is not None else "not open"
        return f"<{type(self).__name__}: {format_count(len(self.sources), 'source')}, {state}>"

    async def __aenter__(self) -> Self:
        if self._stack is not None:
            raise UsageError("the gateway is open already", remedy="open it once, and share it")
        async with AsyncExitStack() as stack:
            if self._recorder is not None:
                self._recorder.check()
                stack.callback(self._recorder.close)
            sessions = Sessions(
                self._live,
                lambda server: [*map(self.invalidate, self._find_ids(server))],
                lambda server: bool(self._find_ids(server)),
                limits=self.limits,
            )
            self._sessions = await stack.enter_async_context(sessions)
            self._invoker = Invoker(sessions, self.limits)
            self._primitives = Primitives(
                lambda: self._registry.sources, self._find_skills, sessions, self.limits
            )
            stack.push_async_callback(self._invoker.aclose)
            group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(group.cancel_scope.cancel)
            self._manager = self._whole = IndexManager(
                self._registry, self._plan, sessions.tools, group, listings=self._live.listings
            )
            stack.callback(self._manager.close)
            self._manager.callbacks = self._callbacks
            self._group = group
            self._limiter = anyio.CapacityLimiter(_AT_ONCE)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *raised: object) -> None:
        stack, self._stack = self._stack, None
        if stack is not None:
            # Without the error of the block, so that the task group does not wrap it.
            await stack.aclose()

    @property
    def sessions(self) -> Sessions:
        """The connections to the servers, once the gateway is open."""
        self._require_manager()
        return self._sessions

    @property
    def primitives(self) -> Primitives:
        """The prompts and resources of the servers, once the gateway is open."""
        self._require_manager()
        return self._primitives

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources, in the order in which they were added; in a view, sources it may show."""
        return tuple(filter(self._is_shown, self._registry.sources))

    def _is_shown(self, source: Source) -> bool:
        if not all(view.may_show(source) for view in self._views):
            return False
        snapshot = self._manager.current if self._views else None
        if snapshot is None or all(view.may_name(source) for view in self._views):
            return True
        return source.id in snapshot.owner_ids

    def read_graph(self) -> tuple[Tool, ...]:
        """Return the enabled tools in the documents of a file, none without such a graph.

        It reads no source.
        """
        if not isinstance(self._plan.graph, ReviewedDocuments):
            return ()
        try:
            tools = self._plan.load(self._plan.graph.path).catalog.tools
        except McpgError:  # the build reports it
            return ()
        shown = (one for one in tools if all(view.shows_tool(one) for view in self._views))
        return tuple(one for one in shown if one.enabled)

    @property
    def sure_names(self) -> tuple[str, ...]:
        """The ids of those sources that all views are sure to show, whatever tools they have."""
        shown = (one for one in self.sources if all(v.is_sure_to_show(one) for v in self._views))
        return tuple(one.id for one in shown)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Diagnostics of the sources, the last build, a failed newer one, and recorded calls.

        In a view, they also concern hidden items.
        """
        built = self._whole.diagnostics if self._stack else ()
        built += self._primitives.directory.diagnostics if self._stack else ()
        if self._views:
            built += self._manager.diagnostics
        recorded = self._recorder.diagnostics if self._recorder is not None else ()
        return (*self._before, *built, *recorded)

    @property
    def is_narrowed(self) -> bool:
        """Whether it shows a part of a gateway; see `narrow`."""
        return bool(self._views)

    @property
    def reads_files(self) -> bool:
        """Whether it reads files, such as bundles, which may have skills."""
        has_files = any(isinstance(one, FileSource) for one in self.sources)
        return has_files or isinstance(self._plan.graph, ReviewedDocuments)

    def shows(self, server: Server) -> bool:
        """Return whether it has *server* among its sources."""
        servers = (one for one in self.sources if isinstance(one, ServerSource))
        return any(one.server == server for one in servers)

    def narrow(self, *views: View) -> Gateway:
        """Return a gateway to the tools that all *views* show, which is open as long as this one.

        Hidden tools do not exist there: its index contains only the shown tools. Both gateways
        share sources and connections.
        """
        self._require_manager()
        narrowed, shown, callbacks = copy(self), (*self._views, *views), list[OnIndex]()
        manager = IndexManager(
            self._registry,
            self._plan,
            self._sessions.tools,
            self._group,
            callbacks,
            self._whole,
            shown,
            self._live.listings,
        )
        self._whole.callbacks.append(manager.follow)
        if self._stack is not None:
            self._stack.callback(manager.close)
        find_skills = narrowed._find_skills  # noqa: SLF001 - of its own index
        primitives = self._primitives.narrow(lambda: narrowed.sources, find_skills, shown)
        vars(narrowed).update(
            _views=shown, _callbacks=callbacks, _warm=None, _manager=manager, _primitives=primitives
        )
        return narrowed

    def add(self, source: Source) -> None:
        """Add a source; the next request waits for its tools.

        A gateway in use reads it at once, and then calls the callbacks of `on_change`.

        Raises:
            UsageError: Its id is blank or taken.
        """
        self._registry.add(source)
        if self._stack is not None:
            self._whole.follow()

    async def remove(self, source_id: str) -> bool:
        """Remove a source and close its connection; return whether there was one with this id.

        Calls over the connection end with it, unless another source shares it.
        """
        source = self._registry.remove(source_id)
        if self._stack is not None and source is not None:
            self._primitives.forget(source)
            self._whole.follow()
            if isinstance(source, ServerSource) and not self._find_ids(source.server):
                await self._sessions.close(source.server)
        return source is not None

    def invalidate(self, source_id: str) -> bool:
        """Mark a source as changed, so that it is read again; return whether it exists."""
        found = self._registry.invalidate(source_id)
        if found and self._stack is not None:
            self._whole.refresh()
        return found

    def on_change(self, callback: OnIndex) -> None:
        """Call *callback* in the event loop after each new index; its errors are ignored.

        The next index waits for an asynchronous callback.
        """
        self._callbacks.append(callback)

    async def build_index(self, *, force: bool = False) -> Snapshot:
        """Return an up-to-date snapshot; concurrent requests share one build.

        With *force*, every source is read again.
        """
        if force:
            self._registry.invalidate_all()
        return await self._require_manager().latest()

    async def warm_up(self) -> Snapshot:
        """Build the index and warm up its engine, so that the first request is fast."""
        snapshot = await self.build_index()
        await self._in_thread(snapshot.engine.warm_up)
        self._warm = snapshot.engine
        return snapshot

    async def snapshot(self) -> Snapshot:
        """Return the current snapshot; wait only for changes by the host itself."""
        return await self._require_manager().ready()

    async def early_snapshot(self) -> Snapshot | None:
        """Return the servers' previous tools, until they have responded."""
        return await self._require_manager().early()

    async def _use(self, *, for_call: bool = False) -> Snapshot:
        """Return the current snapshot for a request, which keeps lists of servers up to date.

        A call waits for the servers' current lists if the tools must match reviewed definitions.
        """
        self.sessions.uses += 1
        graph = self._plan.graph
        hides = isinstance(graph, ReviewedDocuments) and graph.on_change == OnChange.HIDE
        waits = for_call and (hides or self._plan.lock is not None)
        early = None if waits else await self.early_snapshot()
        return early or await self.snapshot()

    async def list_tools(self, *, include_disabled: bool = False) -> tuple[Tool, ...]:
        """Return the tools in order of id, without those that are disabled by default."""
        snapshot = await self._use()
        tools = await self._in_thread(lambda: snapshot.catalog.tools)
        return tuple(tool for tool in tools if include_disabled or tool.enabled)

    async def describe(self, tool: str) -> Tool:
        """Return a tool, with its schema and hints.

        Args:
            tool: An id in any case, `source::name`, or a raw name.

        Raises:
            NotFoundError: The name is unknown or ambiguous.
            UsageError: *tool* is not a text.
        """
        check_text("tool", tool)
        snapshot = await self._use()
        found = await self._find_tool(snapshot, tool)
        if isinstance(found, Fault):
            raise NotFoundError(found.message, remedy=found.remedy)
        return found

    search = _of_engine(Engine.search, is_brief_search)
    ask = _of_engine(Engine.ask)
    explain = _of_engine(Engine.explain)
    plan = _of_engine(Engine.plan)
    route = _of_engine(route)

    async def invoke(  # noqa: PLR0913 - each is a separate option
        self,
        tool: str | None = None,
        arguments: Mapping[str, JsonValue] | None = None,
        *,
        source_id: str | None = None,
        name: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the tool's time, within its limits
        progress: Progress | None = None,
        include_disabled: bool = False,
        query: str = "",
        context: Any = None,
        context_summary: str = "",
        meta: JsonObject | None = None,
        params: JsonObject | None = None,
        session: str = "",
    ) -> CallResult:
        """Call a tool; faults are part of the result. Its server receives a cancellation.

        A call is only repeated if the tool declares that it reads or is idempotent, and the
        connection to its server was lost before the response.

        Args:
            tool: An id in any case, `source::name`, or a raw name.
            arguments: The arguments by name.
            source_id: Its source, if the name is ambiguous without it.
            name: A raw name, instead of *tool*.
            timeout: Seconds for the whole call, which progress renews, up to the limits; `None`
                for the default of its server or the limits.
            progress: Receives progress that the server reports.
            include_disabled: Whether a tool that is disabled by default is invoked.
            query: The task, sent to the server. It also fills the tool's argument `query` if
                *arguments* lacks it.
            context: Further context, a text or JSON, which also fills the arguments `context` and
                `contextSummary`.
            context_summary: A summary of *context*, which also fills `contextSummary`.
            meta: Further members of the `_meta` of the request to its server.
            params: Further parameters of this request, such as input that the server requires.
            session: An opaque id of the conversation that the call belongs to, for recorded calls
                and spans. A server that keeps state for each client has a connection for each
                session, until `end_session`. Calls without a session belong to one session of this
                gateway.

        Raises:
            UsageError: The time is not above 0, or a name is not a text.
        """
        check_text("tool", tool)
        check_text("source_id", source_id)
        check_text("name", name)
        snapshot = await self._use(for_call=True)
        began, start = time.time(), time.perf_counter()
        observer = self._observer
        watched = GuardedObserver.of(observer).invoke() if observer else nullcontext()
        with watched as report:
            found = await self._find_tool(snapshot, tool, source_id, name)
            if isinstance(found, Fault):
                invoked, owner = CallResult("", faults=(found,)), None
            else:
                owner = snapshot.owner(found)
                invoked = await self._call_tool(
                    found,
                    snapshot,
                    session,
                    arguments or {},
                    timeout=timeout,
                    progress=progress,
                    include_disabled=include_disabled,
                    query=query,
                    context=context,
                    context_summary=context_summary,
                    meta=meta,
                    params=params,
                )
            if report is not None:
                report(_make_facts(invoked, owner, session))
        if self._recorder is not None and invoked.tool_id:
            ids = session or self._session, invoked.tool_id, invoked.source_id
            seconds = time.perf_counter() - start
            self._recorder.record(RecordedCall(began, seconds, *ids, invoked.is_success))
        return invoked

    async def _call_tool(
        self,
        tool: Tool,
        snapshot: Snapshot,
        session: str,
        arguments: Mapping[str, JsonValue],
        **options: Any,
    ) -> CallResult:
        """Call *tool* within *session*; addresses in its result are this gateway's addresses."""
        owner = snapshot.owner(tool)
        schema = snapshot.built.review.schemas.get((tool.source_id, tool.name))
        token = current_session.set(session)
        try:
            invoked = await self._invoker.invoke(
                tool, owner, arguments, current_schema=schema, **options
            )
        finally:
            current_session.reset(token)
        self._primitives.record_call(owner)
        if invoked.wire is None:
            return invoked
        return replace(invoked, wire=self._primitives.rewrite_addresses(invoked.wire, owner))

    async def end_session(self, session: str) -> None:
        """Close the connections to servers that a *session* of calls has of its own."""
        self.sessions.end_client(session)

    async def _find_skills(self) -> tuple[Skill, ...]:
        """Return the skills of bundles and folders, none before the first index is built."""
        current = self._manager.current
        if current is None:
            return ()
        return await self._in_thread(partial(find_local_skills, current.engine))

    async def _find_tool(
        self,
        snapshot: Snapshot,
        tool: str | None,
        source_id: str | None = None,
        name: str | None = None,
    ) -> Tool | Fault:
        """Return the result of `Snapshot.find`, in a thread unless an id is known at once."""
        found = snapshot.find_by_id(tool) if tool and not (source_id or name) else None
        if found is None:
            return await self._in_thread(partial(snapshot.find, tool, source_id, name))
        return found

    def _require_manager(self) -> IndexManager:
        if self._stack is None:
            raise UsageError("the gateway is not open", remedy=NOT_OPEN)
        return self._manager

    async def _in_thread(self, work: Callable[[], Answer]) -> Answer:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter, abandon_on_cancel=True)

    def _find_ids(self, server: Server) -> list[str]:
        servers = (one for one in self._registry.sources if isinstance(one, ServerSource))
        return [one.id for one in servers if one.server == server]
