"""HTML markup, put together so that no text of others can become markup."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any, TypeAlias

from mcpg.text.safeyaml import escape_unsafe

Child: TypeAlias = str | Iterable["Child"] | None
Attribute: TypeAlias = str | float | bool | None

_VOID = frozenset({"input", "link", "meta"})
# Within a script element nothing but `</script` and `<!--` means anything to the parser of HTML;
# the two separators end a line for old parsers of JavaScript.
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028"} | {
    "\u2029": "\\u2029"
}
_ESCAPES = str.maketrans(_IN_SCRIPT)


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """Write an element.

    Args:
        name: Its tag.
        children: What is in it: markup as it stands, other text escaped, nested iterables in
            order, `None` left out.
        attributes: By name, where `_` stands for `-` and one at the end is dropped (`class_`);
            `None` and `False` are left out, `True` is an attribute without a value.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{join_markup(*children)}</{name}>")


def join_markup(*children: Child) -> Markup:
    """Write *children* one after the other."""
    return Markup("".join(map(_child, children)))


def verbatim(name: str, content: str, **attributes: Attribute) -> Markup:
    """Write an element whose trusted *content* the parser of HTML takes as it is."""
    return element(name, Markup(content), **attributes)


def embed_json(value: Any, identity: str) -> Markup:
    """Write the JSON *value* into a block of data that scripts find by *identity*.

    Characters that hide, reorder or steer become visible escapes, as everywhere on the page.
    """
    text = json.dumps(escape_unsafe_json(value), ensure_ascii=False, separators=(",", ":"))
    return verbatim("script", text.translate(_ESCAPES), type="application/json", id=identity)


def escape_unsafe_json(value: Any) -> Any:
    """Return the JSON *value* with what is unsafe in its texts made visible."""
    if isinstance(value, str):
        return escape_unsafe(value)
    if isinstance(value, dict):
        return {escape_unsafe(key): escape_unsafe_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [escape_unsafe_json(part) for part in value]
    return value


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return html.escape(escape_unsafe(child))
    return "".join(map(_child, child))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = value if isinstance(value, str) else f"{value:g}"
    return f' {name}="{html.escape(escape_unsafe(text))}"'
