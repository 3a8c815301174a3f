"""`mcpg generate`."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from mcpg.bundle import Assembly, Bundle, FolderPlan, apply_plan, generated_documents, plan_folder
from mcpg.catalog.model import SourceDocument
from mcpg.cli import build, options
from mcpg.cli.build import BuildCacheSession, BuildSources, PreviousBuild
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.locks import LockGuard
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.options import OutputFormat, option
from mcpg.cli.output import Output
from mcpg.cli.terminal import lines_kept
from mcpg.review.diff import format_unified_diff
from mcpg.show.json import diagnostics_json
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import format_count

EXAMPLES = """\
mcpg generate manifests/ -o docs/tools
mcpg generate manifests/ -o docs/tools --check --prune     # in CI
mcpg generate tools.json -o docs/tools --diff"""

MORE = "docs/how-to/author.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions:
    """Options of `mcpg generate`."""

    sources: options.Sources = None
    target: Annotated[str, option("--output -o", "The folder for the documents.", "DIR")]
    check: options.Check = False
    diff: options.Diff = False
    prune: Annotated[bool, option("--prune", "Remove documents of tools that are gone.")] = False
    force: options.Force = False
    strict: options.Strict = False
    allow_missing: options.AllowMissing = False
    locked: options.Locked = None
    source_id: options.SourceId = None
    header: options.Header = None
    server_timeout: options.ServerTimeout = None
    jobs: options.Jobs = None
    form: options.Format = OutputFormat.TEXT


def run(output: Output, chosen: GenerateOptions) -> int:
    """Write a Markdown-LD document for each tool, to read and to edit.

    Documents that a person made or edited are not overwritten without --force.
    """
    settings = read_settings(locked=chosen.locked)
    guard = LockGuard.by(settings, None)
    intake = BuildSources.of(chosen, settings)
    last = PreviousBuild(partial(generated_documents, chosen.target), chosen.allow_missing)
    with BuildCacheSession(chosen.target, chosen.jobs) as memory:
        # The files of an output folder within a source are not sources.
        folder = Path(os.path.realpath(chosen.target))
        is_within = any(Path(os.path.realpath(one)) in folder.parents for one in intake.paths)
        own = [path for path in folder.rglob("*") if path.is_file()] if is_within else []
        assembly = build.assemble_sources(intake, output, memory, last, own, guard)
        plan = plan_folder(chosen.target, assembly.texts)
        is_refused = guard is not None and guard.refuses(
            assembly, output, allows_missing=chosen.allow_missing
        )
        if is_refused or (chosen.strict and build.is_rejected_by_strict(assembly, output)):
            if is_refused and chosen.form is OutputFormat.JSON:
                output.json(_make_report(plan, assembly, written=False))
            return ExitCode.FINDINGS
        if chosen.check or chosen.diff:
            return _compare(plan, assembly, chosen, output)
        plan = apply_plan(plan, prune=chosen.prune, force=chosen.force)
        memory.keep()
    if chosen.form is OutputFormat.JSON:
        output.json(_make_report(plan, assembly, written=not plan.is_current))
    _note_outcome(plan, assembly, output, prunes=chosen.prune)
    return ExitCode.DONE


def _compare(plan: FolderPlan, assembly: Assembly, chosen: GenerateOptions, output: Output) -> int:
    reasons = [
        *(f"+ {path}" for path in plan.create),
        *(f"~ {path}" for path in plan.update),
        *(f"~ {path}: made or edited by someone else" for path in plan.conflicts),
        *(f"- {path}" for path in plan.obsolete if chosen.prune),
    ]
    if chosen.form is OutputFormat.JSON:
        output.json(_make_report(plan, assembly, stale=bool(reasons)))
    elif chosen.diff:
        old: list[SourceDocument] = []
        for path in (*plan.update, *plan.conflicts, *(plan.obsolete if chosen.prune else ())):
            file, text = plan.root / path, ""
            with suppress(OSError):  # as empty as a folder or a pipe
                text = file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
            old.append(SourceDocument(path, text))
        written = (*plan.create, *plan.update, *plan.conflicts)
        new = tuple(SourceDocument(path, plan.documents[path]) for path in written)
        changes = format_unified_diff(Bundle(tuple(old)), Bundle(new), are_folders=True)
        output.text(lines_kept(changes).rstrip("\n"))
    return build.report_freshness(str(plan.root), reasons, build.summary(assembly), output)


def _note_outcome(plan: FolderPlan, assembly: Assembly, output: Output, *, prunes: bool) -> None:
    done = {
        "created": len(plan.create),
        "updated": len(plan.update) + len(plan.conflicts),
        "unchanged": len(plan.unchanged),
        "removed": len(plan.obsolete) if prunes else 0,
    }
    counts = ", ".join(f"{number:,} {what}" for what, number in done.items() if number)
    verb = "unchanged:" if plan.is_current else "wrote"
    output.note(f"{verb} {plan.root}: {build.summary(assembly)}: {counts or 'nothing to do'}")
    if plan.obsolete and not prunes:
        output.note(f"{format_count(len(plan.obsolete), 'document')} obsolete: see --prune")
    for path in plan.kept:
        output.item(f"{path} is for no tool any more and was edited, so it stays")


def _make_report(plan: FolderPlan, assembly: Assembly, **facts: JsonValue) -> JsonObject:
    return {
        "schema": "mcpg/generate/1",
        "path": str(plan.root),
        **build.counts(assembly),
        "created": list(plan.create),
        "updated": list(plan.update),
        "unchanged": list(plan.unchanged),
        "obsolete": list(plan.obsolete),
        "conflicts": list(plan.conflicts),
        "staleTools": list(assembly.stale),
        **facts,
        "diagnostics": diagnostics_json(assembly.diagnostics),
    }
