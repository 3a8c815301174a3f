"""`mcpg bundle`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpg import __version__
from mcpg.cli import building, options
from mcpg.cli.exits import ExitCode
from mcpg.cli.jsonview import diagnostics_json
from mcpg.cli.output import Output, OutputFormat
from mcpg.cli.sanitise import lines_kept
from mcpg.errors import InputError, NotFoundError, UsageError

if TYPE_CHECKING:
    from mcpg.bundle import Assembly, Bundle, BundleDiff
    from mcpg.jsontypes import JsonObject, JsonValue

EXAMPLES = """\
mcpg bundle manifests/ -o graph.mdld
mcpg bundle tools.json extra.hints.yaml docs/ -o graph.mdld
mcpg bundle manifests/ -o graph.mdld --check --diff     # in CI
my-server --list-tools | mcpg bundle - --source-id mine -o -"""

STDOUT = "-"

Target = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", help="The bundle to write; - is standard output."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "bundle", examples=EXAMPLES)(bundle)


def bundle(
    output: Output,
    *,
    sources: options.Sources,
    target: Target = "graph.mdld",
    check: options.Check = False,
    diff: options.Diff = False,
    strict: options.Strict = False,
    force: options.Force = False,
    source_id: options.SourceId = None,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Put tools from any sources into one bundle, the file that hosts load and search.

    The same sources give the same bytes on every machine. A file that is up to date is not touched.
    """
    from mcpg.bundle import bundle_of  # noqa: PLC0415 - help needs none of it

    _check_options(target, form, compares=check or diff)
    assembly = building.assembled(sources, source_id, output, exclude=[target])
    if strict and building.refused(assembly, output):
        return ExitCode.FINDINGS
    made = bundle_of(assembly)
    if check or diff:
        return _compare(made, assembly, Path(target), shows_diff=diff, form=form, output=output)
    return _write(made, assembly, target, force=force, form=form, output=output)


def _check_options(target: str, form: OutputFormat, *, compares: bool) -> None:
    if target == STDOUT and compares:
        raise UsageError(
            "standard output cannot be compared with anything",
            place="--output",
            remedy="name the bundle to compare with",
        )
    if target == STDOUT and form is OutputFormat.JSON:
        raise UsageError(
            "standard output cannot take both the bundle and a report",
            place="--format",
            remedy="write the bundle to a file, or leave out --format",
        )


def _write(
    made: Bundle,
    assembly: Assembly,
    target: str,
    *,
    force: bool,
    form: OutputFormat,
    output: Output,
) -> int:
    from mcpg.bundle import encode_bundle, write_bundle  # noqa: PLC0415

    data = encode_bundle(made)
    if target == STDOUT:
        output.bytes(data)
        changed = True
    else:
        changed = write_bundle(target, made, force=force)
    if form is OutputFormat.JSON:
        output.json(_report(made, assembly, target, written=changed, bytes=len(data)))
    verb = "wrote" if changed else "unchanged:"
    place = "standard output" if target == STDOUT else target
    output.note(f"{verb} {place}: {building.summary(assembly)}, {len(data):,} bytes")
    return ExitCode.DONE


def _compare(
    made: Bundle,
    assembly: Assembly,
    path: Path,
    *,
    shows_diff: bool,
    form: OutputFormat,
    output: Output,
) -> int:
    reasons, text = _differences(made, path)
    if form is OutputFormat.JSON:
        facts: JsonObject = {"stale": bool(reasons), "differences": list(reasons)}
        output.json(_report(made, assembly, str(path), **facts))
    elif shows_diff:
        output.text(lines_kept(text).rstrip("\n"))
    return building.judged(str(path), reasons, building.summary(assembly), output)


def _differences(made: Bundle, path: Path) -> tuple[list[str], str]:
    """Give in short lines, and as changed lines of the documents, how *path* differs."""
    from mcpg.bundle import (  # noqa: PLC0415
        Bundle,
        diff_bundles,
        encode_bundle,
        read_bundle,
        unified_text,
    )

    try:
        present = read_bundle(path)
    except NotFoundError:
        return ["there is no such file"], unified_text(Bundle(), made)
    except InputError as fault:
        return [fault.message], unified_text(Bundle(), made)
    if path.read_bytes() == encode_bundle(made):
        return [], ""
    lines = _told(diff_bundles(present, made))
    return lines or [_same_content(present)], unified_text(present, made)


def _told(diff: BundleDiff) -> list[str]:
    return [
        *(f"+ {name}" for name in diff.added),
        *(f"- {name}" for name in diff.removed),
        *(f"~ {one.name}: {', '.join(field.name for field in one.fields)}" for one in diff.changed),
        *(f"~ extension: {name}" for name in diff.extension),
    ]


def _same_content(present: Bundle) -> str:
    if present.generator != __version__:
        writer = f"mcpg {present.generator}" if present.generator else "another program"
        return f"the same documents, written by {writer}; this is mcpg {__version__}"
    return "the same documents in other bytes: the file was edited"


def _report(made: Bundle, assembly: Assembly, path: str, **facts: JsonValue) -> JsonObject:
    return {
        "schema": "mcpg/bundle/1",
        "path": path,
        **building.counts(assembly),
        "contentHash": made.content_hash,
        **facts,
        "diagnostics": diagnostics_json(assembly.diagnostics),
    }
