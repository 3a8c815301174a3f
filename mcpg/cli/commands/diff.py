"""`mcpg diff`."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import load_judgements, open_engine, read_settings
from mcpg.cli.output import Output
from mcpg.cli.query import find_fusion, find_strategy, uses_lexicon
from mcpg.cli.render import RecordListing, markdown, text, write_listing
from mcpg.cli.settings import Settings
from mcpg.cli.watch import relative_path
from mcpg.engine import Engine
from mcpg.errors import InputError, NotFoundError, UsageError
from mcpg.files import MAX_BYTES
from mcpg.review.change_report import (
    GATES,
    CatalogSide,
    ChangeReport,
    change_report_json,
    judge_change,
    parse_limits,
)
from mcpg.review.impact import DEFAULT_MARGIN, DEFAULT_SAMPLE, ImpactStudy
from mcpg.show.blocks import Table
from mcpg.show.changes import change_blocks, headline, is_empty

# In a hook, git sets these to its own repository, or relative to another folder.
_OF_ONE_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
_SUBMODULE = b"160000 "
_SECONDS = 120
_TOLD = 300


@contextmanager
def at_revision(path: str, revision: str) -> Iterator[str]:
    """Yield the path of a copy of the file or folder at *path* as it was at *revision*.

    The copy is in a temporary folder and is removed afterwards.

    Raises:
        NotFoundError: There is no git, no repository, no such revision, or nothing at *path* then.
        InputError: What was there is too large, or no plain files.
    """
    place = Path(path).resolve()
    folder = next(one for one in (place, *place.parents) if one.is_dir())
    name = place.relative_to(folder).as_posix()
    commit = _git(folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    with tempfile.TemporaryDirectory(prefix="mcpg-") as copy:
        # Sources are called after their folder, so the copy of a folder has its name.
        root = Path(copy, folder.name) if folder == place else Path(copy)
        try:
            _extract(folder, commit.decode().strip(), name, root)
        except (tarfile.TarError, OSError) as fault:
            raise InputError(
                f"cannot be read from git: {fault}", place=f"{revision}:{path}"
            ) from None
        yield str(root / name)


def _extract(folder: Path, commit: str, name: str, root: Path, left: int = MAX_BYTES) -> int:
    """Write the files at *name* to *root*, with those of submodules that are checked out.

    Returns:
        How many of *left* bytes are left.
    """
    archive = _git(folder, "archive", "--format=tar", commit, "--", name)
    left -= len(archive)
    if left < 0:
        raise InputError(f"is larger than {MAX_BYTES:,} bytes", place=f"{commit}:{name}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        if hasattr(tarfile, "data_filter"):
            files.extractall(root, filter=_within)  # noqa: S202 - what leads out is left out
        else:
            _extract_without_filter(files, root)
    for entry in _git(folder, "ls-tree", "-r", "-z", commit, "--", name).split(b"\0"):
        stated, _, path = entry.partition(b"\t")
        if stated.startswith(_SUBMODULE):
            inner = os.fsdecode(path)
            if (folder / inner / ".git").exists():
                pinned = stated.split()[-1].decode()
                left = _extract(folder / inner, pinned, ".", root / inner, left)
    return left


def _extract_without_filter(files: tarfile.TarFile, root: Path) -> None:
    """Extract as `_within` does, on Python before 3.11.4, which has no filters.

    A link is made once all files are there, and only to one of them, so that no later link can
    lead it out.
    """
    members = files.getmembers()
    # No path in an archive of git leads out.
    files.extractall(root, [one for one in members if one.isfile() or one.isdir()])  # noqa: S202
    for member in members:
        target = (root / member.name).parent.joinpath(member.linkname).resolve()
        if member.issym() and target.exists() and target.is_relative_to(root.resolve()):
            files.extract(member, root)


def _within(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """Leave out what leads out of the copy, such as an absolute link; see `tarfile.data_filter`."""
    try:
        return tarfile.data_filter(member, path)
    except tarfile.FilterError:
        return None


def _git(folder: Path, *arguments: str) -> bytes:
    """Return what git writes to standard output.

    Raises:
        NotFoundError: It fails, takes too long, or is not there.
    """
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and the program is git
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - as the user's path has it
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env={name: one for name, one in os.environ.items() if name not in _OF_ONE_REPOSITORY},
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise NotFoundError(
            "git is not installed", place="--base", remedy="name the old catalogue itself"
        ) from None
    except subprocess.TimeoutExpired:
        raise NotFoundError(f"git did not answer in {_SECONDS} s", place="--base") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[:_TOLD]
        raise NotFoundError(
            f"git: {said}",
            place="--base",
            remedy="name a revision of this repository that has the file; in CI, fetch it first",
        )
    return done.stdout


EXAMPLES = """\
mcpg diff old.mdld new.mdld
mcpg diff old.mdld                                       # and the bundle in mcpg.toml
mcpg diff --base origin/main tools/                      # with a revision of git
mcpg diff old.mdld new.mdld --queries queries.jsonl
mcpg diff old.mdld new.mdld --fail-on breaking,unreachable,rank
mcpg diff old.mdld new.mdld --fail-on rank=3 --format markdown > comment.md"""

_TITLE = "## mcpg diff"
LONGEST = 60_000
"""GitHub takes comments of 65,536 characters."""

_SHOWN = 20
_FEWER = (50, 20, 10, 5, 3, 1)

Before = Annotated[
    str | None,
    typer.Argument(
        metavar="BEFORE",
        help="The old catalogue: a bundle, folder or manifest. With --base it is left out.",
        show_default=False,
    ),
]
After = Annotated[
    str | None,
    typer.Argument(
        metavar="AFTER", help="The new catalogue. [default: the bundle that searches use]"
    ),
]
Base = Annotated[
    str | None,
    typer.Option(
        "--base",
        metavar="REVISION",
        help="Compare with AFTER as it was at this revision of git.",
    ),
]
Queries = Annotated[
    str | None,
    typer.Option(
        "--queries",
        metavar="FILE",
        help="File of judged queries to search in both; - reads standard input.",
    ),
]
Sample = Annotated[
    int,
    typer.Option(
        "--sample",
        metavar="N",
        min=0,
        help="Maximum number of queries made of the texts of the tools; 0 for none.",
    ),
]
Margin = Annotated[
    float,
    typer.Option(
        "--margin",
        metavar="SCORE",
        min=0.0,
        max=1.0,
        help="Report a score that falls by more, though it stays on one side of 0.35.",
    ),
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="KIND[=N]",
        show_default=False,
        help=f"Exit 1 on more than N findings, 0 by default, of a kind: {', '.join(GATES)}. "
        "Repeatable, or separated by commas.",
    ),
]
Everything = Annotated[
    bool, typer.Option("--all", help="Show every finding, not the first 20 of a kind.")
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "diff", examples=EXAMPLES, more="docs/how-to/diff.md")(diff)


def diff(
    output: Output,
    *,
    before: Before = None,
    after: After = None,
    base: Base = None,
    queries: Queries = None,
    sample: Sample = DEFAULT_SAMPLE,
    margin: Margin = DEFAULT_MARGIN,
    fail_on: FailOn = None,
    strategy: options.StrategyName = None,
    fusion: options.Fusion = None,
    embed_with: options.EmbedWith = None,
    lexicon: options.Lexicon = None,
    include_disabled: options.IncludeDisabled = False,
    form: options.ListFormat = "text",
    every: Everything = False,
) -> int:
    """Compare two catalogues, and what searches find in them.

    Reports tools that were added, removed, renamed or changed, changes of schemas that break
    callers, and queries that another tool takes.
    """
    limits = parse_limits(fail_on or ())
    judgements = load_judgements(queries) if queries else None
    settings = read_settings(
        strategy=strategy, fusion=fusion, embed_with=embed_with, lexicon=lexicon
    )
    old, new = _name_catalogues(before, after, base, settings)
    with nullcontext(old) if base is None else at_revision(new, base) as place:
        engines = [
            _load_catalogue(path, name, settings, output)
            for path, name in ((place, "BEFORE"), (new, "AFTER"))
        ]
        chosen = find_strategy(settings)
        study = ImpactStudy(
            *engines,
            margin=margin,
            strategy=chosen,
            fusion=find_fusion(settings, chosen),
            lexicon=uses_lexicon(settings),
            include_disabled=include_disabled,
        )
        with output.counting("searching both") as tell:
            impact = study.impact(judgements, sample, tell)
    report = ChangeReport(
        CatalogSide(old, len(engines[0].index)),
        CatalogSide(new, len(engines[1].index)),
        study.diff,
        impact,
        judge_change(study.diff, impact, limits),
        (*engines[0].diagnostics, *engines[1].diagnostics, *study.diagnostics),
    )
    if form != "json":
        output.note_opening(report.diagnostics)
    _write(change_report_json(report), form, output, is_whole=every)
    return _report_failed_gates(report, output)


def _name_catalogues(
    before: str | None, after: str | None, base: str | None, settings: Settings
) -> tuple[str, str]:
    """Return what the two catalogues are called; with *base*, the only one named is the new one.

    Raises:
        UsageError: Too few or too many are named.
    """
    if base is not None and after is not None:
        raise UsageError(
            "with a revision the old catalogue is the new one as it was then",
            place="--base",
            remedy="name the new catalogue alone, or leave out --base",
        )
    new = before if base is not None else after
    if new is None:
        found = settings.bundles()
        if len(found) > 1:
            raise UsageError(
                "the settings name several catalogues", place="AFTER", remedy="name the new one"
            )
        new = relative_path(str(found[0].value))
    if base is not None:
        return f"{base}:{new}", new
    if before is None:
        raise UsageError(
            "no old catalogue is named",
            place="BEFORE",
            remedy="name a bundle, a folder or a manifest, or a revision of git with --base",
        )
    return before, new


def _load_catalogue(path: str, name: str, settings: Settings, output: Output) -> Engine:
    """Load the catalogue at *path*, that of the argument *name*.

    Raises:
        McpgError: There is none, or it cannot be used.
    """
    flags = {**settings.flags, "bundle": [path]}
    named = Settings(settings.folder, settings.environment, flags)
    try:
        return open_engine(named, output, is_cached=False)
    except NotFoundError as fault:
        raise NotFoundError(fault.message, place=name, remedy=fault.remedy) from fault


def _write(data: dict[str, Any], form: str, output: Output, *, is_whole: bool) -> None:
    most = None if is_whole else _SHOWN
    match form:
        case "json":
            output.json(data)
        case "markdown":
            output.text(_comment(data, most=most))
        case "text":
            if is_empty(data):
                output.note("no change")
            else:
                output.text(text(change_blocks(data, most), output))
        case _:
            write_listing(_listing(data), form, output)


def _comment(data: dict[str, Any], *, most: int | None) -> str:
    """Return *data* as Markdown that fits a comment: with fewer items where it is too long."""
    title = f"{_TITLE}: {headline(data)}"
    if is_empty(data):
        return f"{_TITLE}: no change"
    for shown in (most, *(one for one in _FEWER if most is None or one < most)):
        comment = markdown(change_blocks(data, shown, folds=True), title)
        if len(comment) <= LONGEST:
            return comment
    return f"{title}\n\nThe report is too long for a comment; `mcpg diff` shows all.\n"


def _listing(data: dict[str, Any]) -> RecordListing:
    """Return the tools that changed as a list that only programs read."""
    members = ("toolId", "change", "sourceId", "toolName", "isRiskier", "description")
    return RecordListing(data["tools"], members, "toolId", Table("Tools", (), ()))


def _report_failed_gates(report: ChangeReport, output: Output) -> int:
    """Report the gates that fail, and return the exit code."""
    failed = [gate for gate in report.gates if not gate.passed]
    for gate in failed:
        output.error(
            f"{gate.found:,} found, at most {gate.most:,} accepted: {GATES[gate.kind]}",
            place=f"--fail-on {gate.kind}",
        )
    return ExitCode.FINDINGS if failed else ExitCode.DONE
