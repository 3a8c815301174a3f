"""Prompts, resources and skills of the servers, served to clients: lists and requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcpg.bundle import assemble
from mcpg.catalog.model import Tool
from mcpg.engine.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.errors import NotFoundError
from mcpg.gateway.directory import Directory
from mcpg.gateway.gateway import Gateway, is_brief_search
from mcpg.gateway.prompts_and_resources import RequestError
from mcpg.gateway.serve import READ, ServingOptions
from mcpg.gateway.serve.answers import (
    AFTER,
    cut_page,
    encode_json,
    line,
    make_error_result,
    size,
    text_block,
    text_prefix,
)
from mcpg.gateway.serve.clients import (
    MOST_URIS,
    ClientRequest,
    Clients,
    Context,
    keep_unaltered,
    make_mcp_error,
)
from mcpg.gateway.serve.kept_results import SCHEME, ResultStore
from mcpg.gateway.serve.relay import Relay
from mcpg.gateway.skills import EXTENSION
from mcpg.index.reader import Index
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.search.results import Match
from mcpg.sources.client_config import Server as McpServer
from mcpg.sources.live.requests import Caller
from mcpg.sources.model import SourceBatch
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import SHOWN_DECIMALS

_MOST = 5000
_TEXT = 2000


@dataclass(frozen=True, slots=True)
class ItemMatch:
    """A prompt or resource that matches a query.

    Attributes:
        kind: `prompts`, `resources` or `templates`.
        item: It as clients see it in a list.
        score: The probability that it fits, as for tools.
    """

    kind: str
    item: JsonObject
    score: float


class PrimitiveIndex:
    """An index of the prompts and resources of a directory."""

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self._items: dict[tuple[str, str], tuple[str, JsonObject]] = {}
        items: Iterable[tuple[str, JsonObject]] = (
            (kind, item)
            for kind in ("prompts", "resources", "templates")
            for item in getattr(directory, kind).values()
        )
        for kind, item in islice(items, _MOST):
            meta: Any = item["_meta"]
            source, name, number = str(meta["sourceId"]), str(item["name"])[:_TEXT], 1
            unique = name
            while (source, unique) in self._items:  # numbered if another has both
                number += 1
                unique = f"{name} {number}"
            self._items[source, unique] = kind, item
        self._engine = _make_engine(_make_document(key, *one) for key, one in self._items.items())
        self._skills: dict[tuple[str, str], str] = {}
        described: list[Tool] = []
        for uri, skill in islice(directory.find_server_skills(), _MOST):
            front: Any = skill["frontmatter"]
            source, name = directory.owners[uri], str(front["name"])
            unique = name if (source, name) not in self._skills else f"{name} {len(described)}"
            self._skills[source, unique] = uri
            described.append(Tool("", source, unique, description=front["description"]))
        self._skill_engine = _make_engine(described)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds that have items, among `prompts`, `resources` and `skills`."""
        known = self.directory
        items: dict[str, Any] = {"prompts": known.prompts, "skills": self._skills}
        items["resources"] = known.resources or known.templates
        return frozenset(kind for kind, found in items.items() if found)

    def is_brief(self, query: str, sources: Sequence[str] = ()) -> bool:
        """Return whether the same search is sure to be short."""
        return self._engine is None or is_brief_search(self._engine, query, sources=sources)

    def search(self, query: str, limit: int, sources: Sequence[str] = ()) -> list[ItemMatch]:
        """Return the best matches for *query* that are likely enough to be right.

        They come from sources with the ids *sources*; none for all.
        """
        if self._engine is None or not query.strip():
            return []
        return [
            ItemMatch(*self._items[match.source_id, match.descriptor.name], match.score)
            for match in self._engine.search(query, limit=limit, sources=sources).matches
            if match.score >= LOW_CONFIDENCE
        ]

    def search_skills(self, query: str, limit: int, sources: Sequence[str] = ()) -> list[Match]:
        """Return the skills of servers that fit *query*, the best first, with addresses as ids.

        Their names and descriptions are searched: files are not read before a client needs them.
        """
        if self._skill_engine is None or not query.strip():
            return []
        return [
            match._replace(tool_id=self._skills[match.source_id, match.tool_name])
            for match in self._skill_engine.search(query, limit=limit, sources=sources).matches
        ]


