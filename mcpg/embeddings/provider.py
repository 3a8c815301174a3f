"""The protocol of embedding providers, checks of their results, and token counts.

A provider may be a local model, a server, or a function of the host. Providers are untrusted: their
results are counted, checked and scaled here before use. Token counts belong to a thread or task, so
that concurrent searches do not mix them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from mcpg.errors import McpgError
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


Vectors: TypeAlias = "NDArray[np.float32]"
OnBatch: TypeAlias = "Callable[[int, Vectors], None]"

EmbeddingFault = Literal[
    "missing", "failed", "timeout", "count", "empty", "nonfinite", "dimensions"
]
KINDS_OF_TEXTS = frozenset({"empty", "nonfinite"})
"""A provider that fails so is there; what it makes nothing of is the text."""

BATCH = 64
"""The number of texts per call of a provider."""

_REMEDIES: dict[EmbeddingFault, str] = {
    "missing": "install what it needs, or choose another provider",
    "failed": "check that the provider works, or choose another",
    "timeout": "retry, or raise the timeout",
    "count": "use a provider that returns one vector for each text",
    "empty": "use a provider that supports the language of the text",
    "nonfinite": "use a provider whose vectors are finite numbers",
    "dimensions": "use a provider whose vectors all have its declared dimensions",
}


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Makes vectors of texts, so that texts of similar meaning have vectors of similar direction.

    A provider whose model distinguishes queries from documents also has a method `embed_queries`,
    with the signature of `embed`.
    """

    @property
    def fingerprint(self) -> str:
        """The identity of the provider: kind, model, revision, dimensions, in one printable line.

        Vectors are compared only if their fingerprints are equal. It never contains a secret.
        """

    @property
    def dimensions(self) -> int | None:
        """How many numbers a vector has, `None` until the first answer if unknown."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each of *texts*, in shape `(len(texts), dimensions)`."""


class EmbeddingError(McpgError):
    """Texts could not be turned into vectors.

    Attributes:
        kind: `missing` (a package or model is not there), `failed`, `timeout`, `count` (not one
            vector for each text), `empty` (a vector of zeros, or of no length), `nonfinite`, or
            `dimensions` (vectors of another length than the others, or than the provider declares).
    """

    def __init__(
        self,
        message: str,
        *,
        kind: EmbeddingFault,
        place: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, place=place, remedy=remedy or _REMEDIES[kind])
        self.kind: EmbeddingFault = kind


def need_numpy(extra: str = "embeddings") -> None:
    """Raise `EmbeddingError` (`missing`) without numpy, which *extra* brings."""
    if find_spec("numpy") is None:
        raise EmbeddingError(
            "vectors need numpy, which is not installed",
            kind="missing",
            remedy=f"install it with: {install_command(extra)}",
        )


def embed_texts(
    provider: EmbeddingProvider,
    texts: Sequence[str],
    batch: int = BATCH,
    on_batch: OnBatch | None = None,
) -> Vectors:
    """Embed *texts* as documents, check every vector, and scale each to length one.

    Halves of surrogate pairs are replaced before the provider sees them. The provider is called
    with *batch* texts at a time, and after each call *on_batch* with the number of its first text
    and its rows, which must not be changed: to save them, or to show progress. The shape is
    `(len(texts), dimensions)`, and each row has length one.
    """
    import numpy as np  # noqa: PLC0415 - a plain search needs no vectors

    parts: list[Vectors] = []
    for start in range(0, len(texts), batch):
        rows = _ask(provider, "embed", texts[start : start + batch])
        if parts and rows.shape[1] != parts[0].shape[1]:
            due = parts[0].shape[1]
            what = f"returned vectors of {rows.shape[1]} dimensions instead of {due}"
            raise _fault(provider, "dimensions", what)
        parts.append(rows)
        if on_batch is not None:
            on_batch(start, rows)
    if not parts:
        return np.zeros((0, provider.dimensions or 0), dtype=np.float32)
    return np.concatenate(parts)


def embed_query(provider: EmbeddingProvider, text: str) -> Vectors:
    """Embed *text* as a question, as `embed_texts` does documents; shape `(dimensions,)`."""
    method = "embed_queries" if hasattr(provider, "embed_queries") else "embed"
    vector: Vectors = _ask(provider, method, [text])[0]
    return vector


