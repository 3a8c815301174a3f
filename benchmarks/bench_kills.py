"""Kills of everything that writes files, each followed by a run that must find nothing amiss.

    python benchmarks/bench_kills.py [--kills 104] [--seed 0] [WRITER ...]

Every other kill comes at a file operation, drawn from those of a whole run, and the others at a
moment, drawn from its duration. The run after it must succeed and leave what a run leaves that was
never interrupted: the same files, in the database the same tables, and no temporary file.

Columns: kills, those of them that came before the end of the run, seconds, and how many were
followed by an accusation (the next run fails), by a phantom (other files or tables than a whole run
leaves) or by temporary files. The exit code is 1 when any was.
"""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path

import psycopg
from measuring import HERE, row

sys.path.insert(0, str(HERE.parent / "tests"))
import kills
import lopsided
import pgserver
import servers_catalogs
import shop
import vectorial
from catalogues import made

import mcpg as package
from mcpg.catalog.model import Hints
from mcpg.cli import main
from mcpg.embeddings import provider as embedding
from mcpg.embeddings.sqlite_store import SqliteStore
from mcpg.gateway.calls import CallRecorder, RecordedCall
from mcpg.review.authored import HintsFile, JudgedFile, QueryVerdict
from mcpg.search import index_vectors
from mcpg.sources.client_config import StdioServer
from mcpg.sources.live.kept_listings import ListingCache
from mcpg.sources.live.oauth import Login, LoginFile

Work = Callable[[], object]
START, CLEAN, ROUND = "start", "clean", "round"
TEMPORARY = ("*.tmp", "tmp*", "mcpg-*")
# Their bytes depend on times, on the log of a database, or on what was asked before.
OF_THIS_MACHINE = (".idx", ".memo", ".vec", ".sqlite", "-wal", "-shm", ".calls", ".calls.1", "seal")
SERVER = HERE.parent / "tests" / "counterserver.py"
BAD = {"name": "pay", "description": "Pay the post\u200bage of a parcel with all its stops."}


@dataclass
class Writer:
    """Something that writes files, and is killed.

    Attributes:
        prepare: Makes the files that it begins with.
        work: What is killed.
        again: What is done after it; without, the same.
        differs: Whether something is left that a whole run does not leave, beside files.
        seen: What became of the kills.
    """

    prepare: Work
    work: Work
    again: Work | None = None
    differs: Callable[[], bool] = bool
    seen: Counter[str] = field(default_factory=Counter)

    def begin(self) -> tuple[int, float]:
        """Make the start and the clean end; return operations and seconds of a whole run."""
        enter(START)
        must_end(self.prepare)
        renew(START, ROUND)
        operations = kills.operations(self.work)
        renew(START, ROUND)
        start = time.perf_counter()
        must_end(self.work)
        seconds = time.perf_counter() - start
        must_end(self.again or self.work)
        renew(ROUND, CLEAN)
        return operations, seconds

    def kill(self, at_operation: int, after: float) -> None:
        """Kill a run, look what the next one does, and count it."""
        renew(START, ROUND)
        if at_operation:
            self.seen["killed"] += kills.killed(self.work, at_operation)
        else:
            self.seen["killed"] += killed_after(after, self.work)
        failed = not kills.ended(self.again or self.work)
        self.seen["accused"] += failed
        clean = files_in(CLEAN)
        # What only saves time is missing if the killed run had come to its end.
        given = {name: b"" for name in clean if name.endswith((".memo", ".calls.1"))}
        left = given | files_in(ROUND) != clean or self.differs()
        self.seen["phantom"] += not failed and left
        names = [path for mark in TEMPORARY for path in Path("..", ROUND).rglob(mark)]
        self.seen["temporary"] += bool(names)
        if failed or left or names:
            kept = Path("..", f"fault-{self.seen.total()}")
            shutil.copytree(Path("..", ROUND), kept, symlinks=True)


def enter(name: str) -> None:
    """Make the folder *name* of files beside the working folder, and work there."""
    folder = Path.cwd().parent / name
    for part in ("", "home", "temporary"):
        (folder / part).mkdir()
    os.chdir(folder)
    os.environ |= {
        "HOME": str(folder.parent / ROUND / "home"),
        "MCPG_CACHE_DIR": str(folder.parent / ROUND / "cache"),
        "TMPDIR": str(folder.parent / ROUND / "temporary"),
    }


def renew(source: str, target: str) -> None:
    """Make the folder *target* a copy of *source*, beside the working folder, and work there."""
    parent = Path.cwd().parent
    os.chdir(parent)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True)
    os.chdir(target)
    tempfile.tempdir = None


