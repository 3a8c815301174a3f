"""How the .NET library `ManagedCode.MarkdownLd.Kb` resolves the names in front matter.

These are the rules that decide whether it reads a document, and which labels are one node there.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import yaml

from mcpg.documents.addresses import label_iri
from mcpg.documents.checks import is_misspelt_triple
from mcpg.documents.facts import (
    LABEL_KEYS,
    PREFIXES,
    TARGET_KEYS,
    Path,
    means_itself,
    parse_facts,
    pick_text,
    scalar_text,
)
from mcpg.documents.front_matter import MAX_FRONT_MATTER
from mcpg.text.json_values import JsonObject, JsonValue

BUILT_IN = {name: PREFIXES[name] for name in ("schema", "kb", "prov", "rdf", "xsd")}
"""The prefixes that `rdf_types` and `rdf_properties` may use without declaring them."""

ONLY_IN_RULES = {name: PREFIXES[name] for name in ("owl", "rdfs", "skos")}
"""The prefixes that graph rules may also use, if a document does not declare them."""

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.+)", re.DOTALL)
# Schemes of URIs that are invalid without a host.
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
    if authority is None or int(authority[2] or 0) > _MOST_PORTS:
        return False
    host = authority[1]
    if host.startswith("["):
        try:
            return bool(ipaddress.IPv6Address(host[1:-1]))
        except ValueError:
            return False
    has_labels = all(map(_LABEL.match, host.removesuffix(".").split(".")))
    return has_labels if host else scheme not in _OF_HOSTS


def resolves(name: str, prefixes: Mapping[str, str]) -> bool:
    """Return whether *name* is an IRI in `rdf_types` and `rdf_properties`.

    It is an IRI, or has a prefix in *prefixes*, which maps lower-case prefixes to namespaces.
    """
    prefix, colon, local = name.strip().partition(":")
    if not (prefix and colon and local):
        return False
    if prefix.lower() in prefixes:
        return is_uri(prefixes[prefix.lower()] + local)
    # Another IRI, such as `mailto:`, is treated as a name whose prefix is not declared.
    return ("://" in local or prefix.lower() == "urn" or local.startswith("//")) and is_uri(name)


_DROPPED = re.compile(r"[^a-z0-9\s-]")
_SPACE = re.compile(r"[\s-]+")


def slug(label: str) -> str:
    """Return the identifier of the node of *label*; only a-z, 0-9 and hyphens."""
    decomposed = unicodedata.normalize("NFD", label.strip().lower())
    plain = "".join(one for one in decomposed if unicodedata.category(one) != "Mn")
    return _SPACE.sub("-", _DROPPED.sub("", plain)).strip("-")


# YamlDotNet honors these tags of values.
_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("bool", "float", "int", "map", "str", "timestamp")
)


def reads_yaml(text: str) -> bool:
    """Return whether the YAML of a front matter is read, which may have aliases or repeat keys.

    A list that contains itself ends the process.
    """
    try:
        events = [*yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))]
    except yaml.YAMLError:
        return False
    # Behind the events that begin the stream and the document.
    is_mapping = any(isinstance(event, yaml.MappingStartEvent) for event in events[2:3])
    if not is_mapping or {getattr(event, "tag", None) for event in events} - {None, *_TAGS}:
        return False
    # Each alias has to be of something that has an anchor before, and has ended.
    opened: list[str | None] = []
    known: set[str | None] = set()
    for event in events:
        anchor = getattr(event, "anchor", None)
        if isinstance(event, yaml.AliasEvent) and (anchor in opened or anchor not in known):
            return False
        known.add(anchor)
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append(anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
    return True


_DECLARABLE = {**ONLY_IN_RULES, "mcpg": PREFIXES["mcpg"]}
_KNOWN = {**BUILT_IN, **_DECLARABLE}
_PREFIXES = ("rdf_prefixes", "rdfprefixes")
_TYPES = ("rdf_types", "rdftypes")
_PROPERTIES = ("rdf_properties", "rdfproperties")
_KEYS = frozenset((*_PREFIXES, *_TYPES, *_PROPERTIES))
_ID, _VALUE, _DATATYPE = "id", "value", "datatype"
_SHOWN = 200


class PortableChange(NamedTuple):
    """A piece of front matter that is changed for other readers.

    Attributes:
        path: Keys and positions that lead to it.
        reason: Why.
        result: The replacement; "" if it is left out.
    """

    path: Path
    reason: str
    result: str = ""

    @property
    def message(self) -> str:
        """The change, and its reason."""
        reason, result = (
            text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
            for text in (self.reason, self.result)
        )
        done = f"the bundle has {result} instead" if result else "the bundle omits it"
        return f"{reason}: {done}, because the .NET gateway would reject the whole bundle"


def names_rdf(values: JsonObject) -> bool:
    """Return whether front matter with these *values* declares or uses names of RDF."""
    return any(_kind(key) in _KEYS for key in values)


def portable_values(values: JsonObject) -> tuple[JsonObject, list[PortableChange]]:
    """Return the *values* of a front matter as every reader accepts them, and the changes.

    No key is left out. Values that no reader refuses are returned as they are.
    """
    if not names_rdf(values):
        return values, []
    front = _FrontMatterMender(values)
    return front.mend(), front.changes


class _FrontMatterMender:
    """Front matter that is being made portable, and the changes."""

    def __init__(self, values: JsonObject) -> None:
        self.changes: list[PortableChange] = []
        self._values = dict(values)
        self._own = {**_KNOWN, **dict(parse_facts(values).prefixes)}
        self._declared: dict[str, str] = {}
        self._needed: dict[str, str] = {}
        # A namespace can be long and its names many: written out they have a limit together.
        self._room = MAX_FRONT_MATTER

    def mend(self) -> JsonObject:
        keys = list(self._values)
        for key in keys:
            if _kind(key) in _PREFIXES:
                self._mend_prefixes(key)
        # Of several keys other readers look at the last in snake_case, else in camelCase.
        spelt = (key for kind in _PREFIXES for key in reversed(keys) if _kind(key) == kind)
        where = next(spelt, _PREFIXES[0])
        held = self._values.get(where)
        members = held if isinstance(held, dict) else {}
        given = {prefix.strip().lower(): str(uri).strip() for prefix, uri in members.items()}
        self._declared = {**BUILT_IN, **given}
        for key in keys:
            if _kind(key) in _TYPES:
                # Names that other readers resolve.
                value, classes = self._values[key], list[JsonValue]()
                for path, item in number_items((key,), value):
                    is_blank = item is None or (isinstance(item, str) and not item.strip())
                    name = item if is_blank else self._name(item, path, "class")
                    if is_blank or name is not None:
                        classes.append(name)
                is_list = isinstance(value, list) or not classes
                self._values[key] = classes if is_list else classes[0]
            elif _kind(key) in _PROPERTIES:
                self._mend_properties(key)
        if self._needed:
            self._values[where] = {**members, **self._needed}
        return self._values

    def _mend_prefixes(self, key: str) -> None:
        """Have a mapping under *key*, in which each prefix has one absolute namespace."""
        value = self._values[key]
        if not isinstance(value, dict):
            self._write((key,), "a mapping", f"{key} is not a mapping")
            parts = value if isinstance(value, list) else []
            value = {
                prefix: uri
                for part in reversed(parts)
                if isinstance(part, dict)
                for prefix, uri in part.items()
            }
        kept: JsonObject = {}
        bound = dict(BUILT_IN)
        for stated, uri in value.items():
            prefix = stated.strip().rstrip(":")
            namespace = str(uri).strip() if isinstance(uri, str) else ""
            if not prefix or not is_uri(namespace):
                self._write((key, stated), "", f"the prefix {stated!r} has no absolute IRI")
            elif bound.setdefault(prefix.lower(), namespace) != namespace:
                known = bound[prefix.lower()]
                self._write((key, stated), "", f"the prefix {stated!r} means {known} already")
            else:
                if prefix != stated:
                    self._write((key, stated), f"the prefix {prefix!r}", "a prefix is a bare name")
                kept[prefix] = uri
        self._values[key] = kept

    def _mend_properties(self, key: str) -> None:
        """Have a mapping under *key*, of predicates that other readers resolve to their values."""
        value = self._values[key]
        stated = _wrap_list(value)
        sound = [one for one in stated if not isinstance(one, dict) or not is_misspelt_triple(one)]
        if len(sound) < len(stated):
            value = sound if isinstance(value, list) and sound else {}
        if not isinstance(value, dict) or "predicate" in value:
            self._write((key,), "a mapping", f"{key} is not a mapping of predicates")
            found: defaultdict[str, list[JsonValue]] = defaultdict(list)
            for one in parse_facts({key: value}).properties:
                kind: JsonObject = {_DATATYPE: one.datatype} if one.datatype else {}
                found[one.predicate].append(
                    {_ID: one.value} if one.is_iri else {_VALUE: one.value, **kind}
                )
            value = dict(found)
        kept: JsonObject = {}
        for predicate, held in value.items():
            path = (key, predicate)
            name = self._name(predicate, path, "property")
            said = self._object(held, path) if name is not None else None
            if name is None or (said is None and held is not None):
                continue
            kept[name] = said if name not in kept else [*_wrap_list(kept[name]), *_wrap_list(said)]
        self._values[key] = kept

    def _object(self, value: JsonValue, path: Path) -> JsonValue:
        """Return a value as other readers accept it, `None` for an empty one."""
        if isinstance(value, list):
            found = [self._object(item, (*path, at)) for at, item in enumerate(value)]
            pairs = zip(value, found, strict=True)
            return [said for item, said in pairs if said is not None or item is None]
        return self._node(value, path) if isinstance(value, dict) else value

    def _node(self, value: JsonObject, path: Path) -> JsonValue:
        """Return a mapping with an `id` that resolves, or with a `value`."""
        stated = value.get(_ID)
        members = {
            key: item
            for key, item in value.items()
            if _kind(key) != _ID or not str(item or "").strip()
        }
        if isinstance(stated, str) and stated.strip():
            name = self._resolve_name(stated.strip(), (*path, _ID))
            if name is None:
                self._write((*path, _ID), "a text", f"the id {stated!r} cannot be resolved")
                return stated.strip()
            return {_ID: name if name != stated.strip() else stated, **members}
        if members.keys() != value.keys():
            self._write((*path, _ID), "", "an `id` that is not a text cannot be resolved")
        if _VALUE not in members:
            read = parse_facts({_PROPERTIES[0]: {"x": value}}).properties
            if not read:
                self._write(path, "", "the value has neither `id` nor `value`")
                return None
            self._write(
                path, f"`value`: {read[0].value!r}", "the value has neither `id` nor `value`"
            )
            members = {_VALUE: read[0].value, **members}
        kept: JsonObject = {}
        for key, item in members.items():
            if _kind(key) != _DATATYPE or not item:
                kept[key] = item
            elif (name := self._name(item, (*path, key), "datatype")) is not None:
                kept[key] = name
        return kept

    def _name(self, item: JsonValue, path: Path, kind: str) -> str | None:
        """Return the name that *item* gives, `None` if no reader can resolve it."""
        stated = pick_text(item, TARGET_KEYS)
        name = self._resolve_name(stated, path) if stated else None
        if name is None:
            shown = f"the {kind} {stated!r}" if stated else f"a {kind} that is not a text"
            self._write(path, "", f"{shown} cannot be resolved")
        elif isinstance(item, str):
            return item if name == stated else name
        else:
            self._write(path, f"the text {name!r}", f"a {kind} is a text")
        return name

    def _resolve_name(self, name: str, path: Path) -> str | None:
        """Return *name*, or its IRI; `None` if other readers resolve neither."""
        prefix, colon, local = name.partition(":")
        own = self._own.get(prefix) if colon and not local.startswith("//") else None
        theirs = self._declared.get(prefix.lower())
        if own is None or own == theirs:
            return name if resolves(name, self._declared) else None
        if theirs is None and own == _DECLARABLE.get(prefix) and is_uri(own + local):
            if prefix not in self._needed:
                why = f"the prefix {prefix!r} is not declared"
                self._write(path, "its declaration", why)
            self._needed[prefix] = own
            return name
        if len(own) > self._room or not resolves(own + local, {}):
            return None
        self._room -= len(own)
        self._write(path, own + local, f"the prefix {prefix!r} means something else in .NET")
        return own + local

    def _write(self, path: Path, what: str, why: str) -> None:
        self.changes.append(PortableChange(path, why, what))


def number_items(path: Path, value: JsonValue) -> Iterator[tuple[Path, JsonValue]]:
    """Return the items of a list with their paths, or a single value with its own."""
    if isinstance(value, list):
        yield from (((*path, at), item) for at, item in enumerate(value))
    else:
        yield path, value


def _wrap_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]


_GROUPS = frozenset({"graph_groups", "graphgroups"})
_ITEMS = _GROUPS | {
    *("graph_entities", "graphentities", "graph_related", "graphrelated"),
    *("graph_next_steps", "graphnextsteps"),
}
_EDGES = frozenset({"graph_edges", "graphedges"})
_ENDS = frozenset(
    {
        *("subject", "subjectid", "subject_id", "object", "objectid", "object_id"),
        *("target", "targetid", "target_id"),
    }
)
# Other readers take each item here for a label, even an IRI.
_TOPICS = frozenset({"about", "author"})
_CONCEPTS = _GROUPS | {"about"}
_TARGETS = _EDGES | (_ITEMS - _GROUPS - {"graph_entities", "graphentities"})
_NODE_LIST_KEYS = _ITEMS | _EDGES | _TOPICS
_NAME_KEYS = ("id", "label", "name", "value", "target", "object")
_ENTITIES, _RULES = "graph_entities", "graph_edges"


class NamedNode(NamedTuple):
    """A node that front matter names by its address or label.

    Attributes:
        path: Keys and positions that lead to it.
        is_concept: Whether it is a group or a topic.
        is_target: Whether it is an end of a relation.
    """

    name: str
    path: tuple[str | int, ...]
    is_concept: bool
    is_target: bool


def named_nodes(values: JsonObject) -> Iterator[NamedNode]:
    """Return the nodes that a front matter names, except the document itself."""
    for key, value in values.items():
        kind = _kind(key)
        for at, item in enumerate(_make_list(value) if kind in _NODE_LIST_KEYS else ()):
            path = (key, at) if isinstance(value, list) else (key,)
            if kind in _EDGES:
                ends = item.items() if isinstance(item, dict) else ()
                names = [_name(end, TARGET_KEYS) for member, end in ends if _kind(member) in _ENDS]
            else:
                names = [_name(item)]
            for name in names:
                if name and not means_itself(name):
                    yield NamedNode(name, path, kind in _CONCEPTS, kind in _TARGETS)


def distinct_ids(
    names: Iterable[tuple[str, bool]], fixed: Collection[str] = ()
) -> Mapping[str, str]:
    """Return an absolute identifier for each name that is not a node of its own elsewhere.

    Each of *names* comes with whether it names a concept. Names that are *fixed* stay as they are:
    addresses of documents, unknown targets.
    """
    found, holders = _group_nodes(names)
    for name in fixed:
        holders[_node(name, is_concept=False)].add(name)

    def is_shared(name: str, node: str) -> bool:
        if is_uri(name):
            # The last stays, which is in lower case: generated groups are.
            others = [one for one in holders[node] if one in fixed]
            return name not in (others or [max(holders[node])])
        # Labels without a Latin letter or digit share a node with such labels of prose.
        return not node or len(set(map(label_iri, holders[node]))) > 1

    return {
        name: label_iri(name)
        for name, nodes in sorted(found.items())
        if name not in fixed and any(is_shared(name, node) for node in nodes)
    }


def shared_nodes(names: Iterable[tuple[str, bool]]) -> Iterator[Sequence[str]]:
    """Return the names that are one node elsewhere, though they are several in mcpg's graph."""
    _, holders = _group_nodes(names)
    for _, held in sorted(holders.items()):
        own = {one if is_uri(one) else label_iri(one): one for one in sorted(held)}
        if len(own) > 1:
            yield tuple(sorted(own.values()))


