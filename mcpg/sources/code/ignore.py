"""The rules of `.gitignore` files, as expressions whose matching never tries the same way twice.

What follows a wildcard is matched where it first can be, as `fnmatch` does: a later place would
leave less for the next wildcard. A file of a stranger thus takes no exponential time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(r"\\(.)|(\*+)|(\?)|\[([!^]?+)(\]?+(?:\\.|[^\]\\])*)\]|(.)", re.DOTALL)
_IN_SET = re.compile(r"\\(.)|([^-]|(?<=.-)-)", re.DOTALL)
_TRAILING_BLANKS = re.compile(r"(?<!\\)[ \r]+\Z")
_ANY_FOLDERS = "(?:[^/]+/)*"
_LONGEST = 1024  # compiling takes long


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of a `.gitignore` file.

    Attributes:
        path: Matches whole paths, relative to the folder of the file.
        is_for_folders: Whether only folders match.
        ignores: Whether what matches is ignored; `False` for a line that begins with `!`.
    """

    path: re.Pattern[str]
    is_for_folders: bool
    ignores: bool


def read_rules(text: str) -> Iterator[IgnoreRule]:
    """Yield the rules of a `.gitignore` file in their order; an invalid line makes none."""
    for line in text.split("\n"):
        pattern = _TRAILING_BLANKS.sub("", line)
        negated = pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        if pattern.strip("/") and not line.startswith("#") and len(pattern) <= _LONGEST:
            try:
                path = re.compile(_path(pattern), re.DOTALL)
            except re.error:  # such as a range from z to a
                continue
            yield IgnoreRule(path, pattern.endswith("/"), not negated)


def _path(pattern: str) -> str:
    """Translate a pattern of paths to a regular expression."""
    names = pattern.strip("/").split("/")
    if "/" not in pattern.rstrip("/"):
        names.insert(0, "**")
    parts: list[list[str]] = [[]]
    for name in names:
        if name == "**":
            parts.append([])
        else:
            parts[-1].append(_name(name))
    first, *others = ("".join(f"{name}/" for name in part) for part in parts)
    if not others:
        return first.removesuffix("/")
    *middle, last = others
    inner = "".join(f"(?>{_ANY_FOLDERS}?{part})" for part in middle if part)
    return f"{first}{inner}{_ANY_FOLDERS}{last.removesuffix('/') or '[^/]+'}"


def _name(pattern: str) -> str:
    """Translate a pattern of names, without a slash, to a regular expression."""
    chunks = [""]
    for token in _TOKEN.finditer(pattern):
        escaped, stars, question, negation, members, plain = token.groups()
        if stars:
            chunks.append("")
        elif question:
            chunks[-1] += "[^/]"
        elif members:
            kept = _IN_SET.sub(lambda one: re.escape(one[1] or one[2]), members)
            chunks[-1] += f"[^/{kept}]" if negation else f"[{kept}]"
        else:
            chunks[-1] += re.escape(escaped or plain)
    first, *others = chunks
    if not others:
        return first
    *middle, last = others
    return f"{first}{''.join(f'(?>[^/]*?{one})' for one in middle)}[^/]*{last}"