def files_in(name: str) -> dict[str, bytes]:
    """Return the files and folders of a folder, those of this machine without content."""
    folder = Path("..", name)
    return {
        str(path.relative_to(folder)): b""
        if path.is_dir() or path.name.endswith(OF_THIS_MACHINE) or "store" in path.parts
        else path.read_bytes()
        for path in folder.rglob("*")
        if "data" not in path.parts
    }


def must_end(work: Work) -> None:
    """Do *work* in a process, which must succeed."""
    if not kills.ended(work):
        raise RuntimeError("a run that nobody interrupts fails")


def killed_after(seconds: float, work: Work) -> bool:
    """Do *work* and kill it after so many *seconds*; return whether it was running."""
    process = os.fork()
    if not process:
        work()
        os._exit(0)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(process, 0)[1])


def mcpg(*arguments: str, most: int = 0) -> Work:
    """Return a run of the program, with an error for an exit code above *most*."""

    def run() -> None:
        vars(sys.modules["__main__"]).pop("__file__", None)  # which workers would import
        with Path(os.devnull).open("w") as void:
            os.dup2(void.fileno(), 1)
            os.dup2(void.fileno(), 2)
        if main(list(arguments)) > most:
            raise OSError(arguments)

    return run


def sequence(*works: Work) -> Work:
    """Return one work that does all *works*."""
    return lambda: [work() for work in works]


def text(path: str, content: str) -> Work:
    """Return the work of writing a file."""

    def write() -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(content)

    return write


def tools(version: int, count: int = 20) -> str:
    """Return a manifest of which one tool is in every version, and the others only in this."""
    names = ["same", *(f"only_{version}_{number}" for number in range(count))]
    made_up = [{"name": name, "description": f"Version {version} of {name}."} for name in names]
    return json.dumps({"server": "shop", "tools": made_up})


def bundling(*options: str, count: int = 250) -> Writer:
    """Return `mcpg bundle` over an earlier bundle of other tools."""
    work = mcpg("bundle", "tools.json", "-o", "out/graph.mdld", *options)
    first = sequence(text("tools.json", tools(0, count)), work)
    return Writer(sequence(first, text("tools.json", tools(1, count))), work)


def generating() -> Writer:
    """Return `mcpg generate --prune`, where each run has other tools than the one before."""

    def command(version: int) -> Work:
        source = f"shop{version}.json"
        return mcpg("generate", source, "--source-id", "shop", "-o", "out", "--prune")

    written = [text(f"shop{version}.json", tools(version)) for version in range(3)]
    return Writer(sequence(*written, command(0)), command(1), command(2))


def tuning() -> Writer:
    """Return `mcpg tune` on a bundle without a ranking."""
    found = [{"name": one.name, "description": one.description} for one in lopsided.tools()]
    judged = lopsided.by_name(80).queries
    lines = [json.dumps({"query": one.query, "relevant": list(one.relevant)}) for one in judged]
    prepare = sequence(
        text("tools.json", json.dumps({"server": "commerce", "tools": found})),
        text("queries.jsonl", "\n".join(lines)),
        mcpg("bundle", "tools.json", "-o", "graph.mdld"),
    )
    return Writer(prepare, mcpg("tune", "queries.jsonl", "--folds", "2"))


def publishing(dsn: str) -> Writer:
    """Return `mcpg publish` of one bundle after another, without their indexes."""
    written = [
        sequence(
            text(f"shop{version}.json", tools(version)),
            mcpg("bundle", f"shop{version}.json", "-o", f"{version}.mdld"),
            Path(f"{version}.mdld.idx").unlink,
        )
        for version in range(3)
    ]

    def command(version: int) -> Work:
        return mcpg("publish", "-b", f"{version}.mdld", "--keep", "1")

    def differs() -> bool:
        with psycopg.connect(dsn) as connection:
            found = connection.execute(
                "select count(*) from pg_tables where tablename like 'candidates%' "
                "union all select count(*) from pg_tables where tablename like 'vocabulary%' "
                "union all select count(*) from mcpg.publications"
            )
            return {count for (count,) in found} != {2}

    os.environ["MCPG_POSTGRES"] = dsn
    # A search makes the index that the killed run may not have written any more.
    again = sequence(command(2), mcpg("search", "same", "-b", "1.mdld", most=1))
    return Writer(sequence(*written, command(0)), command(1), again, differs)


