from __future__ import annotations

import os
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from mcpg.postgres import Database, PostgresError, PostgresSettings
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.postgres.connection import Connection

SECRET = "hunter2-wörd"


def ask(query: str) -> Callable[[Connection], object]:
    """Give work that asks for one value."""

    def work(connection: Connection) -> object:
        found = connection.execute(query.encode()).fetchone()
        return found[0] if found else None

    return work


def quick(dsn: str, **options: object) -> Database:
    """Return a database whose retries take no time."""
    return Database(PostgresSettings(dsn, **options), sleep=lambda _: None)  # type: ignore[arg-type]


def kill_others(dsn: str) -> None:
    """End every other connection to the database, as a restarting server does."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )


def test_work_is_done(postgres: str) -> None:
    """Work is given a connection and its answer is handed on; closing twice does no harm."""
    with Database(postgres) as database:
        assert database.run(ask("select 6 * 7")) == 42
    database.close()


def test_a_closed_database_opens_again(postgres: str) -> None:
    """Whoever asks after another has closed it is answered all the same."""
    database = Database(postgres)
    database.run(ask("select 1"))
    database.close()
    assert database.run(ask("select 2")) == 2
    database.close()


def test_work_is_done_whole_or_not_at_all(postgres: str) -> None:
    """What failing work has written is undone."""
    with Database(postgres) as database:
        database.run(lambda connection: connection.execute("create table kept (n int)"))

        def fail(connection: Connection) -> None:
            connection.execute("insert into kept values (1)")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            database.run(fail)
        assert database.run(ask("select count(*) from kept")) == 0


def test_lost_connections_are_replaced(postgres: str) -> None:
    """When the server has ended every connection, the next question goes over new ones."""
    with quick(postgres) as database:
        database.run(ask("select 1"))
        kill_others(postgres)
        assert database.run(ask("select 2")) == 2


@pytest.mark.parametrize("state", ["40001", "40P01", "57P03", "53300", "08006"])
def test_what_failed_by_chance_is_tried_again(postgres: str, state: str) -> None:
    """Serialization failures, deadlocks and busy servers are no reason to give up at once."""
    tries = []

    def work(connection: Connection) -> str:
        tries.append(state)
        if len(tries) < 3:
            connection.execute(f"do $$ begin raise sqlstate '{state}'; end $$".encode())
        return "done"

    with quick(postgres) as database:
        assert database.run(work) == "done"
    assert len(tries) == 3


def test_trying_again_comes_to_an_end(postgres: str) -> None:
    """After as many attempts as the settings allow, the error is told."""
    tries = []

    def work(connection: Connection) -> None:
        tries.append(1)
        connection.execute("do $$ begin raise sqlstate '40001' using message = 'too bad'; end $$")

    with quick(postgres, attempts=2) as database, pytest.raises(PostgresError, match="too bad"):
        database.run(work)
    assert len(tries) == 2


def test_waits_grow(postgres: str) -> None:
    """Each wait between attempts has twice the bounds of the one before."""
    waits: list[float] = []
    database = Database(PostgresSettings(postgres, attempts=4), sleep=waits.append)
    with database, pytest.raises(PostgresError):
        database.run(ask("do $$ begin raise sqlstate '40001'; end $$"))
    assert len(waits) == 3
    assert all(0.05 * 2**place <= wait <= 0.1 * 2**place for place, wait in enumerate(waits))


def test_a_mistake_is_not_tried_again(postgres: str) -> None:
    """A statement that can never succeed fails at once."""
    tries = []

    def work(connection: Connection) -> None:
        tries.append(1)
        connection.execute("select nothing from nowhere")

    with quick(postgres) as database, pytest.raises(PostgresError, match="nowhere"):
        database.run(work)
    assert len(tries) == 1


def test_statements_come_to_an_end(postgres: str) -> None:
    """A statement that takes too long is given up."""
    database = quick(postgres, statement_timeout=0.05)
    with database, pytest.raises(PostgresError, match="timeout"):
        database.run(ask("select pg_sleep(20)"))


def test_the_pool_is_bounded(postgres: str) -> None:
    """Who finds every connection in use waits, and is told when none becomes free."""
    database = quick(postgres, connections=1, connect_timeout=0.1)
    with database, pytest.raises(PostgresError, match="no connection was free") as told:
        database.run(lambda _: database.run(ask("select 1")))
    assert told.value.remedy == "allow more connections"


def test_threads_share_a_database(postgres: str) -> None:
    """Many threads are answered over few connections."""
    answers = []
    with Database(PostgresSettings(postgres, connections=2)) as database:

        def work(number: int) -> None:
            answers.append(database.run(ask(f"select {number}")))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(answers) == list(range(12))


def test_an_absent_server_is_told(tmp_path: object) -> None:
    """Where no server listens, the error says so, and what to look at."""
    database = quick(f"host={tmp_path} dbname=tools user=me password={SECRET}")
    with pytest.raises(PostgresError, match="connection to server") as told:
        database.run(ask("select 1"))
    assert told.value.remedy == "check that the server runs, and the connection string"


TLS_REQUEST = struct.pack("!ii", 8, 80877103)


def _agree_to_tls(listener: socket.socket, requests: list[bytes]) -> None:
    with suppress(OSError):  # when the listener is closed
        while True:
            with listener.accept()[0] as peer:
                requests.append(peer.recv(8))
                peer.sendall(b"S")


def test_tls_options_reach_the_server(postgres: str, tmp_path: object) -> None:
    """Where TLS is asked for, nothing goes over a connection without it."""
    plain = quick(postgres, sslmode="disable")
    assert plain.run(ask("select 1")) == 1
    plain.close()
    # On a local socket libpq never uses TLS, so a server on a port takes the request for it.
    options = {"sslmode": "verify-full", "sslrootcert": f"{tmp_path}/none.pem"}
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_agree_to_tls, args=(listener, requests), daemon=True).start()
        port = listener.getsockname()[1]
        strict = quick(f"host=127.0.0.1 port={port} user=me dbname=tools", **options)
        with pytest.raises(PostgresError, match=f'"{tmp_path}/none.pem" does not exist'):
            strict.run(ask("select 1"))
    assert set(requests) == {TLS_REQUEST}


class WithoutTls(socketserver.BaseRequestHandler):
    """Says that it has no TLS, and keeps what is sent to it all the same."""

    def handle(self) -> None:
        """Answer the request for TLS."""
        self.request.recv(8)
        self.request.sendall(b"N")
        self.server.received.append(self.request.recv(1024))


def test_tls_that_the_address_asks_for_is_kept() -> None:
    """A server without TLS gets nothing from who wrote `sslmode=verify-full` into the address."""
    with socketserver.TCPServer(("127.0.0.1", 0), WithoutTls) as server:
        server.received = []
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        port = server.server_address[1]
        dsn = f"postgresql://me:{SECRET}@127.0.0.1:{port}/tools?sslmode=verify-full"
        database = quick(f"{dsn}&gssencmode=disable", attempts=1)
        with pytest.raises(PostgresError, match="SSL"):
            database.run(ask("select 1"))
        thread.join()
    assert server.received == [b""]


FORKED = """
import os, sys
from mcpg.postgres import Database

