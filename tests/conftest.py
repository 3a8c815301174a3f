"""What all tests share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# In CI the same examples are tried every time, so that a run can be repeated; at a desk new ones
# are, so that more is found.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Give the connection string of a PostgreSQL server that this run shares."""
    import pgserver  # noqa: PLC0415 - only a run that needs it starts a server

    with pgserver.server() as dsn:
        yield dsn


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[str]:
    """Give the connection string of a database with pgvector and without tables."""
    import pgserver  # noqa: PLC0415 - as above

    yield postgres_server
    pgserver.clean(postgres_server)


@pytest.fixture
def bare_postgres(postgres_server: str) -> Iterator[str]:
    """Give the connection string of a database of a test's own, without any extension."""
    import pgserver  # noqa: PLC0415 - as above

    with pgserver.database(postgres_server, "bare") as dsn:
        yield dsn
