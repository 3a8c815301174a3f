"""Help as plain text, one layout for the terminal and for the reference."""

from __future__ import annotations

import textwrap
from enum import Enum
from typing import Any

WIDTH = 88
"""Columns of help."""

_INDENT = 26
# Typer brings these two options; their help must not change with its version.
_TYPERS_OWN = {
    "install_completion": "Install completion for the shell in use.",
    "show_completion": "Show completion for the shell in use, to adapt or copy it.",
}


def command_help(command: Any, path: str) -> str:
    """Give the help of one command, called by *path* (`mcpg search`)."""
    options = [p for p in command.params if p.param_type_name == "option"]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    sections = [
        _filled(f"Usage: {path} {_usage(arguments)}", "    "),
        command.help or "",
        _section("Arguments", [(_argument_name(p), p.help or "") for p in arguments]),
        *_option_sections(options),
        _examples(command.epilog),
    ]
    return "\n\n".join(section for section in sections if section)


def group_help(group: Any, path: str) -> str:
    """Give the help of the whole program: its commands and the options before a command."""
    commands = [(name, first_line(group.commands[name])) for name in group.commands]
    sections = [
        f"Usage: {path} [OPTIONS] COMMAND [ARGUMENTS]...",
        group.help or "",
        _section("Commands", commands),
        *_option_sections([p for p in group.params if not p.hidden]),
        _examples(group.epilog),
    ]
    return "\n\n".join(section for section in sections if section)


def first_line(command: Any) -> str:
    """Give the first line of a command's help."""
    return (command.help or "").partition("\n")[0]


def option_names(option: Any) -> str:
    """Give an option's names, short first, with the name of its value."""
    names = ", ".join(sorted(option.opts, key=len))
    return names if option.is_flag else f"{names} {option.metavar}"


def _option_sections(options: list[Any]) -> list[str]:
    headings: dict[str, list[tuple[str, str]]] = {"Options": []}
    for option in options:
        heading = getattr(option, "rich_help_panel", None) or "Options"
        headings.setdefault(heading, []).append((option_names(option), _option_text(option)))
    # Typer adds the help option by itself when it parses.
    headings[list(headings)[-1]].append(("-h, --help", "Show this help."))
    return [_section(heading, rows) for heading, rows in headings.items()]


def _option_text(option: Any) -> str:
    default = option.default.value if isinstance(option.default, Enum) else option.default
    shown = default not in (None, False, "") and not option.is_flag
    notes = "  [required]" if option.required else f"  [default: {default}]" if shown else ""
    return f"{_TYPERS_OWN.get(option.name, option.help or '')}{notes}"


def _usage(arguments: list[Any]) -> str:
    parts = ["[OPTIONS]"]
    for argument in arguments:
        name = _argument_name(argument)
        parts.append(name if argument.required else f"[{name}]")
    return " ".join(parts)


def _argument_name(argument: Any) -> str:
    return f"{argument.metavar}{'...' if argument.nargs != 1 else ''}"


def _section(heading: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    return "\n".join([f"{heading}:", *(_row(name, text) for name, text in rows)])


def _row(name: str, text: str) -> str:
    lead = f"  {name}"
    margin = " " * _INDENT
    if len(lead) >= _INDENT - 1:
        return f"{lead}\n{_filled(text, margin, margin)}"
    return _filled(text, margin, lead.ljust(_INDENT))


def _filled(text: str, margin: str, lead: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=lead,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _examples(epilog: str | None) -> str:
    return f"Examples:\n{textwrap.indent(epilog, '  ')}" if epilog else ""
