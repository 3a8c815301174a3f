"""A target of the fuzzer: a reader with its inputs and right results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from .mutators import Mutator, mutate_bytes
from .seeds import read_corpus

Reader: TypeAlias = Callable[[bytes], object]


@dataclass(frozen=True)
class Target:
    """A reader to fuzz.

    Attributes:
        open: The context of the reader, which may use the given folder.
        seeds: Returns inputs beside those in the folder of the corpus with the target's name.
        mutate: Changes an input by its structure.
        errors: Right results beside `McpgError`.
        largest: The largest input in bytes.
        share: How many executions of a campaign it gets, in relation to others.
    """

    name: str
    open: Callable[[Path], AbstractContextManager[Reader]]
    seeds: Callable[[], Iterable[bytes]] = tuple
    mutate: Mutator = mutate_bytes
    errors: tuple[type[Exception], ...] = ()
    largest: int = 4096
    share: float = 1.0

    def read_seeds(self) -> list[bytes]:
        """Return all first inputs."""
        return [*read_corpus(self.name), *self.seeds()]


def pure(read: Reader) -> Callable[[Path], AbstractContextManager[Reader]]:
    """Return how to open a reader that needs no folder."""
    return lambda _: nullcontext(read)