def enriching() -> tuple[Writer, Writer]:
    """Return `mcpg enrich` with an agent's answers, and the promotion of one of its texts."""
    prompt = subprocess.run(
        [sys.executable, "-m", "mcpg", "enrich", "tools", "--print-prompt"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    words = ("one", "two", "three", "four")
    entries = [
        {
            "name": name,
            "examples": [f"{word} please {name}" for word in words],
            "aliases": [f"fetch {name}", f"grab {name}"],
            "keywords": [f"{name}ish"],
        }
        for name in (one["name"] for one in shop.MANIFEST["tools"])
    ]
    number = re.search(r"p1-\w+", prompt)
    answer = json.dumps({"prompt": number and number[0], "tools": entries})
    prepare = sequence(text("tools/shop.json", json.dumps(shop.MANIFEST)), text("answers", answer))
    work = mcpg("enrich", "tools", "--answers", "answers", "--model", "agent")
    promote = mcpg("enrich", "tools", "--promote", "grab invoice_search")

    def promote_again() -> None:
        """Promote what is left to promote: a text that is promoted already is no longer there."""
        generated = Path("tools/shop.generated.hints.yaml").read_text()
        if "grab invoice_search" in generated:
            promote()

    return Writer(prepare, work), Writer(sequence(prepare, work), promote, promote_again)


def embedding_() -> tuple[Writer, Writer]:
    """Return the vectors beside a bundle, and those in a store."""
    os.environ["MCPG_EMBED_WITH"] = "local"
    for module in (vectorial.embeddings, index_vectors):
        module.make_provider = lambda _spec: vectorial.HashProvider()  # type: ignore[attr-defined]
    vectors = vectorial.HashProvider()
    keys = [embedding.EmbeddingKey(f"tool{number}", "h", "f") for number in range(20)]

    def put() -> None:
        store = SqliteStore("vectors.sqlite", limit=30)
        for key in keys:
            store.put({key: vectors.vector(key.tool_id)})
        if set(store.get(keys)) != {*keys}:
            raise OSError("a vector is lost")
        store.close()

    return bundling("--embed", count=20), Writer(int, put)


def recording() -> Writer:
    """Return the records of calls in a file that is renamed when it is large."""

    def record(name: str) -> None:
        recorder = CallRecorder("a.calls", most_bytes=3000)
        for number in range(20):
            recorder.record(RecordedCall(number, 0.1, name, f"tool{number}", "shop", True))
            time.sleep(0.0005)
        recorder.close()
        if recorder.diagnostics:
            raise OSError(recorder.diagnostics)

    def again() -> None:
        record("b")
        lines = "".join(path.read_text() for path in Path().glob("a.calls*")).split("\n")
        whole = sum(line.endswith("true}") for line in lines)
        if len([*filter(None, lines)]) - whole > 1:
            raise OSError("more than the line that was cut is lost")
        mcpg("learn", "a.calls", "-o", "/dev/null")()

    return Writer(int, partial(record, "a"), again)


def keeping() -> dict[str, Writer]:
    """Return what is written by one class: hints, judged queries, lists of tools, logins."""
    hints, judged = HintsFile(Path("shop.hints.yaml")), JudgedFile(Path("judged.jsonl"))
    added = Hints(aliases=("grab it",))
    server = StdioServer("shop", "mcp.json", command="server")
    login = Login("", {"access_token": "x"}, None, {}, "https://a.example/token")

    def list_tools(count: int) -> None:
        found = [{"name": f"tool{number}", "description": "x" * 2000} for number in range(count)]
        ListingCache("cache").keep(server, "shop", found, ())
        if len((ListingCache("cache").find(server) or ("", ()))[1]) != count:
            raise OSError("the list is lost")

    def enter_server(name: str) -> None:
        file = LoginFile("logins", "https://a.example/mcp")
        before = file.read()
        file.write(Login(**{**vars_of(login), "tokens": {"access_token": name}}))
        if before is None and name == "b":
            raise OSError("the login is lost")

    def save_hints() -> None:
        hints.save("invoice_search", added, hints.edit("invoice_search", added).version)

    judge = partial(judged.record, QueryVerdict("where is it", "shop_track"))
    return {
        "hints": Writer(text("shop.hints.yaml", shop.HINTS), save_hints),
        "judged": Writer(text("judged.jsonl", '{"query": "a", "relevant": ["b"]}\n'), judge),
        "listings": Writer(partial(list_tools, 3), partial(list_tools, 200)),
        "login": Writer(partial(enter_server, "a"), partial(enter_server, "b")),
    }


def vars_of(login: Login) -> dict[str, object]:
    """Return the members of a login."""
    return {name: getattr(login, name) for name in login.__dataclass_fields__}


def with_server(*commands: Work) -> Work:
    """Return the work of writing a client's configuration of one server, and *commands*."""
    entry = {"command": sys.executable, "args": [str(SERVER)]}
    return sequence(text("mcp.json", json.dumps({"mcpServers": {"counter": entry}})), *commands)


def init() -> Writer:
    """Return `mcpg init`; once there is a bundle, `mcpg bundle` goes on."""

    def again() -> None:
        mcpg(*(["bundle"] if Path("graph.mdld").exists() else ["init", "--client", "mcp.json"]))()

    return Writer(with_server(), mcpg("init", "--client", "mcp.json"), again)


def commands() -> dict[str, Writer]:
    """Return the commands that write one file, or files that are made once."""
    large = made(250)
    given = text("tools.json", json.dumps({"server": "made", "tools": large.tools}))
    bundled = sequence(given, mcpg("bundle", "tools.json", "-o", "graph.mdld"))
    query = large.queries[0]
    small = text("tools/shop.json", json.dumps(shop.MANIFEST))
    judged = text("judged.jsonl", '{"query": "refund an invoice", "relevant": ["invoice_refund"]}')
    two = sequence(small, mcpg("bundle", "tools", "-o", "graph.mdld"), judged)
    git = "git init -q . && git add . && git -c user.name=a -c user.email=a@b.c commit -qm a"
    changed = sequence(two, partial(subprocess.run, git, shell=True, check=True))
    listed = text("registry.json", json.dumps([servers_catalogs.SERVER]))
    name = servers_catalogs.SERVER["name"]
    add = mcpg("init", "--add", name, "-b", "registry.json", "--client", "mcp.json", "--yes")

    def add_again() -> None:
        if "tide" not in Path("mcp.json").read_text():
            add()

    return {
        "search": Writer(
            sequence(bundled, Path("graph.mdld.idx").unlink), mcpg("search", query, most=1)
        ),
        "graph": Writer(bundled, mcpg("graph", "search", query, most=1)),
        "sparql": Writer(bundled, mcpg("graph", "sparql", "SELECT ?a { ?a a ?b }")),
        "export": Writer(two, mcpg("graph", "export", "-o", "graph.ttl")),
        "lint": Writer(
            text("tools.json", json.dumps([BAD, *large.tools])),
            mcpg("lint", "tools.json", "--fix", most=1),
        ),
        "lock": Writer(
            sequence(small, mcpg("lock", "tools"), text("tools/new.json", tools(1))),
            mcpg("lock", "tools", "--approve-all", "--yes"),
        ),
        "eval": Writer(
            two,
            mcpg(
                "eval", "judged.jsonl", "--format", "json", "-o", "report.json", "--html", "r.html"
            ),
        ),
        "learn": Writer(
            sequence(two, text("calls.log", shop.CALLS)),
            mcpg("learn", "calls.log", "-o", "observed.json"),
        ),
        "catalog": Writer(two, mcpg("catalog", "--publisher", "a.example", "-o", "ard.json")),
        "diff": Writer(changed, mcpg("diff", "--base", "HEAD", "tools", most=1)),
        "entry": Writer(with_server(listed), add, add_again),
    }


def writers(dsn: str) -> dict[str, Writer]:
    """Return everything that writes files, by name."""
    text("tools/shop.json", json.dumps(shop.MANIFEST))()
    enrich, promote = enriching()
    vectors, store = embedding_()
    return {
        "bundle": bundling(),
        "bundle -j 2": bundling("--jobs", "2"),
        "bundle --embed": vectors,
        "generate": generating(),
        "tune": tuning(),
        "publish": publishing(dsn),
        "enrich": enrich,
        "promote": promote,
        "store": store,
        "calls": recording(),
        "init": init(),
        **keeping(),
        **commands(),
    }


def run(total: int, seed: int, names: list[str]) -> bool:
    """Print the table; return whether nothing was amiss."""
    # Each process would import them anew.
    for module in pkgutil.walk_packages(package.__path__, "mcpg."):
        with suppress(ImportError):
            import_module(module.name)
    print(row("writer", "kills", "killed", "seconds", "accused", "phantom", "files"))
    is_clean, draw = True, random.Random(seed)
    with ExitStack() as stack:
        dsn = stack.enter_context(pgserver.server())
        folder = Path(tempfile.mkdtemp(prefix="kills-"))
        os.chdir(folder)
        chosen = {key: one for key, one in writers(dsn).items() if not names or key in names}
        each, more = divmod(total, len(chosen))
        for place, (name, writer) in enumerate(chosen.items()):
            (folder / name / "here").mkdir(parents=True)
            os.chdir(folder / name / "here")
            start = time.perf_counter()
            operations, seconds = writer.begin()
            for number in range(each + (place < more)):
                step = draw.randint(1, operations) if number % 2 else 0
                writer.kill(step, draw.random() * seconds)
            faults = [writer.seen[fault] for fault in ("accused", "phantom", "temporary")]
            took = f"{time.perf_counter() - start:.0f}"
            print(
                row(name, each + (place < more), writer.seen["killed"], took, *faults), flush=True
            )
            is_clean = is_clean and not any(faults)
            os.chdir(HERE)
        if is_clean:
            shutil.rmtree(folder)
        else:
            print(f"what the faults left is in {folder}")
    return is_clean


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("writers", nargs="*", metavar="WRITER", help="only these")
    parser.add_argument("--kills", type=int, default=104, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    given = parser.parse_args()
    sys.exit(0 if run(given.kills, given.seed, given.writers) else 1)
