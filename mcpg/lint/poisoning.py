"""Rules on texts that attack: instructions to a model, concealment, exfiltration, secrets.

They look for what an attack has to state, not for what it is about: tools that describe prompts,
links, keys or tokens are no attack, and neither is a phrase in quotation marks.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from mcpg.catalog.model import Tool
from mcpg.lint.catalogue import Linted, found_in
from mcpg.lint.model import Finding
from mcpg.lint.strings import Text, texts_of

_BREAK = re.compile(r"\s*\n\s*")


def _compiled(
    pattern: str, parts: Mapping[str, str], flags: int = re.IGNORECASE
) -> re.Pattern[str]:
    """Return the regular expression that *pattern*, as the data file has it, stands for."""
    for name, part in parts.items():
        pattern = pattern.replace(f"@{name}@", part.strip())
    return re.compile(_BREAK.sub("", pattern.strip()).replace(" ", r"\s+"), flags)


def _read() -> Mapping[str, Any]:
    return tomllib.loads((files("mcpg.lint") / "data" / "poisoning.toml").read_text("utf-8"))


_DATA = _read()
_RULES: Mapping[str, list[re.Pattern[str]]] = {
    code: [_compiled(one, _DATA["parts"]) for one in patterns]
    for code, patterns in _DATA["patterns"].items()
}
_SUSPECTS = frozenset(_DATA["suspects"]["words"].split())
_SIGNS: Sequence[str] = _DATA["suspects"]["signs"]
_MARKS: Sequence[str] = _DATA["secrets"]["marks"]
_SECRETS = _compiled("|".join(_DATA["secrets"]["patterns"]), {}, 0)
_PLACEHOLDER = _compiled(_DATA["secrets"]["placeholder"], {})
_WHAT = {
    "X101": "gives instructions to the model",
    "X102": "asks the model to hide something from the user",
    "X103": "asks the model to hand over what is private",
    "X104": "has a link that can carry data away",
    "X105": "has a secret",
    "X106": "has hidden or active HTML",
}
_REMEDY = {
    "X105": "revoke it, then remove it: whoever read the tool has it",
    "X106": "remove it: models read what pages do not show",
}
_FEWEST_SIGNS = 8
_MOST_CHARACTERS, _WINDOW, _OVERLAP = 32_768, 4_096, 512
_QUOTES = "\"'`“”‘’«»"  # noqa: RUF001
_QUOTED_CODES = ("X101", "X102", "X103")
_WORD = re.compile(r"[a-z]{3,}")


def _may_attack(text: str) -> bool:
    """Return whether *text* has a sign or word that every attack has one of; most have none."""
    lower = text.lower()
    if any(sign in lower for sign in _SIGNS):
        return True
    return " " in text.strip() and not _SUSPECTS.isdisjoint(_WORD.findall(lower))


def check(catalogue: Linted) -> Iterator[Finding]:
    """Yield texts of tools that attack whoever reads them."""
    clean: set[str] = set()  # schemas repeat their texts
    for tool in catalogue.tools:
        for text in texts_of(tool):
            if text.is_key or len(text.text) < _FEWEST_SIGNS or text.text in clean:
                continue
            found = [*_attacks(tool, text)]
            if not found:
                clean.add(text.text)
            yield from found


def _attacks(tool: Tool, text: Text) -> Iterator[Finding]:
    if any(mark in text.text for mark in _MARKS):
        secrets = (one for one in _SECRETS.finditer(text.text) if is_secret(one[0]))
        secret = next(secrets, None)
        if secret is not None:
            yield _finding("X105", tool, text, secret)
    if not _may_attack(text.text):
        return
    for code, patterns in _RULES.items():
        found = next(filter(None, (_first(one, code, text.text) for one in patterns)), None)
        if found is not None:
            yield _finding(code, tool, text, found)


def _first(pattern: re.Pattern[str], code: str, text: str) -> re.Match[str] | None:
    # Windows bound the time that a text made for it can take.
    for start in range(0, min(len(text), _MOST_CHARACTERS), _WINDOW - _OVERLAP):
        for found in pattern.finditer(text, start, start + _WINDOW):
            if code not in _QUOTED_CODES or not _is_quoted(text, found):
                return found
    return None


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    """Return whether a phrase stands in quotation marks, as one that is spoken about does."""
    before = text[: found.start()].rstrip()
    after = text[found.end() :].lstrip(" .!,")
    return before[-1:] in _QUOTES and bool(before) and any(sign in after[:80] for sign in _QUOTES)


def is_secret(text: str) -> bool:
    """Return whether *text*, which has the form of a secret, is none of an example."""
    return _PLACEHOLDER.search(text) is None and len(set(text)) >= _FEWEST_SIGNS


def _finding(code: str, tool: Tool, text: Text, found: re.Match[str]) -> Finding:
    where = ".".join(map(str, text.member))
    return found_in(
        code,
        tool,
        f"the {where} of {tool.id!r} {_WHAT[code]}",
        *text.member,
        text=text.text,
        start=found.start(),
        size=max(1, found.end() - found.start()),
        suggestion=_REMEDY.get(code, "do not use the tool before a person has reviewed it"),
    )
