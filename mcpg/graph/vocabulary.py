"""The names that the graph uses: schema.org, SKOS, PROV, the .NET library's, and ours.

Ours are described in `data/ontology.ttl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
PROV = "http://www.w3.org/ns/prov#"
SCHEMA = "https://schema.org/"
KB = "urn:managedcode:markdown-ld-kb:vocab:"
MCPG = "urn:mcpg:vocab:"

PREFIXES: Mapping[str, str] = {
    "kb": KB,
    "mcpg": MCPG,
    "owl": OWL,
    "prov": PROV,
    "rdf": RDF,
    "rdfs": RDFS,
    "schema": SCHEMA,
    "skos": SKOS,
    "xsd": XSD,
}
"""The prefix of each namespace, as in every export and every query."""

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

SCHEMA_ABOUT = f"{SCHEMA}about"
SCHEMA_ALTERNATE_NAME = f"{SCHEMA}alternateName"
SCHEMA_ARTICLE = f"{SCHEMA}Article"
SCHEMA_ARTICLE_BODY = f"{SCHEMA}articleBody"
SCHEMA_AUTHOR = f"{SCHEMA}author"
SCHEMA_DATE_MODIFIED = f"{SCHEMA}dateModified"
SCHEMA_DATE_PUBLISHED = f"{SCHEMA}datePublished"
SCHEMA_DEFINED_TERM = f"{SCHEMA}DefinedTerm"
SCHEMA_DESCRIPTION = f"{SCHEMA}description"
SCHEMA_KEYWORDS = f"{SCHEMA}keywords"
SCHEMA_MENTIONS = f"{SCHEMA}mentions"
SCHEMA_NAME = f"{SCHEMA}name"
SCHEMA_SAME_AS = f"{SCHEMA}sameAs"
SCHEMA_THING = f"{SCHEMA}Thing"
SCHEMA_VALUE_REQUIRED = f"{SCHEMA}valueRequired"

SKOS_CONCEPT = f"{SKOS}Concept"
SKOS_CONCEPT_SCHEME = f"{SKOS}ConceptScheme"
SKOS_IN_SCHEME = f"{SKOS}inScheme"
SKOS_PREF_LABEL = f"{SKOS}prefLabel"

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
MCPG_DATA_SOURCE = f"{MCPG}dataSource"
MCPG_DESTRUCTIVE = f"{MCPG}destructive"
MCPG_ENABLED_BY_DEFAULT = f"{MCPG}enabledByDefault"
MCPG_EXAMPLE = f"{MCPG}Example"
MCPG_FRONT_MATTER = f"{MCPG}frontMatter"
MCPG_HAS_EXAMPLE = f"{MCPG}example"
MCPG_HAS_PARAMETER = f"{MCPG}parameter"
MCPG_HAS_RELATION = f"{MCPG}relation"
MCPG_IDEMPOTENT = f"{MCPG}idempotent"
MCPG_INPUT = f"{MCPG}input"
MCPG_INPUT_SCHEMA = f"{MCPG}inputSchema"
MCPG_KEYWORD = f"{MCPG}keyword"
MCPG_LATENCY_TIER = f"{MCPG}latencyTier"
MCPG_META = f"{MCPG}meta"
MCPG_OPEN_WORLD = f"{MCPG}openWorld"
MCPG_ORIGIN = f"{MCPG}origin"
MCPG_OUTPUT = f"{MCPG}output"
MCPG_OUTPUT_SCHEMA = f"{MCPG}outputSchema"
MCPG_PARAMETER = f"{MCPG}Parameter"
MCPG_PATH = f"{MCPG}path"
MCPG_READ_ONLY = f"{MCPG}readOnly"
MCPG_REASON = f"{MCPG}reason"
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

GROUP_SCHEME = "urn:mcpg:groups"
"""The concept scheme that every group belongs to."""
