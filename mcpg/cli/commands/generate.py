"""`mcpg generate`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mcpg.bundle import Assembly, FolderPlan
from mcpg.cli import build, options
from mcpg.cli.build import BuildSources
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.options import OutputFormat
from mcpg.cli.output import Output
from mcpg.cli.terminal import lines_kept
from mcpg.show.json import diagnostics_json
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import format_count

EXAMPLES = """\
mcpg generate manifests/ -o docs/tools
mcpg generate manifests/ -o docs/tools --check --prune     # in CI
mcpg generate tools.json -o docs/tools --diff"""

Target = Annotated[
    str,
    typer.Option("--output", "-o", metavar="DIR", help="The folder for the documents."),
]
Prune = Annotated[
    bool,
    typer.Option("--prune", help="Remove documents of tools that are gone."),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "generate", examples=EXAMPLES, more="docs/how-to/author.md")(generate)


def generate(
    output: Output,
    *,
    sources: options.Sources = None,
    target: Target,
    check: options.Check = False,
    diff: options.Diff = False,
    prune: Prune = False,
    force: options.Force = False,
    strict: options.Strict = False,
    allow_missing: options.AllowMissing = False,
    locked: options.Locked = None,
    source_id: options.SourceId = None,
    header: options.Header = None,
    server_timeout: options.ServerTimeout = None,
    jobs: options.Jobs = None,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Write a Markdown-LD document for each tool, to read and to edit.

    Documents that a person made or edited are not overwritten without --force.
    """
    from mcpg.bundle import apply_plan, generated_documents, plan_folder  # noqa: PLC0415
    from mcpg.cli.build import BuildCacheSession, PreviousBuild  # noqa: PLC0415
    from mcpg.cli.locks import LockGuard  # noqa: PLC0415

    settings = read_settings(locked=locked)
    guard = LockGuard.by(settings, None)
    intake = BuildSources(
        sources,
        settings,
        source_id=source_id,
        header=header,
        seconds=server_timeout,
    )
    last = PreviousBuild(partial(generated_documents, target), allow_missing)
    with BuildCacheSession(target, jobs) as memory:
        own = _own(target, intake.paths)
        assembly = build.assemble_sources(intake, output, memory, last, own, guard)
        plan = plan_folder(target, assembly.texts)
        is_refused = guard is not None and guard.refuses(
            assembly, output, allows_missing=allow_missing
        )
        if is_refused or (strict and build.is_rejected_by_strict(assembly, output)):
            if is_refused and form is OutputFormat.JSON:
                output.json(_report(plan, assembly, written=False))
            return ExitCode.FINDINGS
        if check or diff:
            return _compare(plan, assembly, prune=prune, shows_diff=diff, form=form, output=output)
        plan = apply_plan(plan, prune=prune, force=force)
        memory.keep()
    if form is OutputFormat.JSON:
        output.json(_report(plan, assembly, written=not plan.is_current))
    _tell(plan, assembly, prune=prune, output=output)
    return ExitCode.DONE


def _own(target: str, sources: Iterable[str]) -> list[Path]:
    """Return the files of an output folder that lies within a source: they are no sources."""
    folder = Path(os.path.realpath(target))
    if any(Path(os.path.realpath(source)) in folder.parents for source in sources):
        return [path for path in folder.rglob("*") if path.is_file()]
    return []


def _compare(
    plan: FolderPlan,
    assembly: Assembly,
    *,
    prune: bool,
    shows_diff: bool,
    form: OutputFormat,
    output: Output,
) -> int:
    reasons = _reasons(plan, prune=prune)
    if form is OutputFormat.JSON:
        output.json(_report(plan, assembly, stale=bool(reasons)))
    elif shows_diff:
        output.text(lines_kept(_diff_text(plan, prune=prune)).rstrip("\n"))
    return build.report_freshness(str(plan.root), reasons, build.summary(assembly), output)


def _reasons(plan: FolderPlan, *, prune: bool) -> list[str]:
    return [
        *(f"+ {path}" for path in plan.create),
        *(f"~ {path}" for path in plan.update),
        *(f"~ {path}: made or edited by someone else" for path in plan.conflicts),
        *(f"- {path}" for path in plan.obsolete if prune),
    ]


def _diff_text(plan: FolderPlan, *, prune: bool) -> str:
    from mcpg.bundle import Bundle  # noqa: PLC0415
    from mcpg.catalog.model import SourceDocument  # noqa: PLC0415
    from mcpg.review.diff import unified_text  # noqa: PLC0415

    gone = plan.obsolete if prune else ()
    present = (*plan.update, *plan.conflicts, *gone)
    old = [SourceDocument(path, _text(plan.root / path)) for path in present]
    written = (*plan.create, *plan.update, *plan.conflicts)
    new = [SourceDocument(path, plan.documents[path]) for path in written]
    return unified_text(Bundle(tuple(old)), Bundle(tuple(new)), are_folders=True)


def _text(path: Path) -> str:
    """Return the text at *path*, "" for a folder, a pipe or a file that cannot be read."""
    try:
        return path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
    except OSError:
        return ""


def _tell(plan: FolderPlan, assembly: Assembly, *, prune: bool, output: Output) -> None:
    done = {
        "created": len(plan.create),
        "updated": len(plan.update) + len(plan.conflicts),
        "unchanged": len(plan.unchanged),
        "removed": len(plan.obsolete) if prune else 0,
    }
    told = ", ".join(f"{number:,} {what}" for what, number in done.items() if number)
    verb = "unchanged:" if plan.is_current else "wrote"
    output.note(f"{verb} {plan.root}: {build.summary(assembly)}: {told or 'nothing to do'}")
    if plan.obsolete and not prune:
        output.note(f"{format_count(len(plan.obsolete), 'document')} obsolete: see --prune")
    for path in plan.kept:
        output.item(f"{path} is for no tool any more and was edited, so it stays")


def _report(plan: FolderPlan, assembly: Assembly, **facts: JsonValue) -> JsonObject:
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
