"""`mcpg diff`."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from mcpg.cli import options
from mcpg.cli.environment import relative_path
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import load_judgements, open_other, read_chosen_settings
from mcpg.cli.options import argument, option
from mcpg.cli.output import Output
from mcpg.cli.query import find_fusion, find_strategy, uses_lexicon
from mcpg.cli.render import RecordListing, markdown, text, write_listing
from mcpg.cli.settings import Settings
from mcpg.errors import InputError, NotFoundError, UsageError
from mcpg.evaluation.judged import Judgements
from mcpg.files import MAX_BYTES, temporary_folder
from mcpg.review.change_report import (
    GATES,
    CatalogSide,
    ChangeReport,
    Limit,
    change_report_json,
    judge_change,
    parse_limits,
)
from mcpg.review.impact import DEFAULT_MARGIN, DEFAULT_SAMPLE, ImpactStudy
from mcpg.show.blocks import Table
from mcpg.show.changes import change_blocks, headline, is_empty

EXAMPLES = """\
mcpg diff old.mdld new.mdld
mcpg diff old.mdld                                       # and the bundle in mcpg.toml
mcpg diff --base origin/main tools/                      # with a revision of git
mcpg diff old.mdld new.mdld --queries queries.jsonl
mcpg diff old.mdld new.mdld --fail-on breaking,unreachable,rank
mcpg diff old.mdld new.mdld --fail-on rank=3 --format markdown > comment.md"""

MORE = "docs/how-to/diff.md"

LONGEST = 60_000
"""GitHub takes comments of 65,536 characters."""

_TITLE = "## mcpg diff"
_SHOWN = 20
_FEWER = (50, 20, 10, 5, 3, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions:
    """Options of `mcpg diff`."""

    before: Annotated[
        str | None,
        argument("BEFORE", "The old catalog: a bundle, folder or manifest. Not with --base."),
    ] = None
    after: Annotated[
        str | None, argument("AFTER", "The new catalog. [default: the bundle that searches use]")
    ] = None
    base: Annotated[
        str | None,
        option("--base", "Compare with AFTER at this git revision.", "REVISION"),
    ] = None
    queries: Annotated[
        str | None,
        option("--queries", "File of judged queries; - reads standard input.", "FILE"),
    ] = None
    sample: Annotated[
        int,
        option(
            "--sample",
            "Maximum number of queries from texts of the tools; 0 for none.",
            "N",
            min=0,
        ),
    ] = DEFAULT_SAMPLE
    margin: Annotated[
        float,
        option(
            "--score-drop",
            "Report scores that fall by more than this.",
            "SCORE",
            min=0.0,
            max=1.0,
        ),
    ] = DEFAULT_MARGIN
    fail_on: Annotated[
        list[str] | None,
        option(
            "--fail-on",
            f"Exit 1 on more than N findings (default 0) of a kind: {', '.join(GATES)}. "
            "Repeatable, or separated by commas.",
            "KIND[=N]",
        ),
    ] = None
    strategy: options.StrategyName = None
    fusion: options.Fusion = None
    embed_with: options.EmbedWith = None
    lexicon: options.Lexicon = None
    include_disabled: options.IncludeDisabled = False
    form: options.ListFormat = "text"
    every: Annotated[bool, option("--all", "Show every finding, not the first 20 of a kind.")] = (
        False
    )


def run(output: Output, chosen: DiffOptions) -> int:
    """Compare two catalogs, and what searches find in them.

    Reports changed tools, breaking changes of schemas, and queries that another tool takes.
    """
    limits = parse_limits(chosen.fail_on or ())
    judgements = load_judgements(chosen.queries) if chosen.queries else None
    report = _compare(chosen, judgements, limits, output)
    if chosen.form != "json":
        output.note_opening(report.diagnostics)
    _write(change_report_json(report), chosen, output)
    failed = [gate for gate in report.gates if not gate.passed]
    for gate in failed:
        message = f"{gate.found:,} found, at most {gate.most:,} accepted: {GATES[gate.kind]}"
        output.error(message, place=f"--fail-on {gate.kind}")
    return ExitCode.FINDINGS if failed else ExitCode.DONE


def _compare(
    chosen: DiffOptions, judgements: Judgements | None, limits: Sequence[Limit], output: Output
) -> ChangeReport:
    settings = read_chosen_settings(chosen)
    old, new = _name_catalogues(chosen, settings)
    with nullcontext(old) if chosen.base is None else at_revision(new, chosen.base) as place:
        then = open_other(place, "BEFORE", settings, output, is_cached=False)
        now = open_other(new, "AFTER", settings, output, is_cached=False)
        strategy = find_strategy(settings)
        study = ImpactStudy(
            then,
            now,
            margin=chosen.margin,
            strategy=strategy,
            fusion=find_fusion(settings, strategy),
            lexicon=uses_lexicon(settings),
            include_disabled=chosen.include_disabled,
        )
        with output.counting("searching both") as tell:
            impact = study.impact(judgements, chosen.sample, tell)
    return ChangeReport(
        CatalogSide(old, len(then.index)),
        CatalogSide(new, len(now.index)),
        study.diff,
        impact,
        judge_change(study.diff, impact, limits),
        (*then.diagnostics, *now.diagnostics, *study.diagnostics),
    )


def _name_catalogues(chosen: DiffOptions, settings: Settings) -> tuple[str, str]:
    """Return the names of the catalogs; with `--base`, the only named catalog is the new one."""
    if chosen.base is not None and chosen.after is not None:
        message = "--base compares one catalog with its earlier revision"
        remedy = "name only the new catalog, or leave out --base"
        raise UsageError(message, place="--base", remedy=remedy)
    new = chosen.before if chosen.base is not None else chosen.after
    if new is None:
        found = settings.bundles()
        if len(found) > 1:
            raise UsageError(
                "the settings name several catalogs", place="AFTER", remedy="name the new one"
            )
        new = relative_path(str(found[0].value))
    if chosen.base is not None:
        return f"{chosen.base}:{new}", new
    if chosen.before is None:
        remedy = "name a bundle, a folder or a manifest, or a revision of git with --base"
        raise UsageError("the old catalog is missing", place="BEFORE", remedy=remedy)
    return chosen.before, new


def _write(data: dict[str, Any], chosen: DiffOptions, output: Output) -> None:
    most = None if chosen.every else _SHOWN
    match chosen.form:
        case "json":
            output.json(data)
        case "markdown":
            title = f"{_TITLE}: {headline(data)}"
            # With fewer items if it is too long for a comment.
            tried = (most, *(one for one in _FEWER if most is None or one < most))
            drawn = (markdown(change_blocks(data, one, folds=True), title) for one in tried)
            too_long = f"{title}\n\nThe report is too long for a comment; `mcpg diff` shows all.\n"
            fitting = (one for one in drawn if len(one) <= LONGEST)
            nothing = f"{_TITLE}: no change"
            output.text(nothing if is_empty(data) else next(fitting, too_long))
        case "text":
            if is_empty(data):
                output.note("no change")
            else:
                output.text(text(change_blocks(data, most), output))
        case _:  # only programs read it
            members = ("toolId", "change", "sourceId", "toolName", "isRiskier", "description")
            changes = RecordListing(data["tools"], members, "toolId", Table("Tools", (), ()))
            write_listing(changes, chosen.form, output)


# In a hook, git sets these to its own repository, or relative to another folder.
_OF_ONE_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
_SUBMODULE = b"160000 "
_SECONDS = 120
_TOLD = 300


@contextmanager
def at_revision(path: str, revision: str) -> Iterator[str]:
    """Yield the path of a copy of the file or folder at *path* as it was at *revision*.

    The copy is in a temporary folder and is removed afterwards.
    """
    place = Path(path).resolve()
    folder = next(one for one in (place, *place.parents) if one.is_dir())
    name = place.relative_to(folder).as_posix()
    commit = _git(folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    with temporary_folder(tempfile.gettempdir()) as copy:
        # Sources are called after their folder, so the copy of a folder has its name.
        root = copy / folder.name if folder == place else copy
        try:
            _extract(folder, commit.decode().strip(), name, root)
        except (tarfile.TarError, OSError) as fault:
            raise InputError(
                f"cannot be read from git: {fault}", place=f"{revision}:{path}"
            ) from None
        yield str(root / name)


def _extract(folder: Path, commit: str, name: str, root: Path, left: int = MAX_BYTES) -> int:
    """Write the files at *name* to *root*, with the files of submodules that are checked out.

    Returns:
        How many of *left* bytes are left.
    """
    archive = _git(folder, "archive", "--format=tar", commit, "--", name)
    left -= len(archive)
    if left < 0:
        raise InputError(f"is larger than {MAX_BYTES:,} bytes", place=f"{commit}:{name}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        if hasattr(tarfile, "data_filter"):
            files.extractall(root, filter=_keep_within)  # noqa: S202 - filters what leads out
        else:
            # Python before 3.11.4 has no filters. No path in an archive of git leads out; a link is
            # made once all files are there, only to one of them, so that no later one leads out.
            members = files.getmembers()
            files.extractall(root, [one for one in members if one.isfile() or one.isdir()])  # noqa: S202
            for member in members:
                target = (root / member.name).parent.joinpath(member.linkname).resolve()
                if member.issym() and target.exists() and target.is_relative_to(root.resolve()):
                    files.extract(member, root)
    for entry in _git(folder, "ls-tree", "-r", "-z", commit, "--", name).split(b"\0"):
        stated, _, path = entry.partition(b"\t")
        if stated.startswith(_SUBMODULE):
            inner = os.fsdecode(path)
            if (folder / inner / ".git").exists():
                pinned = stated.split()[-1].decode()
                left = _extract(folder / inner, pinned, ".", root / inner, left)
    return left


def _keep_within(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """Leave out members outside the copy, such as absolute links; see `tarfile.data_filter`."""
    try:
        return tarfile.data_filter(member, path)
    except tarfile.FilterError:
        return None


def _git(folder: Path, *arguments: str) -> bytes:
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
            "git is not installed", place="--base", remedy="name a bundle, a folder or a manifest"
        ) from None
    except subprocess.TimeoutExpired:
        raise NotFoundError(f"git did not answer in {_SECONDS} s", place="--base") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[:_TOLD]
        remedy = "name a revision of this repository that has the file; in CI, fetch it first"
        raise NotFoundError(f"git: {said}", place="--base", remedy=remedy)
    return done.stdout
