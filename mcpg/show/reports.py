"""The HTML reports of `explain` and `eval`: files that need no network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.search.results import PREREQUISITE
from mcpg.show.blocks import (
    Block,
    Chart,
    CodeSpan,
    Details,
    FactList,
    Figure,
    Inline,
    Json,
    Notices,
    Section,
    Table,
    make_columns,
)
from mcpg.show.evaluation import (
    MAIN,
    badness,
    comparison_section,
    figure,
    gates_section,
    metrics_section,
    reliability_section,
    way,
)
from mcpg.show.explain import explain_blocks, stages_section
from mcpg.show.explain_summary import rank_explanation_blocks
from mcpg.show.html import (
    asset,
    bdi,
    coverage_curve,
    cut,
    drawing_library,
    frame_table,
    meter,
    number,
    page,
    page_head,
    reliability_diagram,
    render_blocks,
    verdict,
)
from mcpg.text.markup import Markup, element, join_markup
from mcpg.values import format_count

_QUERY = "query"
_LONGEST_NODE_TEXT = 320
_HINT = (
    "Drag to move; Ctrl and the wheel, or two fingers, to zoom. With the keyboard: Tab into the "
    "graph, arrow keys from node to node, Enter to hold one, + − 0 to zoom."
)
_REACHED = (
    ("primary", "match"),
    (PREREQUISITE, PREREQUISITE),
    ("related", "related"),
    ("nextStep", "next step"),
)
_EDGES = {"related": "related", "nextStep": "next step", PREREQUISITE: "needs"}


def build_match_graph(data: Json) -> dict[str, Any]:
    """Return the nodes and edges to draw for *data*, an object of the schema `mcpg/explain/1`.

    Nodes are numbered in their order; edges refer to nodes by number.
    """
    matches = data["matches"]
    matched = {one["toolId"] for one in matches}
    needed = [one for one in data["prerequisites"] if one["toolId"] not in matched]
    places = {one["toolId"]: place for place, one in enumerate((*matches, *needed), start=1)}
    label = cut(data["query"], _LONGEST_NODE_TEXT) or "every tool"
    nodes: list[dict[str, Any]] = [{"kind": _QUERY, "label": label}]
    edges: list[dict[str, Any]] = []
    for place, one in enumerate(matches, start=1):
        nodes.append(_make_node(one, "primary", place))
        reason = ", ".join(one["evidence"]["terms"])
        edges.append({"from": 0, "to": place, "kind": "match", "reason": reason})
    reached = (*needed, *data["relatedMatches"], *data["nextStepMatches"])
    for place, one in enumerate(reached, start=len(nodes)):
        via = one["via"]
        nodes.append(_make_node(one, via["edge"]))
        ends = {"from": places[via["from"]], "to": place}
        link = {"kind": via["edge"], "reason": via["reason"], "weight": via["weight"]}
        edges.append(ends | link)
    return {"nodes": nodes, "edges": edges}


def _make_node(match: Json, kind: str, rank: int | None = None) -> dict[str, Any]:
    return {
        "kind": kind,
        "label": match["toolId"],
        "title": match["displayName"],
        "text": cut(match["description"], _LONGEST_NODE_TEXT),
        "source": match["sourceId"],
        "score": match["score"],
        "rank": rank,
    }


def graph_section(graph: Json) -> Markup:
    """Return the frame in which the script draws *graph*, its keys, and the same as a table."""
    kinds = [element("li", element("i", class_=f"dot {kind}"), name) for kind, name in _REACHED]
    keys = element("ul", kinds, class_="legend", aria_label="Kinds of nodes")
    drawing = element(
        "div",
        element("div", keys, zoom_buttons("#graph-table"), class_="tools"),
        element("div", id="graph-canvas", class_="canvas"),
        element("p", _HINT, class_="hint"),
        class_="drawing",
    )
    label = "Selection in the graph"
    chosen = element("aside", id="graph-details", aria_live="polite", aria_label=label)
    summary = element("summary", "The same as a table")
    table = element("details", summary, render_blocks([_tabulate_edges(graph)]), id="graph-table")
    return join_markup(element("div", drawing, chosen, class_="graph"), table)


def zoom_buttons(after: str) -> Markup:
    """Return the buttons of a drawing, and a link to what comes *after* it."""
    buttons = [
        ("graph-in", "+", "Zoom in"),
        ("graph-out", "−", "Zoom out"),
        ("graph-fit", "Fit", "Fit the whole graph"),
    ]
    return element(
        "div",
        element("a", "Skip the graph", class_="skip inner", href=after),
        [
            element("button", sign, type="button", id=identity, title=title, aria_label=title)
            for identity, sign, title in buttons
        ],
        class_="controls",
        role="group",
        aria_label="View of the graph",
    )


def _tabulate_edges(graph: Json) -> Table:
    nodes = graph["nodes"]
    rows = tuple(
        (
            CodeSpan(nodes[edge["from"]]["label"]),
            _EDGES.get(edge["kind"], edge["kind"]),
            CodeSpan(nodes[edge["to"]]["label"]),
            Figure(nodes[edge["to"]]["score"]),
            Figure(edge["weight"], ".3f") if "weight" in edge else "–",
            CodeSpan(edge["reason"]),
        )
        for edge in graph["edges"]
    )
    numbers = ("score", "weight")
    columns = make_columns("from", "edge", "to", *numbers, "reason", numbers=numbers)
    return Table("Edges of the focused graph", columns, rows)


_SHORT = 60
_LONGEST_TITLE = 240
_CHANGES_SHOWN = 50


def explain_page(data: Json, *, shows_times: bool = False) -> str:
    """Return the report on *data*, an object of the schema `mcpg/explain/1`, as HTML text.

    How long each stage took, which is never the same twice, is there only where it *shows_times*.
    """
    graph = build_match_graph(data)
    parts = {section.identity: section for section in explain_blocks(data)}
    lead = (
        "What the query matched, and what the edges of the graph brought in. Choose a tool for "
        "its edges and their reasons."
    )
    drawing = Chart("joined", (graph_section(graph),))
    parts["graph"] = Section("graph", "Graph", (drawing,), lead)
    if tool := data.get("tool"):
        lead = f"Why {tool['toolId']} has its rank, and the change that makes it first."
        blocks = tuple(rank_explanation_blocks(data["query"], tool))
        parts["tool"] = Section("tool", "One tool", blocks, lead)
    if not data["matches"]:
        del parts["matches"]
    parts |= {one.identity: one for one in stages_section(data, shows_times=shows_times)}
    order = ("diagnostics", "advice", "tool", "words", "graph", "matches", "stages", "model")
    return page(
        "explain",
        f"{cut(data['query'], _SHORT) or 'every tool'} · mcpg explain",
        _head_explanation(data, parts["query"]),
        [parts[name] for name in order if name in parts],
        data=graph,
        scripts=[drawing_library(), asset("graph.js")],
    )


def _head_explanation(data: Json, query: Section) -> Markup:
    text, matches = data["query"], data["matches"]
    whole: Markup | None = None
    if len(text) > _LONGEST_TITLE:
        content = element("p", text, dir="auto")
        whole = element("details", element("summary", "The whole query"), content)
    best: Markup | None = None
    if text and matches:
        link = element("a", bdi(matches[0]["toolId"]), href="#match-1")
        best = verdict("Score", matches[0]["score"], "best match ", link)
    elif text:
        best = element("p", "No tool matches.", class_="verdict low")
    (found,) = query.blocks
    rows = found.rows[1:] if isinstance(found, FactList) else ()
    lists = {
        "matches": "matches",
        "prerequisites": "prerequisites",
        "related": "relatedMatches",
        "next steps": "nextStepMatches",
    }
    counts = [(name, str(len(data[key]))) for name, key in lists.items()]
    return page_head(
        "The query" if text else "No query",
        cut(text, _LONGEST_TITLE) or "Every tool by name",
        whole,
        best,
        render_blocks([FactList((*rows, *counts))]),
    )


def eval_page(data: Json) -> str:
    """Return the report on *data*, an object of the schema `mcpg/eval/1`, as HTML text."""
    notices = Notices(tuple(data["diagnostics"]))
    sections = [
        *gates_section(data["gates"]),
        metrics_section(data),
        *comparison_section(data["baseline"], _CHANGES_SHOWN),
        _show_trust(data),
        queries_section(data),
        *([Section("diagnostics", "Diagnostics", (notices,))] if notices.items else []),
    ]
    main = data["metrics"][MAIN]
    queries = format_count(data["queries"], "query", "queries")
    return page(
        "eval",
        f"{MAIN} {'-' if main is None else number(main)} over {queries} · mcpg eval",
        _head_evaluation(data, main, queries),
        sections,
        data=queries_data(data),
        scripts=[asset("table.js")],
    )


def _head_evaluation(data: Json, main: float | None, queries: str) -> Markup:
    shown = "–" if main is None else number(main)
    failed, gates = sum(not gate["passed"] for gate in data["gates"]), len(data["gates"])
    outcome = f"{failed} of {gates} gates fail" if failed else "all gates pass"
    pill = element("span", outcome, class_="pill bad" if failed else "pill good")
    rows: tuple[tuple[str, Inline], ...] = (
        ("strategy", way(data)),
        ("matches looked at", str(data["limit"])),
        ("without an answer", str((data["abstention"] or {}).get("queries", 0))),
    )
    return element(
        "div",
        element("p", "Judged queries", class_="kicker"),
        element("h1", f"{queries} answered from {data['tools']:,} tools"),
        element(
            "p",
            element("span", shown, class_="big"),
            meter(main or 0.0, f"{MAIN} {shown} of 1", "meter wide"),
            element("span", MAIN),
            pill if gates else None,
            class_="verdict",
        ),
        render_blocks([FactList(rows)]),
        class_="head",
    )


def _show_trust(data: Json) -> Section:
    calibration, latency = data["calibration"], data["latencyMs"]
    answerless = calibration["aurocRightVsAnswerless"]
    rows: list[tuple[str, Inline]] = [
        ("AUROC, right against no answer", "" if answerless is None else figure(answerless))
    ]
    if latency:
        rows.append(("half of the searches within", f"{number(latency['p50'])} ms"))
        rows.append(("95 % of the searches within", f"{number(latency['p95'])} ms"))
    curve = tuple(
        (f"{one['threshold']:g}", figure(one["coverage"]), figure(one["precision"]))
        for one in calibration["curve"]
    )
    numbers = ("threshold", "coverage", "precision")
    columns = make_columns(*numbers, numbers=numbers)
    tables = (*reliability_section(data).blocks, Table("Precision by coverage", columns, curve))
    charts = {
        _ABOUT_BINS: reliability_diagram(calibration["bins"]),
        _ABOUT_CURVE: coverage_curve(calibration["curve"], LOW_CONFIDENCE),
    }
    figures = [
        element("figure", chart, element("figcaption", caption))
        for caption, chart in charts.items()
    ]
    blocks: tuple[Block, ...] = (
        FactList(tuple(rows)),
        Chart("joined", (element("div", figures, class_="figures"),)),
        Details("The same as tables", tables),
    )
    lead = "A score of 0.8 should be right in 8 of 10 cases, and higher scores right more often."
    return Section("trust", "Are the scores probabilities?", blocks, lead)


_ABOUT_BINS = (
    "Reliability. On the dashed line scores are probabilities; below it they are too high, "
    "above it too low. Larger marks mean more queries."
)
_ABOUT_CURVE = (
    "Precision and coverage. Answers that score at least a threshold, the number beside "
    "the curve, are fewer, and more of them are right. The large mark is "
    f"{LOW_CONFIDENCE:g}, below which a search warns."
)

# The table of all queries, which a script sorts, filters and pages. A report may contain thousands
# of queries: they are data of the page, with tools by number.

_COLUMNS = (
    ("query", "Query", None),
    ("ndcg", "nDCG@5", "num"),
    ("rank", "Rank", "num"),
    ("top", "Best score", "num"),
    (None, "Found first", None),
    (None, "Right", None),
)
_FILTERS = (
    ("all", "All"),
    ("missed", "Right tool not found"),
    ("late", "Right tool found, not first"),
    ("first", "Right tool first"),
    ("unsure", f"Best score below {LOW_CONFIDENCE:g}"),
    ("surely-wrong", f"Wrong at {LOW_CONFIDENCE:g} or more"),
    ("answerless", "No tool answers"),
)
_CHANGES = (("worse", "Worse than the baseline"), ("better", "Better than the baseline"))


def queries_data(data: Json) -> dict[str, Any]:
    """Return the queries of *data*, an object of the schema `mcpg/eval/1`, worst first."""
    numbers: dict[str, int] = {}
    rows = []
    for one in sorted(data["perQuery"], key=lambda one: (*badness(one), one["id"])):
        relevant = [numbers.setdefault(tool, len(numbers)) for tool in one["relevant"]]
        matches = [
            [
                numbers.setdefault(match["toolId"], len(numbers)),
                match["score"],
                int(match["isRelevant"]),
            ]
            for match in one["matches"]
        ]
        rows.append(
            {
                "id": one["id"],
                "query": one["query"],
                "ndcg": one["ndcg@5"],
                "rank": one["rank"],
                "top": one["topScore"],
                "relevant": relevant,
                "unknown": one["unknown"],
                "answerless": not one["judged"],
                "matches": matches,
            }
        )
    changes = data["baseline"] or {}
    return {
        "low": LOW_CONFIDENCE,
        "tools": list(numbers),
        "queries": rows,
        **{name: [one["id"] for one in changes.get(name, ())] for name, _ in _CHANGES},
    }


def queries_section(data: Json) -> Section:
    """Return the frame that the script fills."""
    changes = [one for one in _CHANGES if (data["baseline"] or {}).get(one[0])]
    heads = []
    for key, name, kind in _COLUMNS:
        shown = element("button", name, type="button", data_sort=key) if key else name
        is_sorted = "none" if key else None
        heads.append(element("th", shown, scope="col", class_=kind, aria_sort=is_sorted))
    leaves = element(
        "div",
        element("button", "← Previous", type="button", id="query-previous"),
        element("span", id="query-leaf", class_="dim"),
        element("button", "Next →", type="button", id="query-next"),
        class_="leaves no-print",
        role="group",
        aria_label="Leaves of the table",
    )
    head, rows = element("thead", element("tr", heads)), element("tbody", id="query-rows")
    content = join_markup(
        _make_filters([*_FILTERS, *changes]),
        frame_table("Judged queries", head, rows),
        leaves,
        element("noscript", element("p", "This table needs JavaScript.")),
    )
    lead = "Worst first. Sort by a heading; unfold a query for its matches."
    return Section("queries", "Queries", (Chart("joined", (content,)),), lead)


def _make_filters(filters: Sequence[tuple[str, str]]) -> Markup:
    options = [element("option", name, value=value) for value, name in filters]
    search = element("input", type="search", id="query-find", autocomplete="off", size=24)
    return element(
        "form",
        element("label", "Find ", search),
        element("label", "Show ", element("select", options, id="query-show", autocomplete="off")),
        element("p", id="query-count", role="status", class_="dim"),
        class_="filters no-print",
        role="search",
        aria_label="Choose queries",
        id="query-filters",
    )
