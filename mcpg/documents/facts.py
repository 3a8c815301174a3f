"""Front matter beyond the tool: topics, entities, statements, RDF, and the `mcpg` key.

The keys are those of the .NET library, each in snake_case and in camelCase. An item is a text, or a
mapping with `id`, `label`, `name`, `value`, `target`, `object`, `type` and `sameAs`. The `mcpg` key
has the facts that cannot be read back from the rest of a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

from mcpg.catalog.model import (
    GENERATED_LISTS,
    HINT_LISTS,
    MOST_GENERATED,
    NO_HINTS,
    Hints,
    Tier,
    Tool,
    ToolExample,
)
from mcpg.documents.addresses import is_absolute
from mcpg.documents.front_matter import EXTRAS_KEY
from mcpg.documents.model import LineNumbers
from mcpg.errors import Code, Diagnostic, warning
from mcpg.text.json_values import JsonObject, JsonValue

XSD = "http://www.w3.org/2001/XMLSchema#"

PREFIXES: Mapping[str, str] = {
    "kb": "urn:managedcode:markdown-ld-kb:vocab:",
    "mcpg": "urn:mcpg:vocab:",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "https://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": XSD,
}
"""The prefix of each namespace, as in every export and every query."""

# https://www.iana.org/assignments/uri-schemes, as far as authors write them.
SCHEMES = frozenset(
    (
        *("about", "acct", "arn", "bitcoin", "cid", "data", "did", "dns", "doi", "example", "feed"),
        *("file", "ftp", "ftps", "geo", "git", "github", "gitlab", "gopher", "hdl", "http"),
        *("https", "imap", "info", "ipfs", "ipp", "irc", "ircs", "isbn", "issn", "jar", "jdbc"),
        *("ldap", "ldaps", "lsid", "magnet", "mailto", "mcp", "mid", "mongodb", "mqtt", "news"),
        *("nfs", "ni", "oid", "orcid", "pkg", "postgres", "postgresql", "redis", "rsync", "rtsp"),
        *("s3", "sftp", "sip", "sips", "slack", "sms", "smb", "spdx", "ssh", "steam", "stun"),
        *("svn", "tag", "tel", "telnet", "tftp", "turn", "udp", "unix", "urn", "view-source"),
        *("vscode", "ws", "wss", "xmpp"),
    )
)
"""Schemes of addresses, which are not prefixes."""

_DATE = re.compile(r"-?([0-9]{4,})-([0-9]{2})-([0-9]{2})(?:Z|[+-][0-9]{2}:[0-9]{2})?\Z")
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
_DECIMAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_WHOLE = re.compile(r"[+-]?[0-9]+\Z")
_FORMS = {
    "anyURI": re.compile(r"[^\s<>\"{}|\\^`]*\Z"),
    "base64Binary": re.compile(r"[A-Za-z0-9+/\s]*={0,2}\s*\Z"),
    "boolean": re.compile(r"(?:true|false|1|0)\Z"),
    "decimal": re.compile(rf"{_DECIMAL}\Z"),
    "double": re.compile(rf"(?:{_DECIMAL}(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN)\Z"),
    "duration": re.compile(
        r"-?P(?=.)(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
        r"(?:T(?=.)(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?\Z"
    ),
    "gDay": re.compile(r"---[0-9]{2}\Z"),
    "gMonth": re.compile(r"--[0-9]{2}\Z"),
    "gMonthDay": re.compile(r"--[0-9]{2}-[0-9]{2}\Z"),
    "gYear": re.compile(r"-?[0-9]{4,}\Z"),
    "gYearMonth": re.compile(r"-?[0-9]{4,}-[0-9]{2}\Z"),
    "hexBinary": re.compile(r"(?:[0-9A-Fa-f]{2})*\Z"),
    "language": re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*\Z"),
    "time": re.compile(rf"{_TIME}\Z"),
}
_FORMS["float"] = _FORMS["double"]
_FORMS["dayTimeDuration"] = _FORMS["yearMonthDuration"] = _FORMS["duration"]
_SIZES = {"long": 64, "int": 32, "short": 16, "byte": 8}
_INTEGERS: Mapping[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    **{name: (-(1 << bits - 1), (1 << bits - 1) - 1) for name, bits in _SIZES.items()},
    **{f"unsigned{name.title()}": (0, (1 << bits) - 1) for name, bits in _SIZES.items()},
}
_TEXTS = ("string", "normalizedString", "token", "Name", "NCName", "NMTOKEN", "QName")

DATATYPES = tuple(sorted({*_FORMS, *_INTEGERS, *_TEXTS, "date", "dateTime", "dateTimeStamp"}))
"""The local names of the datatypes of XML Schema."""

LANGUAGE = _FORMS["language"]
"""A language tag."""


def is_date(text: str) -> bool:
    """Return whether *text* is a day of the calendar, such as `2026-01-31`."""
    found = _DATE.match(text)
    if found is None:
        return False
    # The calendar of Python ends in 9999; the calendar of XML Schema repeats after 400 years.
    year = int(found[1][-4:]) % 400 + 2000
    try:
        date(year, int(found[2]), int(found[3]))
    except ValueError:
        return False
    return True


def is_of_datatype(text: str, datatype: str) -> bool:
    """Return whether *text* is a value of a datatype of XML Schema; of any other IRI, `True`.

    Source: "W3C XML Schema Definition Language (XSD) 1.1 Part 2: Datatypes", 2012.
    """
    name = datatype.removeprefix(XSD)
    text = text.strip()
    if name in _INTEGERS:
        least, most = _INTEGERS[name]
        if _WHOLE.match(text) is None or len(text) > _LONGEST_NUMBER:
            return _WHOLE.match(text) is not None and (least, most) == (None, None)
        number = int(text)
        return (least is None or number >= least) and (most is None or number <= most)
    if name == "date":
        return is_date(text)
    if name in {"dateTime", "dateTimeStamp"}:
        day, _, time = text.partition("T")
        return is_date(day) and _FORMS["time"].match(time) is not None
    form = _FORMS.get(name) if name != datatype else None
    return form is None or form.match(text) is not None


_LONGEST_NUMBER = 1000


Path: TypeAlias = tuple[str | int, ...]

LABEL_KEYS = ("label", "name", "value", "target", "object", "id")
"""The members of an item that can have the label of the thing, in order."""

_ID_KEYS = ("targetId", "target_id", "objectId", "object_id")
TARGET_KEYS = (
    *(*_ID_KEYS, "target", "object", "id", "value", "sameAs", "same_as", "name", "label"),
)
"""The members of an item that can identify the thing, in order."""

_SUBJECT_KEYS = ("subjectId", "subject_id", "subject")
_OBJECT_KEYS = ("objectId", "object_id", "targetId", "target_id", "object", "target")
_KEYS_OF_PARTS = {"subject": _SUBJECT_KEYS, "predicate": ("predicate",), "object": _OBJECT_KEYS}

# Most documents have none of these.
_KEYS = frozenset(
    (
        *("about", "author", "authors", "entity_hints", "entityHints"),
        *("graph_entities", "graphEntities", "graph_edges", "graphEdges"),
        *("rdf_prefixes", "rdfPrefixes", "rdf_types", "rdfTypes"),
        *("rdf_properties", "rdfProperties", "entry_type", "entryType"),
        *("source_project", "sourceProject", "date_published", "datePublished"),
        *("date_modified", "dateModified"),
    )
)
_VALUE_KEYS = ("value", "object", "target", "label", "name")
_Made = TypeVar("_Made")
_ITSELF = "document"
_SELF = frozenset({"article", "this article", _ITSELF, "this document"})


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing that a document is about or mentions: label, never blank, own IRI, type, sameAs."""

    label: str
    id: str = ""
    type: str = ""
    same_as: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StatedEdge:
    """One edge as an author writes it: subject, predicate, object, as given.

    Attributes:
        subject: A document, a tool, a thing; see `means_itself`. By default the document.
        predicate: A name, a name with a prefix, or an IRI.
        reason: Why, for people; "" if the author gives none.
    """

    subject: str
    predicate: str
    object: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Property:
    """One value of an RDF property: a text, perhaps of a datatype or a language, or an IRI."""

    predicate: str
    value: str
    is_iri: bool = False
    datatype: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class FrontMatterFacts:
    """All facts of a front matter beyond the tool and its links.

    Attributes:
        mentions: Things that it mentions: entity hints, then graph entities.
        statements: Edges written out.
        prefixes: Prefixes for names in this document, with their IRIs.
        entry_types: The kinds of text it is, each once, whatever its case.
        source_projects: Projects that it belongs to, each once, whatever its case.
        published: Date of publication, or "", as the date of the last change.
    """

    about: tuple[Entity, ...] = ()
    mentions: tuple[Entity, ...] = ()
    authors: tuple[Entity, ...] = ()
    statements: tuple[StatedEdge, ...] = ()
    prefixes: tuple[tuple[str, str], ...] = ()
    types: tuple[str, ...] = ()
    properties: tuple[Property, ...] = ()
    entry_types: tuple[str, ...] = ()
    source_projects: tuple[str, ...] = ()
    published: str = ""
    modified: str = ""


