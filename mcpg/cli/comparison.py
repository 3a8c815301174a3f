"""`mcpg explain --compare`: why two catalogs rank differently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_other
from mcpg.cli.output import Output
from mcpg.cli.query import DisplayOptions, Question, make_search_arguments, refuse, write_blocks
from mcpg.cli.terminal import diagnostic_text
from mcpg.errors import Severity, UsageError
from mcpg.review.compare import ABSENT, DISABLED, RANKED, UNRANKED, compare
from mcpg.show.blocks import (
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
from mcpg.show.explain import format_related_words, format_rewritten_word
from mcpg.show.explain_summary import gains
from mcpg.show.json import ComparedCatalogue, compare_json
from mcpg.values import format_count, score_text


def answer_compare(
    question: Question,
    paths: tuple[str, str],
    shown: DisplayOptions,
    output: Output,
    others: Mapping[str, object],
) -> int:
    """Ask both catalogs and print the moves; *others* are options of other explanations."""
    refuse(
        {
            **others,
            "--bundle": question.settings.flags.get("bundle"),
            "--html": shown.html,
            "--min-score": question.min_score is not None,
            "--abstain": question.abstain,
            "--timings": shown.shows_times,
        },
        "it does not compare two catalogs",
        "leave it out: --compare names both and always exits with 0",
    )
    arguments = make_search_arguments(question)
    if not (arguments["query"] or arguments["context"]):
        message = "without a query, tools have no ranks to compare"
        remedy = "add a query, or use `mcpg bundle --diff` to compare catalogs"
        raise UsageError(message, place="--compare", remedy=remedy)
    then, now = (open_other(path, "--compare", question.settings, output) for path in paths)
    data = compare_json(
        compare(then, now, **arguments),
        ComparedCatalogue(paths[0], then.diagnostics),
        ComparedCatalogue(paths[1], now.diagnostics),
    )
    if shown.form == "json":
        output.json(data)
    else:
        title = "### mcpg explain --compare"
        blocks = compare_blocks(data, is_whole=shown.is_whole(output))
        write_blocks(blocks, shown.form, output, title, str(data["query"]))
    return ExitCode.DONE


Json = Mapping[str, Any]

_SHOWN = 6
_NAMED = 8
_NEGLIGIBLE = 5e-7
_WITH_SUMS = ("fused now", "fused then", "change")
_NOT_RANKED = {UNRANKED: "not found", DISABLED: "disabled", ABSENT: "not there"}


def compare_blocks(data: Json, *, is_whole: bool = True) -> list[Block]:
    """Return the sections on *data*, the JSON of `explain --compare`.

    Unless everything is requested, they have the ranks, the scores and the greatest reasons.
    """
    tools = data["tools"]
    blocks = [
        FactList(tuple(_list_facts(data))),
        _make_section("words", _list_words(data["words"], is_whole=is_whole)),
        _draw_ranks(tools, is_whole=is_whole) if tools else Paragraph("No tool matches in either."),
        _make_section(
            "what moved them", _list_reasons(tools) if is_whole else _list_main_reasons(tools)
        ),
        _make_section("diagnostics", _list_diagnostics(data, is_whole=is_whole)),
    ]
    return [one for one in blocks if one is not None]


def _make_section(title: str, items: Iterable[Inline]) -> Section | None:
    found = tuple(items)
    return Section(title, title.capitalize(), (Bullets(found),)) if found else None


def _list_facts(data: Json) -> Iterator[tuple[str, Inline]]:
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


def _list_words(changes: Iterable[Json], *, is_whole: bool) -> Iterator[Inline]:
    for change in changes:
        then, now = (_describe_word(change[side], is_whole=is_whole) for side in ("then", "now"))
        if is_whole or then != now:
            yield (CodeSpan(change["text"]), ": then ", then, "; now ", now)


def _describe_word(word: Json | None, *, is_whole: bool) -> Inline:
    if word is None:
        return "no part of the query"
    found = f", in {format_count(word['documentFrequency'], 'tool')}" if word["repairs"] else ""
    if not is_whole:
        return (format_rewritten_word(word), found)
    share = f", {word['weight']:.1%} of the query" if word["weight"] else ""
    near = ("; related ", format_related_words(word)) if word["related"] else ""
    return (format_rewritten_word(word), found, share, near)


def _draw_ranks(tools: Iterable[Json], *, is_whole: bool) -> Table:
    rows: list[tuple[Inline, ...]] = []
    for change in tools:
        now, then, delta = change["now"], change["then"], change["fusedDelta"]
        keys = ("score", "fusedScore") if is_whole else ("score",)
        scores: list[Inline] = [
            "" if score is None else Figure(score, ".6f") if is_whole else Score(score)
            for score in (side[key] for key in keys for side in (now, then))
        ]
        if is_whole:
            scores.append("" if delta is None else Figure(delta, "+.6f"))
        name = Styled(CodeSpan(change["toolId"]), "cyan")
        rows.append((_name_rank(now), _name_rank(then), name, *scores))
    heads = ("score now", "score then", *(_WITH_SUMS if is_whole else ()))
    columns = (
        Column("now", is_number=True),
        Column("then", is_number=True),
        Column("tool", is_whole=True),
        *(Column(head, is_number=is_whole) for head in heads),
    )
    return Table("Ranks", columns, tuple(rows), has_heads=True)


def _name_rank(place: Json) -> str:
    return str(place["rank"]) if place["rank"] else _NOT_RANKED[place["standing"]]


def _list_reasons(tools: Iterable[Json]) -> Iterator[Inline]:
    for change in tools:
        delta = change["fusedDelta"]
        if delta is None:
            yield (
                CodeSpan(change["toolId"]),
                f": {_describe_arrival(change['then'], change['now'])}",
            )
        elif abs(delta) >= _NEGLIGIBLE:
            yield (CodeSpan(change["toolId"]), ": ", Figure(delta, "+.6f"), " = ", _add_up(change))


def _list_main_reasons(tools: Iterable[Json]) -> Iterator[Inline]:
    for change in tools:
        then, now = change["then"], change["now"]
        if change["fusedDelta"] is None:
            yield (CodeSpan(change["toolId"]), f": {_describe_arrival(then, now)}")
        elif (then["rank"], score_text(then["score"])) != (now["rank"], score_text(now["score"])):
            sign = 1 if change["fusedDelta"] > 0 else -1
            moved = gains({one["feature"]: sign * one["delta"] for one in change["features"]})
            if moved:
                yield (
                    CodeSpan(change["toolId"]),
                    f": {'gains' if sign > 0 else 'loses'} by {moved}",
                )


def _describe_arrival(then: Json, now: Json) -> str:
    if then["standing"] == RANKED:
        return f"was number {_name_rank(then)}, now {_name_rank(now)}"
    return f"was {_name_rank(then)}, now number {_name_rank(now)}"


def _add_up(change: Json) -> Inline:
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


def _list_diagnostics(data: Json, *, is_whole: bool) -> Iterator[Inline]:
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
