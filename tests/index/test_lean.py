from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from mcpg.index.file import index_for

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {
    *("hashlib", "importlib.metadata", "importlib.resources", "tempfile"),
    *("numpy", "pydantic", "rapidfuzz", "typer", "yaml"),
}
SCRIPT = """
import sys
before = set(sys.modules)
sys.path[:0] = {path!r}
from mcpg.index.file import index_for
index = index_for({source!r}, None).index
index.nearest("shipmnt"), index.completions("ship", 3), index.exact("refund"), index.edges(2)
index.postings(index.find_stem("shipment")), index.name_terms(2), index.summary(2)
print(*sorted(set(sys.modules) - before))
"""


def test_a_search_of_a_fresh_index_imports_nothing_heavy(data: bytes, tmp_path: Path) -> None:
    """Opening an index and asking it everything but records costs no slow import."""
    source = tmp_path / "graph.mdld"
    source.write_text("x")
    index_for(str(source), lambda: data)
    script = SCRIPT.format(path=sys.path, source=str(source))
    run = subprocess.run(
        [sys.executable, "-S", "-c", script], check=True, capture_output=True, text=True
    )

    assert not HEAVY.intersection(run.stdout.split())
    assert "mcpg.index.reader" in run.stdout
