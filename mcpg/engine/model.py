"""The fitted model: weights of the fused score, and the calibration of it.

An index holds the model that it was compiled with; the one that ships with mcpg is a data file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from mcpg.engine.features import FEATURES
from mcpg.index import Index
from mcpg.values import value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from mcpg.engine.provenance import ModelProvenance

INPUTS = (
    "likenessLead",
    "gramsLead",
    "margin",
    "heldWords",
    "heldShare",
    "queryWords",
    "literalShare",
    "repairedShare",
    "openingName",
    "exactName",
)
"""The inputs of the calibration, in the order in which models list their coefficients."""


@value
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


def model_of(index: Index) -> Model:
    """Return the model that *index* was compiled with."""
    return unflatten(tuple(index.section("model")))


def unflatten(numbers: Sequence[float]) -> Model:
    """Return the model that was flattened into *numbers*.

    Raises:
        StaleIndexError: There are too few or too many of them.
    """
    from mcpg.index.layout import StaleIndexError  # noqa: PLC0415 - only a damaged index needs it

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
    import json  # noqa: PLC0415 - as below

    from mcpg.engine.provenance import ModelProvenance  # noqa: PLC0415 - as below

    members = json.loads(recipe())
    return ModelProvenance(members["name"], members["provenance"])


def default_model() -> Model:
    """Read the model of `data/ranking.json`."""
    import json  # noqa: PLC0415 - a search finds the model in its index

    members = json.loads(recipe())
    weights, calibration = members["weights"], members["calibration"]
    return Model(
        tuple(float(weights[name]) for name in FEATURES),
        float(calibration["intercept"]),
        tuple(float(calibration["coefficients"][name]) for name in INPUTS),
    )
