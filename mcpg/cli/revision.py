"""Files as they were at a revision of git."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcpg.errors import InputError, NotFoundError
from mcpg.files import MAX_BYTES

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
