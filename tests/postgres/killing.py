"""Kills one of two processes that write vectors to PostgreSQL, again and again, and looks."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from typing import NoReturn

import numpy as np

from mcpg.embeddings.provider import EmbeddingKey
from mcpg.postgres import Database, PostgresSettings, PostgresStore

TOOLS, DIMENSIONS = 24, 64


def batch(number: int) -> dict[EmbeddingKey, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """Make the batch of a number: every vector holds it everywhere."""
    vector = np.full(DIMENSIONS, number, dtype=np.float32)
    return {EmbeddingKey(f"tool{tool}", "h", "f"): vector for tool in range(TOOLS)} | {
        EmbeddingKey(f"only{number}", "h", "f"): vector
    }


def write(dsn: str, first: int, told: int) -> NoReturn:
    """Write batches for ever, and tell the number of each that was kept."""
    store = PostgresStore(Database(PostgresSettings(dsn, connections=1)))
    number = first
    while True:
        store.put(batch(number))
        os.write(told, number.to_bytes(4, "big"))
        number += 1


def start(dsn: str, first: int) -> tuple[int, int]:
    """Start a writer and give its process and where it tells."""
    heard, told = os.pipe()
    process = os.fork()
    if not process:
        os.close(heard)
        write(dsn, first, told)
    os.close(told)
    return process, heard


def told(heard: int, count: int) -> list[int]:
    """Return the first *count* numbers that a writer tells, or fewer where it tells no more."""
    numbers = []
    while len(numbers) < count and (number := os.read(heard, 4)):
        numbers.append(int.from_bytes(number, "big"))
    return numbers


def once(dsn: str, first: int, rng: random.Random) -> list[int]:
    """Let two write, kill one at a random moment and then the other; give what was confirmed."""
    (one, hears_one), (other, hears_other) = start(dsn, first), start(dsn, first + 5000)
    confirmed = told(hears_one, 1)
    time.sleep(rng.random() * 0.02)
    os.kill(one, signal.SIGKILL)
    confirmed += told(hears_other, 2)
    os.kill(other, signal.SIGKILL)
    for process, heard in ((one, hears_one), (other, hears_other)):
        os.waitpid(process, 0)
        confirmed += told(heard, sys.maxsize)
        os.close(heard)
    return confirmed


def look(store: PostgresStore, numbers: list[int]) -> None:
    """Look at what is kept."""
    shared = store.get([key for key in batch(0) if key.tool_id != "only0"])
    values = {float(value) for vector in shared.values() for value in vector}
    assert len(shared) == TOOLS, "a batch is missing in part"
    assert len(values) == 1, f"batches are mixed: {values}"
    kept = store.get([EmbeddingKey(f"only{number}", "h", "f") for number in numbers])
    assert len(kept) == len(numbers), "what was confirmed is lost"
    for key, vector in kept.items():
        assert (vector == float(key.tool_id.removeprefix("only"))).all(), "a vector is torn"


def main(dsn: str, rounds: int) -> None:
    """Do it so many times and print how often, and how many batches were confirmed."""
    database = Database(dsn)
    store, rng, confirmed = PostgresStore(database), random.Random(0), []
    for number in range(rounds):
        confirmed += once(dsn, 10_000 * number, rng)
        look(store, confirmed)
        database.close()  # nothing is open when the next writers are forked
    sys.stdout.write(f"{rounds} {len(confirmed)}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
