"""Former names of options, values, settings and variables, which work with a note.

Help, completion and schemas only have the present names. Arguments and variables are replaced
before anything reads them, settings when a file is read.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from mcpg.cli.output import Output

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "bundle": {"--untuned": "--reset-ranking"},
    "cache": {"--what": "--kind"},
    "diff": {"--margin": "--score-drop"},
    "explain": {"--judged": "--queries"},
    "explore": {"--judged": "--queries"},
    "graph": {"--top": "--limit"},
    "learn": {"--fresh": "--reset"},
    "route": {"--categories": "--max-categories", "--tools": "--max-tools"},
    "schema": {"--line": "--jsonl"},
    "serve": {"--graph": "--reviewed"},
}
"""By command, the present names of former options."""

VALUES: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("bundle", "--on-change"): {"refuse": "fail"},
    ("cache", ""): {"show": "list"},
    ("serve", "--expose"): {"meta": "gateway", "found": "on-demand"},
}
"""By command and option, "" for an argument, the present forms of former values."""

SETTINGS: Mapping[str, str] = {
    "embeddings.with": "embeddings.provider",
    "cache.absolute": "cache.max_age",
    "cache.sliding": "cache.idle_timeout",
    "limits.invoke": "limits.invoke_timeout",
    "limits.result": "limits.result_bytes",
    "limits.session_idle": "limits.session_idle_timeout",
    "limits.relist": "limits.relist_interval",
    "limits.query_memory": "limits.query_memory_bytes",
}
"""The present names of former settings; both are in one section."""

SETTING_VALUES: Mapping[str, Mapping[str, str]] = {
    "lock.on_change": {"refuse": "fail"},
    "serve.expose": {"meta": "gateway", "found": "on-demand"},
}
"""By setting, the present forms of former values."""

VARIABLES: Mapping[str, str] = {
    "MCPG_CACHE": "MCPG_CACHE_DIR",
    "MCPG_STORE": "MCPG_EMBEDDING_STORE",
    "MCPG_TOKENS": "MCPG_LOGIN_DIR",
}
"""The present names of former environment variables."""

_COMMANDS = {*OPTIONS, *(command for command, _ in VALUES)}
_told: set[str] = set()


def replace_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return *arguments* with present names, and the notes about former ones."""
    words = [
        place
        for place, word in enumerate(arguments)
        if word[:1] != "-" and (not place or arguments[place - 1] != "--color")
    ]
    command = arguments[words[0]] if words else ""
    if command not in _COMMANDS:
        return [*arguments], []
    options, found, notes, option = OPTIONS.get(command, {}), list[str](), list[str](), ""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    for place, word in enumerate(arguments[:end]):
        flag, is_joined, value = word.partition("=") if word[:2] == "--" else ("", "", word)
        if flag in options:
            notes.append(make_note(flag, options[flag]))
            flag = options[flag]
        option = flag or option
        known = VALUES.get((command, option)) or VALUES.get((command, ""), {})
        if value in known and place != words[0]:
            notes.append(make_note(value, known[value], option))
            value = known[value]
        found.append(f"{flag}{is_joined}{value}")
        option = flag
    return [*found, *arguments[end:]], notes


def replace_variables(environment: MutableMapping[str, str]) -> list[str]:
    """Set the present variables to the values of former ones, and return the notes about these."""
    former = [old for old in VARIABLES if environment.get(old)]
    for old in former:
        environment.setdefault(VARIABLES[old], environment[old])
    return [make_note(old, VARIABLES[old]) for old in former]


def replace_settings(table: Mapping[str, Any], file: str) -> dict[str, str]:
    """Give the settings in *table*, read from a *file*, their present names and values.

    Each former name is reported once.

    Returns:
        The former names by the present ones.
    """
    renamed, notes = dict[str, str](), list[str]()
    sections = {name: held for name, held in table.items() if isinstance(held, dict)}
    for old, new in SETTINGS.items():
        name, _, key = old.partition(".")
        section, present = sections.get(name, {}), new.partition(".")[2]
        if key in section:
            if present not in section:  # else that counts
                section[present], renamed[new] = section[key], old
            del section[key]
            notes.append(make_note(old, new))
    for name, values in SETTING_VALUES.items():
        table_name, _, key = name.partition(".")
        value = sections.get(table_name, {}).get(key)
        if isinstance(value, str) and value in values:
            sections[table_name][key] = values[value]
            notes.append(make_note(value, values[value], name))
    for note in notes:
        if f"{file}: {note}" not in _told:
            _told.add(f"{file}: {note}")
            Output().note(f"{file}: {note}")
    return renamed


def make_note(old: str, new: str, subject: str = "") -> str:
    """Return the note that *old*, a value of the *subject* if there is one, is now *new*."""
    return f"{subject + ' ' if subject else ''}{old} is now {new}"