class FrontMatterError(NamedTuple):
    """An item that cannot be used: its keys and positions, and the fault."""

    path: Path
    message: str


def means_itself(subject: str) -> bool:
    """Return whether a statement's subject or object is the document that makes it."""
    return " ".join(subject.casefold().split()) in _SELF


def parse_facts(front: JsonObject) -> FrontMatterFacts:
    """Read the facts in *front*, ignoring items that cannot be used."""
    return read_facts(front)[0]


def read_facts(front: JsonObject) -> tuple[FrontMatterFacts, list[FrontMatterError]]:
    """Read the facts in *front*, or a part of it, and return items that cannot be used."""
    found: list[FrontMatterError] = []
    if _KEYS.isdisjoint(front):
        return FrontMatterFacts(), found
    facts = FrontMatterFacts(
        about=_each(front, ("about",), _entity, found),
        mentions=(
            *_each(front, ("entity_hints", "entityHints"), _entity, found),
            *_each(front, ("graph_entities", "graphEntities"), _entity, found),
        ),
        authors=_each(front, ("authors", "author"), _entity, found),
        statements=_each(front, ("graph_edges", "graphEdges"), _statement, found),
        prefixes=_prefixes(front, found),
        types=_each(front, ("rdf_types", "rdfTypes"), _type, found),
        properties=_properties(front, found),
        entry_types=_names(front, "entry_type", "entryType"),
        source_projects=_names(front, "source_project", "sourceProject"),
        published=_scalar(front, "date_published", "datePublished"),
        modified=_scalar(front, "date_modified", "dateModified"),
    )
    return facts, found