def _ask(provider: EmbeddingProvider, method: str, texts: Sequence[str]) -> Vectors:
    try:
        answer = getattr(provider, method)(
            [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        )
    except Exception as fault:
        raise embedding_error(provider.fingerprint, fault) from fault
    return checked_rows(provider, answer, len(texts))


def embedding_error(fingerprint: str, fault: Exception) -> EmbeddingError:
    """Return what the provider with that *fingerprint* failed with as an `EmbeddingError`."""
    if isinstance(fault, EmbeddingError):
        return fault
    if isinstance(fault, TimeoutError):
        return EmbeddingError(f"{fingerprint} took too long", kind="timeout")
    if isinstance(fault, McpgError):
        return EmbeddingError(f"{fingerprint} failed: {fault.message}", kind="failed")
    # The text of any other error may contain a key, so that only its type is reported.
    return EmbeddingError(f"{fingerprint} failed with {type(fault).__name__}", kind="failed")


def checked_rows(provider: EmbeddingProvider, answer: Any, count: int) -> Vectors:
    """Check the vectors that *provider* made of *count* texts, and scale every row to length one.

    Rows that are missing, zero, unequal in length or not finite are an `EmbeddingError`.
    """
    import numpy as np  # noqa: PLC0415 - a plain search needs no vectors

    rows = _to_rows(provider, answer, count)
    if not np.isfinite(rows).all():
        number = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0]) + 1
        what = f"made a vector that is not finite of text {number} of {count}"
        raise _fault(provider, "nonfinite", what)
    # Scaled by its largest number first, a row can neither overflow nor vanish when it is squared.
    largest: NDArray[np.float64] = np.abs(rows).max(axis=1, keepdims=True)
    if not largest.all():
        number = int(np.flatnonzero(largest == 0)[0]) + 1
        raise _fault(provider, "empty", f"made a vector of zeros of text {number} of {count}")
    rows = rows / largest
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Vectors = rows.astype(np.float32)
    return scaled


def _to_rows(provider: EmbeddingProvider, answer: Any, count: int) -> NDArray[np.float64]:
    import numpy as np  # noqa: PLC0415 - a plain search needs no vectors

    try:
        given = len(answer)
    except Exception:  # noqa: BLE001 - an answer may be anything
        given = 0
    if given != count:
        raise _fault(provider, "count", f"returned {given} vectors for {count} texts")
    try:
        if np.iscomplexobj(answer):  # numpy converts them with a warning only
            raise TypeError("vectors of complex numbers")  # noqa: TRY301 - one of several ways
        rows = np.asarray(answer, dtype=np.float64)
    except Exception as fault:  # an array of another library may raise whatever it likes
        what = "returned vectors of different lengths, or no numbers"
        raise _fault(provider, "dimensions", what) from fault
    if rows.ndim != 2:  # noqa: PLR2004 - a matrix
        what = f"returned an array of {rows.ndim} dimensions, not a row a text"
        raise _fault(provider, "dimensions", what)
    if rows.shape[1] == 0:
        raise _fault(provider, "empty", "returned vectors of no length")
    if provider.dimensions not in {None, rows.shape[1]}:
        what = f"returned vectors of {rows.shape[1]} dimensions instead of {provider.dimensions}"
        raise _fault(provider, "dimensions", what)
    return rows


def _fault(provider: EmbeddingProvider, kind: EmbeddingFault, what: str) -> EmbeddingError:
    return EmbeddingError(f"{provider.fingerprint} {what}", kind=kind)


@dataclass(slots=True)
class TokenCount:
    """A count of reported tokens, `None` until a provider reports any."""

    total: int | None = None


_COUNTING: ContextVar[TokenCount | None] = ContextVar("mcpg tokens", default=None)


def count_tokens(count: int) -> None:
    """Report that vectors have used *count* tokens.

    A provider calls this while it makes them, in the calling thread, whether or not tokens are
    counted.
    """
    tokens = _COUNTING.get()
    if tokens is not None:
        tokens.total = (tokens.total or 0) + count


@contextmanager
def counted_tokens() -> Iterator[TokenCount]:
    """Count the tokens reported in this context; outer counters do not receive them."""
    tokens = TokenCount()
    before = _COUNTING.set(tokens)
    try:
        yield tokens
    finally:
        _COUNTING.reset(before)


class FunctionEmbeddings:
    """Vectors made by a function of the host.

    Args:
        function: Takes a list of texts and returns one vector for each: an array, or lists of
            numbers. It may be called from several threads at once if the engine is.
        fingerprint: The identity of the function, in one printable line. Change it whenever the
            function makes other vectors than before, because stored vectors are found by it.
        queries: The function for queries, if the model distinguishes them from documents.
        dimensions: How many numbers a vector has, if known beforehand; every answer is checked.
    """

    def __init__(
        self,
        function: Callable[[list[str]], ArrayLike],
        fingerprint: str,
        *,
        queries: Callable[[list[str]], ArrayLike] | None = None,
        dimensions: int | None = None,
    ) -> None:
        self._function = function
        self._queries = queries or function
        self.fingerprint = fingerprint
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        return to_array(self._function(list(texts)))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return to_array(self._queries(list(texts)))

    def __repr__(self) -> str:
        return f"FunctionEmbeddings({self.fingerprint!r})"


