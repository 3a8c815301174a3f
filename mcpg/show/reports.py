"""The HTML reports of `explain` and `eval`: files that need no network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcpg.search.confidence import LOW_CONFIDENCE
from mcpg.search.results import PREREQUISITE
from mcpg.show.blocks import (
    Block,
    Chart,
    CodeSpan,
    Column,
    Details,
    FactList,
    Figure,
    Inline,
    Notices,
    Section,
    Table,
)
from mcpg.show.evaluation import (
    MAIN,
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
    meter,
    number,
    page,
    reliability_diagram,
    render_blocks,
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


def build_match_graph(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nodes and edges to draw for *data*, an object of the schema `mcpg/explain/1`.

    Nodes are numbered in the order in which they stand; edges name their ends by number.
    """
    matches = data["matches"]
    matched = {one["toolId"] for one in matches}
    needed = [one for one in data["prerequisites"] if one["toolId"] not in matched]
    reached = [*needed, *data["relatedMatches"], *data["nextStepMatches"]]
    places = {one["toolId"]: place for place, one in enumerate((*matches, *needed), start=1)}
    nodes: list[dict[str, Any]] = [
        {"kind": _QUERY, "label": cut(data["query"], _LONGEST_NODE_TEXT) or "every tool"}
    ]
    nodes += [_node(one, "primary", rank) for rank, one in enumerate(matches, start=1)]
    nodes += [_node(one, one["via"]["edge"]) for one in reached]
    edges = [_match_edge(place, one) for place, one in enumerate(matches, start=1)]
    edges += [
        _edge(places[one["via"]["from"]], place, one["via"])
        for place, one in enumerate(reached, start=len(matches) + 1)
    ]
    return {"nodes": nodes, "edges": edges}


def _node(match: Mapping[str, Any], kind: str, rank: int | None = None) -> dict[str, Any]:
    return {
        "kind": kind,
        "label": match["toolId"],
        "title": match["displayName"],
        "text": cut(match["description"], _LONGEST_NODE_TEXT),
        "source": match["sourceId"],
        "score": match["score"],
        "rank": rank,
    }


def _match_edge(place: int, match: Mapping[str, Any]) -> dict[str, Any]:
    terms = match["evidence"]["terms"]
    return {"from": 0, "to": place, "kind": "match", "reason": ", ".join(terms)}


def _edge(source: int, target: int, via: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "from": source,
        "to": target,
        "kind": via["edge"],
        "reason": via["reason"],
        "weight": via["weight"],
    }


def graph_section(graph: Mapping[str, Any]) -> Markup:
    """Return the frame in which the script draws *graph*, its keys, and the same as a table."""
    return join_markup(
        element(
            "div",
            element(
                "div",
                element("div", _key(_REACHED), zoom_buttons("#graph-table"), class_="tools"),
                element("div", id="graph-canvas", class_="canvas"),
                element("p", _HINT, class_="hint"),
                class_="drawing",
            ),
            element(
                "aside",
                id="graph-details",
                aria_live="polite",
                aria_label="What is chosen in the graph",
            ),
            class_="graph",
        ),
        element(
            "details",
            element("summary", "The same as a table"),
            render_blocks([_edges_table(graph)]),
            id="graph-table",
        ),
    )


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


def _key(kinds: Iterable[tuple[str, str]]) -> Markup:
    items = [element("li", element("i", class_=f"dot {kind}"), name) for kind, name in kinds]
    return element("ul", items, class_="legend", aria_label="Kinds of nodes")


def _edges_table(graph: Mapping[str, Any]) -> Table:
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
    columns = (
        *(Column(head) for head in ("from", "edge", "to")),
        *(Column(head, is_number=True) for head in ("score", "weight")),
        Column("reason"),
    )
    return Table("Edges of the focused graph", columns, rows)


_SHORT = 60
_LONGEST_TITLE = 240
_CHANGES_SHOWN = 50


def explain_page(data: Mapping[str, Any], *, shows_times: bool = False) -> str:
    """Return the report on an explanation as HTML text.

    Args:
        data: An object of the schema `mcpg/explain/1`.
        shows_times: Whether to show how long each stage took, which is never the same twice.
    """
    graph = build_match_graph(data)
    parts = {section.identity: section for section in explain_blocks(data)}
    lead = (
        "What the query matched, and what the edges of the graph brought in. Choose a tool for "
        "its edges and their reasons."
    )
    drawing = Section("graph", "Graph", (Chart("joined", (graph_section(graph),)),), lead)
    sections = [
        *(parts[name] for name in ("diagnostics", "advice") if name in parts),
        *_standing(data),
        *(parts[name] for name in ("words",) if name in parts),
        drawing,
        *(parts[name] for name in ("matches",) if data["matches"]),
        *stages_section(data, shows_times=shows_times),
        *(parts[name] for name in ("model",) if name in parts),
    ]
    return page(
        "explain",
        f"{cut(data['query'], _SHORT) or 'every tool'} · mcpg explain",
        _explain_head(data, parts["query"]),
        sections,
        data=graph,
        scripts=[drawing_library(), asset("graph.js")],
    )


