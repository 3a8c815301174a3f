"""Which front matter makes the .NET library give a whole bundle up, as recorded of it.

It is written apart from the package, so that neither has the errors of the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

BUILT_IN = {
    "schema": "https://schema.org/",
    "kb": "urn:managedcode:markdown-ld-kb:vocab:",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
ABSOLUTE = re.compile(r"^(/|[A-Za-z][A-Za-z0-9+.-]*:.)")


class Strings(yaml.SafeLoader):
    """Every scalar is a text, and the last of two equal keys counts."""


Strings.yaml_implicit_resolvers = {
    first: [
        (tag, form)
        for tag, form in known
        if tag in ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")
    ]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def refusal(content: str) -> str | None:
    """Return why the document *content* is refused, `None` for one that is read."""
    text = content.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not re.match(r"---[ \t]*\n", text):
        return None
    end = re.search(r"\n---[ \t]*(\n|$)", text[3:])
    if not end:
        return "front matter does not close"
    try:
        front = yaml.load(text[3 : 3 + end.start()], Loader=Strings)
    except (yaml.YAMLError, RecursionError, TypeError):
        return "front matter is invalid"
    if front is None:
        return None
    return refusal_of(front) if isinstance(front, dict) else "front matter is invalid"


def refusal_of(front: Mapping[str, Any]) -> str | None:
    """Return why front matter with these values is refused, `None` where it is read."""
    names = dict(BUILT_IN)
    found = (_prefixes(front, names), _types(front, names), _properties(front, names))
    return next(filter(None, found), None)


def _prefixes(front: Mapping[str, Any], names: dict[str, str]) -> str | None:
    prefixes, stands = _pick(front, "rdf_prefixes", "rdfprefixes")
    if stands and not isinstance(prefixes, dict):
        return "rdf_prefixes must be a mapping"
    for key, value in (prefixes or {}).items():
        address = str(value or "").strip()
        if not str(key).strip() or not ABSOLUTE.match(address):
            return f"prefix {key} is not absolute"
        if names.setdefault(str(key).lower(), address) != address:
            return f"prefix {key} is bound already"
    return None


def _types(front: Mapping[str, Any], names: Mapping[str, str]) -> str | None:
    types, _ = _pick(front, "rdf_types", "rdftypes")
    for item in types if isinstance(types, list) else [types] if types else []:
        if str(item or "").strip() and _is_unresolved(item, names):
            return f"type {item} cannot be resolved"
    return None


def _properties(front: Mapping[str, Any], names: Mapping[str, str]) -> str | None:
    properties, stands = _pick(front, "rdf_properties", "rdfproperties")
    if stands and not isinstance(properties, dict):
        return "rdf_properties must be a mapping"
    for key, value in (properties or {}).items():
        if _is_unresolved(key, names):
            return f"property {key} cannot be resolved"
        if problem := _object(value, names):
            return problem
    return None


def _pick(front: Mapping[str, Any], snake: str, camel: str) -> tuple[Any, bool]:
    keys = {str(key).lower(): value for key, value in front.items()}
    return keys.get(snake, keys.get(camel)), snake in keys or camel in keys


def _is_unresolved(name: object, names: Mapping[str, str]) -> bool:
    text = str(name).strip()
    prefix, colon, rest = text.partition(":")
    if colon and prefix and rest:
        is_known = prefix.lower() in names or "://" in text or text.lower().startswith("urn:")
        return not is_known
    return not ABSOLUTE.match(text)


def _object(value: object, names: Mapping[str, str]) -> str | None:
    if isinstance(value, list):
        return next((found for item in value if (found := _object(item, names))), None)
    if not isinstance(value, dict):
        return None
    if str(value.get("id") or "").strip():
        is_bad = _is_unresolved(value["id"], names)
        return f"object {value['id']} cannot be resolved" if is_bad else None
    if "value" not in value:
        return "an object has neither id nor value"
    kind = value.get("datatype") or value.get("dataType")
    return f"datatype {kind} cannot be resolved" if kind and _is_unresolved(kind, names) else None
