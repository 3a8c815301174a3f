from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("json", "tomllib", "Stemmer", "numpy", "pydantic", "rapidfuzz", "yaml")
SCRIPT = """
import sys
before = set(sys.modules)
import {modules}
{action}
print(*sorted({{name for name in set(sys.modules) - before}} & set({heavy!r})))
"""


@pytest.mark.parametrize(
    ("modules", "action"),
    [
        ("mcpg", ""),
        ("mcpg.values", ""),
        ("mcpg.text", "mcpg.text.split_words('Where are my shipments, gitCommit?')"),
        ("mcpg.text.literals", "mcpg.text.literals.find_literals('Ship 4111 1111 on May 5')"),
        ("mcpg.text.spelling", "mcpg.text.spelling.edit_distance('one', 'two', 1)"),
    ],
)
def test_a_search_needs_no_heavy_module(modules: str, action: str) -> None:
    """What a cold search imports of the text floor pulls in nothing that is slow to import."""
    script = SCRIPT.format(modules=modules, action=action, heavy=HEAVY)
    run = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{script}"],
        check=True,
        capture_output=True,
        text=True,
    )

    assert run.stdout.strip() == ""
