"""IRIs of the graph: what documents name as nodes, and the base that a project gives them.

IRIs are plain texts, the same for the same document on every machine; no node is blank.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cache, partial
from urllib.parse import quote

from mcpg.documents.addresses import BASE, BASE_URI, LABELS, digest, escape_iri, label_iri, slug
from mcpg.errors import UsageError
from mcpg.graph import terms
from mcpg.graph.terms import KB, PREFIXES, RdfLiteral, Triple
from mcpg.text.spelling import suggest

__all__ = [
    "BASE",
    "GROUP_SCHEME",
    "SOURCES",
    "broader_group",
    "checked_base",
    "digest",
    "document_uri",
    "escape_iri",
    "group_label",
    "neutral",
    "node_iri",
    "original_iri",
    "part_iri",
    "rebase_triples",
    "rebased_iri",
    "slug",
    "source_iri",
]

SOURCES = f"{BASE}source:"
"""What the IRI of a source begins with."""

GROUP_SCHEME = f"{BASE}groups"
"""The concept scheme that every group belongs to."""

_FOLDERS = ("tools/", "code/")
_DOCUMENTS = tuple(f"{BASE}{folder}" for folder in _FOLDERS)
# As the .NET library has them: the canonical URIs of tools, and what is known by a label alone.
_LABELS_OF_KB = f"{KB.removesuffix('vocab:')}/id/"
_NEUTRAL = {
    **{f"{BASE_URI}{folder}": f"{BASE}{folder}" for folder in _FOLDERS},
    _LABELS_OF_KB: LABELS,
}

# A scheme, and either no host or one with nothing odd in it: no `[`, no port that is no number.
_ABSOLUTE = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:"
    r"(?:(?!//)\S|//(?:[^\s/?#\[\]@]*@)?[^\s/?#\[\]@:]*(?::[0-9]*)?(?=[/?#]|\Z))"
)


def node_iri(name: str) -> str:
    """Return the IRI of what a document calls *name*.

    An absolute IRI stands for itself, with what no IRI may hold percent-encoded, and one that
    begins with a prefix of `PREFIXES`, such as `schema:Thing`, for what it abbreviates. Those of
    the .NET library, and any other text, which is a label, stand below `BASE`.
    """
    if _ABSOLUTE.match(name) is None:
        return label_iri(name)
    scheme, _, rest = name.partition(":")
    is_short = scheme in PREFIXES and not rest.startswith("//")
    return escape_iri(f"{PREFIXES[scheme]}{rest}" if is_short else neutral(name))


def part_iri(owner: str, kind: str, name: str) -> str:
    """Return the IRI of the part *name*, of a *kind* such as `parameter`, of the node *owner*."""
    mark = "/" if "#" in owner else "#"
    return f"{owner}{mark}{kind}/{quote(name, safe='', errors='replace')}"


def source_iri(source_id: str) -> str:
    """Return the IRI of the source that tools call *source_id*."""
    return f"{SOURCES}{quote(source_id, safe='', errors='replace')}"


def neutral(iri: str) -> str:
    """Return *iri*, but below `BASE` where the .NET library has its own address for it."""
    for foreign, own in _NEUTRAL.items():
        if iri.startswith(foreign):
            return f"{own}{iri.removeprefix(foreign)}"
    return iri


def document_uri(node: str) -> str:
    """Return the canonical URI of the document whose node is *node*, unless it states another."""
    return f"{BASE_URI}{node.removeprefix(BASE)}" if node.startswith(_DOCUMENTS) else node


_OF_SOURCE = re.compile(r"source-domain:([^:]*):(.*)", re.DOTALL)


def broader_group(name: str) -> str | None:
    """Return the group of which the group *name* is the part of one source, `None` for none."""
    found = _OF_SOURCE.fullmatch(name)
    return f"domain:{found[2]}" if found else None


def group_label(name: str) -> str:
    """Return what to call the group *name* to people."""
    found = _OF_SOURCE.fullmatch(name)
    if found:
        return f"{found[2]} of {found[1]}"
    kind, colon, rest = name.partition(":")
    if not colon or not _GENERATED.match(name) or not rest:
        return name
    return rest if kind == "domain" else f"{rest} ({kind})"


# The kinds of groups that are made of what tools have in common.
_GENERATED = re.compile(r"(?:domain|source-domain|category):")


def checked_base(base: str, place: str = "--base-iri") -> str:
    """Return *base*, below which the IRIs of a project's graph can stand.

    Args:
        base: What is set.
        place: What sets it, for messages.

    Raises:
        UsageError: It is no absolute IRI that ends in a slash or a colon.
    """
    fault = ""
    if _ABSOLUTE.match(base) is None or escape_iri(base) != base:
        fault = "is not an absolute IRI"
    elif "#" in base or "?" in base:
        fault = "has a fragment or a query"
    elif not base.endswith(("/", ":")):
        fault = "ends in neither a slash nor a colon"
    if fault:
        remedy = "use an address such as https://graph.example/tools/"
        raise UsageError(f"the base IRI {base!r} {fault}", place=place, remedy=remedy)
    return base


def rebase_triples(triples: Iterable[Triple], base: str) -> Iterator[Triple]:
    """Return *triples* with all that is the project's own below *base* instead of `BASE`.

    Groups that are made of what tools have in common are the project's own as well.
    """
    rename = cache(partial(rebased_iri, base=base))
    for subject, predicate, value in triples:
        found = value if isinstance(value, RdfLiteral) else rename(value)
        yield rename(subject), predicate, found


def rebased_iri(iri: str, base: str) -> str:
    """Return *iri* as `rebase_triples` has it."""
    if base == BASE:
        return iri
    if iri.startswith(SOURCES):
        return f"{base}source/{iri.removeprefix(SOURCES)}"
    if iri.startswith((*_DOCUMENTS, LABELS)) or iri == GROUP_SCHEME:
        return f"{base}{iri.removeprefix(BASE)}"
    return f"{base}groups/{iri}" if _GENERATED.match(iri) else iri


def original_iri(iri: str, base: str) -> str:
    """Return the IRI that `rebased_iri` makes *iri* of; that of the .NET library likewise."""
    own = iri.removeprefix(base)
    if own == iri or base == BASE:
        return neutral(iri)
    for folder, original in (("source/", SOURCES), ("groups/", "")):
        if own.startswith(folder):
            return f"{original}{own.removeprefix(folder)}"
    return f"{BASE}{own}" if own == "groups" or own.startswith((*_FOLDERS, "id/")) else iri


OURS = ("kb", "mcpg")
"""The prefixes of the vocabularies that mcpg defines."""

MOST_SUGGESTED = 50
"""The most unknown names for which others are suggested; a query may have very many."""

_MOST_NAMES = 3


def unknown_names(names: Iterable[str], declared: Collection[str] = ()) -> dict[str, list[str]]:
    """Return those of the prefixed *names* that nothing defines, each with the likeliest others.

    Others are looked for of the first fifty.

    Args:
        names: Such as `kb:nextStep`; variables are left out.
        declared: The prefixes that the query declares itself.
    """
    known = {*PREFIXES, *declared}
    unknown = []
    for name in dict.fromkeys(names):
        prefix, _, local = name.partition(":")
        is_ours = prefix in OURS and prefix not in declared and local
        if name[:1] not in "?$_" and (
            prefix not in known or (is_ours and name not in _list_known_names())
        ):
            unknown.append(name)
    return {
        name: _suggest_names(name) if place < MOST_SUGGESTED else []
        for place, name in enumerate(unknown)
    }


def _suggest_names(name: str) -> list[str]:
    """Return the names that *name* probably means: the same under another prefix, or like ones."""
    prefix, _, local = name.partition(":")
    known: defaultdict[str, list[str]] = defaultdict(list)
    for one in sorted(_list_known_names()):
        known[one.partition(":")[2].casefold()].append(one)
    same = known.get(local.casefold(), ())
    others = (one.partition(":")[2] for one in sorted(_list_known_names()))
    near = [] if same else suggest(local, others, _MOST_NAMES)
    found = [*same, *(one for word in near for one in known[word.casefold()])]
    return sorted(found, key=lambda one: not one.startswith(f"{prefix}:"))[:_MOST_NAMES]


@cache
def _list_known_names() -> frozenset[str]:
    return frozenset(
        f"{prefix}:{value.removeprefix(namespace)}"
        for prefix, namespace in PREFIXES.items()
        for value in vars(terms).values()
        if isinstance(value, str) and value.startswith(namespace) and value != namespace
    )
