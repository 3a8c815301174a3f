"""The fitted model: weights of the fused score, their calibration, and the origin of both.

An index contains the model that it was compiled with; the model of mcpg is a data file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from mcpg.errors import Diagnostic
from mcpg.index import Index
from mcpg.index.layout import StaleIndexError
from mcpg.index.tables import Section
from mcpg.text.json_values import read_json, write_json
from mcpg.values import to_json

OPENING = "opening"
"""The section of an index for the diagnostics of reading its bundle."""


def pack_notices(path: str, diagnostics: Iterable[Diagnostic]) -> Section:
    """Return the section for the diagnostics of reading the bundle at *path*."""
    # Places below the bundle are kept without its path, which others may write differently.
    noticed = [
        to_json(one) | {"place": [one.place.removeprefix(path)]}
        if one.place and one.place.startswith(path)
        else to_json(one)
        for one in diagnostics
    ]
    return Section(OPENING, "B", write_json(noticed).encode("utf-8", "surrogatepass"))


def read_notices(index: Index, path: str) -> tuple[Diagnostic, ...] | None:
    """Return the diagnostics of reading the bundle of *index*, at *path*, `None` if unknown."""
    if not index.has_section(OPENING):
        return None
    rows = read_json(str(index.section(OPENING), "utf-8", "surrogatepass"))
    below = [row for row in rows if isinstance(row["place"], list)]
    for row in below:
        row["place"] = path + row["place"][0]
    return tuple(Diagnostic(**row) for row in rows)


FEATURES = (
    "bm25f",
    "nameCoverage",
    "openingName",
    "grams",
    "cosine",
    "source",
    "coverage",
    "sentence",
    "related",
    "relatedName",
    "operation",
    "question",
    "contextEdge",
    "contextWalk",
    "contextSource",
    "exactName",
    "meaning",
    "intent",
)
"""The features of the fused score, in the order in which models list their weights."""

INPUTS = (
    "gramsLead",
    "meaningLead",
    "tenthLead",
    "nextLead",
    "queryWords",
    "relatedName",
    "operation",
    "exactName",
)
"""The inputs of the calibration, in the order in which models list their coefficients.

`gramsLead` is the cosine of 3-grams less the mean of the five greatest, `meaningLead` the same for
the nearness of meaning. `tenthLead` and `nextLead` are the logarithm of one more than the fused
score, without the contributions of intents and kinds of operations, less the same for the tenth and
for the next match, at most 5; `nextLead` is multiplied by 1 for a request of one word and by less
for a longer one. All leads except `meaningLead` are multiplied by the content of the most specific
word that the tool contains. `queryWords` is the logarithm of one more than the number of words,
stop words among them; `relatedName` and `operation` are features; `exactName` is 1 if the query
spells the tool's name, else the share of the query that an alias at its start is, divided among all
tools with that alias.
"""

ANSWERABLE_INPUTS = ("heldWords", "queryWords", "missingWord", "exactName")
"""The inputs of the probability that the catalog answers the request at all.

`heldWords` is the logarithm of one more than the content of the query's words that the tool
contains: about their number without stop words and filler. `missingWord` is the weight of the
heaviest word that neither the tool's words nor related ones answer, as a share of its weight and
all answered weight; a repaired or related word counts in part.
"""


class Model(NamedTuple):
    """Fitted numbers.

    Attributes:
        weights: Weights of the fused score, in the order of `FEATURES`.
        intercept: The calibration's logit where every input is 0.
        coefficients: The calibration's coefficients, in the order of `INPUTS`.
        answerable: An intercept and coefficients in the order of `ANSWERABLE_INPUTS`.
    """

    weights: tuple[float, ...]
    intercept: float
    coefficients: tuple[float, ...]
    answerable: tuple[float, ...]


def flatten(model: Model) -> tuple[float, ...]:
    """Return the numbers of *model* as an index keeps them."""
    return (*model.weights, model.intercept, *model.coefficients, *model.answerable)


def read_model(index: Index) -> Model:
    """Return the model that *index* was compiled with."""
    numbers = tuple(index.section("model"))
    count, end = len(FEATURES), len(FEATURES) + 1 + len(INPUTS)
    if len(numbers) != end + 1 + len(ANSWERABLE_INPUTS):
        raise StaleIndexError("its model is of another kind")
    return Model(numbers[:count], numbers[count], numbers[count + 1 : end], numbers[end:])


_FILE = Path(__file__).parent / "data" / "ranking.json"


def recipe() -> bytes:
    """Return the further input of an index beside its documents: the shipped model, as written."""
    return _FILE.read_bytes()


def default_provenance() -> ModelProvenance:
    """Return where the model of `data/ranking.json` comes from."""
    members = json.loads(recipe())
    return ModelProvenance(members["name"], members["provenance"])


def default_model() -> Model:
    """Read the model of `data/ranking.json`."""
    members = json.loads(recipe())
    weights, calibration = members["weights"], members["calibration"]
    answerable = members["answerable"]
    return Model(
        tuple(float(weights[name]) for name in FEATURES),
        float(calibration["intercept"]),
        tuple(float(calibration["coefficients"][name]) for name in INPUTS),
        (
            float(answerable["intercept"]),
            *(float(answerable["coefficients"][name]) for name in ANSWERABLE_INPUTS),
        ),
    )


PROVENANCE = "model.origin"
"""Section of an index with the provenance of its model, as JSON; no search reads it."""

IGNORED = "model.ignored"
"""Section with the reason why the model of the bundle is not used; absent where it is."""


class ModelProvenance(NamedTuple):
    """A model's name, and for readers its data, method and quality."""

    name: str
    provenance: str = ""


def provenance_sections(origin: ModelProvenance, ignored: str = "") -> list[Section]:
    """Return the sections of an index for the provenance of its model.

    *ignored* is the reason why the model of the bundle is not used, or "".
    """
    members = {"name": origin.name, "provenance": origin.provenance}
    sections = [Section(PROVENANCE, "B", json.dumps(members).encode())]
    return [*sections, Section(IGNORED, "B", ignored.encode())] if ignored else sections


def read_provenance(index: Index) -> ModelProvenance:
    """Return the provenance of the model of *index*."""
    try:
        members = read_json(str(index.section(PROVENANCE), "utf-8"))
        return ModelProvenance(str(members["name"]), str(members["provenance"]))
    except (KeyError, TypeError, ValueError, RecursionError) as fault:
        raise StaleIndexError("the origin of its model is broken") from fault


def read_ignored_reason(index: Index) -> str:
    """Return why *index* does not use the model of its bundle, or ""."""
    if not index.has_section(IGNORED):
        return ""
    return bytes(index.section(IGNORED)).decode("utf-8", "replace")
