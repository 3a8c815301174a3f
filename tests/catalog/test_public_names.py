from __future__ import annotations

import pytest

import mcpg.catalog


def test_public_names_are_sorted_and_exist() -> None:
    """Every public name can be imported from the package and is listed in order."""
    assert mcpg.catalog.__all__ == sorted(mcpg.catalog.__all__)
    assert dir(mcpg.catalog) == mcpg.catalog.__all__
    assert all(getattr(mcpg.catalog, name) is not None for name in mcpg.catalog.__all__)


def test_other_names_do_not_exist() -> None:
    """A name that is not public is an ordinary error of attributes."""
    with pytest.raises(AttributeError, match="Toool"):
        mcpg.catalog.Toool  # noqa: B018
