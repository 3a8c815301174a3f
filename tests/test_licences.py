"""What the package says of its licences."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NAMES = {
    "Apache License 2.0": "Apache-2.0",
    "BSD 3-Clause": "BSD-3-Clause",
    "Redistribution and use in source and binary forms": "BSD-3-Clause",
    "CC BY 4.0": "CC-BY-4.0",
    "CC BY-SA 4.0": "CC-BY-SA-4.0",
    "ISC": "ISC",
    "MIT": "MIT",
    "VarCon": "LicenseRef-VarCon",
    "Unicode License": "Unicode-3.0",
    "WordNet Release": "LicenseRef-WordNet",
}


def listed() -> set[Path]:
    """Return the licence files that the project names."""
    found = {pattern: set(ROOT.glob(pattern)) for pattern in PROJECT["license-files"]}
    assert all(found.values())
    return set().union(*found.values())


def test_every_licence_in_the_package_is_listed() -> None:
    """A licence that is added beside data goes into the wheel's metadata."""
    held = {path for path in (ROOT / "mcpg").rglob("*LICEN[CS]E*") if path.is_file()}

    assert listed() == held | {ROOT / "LICENSE"}


def test_the_expression_names_every_licence() -> None:
    """The SPDX expression has the licences that the licence files name, and no other."""
    texts = [path.read_text("utf-8") for path in listed()]
    named = {spdx for name, spdx in NAMES.items() if any(name in text for text in texts)}

    assert set(PROJECT["license"].split(" AND ")) == named
