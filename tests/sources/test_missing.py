from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcpg.errors import Code, Severity
from mcpg.files import present_paths

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def there(tmp_path: Path) -> str:
    """The path of a file."""
    (tmp_path / "a.json").write_text("{}", "utf-8")
    return str(tmp_path / "a.json")


def test_what_is_missing_is_left_out_and_told(there: str) -> None:
    """Of several paths those without a file go, each with a diagnostic that names it."""
    present, missing = present_paths(["none.mdld", there, "x" * 5000])
    assert present == [there]
    assert [(item.code, item.severity, item.place) for item in missing] == [
        (Code.GRAPH_PATH_MISSING, Severity.ERROR, "none.mdld"),
        (Code.GRAPH_PATH_MISSING, Severity.ERROR, "x" * 5000),
    ]


def test_nothing_is_missing(there: str) -> None:
    """Paths that are all there are all used."""
    assert present_paths([there]) == ([there], ())


def test_when_all_is_missing_all_is_kept() -> None:
    """Reading the paths then says what is wrong with them."""
    assert present_paths(["none.mdld", "neither"]) == (["none.mdld", "neither"], ())
