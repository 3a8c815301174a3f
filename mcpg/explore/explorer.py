"""The answers that the page asks for, as JSON objects.

Searches, explanations, comparisons and evaluations are the objects that the command line prints.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from mcpg.catalog.catalog import Catalog
from mcpg.catalog.hints import hints_from
from mcpg.catalog.model import Hints, Tool
from mcpg.engine import Engine
from mcpg.enrich.review import TextReviewer, list_texts
from mcpg.errors import InputError, McpgError, UsageError
from mcpg.evaluation.judged import resolve
from mcpg.evaluation.report import compare as compare_runs
from mcpg.evaluation.report import evaluate, report_json
from mcpg.graph.map import framed_map, graph_page
from mcpg.graph.triples import distinct_documents
from mcpg.index import Index
from mcpg.index.hint_overlay import HintOverlay
from mcpg.review.authored import HintsFile, JudgedFile, QueryVerdict
from mcpg.review.compare import RankingComparison, compare
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.search.results import Strategy
from mcpg.show.json import ComparedCatalogue, compare_json, diagnostics_json, result_json
from mcpg.sources.read import Stamp, watched_files
from mcpg.text.json_values import JsonObject

# Seconds between checks of the files, and without a change before the engine is reopened.
POLL_SECONDS, SETTLE_SECONDS = 0.5, 0.1


@dataclass(frozen=True)
class LoadedEngine:
    """An engine and its generation, counted from 1.

    *secret* is a name for pages of this generation only.
    """

    engine: Engine
    number: int
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @cached_property
    def catalog(self) -> Catalog:
        """The tools, for look-ups; made when it is first needed."""
        return self.engine.catalog

    @cached_property
    def reviewer(self) -> TextReviewer:
        """The reviewer of the generated texts; made when it is first needed."""
        tools = self.catalog.tools
        texts = (text for tool in tools for text in list_texts(tool.id, tool.generated))
        return TextReviewer(self.engine, texts)


class LiveEngine:
    """The engine that is searched now: *current* is the last engine that could be opened.

    *fault* is why the present files cannot be opened, `None` if *current* is up to date.
    """

    def __init__(self, opening: Callable[[], Engine], watched: Callable[[], Sequence[str]]) -> None:
        """Open the engine, which is read from the files and folders *watched*.

        Raises:
            McpgError: It cannot be opened.
        """
        self._opening, self._watched = opening, watched
        self._paths: Sequence[str] = ()
        self._files = self._look()
        self.current = LoadedEngine(opening(), 1)
        self.fault: McpgError | None = None

    def follow(self, stop: threading.Event) -> None:
        """Open the engine again whenever a file changes, until *stop* is set."""
        while not stop.wait(POLL_SECONDS):
            files = self._look()
            if files == self._files:
                continue
            while not stop.wait(SETTLE_SECONDS):
                settled, files = files, self._look()
                if files == settled:
                    break
            self._files = files
            try:
                self.current = LoadedEngine(self._opening(), self.current.number + 1)
                self.fault = None
            except McpgError as fault:
                self.fault = fault
            except Exception as fault:  # noqa: BLE001 - what a source raises must not end the watch
                self.fault = InputError(f"cannot be opened: {fault}")

    def _look(self) -> Mapping[str, Stamp]:
        try:
            self._paths = self._watched()
        except (McpgError, OSError):
            # Something is missing or broken now; the watched files may come back.
            if not self._paths:
                raise
        return watched_files(self._paths)


def compare_with_hints(
    engine: Engine, tool: Tool, hints: Hints, query: str, asked: Mapping[str, Any]
) -> tuple[Engine, RankingComparison]:
    """Compare the ranking for *query* with the ranking after adding *hints* to *tool*.

    Both rankings use the strategy `graph`: trials have no vectors. *asked* are further arguments of
    `Engine.explain`, with a limit.

    Raises:
        UsageError: See `Engine.explain`.
        DocumentError: The tool's document becomes too long to be written.
    """

    def overlay(index: Index) -> Index:
        number = next(n for n in range(len(index)) if index.tool_id(n) == tool.id)
        return HintOverlay(index, number).with_hints(Hints.merge(hints, tool.hints))

    if hints == Hints(aliases=hints.aliases, keywords=hints.keywords):
        # These are tried without compiling the index, within milliseconds.
        trial = Engine(engine.consult(overlay))
    else:
        trial = engine.with_hints(tool.id, hints)
    plain = {**asked, "strategy": Strategy.GRAPH, "fusion": "", "rewrite": False}
    return trial, compare(engine, trial, query, **plain)


# Characters of the name of a tool, and of a query.
MOST_TOOL_NAME, MOST_QUERY = 1_000, 10_000
# Tools that are offered for a part of a name.
MOST_NAMED = 8
# Judged queries that are measured after each judgement, and for each tried hint.
MOST_LISTED, MOST_MEASURED = 1_000, 300

_OF_RUNS = ("strategy", "fusion", "rewrite", "lexicon", "include_disabled")


@dataclass(frozen=True, slots=True)
class PageSettings:
    """The settings of the page's searches.

    Attributes:
        query: The query that the page begins with.
        asked: Arguments of `Engine.explain` beside the query and the tool.
        bundle: The names of the searched files, for readers.
    """

    query: str
    asked: Mapping[str, Any]
    bundle: tuple[str, ...]


class Explorer:
    """Answers the requests of the page; any number at a time."""

    def __init__(
        self, live: LiveEngine, settings: PageSettings, hints: HintsFile, judged: JudgedFile
    ) -> None:
        self._live, self._settings = live, settings
        self._hints, self._judged = hints, judged
        self._changing = threading.Lock()
        self.answers: Mapping[str, Callable[[JsonObject], JsonObject]] = {
            "state": self._state,
            "tool": lambda body: _find_tool(self._live.current, body).to_dict(),
            "tools": self._find_tools,
            "explain": self._explain,
            "try": self._try,
            "generated": self._review_generated,
            "hints": partial(self._edit_hints, is_saving=False),
            "save": partial(self._edit_hints, is_saving=True),
            "judged": lambda _: self._list_judged(),
            "judge": self._judge,
            "forget": self._forget,
        }

    def map(self, name: str) -> str | None:
        """Return the map of the catalog as a page, `None` unless *name* has the current secret.

        With `/frame` after the secret, it is made for a frame within the page.
        """
        generation = self._live.current
        secret, _, form = name.partition("/")
        if secret != generation.secret or form not in ("", "frame"):
            return None
        documents = [*generation.engine.documents.values(), *generation.engine.pages]
        kept, _ = distinct_documents(documents)
        return framed_map(kept) if form else graph_page(kept)

    def _state(self, _: JsonObject) -> JsonObject:
        generation, fault = self._live.current, self._live.fault
        return {
            "generation": generation.number,
            "tools": len(generation.engine.index),
            "bundle": list(self._settings.bundle),
            "query": self._settings.query,
            "limit": self._settings.asked["limit"],
            "strategy": self._settings.asked["strategy"],
            "rewrite": self._settings.asked["rewrite"],
            "lowConfidence": LOW_CONFIDENCE,
            "hintsFile": shown_path(self._hints.path),
            "judgedFile": shown_path(self._judged.path),
            "map": f"/map/{generation.secret}",
            "diagnostics": diagnostics_json(generation.engine.diagnostics),
            "fault": fault
            and {"message": fault.message, "place": fault.place, "remedy": fault.remedy},
        }

    def _find_tools(self, body: JsonObject) -> JsonObject:
        parts = _text(body, "text", MOST_TOOL_NAME).casefold().replace("_", " ").split()
        tools = self._live.current.catalog.tools if parts else ()
        named = ((tool, f"{tool.id} {tool.display_name}".casefold()) for tool in tools)
        found = (tool for tool, name in named if all(part in name for part in parts))
        return {"tools": [tool.to_dict() for tool in islice(found, MOST_NAMED)]}

    def _explain(self, body: JsonObject) -> JsonObject:
        engine, asked = self._live.current.engine, self._search_options(body)
        query, tool = _text(body, "query", MOST_QUERY), _text(body, "tool", MOST_TOOL_NAME)
        # Finding a change takes seconds in a large catalog: one at a time, so that typing stays
        # responsive.
        with self._changing if tool else nullcontext():
            found = engine.explain(query or None, tool=tool or None, **asked)
        about = {} if found.tool is None else {"tool": found.tool.to_dict()}
        return result_json(found, engine.diagnostics) | about

    def _try(self, body: JsonObject) -> JsonObject:
        generation, asked = self._live.current, self._search_options(body)
        engine, tool, hints = generation.engine, _find_tool(generation, body), _read_hints(body)
        query = _text(body, "query", MOST_QUERY)
        if not query:
            raise UsageError("ranks need a query", remedy="type a query")
        trial, comparison = compare_with_hints(engine, tool, hints, query, asked)
        compared = ComparedCatalogue(", ".join(self._settings.bundle))
        ranks: JsonObject = {
            key: next((one.rank for one in side.matches if one.tool_id == tool.id), None)
            for key, side in (("then", comparison.then), ("now", comparison.now))
        }
        return {
            "toolId": tool.id,
            "ranks": ranks,
            "comparison": compare_json(comparison, compared, compared),
            "effect": self._effect(generation, trial),
        }

    def _effect(self, generation: LoadedEngine, trial: Engine) -> JsonObject | None:
        """Return what a trial changes for the judged queries, `None` if none are measured."""
        try:
            judgements = self._judged.read()
        except InputError:  # which the list of judged queries shows
            return None
        if judgements is None or len(judgements.queries) > MOST_MEASURED:
            return None
        options = {key: self._settings.asked[key] for key in ("lexicon", "include_disabled")}
        before, now = (
            evaluate(one, judgements, catalog=generation.catalog, **options)
            for one in (generation.engine, trial)
        )
        return compare_runs(before.outcomes, now.outcomes).json()

    def _review_generated(self, body: JsonObject) -> JsonObject:
        """Return the generated texts of a tool, each with its faults."""
        generation = self._live.current
        tool = _find_tool(generation, body)
        reviews = map(generation.reviewer.review, list_texts(tool.id, tool.generated))
        return {"texts": [one.to_dict() | {"reasons": list(one.reasons)} for one in reviews]}

    def _edit_hints(self, body: JsonObject, *, is_saving: bool) -> JsonObject:
        tool, hints = _find_tool(self._live.current, body), _read_hints(body)
        if is_saving:
            edit = self._hints.save(tool.id, hints, _text(body, "version", MOST_TOOL_NAME))
        else:
            edit = self._hints.edit(tool.id, hints)
        return {
            "file": shown_path(edit.path),
            "isNew": edit.before is None,
            "version": edit.version,
            "diff": edit.diff,
        }

    def _list_judged(self) -> JsonObject:
        """Return every judged query with the ids of its tools, and how well they are found."""
        judgements = self._judged.read()
        generation = self._live.current
        found: JsonObject = {
            "file": shown_path(self._judged.path),
            "judgements": [],
            "report": None,
        }
        if judgements is None:
            return found
        found["judgements"] = [
            {
                "query": one.judged.query,
                "relevant": list(one.relevant),
                "isAnswerless": one.is_answerless,
                "contextTools": list(one.judged.context_tools),
            }
            for one in resolve(judgements, generation.catalog).queries
        ]
        if len(judgements.queries) <= MOST_LISTED:
            options = {key: self._settings.asked[key] for key in _OF_RUNS}
            catalog = generation.catalog
            measured = evaluate(generation.engine, judgements, catalog=catalog, **options)
            found["report"] = report_json(measured)
        return found

    def _judge(self, body: JsonObject) -> JsonObject:
        query = _text(body, "query", MOST_QUERY)
        if not query:
            raise UsageError("without a query there is nothing to judge", remedy="type a query")
        holds = body.get("isRight") is not False
        if body.get("tool") is None:
            self._judged.record(QueryVerdict(query, None, holds=holds))
        else:
            tool = _find_tool(self._live.current, body)
            names = frozenset({tool.id, tool.name, f"{tool.source_id}::{tool.name}"})
            self._judged.record(QueryVerdict(query, tool.id, names, holds))
        return self._list_judged()

    def _forget(self, body: JsonObject) -> JsonObject:
        self._judged.forget(_text(body, "query", MOST_QUERY))
        return self._list_judged()

    def _search_options(self, body: JsonObject) -> dict[str, Any]:
        limit = body.get("limit")
        asked = dict(self._settings.asked)
        if isinstance(limit, int) and not isinstance(limit, bool):
            asked["limit"] = limit
        return asked


def _find_tool(generation: LoadedEngine, body: JsonObject) -> Tool:
    return generation.catalog.find_named(_text(body, "tool", MOST_TOOL_NAME))


def _text(body: JsonObject, key: str, most: int) -> str:
    value = body.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UsageError(f"{key!r} is not text", remedy="give a text")
    if len(value) > most:
        raise UsageError(f"{key!r} is longer than {most:,} characters", remedy="shorten it")
    return value.strip()


def _read_hints(body: JsonObject) -> Hints:
    value = body.get("hints")
    if not isinstance(value, dict):
        raise UsageError("'hints' is not a mapping of hints", remedy="give an object")
    found = hints_from(value)
    return Hints(
        aliases=found.aliases,
        keywords=found.keywords,
        examples=found.examples,
        enabled_by_default=found.enabled_by_default,
    )


def shown_path(path: Path | str) -> str:
    """Return *path* as it is named from the working folder."""
    try:
        return os.path.relpath(path)
    except ValueError:  # on another drive
        return str(path)
