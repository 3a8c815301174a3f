"""Former names of options, values, settings and variables, which work with a note.

Help, completion and schemas only have the present names. Arguments and variables are replaced
before anything reads them, settings when a file is read.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from itertools import islice
from typing import Any

from mcpg.cli.output import Output

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "": {"--normalize": "--rewrite", "--no-normalize": "--no-rewrite"},
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
"""By command, "" for all, the present names of former options."""

ARGUMENTS: Mapping[str, Mapping[str, str]] = {"invoke": {"--from": "SOURCE"}}
"""By command, the arguments that have the values of former options."""

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
} | {f"normalization.{key}": f"rewrite.{key}" for key in ("enabled", "model", "timeout", "url")}
"""The present names of former settings."""

SETTING_VALUES: Mapping[str, Mapping[str, str]] = {
    "lock.on_change": {"refuse": "fail"},
    "serve.expose": {"meta": "gateway", "found": "on-demand"},
}
"""By setting, the present forms of former values."""

VARIABLES: Mapping[str, str] = {
    "MCPG_CACHE": "MCPG_CACHE_DIR",
    "MCPG_NORMALIZE": "MCPG_REWRITE",
    "MCPG_STORE": "MCPG_EMBEDDING_STORE",
    "MCPG_TOKENS": "MCPG_LOGIN_DIR",
}
"""The present names of former environment variables."""

_told: set[str] = set()


def replace_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return *arguments* with present names, and the notes about former ones."""
    words = [
        place
        for place, word in enumerate(arguments)
        if word[:1] != "-" and (not place or arguments[place - 1] != "--color")
    ]
    command = arguments[words[0]] if words else ""
    options = {**OPTIONS[""], **OPTIONS.get(command, {})}
    arguments, notes = _move_values(arguments, ARGUMENTS.get(command, {}))
    found, option = list[str](), ""
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


def _move_values(given: Sequence[str], former: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the arguments *given* with the values of *former* options last, and the notes."""
    kept, moved, notes, words = list[str](), list[str](), list[str](), iter(given)
    for word in words:
        flag, is_joined, value = word.partition("=")
        if flag in former:
            moved += [value] if is_joined else islice(words, 1)
            notes.append(make_note(f"{flag} {former[flag]}", f"the argument {former[flag]}"))
        else:
            kept += [word, *words] if word == "--" else [word]
    return [*kept, *moved], notes


def replace_variables(environment: MutableMapping[str, str]) -> list[str]:
    """Set the present variables to the values of former ones, and return the notes about these."""
    former = [old for old in VARIABLES if environment.get(old)]
    for old in former:
        environment.setdefault(VARIABLES[old], environment[old])
    return [make_note(old, VARIABLES[old]) for old in former]


def replace_settings(table: dict[str, Any], file: str) -> dict[str, str]:
    """Replace former names and values of the settings in *table*, read from a *file*.

    Each former name is reported once.

    Returns:
        The former names by the present ones.
    """
    renamed, notes = dict[str, str](), list[str]()
    sections = {name: held for name, held in table.items() if isinstance(held, dict)}
    for old, new in SETTINGS.items():
        name, _, key = old.partition(".")
        section, (to, _, present) = sections.get(name, {}), new.partition(".")
        if key in section and isinstance(target := table.setdefault(to, {}), dict):
            if present not in target:  # else that counts
                target[present], renamed[new] = section[key], old
            del section[key]
            notes.append(make_note(old, new))
        if table.get(name) == {}:
            del table[name]
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