def pick_text(item: JsonValue, keys: tuple[str, ...]) -> str:
    """Return the text of an item, or of the first of its *keys* that has any; "" without."""
    candidates = [item.get(key) for key in keys] if isinstance(item, dict) else [item]
    texts = (text.strip() for text in candidates if isinstance(text, str))
    return next(filter(None, texts), "")


def scalar_text(value: JsonValue) -> str:
    """Return a text or number as text; "" for anything else."""
    is_scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value).strip() if is_scalar else ""


def iter_items(front: JsonObject, keys: Iterable[str]) -> Iterator[tuple[Path, JsonValue]]:
    """Return the items under any of *keys*, each with its path; a lone one needs no list."""
    for key in keys:
        value = front.get(key)
        if isinstance(value, list):
            yield from (((key, place), item) for place, item in enumerate(value))
        elif value is not None:
            yield (key,), value


def _each(
    front: JsonObject,
    keys: tuple[str, ...],
    read: Callable[[JsonValue], _Made],
    found: list[FrontMatterError],
) -> tuple[_Made, ...]:
    """Read every item under *keys*, without repeats; unreadable ones go to *found*."""
    made: dict[_Made, None] = {}
    for path, item in iter_items(front, keys):
        try:
            made.setdefault(read(item))
        except ValueError as fault:
            found.append(FrontMatterError(path, f"{format_path(path)} {fault}"))
    return tuple(made)


def format_path(path: Path) -> str:
    """Return *path* as text: `graph_edges[2].subject`."""
    key, *rest = path
    steps = (f"[{one}]" if isinstance(one, int) else f".{one}" for one in rest)
    return f"{key}{''.join(steps)}"


def _entity(item: JsonValue) -> Entity:
    label = pick_text(item, LABEL_KEYS) or scalar_text(item)
    members = item if isinstance(item, dict) else {}
    value = members.get("sameAs", members.get("same_as"))
    items = value if isinstance(value, list) else [value]
    same_as = tuple(filter(None, (scalar_text(item) for item in items)))
    if not label and same_as:
        label = same_as[0]
    if not label:
        raise ValueError("names nothing: write a text, or a mapping with a `label`")
    return Entity(label, scalar_text(members.get("id")), scalar_text(members.get("type")), same_as)


