"""Fit the coefficients of `mcpg/ask/intent.py`, and measure them.

    python benchmarks/fit_intents.py                        write mcpg/ask/data/intents.json
    python benchmarks/fit_intents.py --check QUESTIONS TOOLS    measure on labelled questions

The questions to fit on are those of `intent_questions.py`. A fifth of the wordings, not of the
questions, is held out to measure how well the fit carries over to other wordings.

Source: multinomial logistic regression with a Gaussian prior, fitted by L-BFGS in full batches:
Nocedal & Wright, "Numerical Optimization", 2006, algorithm 7.5.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from intent_questions import SYMBOLS, questions, tools

from mcpg.ask.asker import SymbolAnswerers
from mcpg.ask.intent import OF_CODE, decide, extract_question_features
from mcpg.ask.mentions import NameLookup, recognise, tokenize_question
from mcpg.ask.model import MODELLED_INTENTS as INTENTS
from mcpg.bundle import assemble
from mcpg.engine import load
from mcpg.engine.loading import compile_assembly
from mcpg.index.reader import Index
from mcpg.sources import SourceBatch
from mcpg.text.literals import find_literals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Row = tuple[str, dict[str, float], str]
    Weights = dict[str, dict[str, float]]
    Vector = NDArray[np.float64]

DATA = Path(__file__).parent.parent / "mcpg/ask/data/intents.json"
PENALTY = 1.0
DECIMALS = 3
_STEPS, _MEMORY = 400, 12
_LEAST_WEIGHT = 0.02


def names() -> NameLookup:
    """Return the names of the invented servers."""
    return NameLookup(Index(compile_assembly(assemble(SourceBatch(tools=tuple(tools()))))))


class _Symbols:
    """The names of the invented source code."""

    def __init__(self) -> None:
        names = {name.casefold() for name in SYMBOLS}
        self._names = names | {name.rpartition(".")[2] for name in names}

    def has(self, name: str) -> bool:
        return name.casefold() in self._names

    def near(self, _: str) -> str:
        return ""

    def imports(self, _: str) -> bool:
        return False


def rows(asked: Iterable[tuple[str, str]], known: NameLookup) -> Iterator[Row]:
    """Return intent and features of each question that mentions anything."""
    for intent, text in asked:
        tokens = tokenize_question(text)
        mentions = recognise(tokens, known, _Symbols())
        if mentions:
            yield (
                intent,
                extract_question_features(tokens, mentions, len(find_literals(text))),
                text,
            )


def fit(found: Sequence[Row], penalty: float = PENALTY) -> Weights:
    """Return the coefficients by intent and feature."""
    columns = sorted({name for _, features, _ in found for name in features})
    places = {name: place for place, name in enumerate(columns)}
    inputs = np.zeros((len(found), len(columns)))
    for row, (_, features, _) in enumerate(found):
        for name, amount in features.items():
            inputs[row, places[name]] = amount
    targets = np.array([INTENTS.index(intent) for intent, _, _ in found])
    counts = Counter(intent for intent, _, _ in found)
    share = np.array([len(found) / len(INTENTS) / counts[intent] for intent, _, _ in found])
    wanted = np.eye(len(INTENTS))[targets]

    def loss(flat: Vector) -> tuple[float, Vector]:
        weights = flat.reshape(len(columns), len(INTENTS))
        logits = inputs @ weights
        logits -= logits.max(axis=1, keepdims=True)
        odds = np.exp(logits)
        shares = odds / odds.sum(axis=1, keepdims=True)
        cost = -(share * np.log(shares[range(len(found)), targets] + 1e-12)).sum()
        slope = inputs.T @ ((shares - wanted) * share[:, None])
        return cost + penalty * (weights**2).sum() / 2, (slope + penalty * weights).ravel()

    weights = minimise(loss, np.zeros(len(columns) * len(INTENTS)))
    table = weights.reshape(len(columns), len(INTENTS))
    return {
        intent: {
            name: round(float(table[places[name], number]), DECIMALS)
            for name in columns
            if abs(table[places[name], number]) >= _LEAST_WEIGHT
        }
        for number, intent in enumerate(INTENTS)
    }


def fit_both(found: Sequence[Row], penalty: float = PENALTY) -> Weights:
    """Return the coefficients of questions about tools, and of those about code alone."""
    code = [row for row in found if next(iter(row[1])).startswith(OF_CODE)]
    others = [row for row in found if not next(iter(row[1])).startswith(OF_CODE)]
    tools_weights, code_weights = fit(others, penalty), fit(code, penalty)
    return {intent: tools_weights[intent] | code_weights[intent] for intent in INTENTS}


def minimise(loss: Callable[[Vector], tuple[float, Vector]], start: Vector) -> Vector:
    """Return where *loss*, which returns value and slope, is least."""
    at, (cost, slope) = start, loss(start)
    steps, slopes = [], []
    for _ in range(_STEPS):
        way = -direction(slope, steps, slopes)
        reach, gain = 1.0, 1e-4 * float(slope @ way)
        while True:
            after = at + reach * way
            new_cost, new_slope = loss(after)
            if new_cost <= cost + reach * gain or reach < 1e-10:
                break
            reach /= 2
        steps, slopes = [*steps, after - at][-_MEMORY:], [*slopes, new_slope - slope][-_MEMORY:]
        if abs(cost - new_cost) < 1e-7 * max(1.0, cost):
            return after
        at, cost, slope = after, new_cost, new_slope
    return at


def direction(slope: Vector, steps: Sequence[Vector], slopes: Sequence[Vector]) -> Vector:
    """Return the slope times the approximate inverse of the curvature (two-loop recursion)."""
    kept = [(s, y) for s, y in zip(steps, slopes, strict=True) if s @ y > 1e-12]
    way, amounts = slope.copy(), []
    for step, change in reversed(kept):
        amount = step @ way / (step @ change)
        amounts.append(amount)
        way -= amount * change
    if kept:
        step, change = kept[-1]
        way *= step @ change / (change @ change)
    else:
        way /= max(1.0, np.linalg.norm(slope))
    for (step, change), amount in zip(kept, reversed(amounts), strict=True):
        way += (amount - change @ way / (step @ change)) * step
    return way


def held_out(
    found_by_wording: Sequence[Sequence[Row]], penalty: float
) -> tuple[float, Counter[tuple[str, str]]]:
    """Return the share that a fit on four fifths of the wordings decides right on the others."""
    import mcpg.ask.intent as module

    right = total = 0
    confusion, shown = Counter(), Counter()
    for fold in range(5):
        train = [one for n, group in enumerate(found_by_wording) if n % 5 != fold for one in group]
        test = [one for n, group in enumerate(found_by_wording) if n % 5 == fold for one in group]
        weights = fit_both(train, penalty)
        module._weights = lambda weights=weights: weights  # noqa: SLF001 - measured in place
        for intent, features, text in test:
            found = module.probabilities(features)
            best = max(INTENTS, key=found.get)
            right += best == intent
            total += 1
            if best != intent:
                confusion[intent, best] += 1
                shown[intent, best, text] += 1
    for intent, best, text in sorted(shown):
        print(f"{intent:14}{best:14}{text}")
    return right / total, confusion


def check(questions_path: str, tools_path: str) -> None:
    """Print the labelled questions whose intent is decided wrongly, and the share that is right."""
    known = NameLookup(load(tools_path, embeddings=None).index)
    asked = [json.loads(line) for line in Path(questions_path).read_text().splitlines() if line]
    right = 0
    for row in asked:
        tokens = tokenize_question(row["question"])
        literals = len(find_literals(row["question"]))
        found = decide(tokens, recognise(tokens, known, SymbolAnswerers(known.index)), literals)
        right += found.intent == row["intent"]
        if found.intent != row["intent"]:
            print(f"{row['intent']:14}{found.intent:14}{found.probability:.2f}  {row['question']}")
            print(f"{'':33}{'; '.join(found.evidence)}")
    print(f"{right} of {len(asked)} right: {right / len(asked):.3f}")


def main() -> None:
    """Fit, or measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", nargs=2, metavar=("QUESTIONS", "TOOLS"))
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--penalty", type=float, default=PENALTY)
    options = parser.parse_args()
    if options.check:
        check(*options.check)
        return
    known = names()
    each = 6
    if options.held_out:
        asked = list(questions(each=each))
        groups, at = [], 0
        while at < len(asked):
            groups.append(list(rows(asked[at : at + each], known)))
            at += each
        share, confusion = held_out(groups, options.penalty)
        print(f"held-out wordings: {share:.3f}", confusion.most_common(8))
        return
    found = list(rows(questions(each=each), known))
    weights = fit_both(found, options.penalty)
    origin = f"fitted by benchmarks/fit_intents.py on {len(found)} questions, penalty {PENALTY}"
    members = {"provenance": origin, "weights": weights}
    DATA.write_text(json.dumps(members, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(origin, file=sys.stderr)


if __name__ == "__main__":
    main()
