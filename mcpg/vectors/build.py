"""Vectors of tools: the texts that are embedded, and the embedding, batch by batch.

Known vectors are reused. Each tool has a few lines of text, the most important first, each within a
budget of characters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mcpg.catalog.model import Tool, walk_parameters
from mcpg.documents.model import ToolDocument
from mcpg.embeddings.provider import (
    KINDS_OF_TEXTS,
    EmbeddingError,
    EmbeddingKey,
    EmbeddingProvider,
    EmbeddingStore,
    embed_texts,
)
from mcpg.errors import Code, Diagnostic, McpgError, warning
from mcpg.text import split_words
from mcpg.text.safeyaml import UNSAFE
from mcpg.values import format_count
from mcpg.vectors import RECIPE
from mcpg.vectors.matrix import ToolVectors

Vector: TypeAlias = NDArray[np.float32]

WEIGHTS = (1.0, 1.0, 0.5)
"""What the whole text of a tool, its names, and its description weigh in its vector."""

GENERATED_WEIGHT = 2.5
"""What the mean of the vectors of its generated texts weighs: as much as these together."""

MOST_GENERATED = 8
"""How many generated texts of a tool have a part in its vector."""

_MOST_PARAMETERS = 24
_MOST_EXAMPLES = 8

# The most characters of each part. Models read some 250 to 500 tokens and drop the rest, so a long
# description must leave room for what follows it.
_NAMES, _DESCRIPTION, _LABELS = 160, 600, 200
_PARAMETERS, _PARAMETER, _EXAMPLES, _EXAMPLE, _BODY = 360, 80, 240, 120, 200


def embedding_texts(document: ToolDocument) -> tuple[str, ...]:
    """Return the texts whose vectors, by `text_weights`, make the vector of *document*'s tool.

    These are its whole text, its names, and its description; a missing text is replaced by its
    names, or else its whole text. In the vector of one long text, the few words on the purpose of a
    tool weigh little beside its parameters; the mean over texts of different breadth keeps both.
    Generated texts follow separately: aliases and examples in turn.
    """
    whole = embedding_text(document)
    names = _join_names(document.tool) or whole
    own = whole, names, _cut(document.tool.description, _DESCRIPTION) or names
    generated = document.tool.generated
    pairs = zip_longest(generated.aliases, (one.input for one in generated.examples))
    lines = (_cut(text, _EXAMPLE) for pair in pairs for text in pair if text)
    return *own, *islice(filter(None, lines), MOST_GENERATED)


def text_weights(count: int) -> tuple[float, ...]:
    """Return what each of *count* texts of a tool weighs in its vector."""
    generated = count - len(WEIGHTS)
    return *WEIGHTS[:count], *[GENERATED_WEIGHT / generated for _ in range(generated)]


def hash_texts(texts: tuple[str, ...]) -> str:
    """Return the hash of *texts*, the key of their vector, in hexadecimal."""
    text = "\0".join((str(RECIPE), *texts))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def embedding_text(document: ToolDocument) -> str:
    r"""Describe what the tool of *document* does, for an embedding model: lines joined by `\n`.

    Names come first, then the description, aliases, keywords and categories, what the tool takes,
    what people ask it, and what its author wrote about it. Each has a budget, so that no long part
    displaces the others. The text is the same on every platform, and never empty.
    """
    tool, hints = document.tool, document.tool.hints
    parameters = []
    for one in walk_parameters(tool.input_schema, max_depth=2, max_parameters=_MOST_PARAMETERS):
        name = " ".join(split_words(one.path))
        described = f"{name}: {one.description}" if one.description else name
        parameters.append(_cut(described, _PARAMETER))
    labels = hints.aliases, hints.keywords, (*hints.categories, *hints.tags)
    examples = (_cut(one.input, _EXAMPLE) for one in hints.examples[:_MOST_EXAMPLES])
    parts = (
        _join_names(tool),
        _cut(tool.description, _DESCRIPTION),
        *(_cut(", ".join(labels), _LABELS) for labels in labels),
        _cut("; ".join(parameters), _PARAMETERS),
        _cut("; ".join(examples), _EXAMPLES),
        _cut(document.body, _BODY),
    )
    return "\n".join(part for part in parts if part) or _plain(tool.source_id) or tool.id


def _join_names(tool: Tool) -> str:
    spoken, shown = " ".join(split_words(tool.name)), _plain(tool.display_name)
    names = [shown, spoken] if spoken != shown.lower() else [shown]
    if tool.display_name == tool.name:
        names = [spoken or shown]
    return _cut(". ".join(names), _NAMES)


def _plain(text: str) -> str:
    return " ".join(UNSAFE.sub(" ", text).split())


def _cut(text: str, budget: int) -> str:
    # Text far beyond the budget is dropped before cleaning.
    line = _plain(text[: 4 * budget])
    if len(line) <= budget:
        return line
    start, space, _ = line[: budget + 1].rpartition(" ")
    return start if space and len(start) > budget // 2 else line[:budget]


BATCH = 64
"""For how many tools texts are embedded, and vectors put into the store, at a time."""

# No text is to blame for these. For all others one may be, if a harmless text is still embedded.
_KINDS_OF_PROVIDERS = frozenset({"missing", "timeout", "dimensions"})
_HARMLESS = "tool"
_LENGTH_TOLERANCE = 1e-3
_NO_DIRECTION = 1e-3


class PreviousVectors(Protocol):
    """Vectors from an earlier run."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of their provider."""

    def find(self, document_hash: str) -> Vector | None:
        """Return the vector of the text with that hash, `None` if it is not known."""


