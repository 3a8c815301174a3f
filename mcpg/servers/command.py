"""`mcpg catalog`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.output import STDOUT, Output, check_replaceable
from mcpg.cli.parameters import BUNDLE, flag, switch
from mcpg.errors import UsageError
from mcpg.files import atomic_write
from mcpg.net.addresses import split_address
from mcpg.servers.publish import Publisher, check_domain, make_manifest
from mcpg.text.json_values import write_json
from mcpg.values import format_count

if TYPE_CHECKING:
    import typer

EXAMPLES = """\
mcpg catalog --publisher acme.example -o ard.json
mcpg catalog --publisher acme.example --url https://tools.acme.example
mcpg catalog --publisher acme.example -b graph.mdld | jq '.entries[].representativeQueries'"""

PARAMETERS = (
    flag(
        "--publisher",
        "Domain of the publisher, the beginning of all identifiers.",
        "DOMAIN",
        is_required=True,
    ),
    flag(
        "--url",
        "Address of `mcpg serve --http`; adds the addresses of servers and registry.",
        "URL",
    ),
    flag("--output -o", "File to write; - is standard output. [default: -]", "FILE", name="target"),
    switch("--generated", "Also use example requests that a language model wrote."),
    BUNDLE,
)
_MARK = b'{\n  "specVersion"'


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    from mcpg.cli import options  # noqa: PLC0415 - the command itself does without

    more = "docs/how-to/catalogs.md"
    options.command(app, "catalog", examples=EXAMPLES, table=PARAMETERS, more=more)(run)


def run(
    output: Output,
    *,
    publisher: str,
    url: str | None,
    target: str | None,
    generated: bool,
    bundle: list[str] | None,
) -> int:
    """Write a catalog of the servers of a bundle, for others to find.

    Each server is an entry of Agentic Resource Discovery 0.91 (ard.json), with tool names and two
    to five example requests. Disabled tools are left out.
    """
    owner = Publisher(check_domain(publisher), _check_url(url or ""))
    target = None if target == STDOUT else target
    if target:
        check_replaceable(target, [_MARK], "catalog")
    engine = open_engine(read_settings(bundle=bundle), output)
    output.note_opening(engine.diagnostics)
    made = make_manifest(engine.tools, owner, generated=generated)
    output.diagnostics(made.diagnostics)
    if not target:
        output.json(made.manifest)
        return ExitCode.DONE
    data = f"{write_json(made.manifest, 2)}\n".encode()
    atomic_write(target, data)
    entries = format_count(len(made.manifest["entries"]), "entry", "entries")  # type: ignore[arg-type]
    output.note(f"wrote {target}: {entries}, {len(data):,} bytes")
    return ExitCode.DONE


def _check_url(url: str) -> str:
    parts = split_address(url) if url.isprintable() and " " not in url else None
    is_base = parts is not None and not ("@" in parts.netloc or parts.query or parts.fragment)
    if url and not (is_base and parts and parts.scheme in ("http", "https") and parts.hostname):
        remedy = "give one such as https://tools.acme.example"
        raise UsageError("it is not the address of a server", place="--url", remedy=remedy)
    return url.rstrip("/")
