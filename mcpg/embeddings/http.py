"""Embeddings from an endpoint with the OpenAI API."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Any

from mcpg.embeddings.provider import EmbeddingError, Vectors, count_tokens
from mcpg.errors import UsageError
from mcpg.net.http import Budget, Endpoint, EndpointError, Usage, read_usage
from mcpg.text.json_values import JsonObject

BUDGET = Budget(connect=5.0, read=30.0, total=60.0, retries=4)
"""How long one batch may take."""

BATCH = 64
"""The most texts of one request."""

MOST_CHARACTERS = 100_000
"""The most characters of one request, about 25,000 tokens of English; one text may be longer."""

_LONGEST_ANSWER = 64 * 1024 * 1024
_MOST_DIMENSIONS = 65_536
_FLOAT_BYTES = 4


class HttpEmbeddings:
    """An embedding model behind an endpoint.

    Attributes:
        fingerprint: Endpoint without its query, model, and the requested dimensions.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        dimensions: int | None = None,
        batch: int = BATCH,
        budget: Budget = BUDGET,
        packed: bool = False,
        endpoint: Endpoint | None = None,
    ) -> None:
        """Prepare requests to *model*; nothing is sent yet.

        Args:
            url: The address above `/embeddings`, such as `https://api.openai.com/v1`.
            model: Name of the model.
            key: The API key, if needed.
            dimensions: Request vectors of so many numbers; not every model can shorten them.
            batch: The most texts of one request.
            budget: How long one request may take, with its retries.
            packed: Request vectors in base64, which are a quarter as long; not every server can.
            endpoint: An endpoint made by the caller, instead of one from *url*, *key* and *budget*.

        Raises:
            UsageError: *url*, *key*, *dimensions* or *batch* cannot be used.
        """
        if batch < 1 or not (dimensions is None or 0 < dimensions <= _MOST_DIMENSIONS):
            raise UsageError("a batch has at least one text, and a vector at least one dimension")
        self._endpoint = endpoint or Endpoint(
            url, key=key, budget=budget, longest_answer=_LONGEST_ANSWER
        )
        self._model = model
        self._asked = dimensions
        self.dimensions = dimensions
        asked = dimensions or "its own"
        self.fingerprint = f"openai {self._endpoint.display} {model} {asked} dimensions"
        self._batch = batch
        self._packed = packed

    def __repr__(self) -> str:
        return f"HttpEmbeddings({self._endpoint.display!r}, {self._model!r})"

    @property
    def usage(self) -> Usage:
        return self._endpoint.usage

    def close(self) -> None:
        self._endpoint.close()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each of *texts*, shape (texts, dimensions)."""
        import numpy as np  # noqa: PLC0415 - heavy, and not needed before

        rows = [row for batch in self._split(texts) for row in self._embed_batch(batch)]
        if not rows:
            return np.zeros((0, self.dimensions or 0), dtype=np.float32)
        return np.stack(rows)

    def _split(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        length = 0
        for text in texts:
            is_full = len(batch) == self._batch or length + len(text) > MOST_CHARACTERS
            if batch and is_full:
                yield batch
                batch, length = [], 0
            batch.append(text)
            length += len(text)
        if batch:
            yield batch

    def _embed_batch(self, batch: list[str]) -> list[Vectors]:
        encoding = "base64" if self._packed else "float"
        payload: JsonObject = {"model": self._model, "input": [*batch], "encoding_format": encoding}
        if self._asked is not None:
            payload["dimensions"] = self._asked
        try:
            answer = self._endpoint.post("embeddings", payload)
        except EndpointError as fault:
            kind: Any = fault.kind if fault.kind in ("missing", "timeout") else "failed"
            raise EmbeddingError(
                fault.message, kind=kind, place=fault.place, remedy=fault.remedy
            ) from None
        used = read_usage(answer)
        if used is not None:
            count_tokens(used.input_tokens)
        rows = [self._read_row(item) for item in self._sort_items(answer, len(batch))]
        lengths = {len(row) for row in rows} | ({self.dimensions} - {None})
        if len(lengths) > 1:
            sizes = " and ".join(map(str, sorted(filter(None, lengths))))
            raise self._error(f"the vectors of one model have {sizes} dimensions", "dimensions")
        self.dimensions = len(rows[0])
        return rows

    def _sort_items(self, answer: JsonObject, count: int) -> list[Any]:
        """Return the items of *answer* in the order of texts, by their indexes if they have any."""
        data = answer.get("data")
        if not isinstance(data, list):
            raise self._error("the response contains no list of vectors", "failed")
        if len(data) != count:
            raise self._error(f"{len(data)} vectors came for {count} texts", "count")
        placed: dict[Any, Any] = {}
        for number, item in enumerate(data):
            told = item.get("index", number) if isinstance(item, dict) else number
            is_number = isinstance(told, int) and not isinstance(told, bool)
            placed[told if is_number else None] = item
        if placed.keys() != set(range(count)):
            raise self._error("the vector indexes do not match the texts", "count")
        return [placed[number] for number in range(count)]

    def _read_row(self, item: Any) -> Vectors:
        """Read one vector, a list of numbers or base64 of 32-bit floats in little-endian order."""
        import numpy as np  # noqa: PLC0415 - as above

        told = item.get("embedding") if isinstance(item, dict) else None
        row: Vectors
        if isinstance(told, str):
            try:
                packed = base64.b64decode(told, validate=True)
            except (binascii.Error, ValueError):
                packed = b"?"
            if len(packed) % _FLOAT_BYTES:
                raise self._error("a vector is not base64 of floats", "failed")
            row = np.frombuffer(packed, dtype="<f4").astype(np.float32)
        else:
            row = self._read_numbers(told)
        if not len(row):
            raise self._error("a vector has no numbers", "empty")
        if not np.isfinite(row).all():
            raise self._error("a vector has a number that is not finite", "nonfinite")
        if not row.any():
            raise self._error("a vector is all zeros", "empty")
        return row

    def _read_numbers(self, told: Any) -> Vectors:
        import numpy as np  # noqa: PLC0415 - as above

        is_row = isinstance(told, list) and all(
            isinstance(one, int | float) and not isinstance(one, bool) for one in told
        )
        if not is_row:
            raise self._error("a vector is not a list of numbers", "failed")
        try:
            # A number too great for 32 bits becomes infinite, and is rejected.
            with np.errstate(over="ignore"):
                return np.asarray(told, dtype=np.float64).astype(np.float32)
        except OverflowError:
            raise self._error("a vector has a number that is not finite", "nonfinite") from None

    def _error(self, message: str, kind: Any) -> EmbeddingError:
        return EmbeddingError(message, kind=kind, place=self._endpoint.display)
