"""Reports of real searches."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mcpg
from mcpg.evaluation.judged import read_judged
from mcpg.evaluation.report import compare, evaluate, judge, parse_bounds, report_json

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `explain` says on a misspelt query to the examples, as JSON has it."""
    tools = tmp_path_factory.mktemp("explained") / "tools"
    shutil.copytree(ROOT / "examples/tools", tools)
    return mcpg.load(tools).explain("refund a shipmnt payment").to_dict()


@pytest.fixture(scope="session")
def stood(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `explain --tool` says of a tool that is not first."""
    tools = tmp_path_factory.mktemp("stood") / "tools"
    shutil.copytree(ROOT / "examples/tools", tools)
    found = mcpg.load(tools).explain("send label to buyer", tool="shipment_create")
    assert found.tool is not None
    return found.to_dict() | {"tool": found.tool.to_dict()}


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `eval` says on the examples, compared with a ranking without the best match."""
    tools = tmp_path_factory.mktemp("evaluated") / "tools"
    shutil.copytree(ROOT / "examples/tools", tools)
    report = evaluate(mcpg.load(tools), read_judged(ROOT / "examples/queries.yaml"))
    before = [
        replace(one, matches=one.matches[place % 2 :]) for place, one in enumerate(report.outcomes)
    ]
    report = replace(report, baseline=compare(before, report.outcomes))
    bounds = [*parse_bounds("min", "ndcg@5=0.999"), *parse_bounds("max-drop", "0.5")]
    report = replace(report, gates=judge(report, tuple(bounds)))
    return report_json(report)
