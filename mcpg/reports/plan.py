"""Plans for people and for programs that draw: blocks, an HTML report, Mermaid, DOT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.graph.exports import mermaid_label, quoted_dot
from mcpg.reports.blocks import (
    Block,
    CodeSpan,
    Column,
    Entries,
    ToolEntry,
    FactList,
    Inline,
    Notices,
    Score,
    Section,
    Styled,
    Table,
    join_inlines,
)
from mcpg.reports.page import cut, meter, number, page
from mcpg.text.markup import Markup, element
from mcpg.values import format_count

Json = Mapping[str, Any]

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
    yield (
        "plan",
        f"{format_count(len(data['tasks']), 'task')} in {format_count(len(data['layers']), 'step')}",
    )
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
