"""Fit the ways to rank with vectors, and say what that is worth on sets they were not fitted on.

    python benchmarks/fit_vectors.py FOLDER WORDNET [--queries 400] [--with local]...
        [--keep-closeness] [--write]

FOLDER and WORDNET are those of `fit_ranking.py`. `--with` names who makes vectors, and may be given
several times; after an `@` stand the sets that are asked with them, joined by `+`, all sets where
none is named.

What closeness weighs in the learned fusion is fitted by `closeness_fit.py`. Each way to rank
(cosines alone, semantic order, the learned fusion, reciprocal ranks) then has a logistic regression
of its own on the same inputs, for which the answers of every fifth query are taken out of the
catalogue; a few words of the queries and noise are asked as well. Both are also fitted on all sets
but one, and measured on that one. With `--keep-closeness` the calibrations alone are fitted: after
a change of the graph's calibration, nothing else has to be.
`--write` puts what is fitted on all sets into `mcpg/search/data/vectors.json`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import closeness_fit
import fit_ranking as ranking
import texts
from samplings import FOLDS, VARIANTS, read, tools_of

import mcpg.engine
import mcpg.search
from mcpg.embeddings import make_provider
from mcpg.embeddings.provider import MemoryStore
from mcpg.evaluation.fit import logistic
from mcpg.search.features import MARGIN_DEPTH, extract_features, fuse
from mcpg.search.hybrid import (
    VECTOR_INPUTS,
    VectorCalibration,
    apply_weight,
    closeness_weight,
    corrected_text,
    find_scheme,
    rank,
    unknown_share,
)
from mcpg.search.hybrid_model import LEARNED, SCHEMES, HybridPool
from mcpg.search.index_vectors import SearchVectors
from mcpg.search.model import default_model
from mcpg.search.pipeline import Search, gather
from mcpg.search.results import SearchRequest
from mcpg.search.retrieval import POOL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.embeddings import EmbeddingProvider
    from mcpg.embeddings.provider import EmbeddingStore
    from mcpg.search.features import RankedCandidate
    from mcpg.search.index_vectors import VectorScores
    from mcpg.search.query import Analysis

Samples = dict[str, list[ranking.Top]]
Weight = dict[str, Any]
FILE = Path(mcpg.search.__file__).parent / "data" / "vectors.json"
DEPTH = 3
# How much a coefficient of 0 is believed, in units of the mean log loss.
RIDGE = 1e-2
SURE = (
    "; calibration error, AUROC of right against answerless and against noise, on sets left out: "
)
DECIMALS = 4
# The logit of what is sure.
ALWAYS = (40.0,)
MODEL = default_model()
FEW_WORDS_FROM = VARIANTS[0]


class Looked(NamedTuple):
    """What was looked at for one query."""

    analysis: Analysis
    vector_scores: VectorScores
    hybrid_pool: HybridPool


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
        self._semantics = self.engine._searcher.semantics()  # noqa: SLF001 - looks are not public

    def look(self, query: str) -> Looked:
        """Look at what words and vectors find, as a search does."""
        request = SearchRequest(query)
        analysis, pool = gather(Search(request, self._index, default_model(), frozenset()), POOL)
        texts = (query, corrected_text(request, analysis))
        vector_scores = self._semantics.vector_scores(
            self._semantics.ensure_vectors().vectors,
            SearchVectors(self._semantics).embed_all([one for one in texts if one is not None]),
            unknown_share(analysis),
            count=POOL,
            without=frozenset(),
            beside=pool.documents,
        )
        near = [number for number, _ in vector_scores.nearest if number not in pool.documents]
        candidates = extract_features(pool.documents, analysis, self._index)
        graph = fuse(candidates, MODEL.weights, POOL)
        together = [*candidates, *extract_features(near, analysis, self._index)]
        return Looked(analysis, vector_scores, HybridPool(together, len(candidates), graph, []))

    def contest(
        self, query: str, relevant: set[str], part: tuple[str, str, str]
    ) -> closeness_fit.Contest:
        """Return what the weight of closeness can win in a query."""
        analysis, vector_scores, pool = self.look(query)
        right = ranking.numbers_of(self._index, relevant)
        return closeness_fit.contest(
            part, pool, analysis, vector_scores, right, len(relevant), MODEL.weights
        )

    def ask(
        self, query: str, relevant: set[str], label: tuple[str, str, str], weight: Weight
    ) -> Iterator[tuple[str, ranking.Top]]:
        """Give each scheme's name with one of its best matches."""
        looked, right = self.look(query), ranking.numbers_of(self._index, relevant)
        vector_calibration = VectorCalibration(
            looked.hybrid_pool, looked.analysis, MODEL, len(self._index), looked.vector_scores
        )
        for scheme in SCHEMES:
            for place, one in enumerate(ranked(scheme, looked, weight, DEPTH)):
                is_right = one.candidate.document in right
                yield (
                    scheme,
                    ranking.Top(*label, place, vector_calibration.inputs(one.candidate), is_right),
                )


