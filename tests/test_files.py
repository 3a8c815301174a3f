from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mcpg.errors import InputError, NotFoundError, OutputError
from mcpg.files import (
    atomic_write,
    exists,
    file_holds,
    is_file,
    is_folder,
    locked_folder,
    read_bytes,
    read_last_use,
    remove_leftovers,
    temporary_folder,
    text_of_path,
    write_files,
)

if sys.platform != "win32":
    import fcntl

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and links")


def names_in(folder: Path) -> list[str]:
    """List what *folder* holds."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("place", [0, 1_048_570, 3_000_000])
def test_bytes_are_found_wherever_they_stand_in_a_file(tmp_path: Path, place: int) -> None:
    """A file is read in chunks, over whose ends what is looked for may reach."""
    path = tmp_path / "file"
    path.write_bytes(b"x" * place + b"the ranking" + b"x" * 10)

    assert file_holds(path, b"the ranking")
    assert not file_holds(path, b"the rankings")
    assert not file_holds(tmp_path, b"x")
    assert not file_holds(tmp_path / "nothing", b"x")


@pytest.mark.parametrize("sync", [True, False])
def test_writes_whole_content_and_leaves_nothing_else(tmp_path: Path, sync: bool) -> None:
    """The file holds the bytes, missing folders are made, no temporary file stays."""
    target = tmp_path / "a" / "b" / "c.txt"
    atomic_write(target, b"one", sync=sync)
    atomic_write(target, b"two", sync=sync)
    assert target.read_bytes() == b"two"
    assert names_in(target.parent) == ["c.txt"]


@posix
def test_permissions_stay(tmp_path: Path) -> None:
    """A replaced file keeps its permissions; a new one gets those that the umask allows."""
    target = tmp_path / "file"
    atomic_write(target, b"one")
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~_umask()
    target.chmod(0o640)
    atomic_write(target, b"two")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can give files away"
)
def test_the_owner_of_a_replaced_file_stays(tmp_path: Path) -> None:
    """A file of another user that root replaces still is that of the user, with its permissions."""
    target = tmp_path / "file"
    target.write_bytes(b"old")
    os.chown(target, 12_345, 23_456)
    target.chmod(0o640)
    for private in (False, True):
        atomic_write(target, b"new", private=private)
        status = target.stat()
        assert (status.st_uid, status.st_gid) == (12_345, 23_456)
        assert stat.S_IMODE(status.st_mode) == (0o600 if private else 0o640)


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can give files away"
)
@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS])
def test_the_group_stays_where_the_owner_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """A file that cannot be given away stays that of its group, also without owners."""
    target = tmp_path / "file"
    target.write_bytes(b"old")
    os.chown(target, 12_345, 23_456)
    give = os.chown

    def refuse(path: Path, user: int, group: int) -> None:
        if user != -1:
            raise OSError(number, "no")
        give(path, user, group)

    monkeypatch.setattr(os, "chown", refuse)
    atomic_write(target, b"new")
    assert (target.read_bytes(), target.stat().st_gid) == (b"new", 23_456)


@posix
def test_private_files_are_their_owners_alone(tmp_path: Path) -> None:
    """What is private can be read by nobody else, whatever stood there before."""
    for name in ("new", "old"):
        path = tmp_path / name
        if name == "old":
            path.touch(0o644)
        atomic_write(path, b"secret", private=True)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@posix
def test_symbolic_link_stays(tmp_path: Path) -> None:
    """A link is written through to the file that it names."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    atomic_write(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


