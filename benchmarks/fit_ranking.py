"""Fit the ranking model on judged sets, and say what it does on sets it was not fitted on.

    python benchmarks/fit_ranking.py FOLDER WORDNET [--queries 300] [--sets a,b] [--keep-weights]
        [--write]

FOLDER is laid out as for `bench_quality.py`; beside it, `hints` may hold a file `SET.hints.yaml`
with texts that a model wrote for the tools of a set. WORDNET is the folder `dict` of WordNet, as
`lexicon/sources.py` fetches it. The fits are those of `mcpg tune`, without its belief in what is
shipped: fusion weights maximise the mean nDCG@5 of the sets, clean and misspelt alike, by
coordinate ascent; every set weighs the same.

The calibration is the product of two logistic regressions. The first, of whether the catalogue
answers a request at all, compares right matches with those of noise: words drawn from running text,
and example sentences of WordNet. The second is fitted on the best matches of each query, the first
before all, with the answers of every fifth query taken out of the catalogue. As the queries of the
sets are long, a few of their words, texts of `hints` and the names of tools, also misspelt, are
asked as well. All this is asked of two sets as one catalogue, and of tools with texts of `hints`,
too. Weights and calibration are then fitted on all sets but one and measured on that one. `--write`
puts the model fitted on all sets into `mcpg/search/data/ranking.json`.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from dataclasses import replace
from operator import mul
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import samplings
import texts
import yaml
from bench_hints import load_engine
from samplings import VARIANTS, WHOLE, Catalogue, catalogues_of, read
from scaling import standardised_logistic

import mcpg.search
import mcpg.text
from mcpg.engine.loading import FITTED, WEIGHT_DECIMALS, Ranking, merge_fitted_weights, ranking_json
from mcpg.evaluation.fit import (
    ANSWERLESS_SHARE,
    LOWER,
    RankingPair,
    ascend,
    build_ranking_pairs,
    evenly,
    look,
    rate_contests,
    sigmoid,
    tops,
    weighted_calibration_error,
)
from mcpg.evaluation.metrics import auroc
from mcpg.search.model import (
    ANSWERABLE_INPUTS,
    FEATURES,
    Model,
    ModelProvenance,
    default_model,
    default_provenance,
)
from mcpg.search.query import analyse
from mcpg.text import split_words
from mcpg.text.lexicon import WordTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcpg.index import Index

    Fit = tuple[float, ...]
    Fitted = TypeVar("Fitted")

# Of the queries of a catalogue, some are taken to have no answer there, and half as many more to be
# noise.
JUDGED, ANSWERLESS, NOISE = "judged", "answerless", "noise"
SHARES = {
    JUDGED: 1 - ANSWERLESS_SHARE,
    ANSWERLESS: ANSWERLESS_SHARE,
    NOISE: ANSWERLESS_SHARE / 2,
}
# What is asked: the queries of the sets, clean and misspelt, a few words of them, texts of hints,
# names of tools.
HINTED = "hinted"
ASKED, WORDS, SHORT = "asked", "words", "short"
NAMES, MISSPELT_NAMES = "names", "misspelt names"
FORMS = {ASKED: 1.0, WORDS: 0.02, SHORT: 3.0, NAMES: 0.2, MISSPELT_NAMES: 0.06}
# What is compared with noise, and how many times as much of it as of noise is expected.
ANSWERED = {ASKED: 1.0, SHORT: 1.0, NAMES: 0.1}
ANSWERED_SHARE = 2.0
SURE = "; calibration, on sets left out: "
MOST_WORDS = 4
MOST_NAMES = 120
MOST_SHORT = 240
LONG_WORD = 5
SENTENCES = 120
RUNNING_TEXTS, MOST_RUNNING_WORDS = 60, 7
WORDS_OF_ENGLISH = Path(mcpg.text.__file__).parent / "data" / "lexicon" / "english.words"
# How much a coefficient of 0 is believed, in units of the mean log loss, of inputs that vary by 1.
RIDGE = 3e-3


class Judged(NamedTuple):
    """What can be won by the ranking of one query."""

    set: str
    variant: str
    contests: list[RankingPair]


class Top(NamedTuple):
    """One of the best matches of one query: the calibration's inputs, and whether it is right."""

    set: str
    kind: str
    form: str
    rank: int
    inputs: tuple[float, ...]
    is_right: bool
    answerable: tuple[float, ...] = ()
    catalogue: str = WHOLE
    company: str = ""


