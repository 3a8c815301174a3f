"""Fixtures and settings for all tests."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import is_hypothesis_test, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# In CI the same examples are tried every time, so that a run can be repeated; at a desk new ones
# are, so that more is found.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# A test run starts hundreds of processes; with cached bytecode each takes half the time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Measure no coverage during property tests.

    Measuring doubles their time, and figures that depend on random examples vary between runs.
    """
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("no_cover")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Connection string of a PostgreSQL server for all tests of this process."""
    import pgserver  # noqa: PLC0415 - only a run that needs it starts a server

    with pgserver.server() as dsn:
        yield dsn


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[str]:
    """Connection string of an empty database with pgvector."""
    import pgserver  # noqa: PLC0415 - as above

    yield postgres_server
    pgserver.clean(postgres_server)


@pytest.fixture
def bare_postgres(postgres_server: str) -> Iterator[str]:
    """Connection string of a new database without extensions."""
    import pgserver  # noqa: PLC0415 - as above

    with pgserver.database(postgres_server, "bare") as dsn:
        yield dsn
