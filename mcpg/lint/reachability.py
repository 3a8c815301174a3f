"""Rules on reach: a tool that its own description, title or alias does not bring first.

A search is made only for tools that another one might hide: it must have most of the words that are
searched for. Of all others the tool itself is the only one that has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mcpg.catalog.model import Tool
from mcpg.engine import Engine
from mcpg.lint.catalogue import LintContext, as_written, make_finding, stems
from mcpg.lint.model import Finding, RelatedTool, Location
from mcpg.lint.similar import WordWeights, covering

_SHARE = 0.7
"""Share of the weight of its words that another tool must have to hide a tool."""

_LONGEST_QUERY = 300
_FEWEST_QUERY_WORDS = 3
_PER_REPORT = 50
_MOST_WORDS = 6
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_SLACK = 0.1
"""Scores that differ by less are level: which tool goes first is by chance."""


def check_reach(catalogue: LintContext, tell: Callable[[int, int], None]) -> Iterator[Finding]:
    """Yield the tools that a search for their own words does not bring first.

    Args:
        catalogue: The catalogue.
        tell: Receives how many searches are done, of how many.
    """
    asked = [*_list_searches(catalogue)]
    for done, (tool, code, member, query) in enumerate(asked):
        if done % _PER_REPORT == 0:
            tell(done, len(asked))
        hiding = _hiding(catalogue.engine, tool, query)
        if hiding is not None:
            yield _finding(catalogue, tool, code, member, query, hiding)
    if asked:
        tell(len(asked), len(asked))


def opening(text: str) -> str:
    """Return the first sentence of *text*, or more if that is short, as a query."""
    query = ""
    for sentence in _SENTENCE_END.split(text.strip()):
        query = f"{query} {sentence}".strip()
        if len(query) >= _LONGEST_QUERY or len(stems(query)) >= _FEWEST_QUERY_WORDS:
            break
    return query[:_LONGEST_QUERY]


def _list_searches(
    catalogue: LintContext,
) -> Iterator[tuple[Tool, str, tuple[str | int, ...], str]]:
    """Yield searches: the tool, the rule, the member that the query is of, and the query."""
    chosen = catalogue.chosen
    texts = {tool.id: _words(catalogue, tool) for tool in catalogue.tools}
    weights = WordWeights(texts)

    def is_contested(tool: Tool, query: str) -> bool:
        words = stems(query)
        rivals = covering(words, texts, weights, _SHARE)
        return bool(words) and any(other != tool.id for other, _ in rivals)

    for tool in catalogue.tools:
        if not tool.enabled:
            continue
        query = opening(tool.description)
        has_words = "R101" in chosen and len(stems(query)) >= _FEWEST_QUERY_WORDS
        if has_words and is_contested(tool, query):
            yield tool, "R101", ("description",), query
        if "R102" in chosen and tool.title and is_contested(tool, tool.title):
            yield tool, "R102", ("title",), tool.title
        for place, alias in enumerate(tool.hints.aliases):
            yield tool, "R103", ("aliases", place), alias


def _words(catalogue: LintContext, tool: Tool) -> frozenset[str]:
    hints = tool.hints
    stated = (*hints.aliases, *hints.keywords, *hints.categories, *hints.tags)
    parameters = catalogue.parameters[tool.id]
    texts = (*stated, *(text for one in parameters for text in (one.path, one.description)))
    own = catalogue.description_stems[tool.id] | catalogue.full_name_stems[tool.id]
    return own.union(*map(stems, texts))


def _parameters(catalogue: LintContext, tool: Tool) -> str:
    return " ".join(f"{one.path} {one.description}" for one in catalogue.parameters[tool.id])


def _hiding(engine: Engine, tool: Tool, query: str) -> tuple[str, float, float] | None:
    """Return the tool that a search for *query* brings before *tool*, and both scores."""
    result = engine.search(query, limit=3)
    if not result.matches or result.matches[0].tool_id == tool.id:
        return None
    best = result.matches[0]
    own = next((one.score for one in result.matches if one.tool_id == tool.id), 0.0)
    return None if best.score - own < _SLACK else (best.tool_id, best.score, own)


def _finding(
    catalogue: LintContext,
    tool: Tool,
    code: str,
    member: tuple[str | int, ...],
    query: str,
    hiding: tuple[str, float, float],
) -> Finding:
    hider = catalogue.by_id[hiding[0]]
    own = _words(catalogue, tool) - _words(catalogue, hider)
    rarest = sorted(own, key=lambda word: (catalogue.frequencies[word], word))[:_MOST_WORDS]
    words = as_written(rarest, tool.description, tool.name, _parameters(catalogue, tool))
    what = {"R101": "description", "R102": "title", "R103": f"alias {query!r}"}[code]
    advice = f"say what {hider.id!r} does not do"
    return make_finding(
        code,
        tool,
        f"a search for the {what} of {tool.id!r} brings {hider.id!r} first"
        f" ({hiding[1]:.2f} against {hiding[2]:.2f})",
        *member,
        text=tool.description if code == "R101" else query,
        suggestion=f"{advice}: {', '.join(words)} stand in this tool alone" if words else advice,
        words=words,
        others=(RelatedTool(hider.id, "goes first", Location(hider.place, ("description",))),),
    )
