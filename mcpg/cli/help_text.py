"""The help of commands as plain text: its headings, its width, its notes on variables."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable
from enum import Enum
from typing import Any

from mcpg.cli.terminal import Screen, is_terminal

WIDTH = 80
"""Columns of help in a pipe, and on the reference page."""

WIDEST, NARROWEST = 100, 40
"""Most and fewest columns of help on a terminal."""

HEADINGS = {
    "Sources": (
        *("--from", "--source-id", "--header", "--allow-private", "--server-timeout"),
        "--allow-missing",
    ),
    "Filters": (
        *("--source", "--category", "--read-only", "--include-disabled", "--min-score"),
        *("--abstain", "--language", "--branch", "--repository", "--path"),
    ),
    "Ranking": (
        *("--strategy", "--fusion", "--embed-with", "--candidates", "--normalize", "--lexicon"),
        *("--context", "--context-summary", "--context-tool", "--prefer"),
    ),
    "Checks": ("--check", "--diff", "--strict", "--baseline", "--min", "--max", "--max-drop"),
    "HTTP": ("--http", "--stdio", "--allow-host", "--max-requests", "--max-sessions"),
    "Output": (
        *(
            "--output",
            "--format",
            "--input-schema",
            "--as",
            "--deferred",
            "--strict-schemas",
            "--related",
            "--html",
            "--force",
            "--explain",
            "--route",
            "--timings",
        ),
        *("--worst", "--all", "--document", "--line"),
    ),
    "Common options": ("--quiet", "--verbose", "--color", "--debug", "--help"),
}
"""Options by the heading of help under which they stand; all others are under `Options`."""

_OTHERS = "Options"
_HEADING_OF = {name: heading for heading, names in HEADINGS.items() for name in names}
# Typer brings these two options; their help must not change with its version.
_TYPERS_OWN = {
    "install_completion": "Install completion for the shell in use.",
    "show_completion": "Show completion for the shell in use, to adapt or copy it.",
}
_INDENT = 26
_NOTE = re.compile(r"\[(?:default|env): [^\]]*\]|`[^`]+`")
# Below this width, the text of an option stands under its name.
_TWO_COLUMNS = 72
_STACKED_INDENT = 6


def help_columns() -> int:
    """Return the columns of help for standard output."""
    if not is_terminal(sys.stdout):
        return WIDTH
    return max(NARROWEST, min(Screen().columns, WIDEST))


def command_help(command: Any, path: str, columns: int = WIDTH) -> str:
    """Return the help of one command, called by *path* (`mcpg search`)."""
    options = [p for p in command.params if p.param_type_name == "option"]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    rows = [(f"{p.metavar}{_repeats(p)}", p.help or "") for p in arguments]
    return _join_sections(
        _fill_text(f"Usage: {path} {_usage(arguments)}", columns, "    "),
        _paragraphs(command.help or "", columns),
        _section("Arguments", rows, columns),
        *_option_sections(options, columns),
        _examples(command.epilog),
    )


def group_help(group: Any, path: str, columns: int = WIDTH) -> str:
    """Return the help of the whole program: its commands and the options before a command."""
    commands = [(name, group.summary(name)) for name in group.commands]
    program, *above = path.split()
    indent = max(len(name) for name, _ in commands) + 5
    return _join_sections(
        f"Usage: {path} [OPTIONS] COMMAND [ARGUMENTS]...",
        _paragraphs(group.help or "", columns),
        _section("Commands", commands, columns, indent),
        *_option_sections([p for p in group.params if not p.hidden], columns),
        _examples(group.epilog),
        f"More: `{' '.join((program, 'help', *above))} COMMAND`",
    )


def option_names(option: Any) -> str:
    """Return an option's names, short first, with the name of its value."""
    names = ", ".join(sorted(option.opts, key=len))
    if option.is_flag:
        return "/".join([names, *option.secondary_opts])
    return f"{names} {option.metavar}"


def _join_sections(*sections: str) -> str:
    return "\n\n".join(section for section in sections if section)


def _option_sections(options: list[Any], columns: int) -> Iterable[str]:
    rows: dict[str, list[tuple[str, str]]] = {_OTHERS: [], **{name: [] for name in HEADINGS}}
    for option in options:
        heading = next((_HEADING_OF[name] for name in option.opts if name in _HEADING_OF), _OTHERS)
        rows[heading].append((option_names(option), _option_text(option)))
    # Typer adds the help option by itself when it parses.
    rows[_HEADING_OF["--help"]].append(("-h, --help", "Show this help."))
    return [_section(heading, ours, columns) for heading, ours in rows.items()]


def _option_text(option: Any) -> str:
    default = option.default.value if isinstance(option.default, Enum) else option.default
    text = _TYPERS_OWN.get(option.name, option.help or "")
    if option.required:
        text += " [required]"
    elif default not in (None, False, "") and not option.is_flag:
        text += (
            f" [default: {default:g}]" if isinstance(default, float) else f" [default: {default}]"
        )
    return text


def _usage(arguments: list[Any]) -> str:
    parts = ["[OPTIONS]"]
    for argument in arguments:
        name = argument.metavar if argument.required else f"[{argument.metavar}]"
        parts.append(f"{name}{_repeats(argument)}")
    return " ".join(parts)


def _repeats(argument: Any) -> str:
    return "..." if argument.nargs != 1 else ""


def _section(heading: str, rows: list[tuple[str, str]], columns: int, indent: int = _INDENT) -> str:
    if not rows:
        return ""
    return "\n".join([f"{heading}:", *(_row(name, text, columns, indent) for name, text in rows)])


def _row(name: str, text: str, columns: int, indent: int) -> str:
    lead = f"  {name}"
    is_stacked = columns < _TWO_COLUMNS and indent == _INDENT
    margin = " " * (_STACKED_INDENT if is_stacked else indent)
    if is_stacked or len(lead) >= indent - 1:
        return f"{lead}\n{_fill_text(text, columns, margin, margin)}"
    return _fill_text(text, columns, margin, lead.ljust(indent))


def _paragraphs(text: str, columns: int) -> str:
    return "\n\n".join(_fill_text(" ".join(one.split()), columns) for one in text.split("\n\n"))


def _fill_text(text: str, columns: int, margin: str = "", lead: str = "") -> str:
    # A note such as [default: 5] stays in one piece.
    lines = textwrap.wrap(
        _NOTE.sub(lambda note: note[0].replace(" ", "\0"), text),
        columns,
        initial_indent=lead,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\0", " ")


def _examples(epilog: str | None) -> str:
    """Return the examples of an *epilog*, and below an empty line where there is more to read."""
    examples, _, more = (epilog or "").partition("\n\n")
    shown = f"Examples:\n{textwrap.indent(examples, '  ')}" if examples else ""
    return _join_sections(shown, more)