def _standing(data: Mapping[str, Any]) -> list[Section]:
    tool = data.get("tool")
    if tool is None:
        return []
    lead = f"Why {tool['toolId']} has its rank, and the change that makes it first."
    blocks = tuple(rank_explanation_blocks(data["query"], tool))
    return [Section("tool", "One tool", blocks, lead)]


def _explain_head(data: Mapping[str, Any], query: Section) -> Markup:
    text = data["query"]
    whole = Markup()
    if len(text) > _LONGEST_TITLE:
        content = element("p", text, dir="auto")
        whole = element("details", element("summary", "The whole query"), content)
    (found,) = query.blocks
    rows = found.rows[1:] if isinstance(found, FactList) else ()
    return element(
        "div",
        element("p", "The query" if text else "No query", class_="kicker"),
        element("h1", cut(text, _LONGEST_TITLE) or "Every tool by name", dir="auto"),
        whole,
        _verdict(data),
        render_blocks([FactList((*rows, *_counts(data)))]),
        class_="head",
    )


def _counts(data: Mapping[str, Any]) -> list[tuple[str, Inline]]:
    lists = {
        "matches": "matches",
        "prerequisites": "prerequisites",
        "related": "relatedMatches",
        "next steps": "nextStepMatches",
    }
    return [(name, str(len(data[key]))) for name, key in lists.items()]


def _verdict(data: Mapping[str, Any]) -> Markup | None:
    """Return the best match and its score in one line."""
    if not data["query"]:
        return None
    if not data["matches"]:
        return element("p", "No tool matches.", class_="verdict low")
    best = data["matches"][0]
    score = best["score"]
    return element(
        "p",
        element("span", number(score), class_="big"),
        meter(score, f"Score {number(score)} of 1", "meter wide"),
        element("span", "best match ", element("a", bdi(best["toolId"]), href="#match-1")),
        class_=f"verdict {'low' if score < LOW_CONFIDENCE else 'sure'}",
    )


# Evaluations


def eval_page(data: Mapping[str, Any]) -> str:
    """Return the report on *data*, an object of the schema `mcpg/eval/1`, as HTML text."""
    diagnostics = (Notices(tuple(data["diagnostics"])),) if data["diagnostics"] else ()
    sections = [
        *gates_section(data["gates"]),
        metrics_section(data),
        *comparison_section(data["baseline"], _CHANGES_SHOWN),
        _trust(data),
        queries_section(data),
        *([Section("diagnostics", "Diagnostics", diagnostics)] if diagnostics else []),
    ]
    main = data["metrics"][MAIN]
    return page(
        "eval",
        f"{MAIN} {'-' if main is None else number(main)} over {_count_queries(data)} · mcpg eval",
        _eval_head(data),
        sections,
        data=queries_data(data),
        scripts=[asset("table.js")],
    )


def _count_queries(data: Mapping[str, Any]) -> str:
    return format_count(data["queries"], "query", "queries")