@posix
def test_device_is_not_replaced() -> None:
    """A device is written to, not renamed over."""
    atomic_write("/dev/null", b"gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def refusal(path: Path | str) -> OutputError:
    """Return the error of writing to *path*."""
    with pytest.raises(OutputError) as caught:
        atomic_write(path, b"new")
    assert caught.value.place == str(path)
    assert caught.value.remedy
    return caught.value


def test_folder_is_refused(tmp_path: Path) -> None:
    """A folder cannot be written as a file."""
    fault = refusal(tmp_path)
    assert fault.message == "cannot be written: it is a folder"
    assert fault.remedy == "name a file inside it"


def test_read_only_file_is_refused(tmp_path: Path) -> None:
    """A file that its owner made read-only is left alone."""
    target = tmp_path / "file"
    target.write_bytes(b"old")
    target.chmod(0o444)
    assert "read-only" in refusal(target).message
    assert target.read_bytes() == b"old"


def test_file_as_folder_is_refused(tmp_path: Path) -> None:
    """A path through a file names no place."""
    (tmp_path / "file").write_bytes(b"")
    assert "folder" in (refusal(tmp_path / "file" / "x").remedy or "")


@pytest.mark.parametrize("name", ["x" * 300, "nul\0"], ids=["too long", "NUL"])
def test_impossible_name_is_refused(tmp_path: Path, name: str) -> None:
    """A name that no file system holds is an error, not a traceback."""
    refusal(f"{tmp_path}/{name}")


@posix
def test_circle_of_links_is_refused(tmp_path: Path) -> None:
    """Links that lead to each other lead nowhere."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    refusal(tmp_path / "a")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_failing_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """When the disk fails midway the old file stands whole and the temporary one is gone."""
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def fail(_handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    fault = refusal(target)
    assert os.strerror(number).lower() in fault.message
    assert target.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


def test_interrupt_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C midway is passed on, the old file stands whole and the temporary one is gone."""
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def stop(_handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        atomic_write(target, b"new")
    assert target.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


def test_folder_that_cannot_be_synced_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the platform cannot sync a folder, the file is written all the same."""
    opened = os.open

    def refuse_folders(path: str, flags: int, *rest: int) -> int:
        if Path(path).is_dir():
            raise OSError(errno.EACCES, "no")
        return opened(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse_folders)
    atomic_write(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_read_bytes_names_each_failure(tmp_path: Path) -> None:
    """A missing file, a folder, an impossible name and a file beyond the limit are told apart."""
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bytes(tmp_path / "file", 5) == b"12345"
    with pytest.raises(InputError, match="is larger than 4 bytes"):
        read_bytes(tmp_path / "file", 4)
    with pytest.raises(NotFoundError, match="no such file"):
        read_bytes(tmp_path / "none", 5)
    with pytest.raises(InputError):
        read_bytes(tmp_path, 5)
    with pytest.raises(InputError, match="cannot be read"):
        read_bytes("nul\0", 5)


@posix
def test_pipe_that_nobody_writes_to_is_empty(tmp_path: Path) -> None:
    """Reading a named pipe does not wait for a writer to come."""
    os.mkfifo(tmp_path / "pipe")
    assert read_bytes(tmp_path / "pipe", 5) == b""


@posix
def test_pipe_is_read_to_its_end() -> None:
    """What somebody writes into a pipe is waited for."""
    reading, writing = os.pipe()
    writer = threading.Timer(0.05, lambda: (os.write(writing, b"late"), os.close(writing)))
    writer.start()
    try:
        assert read_bytes(f"/dev/fd/{reading}", 5) == b"late"
    finally:
        writer.join()
        os.close(reading)


def test_what_stands_at_a_path(tmp_path: Path) -> None:
    """Files and folders are told apart."""
    (tmp_path / "file").write_bytes(b"")
    assert [test(tmp_path / "file") for test in (exists, is_file, is_folder)] == [True, True, False]
    assert [test(tmp_path) for test in (exists, is_file, is_folder)] == [True, False, True]


@pytest.mark.parametrize("path", ["none", "x" * 5000, "nul\0"], ids=["none", "too long", "NUL"])
def test_nothing_stands_at_an_impossible_path(path: str) -> None:
    """A path that no file can have is one at which there is none."""
    assert [test(path) for test in (exists, is_file, is_folder)] == [False, False, False]


@posix
def test_text_of_path_is_unicode() -> None:
    """Bytes of a name that are no UTF-8 become U+FFFD; all others stay."""
    assert text_of_path(os.fsdecode("стан-\xff.json".encode("latin-1", "ignore"))) == "-\ufffd.json"
    assert text_of_path("стан.json") == "стан.json"


def killed_while_writing(target: Path) -> None:
    """Write *target* in a process that is killed just before the file takes its name."""
    program = (
        "import os, signal, sys; from mcpg.files import atomic_write\n"
        "sys.addaudithook(lambda event, _: event == 'os.rename' and os.kill(os.getpid(), 9))\n"
        "atomic_write(sys.argv[1], b'new')"
    )
    done = subprocess.run([sys.executable, "-c", program, target], check=False)
    assert done.returncode == -9


@posix
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """A write removes the temporary files of killed processes from its folder."""
    killed_while_writing(tmp_path / "file")
    (left,) = names_in(tmp_path)
    assert left.startswith(".mcpg-")
    atomic_write(tmp_path / "other", b"x")
    assert names_in(tmp_path) == ["other"]


@posix
def test_many_files_are_written_and_their_folders_tidied(tmp_path: Path) -> None:
    """Files that are written together are each whole, and no temporary file stays beside them."""
    killed_while_writing(tmp_path / "b" / "two")
    write_files({tmp_path / "a" / "one": b"1", tmp_path / "b" / "two": b"2"})
    assert (tmp_path / "b" / "two").read_bytes() == b"2"
    assert [names_in(tmp_path / name) for name in "ab"] == [["one"], ["two"]]
    with pytest.raises(OutputError) as caught:
        write_files({tmp_path / "a": b""})
    assert caught.value.place == str(tmp_path / "a")


@posix
def test_temporary_files_in_use_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process is writing, or is no file of ours, is not taken for a leftover."""
    for name in (".mcpg-generated.json", "mcpg-1.tmp", ".mcpg-1.txt"):
        (tmp_path / name).touch()
    (tmp_path / ".mcpg-link.tmp").symlink_to(tmp_path / "mcpg-1.tmp")
    before = names_in(tmp_path)
    seen = []

    def look(_handle: int) -> None:
        remove_leftovers(tmp_path)
        seen.extend(name for name in names_in(tmp_path) if name not in before)

    monkeypatch.setattr(os, "fsync", look)
    atomic_write(tmp_path / "file", b"x")
    assert len([name for name in seen if name.startswith(".mcpg-")]) == 1
    assert names_in(tmp_path) == sorted([*before, "file"])


@posix
def test_a_temporary_folder_stays_while_it_is_used(tmp_path: Path) -> None:
    """It is removed with its content afterwards, or by the next one if its process was killed."""
    program = (
        "import os, pathlib, signal, sys\nfrom mcpg.files import temporary_folder\n"
        "with temporary_folder(sys.argv[1]) as folder:\n"
        "    (folder / 'in').mkdir()\n    (folder / 'in' / 'file').touch()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    (left,) = names_in(tmp_path)
    with temporary_folder(tmp_path) as folder:
        assert names_in(tmp_path) == [folder.name] != [left]
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "file").touch()
        remove_leftovers(tmp_path)
        with temporary_folder(tmp_path) as other:
            assert names_in(tmp_path) == sorted([folder.name, other.name])
        assert names_in(folder) == ["file"]
    assert names_in(tmp_path) == []


def test_a_temporary_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """The error names the place."""
    (tmp_path / "file").touch()
    with pytest.raises(OutputError) as caught, temporary_folder(tmp_path / "file"):
        pass
    assert caught.value.place == str(tmp_path / "file")


def test_a_use_in_the_future_is_no_use(tmp_path: Path) -> None:
    """A file from before the clock was set back is not the last used one of a cache."""
    now = time.time()
    for seconds, used in ((-100, now - 100), (60, now + 60), (86_400, 0)):
        os.utime(tmp_path, (now, now + seconds))
        assert read_last_use(tmp_path) == pytest.approx(used)
    assert read_last_use(tmp_path / "nothing") == 0


@posix
@pytest.mark.parametrize(("hours", "left"), [(0, 1), (2, 0)])
def test_without_locks_age_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int, left: int
) -> None:
    """Where a file system has no locks, only temporary files that are hours old are removed."""
    killed_while_writing(tmp_path / "file")
    (path,) = tmp_path.iterdir()
    then = time.time() - 3600 * hours
    os.utime(path, (then, then))

    def refuse(*_: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    remove_leftovers(tmp_path)
    assert len(names_in(tmp_path)) == left
    atomic_write(tmp_path / "file", b"x")
    with locked_folder(tmp_path):
        assert (tmp_path / "file").read_bytes() == b"x"


@posix
def test_a_file_taken_for_a_leftover_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A temporary file that another process removes before it is locked is made once more."""
    flock, calls = fcntl.flock, []

    def late(handle: int, operation: int) -> None:
        if not calls:
            calls.append(handle)
            for path in tmp_path.iterdir():
                path.unlink()
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    atomic_write(tmp_path / "file", b"x")
    assert calls
    assert (tmp_path / "file").read_bytes() == b"x"
    assert names_in(tmp_path) == ["file"]


@posix
def test_one_process_at_a_time_has_a_folder(tmp_path: Path) -> None:
    """A folder that another holds is waited for, and not for ever; it is free afterwards."""
    folder = tmp_path / "new"
    with (
        locked_folder(folder),
        pytest.raises(OutputError, match="another process") as caught,
        locked_folder(folder, seconds=0.1),
    ):
        pass
    assert caught.value.place == str(folder)
    with locked_folder(folder, seconds=0):
        assert names_in(folder) == []
    with pytest.raises(OutputError, match="cannot be written"), locked_folder("/dev/null"):
        pass
