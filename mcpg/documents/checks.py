"""Probable mistakes in the front matter of a document.

The reader ignores unknown keys and values. These checks report them: misspelled keys, values of a
kind that their key does not accept, names with an undeclared prefix, literals that do not fit their
datatype, invalid addresses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from mcpg.catalog.hints import HINT_FIELDS, HINT_KEYS, read_texts
from mcpg.catalog.model import Hints, SourceKind
from mcpg.documents import facts
from mcpg.documents.front_matter import EXTRAS_KEY
from mcpg.documents.model import TAG_KEYS, LineNumbers, possible_values, text_items
from mcpg.errors import Code, Diagnostic, warning
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.spelling import edit_distance, likeliest

Found: TypeAlias = Iterator[tuple[str, str, facts.Path]]

_TEXT_KEYS = (
    *("title", "displayName", "display_name", "name", "toolName", "tool_name"),
    *("id", "toolId", "tool_id", "source", "server", "sourceId", "source_id"),
    *("summary", "description", "canonical_url", "canonicalUrl", "sourceKind", "source_kind"),
    *("entry_type", "entryType", "source_project", "sourceProject"),
)
_DATE_KEYS = ("date_published", "datePublished", "date_modified", "dateModified")
_SCALAR_KEYS = frozenset((*_TEXT_KEYS, *_DATE_KEYS))
_MAPPING_KEYS = (
    *("input_schema", "inputSchema", "output_schema", "outputSchema"),
    *("annotations", "_meta", "meta", "hints", EXTRAS_KEY),
)
_LIST_HINTS = tuple(
    key for field in HINT_FIELDS.values() if field.read is read_texts for key in field.keys
)
_LINK_KEYS = ("graph_related", "graphRelated", "graph_next_steps", "graphNextSteps")
_THING_KEYS = (
    *("about", "entity_hints", "entityHints", "graph_entities", "graphEntities"),
    *("authors", "author"),
)
_GROUP_KEYS = ("graph_groups", "graphGroups")
_EDGE_KEYS = ("graph_edges", "graphEdges")
_TYPE_KEYS = ("rdf_types", "rdfTypes")
_PREFIX_KEYS = ("rdf_prefixes", "rdfPrefixes")
_PROPERTY_KEYS = ("rdf_properties", "rdfProperties")
_TOOL_KEY = "tool"
# A comma parts no names of persons.
_LISTS = (*_LIST_HINTS, *_LINK_KEYS, *_GROUP_KEYS, *_TYPE_KEYS, *_THING_KEYS[:-2])
_KNOWN = (
    *_TEXT_KEYS,
    *_DATE_KEYS,
    *_MAPPING_KEYS,
    *(key for field in HINT_FIELDS.values() for key in field.keys),
    *_LINK_KEYS,
    *_THING_KEYS,
    *_GROUP_KEYS,
    *_EDGE_KEYS,
    *_TYPE_KEYS,
    *_PREFIX_KEYS,
    *_PROPERTY_KEYS,
    _TOOL_KEY,
)
_SET_OF_KNOWN = frozenset(_KNOWN)
# Of several spellings that in snake_case is suggested.
_SUGGESTED = tuple(dict.fromkeys(key for key in _KNOWN if key == key.lower()))

_IDS = ("targetId", "target_id", "objectId", "object_id")
_TARGETS = ("target", "object", "id", *_IDS, "value", "sameAs", "same_as", "name", "label")
_SAME_AS = ("sameAs", "same_as")
_SUBJECT_IDS = ("subjectId", "subject_id")
_MEMBERS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        _LINK_KEYS, (*_TARGETS, "weight", "reason", "origin", "coverage", "fields", "type")
    ),
    **dict.fromkeys(_THING_KEYS, (*_TARGETS, "type")),
    **dict.fromkeys(
        _EDGE_KEYS,
        (*("subject", "predicate", "object", "target", "reason", "id"), *_IDS, *_SUBJECT_IDS),
    ),
    **dict.fromkeys(_GROUP_KEYS, ("id", "label", "name", "value")),
}
_VALUE_KEYS = ("value", "object", "target", "label", "name")
_VALUE_MEMBERS = (*("id", *_VALUE_KEYS), *("datatype", "type", "language", "lang", "predicate"))
_EXAMPLE_KEYS = HINT_FIELDS["examples"].keys
_EXAMPLE_MEMBERS = (
    *("input", "request", "output", "response", "description", "label"),
    *("Input", "Request", "Output", "Response", "Description", "Label"),
)
_EXTRAS = (
    facts.GENERATED_KEY,
    *("id", "source", "name", "title", "description", "annotations", "meta", "relations"),
    *Hints.__match_args__,
)
# Of several spellings that in snake_case is suggested.
_HINTS = tuple(sorted(HINT_KEYS, key=lambda key: key != key.lower()))
_PREDICATES = (
    *("relatedTo", "nextStep", "memberOf", "about", "mentions", "sameAs"),
    *("author", "creator", "description", "keywords", "hasPart"),
)
_ENTRY_TYPES = ("tech_article", "scholarly_article", "blog_posting")
_SOURCE_KINDS = tuple(kind.value for kind in SourceKind)
_GROUP_KINDS = frozenset({"domain", "source-domain", "category"})

_PREFIXED = re.compile(r"([A-Za-z][\w.-]*):(?!:)(\S*)")
_NO_IRI = re.compile(r"[\s<>\"{}|\\^`]")
_COMMA = re.compile(r"[^\s,][,;][ \t]+[^\s,]")
_COMMENT = re.compile(r"\s#")
# A literal or an IRI as Turtle writes it, which here is a text with these marks.
_TURTLE = re.compile(
    r"(?s:(?P<quote>[\"'])(?P<value>.*)(?P=quote)(?:\^\^(?P<type>\S+)|@(?P<lang>[\w-]+))"
    r"|(?P<plain>[^\"']*)\^\^(?P<bare>\w+:\w+|<\S+>)|<(?P<iri>\w+:\S*)>)\Z"
)
_SHOWN = 80
# So many names of a document are compared with known ones, which bounds the work.
_COMPARED = 100


def check_front_matter(front: JsonObject, lines: LineNumbers) -> Iterator[Diagnostic]:
    """Report probable mistakes of the author of *front*, with the line of each."""
    own = (str(path[1]).rstrip(":") for path, _ in _namespaces(front))
    prefixes = dict.fromkeys(sorted({*facts.PREFIXES, *own}))
    parts = (
        _misspelt(front),
        _cut_values(front, lines.text),
        _of_wrong_kind(front),
        _members(front),
        _names(front, prefixes.keys()),
        _literals(front),
        _vocabulary(front),
    )
    seen: set[tuple[str, facts.Path]] = set()
    for part in parts:
        for code, message, path in part:
            if (message, path) not in seen:
                seen.add((message, path))
                yield warning(code, message, lines.at(*path))


def quote_cut(text: object) -> str:
    """Return *text* in quotation marks, cut if it is long."""
    return repr(str(text)[:_SHOWN])


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return advice that names the member of *known* that *word* is like, "" if there is none."""
    near = likeliest(word, known)
    return f"; did you mean {near!r}?" if near else ""


