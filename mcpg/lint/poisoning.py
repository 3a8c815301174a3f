"""Rules on texts that attack: instructions to a model, concealment, exfiltration, secrets.

They look for what an attack has to state, not for what it is about: tools that describe prompts,
links, keys or tokens are no attack, and neither is a phrase in quotation marks.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from mcpg.catalog.model import Tool
from mcpg.lint.catalogue import make_finding
from mcpg.lint.lookalikes import plain
from mcpg.lint.model import Finding
from mcpg.lint.strings import ToolText

_BREAK = re.compile(r"\s*\n\s*")


def _compile_pattern(
    pattern: str, parts: Mapping[str, str], flags: int = re.IGNORECASE
) -> re.Pattern[str]:
    """Return the regular expression that *pattern*, as the data file has it, stands for."""
    for _ in _NESTED:
        for name, part in parts.items():
            pattern = pattern.replace(f"@{name}@", part.strip())
    return re.compile(_BREAK.sub("", pattern.strip()).replace(" ", r"\s+"), flags)


_NESTED = range(3)  # a part may hold others


class _Pattern(NamedTuple):
    """What an attack looks like.

    Attributes:
        code: The rule that it is of.
        signs: Lists of signs; a text has one of each, in lower case, or is no such attack.
        regex: The pattern.
    """

    code: str
    signs: tuple[tuple[str, ...], ...]
    regex: re.Pattern[str]

    def may_match(self, lower: str) -> bool:
        """Return whether a text, in lower case, with a sign of the first list has the others."""
        return all(any(sign in lower for sign in one) for one in self.signs[1:])


def _of_language(words: Mapping[str, Any]) -> Iterator[_Pattern]:
    """Yield the orders to dismiss earlier ones and to conceal something in a language."""
    is_spaced = max(words["ignore"]) < _FIRST_UNSPACED
    alone, end = (r"(?<!\w)", r"(?!\w)") if is_spaced else ("", "")
    part = {
        name: f"{alone}(?:{_BREAK.sub('', words[name].strip())}){end}"
        for name in ("ignore", "previous", "orders", "silent", "user")
    }
    earlier = _in_any_order(part["previous"], part["orders"])
    ordered = (earlier, part["ignore"]) if words.get("has_verb_last") else (part["ignore"], earlier)
    silent, user = part["silent"], part["user"]
    # Some languages have the user within what they have for "do not tell".
    condition = rf"(?!,?\s+{_DATA['parts']['CONDITION'].strip()}(?!\w))"
    concealed = f"(?:(?={_NEAR}{user}{condition}){silent}|{user}{_NEAR}{silent})"
    orders, users = (_beginnings(words[name]) for name in ("orders", "user"))
    yield _Pattern("X101", (orders,), _compile_pattern(_NEAR.join(ordered), {}))
    yield _Pattern("X102", (users,), _compile_pattern(concealed, {}))


# Letters from here on are of scripts whose words have no ends that `\b` finds.
_FIRST_UNSPACED = "\u0590"
_NEAR = r"[^.!?\n。！？।]{0,60}?"  # noqa: RUF001 - full stops of CJK and Hindi


def _in_any_order(one: str, other: str) -> str:
    return f"(?:{one}{_NEAR}{other}|{other}{_NEAR}{one})"


def _beginnings(alternatives: str) -> tuple[str, ...]:
    """Return the literal text that each of *alternatives* has."""
    found = (_LITERAL.search(_OPTIONAL.sub("", one)) for one in _TOP.findall(alternatives))
    return tuple({one[0].lower() for one in found if one})


_OPTIONAL = re.compile(r"\(\?:[^()]*\)\?")
_LITERAL = re.compile(r"(?:[^\W\d_](?![?*])|[ \u0300-\u0a00])+")
_TOP = re.compile(r"(?:[^|()]|\([^()]*\))+")


def _read() -> Mapping[str, Any]:
    return tomllib.loads((files("mcpg.lint") / "data" / "poisoning.toml").read_text("utf-8"))


_DATA = _read()
_PATTERNS: Sequence[_Pattern] = (
    *(
        _Pattern(
            one["code"],
            tuple(map(tuple, one["signs"])),
            _compile_pattern(one["pattern"], _DATA["parts"]),
        )
        for one in _DATA["patterns"]
    ),
    *(pattern for words in _DATA["languages"].values() for pattern in _of_language(words)),
)


def _by_sign(patterns: Sequence[_Pattern]) -> Sequence[tuple[str, tuple[int, ...]]]:
    """Return the signs of the first lists, each with the numbers of the patterns that have it."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number, pattern in enumerate(patterns):
        for sign in pattern.signs[0]:
            found[sign].append(number)
    return [(sign, tuple(numbers)) for sign, numbers in found.items()]


