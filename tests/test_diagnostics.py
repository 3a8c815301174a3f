from __future__ import annotations

import ast
import re
from pathlib import Path

from mcpg.errors import CODES, Code, Severity, error, find_remedy, info, warning

ROOT = Path(__file__).parent.parent
ITEM = re.compile(r"^- `(\w+)` \((\w+)\): (.+) \*([^*]+)\*$")


def listed() -> list[tuple[str, str, str, str]]:
    """Return the code, severity, meaning and remedy of each item of the reference."""
    page = (ROOT / "docs/reference/diagnostics.md").read_text(encoding="utf-8")
    items = re.findall(r"^- (?:.+\n?)(?:  .+\n?)*", page, re.MULTILINE)
    found = [ITEM.match(" ".join(item.split())) for item in items]
    return [match.groups() for match in found if match]  # type: ignore[misc]


def emitted() -> set[str]:
    """Name the codes that stand anywhere in the package outside their own module."""
    found: set[str] = set()
    for module in ROOT.glob("mcpg/**/*.py"):
        text = module.read_text(encoding="utf-8")
        if "\nclass Code:" in text or module.name == "remedies.py":
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Code":
                found.add(node.attr)
    return found


def test_every_code_is_emitted() -> None:
    """No code is declared that nothing uses."""
    assert emitted() == {name for name in vars(Code) if name.isupper()}


def test_the_reference_lists_every_code() -> None:
    """The reference has each code with a severity, a meaning and a remedy, and no other."""
    rows = listed()
    assert {code for code, _, _, _ in rows} == set(CODES)
    assert {severity for _, severity, _, _ in rows} == {
        Severity.INFO,
        Severity.WARNING,
        Severity.ERROR,
    }
    assert all(meaning.strip() and remedy.strip() for _, _, meaning, remedy in rows)


def test_every_code_has_the_remedy_that_the_reference_gives() -> None:
    """What a program is told to do about a diagnostic is what the documentation says."""
    told = {code: re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", row) for code, _, _, row in listed()}

    assert told == {code: find_remedy(code) for code in CODES}
    assert find_remedy("of_somebody_else") is None


def test_makers_say_how_much_it_matters() -> None:
    """Each maker gives a diagnostic of its own severity."""
    made = [make(Code.TOOL_INVALID, "no name", "a.json") for make in (info, warning, error)]
    assert [item.severity for item in made] == [Severity.INFO, Severity.WARNING, Severity.ERROR]
    assert {(item.code, item.message, item.place) for item in made} == {
        (Code.TOOL_INVALID, "no name", "a.json")
    }