def numbers_of(index: Index, keys: Iterable[str]) -> set[int]:
    """Return the documents that judgements call *keys*, as far as they are there."""
    wanted = set(keys)
    names = (f"{index.source_id(one)}::{index.tool_name(one)}" for one in range(len(index)))
    return {number for number, name in enumerate(names) if name in wanted}


def pools(folder: Path, count: int) -> Iterator[Judged]:
    """Return what can be won by every judged query of a set."""
    tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
    index, given = load_engine(tools, {}, "none").index, default_model().weights
    for variant in VARIANTS:
        for query in read(folder / variant, count):
            right = numbers_of(index, query["relevant"])
            sample = look(query["query"], index, right, count=len(query["relevant"]))
            yield Judged(folder.name, variant, list(build_ranking_pairs(sample, given, 1.0)))


def mean_ndcg(queries: Iterable[Judged], weights: Sequence[float]) -> dict[tuple[str, str], float]:
    """Return the mean nDCG@5 of every set and variant, as fitted weights make it."""
    found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for judged in queries:
        found[judged.set, judged.variant].append(rate_contests(judged.contests, weights))
    return {key: fmean(values) for key, values in found.items()}


def fit_weights(queries: Sequence[Judged]) -> tuple[float, ...]:
    """Give fitted weights; every set and variant weighs the same."""
    parts = [(one.set, one.variant) for one in queries]
    shares = evenly(parts, lambda _: 1 / len(set(parts)))
    contests = [
        replace(contest, worth=contest.worth * share)
        for one, share in zip(queries, shares, strict=True)
        for contest in one.contests
    ]
    return ascend(contests, shipped_weights())


def shipped_weights() -> list[float]:
    """Return those of the shipped weights that are fitted."""
    named = zip(FEATURES, default_model().weights, strict=True)
    return [weight for name, weight in named if name in FITTED]


class Material(NamedTuple):
    """What is asked of the catalogues of a set, beside its queries.

    Attributes:
        noise: What no tool answers.
        hints: The texts of each tool, by its key; none where a set has no file.
    """

    noise: Sequence[str]
    hints: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path, wordnet: Path) -> Material:
        """Read the file of a set, and draw noise for it."""
        drawn = random.Random(folder.name).sample(samplings.example_sentences(wordnet), SENTENCES)
        file = folder.parent.parent / "hints" / f"{folder.name}.hints.yaml"
        hints = yaml.safe_load(file.read_text("utf-8"))["tools"] if file.exists() else {}
        return cls([*running_text(), *drawn], hints)


def asked_of_all(
    folders: Sequence[Path], wordnet: Path, count: int, weights: Sequence[float]
) -> list[Top]:
    """Return the best matches of what is asked of all sets, each in the company of the next."""
    pairs = zip(folders, [*folders[1:], *folders[:1]], strict=True)
    return [one for pair in pairs for one in asked(*pair, wordnet, count, weights)]


def asked(
    folder: Path, beside: Path, wordnet: Path, count: int, weights: Sequence[float]
) -> Iterator[Top]:
    """Return the best matches of what is asked of each catalogue that is made of a set."""
    material = Material.read(folder, wordnet)
    for catalogue in catalogues_of(folder, beside, count):
        yield from asked_of(folder, catalogue, material, count, weights)
        if material.hints and catalogue.name == WHOLE:
            hinted = catalogue._replace(name=HINTED, is_asked_noise=True)
            yield from asked_of(folder, hinted, material, count, weights)


def asked_of(
    folder: Path, catalogue: Catalogue, material: Material, count: int, weights: Sequence[float]
) -> Iterator[Top]:
    """Return the best matches of what is asked of one catalogue."""
    model = default_model()._replace(weights=merge_fitted_weights(weights))
    is_hinted = catalogue.name == HINTED
    engine = load_engine(catalogue.tools, material.hints, "generated" if is_hinted else "none")
    asker = Asker(folder.name, catalogue, model, engine)
    for variant in VARIANTS:
        yield from asker.judged(read(folder / variant, count), variant == VARIANTS[0])
    yield from asker.named(samplings.tools_of(folder))
    if not is_hinted:
        yield from asker.short(material.hints)
    if catalogue.is_asked_noise:
        for text in material.noise:
            yield from asker.seen(text, set(), NOISE, ASKED)


