"""How mcpg was installed, and the command that installs what is missing in the same way.

pipx and uv note in the environment of a tool how they made it; installers note their name, and
whether they installed a checkout, beside the package (PEP 376, PEP 610).
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

DISTRIBUTION = "mcpg-graph"

_EXTRAS = re.compile(r"\[([\w,\s-]*)\]")


def install_command(extra: str) -> str:
    """Return the command that adds *extra* to this installation; extras that it has stay."""
    tool = _tool()
    if tool is not None:
        command, present = tool
        extras = ",".join(sorted({*present, extra}))
        return f"{command} '{DISTRIBUTION}[{extras}]'"
    if _is_checkout():
        return f"{_pip()} install -e '.[{extra}]'"
    return f"{_pip()} install '{DISTRIBUTION}[{extra}]'"


def package_command(package: str) -> str:
    """Return the command that installs another *package* beside mcpg."""
    tool = _tool()
    if tool is None:
        return f"{_pip()} install {package}"
    command, present = tool
    if command.startswith("pipx"):
        return f"pipx inject {DISTRIBUTION} {package}"
    extras = f"[{','.join(sorted(present))}]" if present else ""
    return f"{command} '{DISTRIBUTION}{extras}' --with {package}"


def _tool() -> tuple[str, Iterable[str]] | None:
    """Return what installs mcpg as a tool of its own, and the extras it was given."""
    prefix = Path(sys.prefix)
    for name, command in (
        ("pipx_metadata.json", "pipx install --force"),
        ("uv-receipt.toml", "uv tool install"),
    ):
        try:
            text = (prefix / name).read_text("utf-8")
        except (OSError, ValueError):
            continue
        return command, _parse_extras(text, name)
    return None


def _parse_extras(text: str, name: str) -> set[str]:
    try:
        if name.endswith(".json"):
            stated = str(json.loads(text)["main_package"]["package_or_url"])
            found = _EXTRAS.search(stated)
            return {one.strip() for one in found[1].split(",")} - {""} if found else set()
        requirements = tomllib.loads(text)["tool"]["requirements"]
        ours = (one for one in requirements if one.get("name") == DISTRIBUTION)
        return {str(extra) for one in ours for extra in one.get("extras", ())}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()


def _read_note(file: str) -> str:
    """Return what the installer noted in a *file* beside the package."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - slow

    try:
        return distribution(DISTRIBUTION).read_text(file) or ""
    except (PackageNotFoundError, OSError, ValueError):
        return ""


def _is_checkout() -> bool:
    try:
        return bool(json.loads(_read_note("direct_url.json"))["dir_info"]["editable"])
    except (ValueError, KeyError, TypeError):
        return False


def _pip() -> str:
    return "uv pip" if _read_note("INSTALLER").strip() == "uv" else "pip"
