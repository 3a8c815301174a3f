"""Plans as blocks, an HTML report, Mermaid and DOT."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from mcpg.show.blocks import (
    Block,
    Bullets,
    CodeSpan,
    Column,
    Entries,
    FactList,
    Inline,
    Json,
    Notices,
    Paragraph,
    Score,
    Section,
    Source,
    Styled,
    Table,
    ToolEntry,
    join_inlines,
    make_columns,
)
from mcpg.show.html import cut, page, page_head, verdict
from mcpg.text.markup import element, mermaid_label, quoted_dot
from mcpg.values import format_count, score_text

_RELATION_NAMES = {"nextStep": "next step"}
_MOST_WITH_CALLS = 5
"""With more results than these, how each is called is left out of the text."""


def ask_blocks(data: Json, *, is_whole: bool = False) -> Iterator[Block]:
    """Return what `ask` shows of *data*; all evidence and every signature where *is_whole*."""
    results, decision = data["results"], data["decision"]
    if not (results or data.get("omitted") or data["intent"] == "catalog"):
        return
    direction = f", {decision['direction']}" if decision["direction"] else ""
    wanted = Styled(f"{data['intent']}{direction}", "bold")
    evidence = decision["evidence"] if is_whole else decision["evidence"][:1]
    sure = (" ", Score(decision["probability"])) if is_whole else ""
    yield Paragraph((wanted, sure, ": " if evidence else "", CodeSpan("; ".join(evidence))))
    if any("call" in one or "card" in one for one in results):
        yield Entries("answer", tuple(_make_result_entry(*one) for one in enumerate(results, 1)))
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
    """Return *results* as a table, with what speaks for each below it."""
    facts = [_list_result_facts(one) for one in results]
    is_told = any(one["is"] != "match" for one in facts)
    rows = tuple(
        (
            str(rank),
            Score(one["score"]),
            CodeSpan(told["is"] if is_told else ""),
            Styled(CodeSpan(one["symbol"]), "cyan"),
            CodeSpan(one.get("docs", "")),
            CodeSpan(told["at"]),
            CodeSpan(told["call"] if has_calls else ""),
            CodeSpan(told["why"]),
            CodeSpan(told["links"]),
        )
        for rank, (one, told) in enumerate(zip(results, facts, strict=True), 1)
    )
    below = ("at", "call", "why", "links")
    heads = ("#", "score", "is", "result", "description", *below)
    columns = make_columns(*heads, numbers=("#",), below=below, whole=("result",))
    return Table("Results", columns, rows, has_heads=True)


def _list_result_facts(one: Json) -> dict[str, str]:
    is_code = one["kind"] not in {"tool", "page", "source", "category"}
    lines = f":{one['lines']}" if one.get("lines") else ""
    # Results name the repository and branch where there are several.
    home = ", ".join(filter(None, (one.get("repo"), one.get("branch"))))
    links: dict[str, list[str]] = {}
    for other in one.get("related", ()):
        name = _RELATION_NAMES.get(other["rel"], other["rel"])
        place = f" {other['file']}:{other['line']}" if "line" in other else ""
        links.setdefault(name, []).append(f"{other['name']}{place}")
    return {
        "is": f"{one['type']}, {one['kind']}" if is_code else one["type"],
        "at": f"{one['file']}{lines}{f' ({home})' if home else ''}" if is_code else "",
        "call": one.get("sig", ""),
        "why": "; ".join(one.get("why", ())),
        "links": "; ".join(f"{name}: {', '.join(others)}" for name, others in links.items()),
    }


def _make_result_entry(rank: int, one: Json) -> ToolEntry:
    facts = _list_result_facts(one).items()
    blocks: list[Block] = [FactList(tuple((name, CodeSpan(told)) for name, told in facts))]
    if "call" in one:
        blocks.append(Source(json.dumps(one["call"], ensure_ascii=False), "json"))
    if "card" in one:
        lines = str(one["card"].get("description") or "").split("\n")
        blocks += [Paragraph(CodeSpan(line)) for line in lines if line.strip()]
    about = CodeSpan(one.get("docs", ""))
    return ToolEntry(rank, one["symbol"], Score(one["score"]), about, tuple(blocks))


_SHORT, _LONG = 60, 240


def plan_blocks(data: Json, *, explains: bool = True) -> list[Block]:
    """Return *data*, an object of the schema `mcpg/plan/1`, as blocks without its diagnostics.

    Unless *explains*, the explanations of tasks are left out.
    """
    facts = FactList(tuple(_list_plan_facts(data)))
    blocks: list[Block] = [Section("goal", "Goal", (facts,), heading="")]
    tasks = {task["id"]: task for task in data["tasks"]}
    for place, layer in enumerate(data["layers"], 1):
        entries = tuple([_make_task_entry(tasks[name], tasks, explains) for name in layer])
        title = f"Step {place}" + (": side by side" if len(layer) > 1 else "")
        blocks.append(Section(f"step-{place}", title, (Entries("task", entries),), heading=title))
    if data["missing"]:
        rows: list[tuple[Inline, ...]] = []
        for one in data["missing"]:
            name, about = one["argument"], one["description"] or one["type"] or ""
            users = ", ".join(task[1:] for task in one["tasks"])
            rows.append((Styled(CodeSpan(name), "cyan"), users, CodeSpan(about)))
        heads = (Column("argument", is_whole=True), Column("tasks", most=12), Column("description"))
        title = "Arguments that only the user can give"
        table = Table(title, heads, tuple(rows), has_heads=True)
        blocks.append(Section("missing", "Missing inputs", (table,), heading="missing"))
    if data["broken"]:
        ends = [(tasks[one["first"]], tasks[one["then"]]) for one in data["broken"]]
        cycles = [(CodeSpan(_name_task(one)), "→", CodeSpan(_name_task(two))) for one, two in ends]
        columns = make_columns("first", "", "then")
        table = Table("Dependencies that closed cycles", columns, tuple(cycles))
        blocks.append(Section("broken", "Cycles", (table,), heading="left out, for a cycle"))
    return blocks


def tasks_table(data: Json) -> Table:
    """Return the tasks of *data* as a table: order, tool and reason."""
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
    heads = ("#", "step", "confidence", "tool", "after", "why")
    columns = make_columns(*heads, numbers=("#", "step"), whole=("tool",))
    return Table("Tasks", columns, rows, has_heads=True)


def _list_plan_facts(data: Json) -> Iterator[tuple[str, Inline]]:
    yield "goal", CodeSpan(data["goal"])
    if not data["tasks"]:
        yield "plan", "no tool fits"
        return
    yield "complete", Score(data["complete"])
    yield "clean", Score(data["clean"])
    tasks = format_count(len(data["tasks"]), "task")
    yield "plan", f"{tasks} in {format_count(len(data['layers']), 'step')}"
    for one in data["intents"] if len(data["intents"]) > 1 else ():
        names = ", ".join([name[1:] for name in one["tasks"]])
        yield "part", CodeSpan(f"{one['text']}: {names or 'no task'}")
        if one["reason"]:
            yield "", CodeSpan(one["reason"])


def _make_task_entry(task: Json, tasks: Mapping[str, Json], explains: bool) -> ToolEntry:
    figures: list[Inline] = [Score(task["confidence"])]
    figures += [Styled("destructive", "yellow")] if task["isDestructive"] else []
    figures += [Styled("prerequisite", "yellow")] if task["isPrerequisite"] else []
    rows: list[tuple[str, Inline]] = []
    if explains:
        rows.append(("why", CodeSpan(task["rationale"])))
    for one in task["dependsOn"] if explains else ():
        fields = ", ".join(
            f"{mapping['field'] or 'its result'} fills {mapping['argument']}"
            for mapping in one["mappings"]
        )
        told = CodeSpan(f"{tasks[one['task']]['toolName']}: {fields or one['reason']}")
        rows.append((f"after {one['task'][1:]}", told))
    for one in task["provided"]:
        field = f"{one['field'] or 'its result'} fills {one['argument']}"
        rows.append(("given", CodeSpan(f"{one['toolId']}: {field}")))
    others = [CodeSpan(one["toolId"]) for one in task["alternatives"]]
    filled = [CodeSpan(f"{one['argument']} = {one['value']}") for one in task["filled"]]
    rows += [("or", join_inlines([*others])), ("with", join_inlines([*filled]))]
    return ToolEntry(
        int(task["id"][1:]),
        task["toolId"],
        join_inlines(figures, " "),
        task["summary"] or task["displayName"],
        (FactList(tuple(rows)),),
        task["confidence"],
        task["sourceId"],
    )


def plan_page(data: Json) -> str:
    """Return *data*, an object of the schema `mcpg/plan/1`, as an HTML report."""
    notices = Notices(tuple(data["diagnostics"]))
    sections = [Section("diagnostics", "Diagnostics", (notices,))] if notices.items else []
    sections += [one for one in plan_blocks(data) if isinstance(one, Section)][1:]
    told = element("p", "No tool fits.", class_="verdict low")
    if data["tasks"]:
        told = verdict("Nothing is missing", data["complete"], _describe_clean(data))
    head = page_head("The goal", cut(data["goal"], _LONG), told)
    title = f"{cut(data['goal'], _SHORT)} · mcpg plan"
    return page("plan", title, head, sections, data={}, scripts=[])


def _describe_clean(data: Json) -> str:
    return f"every task belongs with a probability of {score_text(data['clean'])}"


def plan_mermaid(data: Json) -> str:
    """Return *data*, an object of the schema `mcpg/plan/1`, as a Mermaid flowchart."""
    lines = ["%% A plan, made by mcpg", "flowchart TD"]
    edges = []
    for task in data["tasks"]:
        before, after = ("{{", "}}") if task["isDestructive"] else ("[", "]")
        lines.append(f'  {task["id"]}{before}"{mermaid_label(_name_task(task))}"{after}')
        for one in task["dependsOn"]:
            arrow = "-.->" if one["origin"] == "inferred" else "-->"
            arguments = _list_arguments(one)
            label = f'|"{mermaid_label(arguments)}"|' if arguments else ""
            edges.append(f"  {one['task']} {arrow}{label} {task['id']}")
    return "\n".join((*lines, *edges, ""))


def plan_dot(data: Json) -> str:
    """Return *data*, an object of the schema `mcpg/plan/1`, as a directed graph in DOT."""
    lines = ["// A plan, made by mcpg", "digraph plan {", "  rankdir=TB;"]
    edges = []
    for task in data["tasks"]:
        shape = "octagon" if task["isDestructive"] else "box"
        texts = f"label={quoted_dot(_name_task(task))}, tooltip={quoted_dot(task['summary'])}"
        lines.append(f"  {task['id']} [shape={shape}, {texts}];")
        for one in task["dependsOn"]:
            style = "dashed" if one["origin"] == "inferred" else "solid"
            texts = f"label={quoted_dot(_list_arguments(one))}, tooltip={quoted_dot(one['reason'])}"
            edges.append(f"  {one['task']} -> {task['id']} [style={style}, {texts}];")
    lines += [f"  {{ rank=same; {'; '.join(layer)}; }}" for layer in data["layers"] if layer]
    return "\n".join((*lines, *edges, "}", ""))


def _name_task(task: Json) -> str:
    return f"{task['id'][1:]}: {task['toolId']}"


def _list_arguments(one: Json) -> str:
    return ", ".join(mapping["argument"] for mapping in one["mappings"])
