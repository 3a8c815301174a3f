"""The steps of a deployment: a chain of tools of which no two share a word."""

from __future__ import annotations

from itertools import pairwise

from builders import make_tool

from mcpg.catalog.model import HintRule

STEPS = ("clone", "npm_install", "build", "run_tests", "deploy_prod")
_DESCRIPTIONS = (
    "Clone a Git repository to a local folder.",
    "Download the packages of package.json.",
    "Compile the sources.",
    "Execute the unit checks.",
    "Deploy the application to production.",
)
DEPLOYMENT = tuple(
    make_tool(name, description=text, source_id="ci")
    for name, text in zip(STEPS, _DESCRIPTIONS, strict=True)
)
CHAIN = tuple(HintRule(first, next_steps=(then,)) for first, then in pairwise(STEPS))
