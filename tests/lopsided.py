"""Catalogues of made-up words, and judged queries for them, from a seed.

In one, the tool that is meant is told by its name, while the rest of the query is what another
tool's description talks about: a ranking that heeds names more than descriptions is right there. In
the other, which tool is meant has nothing to do with any word.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from builders import make_tool

from mcpg.evaluation.judged import JudgedQuery, Judgements

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcpg.catalog.model import Tool
    from mcpg.engine import Engine

TOOLS = 60
_SYLLABLES = [one + two for one in "bdfgklmnprstvz" for two in "aeiou"]


def words(draw: random.Random, count: int) -> list[str]:
    """Make up different words."""
    made: dict[str, None] = {}
    while len(made) < count:
        made["".join(draw.choices(_SYLLABLES, k=4))] = None
    return list(made)


def tools(seed: int = 0) -> list[Tool]:
    """Make tools whose names have two words, and whose descriptions have eight others."""
    draw = random.Random(seed)
    pool = words(draw, TOOLS * 10)
    return [
        make_tool(
            "_".join(pool[place * 10 : place * 10 + 2]),
            description=f"{' '.join(pool[place * 10 + 2 : place * 10 + 10]).capitalize()}.",
        )
        for place in range(TOOLS)
    ]


def by_name(count: int = 120, seed: int = 1) -> Judgements:
    """Ask with the name of the tool that is meant, after more of another's description."""
    draw, all_tools = random.Random(seed), tools()
    return _judged(
        (meant, [*_described(draw, other, draw.randint(2, 6)), *meant.name.split("_")])
        for meant, other in (draw.sample(all_tools, 2) for _ in range(count))
    )


def by_chance(engine: Engine, count: int = 120, seed: int = 1) -> Judgements:
    """Ask with words of two tools, and judge as often as a score says that its tool is meant."""
    draw, all_tools = random.Random(seed), tools()
    found = []
    for _ in range(count):
        one, other = draw.sample(all_tools, 2)
        asked = [*_described(draw, one, draw.randint(1, 4)), *_described(draw, other, 1)]
        asked += words(draw, draw.randint(0, 4))
        best = engine.search(" ".join(asked)).matches[0]
        is_right = draw.random() < best.score
        own = next(tool for tool in all_tools if tool.name == best.tool_name)
        found.append((own if is_right else draw.choice(all_tools), asked))
    return _judged(found)


def _described(draw: random.Random, tool: Tool, count: int) -> list[str]:
    return draw.sample(tool.description.rstrip(".").lower().split(), count)


def _judged(pairs: Iterable[tuple[Tool, Sequence[str]]]) -> Judgements:
    queries = (
        JudgedQuery(f"q{number}", " ".join(asked), (meant.name,), number)
        for number, (meant, asked) in enumerate(pairs, start=1)
    )
    return Judgements(tuple(queries), (), "queries.jsonl")