def wrong(first):
    ask = lambda number: lambda one: one.execute("select %s::int", (number,)).fetchone()[0]
    return sum(database.run(ask(number)) != number for number in range(first, first + 200))

database = Database(sys.argv[1])
database.run(lambda one: None)
child = os.fork()
failed = wrong(0 if child else 1000)
if not child:
    database.close()
    sys.exit(failed != 0)
_, status = os.waitpid(child, 0)
assert (failed, status) == (0, 0), (failed, status)
assert wrong(0) == 0
database.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_forks_opens_its_own_connections(postgres: str) -> None:
    """Parent and child get their own answers, and the child's end takes nothing from the parent."""
    command = [sys.executable, "-W", "ignore", "-c", FORKED, postgres]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "dsn",
    [
        f"host=/nowhere dbname=tools user=me password={SECRET}",
        f"postgresql://me:{SECRET}@127.0.0.1:1/tools",
        f"postgresql://me:p@{SECRET}@127.0.0.1:1/tools",
        f"postgresql://me:{SECRET}@[bad",
        f"user=me password='{SECRET}",
        f"user=me {SECRET}",
        f"postgresql://127.0.0.1:1/tools?password={SECRET}&nothing=1",
    ],
)
def test_the_password_is_never_shown(dsn: str) -> None:
    """Neither settings, nor errors, nor the errors behind them hold the password."""
    assert SECRET not in repr(PostgresSettings(dsn))
    with pytest.raises(PostgresError) as told:
        quick(dsn).run(ask("select 1"))
    assert SECRET not in "".join(traceback.format_exception(told.value))
    assert SECRET not in f"{told.value} {told.value.place} {told.value.remedy}"


