"""The fitted model: weights of the fused score, their calibration, and where both come from.

An index holds the model that it was compiled with; the one that ships with mcpg is a data file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.errors import Diagnostic
from mcpg.index import Index
from mcpg.index.layout import StaleIndexError
from mcpg.text.json_values import read_json, write_json
from mcpg.values import to_json

if TYPE_CHECKING:
    from mcpg.index.packing import Section


OPENING = "opening"
"""The section of an index for what was noticed when its bundle was read."""


def pack_notices(path: str, diagnostics: Iterable[Diagnostic]) -> Section:
    """Return the section for what was noticed when the bundle at *path* was read."""
    from mcpg.index.packing import Section  # noqa: PLC0415 - what only reads needs none

    # Places below the bundle are kept without its path, which others may write differently.
    noticed = [
        to_json(one) | {"place": [one.place.removeprefix(path)]}
        if one.place and one.place.startswith(path)
        else to_json(one)
        for one in diagnostics
    ]
    return Section(OPENING, "B", write_json(noticed).encode("utf-8", "surrogatepass"))


def read_notices(index: Index, path: str) -> tuple[Diagnostic, ...] | None:
    """Return what was noticed when the bundle of *index*, at *path*, was read.

    `None` where that is not known.
    """
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
    "intent",
)
"""The features of the fused score, in the order in which models list their weights."""

INPUTS = (
    "likenessLead",
    "gramsLead",
    "margin",
    "heldWords",
    "heldShare",
    "answeredShare",
    "queryWords",
    "repairedShare",
    "related",
    "relatedName",
    "openingName",
    "exactName",
)
"""The inputs of the calibration, in the order in which models list their coefficients."""


@dataclass(frozen=True, slots=True)
class Model:
    """Fitted numbers.

    Attributes:
        weights: Weights of the fused score, in the order of `FEATURES`.
        intercept: The calibration's logit where every input is 0.
        coefficients: The calibration's coefficients, in the order of `INPUTS`.
    """

    weights: tuple[float, ...]
    intercept: float
    coefficients: tuple[float, ...]


def flatten(model: Model) -> tuple[float, ...]:
    """Return the numbers of *model* as an index keeps them."""
    return (*model.weights, model.intercept, *model.coefficients)


def read_model(index: Index) -> Model:
    """Return the model that *index* was compiled with."""
    return unflatten(tuple(index.section("model")))


def unflatten(numbers: Sequence[float]) -> Model:
    """Return the model that was flattened into *numbers*.

    Raises:
        StaleIndexError: There are too few or too many of them.
    """
    count = len(FEATURES)
    if len(numbers) != count + 1 + len(INPUTS):
        raise StaleIndexError("its model is of another kind")
    return Model(tuple(numbers[:count]), numbers[count], tuple(numbers[count + 1 :]))


_FILE = os.path.join(os.path.dirname(__file__), "data", "ranking.json")  # noqa: PTH118, PTH120 - pathlib costs a cold search more than the file


def recipe() -> bytes:
    """Return what an index depends on beside its documents: the shipped model, as written."""
    with open(_FILE, "rb") as file:  # noqa: PTH123 - as above
        return file.read()


def default_provenance() -> ModelProvenance:
    """Return where the model of `data/ranking.json` comes from."""
    import json  # noqa: PLC0415 - a search finds the model in its index

    members = json.loads(recipe())
    return ModelProvenance(members["name"], members["provenance"])


def default_model() -> Model:
    """Read the model of `data/ranking.json`."""
    import json  # noqa: PLC0415 - as above

    members = json.loads(recipe())
    weights, calibration = members["weights"], members["calibration"]
    return Model(
        tuple(float(weights[name]) for name in FEATURES),
        float(calibration["intercept"]),
        tuple(float(calibration["coefficients"][name]) for name in INPUTS),
    )


PROVENANCE = "model.origin"
"""Section of an index with the provenance of its model, as JSON; no search reads it."""

IGNORED = "model.ignored"
"""Section with the reason why the model of the bundle is not used; absent where it is."""


@dataclass(frozen=True, slots=True)
class ModelProvenance:
    """A model's name, and for people what it was fitted on, how, and how well."""

    name: str
    provenance: str = ""


def provenance_sections(origin: ModelProvenance, ignored: str = "") -> list[Section]:
    """Return the sections of an index that hold the provenance of its model.

    *ignored* is the reason why the model of the bundle is not used, "" if it is or there is none.
    """
    import json  # noqa: PLC0415 - as above

    from mcpg.index.packing import Section  # noqa: PLC0415 - as above

    members = {"name": origin.name, "provenance": origin.provenance}
    sections = [Section(PROVENANCE, "B", json.dumps(members).encode())]
    return [*sections, Section(IGNORED, "B", ignored.encode())] if ignored else sections


def read_provenance(index: Index) -> ModelProvenance:
    """Return the provenance of the model of *index*.

    Raises:
        StaleIndexError: The section is missing or damaged.
    """
    from mcpg.text.json_values import read_json  # noqa: PLC0415 - as above

    try:
        members = read_json(str(index.section(PROVENANCE), "utf-8"))
        return ModelProvenance(str(members["name"]), str(members["provenance"]))
    except (KeyError, TypeError, ValueError, RecursionError) as fault:
        raise StaleIndexError("the origin of its model is broken") from fault


def read_ignored_reason(index: Index) -> str:
    """Return why *index* does not use the model of its bundle, "" if it does or there is none."""
    if not index.has_section(IGNORED):
        return ""
    return bytes(index.section(IGNORED)).decode("utf-8", "replace")
