"""Literals, the vocabulary and the JSON-LD context of the graph.

The vocabulary is that of schema.org, SKOS, PROV, the .NET library, and `data/ontology.ttl`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias

from mcpg.documents import facts
from mcpg.text.json_values import JsonObject, write_exact_json

PREFIXES = facts.PREFIXES
"""The prefix of each namespace, as in every export and every query."""

_NAMESPACES = tuple(PREFIXES.values())

KB, MCPG = PREFIXES["kb"], PREFIXES["mcpg"]
OWL, PROV, SCHEMA = PREFIXES["owl"], PREFIXES["prov"], PREFIXES["schema"]
RDF, RDFS = PREFIXES["rdf"], PREFIXES["rdfs"]
SKOS, XSD = PREFIXES["skos"], PREFIXES["xsd"]

RDF_TYPE = f"{RDF}type"
RDF_STATEMENT = f"{RDF}Statement"
RDF_SUBJECT = f"{RDF}subject"
RDF_PREDICATE = f"{RDF}predicate"
RDF_OBJECT = f"{RDF}object"
RDF_JSON = f"{RDF}JSON"
RDF_LANG_STRING = f"{RDF}langString"

XSD_STRING = f"{XSD}string"
XSD_BOOLEAN = f"{XSD}boolean"
XSD_DATE = f"{XSD}date"
XSD_DECIMAL = f"{XSD}decimal"
XSD_DOUBLE = f"{XSD}double"
XSD_INTEGER = f"{XSD}integer"

SCHEMA_ABOUT = f"{SCHEMA}about"
SCHEMA_ALTERNATE_NAME = f"{SCHEMA}alternateName"
SCHEMA_ARTICLE = f"{SCHEMA}Article"
SCHEMA_ARTICLE_BODY = f"{SCHEMA}articleBody"
SCHEMA_AUTHOR = f"{SCHEMA}author"
SCHEMA_CREATIVE_WORK = f"{SCHEMA}CreativeWork"
SCHEMA_DATE_MODIFIED = f"{SCHEMA}dateModified"
SCHEMA_DATE_PUBLISHED = f"{SCHEMA}datePublished"
SCHEMA_DEFINED_TERM = f"{SCHEMA}DefinedTerm"
SCHEMA_DESCRIPTION = f"{SCHEMA}description"
SCHEMA_HAS_PART = f"{SCHEMA}hasPart"
SCHEMA_KEYWORDS = f"{SCHEMA}keywords"
SCHEMA_MENTIONS = f"{SCHEMA}mentions"
SCHEMA_NAME = f"{SCHEMA}name"
SCHEMA_POSITION = f"{SCHEMA}position"
SCHEMA_SAME_AS = f"{SCHEMA}sameAs"
SCHEMA_THING = f"{SCHEMA}Thing"
SCHEMA_VALUE_REQUIRED = f"{SCHEMA}valueRequired"

SKOS_BROADER = f"{SKOS}broader"
SKOS_CONCEPT = f"{SKOS}Concept"
SKOS_CONCEPT_SCHEME = f"{SKOS}ConceptScheme"
SKOS_HAS_TOP_CONCEPT = f"{SKOS}hasTopConcept"
SKOS_IN_SCHEME = f"{SKOS}inScheme"
SKOS_PREF_LABEL = f"{SKOS}prefLabel"
SKOS_TOP_CONCEPT_OF = f"{SKOS}topConceptOf"

PROV_DERIVED_FROM = f"{PROV}wasDerivedFrom"

KB_CONFIDENCE = f"{KB}confidence"
KB_ENTRY_TYPE = f"{KB}entryType"
KB_MARKDOWN_DOCUMENT = f"{KB}MarkdownDocument"
KB_MEMBER_OF = f"{KB}memberOf"
KB_NEXT_STEP = f"{KB}nextStep"
KB_RELATED_TO = f"{KB}relatedTo"
KB_SOURCE_PROJECT = f"{KB}sourceProject"

MCPG_ALLOWED_VALUE = f"{MCPG}allowedValue"
MCPG_ANNOTATIONS = f"{MCPG}annotations"
MCPG_CATEGORY = f"{MCPG}category"
MCPG_COST_TIER = f"{MCPG}costTier"
MCPG_COVERAGE = f"{MCPG}coverage"
MCPG_DATA_SOURCE = f"{MCPG}dataSource"
MCPG_DESTRUCTIVE = f"{MCPG}destructive"
MCPG_ENABLED_BY_DEFAULT = f"{MCPG}enabledByDefault"
MCPG_EXAMPLE = f"{MCPG}Example"
MCPG_FRONT_MATTER = f"{MCPG}frontMatter"
MCPG_FRONT_MATTER_TEXT = f"{MCPG}frontMatterText"
MCPG_HAS_EXAMPLE = f"{MCPG}example"
MCPG_HAS_PARAMETER = f"{MCPG}parameter"
MCPG_HAS_RELATION = f"{MCPG}relation"
MCPG_IDEMPOTENT = f"{MCPG}idempotent"
MCPG_INPUT = f"{MCPG}input"
MCPG_INPUT_SCHEMA = f"{MCPG}inputSchema"
MCPG_KEYWORD = f"{MCPG}keyword"
MCPG_LATENCY_TIER = f"{MCPG}latencyTier"
MCPG_MAPPING = f"{MCPG}mapping"
MCPG_META = f"{MCPG}meta"
MCPG_OPEN_WORLD = f"{MCPG}openWorld"
MCPG_ORIGIN = f"{MCPG}origin"
MCPG_OUTPUT = f"{MCPG}output"
MCPG_OUTPUT_SCHEMA = f"{MCPG}outputSchema"
MCPG_PARAMETER = f"{MCPG}Parameter"
MCPG_PATH = f"{MCPG}path"
MCPG_READ_ONLY = f"{MCPG}readOnly"
MCPG_REASON = f"{MCPG}reason"
MCPG_SECTION = f"{MCPG}Section"
MCPG_SOURCE = f"{MCPG}Source"
MCPG_SOURCE_KIND = f"{MCPG}sourceKind"
MCPG_STATED_GROUP = f"{MCPG}statedGroup"
MCPG_STATED_TARGET = f"{MCPG}statedTarget"
MCPG_STATED_URI = f"{MCPG}statedUri"
MCPG_STATES_RELATIONS = f"{MCPG}statesRelations"
MCPG_TAG = f"{MCPG}tag"
MCPG_TITLE = f"{MCPG}title"
MCPG_TOOL = f"{MCPG}Tool"
MCPG_TOOL_ID = f"{MCPG}toolId"
MCPG_TOOL_NAME = f"{MCPG}toolName"
MCPG_JSON_TYPE = f"{MCPG}jsonType"
MCPG_HAS_SOURCE = f"{MCPG}source"

_UNPAIRED = re.compile("[\ud800-\udfff]")


class RdfLiteral(NamedTuple):
    """A value.

    Attributes:
        text: Its lexical form, without unpaired surrogates.
        datatype: IRI of its type.
        language: Its language tag where the type is that of texts in a language, else "".
    """

    text: str
    datatype: str = XSD_STRING
    language: str = ""


Triple: TypeAlias = tuple[str, str, str | RdfLiteral]
"""IRI of a subject, IRI of a predicate, and the IRI or the value of an object."""


def plain(text: str) -> RdfLiteral:
    """Return *text* as a value; half of a surrogate pair becomes U+FFFD."""
    return RdfLiteral(_UNPAIRED.sub("\ufffd", text))


def json_value(value: JsonObject) -> RdfLiteral:
    """Return a JSON object as an rdf:JSON value, its members in the order in which they stand."""
    return RdfLiteral(_UNPAIRED.sub("\ufffd", write_exact_json(value)), RDF_JSON)


CONTEXT_IRI = "urn:mcpg:context"
"""The name by which a JSON-LD document may refer to the context instead of holding it."""

REFERENCE = "@id"
"""The kind of value that is no datatype: an IRI."""

_FOLDER = files("mcpg.graph") / "data"


class ContextTerm(NamedTuple):
    """How JSON calls a predicate.

    Attributes:
        name: The key.
        kind: `REFERENCE`, or the IRI of the datatype of its values.
        is_set: Whether its values always stand in an array.
    """

    name: str
    kind: str
    is_set: bool


@cache
def context_text() -> str:
    """Return the file of the context, a JSON object with the one key `@context`."""
    return (_FOLDER / "context.jsonld").read_text("utf-8")


@cache
def ontology_text() -> str:
    """Return the file of the ontology, in Turtle."""
    return (_FOLDER / "ontology.ttl").read_text("utf-8")


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
            kind = long.get("@type", XSD_STRING)
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
    if iri.startswith(_NAMESPACES):
        for prefix, namespace in PREFIXES.items():
            local = iri.removeprefix(namespace)
            # What follows a prefix never begins with two slashes: that is an IRI of its own.
            if local not in {iri, ""} and not local.startswith("//"):
                return f"{prefix}:{local}"
    return iri
