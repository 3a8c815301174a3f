"""Settings of a plain search, read without the libraries that check and explain settings.

`tomllib` takes longer to import than a search takes, so files that are written plainly, as most
are, are read here. Whatever else there is, such as a mistake, is left to `mcpg.cli.settings`, which
reads all of TOML and reports what is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from mcpg.cli.environment import KEYS, SECTIONS, SOURCES, holds_password

_LONGEST = 64 * 1024
_MOST_DIGITS = 9
_BLANK = " \t"
_ENDS = " \t,]#"
_LITERALS = {"true": True, "false": False}
# What a search by the graph alone does without.
_NEEDS_MORE = ("normalization.enabled", "telemetry.enabled")
_LEFT_IN_VARIABLES = ("fusion", "candidates", "lexicon", *_NEEDS_MORE)
_BY_GRAPH = ("graph", "markdown-ld")


class NotPlainError(Exception):
    """Settings that are left to `mcpg.cli.settings`."""


def plain_settings(file: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a plain search that the environment, or else a file, sets.

    Args:
        file: The path of an `mcpg.toml`, "" for none.
        environment: Environment variables.

    Raises:
        NotPlainError: Something is not plain, or asks for more than a plain search.
        OSError: The file cannot be read.
        ValueError: It is not UTF-8.
    """
    if any(environment.get(KEYS[name].variable) for name in _LEFT_IN_VARIABLES):
        raise NotPlainError
    found = _read(file) if file else {}
    found |= _of_environment(environment)
    if found.get("strategy", _BY_GRAPH[0]) not in _BY_GRAPH:
        raise NotPlainError
    return found


def _of_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("bundle", "strategy", "limit"):
        text = environment.get(KEYS[name].variable, "")
        if text:
            found[name] = _number(text) if KEYS[name].plain is int else text
    return found


def _read(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs more than the search
        data = file.read(_LONGEST + 1)
    values = plain_values(data.decode("utf-8-sig"))
    if any(values.get(name) for name in _NEEDS_MORE):
        raise NotPlainError
    read = ("limit", "strategy", "lexicon")
    found: dict[str, Any] = {name: values[name] for name in read if name in values}
    if "bundle" in values:
        found["bundle"] = os.path.join(os.path.dirname(path), values["bundle"])  # noqa: PTH118, PTH120 - as above
    return found


def plain_values(text: str) -> dict[str, Any]:
    """Return the settings in the *text* of a file by name, without its sources.

    Raises:
        NotPlainError: It is long, or not plain, or only the models can tell whether it is valid.
    """
    if len(text) > _LONGEST:
        raise NotPlainError
    values = read_plain_toml(text)
    for name, held in values.items():
        if name not in KEYS or not KEYS[name].is_plain(held):
            raise NotPlainError
        if isinstance(held, str) and holds_password(held):
            raise NotPlainError
    return values


def read_plain_toml(text: str) -> dict[str, Any]:
    """Return the values of a TOML document by name, those of sections as `section.key`.

    The tables of `[[sources]]` are passed over.

    Raises:
        NotPlainError: There is anything but tables of settings and sources, and keys without
            quotes, each with a string, a whole number, a truth value, or a list of such, on one
            line and without escapes.
    """
    values: dict[str, Any] = {}
    section, known = "", {""}
    for line in text.replace("\r\n", "\n").split("\n"):
        bare = line.strip(_BLANK)
        if not bare.replace("\t", "").isprintable():
            raise NotPlainError
        if bare[:1] == "[":
            section = _header(bare)
            if section in known and section != SOURCES:
                raise NotPlainError
            known = {*known, section}
            held: set[str] = set()
        elif bare and bare[0] != "#":
            key, value = _statement(bare)
            name = f"{section}.{key}" if section else key
            held = held if section else set(values)
            if name in held or key in SECTIONS:
                raise NotPlainError
            held.add(name)
            if section != SOURCES:
                values[name] = value
    return values


def _header(line: str) -> str:
    """Return the name of the table that begins with a *line*: a section, or that of a source."""
    header = line.partition("#")[0].rstrip(_BLANK)
    if header == f"[[{SOURCES}]]":
        return SOURCES
    section = header[1:-1]
    if header[-1:] != "]" or section not in SECTIONS:
        raise NotPlainError
    return section


def _statement(line: str) -> tuple[str, Any]:
    key, _, rest = line.partition("=")
    key = key.rstrip(_BLANK)
    if not (key.isascii() and key.replace("_", "").isalnum()):
        raise NotPlainError
    value, rest = _value(rest)
    if rest and rest[0] != "#":
        raise NotPlainError
    return key, value


def _value(text: str) -> tuple[Any, str]:
    """Return the value that a *text* begins with, and what follows."""
    text = text.lstrip(_BLANK)
    quote = text[:1]
    if quote in ('"', "'"):
        value, closing, rest = text[1:].partition(quote)
        # Three quotation marks begin a text of several lines.
        if not closing or "\\" in value or (not value and rest[:1] == quote):
            raise NotPlainError
        return value, rest.lstrip(_BLANK)
    if quote == "[":
        return _list(text[1:].lstrip(_BLANK))
    end = min([place for place in map(text.find, _ENDS) if place >= 0], default=len(text))
    word, rest = text[:end], text[end:].lstrip(_BLANK)
    return (_LITERALS[word] if word in _LITERALS else _number(word)), rest


def _list(text: str) -> tuple[list[Any], str]:
    found = []
    while text[:1] != "]":
        if text[:1] == "[":
            raise NotPlainError
        value, text = _value(text)
        found.append(value)
        if text[:1] == ",":
            text = text[1:].lstrip(_BLANK)
        elif text[:1] != "]":
            raise NotPlainError
    return found, text[1:].lstrip(_BLANK)


def _number(text: str) -> int:
    """Return the whole number above 0 that *text* is, in digits alone."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and text[0] != "0"):
        raise NotPlainError
    return int(text)