def to_array(answer: ArrayLike) -> Vectors:
    """Return the vectors of a provider as an array, still unchecked."""
    import numpy as np  # noqa: PLC0415 - a plain search needs no vectors

    if np.iscomplexobj(answer):
        raise TypeError("vectors of complex numbers")
    with np.errstate(over="ignore"):  # an infinite number is found when the answer is checked
        return np.asarray(answer, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class EmbeddingKey:
    """The key of a tool's vector: tool, hash of the embedded text, fingerprint of the provider.

    Upper and lower case of ids are the same. A lookup that names a fingerprint is never answered by
    the vector of another; one without it, by the vector that was written last.
    """

    tool_id: str
    document_hash: str
    fingerprint: str | None = None


class StoreError(McpgError):
    """An embedding store cannot be opened, read or written."""


@runtime_checkable
class EmbeddingStore(Protocol):
    """Stores the vectors of tools between builds.

    Several threads may use a store at once. Arrays are copied in and out, so changing one does not
    change the store.
    """

    def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, Vectors]:
        """Return the vectors of *keys* that are there.

        Raises:
            StoreError: The store cannot be read.
        """

    def put(self, entries: Mapping[EmbeddingKey, Vectors]) -> None:
        """Keep *entries*, all or none; each key names its fingerprint.

        Raises:
            StoreError: The store cannot be written, a key names no fingerprint, or a vector is
                not one row of finite numbers.
        """

    def close(self) -> None:
        """Release the resources of the store; closing twice is harmless."""


def key_parts(key: EmbeddingKey) -> tuple[str, str, str | None]:
    """Return tool id, document hash and fingerprint of *key* as they are compared.

    The id is in lower case, and what no database takes in a text (halves of surrogate pairs, NUL)
    is written as an escape.
    """
    maker = None if key.fingerprint is None else _escape(key.fingerprint)
    return _escape(key.tool_id.lower()), _escape(key.document_hash), maker


def written_parts(key: EmbeddingKey) -> tuple[str, str, str]:
    """Return the parts of *key* for writing."""
    tool_id, document_hash, maker = key_parts(key)
    if maker is None:
        raise StoreError(
            f"the vector of {tool_id!r} was given without a provider fingerprint",
            remedy="name the fingerprint of the provider in the key",
        )
    return tool_id, document_hash, maker


def own_copy(key: EmbeddingKey, vector: Vectors) -> Vectors:
    """Return a copy of *vector* for keeping, shape `(dimensions,)`, contiguous."""
    import numpy as np  # noqa: PLC0415 - a plain search needs no vectors

    try:
        with np.errstate(over="ignore"):
            copy = np.array(vector, dtype=np.float32, order="C")
    except (TypeError, ValueError):
        copy = np.zeros(0, dtype=np.float32)
    if copy.ndim != 1 or not copy.size or not np.isfinite(copy).all():
        raise StoreError(
            f"the value for {key_parts(key)[0]!r} is not a vector of finite numbers",
            remedy="store vectors that embed_texts has checked",
        )
    return copy


def _escape(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


MOST_KEPT = 8192
"""Default number of vectors in a store in memory."""


class MemoryStore:
    """Keeps vectors as long as the process lives, at most *limit* of them.

    When it is full, the vector that was written longest ago makes room.
    """

    def __init__(self, limit: int = MOST_KEPT) -> None:
        self._limit = limit
        self._kept: OrderedDict[tuple[str, str, str], Vectors] = OrderedDict()
        # The makers of each document's vectors, the last to write last.
        self._makers: dict[tuple[str, str], dict[str, None]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, Vectors]:
        found: dict[EmbeddingKey, Vectors] = {}
        with self._lock:
            for key in keys:
                tool_id, document_hash, maker = key_parts(key)
                if maker is None:
                    maker = next(reversed(self._makers.get((tool_id, document_hash), {})), "")
                vector = self._kept.get((tool_id, document_hash, maker))
                if vector is not None:
                    found[key] = vector.copy()
        return found

    def put(self, entries: Mapping[EmbeddingKey, Vectors]) -> None:
        copies = [(written_parts(key), own_copy(key, row)) for key, row in entries.items()]
        with self._lock:
            for place, vector in copies:
                self._kept[place] = vector
                self._kept.move_to_end(place)
                makers = self._makers.setdefault(place[:2], {})
                makers.pop(place[2], None)
                makers[place[2]] = None
            while len(self._kept) > self._limit:
                (tool_id, document_hash, maker), _ = self._kept.popitem(last=False)
                makers = self._makers[tool_id, document_hash]
                del makers[maker]
                if not makers:
                    del self._makers[tool_id, document_hash]

    def close(self) -> None:
        """Do nothing: memory is released with the store."""
