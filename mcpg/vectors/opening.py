"""From a bundle to its vectors: a file that fits is mapped, what it lacks is made."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.diagnostics import Code, Diagnostic, info, warning
from mcpg.errors import OutputError
from mcpg.vectors.approximate import SUFFIX as CLUSTERS_SUFFIX
from mcpg.vectors.approximate import with_clusters
from mcpg.vectors.build import Built, vectors_for
from mcpg.vectors.file import (
    NO_KEY,
    NoVectorsError,
    UnusableVectorsError,
    open_vectors,
    pack_vectors,
    write_vectors,
)
from mcpg.vectors.texts import RECIPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcpg.documents.model import ToolDocument
    from mcpg.embeddings.provider import EmbeddingProvider
    from mcpg.embeddings.stores.protocol import EmbeddingStore
    from mcpg.vectors.build import Known
    from mcpg.vectors.file import VectorFile


@dataclass(frozen=True, slots=True)
class Found:
    """What the files of vectors of a bundle have to offer.

    Attributes:
        file: The first that the provider made, `None` for none.
        path: Where it stands.
        is_fresh: Whether it has just the vectors of the bundle.
        diagnostics: Files that cannot be used, and why.
    """

    file: VectorFile | None = None
    path: str | None = None
    is_fresh: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


def find_vectors(
    places: Iterable[str], key: bytes, tools: int, provider: EmbeddingProvider
) -> Found:
    """Look for the vectors of a bundle.

    Args:
        places: The files that may hold them, the best first.
        key: SHA-256 of the bundle.
        tools: How many tools it has.
        provider: Who made them.
    """
    fingerprint, noticed, best = provider.fingerprint, [], Found()
    for path in places:
        try:
            file = open_vectors(path)
        except NoVectorsError:
            continue
        except UnusableVectorsError as fault:
            noticed.append(warning(Code.VECTORS_IGNORED, f"the file of vectors: {fault}", path))
            continue
        if file.is_fresh(key, tools, fingerprint) and _may_be_of(file, provider):
            return Found(file, path, is_fresh=True)
        reason = _unusable(file, provider)
        if reason:
            noticed.append(info(Code.VECTORS_IGNORED, f"the file of vectors: {reason}", path))
        elif best.file is None:
            best = Found(file, path)
    return replace(best, diagnostics=tuple(noticed))


def vectors_of(
    places: Sequence[str],
    documents: Callable[[], Iterable[ToolDocument]],
    provider: EmbeddingProvider,
    *,
    key: bytes = NO_KEY,
    tools: int,
    store: EmbeddingStore | None = None,
    known: Known | None = None,
    keep_at: str | None = None,
) -> Built:
    """Give the vectors of a bundle: those of its file if it fits, else made with what it has.

    Args:
        places: The files that may hold them, the best first.
        documents: Gives the documents of the bundle; asked only when no file fits.
        provider: Who makes the vectors.
        key: SHA-256 of the bundle, `NO_KEY` when there is none.
        tools: How many tools it has.
        store: Keeps vectors beyond this run.
        known: Vectors that were made before, instead of those of a file that does not fit.
        keep_at: The file to write when vectors had to be made, in a folder of the user's own;
            nothing happens if it cannot be written. Beside it may lie the clusters through
            which those of a large catalogue are found.
    """
    found = find_vectors(places, key, tools, provider)
    if found.file is not None and found.is_fresh:
        vectors = found.file.vectors
        if keep_at is not None:
            vectors = with_clusters(vectors, key, keep_at + CLUSTERS_SUFFIX)
        return Built(vectors, (), 0, tools)
    built = vectors_for(documents(), provider, store=store, known=known or found.file)
    if keep_at is not None and key != NO_KEY and built.vectors.dimensions:
        # Those with a gap are never fresh, but whoever asks next has the others from there.
        with suppress(OutputError):
            write_vectors(keep_at, pack_vectors(built.vectors, built.hashes, key))
    stale = _stale(found, built) if built.embedded else ()
    return replace(built, diagnostics=(*found.diagnostics, *stale, *built.diagnostics))


def _unusable(file: VectorFile, provider: EmbeddingProvider) -> str:
    """Say why no vector of *file* can be used, "" if some may be."""
    if file.fingerprint != provider.fingerprint:
        return f"it was made by {file.fingerprint}, not by {provider.fingerprint}"
    if not _may_be_of(file, provider):
        return f"its vectors have {file.vectors.dimensions} dimensions"
    return "" if file.recipe == RECIPE else "it was made by another version of mcpg"


def _may_be_of(file: VectorFile, provider: EmbeddingProvider) -> bool:
    return provider.dimensions in {None, file.vectors.dimensions}


def _stale(found: Found, built: Built) -> tuple[Diagnostic, ...]:
    if found.file is None:
        return ()
    message = f"the file of vectors is out of date: {built.embedded:,} texts were embedded now"
    return (info(Code.VECTORS_STALE, message, found.path),)
