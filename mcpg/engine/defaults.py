"""The model that ships with mcpg: a data file with its provenance."""

from __future__ import annotations

import os

from mcpg.engine.features import FEATURES
from mcpg.engine.model import INPUTS, Model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpg.engine.origin import ModelOrigin

_FILE = os.path.join(os.path.dirname(__file__), "data", "ranking.json")  # noqa: PTH118, PTH120 - pathlib costs a cold search more than the file


def recipe() -> bytes:
    """Give what an index depends on beside its documents: the shipped model, as written."""
    with open(_FILE, "rb") as file:  # noqa: PTH123 - as above
        return file.read()


def default_origin() -> ModelOrigin:
    """Say where the model of `data/ranking.json` comes from."""
    import json  # noqa: PLC0415 - as below

    from mcpg.engine.origin import ModelOrigin  # noqa: PLC0415 - as below

    members = json.loads(recipe())
    return ModelOrigin(members["name"], members["provenance"])


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
