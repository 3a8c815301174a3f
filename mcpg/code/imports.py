"""The names that import statements bind, from the text of the statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

EVERYTHING = "*"
"""The name of an import of all names of a module."""

GLOBAL = "**"
"""The name of an import of all names of a namespace for all files."""

_MOST_NAMES = 2000
_DEEPEST = 8


class Import(NamedTuple):
    """A name that an import statement binds.

    Attributes:
        local: The name in the file, `*` for all names of the module.
        module: The module as written, "" if a name of the file itself is exported.
        name: The name in the module, "" for the module itself.
        owner: Position of the definition around it, -1 for none.
    """

    local: str
    module: str
    name: str
    line: int
    owner: int = -1


_PYTHON_FROM = re.compile(r"from\s+(\.*\s*[\w.]*)\s+import\s+\(?(.*?)\)?\s*\Z", re.DOTALL)
_PYTHON_COMMENT = re.compile(r"#[^\n]*|\\\n")
_COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)
_AS = re.compile(r"\s+as\s+|\s*:\s*")
_QUOTED = re.compile(r"""["'`]([^"'`]+)["'`]""")
_BRACES = re.compile(r"\{([^{}]*)\}")
_JS_NAMESPACE = re.compile(r"\*\s*(?:as\s+([\w$]+))?")
_JS_DEFAULT = re.compile(r"(?:import|const|let|var)?\s*(?:type\s+)?([\w$]+)\s*(?:,|from\b|=)")
_WORD = re.compile(r"[\w$.]+")


def _names(text: str) -> Iterator[tuple[str, str]]:
    """Return name and local name of each of a list such as `a, b as c`."""
    for part in text.split(",")[:_MOST_NAMES]:
        name, _, local = _AS.sub(" as ", part.strip()).partition(" as ")
        name = name.removeprefix("type ").strip()
        if name:
            yield name, local.strip() or name


def _python(text: str) -> Iterator[tuple[str, str, str]]:
    text = _PYTHON_COMMENT.sub("", text)
    found = _PYTHON_FROM.match(text)
    if found:
        module = "".join(found[1].split())
        for name, local in _names(found[2]):
            yield (EVERYTHING if name == EVERYTHING else local), module, name
        return
    for name, local in _names(text.removeprefix("import")):
        if local != name:
            yield local, name, ""
            continue
        # `import a.b` binds `a`, and makes `a.b` known in it.
        top = name.partition(".")[0]
        yield top, top, ""
        if top != name:
            yield name, name, ""


def _javascript(text: str) -> Iterator[tuple[str, str, str]]:
    text = _COMMENT.sub("", text)
    quoted = _QUOTED.findall(text)
    if not quoted:
        # `export { a as b }`
        exported = _BRACES.search(text)
        for name, local in _names(exported[1]) if exported else ():
            if name != local:
                yield local, "", name
        return
    module, before = quoted[-1], text[: text.rindex(quoted[-1])]
    braces, namespace = _BRACES.search(before), _JS_NAMESPACE.search(before)
    default = _JS_DEFAULT.match(before)
    for name, local in _names(braces[1]) if braces else ():
        yield local, module, name
    if namespace:
        yield namespace[1] or EVERYTHING, module, "" if namespace[1] else EVERYTHING
    is_export = before.startswith("export")
    if default and not is_export and default[1] not in {"import", "type"}:
        yield default[1], module, "" if "require" in before else "default"
    elif not braces and not namespace:
        yield "", module, ""


def _go(text: str) -> Iterator[tuple[str, str, str]]:
    quoted = _QUOTED.search(text)
    if quoted:
        alias = text[: quoted.start()].strip()
        # Without another name, the package itself declares its name.
        is_whole = alias == "."
        yield (EVERYTHING if is_whole else alias), quoted[1], EVERYTHING if is_whole else ""


def _java(text: str) -> Iterator[tuple[str, str, str]]:
    words = _WORD.findall(text.replace("*", "$$"))
    module, _, name = (words[-1] if words else "").rpartition(".")
    if name == "$$":
        yield EVERYTHING, module, EVERYTHING
    elif name:
        yield name, module, name


def _csharp(text: str) -> Iterator[tuple[str, str, str]]:
    words = [word for word in _WORD.findall(text) if word not in {"global", "using", "static"}]
    if "=" in text and len(words) > 1:
        module, _, name = words[1].rpartition(".")
        yield words[0], module, name
    elif words:
        yield EVERYTHING, words[0], GLOBAL if text.startswith("global") else EVERYTHING


def _rust(text: str) -> Iterator[tuple[str, str, str]]:
    tree = text.partition("use ")[2].rstrip("; \n")
    for path in _expand_tree(tree, 0):
        target, _, alias = path.partition(" as ")
        module, _, name = target.strip().replace("::", ".").rpartition(".")
        if name == "self":
            module, _, name = module.rpartition(".")
        yield alias.strip() or name, module, name


def _expand_tree(tree: str, depth: int) -> Iterator[str]:
    """Return the paths of a tree such as `a::{b, c::{d, e}}`."""
    start, end = tree.find("{"), tree.rfind("}")
    if start < 0 or end < start or depth > _DEEPEST:
        yield tree.strip()
        return
    stem, inner = tree[:start].strip(), tree[start + 1 : end]
    level, begin = 0, 0
    for place, character in enumerate(f"{inner},"):
        level += (character == "{") - (character == "}")
        is_last = place == len(inner)
        part = inner[begin:place].strip()
        if (is_last and part) or (not is_last and character == "," and level == 0):
            yield from (stem + rest for rest in _expand_tree(part, depth + 1))
            begin = place + 1


READERS: Mapping[str, Callable[[str], Iterator[tuple[str, str, str]]]] = {
    "csharp": _csharp,
    "go": _go,
    "java": _java,
    "javascript": _javascript,
    "python": _python,
    "rust": _rust,
}
"""The readers by family: each yields the local name, the module, and the name in it."""
