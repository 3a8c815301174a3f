from __future__ import annotations

from itertools import permutations
from math import exp
from typing import TYPE_CHECKING

import pytest
from builders import make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.step_features import STEP_FEATURES, step_features
from mcpg.relations.server_sequences import StepScorer, describe_works, measure_size, step_weights

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool

VERBS = ("get", "list", "create", "update", "delete", "search", "archive")
NOUNS = ("order", "orders", "order_item", "user", "refund", "")
FIELDS = ("order_id", "user_id", "id", "refund")
WORDS = ("the", "order", "item", "user", "refund", "created", "get_user", "list_orders")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@st.composite
def described(draw: st.DrawFn, name: str) -> Tool:
    """Make a tool called *name*."""
    members = draw(st.dictionaries(st.sampled_from(FIELDS), TEXTS))
    properties = {field: {"type": "string", "description": text} for field, text in members.items()}
    required = draw(st.lists(st.sampled_from(sorted(members)), unique=True)) if members else []
    schema = {"type": "object", "properties": properties, "required": required}
    return make_tool(name, input_schema=schema, description=draw(TEXTS))


NAMES = st.builds(
    lambda verb, noun: f"{verb}_{noun}", st.sampled_from(VERBS), st.sampled_from(NOUNS)
)
SERVERS = st.lists(NAMES, min_size=2, max_size=6, unique=True).flatmap(
    lambda names: st.tuples(*map(described, names))
)


@settings(max_examples=50, deadline=None)
@given(SERVERS)
def test_the_probability_is_the_logistic_of_the_weighted_evidence(found: tuple[Tool, ...]) -> None:
    """The scorer adds up what `step_features` states, for each pair of tools."""
    works = describe_works(found)
    scorer, weights = StepScorer(works), step_weights()
    for (at, one), (to, other) in permutations(enumerate(works), 2):
        features = zip(STEP_FEATURES, step_features(one, other, measure_size(works)), strict=True)
        logit = sum(weights[name] * value for name, value in features)
        expected = 1 / (1 + exp(-max(-30, min(30, logit))))
        assert scorer.probability(at, to) == pytest.approx(expected, rel=1e-12)