def _misspelt(front: JsonObject) -> Found:
    unknown = [key for key in front if key not in _SET_OF_KNOWN]
    if unknown[_COMPARED:]:
        message = f"{len(unknown) - _COMPARED:,} more keys are unknown"
        yield Code.KEY_UNKNOWN, message, (unknown[_COMPARED],)
    # A key without a near name belongs to another program.
    for key in unknown[:_COMPARED]:
        near = likeliest(key, _SUGGESTED)
        below = (f"graph_{key.lower()}", f"rdf_{key.lower()}")
        near = near or next((one for one in below if one in _SET_OF_KNOWN), None)
        if near:
            message = f"the key {quote_cut(key)} is unknown; did you mean {near!r}?"
            yield Code.KEY_UNKNOWN, message, (key,)


def _cut_values(front: JsonObject, text: str) -> Found:
    """Report values of one line that YAML cuts at a `#` which begins no comment of an author."""
    for line in text.split("\n"):
        key, colon, rest = line.partition(":")
        cut = _COMMENT.search(rest) if colon and key in front else None
        if cut is None or rest[cut.end() :][:1].strip(" \t#") == "":
            continue
        # A number or list before it is whole: there it is a comment.
        if rest[: cut.start()].strip() == ("" if front[key] is None else front[key]):
            message = f"`{key}` is cut at ` #`, which begins a YAML comment: quote the value"
            yield Code.VALUE_INVALID, message, (key,)


