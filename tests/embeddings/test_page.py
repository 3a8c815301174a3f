from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mcpg.cli import main
from mcpg.embeddings import KNOWN, LOCAL_MODELS

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/embedding-models.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_names_every_provider() -> None:
    """Each name that chooses a provider is on the page, with the dimensions of the local models."""
    assert all(f"`{name}`" in PAGE for name in KNOWN)
    (dimensions,) = re.findall(r"^\| dimensions \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert [int(size) for size in dimensions] == [
        LOCAL_MODELS[name].dimensions for name in ("english", "multilingual")
    ]


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code on the page runs, in a folder with a bundle, and finds the tool it asks for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MCPG_CACHE_DIR", str(tmp_path / "cache"))
    assert main(["bundle", str(ROOT / "examples/tools"), "-o", "graph.mdld"]) == 0
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(block, names)
    assert names["result"].matches[0].tool_id == "shipment_status"  # type: ignore[attr-defined]
    assert names["cosines"].argmax() == 0  # type: ignore[attr-defined]