# Each text is looked at for all signs: one look for each, whatever has it.
_SIGNS = _by_sign(_PATTERNS)
_ASCII_SIGNS = [(sign, numbers) for sign, numbers in _SIGNS if sign.isascii()]
_MARKS: Sequence[str] = _DATA["secrets"]["marks"]
_SECRETS = _compile_pattern("|".join(_DATA["secrets"]["patterns"]), {}, 0)
_NAMED = _compile_pattern(_DATA["secrets"]["named"], {})
_NAMES: Sequence[str] = _DATA["secrets"]["names"]
_PLACEHOLDER = _compile_pattern(_DATA["secrets"]["placeholder"], {})
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
_WINDOW, _OVERLAP = 4_096, 512
_QUOTES = "\"'`“”‘’«»"  # noqa: RUF001
_QUOTED_CODES = ("X101", "X102", "X103")
_EXAMPLE = re.compile(r"\b(?:examples?|e\.g\.|such as)\b[^\n]{0,80}\n?\s*\Z", re.IGNORECASE)
_FEWEST_SEAMS = 3
_NEARBY = 120
_SEAM = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_SIGN = re.compile(r"[!@#$%^&*]")


def find_poisoning(tool: Tool, text: ToolText) -> Iterator[Finding]:
    """Yield the attacks in a text of *tool*, and in what it looks like."""
    if text.is_key or len(text.text) < _FEWEST_SIGNS:
        return
    found = [*_attacks(tool, text, text.text)]
    yield from found
    if not text.text.isascii() and not found:
        shown, places = _strip_invisible(text.text)
        if shown != text.text:
            for code, start, end in _match_attacks(shown):
                first, last = places[start], places[max(start, end - 1)] + 1
                yield _make_poisoning_finding(code, tool, text, first, last)


def _strip_invisible(text: str) -> tuple[str, Sequence[int]]:
    """Return what *text* looks like, less what is invisible, and where each character stands."""
    kept = [place for place, sign in enumerate(text) if not _is_unseen(sign)]
    return "".join(plain(text[place]) for place in kept), kept


def _is_unseen(sign: str) -> bool:
    return unicodedata.category(sign) == "Cf" and plain(sign) == sign


def _attacks(tool: Tool, text: ToolText, read: str) -> Iterator[Finding]:
    secret = _secret(read, text.holder)
    if secret is not None:
        yield _make_poisoning_finding("X105", tool, text, *secret)
    for code, start, end in _match_attacks(read):
        yield _make_poisoning_finding(code, tool, text, start, end)


def _match_attacks(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the code and the range of the first attack of each kind in *text*."""
    lower = text.lower()
    signs = _ASCII_SIGNS if lower.isascii() else _SIGNS
    numbers = {number for sign, some in signs if sign in lower for number in some}
    seen: set[str] = set()
    for pattern in map(_PATTERNS.__getitem__, sorted(numbers)):
        if pattern.code in seen or not pattern.may_match(lower):
            continue
        found = _first(pattern, text)
        if found is not None:
            seen.add(pattern.code)
            yield pattern.code, found.start(), found.end()


def _secret(text: str, name: str) -> tuple[int, int] | None:
    """Return where *text*, the value of a member called *name*, has a key, token or password."""
    if any(mark in text for mark in _MARKS):
        found = next((one for one in _SECRETS.finditer(text) if is_secret(one[0])), None)
        if found is not None:
            return found.span()
    lower = text.lower()
    if any(one in lower for one in _NAMES):
        for one in _NAMED.finditer(text):
            group = 1 if one[1] else 2
            if _is_random(one[group]):
                return one.span(group)
    is_value = " " not in text and any(one in name.lower() for one in _NAMES)
    return (0, len(text)) if is_value and _is_random(text) else None


def _is_random(value: str) -> bool:
    """Return whether *value* looks as if drawn by chance rather than written as words are."""
    if not is_secret(value):
        return False
    parts = re.split(r"[-_./]", value)
    seams = max(len(_SEAM.findall(part)) for part in parts)
    has_sign = _SIGN.search(value.strip("!@#$%^&*")) is not None
    return seams >= _FEWEST_SEAMS or (has_sign and seams > 0)


def _first(pattern: _Pattern, text: str) -> re.Match[str] | None:
    # Windows bound the time that a text made for it can take.
    for start in range(0, len(text), _WINDOW - _OVERLAP):
        for found in pattern.regex.finditer(text, start, start + _WINDOW):
            is_told = pattern.code in _QUOTED_CODES and _is_quoted(text, found)
            if not is_told:
                return found
    return None


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    """Return whether a phrase stands in quotation marks, as one that is spoken about does."""
    before = text[max(0, found.start() - _NEARBY) : found.start()].rstrip()
    if found[0][:1] == "\n" and _EXAMPLE.search(before):
        return True
    after = text[found.end() : found.end() + _NEARBY].lstrip(" .!,")
    return before[-1:] in _QUOTES and bool(before) and any(sign in after[:80] for sign in _QUOTES)


def is_secret(text: str) -> bool:
    """Return whether *text*, which has the form of a secret, is none of an example."""
    return _PLACEHOLDER.search(text) is None and len(set(text)) >= _FEWEST_SIGNS


def _make_poisoning_finding(code: str, tool: Tool, text: ToolText, start: int, end: int) -> Finding:
    where = ".".join(map(str, text.member))
    return make_finding(
        code,
        tool,
        f"the {where} of {tool.id!r} {_WHAT[code]}",
        *text.member,
        text=text.text,
        start=start,
        size=max(1, end - start),
        suggestion=_REMEDY.get(code, "do not use the tool before a person has reviewed it"),
    )
