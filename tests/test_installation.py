from __future__ import annotations

import json
import sys
from importlib import metadata
from typing import TYPE_CHECKING

import pytest

from mcpg.text.library_errors import DISTRIBUTION, install_command, package_command

if TYPE_CHECKING:
    from pathlib import Path

EDITABLE = json.dumps({"url": "file:///home/me/mcpg", "dir_info": {"editable": True}})
RECEIPT = '[tool]\nrequirements = [{ name = "mcpg-graph", extras = ["shacl", "mcp"] }]\n'
PIPX = json.dumps({"main_package": {"package_or_url": "mcpg-graph[mcp]==0.1.0"}})


class Noted:
    """A distribution, as what its installer noted beside it."""

    def __init__(self, notes: dict[str, str]) -> None:
        self._notes = notes

    def read_text(self, name: str) -> str | None:
        """Return the note of a *name*."""
        return self._notes.get(name)


@pytest.mark.parametrize(
    ("files", "notes", "extra", "package"),
    [
        ({}, {}, "pip install 'mcpg-graph[llm]'", "pip install fastembed"),
        ({}, {"INSTALLER": "pip\n"}, "pip install 'mcpg-graph[llm]'", "pip install fastembed"),
        (
            {},
            {"INSTALLER": "uv\n"},
            "uv pip install 'mcpg-graph[llm]'",
            "uv pip install fastembed",
        ),
        ({}, {"direct_url.json": EDITABLE}, "pip install -e '.[llm]'", "pip install fastembed"),
        (
            {},
            {"direct_url.json": EDITABLE, "INSTALLER": "uv"},
            "uv pip install -e '.[llm]'",
            "uv pip install fastembed",
        ),
        (
            {},
            {"direct_url.json": '{"url": "https://x/y.whl"}'},
            "pip install 'mcpg-graph[llm]'",
            "pip install fastembed",
        ),
        (
            {"uv-receipt.toml": RECEIPT},
            {"INSTALLER": "uv"},
            "uv tool install 'mcpg-graph[llm,mcp,shacl]'",
            "uv tool install 'mcpg-graph[mcp,shacl]' --with fastembed",
        ),
        (
            {"uv-receipt.toml": "[tool"},
            {},
            "uv tool install 'mcpg-graph[llm]'",
            "uv tool install 'mcpg-graph' --with fastembed",
        ),
        (
            {"pipx_metadata.json": PIPX},
            {},
            "pipx install --force 'mcpg-graph[llm,mcp]'",
            "pipx inject mcpg-graph fastembed",
        ),
        (
            {"pipx_metadata.json": "[]"},
            {},
            "pipx install --force 'mcpg-graph[llm]'",
            "pipx inject mcpg-graph fastembed",
        ),
    ],
)
def test_what_is_missing_is_installed_as_mcpg_was(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    notes: dict[str, str],
    extra: str,
    package: str,
) -> None:
    """The command is that of pipx, uv, pip or a checkout, and keeps the extras that are there."""
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(metadata, "distribution", lambda _: Noted(notes))

    assert install_command("llm") == extra
    assert package_command("fastembed") == package


def test_without_metadata_pip_installs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the package that nothing installed has the plain command."""

    def absent(name: str) -> None:
        assert name == DISTRIBUTION
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(metadata, "distribution", absent)
    assert install_command("mcp") == "pip install 'mcpg-graph[mcp]'"
