"""Requests of clients: what they belong to, and what is passed on of them."""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Self
from uuid import uuid4

from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, LOG_LEVEL_META_KEY

from mcpg.gateway.serve.answers import bound_error
from mcpg.json_types import JsonObject
from mcpg.sources.live.requests import Progress

Context = ServerRequestContext[Any, Any]

_INPUT = ("inputResponses", "requestState")
SESSION_META_KEY = "mcpg/session"
"""The member of `_meta` by which a client of a protocol without sessions names its session."""

_KEY_CHARACTERS = 16, 256
_PROGRESS_TOKEN = "progressToken"  # noqa: S105 - the name of a member
_OURS = (_PROGRESS_TOKEN, SESSION_META_KEY)
_OF_PROTOCOL = "io.modelcontextprotocol/"


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request of a client.

    Attributes:
        progress: Reports progress to the client.
        session: What the request belongs to; see `Gateway.invoke`.
        meta: Its `_meta`, without what concerns the connection to us alone.
        version: The version of the protocol that the client uses.
        params: Its parameters that give a server the input that it has required.
    """

    progress: Progress | None = None
    session: str = ""
    meta: JsonObject = field(default_factory=dict)
    version: str = ""
    params: JsonObject = field(default_factory=dict)

    @classmethod
    def of(cls, context: Context, caller: Any, own: str = "") -> Self:
        """Return the request of *context* by *caller*, to the server with the id *own*."""
        meta = forward_meta(context)
        if caller.level is not None:
            meta.setdefault(LOG_LEVEL_META_KEY, caller.level)
        given = context.params or {}
        params = {name: given[name] for name in _INPUT if name in given}
        session = derive_session_id(context, own)
        return cls(caller.report, session, meta, context.protocol_version, params)

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of `Gateway.invoke`."""
        return {
            "progress": self.progress,
            "session": self.session,
            "meta": self.meta,
            "params": self.params,
        }


def forward_meta(context: Context) -> JsonObject:
    """Return the `_meta` of a request as far as it concerns the server behind us."""
    given: Any = (context.params or {}).get("_meta")
    members: JsonObject = given if isinstance(given, dict) else {}
    return {
        key: value
        for key, value in members.items()
        if key == LOG_LEVEL_META_KEY or not (key in _OURS or key.startswith(_OF_PROTOCOL))
    }


def session_key(context: Context) -> str | None:
    """Return the session that a request names, `None` for none.

    Raises:
        MCPError: It is no text, or so short that others may guess it.
    """
    key = (context.meta or {}).get(SESSION_META_KEY)
    if key is None:
        return None
    least, most = _KEY_CHARACTERS
    if not isinstance(key, str) or not least <= len(key) <= most:
        message = f"`{SESSION_META_KEY}` in `_meta` is not a text of {least} to {most} characters"
        raise MCPError(INVALID_PARAMS, message)
    return key


_unaltered: ContextVar[list[JsonObject] | None] = ContextVar("_unaltered", default=None)
_ENVELOPE = ("resultType", "ttlMs", "cacheScope")


async def pass_unaltered(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Send results that `keep_unaltered` was given with all their members, as middleware.

    The SDK drops members that it does not know, which newer servers and extensions send.
    """
    kept: list[JsonObject] = []
    token = _unaltered.set(kept)
    try:
        result = await call_next(ctx)
    finally:
        _unaltered.reset(token)
    if not kept or not isinstance(result, dict):
        return result
    own = {key: value for key, value in kept[-1].items() if key not in _ENVELOPE}
    return {**result, **own, **({"_meta": result["_meta"]} if "_meta" in result else {})}


def keep_unaltered(result: JsonObject) -> JsonObject:
    """Return *result*, the answer to the request that is being handled, for `pass_unaltered`."""
    kept = _unaltered.get()
    if kept is not None:
        kept.append(result)
    return {"resultType": "complete", **result}


def make_mcp_error(error: JsonObject, budget: int) -> MCPError:
    """Return the JSON-RPC *error* of a server as an exception of at most *budget* bytes."""
    error = bound_error(error, budget)
    code, message = error["code"], error["message"]
    return MCPError(
        code if isinstance(code, int) else INTERNAL_ERROR, str(message), error.get("data")
    )


_SESSION_HEADER = "mcp-session-id"
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def derive_session_id(context: ServerRequestContext[Any, Any], own: str) -> str:
    """Return an id, without a meaning, of what a request belongs to.

    Over standard input there is one client. Over HTTP it is the session of the protocol; a request
    of a protocol without sessions may name one or state a W3C trace, and otherwise stands alone.

    Args:
        context: The request.
        own: The id of this server.
    """
    if context.request is None:
        return own
    known = str(context.request.headers.get(_SESSION_HEADER) or "")
    if not known:
        known = session_key(context) or ""
    if not known:
        stated = (context.meta or {}).get("traceparent")
        trace = _TRACE_PARENT.fullmatch(stated) if isinstance(stated, str) else None
        known = trace[1] if trace else uuid4().hex
    # The id of a session is a secret: anyone who has it can use the session.
    named = known.encode("utf-8", "surrogatepass")  # any text of JSON
    return blake2b(named, key=own.encode(), digest_size=16).hexdigest()
