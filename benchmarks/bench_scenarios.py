"""Replay recorded retrieval scenarios of the .NET gateway and count which hold, by kind.

    python benchmarks/bench_scenarios.py [FILE] [--verbose]

FILE is a JSON object with `catalogs` (tools, with `hints`, `source` and perhaps a `document`) and
`cases` (`catalog`, `query`, `strategy`, `expect`). Without FILE, MCPG_SCENARIOS names it. Every
case is answered by the graph strategy unless it asks for one with vectors, which come from
the recorded embedder of the case, as rewrites come from its rewriter; where it names a cache,
searches before it fill one. A rewriter may be asked less often than recorded, for plain English is
left alone; what texts are embedded is not judged. What telemetry is to tell of a search is read
from the span that OpenTelemetry's SDK gets, by the names that mcpg has for the recorded ones. A
case that routes is judged by its categories, and nothing that it expects is passed over. Where the
graph has no path, a gateway of ours searches without it, and so fails a case that expects nothing
to be found. A case that needs a part this replay does not supply (a SPARQL profile) is counted
apart.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graph_scenarios
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import mcpg
from mcpg.bundle import Bundle, apply_plan, assemble, plan_folder, write_bundle
from mcpg.embeddings import FunctionEmbeddings, count_tokens
from mcpg.gateway import FileSource, ReviewedDocuments, SyncGateway
from mcpg.llm import FunctionRewriter
from mcpg.search.caches import MemoryCache
from mcpg.search.results import EngineServices
from mcpg.sources import read_sources
from mcpg.telemetry import telemetry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcpg.catalog.model import SourceDocument
    from mcpg.gateway import RoutedCategory, RouteResult

Case = dict[str, Any]
Check = Any

# The strategies that rank with vectors, and what comes nearest to one of the knowledge base's own.
STRATEGIES = {"auto": "auto", "embeddings": "embeddings", "kb_focused_semantic": "auto"}
SHAPES = ("graph_source", "document_patch")
OUTCOMES = ("holds", "fails", "waits")
NEEDS = ("profile", "federation", "jsonld")


def names(matches: tuple[mcpg.Match, ...]) -> list[str]:
    """Return the raw names of *matches*, as the scenarios have them."""
    return [match.tool_name for match in matches]


def offered(category: RoutedCategory) -> list[str]:
    """Return the raw names of the tools that *category* shows."""
    return [one.match.tool_name for one in category.matches]


def codes(result: mcpg.SearchResult) -> set[str]:
    """Return the codes of a result's diagnostics."""
    return {str(diagnostic.code) for diagnostic in result.diagnostics}


def scores(result: mcpg.SearchResult) -> list[float]:
    """Return the scores of the primary matches."""
    return [match.score for match in result.matches]