class Asker:
    """Asks one catalogue."""

    def __init__(self, name: str, catalogue: Catalogue, model: Model, engine: mcpg.Engine) -> None:
        self._name, self._catalogue, self._model = name, catalogue, model
        self._engine = engine
        self._kept = {texts.key(tool) for tool in catalogue.tools}

    def judged(self, queries: list[dict[str, Any]], with_words: bool) -> Iterator[Top]:
        """Ask judged queries, and perhaps a few words of each."""
        told: Counter[str] = Counter()
        for place, query in enumerate(queries):
            judged = set(query["relevant"])
            relevant = judged & self._kept
            kind = JUDGED if relevant else ANSWERLESS
            is_taken = self._catalogue.takes(place, len(judged), len(relevant))
            if told[kind] == self._catalogue.most or not is_taken:
                continue
            told[kind] += 1
            yield from self.seen(query["query"], relevant, kind, ASKED)
            if with_words:
                words = few_words(query["query"], self._engine)
                yield from self.seen(words, relevant, kind, WORDS)

    def short(self, hints: Mapping[str, Any]) -> Iterator[Top]:
        """Ask for tools by two of their texts each."""
        rng = random.Random(self._name)
        keys = sorted(hints)
        rng.shuffle(keys)
        for key in keys[: MOST_SHORT // 2]:
            told = [*hints[key].get("examples", ()), *hints[key].get("aliases", ())]
            relevant = {key} & self._kept
            for text in rng.sample(told, min(2, len(told))):
                yield from self.seen(text, relevant, JUDGED if relevant else ANSWERLESS, SHORT)

    def named(self, tools: list[dict[str, Any]]) -> Iterator[Top]:
        """Ask for some tools by their names, as they are and misspelt."""
        rng = random.Random(self._name)
        holders: defaultdict[str, set[str]] = defaultdict(set)
        for tool in tools:
            holders[" ".join(split_words(tool["name"]))].add(texts.key(tool))
        for name in rng.sample(sorted(holders), min(len(holders), MOST_NAMES)):
            relevant = holders[name] & self._kept
            kind = JUDGED if relevant else ANSWERLESS
            yield from self.seen(name, relevant, kind, NAMES)
            slipped = misspelt(name, rng)
            if slipped != name:
                yield from self.seen(slipped, relevant, kind, MISSPELT_NAMES)

    def seen(self, query: str, relevant: set[str], kind: str, form: str) -> Iterator[Top]:
        """Return the best matches of a query with what the calibration is told of them."""
        index, catalogue = self._engine.index, self._catalogue
        sample = look(query, index, numbers_of(index, relevant))
        for top in tops(sample, self._model):
            place = self._name, kind, form, top.rank, top.inputs, top.is_right, top.answerable
            yield Top(*place, catalogue.name, catalogue.company)


def few_words(query: str, engine: mcpg.Engine) -> str:
    """Give some words of a query, drawn by a seed, in their order; no function words."""
    rng = random.Random(query)
    clauses = analyse(query, engine.index).clauses
    words = [clause.text for clause in clauses if clause.role in ("term", "unknown")]
    count = min(rng.randint(1, MOST_WORDS), len(words))
    return " ".join(words[place] for place in sorted(rng.sample(range(len(words)), count)))


def misspelt(text: str, rng: random.Random) -> str:
    """Drop a letter of a long word, or swap two; a text without long words stays."""
    long_words = [word for word in text.split() if len(word) >= LONG_WORD]
    if not long_words:
        return text
    word = rng.choice(long_words)
    place = rng.randrange(1, len(word) - 1)
    swapped = word[place + 1] + word[place] if rng.random() < 1 / 2 else ""
    return text.replace(word, word[:place] + swapped + word[place + (2 if swapped else 1) :], 1)


def running_text() -> list[str]:
    """Return some words drawn by how frequent they are in English: what asks for nothing."""
    table = WordTable(memoryview(WORDS_OF_ENGLISH.read_bytes()))
    frequencies = [10 ** table.read_zipf(number) for number in range(len(table))]
    words = [table.word(number) for number in range(len(table))]
    rng = random.Random(0)
    counts = [rng.randint(1, MOST_RUNNING_WORDS) for _ in range(RUNNING_TEXTS)]
    return [" ".join(rng.choices(words, frequencies, k=count)) for count in counts]


def shares(samples: Sequence[Top]) -> list[float]:
    """Give each sample its weight: every set the same, and every catalogue of a set.

    Kinds, forms and ranks weigh as told above.
    """
    made = Counter(name for name, _ in {(one.set, one.catalogue) for one in samples})

    def mass(key: Any) -> float:
        name, _, kind, form, rank = key
        return SHARES[kind] * FORMS[form] * (LOWER if rank else 1) / made[name]

    return evenly([(one.set, one.catalogue, one.kind, one.form, one.rank) for one in samples], mass)


def seen_in(samples: Sequence[Top], names: set[str]) -> list[Top]:
    """Return what was seen in catalogues that hold none but these sets."""
    return [one for one in samples if {one.set, one.company} <= {*names, ""}]


class Calibration(NamedTuple):
    """Both regressions, the intercepts first."""

    answerable: Fit
    chosen: Fit

    def probability(self, sample: Top) -> float:
        """Return the calibrated score of a sample."""
        return apply(self.answerable, sample.answerable) * apply(self.chosen, sample.inputs)


def apply(fitted: Fit, inputs: Sequence[float]) -> float:
    """Return the probability of a fitted regression."""
    return sigmoid(fitted[0] + sum(map(mul, inputs, fitted[1:])))


def fit_scores(samples: Sequence[Top]) -> Calibration:
    """Return a fitted calibration."""
    answerable = fit_answerable([one for one in samples if not one.rank])
    asked = [one for one in samples if one.kind != NOISE]
    chosen = standardised_logistic(
        [one.inputs for one in asked],
        [one.is_right for one in asked],
        shares(asked),
        ridge=RIDGE,
        most=[apply(answerable, one.answerable) for one in asked],
    )
    return Calibration(answerable, chosen)


def fit_answerable(firsts: Sequence[Top]) -> Fit:
    """Return the regression that tells right matches from those of noise; all sets weigh alike."""
    right = [one for one in firsts if one.is_right and one.form in ANSWERED]
    noise = [one for one in firsts if one.kind == NOISE]
    counts = Counter((one.set, one.form) for one in right)
    totals: Counter[str] = Counter()
    for (name, form), count in counts.items():
        totals[name] += ANSWERED[form] * count
    made = Counter(one.set for one in noise)
    weights = [
        *(ANSWERED_SHARE * ANSWERED[one.form] / totals[one.set] for one in right),
        *(1 / made[one.set] for one in noise),
    ]
    rows = [one.answerable for one in (*right, *noise)]
    return standardised_logistic(
        rows, [True] * len(right) + [False] * len(noise), weights, ridge=RIDGE
    )


def scores(samples: Sequence[Top], fitted: Calibration) -> list[float]:
    """Return the calibrated score of each sample."""
    return [fitted.probability(one) for one in samples]


def of_form(samples: Sequence[Top], form: str = ASKED) -> list[Top]:
    """Return the best match of each query of one form, asked of whole catalogues."""
    return [one for one in samples if not one.rank and one.form == form and one.catalogue == WHOLE]


def calibration_error(samples: Sequence[Top], fitted: Calibration) -> float:
    """Return the expected calibration error of best matches."""
    firsts = [one for one in of_form(samples) if one.kind != NOISE]
    right = [one.is_right for one in firsts]
    return weighted_calibration_error(scores(firsts, fitted), right, shares(firsts))


def separation(samples: Sequence[Top], fitted: Calibration, kind: str) -> float:
    """Return how often a right best match scores above a best match of that *kind* (AUROC)."""
    firsts = of_form(samples)
    right = scores([one for one in firsts if one.is_right], fitted)
    wrong = scores([one for one in firsts if one.kind == kind], fitted)
    found = auroc(right, wrong)
    return 1.0 if found is None else found


def left_out(
    names: Sequence[str], fit_on: Callable[[set[str]], Fitted], test: Callable[[str, Fitted], str]
) -> None:
    """Fit on all sets but one, and print what `test` says of that one."""
    for name in names:
        print(f"  without {name:<18} {test(name, fit_on(set(names) - {name}))}", flush=True)


def shown(means: dict[tuple[str, str], float]) -> str:
    """Give mean nDCG@5 by variant."""
    by_variant = [[value for (_, v), value in means.items() if v == one] for one in VARIANTS]
    return " / ".join(f"{fmean(values):.4f}" for values in by_variant if values)


def fit_fusion(queries: Sequence[Judged], names: Sequence[str]) -> tuple[Fit, str]:
    """Fit the fusion, print figures fitted and left out, and give weights and their summary."""
    weights = fit_weights(queries)
    print("fitted on all:", shown(mean_ndcg(queries, weights)))
    unseen: dict[tuple[str, str], float] = {}

    def test(name: str, fitted: Fit) -> str:
        found = mean_ndcg((one for one in queries if one.set == name), fitted)
        unseen.update(found)
        return shown(found)

    left_out(names, lambda kept: fit_weights([q for q in queries if q.set in kept]), test)
    print("left out:     ", shown(unseen))
    return weights, shown(unseen)


def fit_calibration(samples: Sequence[Top], names: Sequence[str]) -> tuple[Calibration, str]:
    """Fit the calibration, print figures left out, and give coefficients and their summary."""
    found: list[tuple[float, float, float]] = []

    def test(name: str, fitted: Calibration) -> str:
        own = [one for one in samples if one.set == name]
        apart = [separation(own, fitted, kind) for kind in (ANSWERLESS, NOISE)]
        found.append((calibration_error(own, fitted), apart[0], apart[1]))
        return "error {:.4f}, AUROC against answerless {:.3f}, noise {:.3f}".format(*found[-1])

    left_out(names, lambda kept: fit_scores(seen_in(samples, kept)), test)
    error, answerless, noise = map(fmean, zip(*found, strict=True))
    summary = (
        f"error {error:.3f}, AUROC of right against answerless {answerless:.3f}, noise {noise:.3f}"
    )
    print("left out:", summary)
    return fit_scores(samples), summary


def document(weights: Fit, calibration: Calibration, provenance: str) -> str:
    """Write a model as the data file has it."""
    intercept, *coefficients = (round(one, WEIGHT_DECIMALS) for one in calibration.chosen)
    first, *others = (round(one, WEIGHT_DECIMALS) for one in calibration.answerable)
    model = Model(merge_fitted_weights(weights), intercept, tuple(coefficients), (first, *others))
    ranking = Ranking(model, ModelProvenance(default_provenance().name, provenance))
    named = dict(zip(ANSWERABLE_INPUTS, others, strict=True))
    answerable = {"intercept": first, "coefficients": named}
    return json.dumps(ranking_json(ranking, FEATURES) | {"answerable": answerable}, indent=2) + "\n"


def main() -> None:
    """Fit, print, and perhaps write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--sets", default="")
    parser.add_argument("--keep-weights", action="store_true", help="fit the calibration alone")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    folders = sorted(path for path in arguments.folder.iterdir() if (path / "tools.json").exists())
    chosen = [f for f in folders if not arguments.sets or f.name in arguments.sets.split(",")]
    names = [folder.name for folder in chosen]
    made = (
        f"benchmarks/fit_ranking.py on {', '.join(names)}; {arguments.queries} queries a set, clean"
        " and misspelt, seed 0"
    )
    weights, told = tuple(shipped_weights()), default_provenance().provenance.split(SURE)[0]
    if not arguments.keep_weights:
        queries = [one for folder in chosen for one in pools(folder, arguments.queries)]
        weights, unseen = fit_fusion(queries, names)
        told = f"{made}; nDCG@5 of sets left out {unseen}"
    samples = asked_of_all(chosen, arguments.wordnet, arguments.queries, weights)
    calibration, sure = fit_calibration(samples, names)
    text = document(weights, calibration, f"{told}{SURE}{sure}")
    print(text)
    if arguments.write:
        file = Path(mcpg.search.__file__).parent / "data" / "ranking.json"
        file.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
