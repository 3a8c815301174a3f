"""The cache that keeps nothing."""

from __future__ import annotations


class NoCache:
    """Keeps nothing: every search is computed."""

    def get(self, kind: str, key: str) -> None:
        """Give nothing."""

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Do nothing."""
