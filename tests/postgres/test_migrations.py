from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mcpg.postgres import Database, PostgresError, PostgresSettings
from mcpg.postgres.connection import STEPS, ensure_extension, migrate


def execute(dsn: str, *statements: str) -> None:
    """Run *statements*."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def version(dsn: str, schema: str = "mcpg") -> int:
    """Bring the tables up to date."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        return migrate(connection, schema, "here")


def tables(dsn: str, schema: str = "mcpg") -> set[str]:
    """Name the tables in a schema."""
    with psycopg.connect(dsn) as connection:
        found = connection.execute(
            "select table_name from information_schema.tables where table_schema = %s", (schema,)
        )
        return {name for (name,) in found}


@pytest.fixture
def role(postgres_server: str) -> str:
    """Return the name of a role that may do little."""
    execute(postgres_server, "drop role if exists little", "create role little login")
    return "little"


def drop_privileges(dsn: str) -> None:
    """Let a role be removed that owns things in the database."""
    execute(dsn, "drop owned by little cascade")


def test_tables_are_made_once(postgres: str) -> None:
    """The first run makes everything, the next finds it done."""
    assert version(postgres) == version(postgres) == len(STEPS)
    assert {"migrations", "embeddings", "cache"} <= tables(postgres)


@pytest.mark.parametrize("schema", ['my "tools"; drop schema public', "Ünïcode", "select"])
def test_the_schema_may_have_any_name(postgres: str, schema: str) -> None:
    """A name is a name, whatever it holds, and schemas stand side by side."""
    with Database(PostgresSettings(postgres, schema=schema)) as database:
        database.run(lambda connection: connection.execute("select * from embeddings, cache"))
    assert "embeddings" in tables(postgres, schema)
    assert tables(postgres) == set()


def test_ten_replicas_start_at_once(postgres: str) -> None:
    """One makes the tables, the others wait for it."""
    with ThreadPoolExecutor(10) as threads:
        assert list(threads.map(version, [postgres] * 10)) == [len(STEPS)] * 10


def test_steps_go_on_from_where_they_stopped(postgres: str) -> None:
    """A database of an older version takes the steps that are left."""
    version(postgres)
    execute(
        postgres,
        "delete from mcpg.migrations where version > 1",
        "do $$ declare t text; begin for t in select table_name from information_schema.tables "
        "where table_schema = 'mcpg' and table_name not in ('migrations', 'embeddings') "
        "and table_type = 'BASE TABLE' "
        "loop execute format('drop table mcpg.%I cascade', t); end loop; end $$",
    )
    assert version(postgres) == len(STEPS)
    assert "cache" in tables(postgres)


def test_a_step_that_fails_leaves_nothing(postgres: str) -> None:
    """What stands in the way is told, and nothing is half made."""
    execute(postgres, "create schema mcpg", "create table mcpg.cache (n int)")
    with pytest.raises(psycopg.errors.DuplicateTable):
        version(postgres)
    assert tables(postgres) == {"cache"}


def test_a_newer_schema_is_left_alone(postgres: str) -> None:
    """Tables of a newer mcpg are not touched."""
    version(postgres)
    execute(postgres, "insert into mcpg.migrations values (999)")
    with Database(postgres) as database, pytest.raises(PostgresError, match="newer mcpg"):
        database.run(lambda _: None)


def test_a_roleneed_not_be_allowed_to_create_extensions(bare_postgres: str, role: str) -> None:
    """With pgvector in the database, a role that may create a schema can do the rest."""
    name = conninfo_to_dict(bare_postgres)["dbname"]
    execute(bare_postgres, "create extension vector", f"grant create on database {name} to {role}")
    assert version(make_conninfo(bare_postgres, user=role)) == len(STEPS)
    drop_privileges(bare_postgres)


def test_a_role_that_may_only_read_can_use_what_is_there(bare_postgres: str, role: str) -> None:
    """Where the tables are up to date, nothing is written."""
    version(bare_postgres)
    grants = (
        f"grant usage on schema mcpg to {role}",
        f"grant select on all tables in schema mcpg to {role}",
    )
    execute(bare_postgres, *grants)
    with Database(make_conninfo(bare_postgres, user=role)) as database:
        found = database.run(lambda one: one.execute("select count(*) from cache").fetchone())
    assert found == (0,)
    drop_privileges(bare_postgres)


def test_a_role_that_may_not_create_is_told(bare_postgres: str, role: str) -> None:
    """Who may not make the schema is told where to read what a role needs."""
    execute(bare_postgres, "create extension vector")
    database = Database(make_conninfo(bare_postgres, user=role))
    with database, pytest.raises(PostgresError, match="permission denied") as told:
        database.run(lambda _: None)
    assert told.value.remedy == "see what the role needs in docs/how-to/postgres.md"


def test_missing_pgvector_is_told(bare_postgres: str, role: str) -> None:
    """Where the extension is missing and may not be created, the remedy is a command."""
    with pytest.raises(PostgresError, match="may not create it") as told:
        version(make_conninfo(bare_postgres, user=role))
    assert "create extension vector" in str(told.value)


def test_a_server_without_the_extension_is_told(bare_postgres: str) -> None:
    """Where the server does not have the extension at all, that is said."""
    told = pytest.raises(PostgresError, match="server does not have the extension 'nothing'")
    with psycopg.connect(bare_postgres, autocommit=True) as connection, told:
        ensure_extension(connection, "nothing", "here")


def test_the_extension_may_be_in_a_schema_of_its_own(bare_postgres: str) -> None:
    """Vectors are found where the extension was put."""
    execute(bare_postgres, "create schema extensions", "create extension vector schema extensions")
    with Database(bare_postgres) as database:
        found = database.run(
            lambda one: one.execute("select '[1,2]'::vector <=> '[1,2]'::vector").fetchone()
        )
    assert found == (0,)