def _make_engine(documents: Iterable[Tool]) -> Engine | None:
    tools = tuple(documents)
    if not tools:
        return None
    assembly = assemble(SourceBatch(tools=tools), texts=False)
    return Engine(Index(compile_assembly(assembly)))


def _make_document(key: tuple[str, str], kind: str, item: JsonObject) -> Tool:
    """Return a document of *item* that can be searched, under its unique *key*."""
    uri = str(item.get("uri") or item.get("uriTemplate") or "")
    words = (item.get("title") or item.get("name"), item.get("description"), uri)
    text = ". ".join(str(one)[:_TEXT] for one in words if one)
    properties: JsonObject = {}
    given: Any = item.get("arguments") or []
    for one in given if kind == "prompts" else ():
        properties[str(one["name"])] = {"description": str(one.get("description") or "")}
    schema: JsonObject = {"type": "object", "properties": properties}
    title = str(item.get("title") or item["name"])[:_TEXT]
    return Tool("", *key, title, text, input_schema=schema)


_NAME, _ADDRESS, _ARGUMENTS = 128, 2000, 16
_NOTE_BYTES = 1000
_BASE64 = 4, 3
_SETTING = "`--max-result-bytes` or `serve.max_result_bytes` of the gateway"


def primitive_answers(found: Sequence[ItemMatch], characters: int) -> JsonObject:
    """Return the members `prompts` and `resources` of an answer, unless they are empty.

    Descriptions have so many *characters*, 0 for none.
    """
    answer: dict[str, list[JsonValue]] = {}
    for one in found:
        item, meta, is_prompt = one.item, one.item.get("_meta"), one.kind == "prompts"
        shown: JsonObject = {"name": line(str(item["name"]), _NAME)}
        for member in ("uri", "uriTemplate"):
            if member in item:
                shown[member] = str(item[member])[:_ADDRESS]
        if is_prompt:
            shown["name"] = item["name"]  # unchanged: it identifies the prompt
        shown["sourceId"] = line(str(meta["sourceId"] if isinstance(meta, dict) else ""), _NAME)
        text = item.get("description") or item.get("title")
        if text and characters:
            shown["description"] = line(str(text), characters)
        given: Any = item.get("arguments") or []
        if is_prompt and given:
            shown["arguments"] = [line(str(each["name"]), _NAME) for each in given[:_ARGUMENTS]]
        shown["score"] = round(one.score, SHOWN_DECIMALS)
        answer.setdefault("prompts" if is_prompt else "resources", []).append(shown)
    return {**answer}


def show_message(message: Any) -> JsonValue:
    """Return a message of a prompt as a content block; a text begins with its role."""
    content = message.get("content")
    if not isinstance(content, dict):
        return text_block(encode_json(message))
    if content.get("type") != "text":
        return content
    return {**content, "text": f"{message.get('role')}: {content.get('text')}"}