def _of_wrong_kind(front: JsonObject) -> Found:
    """Report values that their key, or the prefix of a tag, cannot take; the reader skips these."""
    for key, value in front.items():
        if fault := _fault_of_kind(key, value) if key in _SET_OF_KNOWN else "":
            yield Code.VALUE_INVALID, f"`{key}` {fault}", (key,)
    for key in _DATE_KEYS:
        text = facts.lexical_form(front.get(key))
        if text and not facts.is_date(text):
            message = f"`{key}` is not a date: {quote_cut(text)}; write it as 2026-01-31"
            yield Code.VALUE_INVALID, message, (key,)
    for path, item in facts.iter_items(front, TAG_KEYS):
        for tag in text_items(item):
            if known := possible_values(tag):
                advice = suggestion(tag.partition(":")[2], known) or f"; write {', '.join(known)}"
                message = f"the tag {quote_cut(tag)} has an unknown value{advice}"
                yield Code.VALUE_INVALID, message, path


def _fault_of_kind(key: str, value: JsonValue) -> str:
    if value is None:
        return "has no value: write one, or remove the key"
    if key in _LISTS:
        if not isinstance(value, str) or _COMMA.search(value) is None:
            return ""
        items = ", ".join(part.strip() for part in re.split("[,;]", value) if part.strip())
        return f"is one text with commas: write a list, [{items[:_SHOWN]}]"
    if key == _TOOL_KEY:
        is_name = isinstance(value, str) or value is False
        return "" if is_name else "names no tool: write one name, or `false` for a page"
    if key in _MAPPING_KEYS:
        # The reader itself reports the `mcpg` key.
        is_right = isinstance(value, dict) or key == EXTRAS_KEY
        return "" if is_right else "is not a mapping and is ignored"
    is_scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
    return "" if is_scalar or key not in _SCALAR_KEYS else "is not a text and is ignored"


def _members(front: JsonObject) -> Found:
    """Report unknown members of items, if they are like known ones."""
    near: dict[tuple[str, Sequence[str]], str] = {}  # of so many as bounds the work
    for item, known, path, is_lost in _mappings_in(front):
        for member in item if isinstance(item, dict) else ():
            if member in known:
                continue
            advice = near.get((member, known))
            if advice is None and len(near) < _COMPARED:
                advice = near[member, known] = suggestion(member, known)
            if advice or advice is None or is_lost:
                ignored = advice or (" and is ignored" if is_lost else "")
                where = facts.format_path(path)
                message = f"the member {quote_cut(member)} of {where} is unknown{ignored}"
                yield Code.KEY_UNKNOWN, message, (*path, member)


def _mappings_in(front: JsonObject) -> Iterator[tuple[JsonValue, Sequence[str], facts.Path, bool]]:
    """Return items, the members that each takes, its path, and whether others are ignored."""
    for path, item in facts.iter_items(front, _MEMBERS):
        yield item, _MEMBERS[str(path[0])], path, path[0] in _LINK_KEYS
    for path, item in facts.iter_items(front, _EXAMPLE_KEYS):
        yield item, _EXAMPLE_MEMBERS, path, True
    yield front.get("hints"), _HINTS, ("hints",), False
    yield front.get(EXTRAS_KEY), _EXTRAS, (EXTRAS_KEY,), True
    for path, _, held in _values(front):
        yield held, _VALUE_MEMBERS, path, False
    for path, item in facts.iter_items(front, _PROPERTY_KEYS):
        if isinstance(item, dict) and "predicate" not in item and is_misspelt_triple(item):
            yield item, _VALUE_MEMBERS, path, True


