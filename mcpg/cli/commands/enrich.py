"""`mcpg enrich`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

from mcpg.bundle import Assembly, assemble
from mcpg.catalog.hints import is_generated_name, read_hint_rules
from mcpg.catalog.model import Hints
from mcpg.cli import options
from mcpg.cli.build import BuildSources, note_failures, reduced_gc
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.options import OutputFormat, option
from mcpg.cli.output import Output
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.render import text as text_of
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import lines_kept, one_line, standard_input
from mcpg.engine import Engine
from mcpg.engine.loading import with_graphs_read
from mcpg.enrich.answers import TextCheck, find_answers
from mcpg.enrich.chat import ChatWriter
from mcpg.enrich.file import GeneratedFile, find_generated_files, own_file
from mcpg.enrich.plan import EnrichPlan, Entry, TextState, choose_file, is_below, make_plan
from mcpg.enrich.prompt import PROMPT, Prompt, make_prompts
from mcpg.enrich.review import TextReview, drop_text, find_texts, review_plan
from mcpg.enrich.write import TextWriting
from mcpg.errors import NotFoundError, Severity, SourceError, UsageError
from mcpg.files import MAX_BYTES, is_file, read_bytes
from mcpg.index import Index
from mcpg.lint.context import compile_reach_index
from mcpg.review.authored import HintsFile
from mcpg.show.blocks import CodeSpan, Column, Table, make_columns
from mcpg.show.json import diagnostics_json
from mcpg.sources.model import decode
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import format_count

EXAMPLES = """\
mcpg enrich tools/ --dry-run
mcpg enrich tools/ --model gpt-4.1-mini
mcpg enrich tools/ --check                    # in CI
mcpg enrich tools/ --print-prompt > prompt.txt
mcpg enrich tools/ --answers answers.json"""

MORE = "docs/how-to/enrich.md"

_STDIN = "-"
_MOST_ANSWERED = 64 * 1024 * 1024
_PER_PRICE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichOptions:
    """Options of `mcpg enrich`."""

    sources: options.Sources = None
    target: Annotated[
        str | None,
        option("--output -o", "The folder for the texts. [default: beside the sources]", "DIR"),
    ] = None
    model: Annotated[
        str | None,
        option("--model", "The chat model. [default: enrich.model or rewrite.model]", "NAME"),
    ] = None
    language: Annotated[
        list[str] | None,
        option("--language", "A language of your users, instead of English. Repeatable.", "NAME"),
    ] = None
    exclude: Annotated[
        list[str] | None,
        option(
            "--exclude",
            "Leave out these tools: an id, SOURCE::NAME, a name or a glob. Repeatable.",
            "PATTERN",
        ),
    ] = None
    prints: Annotated[
        bool, option("--print-prompt", "Send nothing; print the prompts, for an agent or a chat.")
    ] = False
    answers: Annotated[
        str | None,
        option("--answers", "Read the answers to printed prompts; - is standard input.", "FILE"),
    ] = None
    is_dry: Annotated[
        bool, option("--dry-run", "Send and write nothing; show tools, tokens and cost.")
    ] = False
    check: Annotated[
        bool, option("--check", "Send and write nothing; exit 1 when texts are missing or stale.")
    ] = False
    review: Annotated[
        bool,
        option(
            "--review",
            "Show texts that find another tool, are shared, or have only ordinary words.",
        ),
    ] = False
    promote: Annotated[
        list[str] | None,
        option(
            "--promote", "Move this text into the hints file of its server. Repeatable.", "TEXT"
        ),
    ] = None
    drop: Annotated[
        list[str] | None, option("--drop", "Remove this text from the files. Repeatable.", "TEXT")
    ] = None
    prune: Annotated[bool, option("--prune", "Remove the texts of tools that are gone.")] = False
    refresh: Annotated[bool, option("--refresh", "Rewrite the texts of all tools.")] = False
    source_id: options.SourceId = None
    header: options.Header = None
    server_timeout: options.ServerTimeout = None
    form: options.Format = OutputFormat.TEXT


def run(output: Output, chosen: EnrichOptions) -> int:
    """Write search texts for tools with a language model.

    Writes example requests, aliases and keywords to a file per server. Sends names, descriptions
    and schemas of new and changed tools.
    """
    modes = {
        "--print-prompt": chosen.prints,
        "--answers": chosen.answers,
        "--dry-run": chosen.is_dry,
        "--check": chosen.check,
        "--review": chosen.review,
        "--promote": chosen.promote,
        "--drop": chosen.drop,
    }
    given = [name for name, value in modes.items() if value]
    if len(given) > 1:
        raise UsageError(f"excludes {given[0]}", place=given[1], remedy="omit one of them")
    settings = read_settings(model=chosen.model, language=chosen.language, exclude=chosen.exclude)
    named = [one for one in chosen.sources or () if not is_generated_name(Path(one).name)]
    if chosen.sources and not named:
        message = "only files of generated texts are named, and no tools"
        raise UsageError(message, place="SOURCE", remedy="also name the sources of the tools")
    if chosen.answers == _STDIN in named:
        message = "standard input takes one of the sources and the answers"
        raise UsageError(message, place="--answers", remedy="name a file")
    session = _read(replace(chosen, sources=named or None), settings, output)
    if chosen.check:
        return session.check()
    if chosen.review:
        return session.review()
    if chosen.promote or chosen.drop:
        return session.edit(chosen.promote or chosen.drop or (), promotes=bool(chosen.promote))
    return session.write()


@reduced_gc()
def _read(chosen: EnrichOptions, settings: Settings, output: Output) -> _Session:
    """Read the sources, and the files of generated texts beside them."""
    intake = BuildSources.of(chosen, settings)
    intake.tell(output)
    folders = [*intake.paths, *([chosen.target] if chosen.target else ())]
    files = [GeneratedFile.read(path) for path in find_generated_files(folders)]
    # A review searches with the texts; else they would count as part of the tools' definitions.
    left_out = [] if chosen.review else [one.path for one in files]
    with output.counting("reading sources") as tell:
        batch = with_graphs_read(intake.read(tell, left_out))
    with output.progress("putting the graph together"):
        assembly = assemble(batch, source_id=chosen.source_id, texts=False, infers=False)
    if chosen.form is OutputFormat.TEXT:
        output.diagnostics(assembly.diagnostics)
    note_failures(batch, assembly.diagnostics, output)
    has_failed = any(one.severity == Severity.ERROR for one in assembly.diagnostics)
    if has_failed and not assembly.catalog.tools:
        message = "no tool could be read from the sources"
        raise SourceError(message, remedy="fix the issues above")
    excluded = _list_setting(settings, "enrich.exclude")
    for pattern in excluded:
        if not assembly.catalog.matching(pattern):
            output.note(f"no tool matches {one_line(pattern)!r}, which is excluded")
    plan = make_plan(assembly.catalog, files, PROMPT, excluded)
    if not chosen.review:
        # If a file or a server names the tools, their texts are beside the sources.
        known = set(plan.files)
        every = (tool for tools in plan.servers.values() for tool in tools)
        one_each = {
            (one.source_id, one.place.rpartition(": ")[0] or one.place): one for one in every
        }
        places = {
            choose_file(tool, plan, intake.paths, chosen.target) for tool in one_each.values()
        }
        beside = [one for one in sorted(places) if one.resolve() not in known and is_file(one)]
        if beside:
            files += map(GeneratedFile.read, beside)
            plan = make_plan(assembly.catalog, files, PROMPT, excluded)
    return _Session(chosen, settings, output, intake.paths, assembly, plan, has_failed)


def _list_setting(settings: Settings, name: str) -> list[str]:
    found = settings.find(name)
    return [] if found is None else [str(one) for one in found.value]


@dataclass(frozen=True, slots=True)
class _Session:
    """One run of the command, with its sources read.

    Attributes:
        paths: The files and folders among the sources.
        has_failed: Whether a source could not be read, so that tools may be missing.
    """

    chosen: EnrichOptions
    settings: Settings
    output: Output
    paths: Sequence[str]
    assembly: Assembly
    plan: EnrichPlan
    has_failed: bool

    def check(self) -> int:
        """Name the tools with missing or stale texts."""
        stale = [*self.plan.list_tools()]
        if self.chosen.form is OutputFormat.JSON:
            self.report()
        else:
            self.output.text(
                "\n".join(
                    one_line(f"{self.plan.states[one.id]}: {'::'.join(one.key)}") for one in stale
                )
            )
        self.note_states()
        self.note_obsolete()
        return ExitCode.FINDINGS if stale or self.has_failed else ExitCode.DONE

    def review(self) -> int:
        """Show the texts with something wrong."""
        engine = Engine(Index(compile_reach_index(self.assembly)))
        with self.output.counting("searching for texts") as tell:
            found = review_plan(self.plan, engine, tell)
        if self.chosen.form is OutputFormat.JSON:
            self.report(reviews=[one.to_dict() for one in found])
        elif found:
            self.output.text(text_of([_draw_reviews(found)], self.output))
        count = format_count(len(found), "text")
        advice = ": --promote a good one, edit it, or --drop it; most of them help" if found else ""
        self.output.note(f"{count} to look at{advice}")
        return ExitCode.DONE

    def edit(self, texts: Sequence[str], *, promotes: bool) -> int:
        """Remove *texts* from the files; those that are promoted go to the hints of their tools."""
        place = "--promote" if promotes else "--drop"
        found = {text: find_texts(self.plan, text) for text in texts}
        for text, entries in found.items():
            if not entries:
                message = f"unknown generated text {text[:80]!r}"
                raise NotFoundError(message, place=place, remedy="see --review for texts")
            if promotes and len(entries) > 1:
                keys = ", ".join(entry.key for entry, _ in entries[:4])
                remedy = "move it by hand, and remove it from the others"
                raise UsageError(f"{keys} have {text[:80]!r}", place=place, remedy=remedy)
        for text, entries in found.items():
            for entry, hints in entries:
                if promotes:
                    self.promote(entry, hints)
                drop_text(entry, text)
        self.write_files([entry.file for entries in found.values() for entry, _ in entries])
        if self.chosen.form is OutputFormat.JSON:
            self.report()
        return ExitCode.DONE

    def promote(self, entry: Entry, hints: Hints) -> None:
        """Add *hints* to the hints file beside the file of *entry*."""
        path = own_file(entry.file.path)
        file, key = HintsFile(path), entry.key
        if path.is_file():
            text = decode(read_bytes(path, MAX_BYTES), str(path))
            patterns = [one.pattern for one in read_hint_rules(text, str(path))[0]]
            matching = self.assembly.catalog.matching
            key = next((one for one in patterns if matching(one) == entry.tools), key)
        file.save(key, hints, file.edit(key, hints).version)
        self.output.note(f"wrote {path}")

    def write(self) -> int:
        """Write the missing or stale texts, or show the cost."""
        tools = [*self.plan.list_tools(all_states=self.chosen.refresh)]
        languages = _list_setting(self.settings, "enrich.languages")
        prompts = [*make_prompts(self.plan, tools, languages)]
        if self.chosen.is_dry:
            return self.estimate(prompts)
        if self.chosen.prints:
            return self.print_prompts(prompts)
        if self.chosen.prune and not self.has_failed:
            self.prune()
        check = TextCheck(self.assembly.catalog.tools)
        writing = TextWriting(self.plan, check, self.choose, self.chosen.model or "")
        if self.chosen.answers:
            answers = [*find_answers(_read_answers(self.chosen.answers))]
            if not answers:
                message = "contains no answer, a JSON object with `tools`"
                remedy = "save the responses of the model to the prompts of --print-prompt"
                place = "standard input" if self.chosen.answers == _STDIN else self.chosen.answers
                raise SourceError(message, place=place, remedy=remedy)
            writing.take(answers, tools)
        elif prompts:
            return self.send(writing, prompts)
        return self.finish(writing)

    def send(self, writing: TextWriting, prompts: Sequence[Prompt]) -> int:
        """Have the model answer the *prompts*."""
        writer = ServiceFactory(self.settings).text_writer()
        if writer is None:
            raise UsageError(
                "no model is set",
                place="--model",
                remedy="set MCPG_ENRICH_MODEL or MCPG_LLM_MODEL, or use --print-prompt",
            )
        writing.model = writer.model
        count = sum(len(one.tools) for one in prompts)
        self.output.note(
            f"sending names, descriptions and schemas of {format_count(count, 'tool')} to"
            f" {writer.display} ({writer.model})"
        )
        try:
            with self.output.counting("writing texts for tools") as tell:
                writing.run(prompts, writer, tell)
        except BaseException:
            self.note_written(writing, writer)
            raise
        finally:
            writer.close()
        return self.finish(writing, writer)

    def finish(self, writing: TextWriting, writer: ChatWriter | None = None) -> int:
        """Report the written texts."""
        if self.chosen.form is OutputFormat.JSON:
            self.report(writing, writer)
        self.note_written(writing, writer)
        self.note_obsolete()
        is_whole = not (writing.incomplete or self.has_failed)
        return ExitCode.DONE if is_whole else ExitCode.FINDINGS

    def note_written(self, writing: TextWriting, writer: ChatWriter | None) -> None:
        """Note the written texts, and their tokens."""
        if self.chosen.form is OutputFormat.TEXT:
            self.output.diagnostics(writing.diagnostics)
        for path in writing.files:
            self.output.note(f"wrote {path}")
        spent = ""
        if writer is not None:
            used = writer.usage
            spent = (
                f", {format_count(used.requests, 'request')}, {used.input_tokens:,} tokens sent,"
                f" {used.output_tokens:,} received"
            )
        if writing.written or writing.incomplete:
            left = f", {len(writing.incomplete):,} left" if writing.incomplete else ""
            self.output.note(f"texts for {format_count(len(writing.written), 'tool')}{left}{spent}")
        else:
            self.note_states()
        folders = [path for path in map(Path, self.paths) if path.is_dir()]
        if not all(any(is_below(str(one), folder) for folder in folders) for one in writing.files):
            self.output.note("also name the files as sources when you build a bundle")

    def note_states(self) -> None:
        """Count the tools of each status."""
        states = Counter(map(str, self.plan.states.values()))
        counts = ", ".join(f"{states[one]:,} {one}" for one in TextState if states[one])
        self.output.note(f"{format_count(len(self.plan.states), 'tool')}: {counts or 'none'}")

    def note_obsolete(self) -> None:
        """Note the entries of tools that are gone."""
        if self.plan.obsolete and not self.chosen.prune:
            count = format_count(len(self.plan.obsolete), "entry", "entries")
            self.output.note(f"{count} of tools that are gone: see --prune")
            for one in self.plan.obsolete:
                self.output.item(f"{one.key} in {one.file.path}")

    def prune(self) -> None:
        """Remove the entries of tools that are gone."""
        for one in self.plan.obsolete:
            del one.file.entries[one.key]
        self.write_files([one.file for one in self.plan.obsolete])

    def write_files(self, files: Sequence[GeneratedFile]) -> None:
        """Write each of *files*."""
        for file in {one.path: one for one in files}.values():
            file.write(PROMPT)
            self.output.note(f"wrote {file.path}")

    def estimate(self, prompts: Sequence[Prompt]) -> int:
        """Show the cost of writing the texts."""
        sent, received = (sum(one.tokens[side] for one in prompts) for side in (0, 1))
        prices = [self.settings.find(f"enrich.{one}_price") for one in ("input", "output")]
        cost = None
        if all(prices):
            rates = [float(one.value) for one in prices if one is not None]
            cost = (sent * rates[0] + received * rates[1]) / _PER_PRICE
        if self.chosen.form is OutputFormat.JSON:
            figures: JsonObject = {
                "prompts": len(prompts),
                "inputTokens": sent,
                "outputTokens": received,
                "cost": cost,
            }
            self.report(estimate=figures)
        elif prompts:
            self.output.text(text_of([_draw_estimates(prompts)], self.output))
        self.note_states()
        price = "" if cost is None else f", cost about {cost:,.4f}"
        count = format_count(len(prompts), "prompt")
        self.output.note(f"{count}, about {sent:,} tokens sent, {received:,} received{price}")
        return ExitCode.DONE

    def print_prompts(self, prompts: Sequence[Prompt]) -> int:
        """Print the prompts."""
        if self.chosen.form is OutputFormat.JSON:
            self.report(prompts=[one.to_dict() for one in prompts])
        else:
            parts = [
                f"=== prompt {one.id}: {format_count(len(one.tools), 'tool')} of {one.source_id}"
                f" ===\n\n{one.instructions}\n\n{one.definitions}\n"
                for one in prompts
            ]
            self.output.text(lines_kept("\n".join(parts)).rstrip("\n"))
        self.note_states()
        if prompts:
            self.output.note("answer each prompt, and pass the answers to --answers")
        return ExitCode.DONE

    @property
    def choose(self) -> partial[Path]:
        """The function that returns the file for a tool without an entry."""
        return partial(choose_file, plan=self.plan, paths=self.paths, folder=self.chosen.target)

    def report(
        self,
        writing: TextWriting | None = None,
        writer: ChatWriter | None = None,
        **facts: JsonValue,
    ) -> None:
        """Print the result as JSON."""
        by_state = {
            str(state): [one for one, own in self.plan.states.items() if own is state]
            for state in TextState
        }
        used = writer.usage if writer else None
        noticed = writing.diagnostics if writing else ()
        self.output.json(
            {
                "schema": "mcpg/enrich/1",
                "prompt": PROMPT,
                **by_state,
                "obsolete": [
                    {"key": one.key, "path": str(one.file.path)} for one in self.plan.obsolete
                ],
                "written": writing.written if writing else [],
                "incomplete": writing.incomplete if writing else [],
                "files": [str(path) for path in writing.files] if writing else [],
                "usage": used
                and {
                    "requests": used.requests,
                    "inputTokens": used.input_tokens,
                    "outputTokens": used.output_tokens,
                },
                **facts,
                "diagnostics": diagnostics_json((*self.assembly.diagnostics, *noticed)),
            }
        )


def _read_answers(path: str) -> str:
    if path == _STDIN:
        return decode(standard_input(_MOST_ANSWERED), "standard input")
    return decode(read_bytes(path, _MOST_ANSWERED), path)


def _draw_estimates(prompts: Sequence[Prompt]) -> Table:
    tools, tokens = Counter[str](), Counter[str]()
    for one in prompts:
        tools[one.source_id] += len(one.tools)
        tokens[one.source_id] += sum(one.tokens)
    rows = tuple(
        (CodeSpan(name), f"{count:,}", f"{tokens[name]:,}") for name, count in tools.items()
    )
    columns = make_columns("server", "tools", "tokens", numbers=("tools", "tokens"))
    return Table("Prompts", columns, rows, has_heads=True)


def _draw_reviews(reviews: Sequence[TextReview]) -> Table:
    rows = tuple(
        (CodeSpan(one.tool_id), one.kind, CodeSpan(one.text), "; ".join(one.reasons))
        for one in reviews
    )
    columns = (Column("tool", is_whole=True), Column("kind"), Column("text"), Column("why"))
    return Table("Texts to look at", columns, rows, has_heads=True, wraps=True)