CHECKS: dict[str, Callable[[mcpg.SearchResult, Check], bool]] = {
    "top1": lambda r, v: names(r.matches)[:1] == [v],
    "top1_any_of": lambda r, v: bool(r.matches) and r.matches[0].tool_name in v,
    "top1_prefix": lambda r, v: bool(r.matches) and r.matches[0].tool_name.startswith(v),
    "in_top": lambda r, v: set(v) <= set(names(r.matches)),
    "excludes": lambda r, v: not set(v) & set(names(r.matches)),
    "mode": lambda r, v: r.ranking_mode == v,
    "mode_in": lambda r, v: r.ranking_mode in v,
    "result_count": lambda r, v: len(r.matches) == v,
    "result_count_min": lambda r, v: len(r.matches) >= v,
    "result_count_max": lambda r, v: len(r.matches) <= v,
    "diagnostics_include": lambda r, v: set(v) <= codes(r),
    "diagnostics_exclude": lambda r, v: not set(v) & codes(r),
    "related_includes": lambda r, v: set(v) <= set(names(r.related_matches)),
    "related_excludes": lambda r, v: not set(v) & set(names(r.related_matches)),
    "related_count_max": lambda r, v: len(r.related_matches) <= v,
    "next_includes": lambda r, v: set(v) <= set(names(r.next_step_matches)),
    "next_excludes": lambda r, v: not set(v) & set(names(r.next_step_matches)),
    "next_count_max": lambda r, v: len(r.next_step_matches) <= v,
    "score_above": lambda r, v: scores(r)[:1] > [v],
    "all_scores_below": lambda r, v: all(score < v for score in scores(r)),
    "all_scores_above": lambda r, v: all(score > v for score in scores(r)),
    "scores_descending": lambda r, _: scores(r) == sorted(scores(r), reverse=True),
    "focused_graph_nodes_above": lambda r, v: r.focused_graph.nodes > v,
    "focused_graph_edges_above": lambda r, v: r.focused_graph.edges > v,
    "related_count_above": lambda r, v: len(r.related_matches) > v,
    "related_plus_next_above": lambda r, v: len(r.related_matches) + len(r.next_step_matches) > v,
    "related_or_next_includes": lambda r, v: (
        set(v) <= set(names((*r.related_matches, *r.next_step_matches)))
    ),
    "ordered": lambda r, v: names(r.matches)[: len(v)] == v,
    "focused_graph_nodes_max": lambda r, v: r.focused_graph.nodes <= v,
    "k": lambda _, __: True,
}
ROUTE_CHECKS: dict[str, Callable[[RouteResult, Check], bool]] = {
    "top_category": lambda r, v: bool(r.categories) and r.categories[0].name == v,
    "top_category_first_tool": lambda r, v: bool(r.categories) and offered(r.categories[0])[0] == v,
    "suggested_first": lambda r, v: (
        bool(r.suggested_matches) and r.suggested_matches[0].match.tool_name == v
    ),
    "top1": lambda r, v: bool(r.suggested_matches) and r.suggested_matches[0].match.tool_name == v,
    "k": lambda r, v: (
        len(r.categories) <= v and all(len(offered(one)) <= v for one in r.categories)
    ),
}