def _find_name_fault(
    name: str, prefixes: Collection[str], left: Iterator[int], *, needs_prefix: bool
) -> tuple[str, str] | None:
    """Return code and message of the fault of *name*, `None` for none.

    The *prefixes* are in order; *left* yields once for each comparison with them that may be made.
    """
    prefix, colon, rest = name.partition(":")
    is_known = colon and prefix in prefixes and not rest.startswith("//")
    if is_known or (colon and (prefix.lower() in facts.SCHEMES or rest.startswith("//"))):
        odd = _NO_IRI.search(name)
        if odd is None:
            return None
        what = "a blank" if odd.group().isspace() else repr(odd.group())
        return Code.VALUE_INVALID, f"{quote_cut(name)} is not an IRI: it has {what}"
    if _PREFIXED.fullmatch(name) and prefix not in _GROUP_KINDS:
        compared = prefixes if next(left, None) is not None else ()
        near = (one for one in compared if edit_distance(one, prefix, 1) is not None)
        likely = next(near, None) if len(prefix) > 1 else None
        advice = f"; did you mean {likely!r}?" if likely else suggestion(prefix, compared)
        declare = "" if advice else "; declare it in `rdf_prefixes`"
        message = f"the prefix {quote_cut(prefix)} of {quote_cut(name)} is unknown{advice}{declare}"
        return Code.PREFIX_UNKNOWN, message
    if needs_prefix:
        local = re.sub(r"\W+", "", name)[:_SHOWN] or "name"
        advice = f"write an IRI, or a name such as schema:{local}"
        return Code.PREFIX_UNKNOWN, f"{quote_cut(name)} has no prefix: {advice}"
    return None


def _names(front: JsonObject, prefixes: Collection[str]) -> Found:
    """Report names that should be IRIs and are not."""
    left = iter(range(_COMPARED))
    declared = ((name, path, False) for path, name in _namespaces(front) if _PREFIXED.match(name))
    for name, path, needs_prefix in chain(_names_in(front), declared):
        fault = _find_name_fault(name, prefixes, left, needs_prefix=needs_prefix)
        if fault is not None:
            yield fault[0], f"{facts.format_path(path[:2])}: {fault[1]}", path


def _names_in(front: JsonObject) -> Iterator[tuple[str, facts.Path, bool]]:
    """Yield each name that may have a prefix, its path, and whether it needs one."""
    for path, item in facts.iter_items(front, _TYPE_KEYS):
        if isinstance(item, str):
            yield item.strip(), path, True
    for path, predicate, held in _values(front):
        yield predicate.strip(), path[:2], True
        yield from _iter_texts(held, path, {"id": True, "datatype": True, "type": True})
    for path, item in facts.iter_items(front, (*_THING_KEYS, *_LINK_KEYS, *_GROUP_KEYS)):
        yield from _iter_texts(item, path, {"id": False, "type": False})
    for path, item in facts.iter_items(front, _THING_KEYS):
        if isinstance(item, str) and "://" in item:
            yield item.strip(), path, False
        same = {key: item.get(key) for key in _SAME_AS} if isinstance(item, dict) else {}
        yield from (
            (text, (*path, at[0]), True)
            for at, one in facts.iter_items(same, _SAME_AS)
            if (text := one.strip() if isinstance(one, str) else "")
        )
    for path, item in facts.iter_items(front, _EDGE_KEYS):
        ends = ("subject", "object", "target")
        yield from _iter_texts(item, path, dict.fromkeys(ends, False))
        stated = item.get("predicate") if isinstance(item, dict) else None
        if isinstance(stated, str) and ":" in stated:
            yield stated.strip(), (*path, "predicate"), True


def _iter_texts(
    item: JsonValue, path: facts.Path, members: Mapping[str, bool]
) -> Iterator[tuple[str, facts.Path, bool]]:
    held = item if isinstance(item, dict) else {}
    for member, needs_prefix in members.items():
        value = held.get(member)
        if isinstance(value, str) and value.strip() and not facts.means_itself(value):
            yield value.strip(), (*path, member), needs_prefix


def _values(front: JsonObject) -> Iterator[tuple[facts.Path, str, JsonValue]]:
    for path, held in facts.iter_items(front, _PROPERTY_KEYS):
        if not isinstance(held, dict):
            continue
        if "predicate" in held:
            yield path, str(held["predicate"]), held
            continue
        if is_misspelt_triple(held):
            continue
        for predicate, value in held.items():
            for place, one in enumerate(value) if isinstance(value, list) else [(None, value)]:
                yield (*path, predicate, *(() if place is None else (place,))), predicate, one


def is_misspelt_triple(held: JsonObject) -> bool:
    """Return whether *held* is meant as a predicate with a value, but misspells the predicate.

    `check_front_matter` reports it, and nothing in it can be what its author meant.
    """
    odd = [key for key in held if key not in _VALUE_MEMBERS]
    return 0 < len(odd) < len(held) and likeliest(odd[0], ("predicate",)) is not None