def resource_answer(
    contents: Sequence[JsonObject], offset: int, budget: int, reader: str = READ
) -> JsonObject:
    """Return *contents* as embedded resources in a result of at most *budget* bytes of JSON.

    Text is cut, with a note of how to get the rest by the meta-tool *reader*; other contents that
    do not fit are left out. With an *offset* in characters of text, other contents are also
    skipped. If nothing fits, or no text follows the offset, the result is an error.
    """
    whole: JsonObject = {"content": [_embed_content(one) for one in contents], "isError": False}
    if not offset and size(whole) <= budget:
        return whole
    characters = sum(len(_text(one) or "") for one in contents)
    if offset and offset >= characters:
        return make_error_result(
            f"the text of the resource has {characters:,} characters: lower `offset`"
        )
    rest, skipped = [], offset
    for one in contents:
        own = _text(one)
        if own is not None and len(own) > skipped:
            rest.append({**one, "text": own[skipped:]})
        elif not offset:
            rest.append(one)
        skipped = max(0, skipped - len(own or ""))
    shown, count, refused = _fit_contents(rest, budget - _NOTE_BYTES)
    end = offset + count
    notes = [f"the text from character {end:,} to {characters:,} is omitted"]
    notes = notes if end < characters else []
    notes += [f"binary contents of {refused:,} bytes are omitted"] if refused else []
    if not notes:
        return {"content": shown, "isError": False}
    text = f"{'; '.join(notes)}: results are limited to {budget:,} bytes by {_SETTING}"
    if count and end < characters:
        text = f"{text}. Call {reader} with `offset` {end} for the next part of the text"
    return {"content": [*shown, text_block(f"[mcpg: {text}]")], "isError": not shown}


def _fit_contents(contents: Iterable[JsonObject], room: int) -> tuple[list[JsonValue], int, int]:
    """Return the part of *contents* that fits *room* bytes, without text after a cut text.

    Returns the blocks, the characters of text in them, and the bytes of binary contents left out.
    """
    shown: list[JsonValue] = []
    characters, refused, is_cut = 0, 0, False
    for one in contents:
        text = _text(one)
        if text is not None and is_cut:
            continue
        kept = one
        if text is not None:
            frame = size(_embed_content({**one, "text": ""})) + 1
            kept = {**one, "text": text_prefix(text, room - frame)}
        need = size(_embed_content(kept)) + 1
        is_cut = is_cut or (text is not None and (need > room or kept != one))
        if need > room:
            blob = one.get("blob")
            digits = blob.rstrip("=") if isinstance(blob, str) else ""
            refused += len(digits) * _BASE64[1] // _BASE64[0]
            continue
        shown.append(_embed_content(kept))
        characters += len(_text(kept) or "")
        room -= need
    return shown, characters, refused


def _embed_content(content: JsonObject) -> JsonObject:
    return {"type": "resource", "resource": content}


def _text(content: JsonObject) -> str | None:
    text = content.get("text")
    return text if isinstance(text, str) else None


OnBehalf: TypeAlias = Callable[
    [Context, Callable[[Caller], Awaitable[JsonObject]]], Awaitable[JsonObject]
]

RESOURCE_NOT_FOUND = -32002
"""The code of the protocol up to 2025-11-25; later versions have invalid parameters."""

_PAGE_BYTES = 1 << 20
_LIST: JsonObject = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_LONGEST, _PATIENCE = 300, 5.0
_MOST_LISTENED = 10 * MOST_URIS


def page(
    items: Mapping[str, JsonObject], cursor: str | None
) -> tuple[list[JsonObject], str | None]:
    """Return the items after *cursor*, and the cursor of the next page; raises `MCPError`."""
    start = 0
    if cursor is not None:
        last = cursor.removeprefix(AFTER)
        if not cursor.startswith(AFTER) or last not in items:
            raise MCPError(types.INVALID_PARAMS, "invalid cursor")
        start = list(items).index(last) + 1
    return cut_page(islice(items.items(), start, None), _PAGE_BYTES)


def _check_subscriptions(count: int, most: int = MOST_URIS) -> None:
    if count > most:
        raise MCPError(types.INVALID_REQUEST, f"more than {most:,} subscriptions")


SOURCES_META_KEY = "mcpg/sources"
"""The member of `_meta` in a list of skills that has their servers, by their addresses."""


class _AddressParams(types.PaginatedRequestParams):
    """Parameters that name a skill or a directory."""

    uri: str


