from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import pytest
from embeddings.stores.rules import *  # noqa: F403
from embeddings.stores.rules import key, one, row
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.embeddings.provider import EmbeddingKey, MemoryStore, StoreError
from mcpg.embeddings.sqlite_store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a store, in a folder that is not there yet."""
    return tmp_path / "cache" / "vectors.db"


@pytest.fixture
def store(path: Path) -> SqliteStore:
    """Return a store to which the rules of all stores apply."""
    with closing(SqliteStore(path)) as opened:
        yield opened


def change(path: Path, *statements: str) -> None:
    """Do to a file what no store would."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_what_was_put_outlives_the_store(path: Path) -> None:
    """A vector is there for the next process, from whoever it was."""
    with closing(SqliteStore(path)) as store:
        store.put({key(): row(1, 2)})
    with closing(SqliteStore(path)) as store:
        assert one(store, key()) == [1, 2]


def test_two_stores_see_each_other(path: Path) -> None:
    """What one connection has put, another that is open already gets."""
    with closing(SqliteStore(path)) as one_store, closing(SqliteStore(path)) as other:
        one_store.put({key(): row(1)})
        assert one(other, key()) == [1]
        other.put({key(): row(2)})
        assert one(one_store, key(maker=None)) == [2]


def test_the_oldest_makes_room(path: Path) -> None:
    """A full file drops what was written longest ago; writing again makes a vector new."""
    with closing(SqliteStore(path, limit=2)) as store:
        store.put({key("a"): row(1), key("b"): row(2)})
        store.put({key("a"): row(3)})
        store.put({key("c"): row(4)})

        assert one(store, key("b")) is None
        assert one(store, key("a")) == [3]
        assert one(store, key("c")) == [4]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vectors SET vector = x'0000803f' WHERE fingerprint = 'm2'",
        "UPDATE vectors SET vector = substr(vector, 1, 6) WHERE fingerprint = 'm2'",
        "UPDATE vectors SET vector = 'text' WHERE fingerprint = 'm2'",
        "UPDATE vectors SET vector = x'' WHERE fingerprint = 'm2'",
        "UPDATE vectors SET dimensions = 3 WHERE fingerprint = 'm2'",
        "UPDATE vectors SET dimensions = 'two' WHERE fingerprint = 'm2'",
        # Two numbers that are not finite, with the checksum that belongs to them.
        "UPDATE vectors SET vector = x'0000c07f0000c07f', checksum = 67636512 WHERE written = 2",
    ],
)
def test_a_damaged_row_is_as_good_as_absent(path: Path, damage: str) -> None:
    """A row that is not as it was written is never returned; the one before it is."""
    with closing(SqliteStore(path)) as store:
        store.put({key(maker="m1"): row(1, 2)})
        store.put({key(maker="m2"): row(3, 4)})
        change(path, damage)

        assert one(store, key(maker="m2")) is None
        assert one(store, key(maker=None)) == [1, 2]


def test_a_file_that_is_no_database_is_told(path: Path) -> None:
    """A foreign file is named with the remedy, and stays as it was."""
    path.parent.mkdir()
    path.write_text("my diary, " * 1000)
    with pytest.raises(StoreError, match="delete it, or name another file") as caught:
        SqliteStore(path)
    assert caught.value.place == str(path)
    assert path.read_text().startswith("my diary")


