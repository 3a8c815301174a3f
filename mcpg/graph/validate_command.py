"""`mcpg validate`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mcpg.bundle import assemble, decode_bundle
from mcpg.bundle.dotnet_texts import ReaderFinding, named_findings, reader_findings
from mcpg.catalog.model import SourceDocument
from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_sources, read_settings
from mcpg.cli.output import Output
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.terminal import one_line
from mcpg.documents.front_matter import MAX_FRONT_MATTER
from mcpg.documents.markdown import collect_targets, with_pages
from mcpg.errors import NotFoundError, Severity
from mcpg.files import exists
from mcpg.graph import commands
from mcpg.graph.validation import DEFAULT_TIMEOUT
from mcpg.show.blocks import CodeSpan, Column, Table
from mcpg.sources import SourceBatch
from mcpg.values import format_count, to_json

EXAMPLES = """\
mcpg validate graph.mdld
mcpg validate documents/ --shapes house-rules.ttl
mcpg validate graph.mdld.json --reader dotnet
mcpg validate documents/ --reader dotnet --format json | jq '.findings[].place'"""

File = Annotated[
    str, typer.Argument(metavar="FILE", help="A bundle, or a file or folder of sources.")
]
Reader = Annotated[
    Literal["dotnet"] | None,
    typer.Option(
        "--reader",
        metavar="dotnet",
        help="Report how the .NET gateway reads FILE.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "validate", examples=EXAMPLES, more="docs/how-to/validate.md")(validate)


def validate(
    output: Output,
    *,
    file: File,
    reader: Reader = None,
    shapes: commands.Shapes = None,
    timeout: commands.Timeout = DEFAULT_TIMEOUT,
    strict: commands.Strict = False,
    form: options.ListFormat = "text",
) -> int:
    """Check a bundle against SHACL shapes, or for another reader.

    Without --reader, like `mcpg graph validate`. With --reader dotnet, exits 1 if the .NET gateway
    would refuse or misread something.
    """
    if not exists(file):
        message = f"no bundle, folder or manifest is called {file[:80]!r}"
        raise NotFoundError(message, place="FILE", remedy="check the path")
    if reader is None:
        return commands.validate(
            output, bundle=[file], shapes=shapes, timeout=timeout, strict=strict, form=form
        )
    batch = open_sources(read_settings(bundle=[file]), output)
    documents, found = _find_reader_problems(batch, file)
    counts = {
        f"{one}s" if one != Severity.INFO else "notes": sum(item.severity == one for item in found)
        for one in (Severity.ERROR, Severity.WARNING, Severity.INFO)
    }
    findings = [to_json(item) for item in found]
    data = {
        "schema": "mcpg/validate/1",
        "path": file,
        "reader": reader,
        "isLoaded": not counts["errors"],
        "documents": documents,
        **counts,
        "findings": findings,
    }
    if form == "json":
        output.json(data)
    elif form == "text":
        output.text(findings_text(found, documents, output))
    else:
        write_listing(_list_findings(findings), form, output)
    is_bad = counts["errors"] or counts["warnings"]
    return ExitCode.FINDINGS if is_bad else ExitCode.DONE


def _find_reader_problems(batch: SourceBatch, file: str) -> tuple[int, Sequence[ReaderFinding]]:
    assembly = assemble(batch, texts=False)
    addresses = {one.tool.id: (one.path, one.uri) for one in assembly.documents}
    targets = with_pages(
        collect_targets((one.tool for one in assembly.documents), addresses), assembly.pages
    )
    documents = [
        replace(one, place=one.path)
        for raw in batch.bundles
        for one in decode_bundle(raw.text, raw.place).documents
    ]
    documents += batch.documents
    documents += _read_further_texts(file, {one.place for one in documents})
    named = named_findings(file) if batch.bundles else ()
    return len(documents), [*named, *reader_findings(documents, targets)]


def _read_further_texts(folder: str, read: Collection[str]) -> Iterator[SourceDocument]:
    """Return files of *folder* that are not documents here, but begin with front matter.

    The .NET library reads every file that decodes as text.
    """
    for path in sorted(Path(folder).rglob("*")) if Path(folder).is_dir() else ():
        if str(path) in read or not path.is_file():
            continue
        with path.open("rb") as file:
            data = file.read(len(_FENCE))
            data += file.read(MAX_FRONT_MATTER) if data == _FENCE else b""
        with suppress(UnicodeDecodeError):
            if data.startswith(_FENCE):
                name = path.relative_to(folder).as_posix()
                yield SourceDocument(name, data.decode(), place=str(path))


def _list_findings(findings: Sequence[Mapping[str, Any]]) -> RecordListing:
    members = ("severity", "rule", "place", "message")
    rows = tuple(
        (one["severity"], one["rule"], CodeSpan(one["place"]), CodeSpan(one["message"]))
        for one in findings
    )
    columns = (
        Column("severity"),
        Column("rule"),
        Column("place", is_whole=True),
        Column("message"),
    )
    return RecordListing(
        findings, members, "place", Table("Findings", columns, rows, has_heads=True)
    )


_FENCE = b"---"
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def findings_text(found: Sequence[ReaderFinding], documents: int, output: Output) -> str:
    """Return a line for each finding, as compilers write them, and their counts."""
    lines = []
    for one in found:
        label = output.paint(one.severity, _STYLES[one.severity])
        lines.append(f"{one_line(one.place)}: {label}[{one.rule}]: {one_line(one.message)}")
    numbers = {one: sum(item.severity == one for item in found) for one in _STYLES}
    verb = "refuses" if numbers[Severity.ERROR] else "loads"
    names = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    counts = ", ".join(format_count(numbers[one], name) for one, name in names.items())
    return "\n".join((*lines, f".NET {verb} {format_count(documents, 'document')}: {counts}"))
