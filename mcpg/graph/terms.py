"""Literals, the vocabulary, the JSON-LD context and the IRIs of the graph.

The vocabulary comes from schema.org, SKOS, PROV, the .NET library, and `data/ontology.ttl`. IRIs
are plain texts, the same for the same document on every machine; no node is blank.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from mcpg.documents import facts
from mcpg.documents.addresses import BASE, BASE_URI, LABELS, escape_iri, label_iri
from mcpg.errors import UsageError
from mcpg.text.json_values import JsonObject, write_exact_json
from mcpg.text.spelling import suggest

PREFIXES = facts.PREFIXES
"""The prefix of each namespace, as in every export and every query."""

_NAMESPACES = tuple(PREFIXES.values())

KB, MCPG = PREFIXES["kb"], PREFIXES["mcpg"]
OWL, PROV, SCHEMA = PREFIXES["owl"], PREFIXES["prov"], PREFIXES["schema"]
RDF, RDFS = PREFIXES["rdf"], PREFIXES["rdfs"]
SKOS, XSD = PREFIXES["skos"], PREFIXES["xsd"]


class Vocabulary:
    """Names in a namespace, as attributes: `mcpg.toolId` is the IRI of `mcpg:toolId`."""

    def __init__(self, prefix: str, names: str) -> None:
        vars(self).update((name, f"{PREFIXES[prefix]}{name}") for name in names.split())

    def __getattr__(self, name: str) -> str:
        raise AttributeError(name)


rdf = Vocabulary("rdf", "type Statement subject predicate object JSON langString")
xsd = Vocabulary("xsd", "string boolean date decimal integer")
schema = Vocabulary(
    "schema",
    """
    about alternateName Article articleBody author CreativeWork dateModified datePublished
    DefinedTerm description hasPart keywords mentions name position sameAs Thing valueRequired
    """,
)
skos = Vocabulary(
    "skos", "broader Concept ConceptScheme hasTopConcept inScheme prefLabel topConceptOf"
)
prov = Vocabulary("prov", "wasDerivedFrom")
kb = Vocabulary(
    "kb", "confidence entryType MarkdownDocument memberOf nextStep relatedTo sourceProject"
)
mcpg = Vocabulary(
    "mcpg",
    """
    allowedValue annotations branch calls category costTier coverage dataSource definedIn
    defines destructive enabledByDefault Example firstLine frontMatter frontMatterText example
    parameter relation idempotent implementedBy imports inherits input inputSchema keyword
    language lastLine latencyTier library mapping meta openWorld origin output outputSchema
    Parameter path readOnly reason references repository Section signature Source sourceKind
    statedGroup statedTarget statedUri statesRelations Symbol symbolKind tag title Tool toolId
    toolName jsonType source
    """,
)

_UNPAIRED = re.compile("[\ud800-\udfff]")


class RdfLiteral(NamedTuple):
    """A value: its lexical form without unpaired surrogates, the IRI of its type, its language tag.

    The language is "" unless the type is `rdf:langString`.
    """

    text: str
    datatype: str = xsd.string
    language: str = ""


Triple: TypeAlias = tuple[str, str, str | RdfLiteral]
"""IRI of a subject, IRI of a predicate, and the IRI or the value of an object."""


def plain(text: str) -> RdfLiteral:
    """Return *text* as a value; half of a surrogate pair becomes U+FFFD."""
    return RdfLiteral(_UNPAIRED.sub("\ufffd", text))


def json_value(value: JsonObject) -> RdfLiteral:
    """Return a JSON object as an rdf:JSON value, with its members in their order."""
    return RdfLiteral(_UNPAIRED.sub("\ufffd", write_exact_json(value)), rdf.JSON)


CONTEXT_IRI = "urn:mcpg:context"
"""The name by which a JSON-LD document may refer to the context instead of including it."""

REFERENCE = "@id"
"""The kind of value that is not a datatype: an IRI."""


class ContextTerm(NamedTuple):
    """How JSON calls a predicate.

    Attributes:
        kind: `REFERENCE`, or the IRI of the datatype of its values.
        is_set: Whether its values are always in an array.
    """

    name: str
    kind: str
    is_set: bool


@cache
def context_text() -> str:
    """Return the file of the context, a JSON object with only the key `@context`."""
    return (files("mcpg.graph") / "data" / "context.jsonld").read_text("utf-8")


@cache
def ontology_text() -> str:
    """Return the file of the ontology, in Turtle."""
    return (files("mcpg.graph") / "data" / "ontology.ttl").read_text("utf-8")


@cache
def context() -> Mapping[str, Any]:
    """Return the content of the context; treat it as read-only."""
    members: Mapping[str, Any] = json.loads(context_text())["@context"]
    return members


@cache
def terms() -> Mapping[str, ContextTerm]:
    """Return the key of each predicate, by IRI."""
    found: dict[str, ContextTerm] = {}
    for name, entry in context().items():
        if name in PREFIXES or not name[:1].islower():
            continue
        long = {"@id": entry} if isinstance(entry, str) else entry
        if not long["@id"].startswith("@"):
            kind = long.get("@type", xsd.string)
            kind = kind if kind.startswith("@") else expand_name(kind)
            is_set = long.get("@container") == "@set"
            found[expand_name(long["@id"])] = ContextTerm(name, kind, is_set)
    return found


@cache
def class_names() -> Mapping[str, str]:
    """Return the key of each class, by IRI."""
    named = {name: iri for name, iri in context().items() if name[:1].isupper()}
    return {expand_name(iri): name for name, iri in named.items()}


def expand_name(name: str) -> str:
    """Return the IRI that *name* abbreviates, or *name* when it has no prefix of ours."""
    prefix, colon, local = name.partition(":")
    is_short = colon and prefix in PREFIXES and not local.startswith("//")
    return f"{PREFIXES[prefix]}{local}" if is_short else name


def compact_iri(iri: str) -> str:
    """Return *iri* with its prefix, or as it is when none of ours fits."""
    if not iri.startswith(_NAMESPACES):
        return iri
    # What follows a prefix never begins with two slashes: that is an IRI of its own.
    return abbreviate_iri(iri, lambda local: local and not local.startswith("//")) or iri


def abbreviate_iri(iri: str, fits: Callable[[str], object]) -> str | None:
    """Return *iri* with the first prefix whose local name *fits*; `None` for none."""
    for prefix, namespace in PREFIXES.items():
        local = iri.removeprefix(namespace)
        if local != iri and fits(local):
            return f"{prefix}:{local}"
    return None


SOURCES = f"{BASE}source:"
"""The beginning of the IRI of a source."""

GROUP_SCHEME = f"{BASE}groups"
"""The concept scheme that every group belongs to."""

_FOLDERS = ("tools/", "code/")
_DOCUMENTS = tuple(f"{BASE}{folder}" for folder in _FOLDERS)
# As in the .NET library: the canonical URIs of tools, and things known only by a label.
_LABELS_OF_KB = f"{KB.removesuffix('vocab:')}/id/"
_NEUTRAL = {
    **{f"{BASE_URI}{folder}": f"{BASE}{folder}" for folder in _FOLDERS},
    _LABELS_OF_KB: LABELS,
}

# A scheme, and either no host or one with nothing odd in it: no `[`, no port but a number.
_ABSOLUTE = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:"
    r"(?:(?!//)\S|//(?:[^\s/?#\[\]@]*@)?[^\s/?#\[\]@:]*(?::[0-9]*)?(?=[/?#]|\Z))"
)


def node_iri(name: str) -> str:
    """Return the IRI of the thing that a document calls *name*.

    An absolute IRI is kept, with invalid characters percent-encoded; a name with a prefix of
    `PREFIXES`, such as `schema:Thing`, is expanded. IRIs of the .NET library, and labels, which
    are any other text, go below `BASE`.
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
    """Return *iri*, but below `BASE` if the .NET library has its own address for it."""
    for foreign, own in _NEUTRAL.items():
        if iri.startswith(foreign):
            return f"{own}{iri.removeprefix(foreign)}"
    return iri


