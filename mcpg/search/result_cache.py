"""Results kept in a search cache.

Keys are digests of everything that an answer depends on: the content of the index, the version of
mcpg, the request with all its options, and the fingerprints of the embedding provider and the query
rewriter. Nothing is ever invalidated, because an entry under a key cannot become wrong.

Entries are JSON under a digest and are untrusted: values are checked against the declared types of
each class, so a new member needs no code here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from mcpg.catalog.model import Tool
from mcpg.errors import Code, Diagnostic
from mcpg.index import Index
from mcpg.index.layout import ABSENT, NO_KEY
from mcpg.search.caches import RESULT, add_digest, check_digest, json_bytes, make_key
from mcpg.search.guards import GuardedCache, read_host_attribute
from mcpg.search.results import Match, SearchRequest, SearchResult, Strategy
from mcpg.search.searcher import Searcher
from mcpg.search.trace import Trace

Answering = Callable[[Searcher, SearchRequest, tuple[Diagnostic, ...], Trace | None], SearchResult]


_HANDED_OVER = ("load", "read_view")
# Names of kinds of texts that the declarations list.
_NAMES = {"RankingModeName": str, "SeverityName": str, "StrategyName": str, "Tool": Tool}


def encode_result(result: SearchResult, key: str) -> bytes:
    """Return the bytes to keep under *key*."""
    return add_digest(json_bytes(_plain(result)), key)


def decode_result(data: bytes | None, key: str, load: Callable[[str], Tool]) -> SearchResult | None:
    """Return the result stored under *key*, `None` if *data* was not stored for it.

    *load* returns the whole tool of an id.
    """
    payload = check_digest(data, key)
    if payload is None:
        return None
    try:
        part = json.loads(payload.decode("utf-8", "surrogatepass"))
        result: SearchResult = _read(SearchResult, part, load)
    except (ValueError, RecursionError):
        return None
    return result


def _plain(part: Any) -> Any:
    names = getattr(type(part), "__match_args__", None)
    if names is None:
        return [_plain(one) for one in part] if isinstance(part, tuple) else part
    return [_plain(getattr(part, name)) for name in names if name not in _HANDED_OVER]


def _read(kind: Any, part: Any, load: Callable[[str], Tool]) -> Any:
    """Return *part* as the *kind* that a declaration names."""
    if isinstance(kind, UnionType):
        if part is None and NoneType in get_args(kind):
            return None
        (kind,) = [one for one in get_args(kind) if one is not NoneType]
        return _read(kind, part, load)
    if get_origin(kind) is tuple and isinstance(part, list):
        (item, _) = get_args(kind)
        return tuple(_read(item, one, load) for one in part)
    if hasattr(kind, "__match_args__") and isinstance(part, list):
        declared = _declared_types(kind)
        if len(part) != len(declared):
            raise ValueError
        pairs = zip(declared.items(), part, strict=True)
        members = {name: _read(what, one, load) for (name, what), one in pairs}
        if kind is Match:
            members[_HANDED_OVER[0]] = lambda: load(members["tool_id"])
        return kind(**members)
    if type(part) is kind or (kind is float and type(part) is int):
        return part
    raise ValueError


@cache
def _declared_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, localns=_NAMES)
    return {name: hints[name] for name in kind.__match_args__ if name not in _HANDED_OVER}


LASTING = frozenset(
    {
        Code.HYBRID_VECTOR_MERGE_USED,
        Code.LOW_CONFIDENCE,
        Code.QUERY_TRUNCATED,
        Code.CONTEXT_TOOL_UNKNOWN,
        Code.FILTER_UNKNOWN,
        Code.FILTER_EMPTY,
        Code.LIMIT_CAPPED,
        Code.QUERY_NORMALIZED,
        Code.QUERY_LITERALS_RESTORED,
        # What a model makes nothing of today it makes nothing of tomorrow.
        Code.QUERY_VECTOR_EMPTY,
        # Only reported together with its cause, which decides.
        Code.GRAPH_FALLBACK,
    }
)
"""Diagnostics that the same search of the same index always has. Results with others are not
stored, because their cause may be gone next time, such as a provider that does not respond.
"""


class ResultCache:
    """Answers repeated requests from a cache, and stores new results."""

    def __init__(self, cache: GuardedCache, compute: Answering) -> None:
        self._cache = cache
        self._compute = compute
        self._known: tuple[Index, str] | None = None

    def answer(
        self,
        searcher: Searcher,
        request: SearchRequest,
        diagnostics: tuple[Diagnostic, ...],
        trace: Trace | None = None,
    ) -> SearchResult:
        """Answer *request* from the cache or anew, with diagnostics of the cache's failures."""
        makers = _find_makers(searcher, request)
        key = self._key(searcher, request, diagnostics, makers)
        kept = self._cache.get(RESULT, key) if key else None
        result = decode_result(kept, key, searcher.tool) if key else None
        if result is not None:
            others = (*result.related_matches, *result.next_step_matches, *result.prerequisites)
            shown = [match.tool_id for match in (*result.matches, *others)]
            if ABSENT in map(searcher.index.find_tool, shown):
                result = None
        if result is None:
            result = self._compute(searcher, request, diagnostics, trace)
            # The search may have loaded vectors that belong in the key. Other contributors were
            # recorded before, so that one published meanwhile does not count.
            key = key or self._key(searcher, request, diagnostics, makers)
            if key and LASTING.issuperset(one.code for one in result.diagnostics):
                self._cache.put(RESULT, key, encode_result(result, key))
        elif trace is not None:
            trace.is_cached = True
        failed = self._cache.diagnostics()
        return result._replace(diagnostics=(*result.diagnostics, *failed)) if failed else result

    def _key(
        self,
        searcher: Searcher,
        request: SearchRequest,
        diagnostics: tuple[Diagnostic, ...],
        makers: dict[str, str] | None,
    ) -> str | None:
        """Return the key of the answer, `None` if its dependencies are unknown."""
        if makers is None:
            return None
        if request.strategy != Strategy.GRAPH:
            built = searcher.semantics().built
            # Vectors are not requested only for the key: that may take long, and fail.
            if built is None or built.vectors.missing:
                return None
            makers = {**makers, "vectors": built.vectors.identity}
        asked = {name: getattr(request, name) for name in request.__match_args__}
        found = [(one.code, one.message) for one in diagnostics]
        known = self._known
        if known is None or known[0] is not searcher.index:
            self._known = known = searcher.index, index_digest(searcher.index)
        return make_key(RESULT, known[1], asked, found, makers)


def index_digest(index: Index) -> str:
    """Return the digest of the source of *index*; equal indexes have equal digests.

    Without a recorded source, the whole index is read.
    """
    header = index.header
    key = hashlib.sha256(index.data).digest() if header.key == NO_KEY else header.key
    return f"{key.hex()}:{header.recipe:08x}"


def _find_makers(searcher: Searcher, request: SearchRequest) -> dict[str, str] | None:
    """Return the contributors to the answer to *request* beside the index and the vectors.

    `None` if one of them has no fingerprint: such answers are never kept.
    """
    services = searcher.services
    if services is None:
        return None
    makers: dict[str, Any] = {}
    if request.rewrite and services.rewriter is not None:
        makers["rewriter"] = read_host_attribute(services.rewriter, "fingerprint")
    if services.candidates is not None:
        makers["candidates"] = searcher.guarded_source(request).fingerprint()
    return makers if all(isinstance(one, str) for one in makers.values()) else None