def _group_nodes(
    names: Iterable[tuple[str, bool]],
) -> tuple[defaultdict[str, set[str]], defaultdict[str, set[str]]]:
    """Return the nodes of each name in other readers, and the names of each such node."""
    nodes: defaultdict[str, set[str]] = defaultdict(set)
    holders: defaultdict[str, set[str]] = defaultdict(set)
    for name, is_concept in dict.fromkeys(names):
        node = _node(name, is_concept=is_concept)
        nodes[name].add(node)
        holders[node].add(name)
    return nodes, holders


def _node(name: str, *, is_concept: bool) -> str:
    """Return the identifier that other readers give the node of *name*."""
    if not is_uri(name):
        return slug(name)
    # With a mark, so that no label equals it.
    return f"<{(name.partition('#')[0] if is_concept else name).casefold()}"


def with_ids(values: JsonObject, ids: Mapping[str, str]) -> JsonObject:
    """Return the *values* of a front matter in which names with one of *ids* have it.

    Topics and authors, which cannot have one there, become graph rules instead. No key is left
    out.
    """
    entities: list[JsonValue] = []
    edges: list[JsonValue] = []
    changed: JsonObject = {}
    for key, value in values.items():
        kind = _kind(key)
        if kind in _TOPICS:
            made = _topics(key, value, ids, entities, edges)
        elif kind in _EDGES or kind in _ITEMS:
            change = _edge if kind in _EDGES else _item
            items = [change(ids, item) for item in _wrap_list(value)]
            made = items if isinstance(value, list) else items[0]
        else:
            made = value

        if made != value:
            changed[key] = made
    if not changed:
        return values
    stated = {**values, **changed}
    for key, added in ((_ENTITIES, entities), (_RULES, edges)):
        if added:
            stated[key] = [*_make_list(stated.get(key)), *added]
    return stated