def ranked(name: str, looked: Looked, weight: Weight, limit: int) -> list[RankedCandidate]:
    """Rank what was looked at by the scheme called *name*, closeness having that *weight*."""
    scheme, pool = find_scheme(name, MODEL), looked.hybrid_pool
    if name == LEARNED:
        scheme = apply_weight(scheme, closeness_weight(pool, looked.analysis, MODEL, weight).weight)
    return rank(scheme, pool, looked.vector_scores, MARGIN_DEPTH)[:limit]


class Source(NamedTuple):
    """Who makes vectors, and the sets that are asked with them."""

    spec: str
    folders: list[Path]
    provider: EmbeddingProvider
    store: EmbeddingStore


def source_of(named: str, folders: Sequence[Path]) -> Source:
    """Read what `--with` names."""
    spec, _, sets = named.partition("@")
    chosen = [one for one in folders if not sets or one.name in sets.split("+")]
    return Source(spec, chosen, make_provider(spec), MemoryStore(limit=100_000))


def judged(folder: Path, source: Source, count: int) -> Iterator[closeness_fit.Contest]:
    """Return what the weight of closeness can win in the judged queries of a set."""
    asker = Asker(tools_of(folder), source.provider, source.store)
    for variant in VARIANTS:
        for query in read(folder / variant, count):
            part = source.spec, folder.name, variant
            yield asker.contest(query["query"], set(query["relevant"]), part)


def asked(
    folder: Path, wordnet: Path, count: int, source: Source, weight: Weight
) -> Iterator[tuple[str, ranking.Top]]:
    """Ask what a set asks, the answers of every fifth query taken away."""
    queries = {one: read(folder / one, count) for one in VARIANTS}
    fold = FOLDS[0]
    without = [one for some in queries.values() for one in some[fold::5]]
    gone = {key for query in without for key in query["relevant"]}
    tools = [tool for tool in tools_of(folder) if texts.key(tool) not in gone]
    asker = Asker(tools, source.provider, source.store)
    for variant, some in queries.items():
        for place, query in enumerate(some):
            relevant = set(query["relevant"]) - gone
            if place % 5 != fold and relevant != set(query["relevant"]):
                continue
            kind = ranking.JUDGED if relevant else ranking.ANSWERLESS
            label = folder.name, kind, ranking.ASKED
            yield from asker.ask(query["query"], relevant, label, weight)
            if variant == FEW_WORDS_FROM:
                words = ranking.few_words(query["query"], asker.engine)
                if words:
                    label = folder.name, kind, ranking.WORDS
                    yield from asker.ask(words, relevant, label, weight)
    for text in ranking.Material.read(folder, wordnet).noise:
        yield from asker.ask(text, set(), (folder.name, ranking.NOISE, ranking.ASKED), weight)


