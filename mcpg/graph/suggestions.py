"""Which names of a query the vocabulary does not have, and what was probably meant.

Only `mcpg` and `kb` are looked at among the known prefixes: their names are all defined here, while
those of other vocabularies are more than a graph of tools uses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from mcpg.graph import terms
from mcpg.graph.terms import PREFIXES
from mcpg.suggestions import suggest

OURS = ("kb", "mcpg")
"""The prefixes of the vocabularies that mcpg defines."""

MOST_SUGGESTED = 50
"""The most unknown names for which others are suggested; a query may have very many."""

_MOST_NAMES = 3


def unknown_names(names: Iterable[str], declared: Iterable[str] = ()) -> dict[str, list[str]]:
    """Return those of the prefixed *names* that nothing defines, each with the likeliest others.

    Others are looked for of the first fifty.

    Args:
        names: Such as `kb:nextStep`; variables are left out.
        declared: The prefixes that the query declares itself.
    """
    others = frozenset(declared)
    unknown = [
        name for name in dict.fromkeys(names) if name[:1] not in "?$_" and _is_unknown(name, others)
    ]
    return {
        name: likely_names(name) if place < MOST_SUGGESTED else []
        for place, name in enumerate(unknown)
    }


def likely_names(name: str) -> list[str]:
    """Return the names that *name* probably means: the same under another prefix, or like ones."""
    prefix, _, local = name.partition(":")
    known = _known_by_local_name()
    same = known.get(local.casefold(), ())
    others = (one.partition(":")[2] for one in sorted(_list_known_names()))
    near = [] if same else suggest(local, others, _MOST_NAMES)
    found = [*same, *(one for word in near for one in known[word.casefold()])]
    return sorted(found, key=lambda one: not one.startswith(f"{prefix}:"))[:_MOST_NAMES]


def _is_unknown(name: str, declared: frozenset[str]) -> bool:
    prefix, _, local = name.partition(":")
    if prefix in declared:
        return False
    if prefix not in PREFIXES:
        return True
    return prefix in OURS and bool(local) and name not in _list_known_names()


@cache
def _list_known_names() -> frozenset[str]:
    return frozenset(
        f"{prefix}:{value.removeprefix(namespace)}"
        for prefix, namespace in PREFIXES.items()
        for value in vars(terms).values()
        if isinstance(value, str) and value.startswith(namespace) and value != namespace
    )


@cache
def _known_by_local_name() -> Mapping[str, tuple[str, ...]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(_list_known_names()):
        found[name.partition(":")[2].casefold()].append(name)
    return {local: tuple(names) for local, names in found.items()}
