"""Two processes write one file; one of them is killed, round after round. A test runs it.

Each batch is three vectors whose numbers all are the number of the batch. A writer tells a batch
through a pipe once `put` has returned; whatever was told must be there afterwards, and whatever is
there must be whole. Writes how many batches were told by those that were killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback

import numpy as np

from mcpg.embeddings.provider import EmbeddingKey
from mcpg.embeddings.sqlite_store import SqliteStore

ROUNDS = 50
SIZE = 3
DIMENSIONS = 16


def keys(name: str, batch: int) -> list[EmbeddingKey]:
    """Name the vectors of a batch."""
    return [EmbeddingKey(f"{name} {batch} {part}", "hash", "maker") for part in range(SIZE)]


def write_on(path: str, name: str, told: int) -> None:
    """Write batches until killed."""
    store = SqliteStore(path)
    batch = 0
    while True:
        batch += 1
        vector = np.full(DIMENSIONS, batch, dtype=np.float32)
        store.put(dict.fromkeys(keys(name, batch), vector))
        os.write(told, b"%d\n" % batch)


def start(path: str, name: str) -> tuple[int, int]:
    """Start a writer; give its process and the end of its pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            write_on(path, name, writing)
        finally:
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    return child, reading


def kill(child: int, reading: int) -> int:
    """Kill a writer; give the number of the last batch that it told."""
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "a writer failed"
    with os.fdopen(reading, "rb") as pipe:
        lines = pipe.read().split()
    return int(lines[-1]) if lines else 0


def check(path: str, name: str, told: int) -> None:
    """See that nothing which *name* told is lost, and nothing is torn."""
    store = SqliteStore(path)
    asked = {batch: keys(name, batch) for batch in range(1, told + 3)}
    found = store.get([key for batch in asked.values() for key in batch])
    for batch, parts in asked.items():
        there = [found[key] for key in parts if key in found]
        assert len(there) == SIZE or (batch > told and not there), f"{name} {batch} is torn or lost"
        assert all((vector == batch).all() for vector in there)
    store.close()


def main(path: str) -> None:
    """Run the rounds."""
    moments = random.Random()
    last: dict[str, int] = {}
    survivor = start(path, "survivor")
    try:
        for number in range(ROUNDS):
            victim = start(path, f"victim{number}")
            time.sleep(moments.uniform(0, 0.04))
            last[f"victim{number}"] = kill(*victim)
    finally:
        last["survivor"] = kill(*survivor)
    for name, told in last.items():
        check(path, name, told)
    assert last.pop("survivor") > 0
    sys.stdout.write(f"{sum(last.values())}\n")


if __name__ == "__main__":
    main(sys.argv[1])