def entry(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a recorded tool as a manifest has it."""
    return {**tool.get("hints", {}), **tool, "sourceId": tool["source"]}


def write_sources(case: Case, tools: list[dict[str, Any]], root: Path, folder: Path) -> list[Path]:
    """Write a recorded catalogue as files: documents where it has them, else a manifest."""
    files = []
    plain = [entry(tool) for tool in tools if "document" not in tool]
    if plain:
        files.append(folder / "tools.json")
        files[-1].write_text(json.dumps({"tools": plain}, ensure_ascii=False), encoding="utf-8")
    for tool in tools:
        if document := tool.get("document"):
            files.append(folder / f"{tool['name']}.md")
            text = document_text(document, case.get("base_uri"), root)
            files[-1].write_text(text, encoding="utf-8")
    return files


def document_text(document: dict[str, Any], base_uri: str | None, root: Path) -> str:
    """Return a recorded document's Markdown, with the address that its base gives it."""
    text = str(document.get("content", ""))
    if "body_file" in document:
        body = (root / document["body_file"]).read_text(encoding="utf-8")
        text = f"---\n{document['front_matter'].strip()}\n---\n{body}"
    if base_uri and text.startswith("---\n"):
        address = base_uri + document["path"].removesuffix(".md").removeprefix("content/") + "/"
        text = f"---\ncanonical_url: {address}\n{text[4:]}"
    return text


@dataclass
class Rewriter:
    """The recorded rewriter of a case, and how often it was asked."""

    rules: list[dict[str, Any]]
    calls: int = 0

    def rewrite(self, query: str) -> str:
        """Answer as the first rule that fits says, or with the query."""
        self.calls += 1
        for rule in self.rules:
            if rule["if_contains"] in query:
                if rule.get("raise"):
                    raise RuntimeError("as recorded")
                return str(rule["rewrite"])
        return query


def embedder_of(case: Case, recorded: dict[str, Any]) -> FunctionEmbeddings | None:
    """Return the recorded embedder of a case: it counts, or sees, the words of some groups."""
    if "embedder" not in case:
        return None
    told = recorded[case["embedder"]]
    groups = told.get("groups") or [[word] for word in told["vocabulary"]]
    is_counting = told["kind"].endswith("counts")

    def embed(texts: list[str]) -> list[list[float]]:
        count_tokens(sum(len(text.split()) for text in texts))
        return [vector(text) for text in texts]

    def vector(text: str) -> list[float]:
        if case.get("embedder_throws_on_contains", "\0") in text:
            raise RuntimeError("as recorded")
        if case.get("embedder_zero_on_contains", "\0") in text:
            return [0.0] * len(groups)
        counts = [sum(text.lower().count(word) for word in group) for group in groups]
        return [float(one if is_counting else min(one, 1)) for one in counts]

    return FunctionEmbeddings(embed, case["embedder"], dimensions=len(groups))


def load(case: Case, files: list[Path], folder: Path) -> mcpg.Engine:
    """Load the files, by way of a bundle or folder of documents where the case asks for one."""
    source, patch = case.get("graph_source"), case.get("document_patch")
    if source is None and patch is None:
        return mcpg.load(files)
    if source == "file_system_without_path":
        sources = [FileSource(file.name, str(file)) for file in files]
        with SyncGateway(sources, graph=ReviewedDocuments("")) as gateway:
            return gateway.build_index().engine
    assembly = assemble(read_sources([str(file) for file in files]))
    documents = [patched(document, patch) for document in assembly.texts]
    if source == "bundle_file":
        write_bundle(folder / "graph.json", Bundle(tuple(documents), {}))
        return mcpg.load(folder / "graph.json")
    apply_plan(plan_folder(folder / "documents", documents))
    return mcpg.load(folder / "documents")


def patched(document: SourceDocument, patch: dict[str, str] | None) -> SourceDocument:
    """Append to *document* what the case appends to it."""
    if patch is None or patch["path_contains"] not in document.path:
        return document
    return replace(document, content=document.content + patch["append_content"])


def make_engines(scenarios: dict[str, Any], root: Path) -> Callable[[Case], mcpg.Engine]:
    """Return a function that makes the engine of a case; equal catalogues are made once."""
    known: dict[str, mcpg.Engine] = {}

    def engine_of(case: Case) -> mcpg.Engine:
        key = json.dumps([case.get(name) for name in ("catalog", "base_uri", *SHAPES)])
        if key not in known:
            with tempfile.TemporaryDirectory() as folder:
                tools = scenarios["catalogs"][case["catalog"]]
                files = write_sources(case, tools, root, Path(folder))
                known[key] = load(case, files, Path(folder))
        return known[key]

    return engine_of


def replay(engine: mcpg.Engine, case: Case, rewriter: Rewriter | None = None) -> list[str]:
    """Answer *case* and name the expectations that fail."""
    for before in case.get("prior_searches", ()):
        search(engine, {**case, **before, "expect": before})
    result = search(engine, case)
    expected = case["expect"].items()
    failed = [f"{name}={value}" for name, value in expected if not holds(result, name, value)]
    if rewriter and rewriter.calls > case["expect"].get("normalizer_calls", rewriter.calls):
        failed.append(f"normalizer_calls={rewriter.calls}")
    return failed


class Watching:
    """OpenTelemetry's SDK, which keeps the spans of searches."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self.observer = telemetry(tracer_provider=provider)

    def failures(self, expected: Case) -> Iterator[str]:
        """Name what the last search does not tell of itself as *expected*."""
        spans = [one for one in self._spans.get_finished_spans() if one.name == "mcpg.search"]
        told = spans[-1].attributes or {}
        for name, value in expected.items():
            if name == "absent":
                yield from (f"telemetry {one}" for one in value if attribute(one) in told)
            elif name.endswith("_above"):
                found: Any = told.get(attribute(name.removesuffix("_above")), value)
                if not found > value:
                    yield f"telemetry {name}={value}"
            elif told.get(attribute(name)) != (value.lower() if isinstance(value, str) else value):
                yield f"telemetry {name}={value}"


def attribute(recorded: str) -> str:
    """Give mcpg's name of a recorded attribute, whose times are seconds."""
    return f"mcpg.search.{recorded.removesuffix('_ms')}"


def search(engine: mcpg.Engine, case: Case) -> mcpg.SearchResult:
    """Ask what *case* asks."""
    return engine.search(
        case["query"],
        limit=min(case["expect"]["k"], 50),
        strategy=STRATEGIES.get(case["strategy"], "graph"),
        context=case.get("context_summary"),
        include_disabled=case.get("include_disabled", False),
        rewrite="normalizer" in case,
    )


def replay_route(engine: mcpg.Engine, case: Case) -> list[str]:
    """Route what *case* asks and name the expectations that fail, unknown ones among them."""
    asked = case["route"]
    result = engine.route(
        case["query"],
        max_categories=asked["max_categories"],
        max_tools=asked["max_tools_per_category"],
        prefer_read_only=asked.get("prefer_read_only"),
        context=case.get("context_summary"),
        include_disabled=case.get("include_disabled", False),
    )
    checks = {name: ROUTE_CHECKS.get(name) for name in case["expect"]}
    return [
        f"{name}={case['expect'][name]}"
        for name, check in checks.items()
        if check is None or not check(result, case["expect"][name])
    ]


def holds(result: mcpg.SearchResult, name: str, value: Check) -> bool:
    """Tell whether an expectation holds; those about other parts are not judged here."""
    return CHECKS.get(name, lambda _, __: True)(result, value)


def verdict(
    case: Case, engine_of: Callable[[Case], mcpg.Engine], scenarios: dict[str, Any]
) -> tuple[str, str]:
    """Give `holds`, `fails` or `waits`, and why."""
    if graph_scenarios.concerns(case):
        return graph_verdict(case, engine_of, scenarios["catalogs"][case["catalog"]])
    missing = [need for need in NEEDS if need in case]
    if missing:
        return "waits", ", ".join(missing)
    if "route" in case:
        failed = replay_route(engine_of(case), case)
        return ("fails", "; ".join(failed)) if failed else ("holds", "")
    rewriter = normalizer = None
    if name := case.get("normalizer"):
        rewriter = Rewriter(scenarios["normalizers"][name]["rules"])
        normalizer = FunctionRewriter(rewriter.rewrite, name)
    watching = Watching()
    services = EngineServices(
        embedder_of(case, scenarios.get("embedders", {})),
        rewriter=normalizer,
        cache=MemoryCache() if "search_cache" in case else None,
        observer=watching.observer,
    )
    failed = replay(mcpg.Engine(engine_of(case).index, services=services), case, rewriter)
    failed += watching.failures(case["expect"].get("telemetry", {}))
    return ("fails", "; ".join(failed)) if failed else ("holds", "")


def graph_verdict(
    case: Case, engine_of: Callable[[Case], mcpg.Engine], tools: list[dict[str, Any]]
) -> tuple[str, str]:
    """Return the verdict on a case that searches the graph."""
    if missing := graph_scenarios.missing(case):
        return "waits", ", ".join(missing)
    failed = graph_scenarios.failures(case, engine_of, tools)
    return ("fails", "; ".join(failed)) if failed else ("holds", "")


def table(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """Return the rows of the table: a kind each, then all of them."""
    yield f"{'kind':<20}" + "".join(f"{outcome:>7}" for outcome in OUTCOMES)
    for kind in sorted({kind for kind, _ in counts}):
        yield f"{kind:<20}" + "".join(f"{counts[kind, outcome]:>7}" for outcome in OUTCOMES)
    totals = Counter(outcome for (_, outcome) in counts.elements())
    yield f"{'all':<20}" + "".join(f"{totals[outcome]:>7}" for outcome in OUTCOMES)


def main() -> None:
    """Print one table, and the failures when asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", default=os.environ.get("MCPG_SCENARIOS"), type=Path)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    if arguments.file is None:
        print("no scenarios: give their file, or set MCPG_SCENARIOS")
        return
    scenarios = json.loads(arguments.file.read_text(encoding="utf-8"))
    engine_of = make_engines(scenarios, arguments.file.parent)
    counts: Counter[tuple[str, str]] = Counter()
    for case in scenarios["cases"]:
        outcome, why = verdict(case, engine_of, scenarios)
        counts[case["kind"], outcome] += 1
        if arguments.verbose and outcome == "fails":
            print(f"{case['id']} [{case['kind']}/{case['strategy']}] {case['query']!r}: {why}")
    print(*table(counts), sep="\n")


if __name__ == "__main__":
    main()
