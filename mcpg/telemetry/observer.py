"""What an observer is: whoever is told that something begins, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mcpg.telemetry.facts import (
        BuildFacts,
        InvokeFacts,
        RouteFacts,
        SearchFacts,
        VectorFacts,
    )

Facts_contra = TypeVar("Facts_contra", contravariant=True)


class Tell(Protocol[Facts_contra]):
    """Takes what came of something; called once, at its end.

    It is not called at all where nothing came of it: an exception ended it, or it was given up.
    """

    def __call__(self, facts: Facts_contra, /) -> None:
        """Take the *facts*."""


class Observer(Protocol):
    """Is told of everything that takes time.

    Each method gives a context manager, entered when the thing begins and left when it ends, in the
    same thread or task; an exception that ends it passes through. Inside it gives what is called
    with the facts. Methods are called from several threads at once. Whatever an observer raises is
    told as a diagnostic, and never breaks what it watches.
    """

    def search(self, query: str, strategy: str) -> AbstractContextManager[Tell[SearchFacts]]:
        """A search begins.

        Args:
            query: What is wanted, as it was given; "" browses. Record it only where that is wanted.
            strategy: The strategy that was asked for.
        """

    def build(self) -> AbstractContextManager[Tell[BuildFacts]]:
        """An index is made: sources are read, documents made of them, and compiled."""

    def vectors(self) -> AbstractContextManager[Tell[VectorFacts]]:
        """The vectors of an index are found or made."""

    def route(self, query: str) -> AbstractContextManager[Tell[RouteFacts]]:
        """A search by categories begins; a search is a part of it.

        Args:
            query: As for `search`.
        """

    def invoke(self) -> AbstractContextManager[Tell[InvokeFacts]]:
        """A tool is called."""
