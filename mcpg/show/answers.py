"""Plans for people and for programs that draw: blocks, an HTML report, Mermaid, DOT."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcpg.search.confidence import LOW_CONFIDENCE
from mcpg.show.blocks import (
    Block,
    Bullets,
    CodeSpan,
    Column,
    Entries,
    FactList,
    Inline,
    Notices,
    Paragraph,
    Score,
    Section,
    Source,
    Styled,
    Table,
    ToolEntry,
    join_inlines,
)
from mcpg.show.diagrams import mermaid_label, quoted_dot
from mcpg.show.html import cut, meter, number, page
from mcpg.text.markup import Markup, element
from mcpg.values import format_count

Json = Mapping[str, Any]

_RELATION_NAMES = {"nextStep": "next step"}
_MOST_WITH_CALLS = 5
"""With more results than these, how each is called is left out of the text."""


def ask_blocks(data: Json, *, is_whole: bool = False) -> Iterator[Block]:
    """Return what `ask` shows of *data*; all evidence and every signature where *is_whole*."""
    if not (data["results"] or data.get("omitted")):
        return
    decision = data["decision"]
    direction = f", {decision['direction']}" if decision["direction"] else ""
    wanted = Styled(f"{data['intent']}{direction}", "bold")
    evidence = decision["evidence"] if is_whole else decision["evidence"][:1]
    sure = (" ", Score(decision["probability"])) if is_whole else ""
    yield Paragraph((wanted, sure, ": " if evidence else "", CodeSpan("; ".join(evidence))))
    results = data["results"]
    if any("call" in one or "card" in one for one in results):
        yield Entries(
            "answer", tuple(_make_result_entry(rank, one) for rank, one in enumerate(results, 1))
        )
    elif results:
        has_calls = is_whole or len(results) <= _MOST_WITH_CALLS
        yield answers_table(results, has_calls=has_calls)
    if data["total"] > len(results):
        more = data["total"] - len(results)
        option = "--max-bytes" if data.get("omitted") else "--limit"
        yield Paragraph(f"{more:,} more: see them with a greater {option}")
    commands = tuple(map(CodeSpan, data["suggestions"]))
    yield Section("suggestions", "Next", (Bullets(commands),), heading="next")


def answers_table(results: Sequence[Json], *, has_calls: bool = True) -> Table:
    """Return *results* as a table, with what speaks for each below it.

    Args:
        results: The results.
        has_calls: Whether how each is called stands there, too.
    """
    kinds = [_kind(one) for one in results]
    is_told = set(kinds) != {"match"}
    rows = tuple(
        (
            str(rank),
            Score(one["score"]),
            CodeSpan(kind if is_told else ""),
            Styled(CodeSpan(one["symbol"]), "cyan"),
            CodeSpan(one.get("docs", "")),
            CodeSpan(_at(one)),
            CodeSpan(one.get("sig", "") if has_calls else ""),
            CodeSpan("; ".join(one.get("why", ()))),
            CodeSpan(_links(one)),
        )
        for rank, (one, kind) in enumerate(zip(results, kinds, strict=True), 1)
    )
    columns = (
        Column("#", is_number=True),
        Column("score"),
        Column("is"),
        Column("result", is_whole=True),
        Column("description"),
        *(Column(head, is_below=True) for head in ("at", "call", "why", "links")),
    )
    return Table("Results", columns, rows, has_heads=True)


def _is_code(one: Json) -> bool:
    return one["kind"] not in {"tool", "page"}


def _kind(one: Json) -> str:
    return f"{one['type']}, {one['kind']}" if _is_code(one) else one["type"]


def _at(one: Json) -> str:
    lines = f":{one['lines']}" if one.get("lines") else ""
    return f"{one['file']}{lines}" if _is_code(one) else ""


def _links(one: Json) -> str:
    """Return what a result is linked to, by kind of link."""
    found: dict[str, list[str]] = {}
    for other in one.get("related", ()):
        name = _RELATION_NAMES.get(other["rel"], other["rel"])
        found.setdefault(name, []).append(f"{other['name']}{_place(other)}")
    return "; ".join(f"{name}: {', '.join(others)}" for name, others in found.items())


def _place(other: Json) -> str:
    return f" {other['file']}:{other['line']}" if "line" in other else ""


def _make_result_entry(rank: int, one: Json) -> ToolEntry:
    """Return a result that has a whole call or a whole description."""
    rows: list[tuple[str, Inline]] = [
        ("is", CodeSpan(_kind(one))),
        ("at", CodeSpan(_at(one))),
        ("call", CodeSpan(one.get("sig", ""))),
        ("why", CodeSpan("; ".join(one.get("why", ())))),
        ("links", CodeSpan(_links(one))),
    ]
    blocks: list[Block] = [FactList(tuple(rows))]
    if "call" in one:
        blocks.append(Source(json.dumps(one["call"], ensure_ascii=False), "json"))
    if "card" in one:
        blocks += [Paragraph(CodeSpan(line)) for line in _card_lines(one["card"])]
    return ToolEntry(
        rank, one["symbol"], Score(one["score"]), CodeSpan(one.get("docs", "")), tuple(blocks)
    )


def _card_lines(card: Json) -> Iterator[str]:
    for part in str(card.get("description") or "").split("\n"):
        if part.strip():
            yield part


_SHORT, _LONG = 60, 240


def plan_blocks(data: Json) -> list[Block]:
    """Return *data*, an object of the schema `mcpg/plan/1`, as blocks without its diagnostics."""
    blocks: list[Block] = [Section("goal", "Goal", (FactList(tuple(_facts(data))),), heading="")]
    tasks = {task["id"]: task for task in data["tasks"]}
    for place, layer in enumerate(data["layers"], 1):
        entries = tuple([_make_task_entry(tasks[name], tasks) for name in layer])
        title = f"Step {place}" + (": side by side" if len(layer) > 1 else "")
        blocks.append(Section(f"step-{place}", title, (Entries("task", entries),), heading=title))
    if data["missing"]:
        blocks.append(Section("missing", "Missing inputs", (_missing(data),), heading="missing"))
    if data["broken"]:
        ends = [(tasks[one["first"]], tasks[one["then"]]) for one in data["broken"]]
        rows = tuple(
            [(CodeSpan(_name_task(first)), "→", CodeSpan(_name_task(then))) for first, then in ends]
        )
        columns = (Column("first"), Column(""), Column("then"))
        table = Table("Dependencies that closed cycles", columns, rows)
        blocks.append(Section("broken", "Cycles", (table,), heading="left out, for a cycle"))
    return blocks


def tasks_table(data: Json) -> Table:
    """Return the tasks of *data* as a table: when each comes, what it is, why it is there."""
    steps = {name: step for step, layer in enumerate(data["layers"], 1) for name in layer}
    rows = tuple(
        (
            task["id"][1:],
            str(steps[task["id"]]),
            Score(task["confidence"]),
            Styled(CodeSpan(task["toolId"]), "cyan"),
            ", ".join(one["task"][1:] for one in task["dependsOn"]),
            CodeSpan(task["rationale"]),
        )
        for task in data["tasks"]
    )
    columns = (
        *(Column(head, is_number=True) for head in ("#", "step")),
        Column("confidence"),
        Column("tool", is_whole=True),
        *(Column(head) for head in ("after", "why")),
    )
    return Table("Tasks", columns, rows, has_heads=True)


def _facts(data: Json) -> Iterator[tuple[str, Inline]]:
    yield "goal", CodeSpan(data["goal"])
    if not data["tasks"]:
        yield "plan", "no tool fits"
        return
    yield "confidence", Score(data["confidence"])
    tasks, steps = (
        format_count(len(data["tasks"]), "task"),
        format_count(len(data["layers"]), "step"),
    )
    yield "plan", f"{tasks} in {steps}"
    yield "because", CodeSpan(data["rationale"])
    for one in data["intents"] if len(data["intents"]) > 1 else ():
        yield (
            "part",
            (
                CodeSpan(" ".join(one["words"])),
                ": ",
                CodeSpan(", ".join(one["tasks"]) or "no task"),
            ),
        )


def _make_task_entry(task: Json, tasks: Mapping[str, Json]) -> ToolEntry:
    marks = [
        text
        for text, is_so in (
            ("destructive", task["isDestructive"]),
            ("prerequisite", task["isPrerequisite"]),
        )
        if is_so
    ]
    figures: list[Inline] = [Score(task["confidence"])]
    figures += [Styled(mark, "yellow") for mark in marks]
    return ToolEntry(
        int(task["id"][1:]),
        task["toolId"],
        join_inlines(figures, " "),
        task["summary"] or task["displayName"],
        (FactList(tuple(_about(task, tasks))),),
        task["confidence"],
        task["sourceId"],
    )


def _about(task: Json, tasks: Mapping[str, Json]) -> Iterator[tuple[str, Inline]]:
    yield "why", CodeSpan(task["rationale"])
    for one in task["dependsOn"]:
        fields = [
            f"{mapping['field'] or 'its result'} fills {mapping['argument']}"
            for mapping in one["mappings"]
        ]
        before = tasks[one["task"]]["toolName"]
        yield (
            f"after {one['task'][1:]}",
            CodeSpan(f"{before}: {', '.join(fields) or one['reason']}"),
        )
    for one in task["provided"]:
        field = one["field"] or "its result"
        yield "given", CodeSpan(f"{one['toolId']}: {field} fills {one['argument']}")
    others = [CodeSpan(one["toolId"]) for one in task["alternatives"]]
    if others:
        yield "or", join_inlines(list(others))
    filled = [CodeSpan(f"{one['argument']} = {one['value']}") for one in task["filled"]]
    if filled:
        yield "with", join_inlines(list(filled))


def _missing(data: Json) -> Table:
    rows = tuple(
        [
            (
                Styled(CodeSpan(one["argument"]), "cyan"),
                ", ".join(name[1:] for name in one["tasks"]),
                CodeSpan(one["description"] or one["type"] or ""),
            )
            for one in data["missing"]
        ]
    )
    columns = (Column("argument", is_whole=True), Column("tasks", most=12), Column("description"))
    return Table("Arguments that only the user can give", columns, rows, has_heads=True)


# HTML


def plan_page(data: Json) -> str:
    """Return *data*, an object of the schema `mcpg/plan/1`, as an HTML report."""
    notices = (
        [Section("diagnostics", "Diagnostics", (Notices(tuple(data["diagnostics"])),))]
        if data["diagnostics"]
        else []
    )
    sections = [one for one in plan_blocks(data) if isinstance(one, Section)][1:]
    return page(
        "plan",
        f"{cut(data['goal'], _SHORT)} · mcpg plan",
        _head(data),
        [*notices, *sections],
        data={},
        scripts=[],
    )


def _head(data: Json) -> Markup:
    sure = data["confidence"]
    verdict = element("p", "No tool fits.", class_="verdict low")
    if data["tasks"]:
        verdict = element(
            "p",
            element("span", number(sure), class_="big"),
            meter(sure, f"Confidence {number(sure)} of 1", "meter wide"),
            element("span", data["rationale"]),
            class_=f"verdict {'low' if sure < LOW_CONFIDENCE else 'sure'}",
        )
    return element(
        "div",
        element("p", "The goal", class_="kicker"),
        element("h1", cut(data["goal"], _LONG), dir="auto"),
        verdict,
        class_="head",
    )


# Drawings


def plan_mermaid(data: Json) -> str:
    """Return *data*, an object of the schema `mcpg/plan/1`, as a Mermaid flowchart."""
    lines = ["%% A plan, made by mcpg", "flowchart TD"]
    for task in data["tasks"]:
        before, after = ("{{", "}}") if task["isDestructive"] else ("[", "]")
        lines.append(f'  {task["id"]}{before}"{mermaid_label(_name_task(task))}"{after}')
    for task, one in _dependencies(data["tasks"]):
        arrow = "-.->" if one["origin"] == "inferred" else "-->"
        name = mermaid_label(_list_arguments(one))
        label = f'|"{name}"|' if _list_arguments(one) else ""
        lines.append(f"  {one['task']} {arrow}{label} {task['id']}")
    return "\n".join((*lines, ""))


def plan_dot(data: Json) -> str:
    """Return *data*, an object of the schema `mcpg/plan/1`, as a directed graph in DOT."""
    lines = ["// A plan, made by mcpg", "digraph plan {", "  rankdir=TB;"]
    for task in data["tasks"]:
        shape = "octagon" if task["isDestructive"] else "box"
        texts = f"label={quoted_dot(_name_task(task))}, tooltip={quoted_dot(task['summary'])}"
        lines.append(f"  {task['id']} [shape={shape}, {texts}];")
    lines += [f"  {{ rank=same; {'; '.join(layer)}; }}" for layer in data["layers"] if layer]
    for task, one in _dependencies(data["tasks"]):
        style = "dashed" if one["origin"] == "inferred" else "solid"
        texts = f"label={quoted_dot(_list_arguments(one))}, tooltip={quoted_dot(one['reason'])}"
        lines.append(f"  {one['task']} -> {task['id']} [style={style}, {texts}];")
    return "\n".join((*lines, "}", ""))


def _name_task(task: Json) -> str:
    return f"{task['id'][1:]}: {task['toolId']}"


def _dependencies(tasks: Sequence[Json]) -> Iterator[tuple[Json, Json]]:
    for task in tasks:
        for one in task["dependsOn"]:
            yield task, one


def _list_arguments(one: Json) -> str:
    return ", ".join(mapping["argument"] for mapping in one["mappings"])
