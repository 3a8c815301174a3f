"""The graph rules of a document: its groups and its links to other documents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.documents.facts import TARGET_KEYS, text_of
from mcpg.documents.frontmatter import EXTRAS_KEY
from mcpg.documents.model import Link
from mcpg.relations.model import EdgeKind, EdgeOrigin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcpg.documents.marks import Marks
    from mcpg.jsontypes import JsonObject, JsonValue

GROUPS_KEY = "graph_groups"
RELATIONS_KEY = "relations"
"""The member of the `mcpg` key that holds the evidence of links."""

LINK_KEYS: Mapping[EdgeKind, str] = {
    EdgeKind.RELATED: "graph_related",
    EdgeKind.NEXT_STEP: "graph_next_steps",
}
"""The front-matter key of each kind of link, in the order in which links stand."""

_ORIGINS = tuple(EdgeOrigin)
_SPELLINGS = {
    GROUPS_KEY: (GROUPS_KEY, "graphGroups"),
    "graph_related": ("graph_related", "graphRelated"),
    "graph_next_steps": ("graph_next_steps", "graphNextSteps"),
}
GRAPH_KEYS = tuple(spelling for spellings in _SPELLINGS.values() for spelling in spellings)
"""All keys of groups and links, in either spelling."""

_GROUP_KEYS = ("id", "label", "name", "value")


def states_relations(front: JsonObject) -> bool:
    """Tell whether the front matter carries any graph rule, even an empty one."""
    return any(key in front for key in GRAPH_KEYS)


def read_groups(front: JsonObject, marks: Marks) -> tuple[tuple[str, ...], list[Diagnostic]]:
    """Read the groups of a document, without repeats, and report items that name none."""
    groups: dict[str, None] = {}
    found: list[Diagnostic] = []
    for where, place, item in _items(front, GROUPS_KEY, marks):
        name = text_of(item, _GROUP_KEYS)
        if name:
            groups.setdefault(name)
        else:
            found.append(_invalid(f"{where} names no group", place()))
    return tuple(groups), found


def read_links(front: JsonObject, marks: Marks) -> tuple[tuple[Link, ...], list[Diagnostic]]:
    """Read the links of a document: the related ones, then the next steps, without repeats.

    A target that is no absolute URI (a tool id, `source::name`, a path, a title) stands as given.
    Items that name no target are reported and left out.
    """
    links: dict[tuple[EdgeKind, str], Link] = {}
    found: list[Diagnostic] = []
    for kind, key in LINK_KEYS.items():
        for where, place, item in _items(front, key, marks):
            target = text_of(item, TARGET_KEYS)
            if not target:
                found.append(_invalid(f"{where} names no tool", place()))
                continue
            link, faults = _evidence(Link(kind, target), item if isinstance(item, dict) else {})
            if link is not None:
                links.setdefault((kind, target), link)
            found += [_invalid(f"{where} has {fault}", place()) for fault in faults]
    return tuple(links.values()), found


def evidence_of(links: tuple[Link, ...]) -> list[JsonValue]:
    """State what plain lists of targets cannot: weights, reasons and origins."""
    return [_stated(link) for link in links if link != Link(link.kind, link.target)]


def with_evidence(
    links: tuple[Link, ...], stated: JsonValue, marks: Marks
) -> tuple[tuple[Link, ...], list[Diagnostic]]:
    """Put weights, reasons and origins back on *links*; what speaks of no link is ignored."""
    if not isinstance(stated, list):
        return links, [_invalid("mcpg.relations is no list", marks.at(EXTRAS_KEY, RELATIONS_KEY))]
    known: dict[tuple[str, str], Link | None] = {(link.kind, link.target): link for link in links}
    found: list[Diagnostic] = []
    path = (EXTRAS_KEY, RELATIONS_KEY)
    for index, entry in enumerate(stated):
        members = entry if isinstance(entry, dict) else {}
        link = known.get((str(members.get("edge")), str(members.get("target"))))
        faults = [] if members else ["no mapping"]
        if link is not None:
            known[link.kind, link.target], faults = _evidence(link, members)
        place = marks.at(*path, index) if faults else ""
        found += [_invalid(f"mcpg.relations[{index}] has {fault}", place) for fault in faults]
    return tuple(filter(None, known.values())), found


def _items(
    front: JsonObject, key: str, marks: Marks
) -> Iterator[tuple[str, Callable[[], str], JsonValue]]:
    """Give the items under *key* in either spelling: name, what finds its place, and value."""
    for spelling in _SPELLINGS[key]:
        value = front.get(spelling)
        items = value if isinstance(value, list) else [] if value is None else [value]
        for index, item in enumerate(items):
            yield f"{spelling}[{index}]", partial(marks.at, spelling, index), item


def _evidence(link: Link, members: JsonObject) -> tuple[Link | None, list[str]]:
    """Return *link* with the evidence among *members*, `None` without weight, and what is wrong."""
    if not members:
        return link, []
    faults: list[str] = []
    weight = members.get("weight", link.weight)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        faults.append("a weight that is no number")
        weight = link.weight
    elif weight <= 0:
        return None, ["a weight that is not in (0, 1], and is left out"]
    elif weight > 1:
        faults.append("a weight that is not in (0, 1], and counts as 1")
        weight = 1.0
    reason = members.get("reason", link.reason)
    if not isinstance(reason, str):
        faults.append("a reason that is not text")
        reason = link.reason
    origin = members.get("origin", link.origin)
    if origin not in _ORIGINS:
        faults.append("an origin that is neither authored nor inferred")
        origin = link.origin
    return Link(link.kind, link.target, float(weight), reason, EdgeOrigin(str(origin))), faults


def _stated(link: Link) -> JsonObject:
    default = Link(link.kind, link.target)
    members: JsonObject = {"edge": link.kind.value, "target": link.target}
    if link.weight != default.weight:
        members["weight"] = link.weight
    if link.reason != default.reason:
        members["reason"] = link.reason
    if link.origin != default.origin:
        members["origin"] = link.origin.value
    return members


def _invalid(message: str, place: str) -> Diagnostic:
    return warning(Code.RELATION_INVALID, message, place)
