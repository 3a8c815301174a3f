"""What the engine puts into a search cache: keys that tell all, and values under a digest."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from mcpg import __version__

_DIGEST_SIZE = 32


def key_of(*parts: Any) -> str:
    """Return the key of what depends on *parts*, which are JSON values, and on this mcpg."""
    return hashlib.sha256(json_bytes([__version__, *parts])).hexdigest()


def sealed(payload: bytes, key: str) -> bytes:
    """Return *payload* under a digest of itself and of the *key* that it is kept under."""
    return _digest(payload, key) + payload


def unsealed(data: bytes | None, key: str) -> bytes | None:
    """Return what was sealed for *key*, `None` when *data* is not that, to the last bit."""
    if not data:
        return None
    digest, payload = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:]
    return payload if hmac.compare_digest(digest, _digest(payload, key)) else None


def json_bytes(part: Any) -> bytes:
    """Return *part* as JSON, such that other texts have other bytes, halves of surrogates too.

    Raises:
        ValueError: A number is not finite.
    """
    text = json.dumps(part, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _digest(payload: bytes, key: str) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + payload).digest()
