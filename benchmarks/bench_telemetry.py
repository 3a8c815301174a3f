"""What it costs to be watched: warm searches without an observer, and with one.

    python benchmarks/bench_telemetry.py [FOLDER] [--sizes 1900] [--queries 300] [--rounds 5]

Catalogues are the judged set bfcl where FOLDER (or MCPG_EVAL) has it, and made ones of the given
sizes. Every query is asked of every engine in every round, in an order drawn by lot. The engines
search the same bundle:

    absent        without an observer
    absent again  the same, to show what is chance
    API           tells OpenTelemetry's API, and nothing takes it
    SDK           tells its SDK, which keeps spans and metrics in memory

Columns: p50 and p95 of the processor's microseconds of a search; the median of what a search takes
beyond `absent`, query by query; and the calls of functions in a search, Python's and C's, as
`sys.setprofile` counts them.
`--keep DIR` keeps catalogues and indexes there for the next benchmark.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import catalogues
import measuring
from measuring import middle, percentile, row
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import mcpg
from mcpg.telemetry import Observer, telemetry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catalogues import Catalogue


def observers() -> dict[str, Observer | None]:
    """Return who watches each engine."""
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
    meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
    return {
        "absent": None,
        "absent again": None,
        "API": telemetry(),
        "SDK": telemetry(tracer_provider=tracers, meter_provider=meters),
    }


def measure(catalogue: Catalogue, count: int, rounds: int, root: Path) -> Iterator[str]:
    """Measure one catalogue and give a row for each engine."""
    bundle = measuring.indexed(catalogue, ["mcpg"], root) / "graph.mdld"
    engines = {name: mcpg.load(bundle, observer=one) for name, one in observers().items()}
    queries = catalogue.queries[:count]
    for engine in engines.values():
        for query in queries:
            engine.search(query)
    times: dict[str, list[float]] = {name: [] for name in engines}
    names, chance = list(engines), random.Random(0)
    for _ in range(rounds):
        for query in queries:
            chance.shuffle(names)  # whoever comes second finds the processor's caches filled
            for name in names:
                times[name].append(microseconds(engines[name], query))
    for name, taken in times.items():
        beyond = middle([one - other for one, other in zip(taken, times["absent"], strict=True)])
        calls = sum(calls_of(engines[name], query) for query in queries) / len(queries)
        cells = (middle(taken), percentile(taken, 0.95), f"{beyond:+.1f}", f"{calls:.1f}")
        yield row(f"{catalogue.name:<6} {len(catalogue.tools):>7}  {name}", *cells)


def microseconds(engine: mcpg.Engine, query: str) -> float:
    """Return the processor's microseconds that a search takes."""
    start = time.thread_time_ns()
    engine.search(query)
    return (time.thread_time_ns() - start) / 1e3


def calls_of(engine: mcpg.Engine, query: str) -> int:
    """Count the calls of functions in a search."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    sys.setprofile(count)
    engine.search(query)
    sys.setprofile(None)
    return counted - 1  # the call that ends the count


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_900])
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args(arguments)
    print(row("catalogue tools  watched", "p50 us", "p95 us", "beyond", "calls"))
    with measuring.workshop(asked.keep) as root:
        judged = catalogues.chosen(asked.folder, "bfcl", [])
        for catalogue in (*judged, *map(catalogues.made, asked.sizes)):
            for line in measure(catalogue, asked.queries, asked.rounds, root):
                print(line, flush=True)


if __name__ == "__main__":
    main()
