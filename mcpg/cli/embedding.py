"""The work of `mcpg bundle --embed`: vectors of a bundle are made, kept and found fresh."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpg.cli.environment import cache_folder
from mcpg.cli.output import Output
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.documents.model import ToolDocument
from mcpg.embeddings.provider import EmbeddingProvider, EmbeddingStore
from mcpg.errors import Diagnostic, OutputError, UsageError
from mcpg.index.file import cached_path
from mcpg.search.observer import Observer
from mcpg.search.telemetry import observe_vectors
from mcpg.values import format_count
from mcpg.vectors import SUFFIX
from mcpg.vectors.build import BuiltVectors, vectors_for
from mcpg.vectors.file import VectorFiles, find_vectors, pack_vectors, write_vectors
from mcpg.vectors.matrix import FEWEST, FLOAT32, ToolVectors, with_clusters
from mcpg.vectors.matrix import SUFFIX as CLUSTERS_SUFFIX


@dataclass(frozen=True, slots=True)
class EmbeddingSetup:
    """How vectors are made.

    Attributes:
        store: Keeps them between runs, `None` for no store.
    """

    provider: EmbeddingProvider
    store: EmbeddingStore | None
    kind: str
    observer: Observer | None = None

    def close(self) -> None:
        if self.store is not None:
            self.store.close()


@dataclass(frozen=True, slots=True)
class VectorTarget:
    """A bundle that needs vectors.

    Attributes:
        key: SHA-256 of its bytes.
    """

    path: str
    key: bytes
    tools: int

    @property
    def places(self) -> list[str]:
        """The places for its vectors: beside it, or in the cache folder."""
        folder = cache_folder()
        beside = self.path + SUFFIX
        return [beside, cached_path(self.path, folder, SUFFIX)] if folder else [beside]

    @property
    def home(self) -> str:
        """The place to write them: beside the bundle, if that is writable."""
        beside = Path(self.places[0])
        return self.places[0 if os.access(beside.parent, os.W_OK) and not beside.is_dir() else -1]


@dataclass(frozen=True, slots=True)
class EmbeddingOutcome:
    """The result of embedding.

    Attributes:
        missing: How many tools have no vector.
    """

    facts: Mapping[str, Any]
    missing: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def facts_text(self) -> str:
        texts, vectors = self.facts["embedded"], self.facts["reused"]
        written = "; wrote its vectors" if self.facts["vectorsWritten"] else ""
        embedded, reused = format_count(texts, "tool"), format_count(vectors, "vector")
        return f"; embedded {embedded}, reused {reused}{written}"


def embedding_by(settings: Settings, kind: str) -> EmbeddingSetup:
    """Return how the provider that *settings* name makes vectors, and the place to keep them."""
    factory = ServiceFactory(settings)
    provider = factory.provider()
    if provider is None:
        raise UsageError(
            "no embedding provider is selected",
            place="--embed",
            remedy="name one with --embed-with, or leave out --embed",
        )
    return EmbeddingSetup(provider, factory.store(), kind, factory.observer())


def embed(
    target: VectorTarget,
    documents: Callable[[], Iterable[ToolDocument]],
    embedding: EmbeddingSetup,
    output: Output,
) -> EmbeddingOutcome:
    """Bring the vectors of the bundle *target* up to date, embedding no text that has one."""
    found = find_vectors(target.places, target.key, target.tools, embedding.provider)
    if found.file and not _faults(found, target, embedding.kind):
        _make_clusters(target, found.file.vectors, output)
        return _result(embedding, 0, target.tools)
    known = found.file
    if known and known.vectors.stored.kind not in {embedding.kind, FLOAT32}:
        known = None  # it is less precise than needed
    with output.counting("embedding") as tell, closing(embedding):

        def build() -> BuiltVectors:
            store, given = embedding.store, documents()
            return vectors_for(
                given, embedding.provider, store=store, known=known, on_progress=tell
            )

        observer = embedding.observer
        built = observe_vectors(observer, build) if observer else build()
    output.diagnostics(built.diagnostics)
    is_written = False
    if not built.vectors.missing == len(built.vectors) > 0:
        data = pack_vectors(built.vectors, built.hashes, target.key, embedding.kind)
        first, *others = target.places
        try:
            is_written = write_vectors(first, data)
        except OutputError:
            if not others:
                raise
            is_written = write_vectors(others[0], data)
    _make_clusters(target, built.vectors, output)
    return _result(embedding, built.embedded, built.reused, is_written, built)


def staleness(target: VectorTarget, embedding: EmbeddingSetup) -> list[str]:
    """Return the reasons why the vectors of the bundle *target* are stale."""
    found = find_vectors(target.places, target.key, target.tools, embedding.provider)
    return _faults(found, target, embedding.kind)


def _faults(found: VectorFiles, target: VectorTarget, kind: str) -> list[str]:
    """Return why the vectors that were *found* have to be written anew, if they have to."""
    reasons = [one.message for one in found.diagnostics]
    if found.file is None:
        return reasons or ["no vectors"]
    if not found.is_fresh:
        return [*reasons, "the vectors are out of date"]
    if found.path != target.home:
        return reasons or [f"the vectors at {target.home} are missing or out of date"]
    kept = found.file.vectors.stored.kind
    return [] if kept == kind else [f"the vectors are kept as {kept}, not as {kind}"]


def _make_clusters(target: VectorTarget, vectors: ToolVectors, output: Output) -> None:
    folder = cache_folder()
    if folder and len(vectors) >= FEWEST:
        with output.progress("putting vectors into clusters"):
            path = cached_path(target.path, folder, SUFFIX) + CLUSTERS_SUFFIX
            with_clusters(vectors, target.key, path, make=True)


def _result(
    embedding: EmbeddingSetup,
    embedded: int,
    reused: int,
    is_written: bool = False,
    built: BuiltVectors | None = None,
) -> EmbeddingOutcome:
    facts = {
        "embedded": embedded,
        "reused": reused,
        "vectorsWritten": is_written,
        "fingerprint": embedding.provider.fingerprint,
    }
    if built is None:
        return EmbeddingOutcome(facts)
    return EmbeddingOutcome(facts, built.vectors.missing, built.diagnostics)
