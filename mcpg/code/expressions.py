"""Expressions and types of source code as dotted names."""

from __future__ import annotations

import re

UNKNOWN = "?"
"""The plain form of an expression of unknown type."""

LONGEST = 300
"""The longest expression that is read."""
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
NOTHING = frozenset({"None", "null", "undefined", "nil"})
"""The values without a type."""
_WRAPPERS = 4
_DEREFERENCED = ("Box", "Rc", "Arc")
# Languages in which brackets behind a type have its arguments.
_SUBSCRIPTED = frozenset({"go", "python"})


def plain_expression(text: str) -> str:
    """Return the dotted name that *text* is, `UNKNOWN` for other expressions.

    Arguments are left out: `Shop(1).items` becomes `Shop().items`, and so does a literal of a
    struct, `Shop{...}`.
    """
    if len(text) > LONGEST:
        return UNKNOWN
    if _SIMPLE.match(text):
        return text
    text = text.strip()
    while (before := _BEFORE.match(text)) is not None:
        text = text[before.end() :]
        if before[0].startswith("("):
            text = text.removesuffix(")")
    flat = "".join(_empty_brackets(text).split())
    for mark in ("::", "?.", "!.", "->"):
        flat = flat.replace(mark, ".")
    return flat if _PLAIN.match(flat) else UNKNOWN


def _empty_brackets(text: str) -> str:
    """Empty the outermost brackets; type arguments are dropped, a subscript stays unknown."""
    parts: list[str] = []
    depth = 0
    for character in text:
        if character in _OPEN:
            depth += 1
            # The body of a class without a name follows the arguments of its object.
            is_body = character == "{" and parts[-1:] == ["()"]
            if depth == 1 and character != "<" and not is_body:
                parts.append("[" if character == "[" else "()")
        elif character in _CLOSE:
            depth -= 1
        elif depth == 0:
            parts.append(character)
    return "".join(parts).replace(".()", "()")


def plain_type(text: str, family: str) -> str:
    """Return the dotted name of the type *text* without wrappers, `UNKNOWN` for other types."""
    if len(text) > LONGEST:
        return UNKNOWN
    # A quoted type is defined further down in Python, and is a string elsewhere.
    quotes = "\"'" if family == "python" else ""
    for _ in range(_WRAPPERS):
        text = _TYPE_WORDS.sub("", text.strip().strip(quotes or None), count=1).rstrip("?! ")
        choices = [part.strip() for part in text.split("|")]
        known = [part for part in choices if part not in NOTHING]
        text = known[0] if len(known) == 1 else text
        wrapped = _WRAPPED.match(text)
        if wrapped is None or (family == "rust" and not wrapped[0].startswith(_DEREFERENCED)):
            break
        text = wrapped["inner"]
    if family not in _SUBSCRIPTED and text.endswith("]"):
        return UNKNOWN
    text = text.partition("<")[0].strip().replace("::", ".")
    text = text.partition("[")[0] if family in _SUBSCRIPTED else text
    return text if _SIMPLE.match(text) else UNKNOWN