def document_uri(node: str) -> str:
    """Return the canonical URI of the document with the node *node*, unless it has another."""
    return f"{BASE_URI}{node.removeprefix(BASE)}" if node.startswith(_DOCUMENTS) else node


_OF_SOURCE = re.compile(r"source-domain:([^:]*):(.*)", re.DOTALL)


def broader_group(name: str) -> str | None:
    """Return the group that the group *name* is one source's part of, `None` for none."""
    found = _OF_SOURCE.fullmatch(name)
    return f"domain:{found[2]}" if found else None


def group_label(name: str) -> str:
    """Return the name of the group *name* for people."""
    found = _OF_SOURCE.fullmatch(name)
    if found:
        return f"{found[2]} of {found[1]}"
    kind, colon, rest = name.partition(":")
    if not colon or not _GENERATED.match(name) or not rest:
        return name
    return rest if kind == "domain" else f"{rest} ({kind})"


# The kinds of groups that are made of common features of tools.
_GENERATED = re.compile(r"(?:domain|source-domain|category):")


def checked_base(base: str, place: str = "--base-iri") -> str:
    """Return *base* if the IRIs of a project's graph can begin with it; *place* is what sets it.

    Anything but an absolute IRI that ends in a slash or a colon is a `UsageError`.
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

    Groups that are made of common features of tools are also the project's own.
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
    """Return the IRI that `rebased_iri` turns into *iri*, also for IRIs of the .NET library."""
    own = iri.removeprefix(base)
    if own == iri or base == BASE:
        return neutral(iri)
    for folder, original in (("source/", SOURCES), ("groups/", "")):
        if own.startswith(folder):
            return f"{original}{own.removeprefix(folder)}"
    return f"{BASE}{own}" if own == "groups" or own.startswith((*_FOLDERS, "id/")) else iri


MOST_SUGGESTED = 50
"""The most unknown names for which others are suggested; a query may have very many."""

_MOST_NAMES = 3


def unknown_names(names: Iterable[str], declared: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the prefixed *names* that nothing defines, each with the likeliest others.

    Others have the same name under another prefix, or a like one; they are suggested for the first
    fifty. Variables are left out. *declared* are the prefixes that the query declares itself.
    """
    defined = _list_known_names()
    prefixes = {*PREFIXES, *declared}
    by_local: defaultdict[str, list[str]] = defaultdict(list)
    for one in sorted(defined):
        by_local[one.partition(":")[2].casefold()].append(one)
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        prefix, _, local = name.partition(":")
        is_ours = prefix in ("kb", "mcpg") and prefix not in declared and local
        is_unknown = prefix not in prefixes or (is_ours and name not in defined)
        if name[:1] in "?$_" or not is_unknown:
            continue
        found[name] = []
        if len(found) <= MOST_SUGGESTED:
            likely = [*by_local.get(local.casefold(), ())]
            if not likely:
                locals_ = (one.partition(":")[2] for one in sorted(defined))
                near = suggest(local, locals_, _MOST_NAMES)
                likely = [one for word in near for one in by_local[word.casefold()]]
            likely.sort(key=lambda one: not one.startswith(f"{prefix}:"))
            found[name] = likely[:_MOST_NAMES]
    return found


@cache
def _list_known_names() -> frozenset[str]:
    known = (kb, mcpg, prov, rdf, schema, skos, xsd)
    return frozenset(compact_iri(iri) for one in known for iri in vars(one).values())
