"""An object of the schema `mcpg/diff/1`: what changed between two catalogues, and its impact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    Paragraph,
    Score,
    Section,
    Styled,
    join_inlines,
)
from mcpg.show.explain_summary import gains
from mcpg.values import format_count

Json = Mapping[str, Any]

_SHOWN = 300
_WORDS = 3
_LOSSES = ("lostFirst", "lostTop")
_DOUBTS = ("lessSure", "answered")
_GAINS = ("gainedFirst", "gainedTop", "surer")
_VERDICTS = {"breaking": "red", "undecided": "yellow", "compatible": "green"}
_INFERRED = ("inferred", "")
_KINDS = {"nextStep": "next step", "related": "related tool", "group": "group"}


def is_empty(data: Json) -> bool:
    """Return whether *data* has nothing to report: no change, no impact and no gate that fails."""
    gates = all(gate["passed"] for gate in data["gates"])
    impact = data["impact"]
    return gates and not (data["tools"] or impact["queries"] or impact["unreachable"])


def change_blocks(data: Json, most: int | None = None, *, folds: bool = False) -> list[Block]:
    """Return the sections on *data*, which has what `diff` prints as JSON.

    Args:
        data: The object.
        most: The most items of each section; `None` for all.
        folds: Whether what is long is folded.
    """
    view = _SectionMaker(most, folds)
    impact = data["impact"]
    queries = [one for one in impact["queries"] if not one["isFormer"]]
    former = [one for one in impact["queries"] if one["isFormer"] and _has(one, _LOSSES)]
    of_kind = _by_change(data["tools"])
    lost = partial(_describe_loss, changes={one["toolId"]: one["change"] for one in data["tools"]})
    blocks: list[Block | None] = [
        FactList(tuple(_facts(data))),
        view.section("Gates", [one for one in data["gates"] if not one["passed"]], _gate),
        view.section("Queries that other tools took", _with(queries, _LOSSES), lost),
        view.section("Unreachable tools", impact["unreachable"], _unreachable),
        view.section("Lower scores", _with(queries, _DOUBTS, _LOSSES), _doubt),
        view.section("Removed", of_kind["removed"], _name),
        view.section("Renamed", of_kind["renamed"], _describe_rename),
        view.section("Breaking", list(_breaking(data["tools"])), _describe_break),
        view.section("Added", of_kind["added"], _describe_tool, is_long=True),
        view.tools("Changed", [*of_kind["renamed"], *of_kind["changed"]]),
        view.section("Former texts that find other tools", former, lost, is_long=True),
        view.section(
            "Improved queries",
            _with(queries, _GAINS, (*_LOSSES, *_DOUBTS)),
            _describe_gain,
            is_long=True,
        ),
        view.relations(data["tools"]),
    ]
    return [one for one in blocks if one is not None]


def headline(data: Json) -> str:
    """Return what changed on one line."""
    counts, kinds = data["counts"], _by_change(data["tools"])
    tools = [
        f"{len(kinds[kind])} {kind}"
        for kind in ("added", "removed", "renamed", "changed")
        if kinds[kind]
    ]
    found = [
        f"{', '.join(tools)}" if tools else "no tool changed",
        f"{counts['breaking']} breaking" if counts["breaking"] else "",
        f"{format_count(counts['rank'], 'query', 'queries')} lost" if counts["rank"] else "",
        f"{counts['unreachable']} unreachable" if counts["unreachable"] else "",
        f"{format_count(counts['confidence'], 'score')} fell" if counts["confidence"] else "",
    ]
    return "; ".join(filter(None, found))


class _SectionMaker:
    """Makes sections of a bounded length."""

    def __init__(self, most: int | None, folds: bool) -> None:
        self._most, self._folds = most, folds

    def section(
        self,
        title: str,
        items: Sequence[Any],
        show: Callable[[Any], Inline],
        *,
        is_long: bool = False,
    ) -> Block | None:
        """Return a section with *items* as *show* has them, folded if it *is_long*."""
        if not items:
            return None
        shown = self._bullets(items, show)
        return self._block(title, len(items), (shown,), is_long=is_long)

    def _bullets(
        self, items: Sequence[Any], show: Callable[[Any], Inline] = lambda one: one
    ) -> Bullets:
        shown = [show(one) for one in items[: self._most]]
        rest = len(items) - len(shown)
        return Bullets((*shown, *([f"and {rest:,} more"] if rest else [])))

    def tools(self, title: str, tools: Sequence[Json]) -> Block | None:
        """Return a section with those of *tools* in which more than the name changed."""
        changed = [(tool, items) for tool in tools if (items := tuple(_changes(tool)))]
        parts: list[Block] = []
        for tool, items in changed[: self._most]:
            head = (Styled(CodeSpan(tool["toolId"]), "cyan"), *_badge(tool))
            parts += [Paragraph(head), Section("", "", (self._bullets(items),), heading="")]
        rest = len(changed) - (self._most or len(changed))
        if rest > 0:
            parts.append(Paragraph(f"and {rest:,} more"))
        return self._block(title, len(changed), tuple(parts), is_long=True) if parts else None

    def relations(self, tools: Iterable[Json]) -> Block | None:
        """Return a section with the relations that changed; inferred ones are counted alone."""
        found = [(tool, relation) for tool in tools for relation in tool["relations"]]
        if not found:
            return None
        stated = [one for one in found if one[1]["origin"] not in _INFERRED]
        shown = found if self._most is None else stated
        items = [*map(_relation, shown)]
        if len(shown) < len(found):
            rest = format_count(len(found) - len(shown), "change")
            items.append(f"{rest} of inferred relations and groups")
        return self._block("Relations", len(found), (self._bullets(items),), is_long=True)

    def _block(self, title: str, count: int, blocks: tuple[Block, ...], *, is_long: bool) -> Block:
        if self._folds and is_long:
            return Details(f"{title} ({count:,})", blocks)
        return Section("", title, blocks, heading=f"{title} ({count:,})")


def _facts(data: Json) -> Iterator[tuple[str, Inline]]:
    for side in ("before", "after"):
        yield side, (CodeSpan(data[side]["path"]), f", {format_count(data[side]['tools'], 'tool')}")
    yield "tools", _tool_counts(data)
    yield "searched", _describe_queries(data["impact"])
    effects = data["impact"]["effects"]
    told = {
        "lostFirst": "lost the first place",
        "lostTop": "left the first five",
        "lessSure": "less sure",
        "answered": "answered though nothing should be",
        "gainedFirst": "gained the first place",
        "gainedTop": "entered the first five",
        "surer": "surer",
    }
    yield (
        "impact",
        ", ".join(f"{effects[key]:,} {words}" for key, words in told.items() if effects[key]),
    )


def _tool_counts(data: Json) -> str:
    kinds, counts = _by_change(data["tools"]), data["counts"]
    parts = [
        *(
            f"{len(kinds[kind]):,} {kind}"
            for kind in ("added", "removed", "renamed", "changed")
            if kinds[kind]
        ),
        f"{counts['breaking']:,} breaking" if counts["breaking"] else "",
        f"{counts['undecided']:,} may break" if counts["undecided"] else "",
        f"{counts['risk']:,} riskier to call" if counts["risk"] else "",
    ]
    return ", ".join(filter(None, parts)) or "none changed"


def _describe_queries(impact: Json) -> str:
    judged, derived, derivable = impact["judged"], impact["derived"], impact["derivable"]
    of_all = f" of {derivable:,}" if derivable > derived else ""
    parts = (
        format_count(judged, "judged query", "judged queries") if judged else "",
        f"{derived:,}{of_all} texts of the tools" if derived else "",
    )
    return ", ".join(filter(None, parts))


def _by_change(tools: Iterable[Json]) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {
        kind: [] for kind in ("added", "removed", "renamed", "changed", "relations")
    }
    for tool in tools:
        found[tool["change"]].append(tool)
    return found


def _has(query: Json, effects: Iterable[str]) -> bool:
    return any(one in query["effects"] for one in effects)


def _with(
    queries: Iterable[Json], effects: Sequence[str], without: Sequence[str] = ()
) -> list[Json]:
    return [one for one in queries if _has(one, effects) and not _has(one, without)]


def _gate(gate: Json) -> Inline:
    words = f": {gate['found']:,} found, at most {gate['most']:,} accepted"
    return (Styled("failed", "red"), " ", CodeSpan(gate["kind"]), words)


# Queries


def _describe_query(query: Json) -> Inline:
    """Return the query and where it comes from."""
    if query["origin"] == "judged":
        about: Inline = (" (judged, ", CodeSpan(query["id"] or ""), ")")
    else:
        former = "former " if query["isFormer"] else ""
        about = (f" ({former}{query['origin']} of ", _tools(query["tools"]), ")")
    return (CodeSpan(_cut(query["query"]), is_quoted=True), about)


def _tools(names: Sequence[str]) -> Inline:
    rest = [f"{len(names) - _WORDS} more"] if len(names) > _WORDS else []
    return join_inlines([*map(CodeSpan, names[:_WORDS]), *rest])


def _describe_loss(query: Json, changes: Mapping[str, str]) -> Inline:
    """Return which tool lost *query* to which other; *changes* are those of the tools, by id."""
    lost, won = query["lost"], query["won"]
    what = (
        "no longer first" if "lostFirst" in query["effects"] else "no longer among the first five"
    )
    now = f"{what} (now {_rank(lost['rankAfter'])})"
    is_gone = changes.get(lost["toolId"]) == "removed"
    moved = (": ", CodeSpan(lost["toolId"]), f" is {'removed' if is_gone else now}")
    if won is None:
        return (_describe_query(query), *moved, "; nothing is found")
    is_new = changes.get(won["toolId"]) == "added"
    was = "new" if is_new else f"was {_rank(won['rankBefore'])}"
    place = "first" if won["rankAfter"] == 1 else f"number {_rank(won['rankAfter'])}"
    winner = Styled(CodeSpan(won["toolId"]), "bold")
    reasons = () if is_gone else _reasons(lost, won)
    return (_describe_query(query), *moved, "; ", winner, f" is {place} ({was})", *reasons)


def _reasons(lost: Json, won: Json) -> Iterator[Inline]:
    """Yield what the tool that won gained by, and the one that lost lost by."""
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


def _doubt(query: Json) -> Inline:
    scores = _scores(query)
    if "answered" in query["effects"]:
        return (
            _describe_query(query),
            ": no tool should be found, ",
            CodeSpan(query["firstAfter"] or ""),
            " has ",
            scores,
        )
    return (_describe_query(query), ": ", scores)


def _describe_gain(query: Json) -> Inline:
    ranks = query["rankBefore"], query["rankAfter"]
    if ranks[0] == ranks[1]:
        return (_describe_query(query), ": ", _scores(query))
    return (_describe_query(query), f": now {_rank(ranks[1])}, was {_rank(ranks[0])}")


def _scores(query: Json) -> Inline:
    now, was = (
        "nothing" if one is None else Score(one)
        for one in (query["scoreAfter"], query["scoreBefore"])
    )
    return ("score ", now, ", was ", was)


def _rank(rank: int | None) -> str:
    return str(rank) if rank else "beyond 10"


def _unreachable(tool: Json) -> Inline:
    new = " (new)" if tool["isNew"] else ""
    hidden = tool["hiddenBy"]
    by: Inline = (": ", CodeSpan(hidden), " is first for ") if hidden else ": nothing is found for "
    return (
        CodeSpan(tool["toolId"]),
        new,
        *(by if isinstance(by, tuple) else (by,)),
        CodeSpan(_cut(tool["query"]), is_quoted=True),
    )


# Tools


def _name(tool: Json) -> Inline:
    return (CodeSpan(tool["toolId"]), *_place(tool))


def _place(tool: Json) -> tuple[Inline, ...]:
    return (" of ", CodeSpan(tool["sourceId"])) if tool["sourceId"] else ()


def _describe_tool(tool: Json) -> Inline:
    about = _cut(" ".join(tool["description"].split()), 120)
    return (*_name(tool), *((": ", CodeSpan(about)) if about else ()))  # type: ignore[misc]


def _describe_rename(tool: Json) -> Inline:
    before = tool["renamedFrom"]
    sources = before["sourceId"] != tool["sourceId"]
    return (
        CodeSpan(before["toolName"]),
        *((" of ", CodeSpan(before["sourceId"])) if sources else ()),
        " is now ",
        CodeSpan(tool["toolName"]),
        *(_place(tool) if sources else ()),
    )


def _breaking(tools: Iterable[Json]) -> Iterator[tuple[Json, str, Json]]:
    for tool in tools:
        for part in ("input", "output"):
            yield from ((tool, part, one) for one in tool[part] if one["verdict"] == "breaking")


def _describe_break(found: tuple[Json, str, Json]) -> Inline:
    tool, part, change = found
    return (CodeSpan(tool["toolId"]), f": {part} ", _schema_change(change))


def _badge(tool: Json) -> tuple[Inline, ...]:
    breaks = any(True for _ in _breaking([tool]))
    return (
        *((" ", Styled("breaking", "red")) if breaks else ()),
        *((" ", Styled("riskier", "yellow")) if tool["isRiskier"] else ()),
    )


def _changes(tool: Json) -> Iterator[Inline]:
    for field in tool["fields"]:
        if field["field"] == "id" and tool["renamedFrom"]:
            continue
        yield (
            CodeSpan(field["field"]),
            ": ",
            _field(field),
            *([" (riskier)"] if field["isRiskier"] else []),
        )
    for part in ("input", "output"):
        for change in tool[part]:
            verdict = Styled(change["verdict"], _VERDICTS[change["verdict"]])
            yield (f"{part} ", _schema_change(change), " (", verdict, ")")


def _field(field: Json) -> Inline:
    if field["diff"] is None:
        items = [("+ ", CodeSpan(_cut(one))) for one in field["added"]]
        items += [("- ", CodeSpan(_cut(one))) for one in field["removed"]]
        return join_inlines([*items]) if items else "in another order"
    if " " not in f"{field['before']}{field['after']}":
        before, after = (
            CodeSpan(_cut(field[side])) if field[side] else "nothing"
            for side in ("before", "after")
        )
        return (before, " is now ", after)
    return CodeSpan(_cut(field["diff"]))


def _schema_change(change: Json) -> Inline:
    path: tuple[Inline, ...] = (CodeSpan(change["path"]), " ") if change["path"] else ()
    values = join_inlines([CodeSpan(_cut(one)) for one in change["values"]])
    return (*path, change["what"], *((" ", values) if change["values"] else ()))


def _relation(found: tuple[Json, Json]) -> Inline:
    tool, relation = found
    sign = Styled("+", "green") if relation["isAdded"] else Styled("-", "red")
    origin = f" ({relation['origin']})" if relation["origin"] else ""
    kind = _KINDS.get(relation["kind"], relation["kind"])
    return (sign, " ", CodeSpan(tool["toolId"]), f" {kind} ", CodeSpan(relation["target"]), origin)


def _cut(text: str, most: int = _SHOWN) -> str:
    return text if len(text) <= most else f"{text[: most - 3].rstrip()}..."
