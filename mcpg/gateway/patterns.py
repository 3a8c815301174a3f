"""Regular expressions that others wrote, run by an engine whose time is linear in the text."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

_LONGEST = 500
_LARGEST = 20_000
_MOST_STEPS = 5_000_000
_TO_COMPILE = 100
_UNICODE_CLASS = 100
_TOKEN = re.compile(r"\\.|\[(?:\\.|[^\\\]])*\]|\{[^}]*\}|\(\?[a-zA-Z-]*|.", re.DOTALL)
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_UNICODE = re.compile(r"\\[dDpPsSwW]")
_SET_OPERATOR = re.compile(r"\[|&&|--|~~")
_NUMBER = re.compile("[0-9]{1,9}")


def finds(pattern: str, text: str) -> bool | None:
    """Search for *pattern* in *text*, or give `None` where that cannot be done within bounds.

    Lookaround and back references have no linear time, so that patterns with them give `None`.
    """
    if steps(pattern, text) > _MOST_STEPS or not _is_unicode(text):
        return None
    compiled = _compiled(pattern)
    return compiled.isinstance_python(text) if compiled is not None else None


def steps(pattern: str, text: str) -> float:
    """Bound the steps of a search: the states of the automaton times the characters."""
    return _size(pattern) * (_TO_COMPILE + len(text))


@lru_cache(maxsize=1024)
def _size(pattern: str) -> float:
    """Estimate the states that *pattern* needs, infinitely many where it is not run at all.

    Repetitions are written out by the engine, so that nested ones multiply.
    """
    parts: list[str] = _TOKEN.findall(pattern)
    if len(pattern) > _LONGEST or any(map(_means_something_else, parts)):
        return math.inf
    groups = [[1]]
    for part in parts:
        if part.startswith("("):
            groups.append([1])
        elif part == ")" and len(groups) > 1:
            inner = sum(groups.pop())
            groups[-1].append(inner)
        elif part.startswith("{"):
            groups[-1][-1] *= 1 + max(map(int, _NUMBER.findall(part)), default=0)
        else:
            groups[-1].append(1 + len(part) // 8 + _UNICODE_CLASS * len(_UNICODE.findall(part)))
    size = sum(map(sum, groups))
    return size if size <= _LARGEST else math.inf


def _means_something_else(part: str) -> bool:
    """Return whether the engine reads *part* otherwise than ECMA-262, which JSON Schema names."""
    if part.startswith("(?"):
        return "x" in part  # blanks and comments would be no part of the pattern
    if part.startswith("[") and part.endswith("]"):
        members = _ESCAPE.sub("", part[1:-1])
        return not part[1:-1].lstrip("^") or bool(_SET_OPERATOR.search(members))
    return part in {r"\<", r"\>"}


@lru_cache(maxsize=16)
def _compiled(pattern: str) -> SchemaValidator | None:
    """Compile *pattern*; some take ten megabytes."""
    schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True)
    try:
        return SchemaValidator(schema)
    except SchemaError:
        return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