def _eval_head(data: Mapping[str, Any]) -> Markup:
    main = data["metrics"][MAIN]
    shown = "–" if main is None else number(main)
    failed, gates = sum(not gate["passed"] for gate in data["gates"]), len(data["gates"])
    verdict = f"{failed} of {gates} gates fail" if failed else "all gates pass"
    pill = element("span", verdict, class_="pill bad" if failed else "pill good")
    rows: tuple[tuple[str, Inline], ...] = (
        ("strategy", way(data)),
        ("matches looked at", str(data["limit"])),
        ("without an answer", str((data["abstention"] or {}).get("queries", 0))),
    )
    return element(
        "div",
        element("p", "Judged queries", class_="kicker"),
        element("h1", f"{_count_queries(data)} answered from {data['tools']:,} tools"),
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


def _trust(data: Mapping[str, Any]) -> Section:
    calibration, latency = data["calibration"], data["latencyMs"]
    answerless = calibration["aurocRightVsAnswerless"]
    rows: list[tuple[str, Inline]] = [
        ("AUROC, right against no answer", "" if answerless is None else figure(answerless)),
    ]
    if latency:
        rows.append(("half of the searches within", f"{number(latency['p50'])} ms"))
        rows.append(("95 % of the searches within", f"{number(latency['p95'])} ms"))
    curve = tuple(
        (f"{one['threshold']:g}", figure(one["coverage"]), figure(one["precision"]))
        for one in calibration["curve"]
    )
    columns = tuple(Column(head, is_number=True) for head in ("threshold", "coverage", "precision"))
    tables = (*reliability_section(data).blocks, Table("Precision by coverage", columns, curve))
    charts = element(
        "div",
        _figure(
            reliability_diagram(calibration["bins"]),
            "Reliability. On the dashed line scores are what they claim; below it they promise too "
            "much, above it too little. Larger marks stand for more queries.",
        ),
        _figure(
            coverage_curve(calibration["curve"], LOW_CONFIDENCE),
            "Precision and coverage. Answers that score at least a threshold, the number beside "
            "the curve, are fewer, and more of them are right. The large mark is "
            f"{LOW_CONFIDENCE:g}, below which a search warns.",
        ),
        class_="figures",
    )
    blocks: tuple[Block, ...] = (
        FactList(tuple(rows)),
        Chart("joined", (charts,)),
        Details("The same as tables", tables),
    )
    lead = "A score of 0.8 should be right in 8 of 10 cases, and higher scores right more often."
    return Section("trust", "Are the scores probabilities?", blocks, lead)


def _figure(chart: Markup, caption: str) -> Markup:
    return element("figure", chart, element("figcaption", caption))


# The table of all queries, which a script sorts, filters and turns over. A report may hold
# thousands of queries: they go into the page as data, tools named by number.

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


def queries_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the queries of *data*, an object of the schema `mcpg/eval/1`, worst first."""
    outcomes = sorted(data["perQuery"], key=_badness)
    numbers: dict[str, int] = {}
    rows = [_row(one, numbers) for one in outcomes]
    return {
        "low": LOW_CONFIDENCE,
        "tools": list(numbers),
        "queries": rows,
        **{name: [one["id"] for one in _list_changes(data, name)] for name, _ in _CHANGES},
    }


def _list_changes(data: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    changes: Sequence[Mapping[str, Any]] = (data["baseline"] or {}).get(name, ())
    return changes


def _badness(one: Mapping[str, Any]) -> tuple[float, float, float, str]:
    """Order answers, worst first: by nDCG@5, by rank, and the surer ones first.

    A query that no tool answers is answered best by doubt.
    """
    goodness = one["ndcg@5"]
    if goodness is None:
        goodness = float(one["topScore"] < LOW_CONFIDENCE)
    return goodness, 1 / one["rank"] if one["rank"] else 0.0, -one["topScore"], one["id"]


def _row(one: Mapping[str, Any], numbers: dict[str, int]) -> dict[str, Any]:
    def number_tool(tool: str) -> int:
        return numbers.setdefault(tool, len(numbers))

    return {
        "id": one["id"],
        "query": one["query"],
        "ndcg": one["ndcg@5"],
        "rank": one["rank"],
        "top": one["topScore"],
        "relevant": [number_tool(tool) for tool in one["relevant"]],
        "unknown": one["unknown"],
        "answerless": not one["judged"],
        "matches": [
            [number_tool(match["toolId"]), match["score"], int(match["isRelevant"])]
            for match in one["matches"]
        ],
    }


def queries_section(data: Mapping[str, Any]) -> Section:
    """Return the frame that the script fills."""
    changes = [one for one in _CHANGES if _list_changes(data, one[0])]
    content = join_markup(
        _tools([*_FILTERS, *changes]),
        element(
            "div",
            element(
                "table",
                element("caption", "Judged queries"),
                element("thead", element("tr", [_heading(*one) for one in _COLUMNS])),
                element("tbody", id="query-rows"),
            ),
            class_="frame",
            tabindex="0",
            role="region",
            aria_label="Judged queries",
        ),
        _leaves(),
        element("noscript", element("p", "This table needs JavaScript.")),
    )
    lead = "Worst first. Sort by a heading; unfold a query for what was found."
    return Section("queries", "Queries", (Chart("joined", (content,)),), lead)


def _tools(filters: Sequence[tuple[str, str]]) -> Markup:
    options = [element("option", name, value=value) for value, name in filters]
    return element(
        "form",
        element(
            "label",
            "Find ",
            element("input", type="search", id="query-find", autocomplete="off", size=24),
        ),
        element("label", "Show ", element("select", options, id="query-show", autocomplete="off")),
        element("p", id="query-count", role="status", class_="dim"),
        class_="filters no-print",
        role="search",
        aria_label="Choose queries",
        id="query-filters",
    )


def _heading(key: str | None, name: str, kind: str | None) -> Markup:
    if key is None:
        return element("th", name, scope="col", class_=kind)
    button = element("button", name, type="button", data_sort=key)
    return element("th", button, scope="col", class_=kind, aria_sort="none")


def _leaves() -> Markup:
    return element(
        "div",
        element("button", "← Previous", type="button", id="query-previous"),
        element("span", id="query-leaf", class_="dim"),
        element("button", "Next →", type="button", id="query-next"),
        class_="leaves no-print",
        role="group",
        aria_label="Leaves of the table",
    )