def fit(samples: Sequence[ranking.Top]) -> ranking.Calibration:
    """Return a fitted calibration; all requests count as answerable."""
    chosen = logistic(
        [one.inputs for one in samples],
        [one.is_right for one in samples],
        ranking.shares(samples),
        prior=(0.0,) * (len(VECTOR_INPUTS) + 1),
        ridge=RIDGE,
    )
    return ranking.Calibration(ALWAYS, chosen)


def left_out(samples: Sequence[ranking.Top]) -> list[float]:
    """Give error, AUROC against answerless and noise, and the highest score of noise, left out.

    The first three are means over the sets.
    """
    rows, highest = [], []
    for name in sorted({one.set for one in samples}):
        fitted = fit([one for one in samples if one.set != name])
        own = [one for one in samples if one.set == name]
        apart = [
            ranking.separation(own, fitted, kind) for kind in (ranking.ANSWERLESS, ranking.NOISE)
        ]
        rows.append([ranking.calibration_error(own, fitted), *apart])
        noise = [one for one in ranking.of_form(own) if one.kind == ranking.NOISE]
        highest.append(max(ranking.scores(noise, fitted), default=0.0))
        print(f"  without {name:<18} " + " ".join(f"{one:.4f}" for one in (*rows[-1], highest[-1])))
    return [*map(fmean, zip(*rows, strict=True)), max(highest)]


def members(fitted: ranking.Calibration) -> dict[str, Any]:
    """Write a calibration as the data file has it."""
    intercept, *coefficients = (round(one, DECIMALS) for one in fitted.chosen)
    named = dict(zip(VECTOR_INPUTS, coefficients, strict=True))
    return {"intercept": intercept, "coefficients": named}


def calibrated(samples: Samples) -> tuple[dict[str, Any], str]:
    """Fit all calibrations, print figures of sets left out, and give a summary of them."""
    fitted, told = {}, []
    for scheme, some in samples.items():
        error, answerless, noise, highest = left_out(some)
        told.append(f"{scheme} {error:.3f}, {answerless:.3f}, {noise:.3f}")
        print(f"{scheme:<12} {error:.4f} {answerless:.4f} {noise:.4f}, highest {highest:.3f}")
        fitted[scheme] = members(fit(some))
    return fitted, "; ".join(told)


def main() -> None:
    """Fit, print, and perhaps write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--with", dest="providers", action="append")
    parser.add_argument("--keep-closeness", action="store_true", help="fit the calibrations alone")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    folders = sorted(path for path in arguments.folder.iterdir() if (path / "tools.json").exists())
    sources = [source_of(named, folders) for named in arguments.providers or ["local"]]
    pairs = [(folder, source) for source in sources for folder in source.folders]
    count = arguments.queries
    data = json.loads(FILE.read_bytes())
    if arguments.keep_closeness:
        weight, unseen = data["closeness"], data["provenance"].split(SURE)[0].split("seed 0; ")[1]
    else:
        contests = [one for pair in pairs for one in judged(*pair, count)]
        weight, unseen = closeness_fit.fit(contests)
    samples: Samples = {scheme: [] for scheme in SCHEMES}
    for folder, source in pairs:
        for scheme, top in asked(folder, arguments.wordnet, count, source, weight):
            samples[scheme].append(top)
    calibrations, sure = calibrated(samples)
    asked_with = "; ".join(
        f"{one.spec} on {', '.join(folder.name for folder in one.folders)}" for one in sources
    )
    provenance = (
        f"benchmarks/fit_vectors.py with {asked_with}; {count} queries a set, clean and misspelt, "
        f"seed 0; {unseen}{SURE}{sure}"
    )
    data |= {"provenance": provenance, "closeness": weight, "calibrations": calibrations}
    text = json.dumps(data, indent=2) + "\n"
    print(text)
    if arguments.write:
        FILE.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
