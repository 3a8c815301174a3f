from __future__ import annotations

import copy
import gc
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.caching import build_cache
from mcpg.caching.build_cache import (
    NO_BUILD_CACHE,
    BuildCache,
    ResultFile,
    ResultKind,
    StoredBuildCache,
    cut_runs,
    encode_parts,
    load_build_cache,
    save_build_cache,
)
from mcpg.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable


def encode(value: int | None) -> bytes | None:
    """Write a number; `None` is not worth keeping."""
    return None if value is None else json.dumps(value).encode()


NUMBER: ResultKind[Any] = ResultKind("number", encode, json.loads)
OTHER: ResultKind[Any] = ResultKind("other", encode, json.loads)


def recalled(known: BuildCache, *texts: bytes, kind: ResultKind[Any] = NUMBER) -> list[bytes]:
    """Ask for the length of *texts*, and give those that were worked out."""
    worked: list[bytes] = []

    def work(text: bytes) -> Callable[[], int | None]:
        return lambda: worked.append(text) or len(text) or None  # type: ignore[func-returns-value]

    for text in texts:
        assert known.recall(kind, lambda text=text: text, work(text)) == (len(text) or None)  # type: ignore[misc]
    return worked


def recalled_from(file: Path, *texts: bytes, kind: ResultKind[Any] = NUMBER) -> list[bytes]:
    """Ask the memory in a file for the length of *texts*, and give those that were worked out."""
    with load_build_cache(file) as known:
        return recalled(known, *texts, kind=kind)


def kept(path: Path, *texts: bytes) -> Path:
    """Put a memory of the length of *texts* into a file."""
    known = StoredBuildCache()
    recalled(known, *texts)
    save_build_cache(path, known)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A memory of two texts."""
    return kept(tmp_path / "a.memo", b"a", b"bb")


def test_what_was_worked_out_is_read_back(file: Path) -> None:
    """A later run works out what is new and nothing else."""
    assert recalled_from(file, b"a", b"ccc", b"bb") == [b"ccc"]


def test_results_of_two_functions_are_told_apart(file: Path) -> None:
    """What one function gave for an input is no result of another."""
    assert recalled_from(file, b"a", kind=OTHER) == [b"a"]


def test_a_memory_that_forgets_works_everything_out() -> None:
    """Without a memory, everything is worked out every time."""
    assert recalled(NO_BUILD_CACHE, b"a", b"a") == [b"a", b"a"]


def test_what_is_not_worth_keeping_is_worked_out_again(tmp_path: Path) -> None:
    """A result that is not written down is asked for anew."""
    assert recalled_from(kept(tmp_path / "a.memo", b""), b"") == [b""]


def test_what_nobody_asks_for_any_more_is_dropped(file: Path) -> None:
    """A memory holds what the last run needed, and so does not grow from run to run."""
    with load_build_cache(file) as known:
        recalled(known, b"bb")
        save_build_cache(file, known)

    assert recalled_from(file, b"a", b"bb") == [b"a"]


def test_an_equal_file_is_not_written(file: Path) -> None:
    """Where nothing is new, the file stays as it is."""
    before = file.stat().st_mtime_ns, file.stat().st_ino
    with load_build_cache(file) as known:
        recalled(known, b"bb", b"a")
        save_build_cache(file, known)

    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before


@given(place=st.integers(0), bit=st.integers(0, 7))
def test_a_damaged_file_holds_nothing(
    tmp_path_factory: pytest.TempPathFactory, place: int, bit: int
) -> None:
    """Not one result is taken from a file of which a single bit has changed."""
    file = kept(tmp_path_factory.mktemp("memo") / "a.memo", b"a", b"bb")
    data = bytearray(file.read_bytes())
    data[place % len(data)] ^= 1 << bit
    file.write_bytes(data)

    assert recalled_from(file, b"a", b"bb") == [b"a", b"bb"]


@pytest.mark.parametrize("content", [b"", b"mcpgmemo", b"{}", bytes(100)])
def test_a_foreign_file_holds_nothing(tmp_path: Path, content: bytes) -> None:
    """A file of another kind, or one cut short, is no memory."""
    file = tmp_path / "a.memo"
    file.write_bytes(content)

    assert recalled_from(file, b"a") == [b"a"]


COPY = """\
import sys
from pathlib import Path
from mcpg.caching import build_cache
kind = build_cache.ResultKind("number", bytes, len)
known = build_cache.load_build_cache(sys.argv[1])
worked = []
known.recall(kind, lambda: b"a", lambda: worked.append(1) or 3)
build_cache.save_build_cache(sys.argv[1], known)
known.close()
assert Path(build_cache.__file__).is_relative_to(sys.argv[2])
print(len(worked))
"""


def worked(package: Path, memory: Path, before: str = "") -> int:
    """Count how often a process works a result out that imports mcpg from *package*.

    Args:
        package: The folder that holds mcpg.
        memory: The file that the process recalls results from, and saves them to.
        before: Statements to run first.
    """
    command = [
        sys.executable,
        "-I",
        "-c",
        f"import sys; sys.path.insert(0, {str(package)!r})\n{before}\n{COPY}",
    ]
    done = subprocess.run(
        [*command, str(memory), str(package)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_another_program_is_not_believed(tmp_path: Path) -> None:
    """What another version of the program, or one that was edited, worked out is forgotten."""
    memory, package = tmp_path / "a.memo", tmp_path / "copy"
    shutil.copytree(
        Path(build_cache.__file__).parents[1],
        package / "mcpg",
        ignore=shutil.ignore_patterns("*.pyc"),
    )
    edited = package / "mcpg" / "text" / "words.py"

    assert [worked(package, memory) for _ in range(2)] == [1, 0]
    edited.write_bytes(edited.read_bytes() + b"# edited\n")
    assert [worked(package, memory) for _ in range(2)] == [1, 0]
    (package / "mcpg" / "more.json").write_bytes(b"{}")
    assert [worked(package, memory) for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(
    "other",
    ["sys.version = '4.0'", "import importlib.metadata as m; m.version = lambda _: '0'"],
    ids=["interpreter", "library"],
)
def test_another_interpreter_or_library_is_not_believed(tmp_path: Path, other: str) -> None:
    """What is read by another version of Python, or of a package that reads texts, is forgotten."""
    package, memory = Path(build_cache.__file__).parents[2], tmp_path / "a.memo"

    assert [worked(package, memory, before) for before in ("", "", other)] == [1, 0, 1]


def test_a_result_that_cannot_be_read_is_worked_out(file: Path) -> None:
    """Should a result make no sense in spite of its seal, nothing breaks."""
    odd: ResultKind[Any] = ResultKind("number", encode, lambda data: json.loads(data)["member"])

    assert recalled_from(file, b"a", kind=odd) == [b"a"]


def test_a_file_that_is_cut_short_while_it_is_read_holds_nothing(file: Path) -> None:
    """What can no longer be read is worked out."""
    with load_build_cache(file) as known:
        os.truncate(file, 0)

        assert recalled(known, b"a", b"bb") == [b"a", b"bb"]


def test_a_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would make the file too big is not kept."""
    monkeypatch.setattr(build_cache, "MOST_BYTES", 100)
    file = kept(tmp_path / "a.memo", b"a", b"bb", b"ccc")

    assert recalled_from(file, b"a", b"bb", b"ccc") == [b"ccc"]


