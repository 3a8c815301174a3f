"""The evidence that one tool of a server follows another, spelt out as a fit needs it.

`mcpg.relations.server_sequences` adds up the same, weighed, without what is 0.
"""

from __future__ import annotations

from itertools import product

from mcpg.relations.server_sequences import (
    STAGES,
    Work,
    find_asked,
    find_greatest,
    measure_likeness,
)

STEP_FEATURES = (
    *(f"{a}>{b}" for a, b in product(STAGES, STAGES)),
    *(f"alike {a}>{b}" for a, b in product(STAGES, STAGES)),
    *(f"same head {a}>{b}" for a, b in product(STAGES, STAGES)),
    *(f"meets {a}>{b}" for a, b in product(STAGES, STAGES)),
    *(f"asks {a}>{b}" for a, b in product(STAGES, STAGES)),
    *("nouns alike", "same head", "rarest noun", "meets", "meets all", "meets own handle"),
    *("back to owner", "handles alike", "handles missing", "lacks a handle", "handles dropped"),
    *("told of nouns", "told of head", "prose of nouns", "nouns in prose"),
    *("prose alike", "needs alike", "takes alike", "open search"),
    *("open search for id", "first has no needs", "next has no needs", "both have nouns"),
    *("head contained", "first deletes", "next deletes", "asks for same nouns"),
    *("needs dropped", "size", "bias"),
)


def step_features(a: Work, b: Work, size: int) -> list[float]:
    """Return the evidence that *b* follows *a* in a server of a *size*, see `STEP_FEATURES`."""
    alike = measure_likeness(a.nouns, b.nouns)
    transition = [one * other for one in a.stages for other in b.stages]
    gap = [value for key, value in b.handles.items() if key not in a.handles and key != a.head]
    is_open = (a.kinds[0] + a.kinds[1]) * (not a.handles)
    same_head = float(a.head == b.head != "")
    met = 0.0 if a.head in a.handles else b.handles.get(a.head, 0.0)
    asked = find_asked(a, b)
    return [
        *transition,
        *(alike * one for one in transition),
        *(same_head * one for one in transition),
        *(met * one for one in transition),
        *(asked * one for one in transition),
        alike,
        same_head,
        find_greatest(a.nouns, b.nouns),
        met,
        float(met > 0 and not gap),
        b.handles.get(a.head, 0.0) if a.head in a.handles else 0.0,
        float(b.head in a.handles and a.head != b.head),
        measure_likeness(a.handles, b.handles),
        sum(gap),
        float(bool(gap)),
        sum(value for key, value in a.handles.items() if key not in b.handles),
        find_greatest(a.nouns, b.told),
        b.told.get(a.head, 0.0),
        find_greatest(a.nouns, b.prose),
        find_greatest(b.nouns, a.prose),
        measure_likeness(a.prose, b.prose),
        measure_likeness(a.needs, b.needs),
        measure_likeness(a.takes, b.takes),
        is_open,
        is_open * (a.head == "") * max(b.needs.values(), default=0.0),
        float(not a.needs),
        float(not b.needs),
        float(bool(a.nouns and b.nouns)),
        float(a.head in b.nouns and a.head != b.head),
        a.kinds[4],
        b.kinds[4],
        asked * (a.nouns.keys() == b.nouns.keys()),
        len(a.needs.keys() - b.takes.keys()),
        size,
        1.0,
    ]