@dataclass(eq=False, slots=True)
class PrimitiveHandlers:
    """Handles requests for prompts, resources and skills.

    Attributes:
        relay: Asks and notifies the clients of the gateway, and of its views.
        results: Results that were cut, which are read like resources.
        on_behalf: Does work on behalf of the client of a request.
        unwatch: Called when a subscription has ended, to begin `watch`.
    """

    gateway: Gateway
    serving: ServingOptions
    clients: Clients
    relay: Relay
    results: ResultStore
    on_behalf: OnBehalf
    unwatch: Callable[[], None]
    _watching: anyio.Lock = field(default_factory=anyio.Lock)
    _listened: Counter[str] = field(default_factory=Counter)
    _watched: dict[tuple[str, str], str] = field(default_factory=dict)

    def register_resources(self, sdk: Server[Any]) -> None:
        """Handle requests for resources and skills."""
        pages, request = types.PaginatedRequestParams, sdk.add_request_handler
        request("resources/list", pages, partial(self._list, "resources", "resources"))
        templates = partial(self._list, "resourceTemplates", "templates")
        request("resources/templates/list", pages, templates)
        request("resources/read", types.ReadResourceRequestParams, self._forward)
        request("skills/list", pages, partial(self._list, "skills", "skills"))
        request("skills/get", _AddressParams, self._forward_skill)
        request("resources/directory/read", _AddressParams, self._forward_skill)

    def register(self, sdk: Server[Any]) -> None:
        """Handle all requests for prompts, resources and skills of servers."""
        self.register_resources(sdk)
        pages, request = types.PaginatedRequestParams, sdk.add_request_handler
        subscribe, unsubscribe = partial(self._subscribe, True), partial(self._subscribe, False)
        request("resources/subscribe", types.SubscribeRequestParams, subscribe)
        request("resources/unsubscribe", types.UnsubscribeRequestParams, unsubscribe)
        request("prompts/list", pages, partial(self._list, "prompts", "prompts"))
        request("prompts/get", types.GetPromptRequestParams, self._forward)
        request("completion/complete", types.CompleteRequestParams, self._forward)
        request("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        request(
            "subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen_to_changes
        )

    async def _list(
        self, member: str, kind: str, _: Context, params: types.PaginatedRequestParams
    ) -> JsonObject:
        if kind == "skills":
            await self.wait_for_files()
        known = await self.gateway.primitives.list_directory(is_fresh=params.cursor is None)
        shown, cursor = page(getattr(known, kind), params.cursor)
        more: JsonObject = {} if cursor is None else {"nextCursor": cursor}
        if kind == "skills":  # entries have no member for it
            uris = [str(one["uri"]) for one in shown]
            more["_meta"] = {SOURCES_META_KEY: {uri: known.owners[uri] for uri in uris}}
        return keep_unaltered({**_LIST, member: [*shown], **more})

    async def _forward(
        self,
        context: Context,
        params: types.ReadResourceRequestParams
        | types.GetPromptRequestParams
        | types.CompleteRequestParams,
    ) -> JsonObject:

        async def work(caller: Caller) -> JsonObject:
            request = ClientRequest.of(context, caller)
            given: JsonObject = {**request.params, "_meta": request.meta}
            known = self.gateway.primitives
            if isinstance(params, types.ReadResourceRequestParams):
                if params.uri.startswith(SCHEME):
                    return {"contents": [*self.results.read(params.uri, request.holder)]}
                return await known.read(params.uri, given, request.progress)
            if isinstance(params, types.CompleteRequestParams):
                return await known.complete({**(context.params or {}), "_meta": request.meta})
            if params.arguments is not None:
                given["arguments"] = {**params.arguments}
            return await known.prompt(params.name, given, request.progress)

        is_later = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        is_read = isinstance(params, types.ReadResourceRequestParams)
        unknown = RESOURCE_NOT_FOUND if is_read and not is_later else types.INVALID_PARAMS
        return await self._send_on(context, work, unknown)

    async def _forward_skill(self, context: Context, params: _AddressParams) -> JsonObject:
        known = self.gateway.primitives
        is_skill = context.method == "skills/get"

        async def work(caller: Caller) -> JsonObject:
            request = ClientRequest.of(context, caller)
            given: JsonObject = {**request.params, "_meta": request.meta}
            await self.wait_for_files()
            if is_skill:
                return await known.skill(params.uri, given)
            more: JsonObject = {} if params.cursor is None else {"cursor": params.cursor}
            return await known.read_directory(params.uri, {**given, **more})

        return await self._send_on(context, work, types.INVALID_PARAMS)

    async def _send_on(
        self, context: Context, work: Callable[[Caller], Awaitable[JsonObject]], unknown: int
    ) -> JsonObject:
        """Return the result of *work*; the error of a missing item has the code *unknown*."""
        try:
            result = await self.on_behalf(context, work)
        except NotFoundError as fault:
            raise MCPError(unknown, line(fault.message, _LONGEST)) from None
        except RequestError as fault:
            if fault.error is not None:
                raise make_mcp_error(fault.error, self.serving.result_bytes) from None
            raise MCPError(types.INTERNAL_ERROR, line(fault.message, _LONGEST)) from None
        if self.gateway.primitives.due <= anyio.current_time():
            self.unwatch()
        return keep_unaltered(result if "ttlMs" in result else {**_LIST, **result})

    async def _subscribe(
        self,
        wants: bool,
        context: Context,
        params: types.SubscribeRequestParams | types.UnsubscribeRequestParams,
    ) -> types.EmptyResult:
        client = self.clients.of(context)
        if client is not None:
            if wants:
                try:
                    await self.gateway.primitives.resource(params.uri)
                except NotFoundError as fault:
                    raise MCPError(RESOURCE_NOT_FOUND, line(fault.message, _LONGEST)) from None
                _check_subscriptions(len({*client.uris, params.uri}))
                client.uris.add(params.uri)
            else:
                client.uris.discard(params.uri)
            await self.watch()
        return types.EmptyResult()

    async def _listen_to_changes(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        uris = {*(params.notifications.resource_subscriptions or ())}
        _check_subscriptions(len(uris))
        # Over standard input there is one client; over HTTP, clients are not distinguished.
        most = MOST_URIS if context.request is None else _MOST_LISTENED
        _check_subscriptions(self._listened.total() + len(uris), most)
        self._listened.update(uris)
        try:
            if uris:
                await self.watch()
            return await self.clients.listen(context, params)
        finally:
            self._listened.subtract(uris)
            if uris:
                self.unwatch()

    async def watch(self) -> None:
        """Subscribe to exactly the resources that clients have subscribed to."""
        async with self._watching:  # later work has the later subscriptions
            self._listened = +self._listened
            uris = {uri for client in self.clients for uri in client.uris}
            if uris or self._listened or self._watched:
                known = self.gateway.primitives
                self._watched = await known.watch(frozenset({*uris, *self._listened}))

    async def announce_update(self, server: McpServer, uri: str) -> None:
        sources = [one for one in self.gateway.primitives.servers if one.server == server]
        shown = (self._watched.get((source.id, uri)) for source in sources)
        await self.clients.notify_updated(frozenset(filter(None, shown)))

    async def wait_for_files(self) -> None:
        """Wait a while for the first index, without which the skills of bundles are unknown."""
        if self.gateway.reads_files:
            with anyio.move_on_after(_PATIENCE):
                await self.gateway.snapshot()

    def find_extensions(self) -> dict[str, dict[str, Any]]:
        """Return the extensions of the gateway with their settings."""
        settings = self.gateway.primitives.skill_settings
        return {} if settings is None else {EXTENSION: {**settings}}

    async def _set_level(
        self, context: Context, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        client = self.clients.of(context)
        if client is not None:
            client.level = params.level
            self.gateway.sessions.log(self.relay.level)
        return types.EmptyResult()
