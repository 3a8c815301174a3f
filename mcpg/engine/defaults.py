"""The model that ships with mcpg: a data file with its provenance."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from mcpg.engine.confidence import INPUTS
from mcpg.engine.features import FEATURES
from mcpg.engine.model import Model


@cache
def default_model() -> Model:
    """Read the model of `data/ranking.json`."""
    members = json.loads(_text())
    weights, calibration = members["weights"], members["calibration"]
    return Model(
        tuple(float(weights[name]) for name in FEATURES),
        float(calibration["intercept"]),
        tuple(float(calibration["coefficients"][name]) for name in INPUTS),
    )


def recipe() -> bytes:
    """Give what an index depends on beside its documents: the shipped model, as written."""
    return _text().encode()


def _text() -> str:
    file = resources.files("mcpg.engine") / "data" / "ranking.json"
    return file.read_text(encoding="utf-8")
