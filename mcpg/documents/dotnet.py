"""How the .NET library `ManagedCode.MarkdownLd.Kb` resolves the names in front matter.

These are the rules that decide whether it reads a document, and which labels are one node there.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterable, Mapping

import yaml

BUILT_IN: Mapping[str, str] = {
    "schema": "https://schema.org/",
    "kb": "urn:managedcode:markdown-ld-kb:vocab:",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""The prefixes that `rdf_types` and `rdf_properties` may use without declaring them."""

ONLY_IN_RULES: Mapping[str, str] = {
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
}
"""The prefixes that graph rules may use as well, where a document declares none."""

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.+)", re.DOTALL)
# Those that are no address without a host.
_OF_HOSTS = frozenset(
    {"ftp", "gopher", "http", "https", "net.pipe", "net.tcp", "nntp", "telnet", "ws", "wss"}
)
_WITH_SLASHES = _OF_HOSTS | {"file", "ldap"}
_AUTHORITY = re.compile(r"(?:[^/?#\\]*@)?(\[[^\]]*\]|[^/?#\\:@]*)(?::([0-9]*))?(?=[/?#\\]|\Z)")
_LABEL = re.compile(r"[\w-]{1,63}\Z")
_MOST_PORTS = 65_535


def is_uri(text: str) -> bool:
    """Return whether .NET takes *text* for an absolute URI, on every operating system.

    A text that begins with a slash is one on Linux only. In doubt the answer is no.
    """
    found = _URI.match(text.strip())
    if found is None:
        return False
    scheme, rest = found[1].lower(), found[2]
    if not rest.startswith("//"):
        return scheme not in _WITH_SLASHES and bool(rest.strip())
    authority = _AUTHORITY.match(rest, 2)
    if authority is None:
        return False
    host, port = authority.groups()
    if port and int(port) > _MOST_PORTS:
        return False
    return _is_host(host) if host else scheme not in _OF_HOSTS


def _is_host(text: str) -> bool:
    if text.startswith("["):
        try:
            ipaddress.IPv6Address(text[1:-1])
        except ValueError:
            return False
        return True
    return all(map(_LABEL.match, text.removesuffix(".").split(".")))


def resolves(name: str, prefixes: Mapping[str, str]) -> bool:
    """Return whether *name* stands for an IRI in `rdf_types` and `rdf_properties`.

    Args:
        name: A name with a prefix, or an IRI.
        prefixes: The namespace of each prefix in lower case.
    """
    prefix, colon, local = name.strip().partition(":")
    if not (prefix and colon and local):
        return False
    if prefix.lower() in prefixes:
        return is_uri(prefixes[prefix.lower()] + local)
    # Another IRI, such as `mailto:`, is taken for a name whose prefix is not declared.
    return ("://" in local or prefix.lower() == "urn" or local.startswith("//")) and is_uri(name)


_DROPPED = re.compile(r"[^a-z0-9\s-]")
_SPACE = re.compile(r"[\s-]+")


def slug(label: str) -> str:
    """Return what tells the node of *label* from those of others; only a-z, 0-9 and hyphens."""
    decomposed = unicodedata.normalize("NFD", label.strip().lower())
    plain = "".join(one for one in decomposed if unicodedata.category(one) != "Mn")
    return _SPACE.sub("-", _DROPPED.sub("", plain)).strip("-")


# YamlDotNet reads values with these tags as what they say.
_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("bool", "float", "int", "map", "str", "timestamp")
)


def reads_yaml(text: str) -> bool:
    """Return whether the YAML of a front matter is read, which may have aliases or repeat keys.

    A list that holds itself ends the process.
    """
    try:
        events = [*yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))]
    except yaml.YAMLError:
        return False
    is_mapping = len(events) > _ROOT and isinstance(events[_ROOT], yaml.MappingStartEvent)
    tags = {getattr(event, "tag", None) for event in events}
    return is_mapping and tags <= {None, *_TAGS} and _has_sound_aliases(events)


def _has_sound_aliases(events: Iterable[yaml.Event]) -> bool:
    """Return whether each alias is of something that has an anchor before, and has ended."""
    opened: list[str | None] = []
    known: set[str | None] = set()
    for event in events:
        kind, anchor = type(event).__name__, getattr(event, "anchor", None)
        if kind == "AliasEvent" and (anchor in opened or anchor not in known):
            return False
        known.add(anchor)
        if kind in {"MappingStartEvent", "SequenceStartEvent"}:
            opened.append(anchor)
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            opened.pop()
    return True


# Behind the events that begin the stream and the document.
_ROOT = 2