def test_a_password_that_the_server_repeats_is_hidden(postgres: str) -> None:
    """What the server says is shown without the password, wherever it got it from."""
    database = quick(make_conninfo(postgres, password=SECRET))
    with database, pytest.raises(PostgresError, match=r"no such \*\*\* here"):
        database.run(ask(f"do $$ begin raise 'no such {SECRET} here'; end $$"))


@pytest.mark.parametrize("schema", ["", "x" * 64])
def test_a_schema_has_a_name_that_fits(schema: str) -> None:
    """A name that PostgreSQL would cut is refused."""
    with pytest.raises(PostgresError, match="schema"):
        Database(PostgresSettings("host=/nowhere", schema=schema))


@pytest.mark.parametrize("option", ["connections", "attempts"])
def test_nothing_can_be_done_with_none(option: str) -> None:
    """A pool without connections and work without attempts make no sense."""
    with pytest.raises(PostgresError, match="at least one"):
        quick("host=/nowhere", **{option: 0})


def test_the_address_is_for_people() -> None:
    """The address names host, port and database, and nobody."""
    dsn = f"postgresql://me:{SECRET}@db.example:5433/tools"
    assert Database(dsn).address == "postgresql://db.example:5433/tools"
    assert Database("dbname=tools").address == "postgresql:///tools"


def test_missing_packages_are_told() -> None:
    """Without the extra, the import says what to install."""
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "try:\n    from mcpg.postgres import Database\n"
        "except Exception as fault:\n    print(type(fault).__name__, fault)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("PostgresError PostgreSQL needs the package 'psycopg'")
    assert install_command("postgres") in done.stdout


def test_a_server_that_is_frozen_holds_no_brief_work(postgres: str) -> None:
    """Its own time limits do not run, so the connection is cut; the next one is not affected."""

    def freeze(connection: Connection) -> None:
        connection.execute("set local statement_timeout = 0")
        connection.execute("select pg_sleep(60)")

    with quick(postgres, statement_timeout=0.2) as database:
        start = time.monotonic()
        with pytest.raises(PostgresError):
            database.run(freeze, attempts=1, is_brief=True)
        assert time.monotonic() - start < 30
        assert database.run(ask("select 2"), is_brief=True) == 2


def test_nobody_waits_for_the_connection_of_another() -> None:
    """A server that accepts connections and is silent makes all wait side by side."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dsn = f"host=127.0.0.1 port={silent.getsockname()[1]} user=mcpg dbname=x"
        database, ended = quick(dsn, connect_timeout=2, attempts=1), []

        def connect() -> None:
            with suppress(PostgresError):
                database.run(ask("select 1"))
            ended.append(time.monotonic())

        threads = [threading.Thread(target=connect) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert max(ended) - min(ended) < 2
