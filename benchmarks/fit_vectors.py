"""Fit how sure searches with vectors are, and say what that is worth on sets it was not fitted on.

    python benchmarks/fit_vectors.py FOLDER [--queries 150] [--with local] [--write]

FOLDER is laid out as for `fit_ranking.py`, whose queries are asked here: those of the sets, clean
and misspelt, with the answers of every fifth one taken out of the catalogue, a few of their words,
names of tools, and noise. Each way to rank with vectors (cosines alone, semantic order, the learned
fusion, reciprocal ranks) has a logistic regression of its own on the same inputs. Several providers
may be named, divided by commas: then all are fitted on together. `--write` puts what is fitted on
all sets into `mcpg/engine/data/vectors.json`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import fit_ranking as ranking
import texts

import mcpg.engine
from mcpg.embeddings.choosing import provider_of
from mcpg.embeddings.stores import MemoryStore
from mcpg.engine.request import Request
from mcpg.engine.scheme import EMBEDDINGS, SCHEMES, SEMANTIC, VECTOR_INPUTS
from mcpg.tuning.logistic import logistic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.embeddings import EmbeddingProvider
    from mcpg.embeddings.stores.protocol import EmbeddingStore

Samples = dict[str, list[ranking.Top]]
FILE = Path(mcpg.engine.__file__).parent / "data" / "vectors.json"
DEPTH = 3
DECIMALS = 4
FEW_WORDS_FROM = ranking.VARIANTS[0]


class Asker:
    """Asks one catalogue in every way, and keeps what calibrations are told of the matches."""

    def __init__(
        self, tools: list[dict[str, Any]], provider: EmbeddingProvider, store: EmbeddingStore
    ) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "tools.json")
            path.write_text(json.dumps({"tools": tools}, ensure_ascii=False), encoding="utf-8")
            self.engine = mcpg.engine.load(path, embeddings=provider, store=store)
        self._index = self.engine.index

    def ask(self, query: str, relevant: set[str], label: tuple[str, str, str]) -> Iterator[Any]:
        """Give each scheme's name with one of its best matches."""
        right = ranking.numbers_of(self._index, relevant)
        for scheme in SCHEMES:
            outcome = self._outcome(query, scheme)
            rows = zip(outcome.ranked[:DEPTH], outcome.calibrations, strict=False)
            for place, (one, calibration) in enumerate(rows):
                is_right = one.candidate.document in right
                yield scheme, ranking.Top(*label, place, calibration.inputs, is_right)

    def _outcome(self, query: str, scheme: str) -> Any:
        strategy = "embeddings" if scheme == EMBEDDINGS else "auto"
        fusion = "" if scheme in {EMBEDDINGS, SEMANTIC} else scheme
        request = Request(query, limit=DEPTH, strategy=strategy, fusion=fusion)
        outcome = self.engine._searcher.answer(request, ())[1]  # noqa: SLF001 - inputs are not public
        if outcome is None or outcome.semantic is None:
            raise SystemExit("there are no vectors: install the extra, or name a provider")
        return outcome


def asked(
    folder: Path, root: Path, count: int, provider: EmbeddingProvider, store: EmbeddingStore
) -> Iterator[tuple[str, ranking.Top]]:
    """Ask what a set asks, the answers of every fifth query taken away."""
    tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
    queries = {one: ranking.read(folder / one, count) for one in ranking.VARIANTS}
    for fold in ranking.FOLDS[:1]:
        without = [one for some in queries.values() for one in some[fold::5]]
        gone = {key for query in without for key in query["relevant"]}
        asker = Asker([tool for tool in tools if texts.key(tool) not in gone], provider, store)
        for variant, some in queries.items():
            for place, query in enumerate(some):
                relevant = set(query["relevant"]) - gone
                if place % 5 != fold and relevant != set(query["relevant"]):
                    continue
                kind = ranking.JUDGED if relevant else ranking.ANSWERLESS
                yield from asker.ask(query["query"], relevant, (folder.name, kind, ranking.ASKED))
                if variant == FEW_WORDS_FROM:
                    words = ranking.few_words(query["query"], asker.engine)
                    if words:
                        yield from asker.ask(words, relevant, (folder.name, kind, ranking.WORDS))
    for text in ranking.unanswerable(root, folder.name):
        yield from asker.ask(text, set(), (folder.name, ranking.NOISE, ranking.ASKED))


def fit(samples: Sequence[ranking.Top]) -> tuple[float, ...]:
    """Give a fitted calibration, the intercept first."""
    return logistic(
        [one.inputs for one in samples],
        [one.is_right for one in samples],
        ranking.shares(samples),
        prior=(0.0,) * (len(VECTOR_INPUTS) + 1),
        ridge=ranking.RIDGE,
    )


def left_out(samples: Sequence[ranking.Top]) -> list[float]:
    """Give error, AUROC against answerless and noise, as means of sets that were left out."""
    rows = []
    for name in sorted({one.set for one in samples}):
        fitted = fit([one for one in samples if one.set != name])
        own = [one for one in samples if one.set == name]
        apart = [
            ranking.separation(own, fitted, kind) for kind in (ranking.ANSWERLESS, ranking.NOISE)
        ]
        rows.append([ranking.calibration_error(own, fitted), *apart])
    return list(map(fmean, zip(*rows, strict=True)))


def members(fitted: Sequence[float]) -> dict[str, Any]:
    """Write a calibration as the data file has it."""
    intercept, *coefficients = (round(one, DECIMALS) for one in fitted)
    named = dict(zip(VECTOR_INPUTS, coefficients, strict=True))
    return {"intercept": intercept, "coefficients": named}


def gathered(folders: Sequence[Path], root: Path, count: int, spec: str) -> Samples:
    """Ask everything of every set with one provider."""
    provider, store = provider_of(spec), MemoryStore(limit=100_000)
    samples: Samples = {scheme: [] for scheme in SCHEMES}
    for folder in folders:
        for scheme, top in asked(folder, root, count, provider, store):
            samples[scheme].append(top)
        print(f"  {spec}: asked {folder.name}", flush=True)
    return samples


def main() -> None:
    """Fit, print, and perhaps write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--sets", default="")
    parser.add_argument("--with", dest="providers", default="local")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    folders = sorted(path for path in arguments.folder.iterdir() if (path / "tools.json").exists())
    chosen = [f for f in folders if not arguments.sets or f.name in arguments.sets.split(",")]
    parts = [
        gathered(chosen, arguments.folder.parent, arguments.queries, spec)
        for spec in arguments.providers.split(",")
    ]
    data = json.loads(FILE.read_bytes())
    told = []
    for scheme in SCHEMES:
        samples = [one for part in parts for one in part[scheme]]
        error, answerless, noise = left_out(samples)
        told.append(f"{scheme} {error:.3f}, {answerless:.3f}, {noise:.3f}")
        print(f"left out: {scheme:<12} error {error:.4f}, AUROC {answerless:.3f}, {noise:.3f}")
        data["calibrations"][scheme] = members(fit(samples))
    names = ", ".join(folder.name for folder in chosen)
    data["provenance"] = (
        f"benchmarks/fit_vectors.py on {names} with {arguments.providers}; {arguments.queries} "
        "queries a set, clean and misspelt, seed 0; calibration error, AUROC of right against "
        f"answerless and against noise, on sets left out: {'; '.join(told)}"
    )
    text = json.dumps(data, indent=2) + "\n"
    print(text)
    if arguments.write:
        FILE.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
