"""Nodes that stay apart where labels keep only Latin letters and digits.

In the .NET library the node of a label is made of a-z, 0-9 and hyphens, so that `C++` and `C#`, or
two labels in Chinese, are one node; addresses count without regard to case, and groups without
their fragment. Such a name is written with an absolute identifier, that of its node in the graph of
this package.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from mcpg.documents import dotnet
from mcpg.documents.facts import LABEL_KEYS, TARGET_KEYS, means_itself, pick_text
from mcpg.documents.labels import label_iri
from mcpg.json_types import JsonObject, JsonValue

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
    """A node that front matter names.

    Attributes:
        name: Its address or label.
        path: Keys and positions that lead to it.
        is_concept: Whether it is a group or a topic.
        is_target: Whether it is an end of a relation.
    """

    name: str
    path: tuple[str | int, ...]
    is_concept: bool
    is_target: bool


def names_nodes(values: JsonObject) -> bool:
    """Return whether front matter with these *values* may name a node."""
    return any(_kind(key) in _NODE_LIST_KEYS for key in values)


def named_nodes(values: JsonObject) -> Iterator[NamedNode]:
    """Return the nodes that a front matter names, but for the document itself."""
    for key, value in values.items():
        kind = _kind(key)
        for at, item in enumerate(_make_list(value) if kind in _NODE_LIST_KEYS else ()):
            path = (key, at) if isinstance(value, list) else (key,)
            if kind in _EDGES:
                ends = item.items() if isinstance(item, dict) else ()
                names = [_target(end) for member, end in ends if _kind(member) in _ENDS]
            else:
                names = [_name(item)]
            is_concept = kind in _CONCEPTS
            is_target = kind in _TARGETS
            for name in names:
                if name and not means_itself(name):
                    yield NamedNode(name, path, is_concept, is_target)


def distinct_ids(
    names: Iterable[tuple[str, bool]], fixed: Collection[str] = ()
) -> Mapping[str, str]:
    """Return an absolute identifier for each name that is not a node of its own elsewhere.

    Args:
        names: Names of nodes, and whether each is that of a concept.
        fixed: Names that stay as they are: addresses of documents, targets that nobody bears.
    """
    found, holders = _group_nodes(names)
    for name in fixed:
        holders[_node(name, is_concept=False)].add(name)
    return {
        name: label_iri(name)
        for name, nodes in sorted(found.items())
        if name not in fixed and any(_is_shared(name, node, holders[node], fixed) for node in nodes)
    }


def shared_nodes(names: Iterable[tuple[str, bool]]) -> Iterator[Sequence[str]]:
    """Return the names that are one node elsewhere, though they are several in mcpg's graph.

    Args:
        names: Names of nodes, and whether each is that of a concept.
    """
    _, holders = _group_nodes(names)
    for _, held in sorted(holders.items()):
        own = {one if dotnet.is_uri(one) else label_iri(one): one for one in sorted(held)}
        if len(own) > 1:
            yield tuple(sorted(own.values()))


def _group_nodes(
    names: Iterable[tuple[str, bool]],
) -> tuple[defaultdict[str, set[str]], defaultdict[str, set[str]]]:
    """Return what each name is a node by elsewhere, and the names of each such node."""
    nodes: defaultdict[str, set[str]] = defaultdict(set)
    holders: defaultdict[str, set[str]] = defaultdict(set)
    for name, is_concept in dict.fromkeys(names):
        node = _node(name, is_concept=is_concept)
        nodes[name].add(node)
        holders[node].add(name)
    return nodes, holders


def _is_shared(name: str, node: str, names: Collection[str], fixed: Collection[str]) -> bool:
    """Return whether *name* has to give way, since the *node* is that of others, too."""
    if dotnet.is_uri(name):
        # The last stays, which is the one in lower case: generated groups are.
        others = [one for one in names if one in fixed] or [max(names)]
        return name not in others
    # Labels without a Latin letter or digit are one node with those that prose gives.
    return not node or len(set(map(label_iri, names))) > 1


def _node(name: str, *, is_concept: bool) -> str:
    """Return what tells the node of *name* from those of others elsewhere."""
    if not dotnet.is_uri(name):
        return dotnet.slug(name)
    # With a mark, so that no label comes to it.
    return f"<{(name.partition('#')[0] if is_concept else name).casefold()}"


def with_ids(values: JsonObject, ids: Mapping[str, str]) -> JsonObject:
    """Return the *values* of a front matter in which names with one of *ids* have it.

    Topics and authors, which cannot have one there, are stated by graph rules instead. No key is
    left out.
    """
    entities: list[JsonValue] = []
    edges: list[JsonValue] = []
    changed: JsonObject = {}
    for key, value in values.items():
        kind = _kind(key)
        if kind in _TOPICS:
            made = _topics(key, value, ids, entities, edges)
        else:
            change = _edge if kind in _EDGES else _item if kind in _ITEMS else None
            made = _each(value, partial(change, ids)) if change else value
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
    """Return the topics or authors that are a text, and state the others as *entities* and *edges*.

    Of a mapping about a topic others see no more than that it is a mapping.
    """
    kind = _kind(key)
    kept: list[JsonValue] = []
    for item in _make_list(value):
        name = _name(item)
        is_mapping = isinstance(item, dict) and kind == "about"
        iri = ids.get(name) or (name if is_mapping and dotnet.is_uri(name) else "")
        if iri:
            entities.append(_with_id(item, name, {name: iri}))
            edges.append({"subject": "document", "predicate": kind, "object": iri})
        elif is_mapping:
            kept += [name] if name else []
            entities += _describe_topic(item, name)
        elif isinstance(item, list) and kind == "about":
            continue
        else:
            kept.append(item)
    return kept if kept != _make_list(value) else value


def _describe_topic(item: JsonValue, name: str) -> list[JsonValue]:
    """Return the entity that says of a topic what its mapping says besides its *name*."""
    members = item if isinstance(item, dict) else {}
    said = {key: members[key] for key in ("type", "sameAs", "same_as") if members.get(key)}
    return [{"label": name, **said}] if said and name else []


def _each(value: JsonValue, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
    return [change(item) for item in value] if isinstance(value, list) else change(value)


def _item(ids: Mapping[str, str], item: JsonValue) -> JsonValue:
    name = _name(item)
    return _with_id(item, name, ids) if name in ids else item


def _with_id(item: JsonValue, name: str, ids: Mapping[str, str]) -> JsonObject:
    members = item if isinstance(item, dict) else {}
    label = pick_text(members, LABEL_KEYS[:3]) or name
    same: JsonObject = {}
    if ids[name] != name and dotnet.is_uri(name) and not {"sameAs", "same_as"} & members.keys():
        same = {"sameAs": name}
    return {**members, "id": ids[name], "label": label, **same}


def _edge(ids: Mapping[str, str], item: JsonValue) -> JsonValue:
    if not isinstance(item, dict):
        return item
    ends = {
        member: ids[name]
        for member, end in item.items()
        if _kind(member) in _ENDS and (name := _target(end)) in ids
    }
    return {**item, **ends} if ends else item


def _name(item: JsonValue) -> str:
    return _text(pick_text(item, _NAME_KEYS) if isinstance(item, dict) else item)


def _target(end: JsonValue) -> str:
    return _text(pick_text(end, TARGET_KEYS) if isinstance(end, dict) else end)


def _text(item: JsonValue) -> str:
    is_scalar = isinstance(item, str | int | float) and not isinstance(item, bool)
    return str(item).strip() if is_scalar else ""


def _kind(key: str) -> str:
    return key.strip().lower()


def _make_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [] if value is None else [value]
