"""The blocks of an object of the schema `mcpg/diff/1`: changes between two catalogs, and impact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from mcpg.show.blocks import (
    Block,
    Bullets,
    CodeSpan,
    Details,
    FactList,
    Figure,
    Inline,
    Json,
    Paragraph,
    Score,
    Section,
    Styled,
    join_inlines,
)
from mcpg.show.explain_summary import gains
from mcpg.values import format_count

_SHOWN = 300
_WORDS = 3
_LOSSES = ("lostFirst", "lostTop")
_DOUBTS = ("lessSure", "answered")
_GAINS = ("gainedFirst", "gainedTop", "surer")
_EFFECTS = {
    "lostFirst": "lost the first place",
    "lostTop": "left the first five",
    "lessSure": "less sure",
    "answered": "answered though nothing should be",
    "gainedFirst": "gained the first place",
    "gainedTop": "entered the first five",
    "surer": "surer",
}
_CHANGES = ("added", "removed", "renamed", "changed")
_VERDICTS = {"breaking": "red", "undecided": "yellow", "compatible": "green"}
_INFERRED = ("inferred", "")
_KINDS = {"nextStep": "next step", "related": "related tool", "group": "group"}


def is_empty(data: Json) -> bool:
    """Return whether *data* has nothing to report: no change, no impact and no gate that fails."""
    gates = all(gate["passed"] for gate in data["gates"])
    impact = data["impact"]
    is_found = data["tools"] or data.get("items") or impact["queries"] or impact["unreachable"]
    return gates and not is_found


def change_blocks(data: Json, most: int | None = None, *, folds: bool = False) -> list[Block]:
    """Return the sections on *data*, the JSON of `diff`.

    Each has at most *most* items, `None` for all; with *folds*, long ones are folded.
    """
    tools, impact = data["tools"], data["impact"]
    queries, former = (
        [one for one in impact["queries"] if bool(one["isFormer"]) == is_former]
        for is_former in (False, True)
    )
    of_kind = {kind: [one for one in tools if one["change"] == kind] for kind in _CHANGES}
    lost = partial(_describe_loss, changes={one["toolId"]: one["change"] for one in tools})
    doubtful = _select_queries(queries, _DOUBTS, _LOSSES)
    improved = _select_queries(queries, _GAINS, (*_LOSSES, *_DOUBTS))

    def list_part(title: str, items: Sequence[Any], show: Callable[[Any], Inline]) -> _Part:
        return title, len(items), (_make_bullets(items, most, show),)

    gates: list[Inline] = [
        (
            Styled("failed", "red"),
            " ",
            CodeSpan(gate["kind"]),
            f": {gate['found']:,} found, at most {gate['most']:,} accepted",
        )
        for gate in data["gates"]
        if not gate["passed"]
    ]
    short = (
        ("Gates", len(gates), (_make_bullets(gates, most),)),
        list_part("Queries that other tools took", _select_queries(queries, _LOSSES), lost),
        list_part("Unreachable tools", impact["unreachable"], _describe_unreachable),
        list_part("Lower scores", doubtful, _describe_move),
        list_part("Removed", of_kind["removed"], _name_tool),
        list_part("Renamed", of_kind["renamed"], _describe_rename),
        list_part("Breaking", [*_describe_breaks(tools)], lambda one: one),
        list_part("Skills and other items", data.get("items", ()), _describe_item),
    )
    long = (
        list_part("Added", of_kind["added"], _describe_tool),
        ("Changed", *_list_changed([*of_kind["renamed"], *of_kind["changed"]], most)),
        list_part("Former texts that find other tools", _select_queries(former, _LOSSES), lost),
        list_part("Improved queries", improved, _describe_move),
        ("Relations", *_list_relations(tools, most)),
    )
    return [
        FactList(tuple(_list_facts(data))),
        *_make_sections(short, folds=False),
        *_make_sections(long, folds=folds),
    ]


def _describe_item(item: Json) -> Inline:
    parts = "; ".join(f"{one['part']} ({'; '.join(one['details'])})" for one in item["parts"])
    rest = f": {parts}" if parts else ""
    return item["change"], " ", CodeSpan(item["name"]), " of ", CodeSpan(item["sourceId"]), rest


_Part = tuple[str, int, tuple[Block, ...]]
"""The title of a section, its number of items, and its blocks."""


def _make_sections(parts: Iterable[_Part], *, folds: bool) -> Iterator[Block]:
    for title, count, blocks in parts:
        heading = f"{title} ({count:,})"
        if count:
            yield Details(heading, blocks) if folds else Section("", title, blocks, heading=heading)


def _make_bullets(
    items: Sequence[Any], most: int | None, show: Callable[[Any], Inline] = lambda one: one
) -> Bullets:
    shown = [show(one) for one in items[:most]]
    rest = len(items) - len(shown)
    return Bullets((*shown, *([f"and {rest:,} more"] if rest else [])))


def headline(data: Json) -> str:
    """Return what changed on one line."""
    counts, kinds = data["counts"], Counter(tool["change"] for tool in data["tools"])
    tools = [f"{kinds[kind]} {kind}" for kind in _CHANGES if kinds[kind]]
    found = [
        ", ".join(tools) or "no tool changed",
        f"{counts['breaking']} breaking" if counts["breaking"] else "",
        f"{format_count(counts['rank'], 'query', 'queries')} lost" if counts["rank"] else "",
        f"{counts['unreachable']} unreachable" if counts["unreachable"] else "",
        f"{format_count(len(data['items']), 'item')} changed" if data.get("items") else "",
        f"{format_count(counts['confidence'], 'score')} fell" if counts["confidence"] else "",
    ]
    return "; ".join(filter(None, found))


def _list_facts(data: Json) -> Iterator[tuple[str, Inline]]:
    for side in ("before", "after"):
        yield side, (CodeSpan(data[side]["path"]), f", {format_count(data[side]['tools'], 'tool')}")
    counts, kinds = data["counts"], Counter(tool["change"] for tool in data["tools"])
    words = {"breaking": "breaking", "undecided": "may break", "risk": "riskier to call"}
    tools = [f"{kinds[kind]:,} {kind}" for kind in _CHANGES if kinds[kind]]
    tools += [f"{counts[key]:,} {name}" for key, name in words.items() if counts[key]]
    yield "tools", ", ".join(tools) or "none changed"
    impact = data["impact"]
    judged, derived, derivable = impact["judged"], impact["derived"], impact["derivable"]
    of_all = f" of {derivable:,}" if derivable > derived else ""
    searched = (
        format_count(judged, "judged query", "judged queries") if judged else "",
        f"{derived:,}{of_all} texts of the tools" if derived else "",
    )
    yield "searched", ", ".join(filter(None, searched))
    effects = impact["effects"]
    counts = [f"{effects[key]:,} {name}" for key, name in _EFFECTS.items() if effects[key]]
    yield "impact", ", ".join(counts)


def _select_queries(
    queries: Iterable[Json], effects: Collection[str], without: Collection[str] = ()
) -> list[Json]:
    return [
        one
        for one in queries
        if any(effect in effects for effect in one["effects"])
        and not any(effect in without for effect in one["effects"])
    ]


def _describe_query(query: Json) -> Inline:
    if query["origin"] == "judged":
        about: Inline = (" (judged, ", CodeSpan(query["id"] or ""), ")")
    else:
        former, names = "former " if query["isFormer"] else "", query["tools"]
        rest = [f"{len(names) - _WORDS} more"] if len(names) > _WORDS else []
        tools = join_inlines([*map(CodeSpan, names[:_WORDS]), *rest])
        about = (f" ({former}{query['origin']} of ", tools, ")")
    return (CodeSpan(_cut(query["query"]), is_quoted=True), about)


def _describe_loss(query: Json, changes: Mapping[str, str]) -> Inline:
    """Return which tool lost *query* to which other; *changes* are the changes of tools, by id."""
    lost, won = query["lost"], query["won"]
    place = "first" if "lostFirst" in query["effects"] else "among the first five"
    is_gone = changes.get(lost["toolId"]) == "removed"
    now = "removed" if is_gone else f"no longer {place} (now {_name_rank(lost['rankAfter'])})"
    moved = (_describe_query(query), ": ", CodeSpan(lost["toolId"]), f" is {now}")
    if won is None:
        return (*moved, "; nothing is found")
    is_new = changes.get(won["toolId"]) == "added"
    was = "new" if is_new else f"was {_name_rank(won['rankBefore'])}"
    place = "first" if won["rankAfter"] == 1 else f"number {_name_rank(won['rankAfter'])}"
    winner = Styled(CodeSpan(won["toolId"]), "bold")
    reasons = () if is_gone else _list_reasons(lost, won)
    return (*moved, "; ", winner, f" is {place} ({was})", *reasons)


def _list_reasons(lost: Json, won: Json) -> Iterator[Inline]:
    """Yield the reasons why the winning tool gained, and why the losing tool lost."""
    for mover, sign, words in ((won, 1, ", which gains by "), (lost, -1, "; the former loses by ")):
        deltas = {one["feature"]: sign * one["delta"] for one in mover["features"]}
        if sum(deltas.values()) <= 0:
            continue
        yield f"{words}{gains(deltas)}"
        moved = [one for one in mover["words"] if sign * one["delta"] > 0][:_WORDS]
        named: list[Inline] = [
            (CodeSpan(one["word"]), " ", Figure(one["delta"], "+.2f")) for one in moved
        ]
        if named:
            yield (" (", join_inlines(named), ")")


def _describe_move(query: Json) -> Inline:
    now, was = (
        "nothing" if one is None else Score(one)
        for one in (query["scoreAfter"], query["scoreBefore"])
    )
    scores = ("score ", now, ", was ", was)
    if "answered" in query["effects"]:
        first = CodeSpan(query["firstAfter"] or "")
        return (_describe_query(query), ": no tool should be found, ", first, " has ", scores)
    before, after = query["rankBefore"], query["rankAfter"]
    if "lessSure" in query["effects"] or before == after:
        return (_describe_query(query), ": ", scores)
    return (_describe_query(query), f": now {_name_rank(after)}, was {_name_rank(before)}")


def _name_rank(rank: int | None) -> str:
    return str(rank) if rank else "beyond 10"


def _describe_unreachable(tool: Json) -> Inline:
    hidden = tool["hiddenBy"]
    by: tuple[Inline, ...] = (": nothing is found for ",)
    if hidden:
        by = (": ", CodeSpan(hidden), " is first for ")
    query = CodeSpan(_cut(tool["query"]), is_quoted=True)
    return (CodeSpan(tool["toolId"]), " (new)" if tool["isNew"] else "", *by, query)


def _name_tool(tool: Json) -> Inline:
    return (CodeSpan(tool["toolId"]), *_name_source(tool["sourceId"]))


def _name_source(source: str) -> tuple[Inline, ...]:
    return (" of ", CodeSpan(source)) if source else ()


def _describe_tool(tool: Json) -> Inline:
    about = _cut(" ".join(tool["description"].split()), 120)
    return (_name_tool(tool), (": ", CodeSpan(about)) if about else "")


def _describe_rename(tool: Json) -> Inline:
    before, source = tool["renamedFrom"], tool["sourceId"]
    names = CodeSpan(before["toolName"]), CodeSpan(tool["toolName"])
    if before["sourceId"] == source:
        return (names[0], " is now ", names[1])
    was = (" of ", CodeSpan(before["sourceId"]))
    return (names[0], *was, " is now ", names[1], *_name_source(source))


def _describe_breaks(tools: Iterable[Json]) -> Iterator[Inline]:
    for tool in tools:
        for part in ("input", "output"):
            for one in tool[part]:
                if one["verdict"] == "breaking":
                    change = _describe_schema_change(one)
                    yield (CodeSpan(tool["toolId"]), f": {part} ", change)


def _list_changed(tools: Iterable[Json], most: int | None) -> tuple[int, tuple[Block, ...]]:
    changed = [(tool, items) for tool in tools if (items := tuple(_list_changes(tool)))]
    parts: list[Block] = []
    for tool, items in changed[:most]:
        head: list[Inline] = [Styled(CodeSpan(tool["toolId"]), "cyan")]
        head += [(" ", Styled("breaking", "red"))] if any(_describe_breaks([tool])) else []
        head += [(" ", Styled("riskier", "yellow"))] if tool["isRiskier"] else []
        parts += [
            Paragraph(tuple(head)),
            Section("", "", (_make_bullets(items, most),), heading=""),
        ]
    rest = len(changed) - (most or len(changed))
    if rest > 0:
        parts.append(Paragraph(f"and {rest:,} more"))
    return len(changed) if parts else 0, tuple(parts)


def _list_changes(tool: Json) -> Iterator[Inline]:
    for field in tool["fields"]:
        if field["field"] == "id" and tool["renamedFrom"]:
            continue
        shown: Inline
        if field["diff"] is None:
            items: list[Inline] = [("+ ", CodeSpan(_cut(one))) for one in field["added"]]
            items += [("- ", CodeSpan(_cut(one))) for one in field["removed"]]
            shown = join_inlines(items) if items else "in another order"
        elif " " in f"{field['before']}{field['after']}":
            shown = CodeSpan(_cut(field["diff"]))
        else:
            before, after = (
                CodeSpan(_cut(one)) if one else "nothing"
                for one in (field["before"], field["after"])
            )
            shown = (before, " is now ", after)
        yield (CodeSpan(field["field"]), ": ", shown, " (riskier)" if field["isRiskier"] else "")
    for part in ("input", "output"):
        for change in tool[part]:
            verdict = Styled(change["verdict"], _VERDICTS[change["verdict"]])
            yield (f"{part} ", _describe_schema_change(change), " (", verdict, ")")


def _describe_schema_change(change: Json) -> Inline:
    path: Inline = (CodeSpan(change["path"]), " ") if change["path"] else ""
    values = join_inlines([CodeSpan(_cut(one)) for one in change["values"]])
    return (path, change["what"], (" ", values) if change["values"] else "")


def _list_relations(tools: Iterable[Json], most: int | None) -> tuple[int, tuple[Block, ...]]:
    """Return the changed relations; if not all are shown, inferred ones are counted."""
    found = [(tool, relation) for tool in tools for relation in tool["relations"]]
    items: list[Inline] = []
    unshown = 0
    for tool, one in found:
        if most is not None and one["origin"] in _INFERRED:
            unshown += 1
            continue
        sign = Styled("+", "green") if one["isAdded"] else Styled("-", "red")
        origin = f" ({one['origin']})" if one["origin"] else ""
        kind = f" {_KINDS.get(one['kind'], one['kind'])} "
        ends = CodeSpan(tool["toolId"]), CodeSpan(one["target"])
        items.append((sign, " ", ends[0], kind, ends[1], origin))
    if unshown:
        items.append(f"{format_count(unshown, 'change')} of inferred relations and groups")
    return len(found), (_make_bullets(items, most),)


def _cut(text: str, most: int = _SHOWN) -> str:
    return text if len(text) <= most else f"{text[: most - 3].rstrip()}..."