def test_a_result_that_is_added_twice_moves_no_other(tmp_path: Path) -> None:
    """Should two threads keep one result, each key still leads to its own."""
    with TemporaryFile(dir=tmp_path) as file:
        spool = ResultFile(file)
        for key in (b"first", b"first", b"second"):
            spool[key] = b"result of " + key

        assert dict(spool) == {b"first": b"result of first", b"second": b"result of second"}


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Whoever saves a memory hears that it could not be done."""
    (tmp_path / "a").write_text("no folder")

    with pytest.raises(OutputError):
        kept(tmp_path / "a" / "b.memo", b"a")


def test_a_file_without_results_is_closed(file: Path) -> None:
    """A file whose results were of no use any more holds none, and is closed like any other."""
    with load_build_cache(file) as known:
        save_build_cache(file, known)
    assert recalled_from(file, b"a") == [b"a"]
    gc.collect()  # an open file fails the test


NAMES = st.lists(st.text(max_size=5), unique=True, min_size=300, max_size=500)


@settings(max_examples=20, deadline=None)
@given(NAMES, st.integers(0))
def test_a_name_more_or_less_changes_two_runs_at_most(names: list[str], place: int) -> None:
    """Runs hold all names in their order, and stay the same but for those around a change."""
    runs = [*map(tuple, cut_runs(names, str.encode))]
    fewer = names[: place % len(names)] + names[place % len(names) + 1 :]

    assert [name for run in runs for name in run] == names
    assert len({*map(tuple, cut_runs(fewer, str.encode))}.difference(runs)) <= 1
    assert len({*runs}.difference(map(tuple, cut_runs(fewer, str.encode)))) <= 2


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, VALUES)
def test_what_results_depend_on_is_written_by_value(one: Any, other: Any) -> None:
    """A copy of a value is written in the same bytes, and another value in others."""
    assert encode_parts(copy.deepcopy(one)) == encode_parts(one)
    if encode_parts(one) == encode_parts(other):
        assert one == other
