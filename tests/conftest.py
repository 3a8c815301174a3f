"""Fixtures and settings for all tests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import is_hypothesis_test, settings
from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from browser import Axe, Browser

# In CI the same examples are tried every time, so that a run can be repeated; at a desk new ones
# are, so that more is found. No example has a deadline, for other processes may use the machine.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "desk")

# A test run starts hundreds of processes; with cached bytecode each takes half the time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# In the background of a script a process ignores Ctrl-C, and so would the programs that tests start
# and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of tests that are not measured."""
    config.addinivalue_line("markers", "untraced: measure no coverage during this test")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Start one worker more than there are cores, for some tests wait for servers and time-outs."""
    return (os.cpu_count() or 1) + 1


TRACER = pytest.StashKey[Any]()
"""What measures coverage in this process, `None` where nothing does."""


@contextmanager
def tracing(tracer: Any) -> Iterator[None]:
    """Have *tracer* as the trace function of this thread for a while."""
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Measure tests and their fixtures, but not what pytest does around them.

    Whatever is traced takes three times as long, and most tests take less time than pytest itself.
    """
    item.session.stash[TRACER] = sys.gettrace()
    with tracing(None):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Measure what our own fixtures run: those of pytest and its plugins belong to no folder."""
    with tracing(request.session.stash[TRACER] if fixturedef.baseid else None):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Measure no coverage during property tests and those marked `untraced`.

    Figures that depend on random examples vary between runs. The marker of pytest-cov has no effect
    in the workers of pytest-xdist.
    """
    is_property = is_hypothesis_test(getattr(item, "obj", None))
    is_measured = not is_property and item.get_closest_marker("untraced") is None
    with tracing(item.session.stash[TRACER] if is_measured else None):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Measure what ends with a test."""
    with tracing(item.session.stash[TRACER]):
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def known_schemas() -> Iterator[None]:
    """Check each schema once: the client of the SDK does it again for each tool that it calls.

    That was most of what a test of the gateway took.
    """
    check, valid = Draft202012Validator.check_schema, set()

    def check_once(schema: Any) -> None:
        if (key := json.dumps(schema, default=repr)) not in valid:
            check(schema)
            valid.add(key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draft202012Validator, "check_schema", check_once)
        yield


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


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests; without one they are skipped at a desk and fail in CI."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        reason = "needs chromium and chromedriver (Debian: apt install chromium chromium-driver)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    import browser  # noqa: PLC0415 - only a run that opens a page imports Selenium

    with browser.started(program, driver, tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    """The browser as a person with a wide screen and no wishes has it."""
    chromium.prefer("light")
    chromium.open("about:blank")
    chromium.resize(1280)
    return chromium


@pytest.fixture(scope="session")
def axe() -> Axe:
    """The checks of axe-core, which npm installs: `AXE_CORE` names its file `axe.min.js`."""
    named = os.environ.get("AXE_CORE")
    if named is None:
        pytest.skip("needs axe-core: npm install axe-core, and AXE_CORE to name its axe.min.js")
    from browser import Axe  # noqa: PLC0415 - as above

    return Axe(Path(named).read_text("utf-8"))