def _topics(
    key: str,
    value: JsonValue,
    ids: Mapping[str, str],
    entities: list[JsonValue],
    edges: list[JsonValue],
) -> JsonValue:
    """Return the topics or authors that are texts, and put the others on *entities* and *edges*.

    Other readers ignore the content of a mapping about a topic.
    """
    kind = _kind(key)
    kept: list[JsonValue] = []
    for item in _make_list(value):
        name = _name(item)
        is_mapping = isinstance(item, dict) and kind == "about"
        iri = ids.get(name) or (name if is_mapping and is_uri(name) else "")
        if iri:
            entities.append(_with_id(item, name, {name: iri}))
            edges.append({"subject": "document", "predicate": kind, "object": iri})
        elif is_mapping:
            kept += [name] if name else []
            members = item if isinstance(item, dict) else {}
            said = {key: members[key] for key in ("type", "sameAs", "same_as") if members.get(key)}
            if said and name:
                entities.append({"label": name, **said})
        elif isinstance(item, list) and kind == "about":
            continue
        else:
            kept.append(item)
    return kept if kept != _make_list(value) else value


def _item(ids: Mapping[str, str], item: JsonValue) -> JsonValue:
    name = _name(item)
    return _with_id(item, name, ids) if name in ids else item


def _with_id(item: JsonValue, name: str, ids: Mapping[str, str]) -> JsonObject:
    members = item if isinstance(item, dict) else {}
    label = pick_text(members, LABEL_KEYS[:3]) or name
    same: JsonObject = {}
    if ids[name] != name and is_uri(name) and not {"sameAs", "same_as"} & members.keys():
        same = {"sameAs": name}
    return {**members, "id": ids[name], "label": label, **same}


def _edge(ids: Mapping[str, str], item: JsonValue) -> JsonValue:
    if not isinstance(item, dict):
        return item
    ends = {
        member: ids[name]
        for member, end in item.items()
        if _kind(member) in _ENDS and (name := _name(end, TARGET_KEYS)) in ids
    }
    return {**item, **ends} if ends else item


def _name(item: JsonValue, keys: tuple[str, ...] = _NAME_KEYS) -> str:
    return scalar_text(pick_text(item, keys) if isinstance(item, dict) else item)


def _kind(key: str) -> str:
    return key.strip().lower()


def _make_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [] if value is None else [value]
