"""Plain forms of expressions and types: dotted names, with `()` for a call."""

from __future__ import annotations

import re

UNKNOWN = "?"
"""The plain form of an expression whose type cannot be told from names."""

_LONGEST = 300
_SIMPLE = re.compile(r"[\w$]+(?:\.[\w$]+)*\Z")
_PLAIN = re.compile(r"[\w$]+(?:\(\))?(?:\.[\w$]+(?:\(\))?)*\Z")
_BEFORE = re.compile(r"(?:(?:await|new|mut|const|yield)\b|[&*(])\s*")
_OPEN, _CLOSE = "([{<", ")]}>"
_TYPE_WORDS = re.compile(
    r"(?:(?:mut|dyn|impl|const|final|readonly|ref|out|in)\s+|[&*?:\s]|'\w+\s)+"
)
_WRAPPED = re.compile(
    r"(?:typing\.)?(?:Optional|ClassVar|Final|Annotated|Type|type|Box|Rc|Arc|Option|Promise|Task)"
    r"\s*[\[<](?P<inner>.*)[\]>]\Z",
    re.DOTALL,
)
_NOTHING = frozenset({"None", "null", "undefined"})
_WRAPPERS = 4


def plain_expression(text: str) -> str:
    """Return the dotted name that *text* is, `UNKNOWN` for other expressions.

    Arguments are left out: `Shop(1).items` becomes `Shop().items`, and so does a literal of a
    struct, `Shop{...}`.
    """
    if len(text) > _LONGEST:
        return UNKNOWN
    if _SIMPLE.match(text):
        return text
    text = text.strip()
    while (before := _BEFORE.match(text)) is not None:
        text = text[before.end() :]
        if before[0].startswith("("):
            text = text.removesuffix(")")
    flat = "".join(_without_arguments(text).split())
    for mark in ("::", "?.", "!.", "->"):
        flat = flat.replace(mark, ".")
    return flat if _PLAIN.match(flat) else UNKNOWN


def _without_arguments(text: str) -> str:
    """Empty the outermost brackets; those of type arguments go, a subscript stays unknown."""
    parts: list[str] = []
    depth = 0
    for character in text:
        if character in _OPEN:
            depth += 1
            if depth == 1 and character != "<":
                parts.append("[" if character == "[" else "()")
        elif character in _CLOSE:
            depth -= 1
        elif depth == 0:
            parts.append(character)
    return "".join(parts).replace(".()", "()")


def plain_type(text: str) -> str:
    """Return the dotted name of the type *text* without wrappers, `UNKNOWN` for other types."""
    if len(text) > _LONGEST:
        return UNKNOWN
    for _ in range(_WRAPPERS):
        text = _TYPE_WORDS.sub("", text.strip().strip("\"'"), count=1).rstrip("?! ")
        choices = [part.strip() for part in text.split("|")]
        known = [part for part in choices if part not in _NOTHING]
        text = known[0] if len(known) == 1 else text
        wrapped = _WRAPPED.match(text)
        if wrapped is None:
            break
        text = wrapped["inner"]
    text = text.partition("<")[0].strip().replace("::", ".")
    if "[" in text and not text.endswith("[]"):
        text = text.partition("[")[0]
    return text if _SIMPLE.match(text) else UNKNOWN