def _literals(front: JsonObject) -> Found:
    """Report values that do not fit their datatype or have an invalid language."""
    own = {str(path[1]).rstrip(":"): address for path, address in _namespaces(front)}
    namespaces = {**facts.PREFIXES, **own}
    for path, predicate, held in _values(front):
        value = next(map(held.get, _VALUE_KEYS), None) if isinstance(held, dict) else held
        turtle = _TURTLE.match(value.strip()) if isinstance(value, str) else None
        if turtle is not None:
            text = turtle["iri"] or turtle["value"] or turtle["plain"] or ""
            quoted = json.dumps(text[:_SHOWN], ensure_ascii=False)
            kind = (turtle["type"] or turtle["bare"] or "").strip("<>")[:_SHOWN]
            language = (turtle["lang"] or "").replace("_", "-")
            about = f"lang: {language}" if language else f"datatype: {kind}"
            mapping = f"id: {quoted}" if turtle["iri"] else f"value: {quoted}, {about}"
            message = f"{quote_cut(value)} is one text, marks and all: write {{{mapping}}}"
            yield Code.VALUE_INVALID, f"{predicate}: {message}", path
        elif isinstance(held, dict) and "id" not in held:
            for message in _literal_faults(held, namespaces):
                yield Code.VALUE_INVALID, f"{predicate}: {message}", path


def _literal_faults(held: JsonObject, namespaces: Mapping[str, str]) -> Iterator[str]:
    language = held.get("language", held.get("lang"))
    datatype = held.get("datatype", held.get("type"))
    if language is not None and not (isinstance(language, str) and facts.LANGUAGE.match(language)):
        yield f"{quote_cut(language)} is not a language tag: write one such as `de` or `pt-BR`"
    elif language is not None and datatype is not None:
        yield "a text in a language has no other datatype: remove `datatype` or `lang`"
    elif isinstance(datatype, str):
        name = datatype.strip()
        prefix, colon, local = name.partition(":")
        iri = f"{namespaces[prefix]}{local}" if colon and prefix in namespaces else name
        name = iri.removeprefix(facts.XSD)
        value = next(filter(None, map(facts.lexical_form, map(held.get, _VALUE_KEYS))), "")
        if name != iri and name not in facts.DATATYPES:
            yield f"xsd has no datatype {quote_cut(name)}{suggestion(name, facts.DATATYPES)}"
        elif not facts.is_of_datatype(value, iri):
            yield f"{quote_cut(value)} is not an xsd:{name}: correct the value or its datatype"


def _namespaces(front: JsonObject) -> Iterator[tuple[facts.Path, str]]:
    for key in _PREFIX_KEYS:
        value = front.get(key)
        for prefix, address in value.items() if isinstance(value, dict) else ():
            yield (key, prefix), str(address).strip()


def _vocabulary(front: JsonObject) -> Found:
    """Report words that resemble those of a closed list, but are not in it."""
    for path, item in facts.iter_items(front, _EDGE_KEYS):
        word = item.get("predicate") if isinstance(item, dict) else None
        if isinstance(word, str) and ":" not in word and _is_odd(word, _PREDICATES):
            advice = suggestion(word, _PREDICATES)
            if advice:
                message = f"the predicate {quote_cut(word)} is unknown{advice}"
                yield Code.VALUE_INVALID, message, (*path, "predicate")
    for keys, known in _CLOSED.items():
        for path, value in facts.iter_items(front, keys):
            if isinstance(value, str) and _is_odd(value, known):
                others = f"; write {', '.join(known)}" if known is _SOURCE_KINDS else ""
                if advice := suggestion(value, known) or others:
                    message = f"`{path[0]}` {quote_cut(value)} is unknown{advice}"
                    yield Code.VALUE_INVALID, message, path


def _is_odd(word: str, known: Iterable[str]) -> bool:
    plain, *others = (re.sub(r"[\s_-]", "", text.casefold()) for text in (word, *known))
    return plain not in others


_CLOSED = {("entry_type", "entryType"): _ENTRY_TYPES, ("source_kind", "sourceKind"): _SOURCE_KINDS}
