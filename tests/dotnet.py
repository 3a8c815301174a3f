"""What the .NET library's Markdown-LD reader makes of relations, restated from recordings.

It reads the front matter of each document alone: a target is an absolute address or the label of a
thing, and never the path, the title or the id of a document. Links in prose make no relations.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcpg.catalog.model import SourceDocument

    Statement = tuple[str, str, str]

BASE = "https://managedcode.com/mcpgateway/knowledge/"
VOCABULARY = "urn:managedcode:markdown-ld-kb:vocab:"
RELATED, NEXT, MEMBER = (f"{VOCABULARY}{name}" for name in ("relatedTo", "nextStep", "memberOf"))

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.|/")
_PREFIXES = {
    "schema": "https://schema.org/",
    "kb": VOCABULARY,
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_NAMES = {
    "relatedto": RELATED,
    "memberof": MEMBER,
    "nextstep": NEXT,
    **{
        name.casefold(): f"https://schema.org/{name}"
        for name in [
            "mentions",
            "about",
            "author",
            "creator",
            "hasPart",
            "sameAs",
            "description",
            "keywords",
        ]
    },
}
_LISTS = {"graph_related": RELATED, "graph_next_steps": NEXT, "graph_groups": MEMBER}
_IDS = ("id", "targetid", "target_id", "objectid", "object_id")
_LABELS = ("label", "name", "value", "target", "object")
_ITSELF = {"article", "this article", "document"}


class _Texts(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Takes every scalar for a text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as PyYAML has it
        first: [(tag, found) for tag, found in pairs if tag.endswith(":null")]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def relations(documents: Iterable[SourceDocument]) -> set[Statement]:
    """Return subject, predicate and object of every edge that is read of *documents*."""
    fronts = [(iri(one.canonical_uri or BASE), _front(one.content)) for one in documents]
    found = [edge for uri, front in fronts for edge in _edges(uri, front)]
    same: dict[str, str] = {}
    # Addresses are compared without regard to case, and written as they stand first.
    spelt = {one.casefold(): one for one in (RELATED, NEXT, MEMBER)}
    for uri, front in fronts:
        for thing, addresses in _things(uri, front):
            spelt.setdefault(thing.casefold(), thing)
            for address in addresses:
                same.setdefault(address.casefold(), thing)

    def node(name: str) -> str:
        known = same.get(name.casefold(), name)
        return spelt.setdefault(known.casefold(), known)

    return {
        (node(one), node(predicate), target if predicate.endswith("sameAs") else node(target))
        for one, predicate, target in found
    }


def _front(content: str) -> Mapping[str, Any]:
    """Return the front matter by keys in lower case; it ends at the first line of hyphens."""
    lines = content.removeprefix("\ufeff").split("\n")
    ends = [at for at, line in enumerate(lines) if line.strip() == "---"]
    if not ends or ends[0] != 0:
        return {}
    front = yaml.load("\n".join(lines[1 : ends[1]]), Loader=_Texts)
    return {key.casefold(): value for key, value in (front or {}).items()}


def _items(front: Mapping[str, Any], key: str) -> Iterator[Any]:
    for spelling in dict.fromkeys((key, key.replace("_", ""))):
        value = front.get(spelling)
        yield from value if isinstance(value, list) else [value] if value else []


def _edges(uri: str, front: Mapping[str, Any]) -> Iterator[Statement]:
    for key, predicate in _LISTS.items():
        targets = (_node(item, uri) for item in _items(front, key))
        yield from ((uri, predicate, target) for target in targets if target)
    for item in _items(front, "graph_edges"):
        members = _lower(item)
        subject = _first(members, ("subjectid", "subject_id", "subject"))
        keys = ("objectid", "object_id", "targetid", "target_id", "object", "target")
        target = _node(_first(members, keys), uri)
        predicate = _predicate(_first(members, ("predicate",)))
        if target and predicate:
            yield _node(subject, uri) or uri, predicate, target


def _things(uri: str, front: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Return the node of each thing, and the addresses that stand for it as well."""
    for key in ("graph_entities", *_LISTS):
        for item in _items(front, key):
            members = _lower(item)
            given = members.get("sameas", members.get("same_as")) or []
            addresses = given if isinstance(given, list) else [given]
            if thing := _node(item, uri):
                yield thing, [iri(one) for one in addresses if _ABSOLUTE.match(one)]


def _lower(item: Any) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        return {}
    return {key.casefold(): value for key, value in item.items()}


def _first(members: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Return the first text; a mapping or a list becomes the name of its type."""
    held = next((members[key] for key in keys if members.get(key)), "")
    if isinstance(held, list):
        return "System.Object[]"
    kind = "System.Collections.ObjectModel.ReadOnlyDictionary`2[System.String,System.Object]"
    return kind if isinstance(held, dict) else held.strip()


def _node(item: Any, uri: str) -> str:
    name = item.strip() if isinstance(item, str) else _first(_lower(item), (*_IDS, *_LABELS))
    if name.casefold() in _ITSELF:
        return uri
    if not name:
        return ""
    return iri(name) if _ABSOLUTE.match(name) else f"{BASE}id/{slug(name)}"


def _predicate(name: str) -> str:
    prefix, colon, local = name.partition(":")
    if not colon:
        return _NAMES.get(name.casefold(), "")
    if prefix.casefold() in _PREFIXES:
        return _PREFIXES[prefix.casefold()] + local
    return name if _ABSOLUTE.match(name) else ""


def slug(label: str) -> str:
    """Return what the address of a label ends with."""
    bare = "".join(
        one for one in unicodedata.normalize("NFD", label) if not unicodedata.combining(one)
    )
    return re.sub(r"[\s-]+", "-", re.sub(r"[^a-z0-9\s-]", "", bare.lower())).strip("-")


def iri(address: str) -> str:
    """Return an absolute address in the form in which it is written."""
    if address.startswith("/"):
        return iri(f"file://{address}")
    scheme, _, rest = address.strip().partition(":")
    if not rest.startswith("//"):
        return f"{scheme.lower()}:{_escaped(rest)}"
    parts = urlsplit(f"x:{rest}")
    port = {"http": ":80", "https": ":443"}.get(scheme.lower(), ":")
    host = parts.netloc.lower().removesuffix(port)
    path = _escaped(_without_dots(parts.path) or "/")
    query = f"?{_escaped(parts.query)}" if parts.query else ""
    fragment = f"#{_escaped(parts.fragment)}" if "#" in rest else ""
    return f"{scheme.lower()}://{host}{path}{query}{fragment}"


def _without_dots(path: str) -> str:
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            kept = kept[:-1] if len(kept) > 1 else kept
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept)


def _escaped(text: str) -> str:
    """Escape what an address cannot hold, and unescape letters, digits and `-._~`."""
    whole = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", text)
    plain = re.sub(
        "%[0-9A-Fa-f]{2}",
        lambda found: (
            unquote(found[0])
            if re.match(r"[A-Za-z0-9._~-]\Z", unquote(found[0]))
            else found[0].upper()
        ),
        whole,
    )
    return quote(plain, safe="%/:?#[]@!$&'()*+,;=~-._")
