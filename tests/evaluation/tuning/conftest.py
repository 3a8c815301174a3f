"""What tests of tuning share: a catalogue of made-up words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lopsided
import pytest
from builders import make_engine

from mcpg.evaluation.fit import Case, build_cases
from mcpg.evaluation.judged import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.engine import Engine
    from mcpg.evaluation.judged import Judgements


@pytest.fixture(scope="session")
def engine() -> Engine:
    """An engine that searches the catalogue."""
    return make_engine(*lopsided.tools())


@pytest.fixture(scope="session")
def cases(engine: Engine) -> Callable[[Judgements], list[Case]]:
    """Make cases of judged queries."""

    def make(judgements: Judgements) -> list[Case]:
        resolved = resolve(judgements, engine.catalog)
        return build_cases(resolved, engine.index, disabled=frozenset())

    return make