def test_a_database_of_another_program_is_told(path: Path) -> None:
    """The tables of others are not written into."""
    path.parent.mkdir()
    change(path, "CREATE TABLE diary (day TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_store_of_another_version_is_told(path: Path) -> None:
    """A schema that this version does not know is neither read nor written."""
    SqliteStore(path).close()
    change(path, "PRAGMA user_version = 9")
    with pytest.raises(StoreError, match="version 9"):
        SqliteStore(path)


def test_damage_in_the_middle_is_told(path: Path) -> None:
    """Pages that make no sense are an error with a remedy when they are met."""
    with closing(SqliteStore(path)) as store:
        store.put({key(f"tool{number}"): row(*range(200)) for number in range(200)})
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"), closing(SqliteStore(path)) as store:
        store.get([key("tool1")])


@pytest.mark.parametrize("place", ["file/store.db", "folder", "\0", "x" * 5000])
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, place: str) -> None:
    """A path through a file, a folder, or a name that no system takes is an error with a remedy."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="cannot be used as an embedding store") as caught:
        SqliteStore(tmp_path / place)
    assert caught.value.remedy


def test_a_file_that_may_only_be_read_is_told(path: Path) -> None:
    """A store that became read-only is an error with a remedy, and can be read on."""
    with closing(SqliteStore(path)) as store:
        store.put({key(): row(1)})
        store._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="readonly"):
            store.put({key("other"): row(2)})
        assert one(store, key()) == [1]
        store._connection.execute("PRAGMA query_only = OFF")
        store.put({key("other"): row(2)})


def test_a_closed_store_says_so(path: Path) -> None:
    """Whoever uses a store after closing it gets an error of ours."""
    store = SqliteStore(path)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.get([key()])


def test_a_batch_that_fails_leaves_nothing(path: Path) -> None:
    """When the file says no in the middle of a batch, nothing of the batch is kept."""
    with closing(SqliteStore(path)) as store:
        change(
            path,
            "CREATE TRIGGER no BEFORE INSERT ON vectors WHEN NEW.tool_id = 'bad' "
            "BEGIN SELECT RAISE(ABORT, 'no'); END",
        )
        with pytest.raises(StoreError):
            store.put({key("good"): row(1), key("bad"): row(2)})
        assert one(store, key("good")) is None
        store.put({key("good"): row(1)})


def test_a_file_is_one_that_others_can_carry(path: Path) -> None:
    """After closing, all is in the one file: a copy of it is a store."""
    with closing(SqliteStore(path)) as store:
        store.put({key(): row(1)})
    copy = Path(shutil.copy(path, path.with_name("copy.db")))
    with closing(SqliteStore(copy)) as store:
        assert one(store, key()) == [1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_store_can_be_used_after_a_fork(path: Path) -> None:
    """A child opens the file for itself; parent and child both go on."""
    code = (
        "import os, sys, numpy as np\n"
        "from mcpg.embeddings.provider import EmbeddingKey\n"
        "from mcpg.embeddings.sqlite_store import SqliteStore\n"
        "store = SqliteStore(sys.argv[1])\n"
        "put = lambda name: store.put({EmbeddingKey(name, 'h1', 'm1'): np.ones(2, np.float32)})\n"
        "put('before')\n"
        "child = os.fork()\n"
        "put('child' if child == 0 else 'parent')\n"
        "os._exit(0) if child == 0 else sys.exit(os.waitpid(child, 0)[1])\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
    with closing(SqliteStore(path)) as store:
        assert all(one(store, key(name)) for name in ("before", "child", "parent"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_fork_in_the_middle_of_a_write_holds_up_no_child(path: Path) -> None:
    """A child does not wait for a thread of its parent's, which it does not have."""
    code = (
        "import os, signal, sqlite3, sys, threading, numpy as np\n"
        "from mcpg.embeddings.provider import EmbeddingKey\n"
        "from mcpg.embeddings.sqlite_store import SqliteStore\n"
        "entry = lambda name: {EmbeddingKey(name, 'h1', 'm1'): np.ones(2, np.float32)}\n"
        "store, other = SqliteStore(sys.argv[1]), sqlite3.connect(sys.argv[1])\n"
        "store.put(entry('before'))\n"
        "other.isolation_level = None\n"
        "other.execute('BEGIN IMMEDIATE')\n"
        "started = threading.Event()\n"
        "write = lambda: (started.set(), store.put(entry('parent')))\n"
        "writer = threading.Thread(target=write)\n"
        "writer.start()\n"
        "started.wait()\n"
        "writer.join(0.5)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    signal.alarm(60)\n"
        "    os._exit(len(store.get([*entry('before')])))\n"
        "found = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
        "other.execute('COMMIT')\n"
        "writer.join()\n"
        "sys.exit(found != 1)\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(path)], check=True, timeout=60)
    with closing(SqliteStore(path)) as store:
        assert one(store, key("parent")) is not None


def open_and_put(path: Path, name: str) -> None:
    """Make the file, or find it made, and write into it."""
    with closing(SqliteStore(path)) as store:
        store.put({key(name): row(1)})


def test_processes_make_the_file_at_once(path: Path) -> None:
    """When several processes are the first, one makes the file and all write into it."""
    context = multiprocessing.get_context("spawn")
    names = ["a", "b", "c"]
    processes = [context.Process(target=open_and_put, args=(path, name)) for name in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0, 0, 0]
    with closing(SqliteStore(path)) as store:
        assert all(one(store, key(name)) == [1] for name in names)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_killed_writer_loses_and_tears_nothing(path: Path) -> None:
    """Two processes write, one is killed at any moment, fifty times: what was told is there."""
    script = Path(__file__).with_name("writers.py")
    done = subprocess.run(
        [sys.executable, str(script), str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 0


@pytest.fixture
def held(path: Path) -> sqlite3.Connection:
    """Return a connection that keeps a file from becoming one with a write-ahead log."""
    SqliteStore(path).close()
    with closing(
        sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    ) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN IMMEDIATE")
        yield connection


def test_a_store_waits_for_others_to_finish(path: Path, held: sqlite3.Connection) -> None:
    """A store that is opened while another process works on the file waits its turn."""
    release = threading.Timer(0.1, held.execute, ("COMMIT",))
    release.start()
    with closing(SqliteStore(path)) as store:
        store.put({key(): row(1)})
        assert one(store, key()) == [1]
    release.join()


@pytest.mark.usefixtures("held")
def test_a_store_does_not_wait_for_ever(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the other process does not finish, that is an error with a remedy."""
    monkeypatch.setattr("mcpg.embeddings.sqlite_store.PATIENCE", 0.1)
    with pytest.raises(StoreError, match="wait until no other process uses it"):
        SqliteStore(path)


KEYS = st.builds(EmbeddingKey, st.sampled_from("abA"), st.just("h"), st.sampled_from(["m", "n"]))
STEPS = st.lists(st.dictionaries(KEYS, st.integers(1, 9), max_size=4), max_size=8)


@settings(max_examples=40, deadline=None)
@given(steps=STEPS, limit=st.integers(1, 4))
def test_it_does_what_the_store_in_memory_does(
    steps: list[dict[EmbeddingKey, int]], limit: int
) -> None:
    """Whatever is written in whatever order, both stores keep the same, and drop the same."""
    asked = [EmbeddingKey(name, "h", maker) for name in "ab" for maker in ("m", "n", None)]
    memory = MemoryStore(limit)
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(SqliteStore(Path(folder, "vectors.db"), limit)) as store,
    ):
        for step in steps:
            for one_of_both in (memory, store):
                one_of_both.put({made: row(number) for made, number in step.items()})
            expected, found = memory.get(asked), store.get(asked)
            assert {one: part.tolist() for one, part in found.items()} == {
                one: part.tolist() for one, part in expected.items()
            }


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits")
def test_a_file_that_cannot_grow_names_the_remedy(tmp_path: Path) -> None:
    """A full disk is more than one error of SQLite; what was kept before stays."""
    program = (
        "import resource, sys\nfrom mcpg.embeddings.provider import EmbeddingKey, StoreError\n"
        "from mcpg.embeddings.sqlite_store import SqliteStore\nimport numpy\n"
        "vector, store = numpy.ones(500, dtype='float32'), SqliteStore(sys.argv[1])\n"
        "store.put({EmbeddingKey('first', 'h', 'f'): vector})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, 90_000))\n"
        "try:\n"
        "    for number in range(200):\n"
        "        store.put({EmbeddingKey(str(number), 'h', 'f'): vector})\n"
        "except StoreError as fault:\n    print(fault.remedy)\n"
    )
    path = str(tmp_path / "vectors.sqlite")
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    assert done.stdout == "free some space, or name a file on another disk\n"
    key = EmbeddingKey("first", "h", "f")
    assert key in SqliteStore(path).get([key])