def _statement(item: JsonValue) -> StatedEdge:
    if not isinstance(item, dict):
        raise ValueError("is not a mapping with `subject`, `predicate` and `object`")  # noqa: TRY004
    parts: dict[str, str] = {}
    for part, keys in _KEYS_OF_PARTS.items():
        ends = (pick_text(item.get(key), TARGET_KEYS) for key in keys)
        parts[part] = next(filter(None, ends), "")
    if all(item.get(key) in (None, "") for key in _SUBJECT_KEYS):
        parts["subject"] = _ITSELF
    missing = next((name for name, text in parts.items() if not text), None)
    if missing:
        is_blank = any(isinstance(item.get(key), str) for key in _KEYS_OF_PARTS[missing])
        raise ValueError(f"has {'an empty' if is_blank else 'no'} `{missing}`")
    return StatedEdge(**parts, reason=pick_text(item, ("reason",)))


def _type(item: JsonValue) -> str:
    if name := pick_text(item, TARGET_KEYS):
        return name
    raise ValueError("names no type")


def _prefixes(front: JsonObject, found: list[FrontMatterError]) -> tuple[tuple[str, str], ...]:
    known: dict[str, str] = {}
    for path, value in iter_items(front, ("rdf_prefixes", "rdfPrefixes")):
        members = value if isinstance(value, dict) else {}
        if not members:
            message = f"{format_path(path)} is not a mapping of prefixes to IRIs"
            found.append(FrontMatterError(path, message))
        for prefix, address in members.items():
            if is_absolute(scalar_text(address)):
                known.setdefault(prefix.rstrip(":"), scalar_text(address))
            else:
                message = f"{format_path(path)} has no absolute IRI for {prefix!r}"
                found.append(FrontMatterError((*path, prefix), message))
    return tuple(known.items())


def _properties(front: JsonObject, found: list[FrontMatterError]) -> tuple[Property, ...]:
    made: dict[Property, None] = {}
    for path, value in iter_items(front, ("rdf_properties", "rdfProperties")):
        if isinstance(value, dict) and "predicate" not in value:
            stated = [
                (predicate, (*path, predicate), item)
                for predicate, held in value.items()
                for item in (held if isinstance(held, list) else [held])
            ]
        else:
            members = value if isinstance(value, dict) else {}
            stated = [(scalar_text(members.get("predicate")), path, members)]
        for predicate, inner, item in stated:
            one = _property(predicate, item)
            if one is None:
                message = f"{format_path(path)} has a property without a value"
                found.append(FrontMatterError(inner, message))
            else:
                made.setdefault(one)
    return tuple(made)


def _property(predicate: str, item: JsonValue) -> Property | None:
    members = item if isinstance(item, dict) else {}
    address = pick_text(members.get("id"), ("id",))
    held = [members.get(key) for key in _VALUE_KEYS] if members else [item]
    value = next((one for one in held if lexical_form(one)), None)
    text = address or lexical_form(value)
    if not predicate.strip() or not text:
        return None
    if address:
        return Property(predicate.strip(), text, is_iri=True)
    language = pick_text(members, ("language", "lang"))
    stated = pick_text(members, ("datatype", "dataType", "data_type", "type"))
    datatype = stated or ("" if language else infer_datatype(value))
    return Property(predicate.strip(), text, datatype=datatype, language=language)


def lexical_form(value: JsonValue) -> str:
    """Return a text, number or truth value as RDF writes it; "" for anything else."""
    return str(value).lower() if isinstance(value, bool) else scalar_text(value)


def infer_datatype(value: JsonValue) -> str:
    """Return the datatype that YAML gives *value*; "" for a text."""
    if isinstance(value, bool):
        return f"{XSD}boolean"
    if isinstance(value, int):
        return f"{XSD}integer"
    if isinstance(value, float):
        return f"{XSD}double" if "e" in str(value).lower() else f"{XSD}decimal"
    return ""


def _scalar(front: JsonObject, *keys: str) -> str:
    return next(filter(None, (scalar_text(front.get(key)) for key in keys)), "")