@dataclass(frozen=True, slots=True)
class BuiltVectors:
    """Vectors, and how they were obtained.

    Attributes:
        vectors: The vectors, tools in order of their ids.
        hashes: The hash of each tool's texts, in the same order.
        reused: How many tools had a known or stored vector.
        diagnostics: The failures; all other vectors are present.
        outage: Why the provider was abandoned before all texts were embedded, if it was.
    """

    vectors: ToolVectors
    hashes: tuple[str, ...]
    embedded: int
    reused: int
    diagnostics: tuple[Diagnostic, ...] = ()
    outage: EmbeddingError | None = None
    _numbers: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        return self.vectors.fingerprint

    def find(self, document_hash: str) -> Vector | None:
        if not self._numbers:
            self._numbers.update((key, number) for number, key in enumerate(self.hashes))
        number = self._numbers.get(document_hash)
        return None if number is None else self.vectors.vector(number)


def vectors_for(
    documents: Iterable[ToolDocument],
    provider: EmbeddingProvider,
    *,
    store: EmbeddingStore | None = None,
    known: PreviousVectors | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> BuiltVectors:
    """Return a vector for each of *documents*, embedding only texts without a known vector.

    Each batch is stored at once, so an interrupt costs one batch at most. Of processes that share a
    store with a lock, one embeds, and the others use its vectors. Their order does not matter.
    *store* keeps vectors beyond this run, *known* has those of an earlier one, of which a foreign
    fingerprint is ignored. *on_progress* is called with the numbers of embedded tools, and of tools
    to embed.
    """
    texts = {one.tool.id: embedding_texts(one) for one in documents}
    return embed_items(texts, provider, store=store, known=known, on_progress=on_progress)


def embed_items(
    texts: Mapping[str, tuple[str, ...]],
    provider: EmbeddingProvider,
    *,
    store: EmbeddingStore | None = None,
    known: PreviousVectors | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> BuiltVectors:
    """Return a vector for each item of *texts*, which has its texts by id, as `vectors_for` does.

    The vectors are in the order of the ids.
    """
    work = _EmbeddingRun(texts, provider, known, on_progress)
    work.take_stored(store)
    with work.turn(store):
        work.embed(store)
    return work.collect_vectors()


@dataclass(slots=True)
class _ToolTexts:
    texts: tuple[str, ...]
    tools: list[str] = field(default_factory=list)


class _EmbeddingRun:
    def __init__(
        self,
        texts: Mapping[str, tuple[str, ...]],
        provider: EmbeddingProvider,
        known: PreviousVectors | None,
        on_progress: Callable[[int, int], None] | None,
    ) -> None:
        self._provider = provider
        self._fingerprint = provider.fingerprint
        self._dimensions = provider.dimensions
        self._on_progress = on_progress or (lambda _done, _of: None)
        self._texts: dict[str, _ToolTexts] = {}
        self._hashes: list[str] = []
        for item in sorted(texts):
            key = hash_texts(texts[item])
            self._texts.setdefault(key, _ToolTexts(texts[item])).tools.append(item)
            self._hashes.append(key)
        self._found: dict[str, Vector] = {}
        self._fresh: set[str] = set()
        self._fault: EmbeddingError | None = None
        self._outage: EmbeddingError | None = None
        self._is_alive = False
        self._diagnostics: list[Diagnostic] = []
        if known is not None and known.fingerprint == self._fingerprint:
            for key in self._texts:
                self._take(key, known.find(key))

    def take_stored(self, store: EmbeddingStore | None) -> None:
        wanted = list(self._missing())
        if store is None or not wanted:
            return
        keys = [key for one in wanted for key in self._keys(one)]
        try:
            found = store.get(keys)
            refused = 0
            for key in keys:
                if key.document_hash not in self._found:
                    vector = found.get(key)
                    refused += not self._take(key.document_hash, vector) and vector is not None
            if refused:
                what = f"{format_count(refused, 'vector')} of the store cannot be used"
                message = f"{what}: not of length one, or of other dimensions"
                self._diagnostics.append(warning(Code.EMBEDDING_STORE_LOAD_FAILED, message))
        except Exception as fault:  # noqa: BLE001 - a store may raise whatever it likes
            self._notice(Code.EMBEDDING_STORE_LOAD_FAILED, "nothing is taken from the store", fault)

    @contextmanager
    def turn(self, store: EmbeddingStore | None) -> Iterator[None]:
        """Wait while another process embeds for the same *store*, and use its vectors."""
        held = ExitStack()
        try:
            building = getattr(store, "building", None)
            if building is not None and not self._diagnostics and any(self._missing()):
                held.enter_context(building(self._fingerprint))
                self.take_stored(store)
        except Exception as fault:  # noqa: BLE001 - as above
            self._notice(Code.EMBEDDING_STORE_LOAD_FAILED, "not waiting for other processes", fault)
        try:
            yield
        finally:
            try:
                held.close()
            except Exception as fault:  # noqa: BLE001 - as above
                self._notice(Code.EMBEDDING_STORE_LOAD_FAILED, "the turn did not end well", fault)

    def embed(self, store: EmbeddingStore | None) -> None:
        """Embed the rest, and put it into the *store*, batch by batch."""
        wanted, done = list(self._missing()), 0
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            try:
                self._embed(batch)
            except EmbeddingError as fault:
                self._outage = self._fault = fault
            made = {key: self._found[key] for key in batch if key in self._found}
            done += len(made)
            store = self._store_vectors(store, made)
            self._on_progress(done, len(wanted))
            if self._outage is None and not (self._found or self._is_alive):
                with suppress(EmbeddingError):
                    embed_texts(self._provider, [_HARMLESS])
                    self._is_alive = True
            if self._outage is not None or not (self._found or self._is_alive):
                break
        if self._fault is not None:
            lacking = sum(len(self._texts[key].tools) for key in self._missing())
            what = f"{lacking:,} of {len(self._hashes):,} tools have no vector"
            is_count = self._fault.kind == "count"
            code = Code.EMBEDDING_COUNT_MISMATCH if is_count else Code.EMBEDDING_FAILED
            if lacking:
                self._notice(code, what, self._fault)

    def collect_vectors(self) -> BuiltVectors:
        found = [self._found.get(key) for key in self._hashes]
        return BuiltVectors(
            vectors=ToolVectors.from_rows(found, self._fingerprint),
            hashes=tuple(self._hashes),
            embedded=len(self._fresh),
            reused=sum(key in self._found and key not in self._fresh for key in self._hashes),
            diagnostics=tuple(self._diagnostics),
            outage=self._outage,
        )

    def _missing(self) -> Iterator[str]:
        return (key for key in self._texts if key not in self._found)

    def _keys(self, key: str) -> list[EmbeddingKey]:
        return [EmbeddingKey(tool, key, self._fingerprint) for tool in self._texts[key].tools]

    def _take(self, key: str, vector: Vector | None) -> bool:
        """Keep a *vector* that can be compared with the others; return whether it can."""
        if vector is None or vector.ndim != 1 or len(vector) != (self._dimensions or len(vector)):
            return False
        if not abs(float(np.linalg.norm(vector)) - 1) <= _LENGTH_TOLERANCE:
            return False
        self._found[key] = vector
        self._dimensions = len(vector)
        return True

    def _embed(self, batch: Sequence[str]) -> None:
        """Embed the texts of a *batch*; a text that cannot be embedded does not affect others.

        An `EmbeddingError` is raised if the provider failed for any text.
        """
        try:
            made = self._embed_batch(batch)
        except EmbeddingError as fault:
            if fault.kind in _KINDS_OF_PROVIDERS:
                raise
            if fault.kind not in KINDS_OF_TEXTS:
                try:
                    embed_texts(self._provider, [_HARMLESS])
                except EmbeddingError as again:
                    if again.kind not in KINDS_OF_TEXTS:
                        raise fault from None
                self._is_alive = True
            self._fault = self._fault or fault
            half = len(batch) // 2
            for part in (batch[:half], batch[half:]) if half else ():
                self._embed(part)
        else:
            self._fresh |= made.keys()
            self._found |= made

    def _embed_batch(self, batch: Sequence[str]) -> dict[str, Vector]:
        """Return the weighted means of the vectors of each tool's texts, scaled to length one."""
        given = [text for key in batch for text in self._texts[key].texts]
        once = {text: number for number, text in enumerate(dict.fromkeys(given))}
        # A tool is embedded by itself after a batch has failed, then text by text.
        size = len(once) if len(batch) > 1 else 1
        rows = embed_texts(self._provider, list(once), batch=size)
        if self._dimensions not in (None, rows.shape[1]):
            message = f"the vectors have {rows.shape[1]} dimensions, not {self._dimensions}"
            raise EmbeddingError(message, kind="dimensions")
        self._dimensions = rows.shape[1]
        made: dict[str, Vector] = {}
        for key in batch:
            own = rows[[once[text] for text in self._texts[key].texts]]
            mean = np.asarray(text_weights(len(own)), dtype=np.float32) @ own
            length = np.linalg.norm(mean)
            # Vectors that point against each other have no mean direction; then the whole text
            # decides.
            direction = mean / length if length > _NO_DIRECTION else own[0]
            made[key] = np.asarray(direction, dtype=np.float32)
        return made

    def _store_vectors(
        self, store: EmbeddingStore | None, made: Mapping[str, Vector]
    ) -> EmbeddingStore | None:
        """Put the vectors *made* into the *store*; a store that fails is not used again."""
        entries = {key: row for one, row in made.items() for key in self._keys(one)}
        if store is None or not entries:
            return store
        try:
            store.put(entries)
        except Exception as fault:  # noqa: BLE001 - as above
            self._notice(Code.EMBEDDING_STORE_SAVE_FAILED, "vectors are not kept", fault)
            return None
        return store

    def _notice(self, code: str, what: str, fault: Exception) -> None:
        # An error of a store may contain a password, so only its type is reported.
        reason, place = type(fault).__name__, None
        if isinstance(fault, McpgError):
            reason, place = fault.message, fault.place
        self._diagnostics.append(warning(code, f"{what}: {reason}", place))
