"""From settings to the services of an engine beside its index: providers, stores, caches.

A service that no setting names is neither made nor imported, and mcpg sends no request before
it is needed. Secrets come only from the environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcpg.cli.environment import (
    FOREIGN_KEY_VARIABLE,
    FOREIGN_URL_VARIABLE,
    KEY_VARIABLE,
    KEYS,
    cache_folder,
)
from mcpg.cli.settings import Settings
from mcpg.errors import Code, Diagnostic, UsageError, warning
from mcpg.plugins.hooks import Service, ServiceRequest
from mcpg.plugins.registry import load_reference, own_items

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    # A service that no setting names is not imported.
    from mcpg.embeddings.provider import EmbeddingKey, EmbeddingProvider, EmbeddingStore
    from mcpg.enrich.chat import ChatWriter
    from mcpg.llm import Reranker, Rewriter
    from mcpg.net.http import Budget
    from mcpg.search.caches import SearchCache
    from mcpg.search.observer import Observer


class LazyStore:
    """Delays opening a store that most runs never read, because vectors are beside the bundle.

    An error from opening it is raised by every call.
    """

    def __init__(self, make: Callable[[], EmbeddingStore]) -> None:
        from threading import Lock  # noqa: PLC0415 - most runs have no store

        self._make = make
        self._lock = Lock()
        self._made: EmbeddingStore | None = None

    def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, NDArray[np.float32]]:
        return self._store().get(keys)

    def put(self, entries: Mapping[EmbeddingKey, NDArray[np.float32]]) -> None:
        self._store().put(entries)

    def close(self) -> None:
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            made.close()

    def _store(self) -> EmbeddingStore:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


STORE_FILE = "embeddings.sqlite"
"""Name of the store of vectors in the cache folder."""

LOCAL = "local"
NONE = "none"
POSTGRES = "postgres"
_ENDPOINT = "openai"
_TELEMETRY = "opentelemetry"
_GRAPH = ("graph", "markdown-ld")
_USUAL_URL = "https://api.openai.com/v1"


class ServiceFactory:
    """Makes the services that the settings name, each once and only when it is requested."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.request = ServiceRequest(settings.environment, self._value)

    @property
    def needs_vectors(self) -> bool:
        found = (self._settings.find(name) for name in ("strategy", "ask.strategy"))
        return any(one is not None and one.value not in _GRAPH for one in found)

    @property
    def is_rewriting(self) -> bool:
        return bool(self._value("rewrite.enabled", default=False))

    @property
    def is_reranking(self) -> bool:
        return bool(self._value("rerank.enabled", default=False))

    @property
    def is_telling(self) -> bool:
        return bool(self._value("telemetry.enabled", default=False))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for `mcpg.load` by name."""
        given: dict[str, Any] = {"embeddings": None}
        if self.needs_vectors:
            given |= {"embeddings": self.embedder(), "store": self.store()}
        if self.is_rewriting:
            given["rewriter"] = self.rewriter()
        if self.is_reranking:
            given["reranker"] = self.reranker()
        if self.needs_vectors or self.is_rewriting:
            # A process that searches once by the graph is done before a cache is reached.
            given["cache"] = self.cache()
        if self._value("candidates", default=LOCAL) == POSTGRES:
            given["candidates"] = self.make("candidates", POSTGRES)
        if self.is_telling:
            given["observer"] = self.observer()
        return given

    def embedder(self) -> EmbeddingProvider | str | None:
        """Return the embedding provider, or the name of a provider that is made when needed."""
        found = self._settings.find("embeddings.provider")
        spec = str(found.value).strip() if found else LOCAL
        kind, _, model = spec.partition(":")
        if spec == NONE:
            return None
        if kind != _ENDPOINT:
            return spec
        if not model:
            message = f"{_ENDPOINT!r} names no model"
            remedy = f"add its name, as in {_ENDPOINT}:text-embedding-3-small"
            raise UsageError(message, place=found.origin if found else None, remedy=remedy)
        from mcpg.embeddings.http import BUDGET, HttpEmbeddings  # noqa: PLC0415 - as above

        url, key = self._address("embeddings.url")
        return HttpEmbeddings(
            url,
            model,
            key=key,
            dimensions=self._value("embeddings.dimensions"),
            budget=self._budget("embeddings.timeout", BUDGET),
        )

    def provider(self) -> EmbeddingProvider | None:
        embedder = self.embedder()
        if embedder is None:
            return None
        from mcpg.embeddings.provider import need_numpy  # noqa: PLC0415 - graph searches need none

        if not isinstance(embedder, str):
            need_numpy("llm")
            return embedder
        from mcpg.embeddings import make_provider  # noqa: PLC0415 - as above

        return make_provider(embedder)

    def store(self) -> EmbeddingStore | None:
        """Return the vector store: a file in the cache folder, unless set otherwise."""
        kind = self._value("store.kind", default="sqlite")
        if kind == "memory":
            from mcpg.embeddings.provider import MemoryStore  # noqa: PLC0415 - as above

            return MemoryStore()
        if kind == POSTGRES:
            made: EmbeddingStore = self.make("store", kind)
            return made
        path = self.store_path() if kind == "sqlite" else None
        if not path:
            return None

        def open_store() -> EmbeddingStore:
            from mcpg.embeddings.sqlite_store import SqliteStore  # noqa: PLC0415 - as above

            return SqliteStore(path)

        return LazyStore(open_store)

    def store_path(self) -> str | None:
        named = self._value("store.path")
        folder = cache_folder()
        return named or (os.path.join(folder, STORE_FILE) if folder else None)  # noqa: PTH118

    def cache(self) -> SearchCache | None:
        """Return the search cache: nothing, unless set otherwise."""
        kind = self._value("cache.kind", default=NONE)
        if kind == NONE:
            return None
        names = {"entries": "entries", "absolute": "max_age", "sliding": "idle_timeout"}
        bounds = {name: self._value(f"cache.{key}") for name, key in names.items()}
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        if kind == POSTGRES:
            made: SearchCache = self.make("cache", kind, **given)
            return made
        from mcpg.search.caches import MemoryCache  # noqa: PLC0415 - as above

        return MemoryCache(**given)

    def rewriter(self) -> Rewriter | None:
        """Return the query rewriter, `None` if no model is set."""
        model = self._value("rewrite.model")
        if model is None:
            return None
        from mcpg.llm import BUDGET, ChatRewriter  # noqa: PLC0415 - as above

        url, key = self._address("rewrite.url")
        budget = self._budget("rewrite.timeout", BUDGET)
        return ChatRewriter(url, model, key=key, budget=budget)

    def reranker(self) -> Reranker | None:
        """Return the reranker of matches, `None` if no model is set."""
        model = self._value("rerank.model") or self._value("rewrite.model")
        if model is None:
            return None
        from mcpg.llm import BUDGET, ChatReranker  # noqa: PLC0415 - as above

        url, key = self._address("rewrite.url")
        budget = self._budget("rewrite.timeout", BUDGET)
        return ChatReranker(url, model, key=key, budget=budget)

    def text_writer(self) -> ChatWriter | None:
        """Return the model that writes texts for tools, `None` if none is set."""
        model = self._value("enrich.model") or self._value("rewrite.model")
        if model is None:
            return None
        from mcpg.enrich.chat import BUDGET, ChatWriter  # noqa: PLC0415 - as above

        is_own = self._settings.find("enrich.url") is not None
        url, key = self._address("enrich.url" if is_own else "rewrite.url")
        return ChatWriter(url, model, key=key, budget=self._budget("enrich.timeout", BUDGET))

    def observer(self) -> Observer | None:
        """Return the OpenTelemetry observer, `None` if it is not enabled or not installed."""
        if not self.is_telling:
            return None
        made: Observer | None = self.make("observer", _TELEMETRY)
        return made

    def find_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return diagnostics of settings that cannot be met and are ignored."""
        if not self.is_telling:
            return ()
        if load_reference(_find_service("observer", _TELEMETRY).is_installed)():
            return ()
        message = "telemetry is enabled, and the API of OpenTelemetry is not installed"
        return (warning(Code.TELEMETRY_MISSING, message),)

    def make(self, role: str, name: str, **options: Any) -> Any:
        return load_reference(_find_service(role, name).make)(self.request, **options)

    def _address(self, name: str) -> tuple[str, str | None]:
        """Return the address in the setting *name*, and the key for it.

        The key that other programs also use goes only to an address from the environment, so that a
        configuration file in a foreign repository cannot send it elsewhere.
        """
        environment, variable = self._settings.environment, KEYS[name].variable
        own, foreign = environment.get(KEY_VARIABLE), environment.get(FOREIGN_KEY_VARIABLE)
        found = self._settings.find(name)
        if found is not None:
            from mcpg.net.addresses import parse_address  # noqa: PLC0415 - as above

            try:
                parse_address(str(found.value))
            except UsageError as fault:
                raise UsageError(fault.message, place=found.origin, remedy=fault.remedy) from None
            key = own or (foreign if found.origin == variable else None)
            return str(found.value), key or None
        url, key = environment.get(FOREIGN_URL_VARIABLE), own or foreign
        if not (url or key):
            raise UsageError(
                "no address of an endpoint is set",
                place=variable,
                remedy=f"set {variable} or the key {name!r}; for the endpoint of OpenAI, "
                f"{KEY_VARIABLE} is enough",
            )
        return url or _USUAL_URL, key or None

    def _budget(self, name: str, usual: Budget) -> Budget:
        """Return the *usual* budget, limited to the seconds in the setting *name*."""
        seconds = self._value(name)
        if seconds is None:
            return usual
        from dataclasses import replace  # noqa: PLC0415 - as above

        return replace(usual, connect=min(usual.connect, seconds), read=seconds, total=seconds)

    def _value(self, name: str, default: Any = None) -> Any:
        found = self._settings.find(name)
        return default if found is None else found.value


def _find_service(role: str, name: str) -> Service:
    return next(one for one in own_items(Service) if (one.role, one.name) == (role, name))