def _names(front: JsonObject, *keys: str) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for _, item in iter_items(front, keys):
        if text := scalar_text(item):
            found.setdefault(text.casefold(), text)
    return tuple(found.values())


GENERATED_KEY = "generated"
"""The member of the `mcpg` key that lists the texts which a language model wrote."""


def state_generated(generated: Hints) -> JsonObject:
    """List texts that a language model wrote, as the front matter has them."""
    lists = {
        "aliases": list(generated.aliases),
        "keywords": list(generated.keywords),
        "examples": [one.input for one in generated.examples],
    }
    return {name: [*texts] for name, texts in lists.items() if texts}


def read_generated(listed: JsonValue) -> Hints:
    """Read the lists of `state_generated`; items of another type are ignored."""
    members = listed if isinstance(listed, dict) else {}
    lists: dict[str, Any] = {}
    for name in GENERATED_LISTS:
        items = members.get(name)
        stated = items[:MOST_GENERATED] if isinstance(items, list) else []
        texts = [one for one in stated if isinstance(one, str)]
        lists[name] = tuple(map(ToolExample, texts) if name == "examples" else texts)
    return Hints(**lists) if any(lists.values()) else NO_HINTS


def extras_for(tool: Tool, read: Tool) -> JsonObject:
    """Return every member of *tool* in which *read*, its document read back, differs.

    Generated texts are a member wherever there are any: *read* is read with them.
    """
    generated = state_generated(tool.generated)
    extras: JsonObject = {GENERATED_KEY: generated} if generated else {}
    for key, (attribute, _) in _MEMBERS.items():
        value = getattr(tool, attribute)
        if value != getattr(read, attribute):
            extras[key] = value
    for key in _HINTS:
        value = getattr(tool.hints, key)
        if value != getattr(read.hints, key):
            extras[key] = list(value) if isinstance(value, tuple) else value
    if "examples" in extras:
        stated = map(asdict, tool.hints.examples)
        extras["examples"] = [
            {name: one for name, one in members.items() if one is not None} for members in stated
        ]
    return extras


def with_extras(
    tool: Tool, extras: JsonObject, lines: LineNumbers
) -> tuple[Tool, list[Diagnostic]]:
    """Replace the members of *tool* that are in *extras*; report values of the wrong type."""
    members: dict[str, object] = {}
    hints: dict[str, object] = {}
    found: list[Diagnostic] = []
    for key, value in extras.items():
        try:
            if key in _MEMBERS:
                attribute, decode = _MEMBERS[key]
                members[attribute] = decode(value)
            elif key in _HINTS:
                hints[key] = _HINTS[key](value)
        except (TypeError, ValueError):
            message = f"mcpg.{key} has the wrong type and is ignored"
            found.append(warning(Code.DOCUMENT_INVALID, message, lines.at(EXTRAS_KEY, key)))
    if hints:
        members["hints"] = replace(tool.hints, **hints)  # type: ignore[arg-type]
    return (replace(tool, **members) if members else tool), found  # type: ignore[arg-type]


def _require(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value


def _name(value: JsonValue) -> str:
    if value == "":
        raise ValueError(value)
    return str(_text(value))


def _examples(value: JsonValue) -> tuple[ToolExample, ...]:
    stated = [_object(one) for one in _require(list, value)]
    return tuple(
        ToolExample(
            _text(one.get("input")),
            _optional_text(one.get("output")),
            _optional_text(one.get("description")),
        )
        for one in stated
    )


_text, _object = partial(_require, str), partial(_require, dict)
_optional_text, _flag = partial(_require, str | None), partial(_require, bool | None)
_MEMBERS: Mapping[str, tuple[str, Callable[[JsonValue], object]]] = {
    "id": ("id", _text),
    "source": ("source_id", _text),
    "name": ("name", _name),
    "title": ("title", _optional_text),
    "description": ("description", _text),
    "annotations": ("annotations", _object),
    "meta": ("meta", _object),
}

_HINTS: Mapping[str, Callable[[JsonValue], object]] = {
    **dict.fromkeys(Hints.__match_args__, _flag),
    **dict.fromkeys(HINT_LISTS, lambda value: tuple(map(_text, _require(list, value)))),
    **dict.fromkeys(
        ("cost_tier", "latency_tier"), lambda value: None if value is None else Tier(_text(value))
    ),
    "examples": _examples,
}
