"""A comparison of one query in two catalogues as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcpg.cli.terminal import diagnostic_text
from mcpg.engine.compare import ABSENT, DISABLED, RANKED, UNRANKED
from mcpg.errors import Severity
from mcpg.reports.blocks import (
    Block,
    Bullets,
    CodeSpan,
    Column,
    FactList,
    Figure,
    Inline,
    Paragraph,
    Score,
    Section,
    Styled,
    Table,
    join_inlines,
)
from mcpg.reports.explain import format_rewritten_word, format_related_words
from mcpg.reports.explain_summary import gains
from mcpg.values import format_count, score_text

Json = Mapping[str, Any]

_SHOWN = 6
_NAMED = 8
_NEGLIGIBLE = 5e-7
_WITH_SUMS = ("fused now", "fused then", "change")
_NOT_RANKED = {
    UNRANKED: "not found",
    DISABLED: "disabled",
    ABSENT: "not there",
}


def compare_blocks(data: Json, *, is_whole: bool = True) -> list[Block]:
    """Return the sections on *data*, which has what `explain --compare` prints as JSON.

    Where not everything is wanted, there are the ranks, the scores and the greatest reasons.
    """
    tools = data["tools"]
    blocks = [
        FactList(tuple(_facts(data))),
        _list("words", _words(data["words"], is_whole=is_whole)),
        _ranks(tools, is_whole=is_whole) if tools else Paragraph("No tool matches in either."),
        _list("what moved them", _reasons(tools) if is_whole else _main_reasons(tools)),
        _list("diagnostics", _diagnostics(data, is_whole=is_whole)),
    ]
    return [one for one in blocks if one is not None]


def _list(title: str, items: Iterable[Inline]) -> Section | None:
    found = tuple(items)
    return Section(title, title.capitalize(), (Bullets(found),)) if found else None


def _facts(data: Json) -> Iterator[tuple[str, Inline]]:
    then, now = data["then"], data["now"]
    yield "query", CodeSpan(data["query"])
    yield "then", (CodeSpan(then["bundle"]), f", {format_count(then['tools'], 'tool')}")
    yield "now", (CodeSpan(now["bundle"]), f", {format_count(now['tools'], 'tool')}")
    for name, only in (("only then", data["onlyThen"]), ("only now", data["onlyNow"])):
        if only:
            rest = f" and {len(only) - _NAMED} more" if len(only) > _NAMED else ""
            yield name, (join_inlines([CodeSpan(one) for one in only[:_NAMED]]), rest)
    if then["language"] != now["language"]:
        yield "language", f"{then['language'] or 'unknown'}, now {now['language'] or 'unknown'}"
    models = then["model"], now["model"]
    if all(models) and models[0] != models[1]:
        for name, model in zip(("model then", "model now"), models, strict=True):
            yield name, (CodeSpan(model["name"]), ": ", CodeSpan(model["provenance"]))


def _words(changes: Iterable[Json], *, is_whole: bool) -> Iterator[Inline]:
    for change in changes:
        then, now = (_state(change[side], is_whole=is_whole) for side in ("then", "now"))
        if is_whole or then != now:
            yield (CodeSpan(change["text"]), ": then ", then, "; now ", now)


def _state(word: Json | None, *, is_whole: bool) -> Inline:
    if word is None:
        return "no part of the query"
    found = f", in {format_count(word['documentFrequency'], 'tool')}" if word["repairs"] else ""
    if not is_whole:
        return (format_rewritten_word(word), found)
    share = f", {word['weight']:.1%} of the query" if word["weight"] else ""
    near = ("; related ", format_related_words(word)) if word["related"] else ""
    return (format_rewritten_word(word), found, share, near)


def _ranks(tools: Iterable[Json], *, is_whole: bool) -> Table:
    rows = tuple(
        (
            _rank(change["now"]),
            _rank(change["then"]),
            Styled(CodeSpan(change["toolId"]), "cyan"),
            *(_numbers(change) if is_whole else _scores(change)),
        )
        for change in tools
    )
    heads = ("score now", "score then", *(_WITH_SUMS if is_whole else ()))
    columns = (
        Column("now", is_number=True),
        Column("then", is_number=True),
        Column("tool", is_whole=True),
        *(Column(head, is_number=is_whole) for head in heads),
    )
    return Table("Ranks", columns, rows, has_heads=True)


def _numbers(change: Json) -> Iterator[Inline]:
    for key in ("score", "fusedScore"):
        for side in ("now", "then"):
            yield _figure(change[side][key])
    yield _figure(change["fusedDelta"], "+.6f")


def _scores(change: Json) -> Iterator[Inline]:
    for side in ("now", "then"):
        score = change[side]["score"]
        yield "" if score is None else Score(score)


def _figure(value: float | None, form: str = ".6f") -> Inline:
    return "" if value is None else Figure(value, form)


def _rank(place: Json) -> str:
    return str(place["rank"]) if place["rank"] else _NOT_RANKED[place["standing"]]


def _reasons(tools: Iterable[Json]) -> Iterator[Inline]:
    for change in tools:
        delta = change["fusedDelta"]
        if delta is None:
            yield (CodeSpan(change["toolId"]), f": {_arrival(change['then'], change['now'])}")
        elif abs(delta) >= _NEGLIGIBLE:
            yield (CodeSpan(change["toolId"]), ": ", Figure(delta, "+.6f"), " = ", _sum(change))


def _main_reasons(tools: Iterable[Json]) -> Iterator[Inline]:
    """Return in words what lifted or lowered the tools whose rank or score is another."""
    for change in tools:
        then, now = change["then"], change["now"]
        if change["fusedDelta"] is None:
            yield (CodeSpan(change["toolId"]), f": {_arrival(then, now)}")
        elif (then["rank"], score_text(then["score"])) != (now["rank"], score_text(now["score"])):
            sign = 1 if change["fusedDelta"] > 0 else -1
            moved = gains({one["feature"]: sign * one["delta"] for one in change["features"]})
            if moved:
                yield (
                    CodeSpan(change["toolId"]),
                    f": {'gains' if sign > 0 else 'loses'} by {moved}",
                )


def _arrival(then: Json, now: Json) -> str:
    if then["standing"] == RANKED:
        return f"was number {_rank(then)}, now {_rank(now)}"
    return f"was {_rank(then)}, now number {_rank(now)}"


def _sum(change: Json) -> Inline:
    moved = [one for one in change["features"] if abs(one["delta"]) >= _NEGLIGIBLE]
    parts: list[Inline] = [
        (
            Figure(one["delta"], "+.6f"),
            f" {one['feature']}{' (its weight)' if one['byWeight'] else ''}",
        )
        for one in moved[:_SHOWN]
    ]
    rest = sum(one["delta"] for one in moved[_SHOWN:])
    if rest:
        parts.append((Figure(rest, "+.6f"), " others"))
    terms = [one for one in change["terms"] if abs(one["delta"]) >= _NEGLIGIBLE][:_SHOWN]
    words = join_inlines(
        [(CodeSpan(one["query"]), " ", Figure(one["delta"], "+.3f")) for one in terms]
    )
    return (join_inlines(parts), (" (words: ", words, ")") if terms else "")


def _diagnostics(data: Json, *, is_whole: bool) -> Iterator[Inline]:
    """Return the diagnostics, and which of the two answers has them."""
    then, now = (
        [
            diagnostic_text(one)
            for one in data[side]["diagnostics"]
            if is_whole or one["severity"] != Severity.INFO
        ]
        for side in ("then", "now")
    )
    for line in dict.fromkeys((*now, *then)):
        when = "both" if line in then and line in now else "now" if line in now else "then"
        yield (f"{when}: ", CodeSpan(line))
