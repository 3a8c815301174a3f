"""Decides where numpy does what is otherwise done one by one.

Source: Karlin, Manasse, Rudolph & Sleator, "Competitive snoopy caching", Algorithmica 3, 1988 (when
to pay once for what saves a little each time).
"""

from __future__ import annotations

import sys
from types import ModuleType

from mcpg.index import Index

# From so many postings on, numpy adds them up sooner, though it takes some microseconds a list.
_MANY = 400
# From so many terms on, and 3-grams, numpy looks up sooner what a pool of documents has of them.
_MANY_TERMS = 4
_MANY_GRAMS = 8
# So many postings are added one by one in the time that the import of numpy takes.
_WORTH_IMPORTING = 2_000_000
# In a catalogue of so many tools, most requests have long lists.
_LARGE = 1_000


class _Arrays:
    """Decides where lists are added up by numpy.

    Importing numpy takes as long as adding some million postings one by one. A process imports it
    after it has added so many: one that searches a few times never does, and one that goes on loses
    no more than it would have by importing at once. A host that prepares for many searches need not
    wait.
    """

    def __init__(self) -> None:
        self._left = _WORTH_IMPORTING
        self._imported: list[ModuleType | None] = []

    def scorer(self, postings: int) -> ModuleType | None:
        """Return the scorer for so many *postings*, `None` where they are added one by one."""
        if postings < _MANY:
            return None
        if self._left > 0 and "numpy" not in sys.modules:
            self._left -= postings
            return None
        return self._import()

    def impacts(self, terms: int, index: Index) -> ModuleType | None:
        """Return what looks up so many *terms* in a pool, `None` where that is done one by one."""
        arrays = self._features(terms >= _MANY_TERMS, index)
        return arrays if arrays and arrays.is_ready(index) else None

    def grams(self, grams: int, index: Index) -> ModuleType | None:
        """Return the same for so many 3-grams."""
        return self._features(grams >= _MANY_GRAMS, index)

    def _features(self, are_many: bool, index: Index) -> ModuleType | None:
        """Return what computes features; for them alone numpy is never imported."""
        if not are_many or not index.is_compiled or not any(self._imported):
            return None
        from mcpg.engine import array_features  # noqa: PLC0415 - a cold search does without

        return array_features

    def prepare(self, index: Index) -> None:
        """Prepare for many searches of a compiled *index*.

        Raises:
            StaleIndexError: The index is damaged.
        """
        if len(index) >= _LARGE and self._import():
            from mcpg.engine import array_features  # noqa: PLC0415 - as above

            array_features.prepare(index)

    def _import(self) -> ModuleType | None:
        """Return the scorer, `None` where numpy is not installed, or broken."""
        if not self._imported:
            try:
                from mcpg.engine import array_scores  # noqa: PLC0415 - a cold search does without
            except Exception:  # noqa: BLE001 - one built for another version may raise anything
                self._imported.append(None)
            else:
                self._imported.append(array_scores)
        return self._imported[0]


ARRAYS = _Arrays()
"""Shared by all engines of a process, as imports are."""
