"""SHACL validation of documents: results, with the lines on which authors wrote the values.

Shapes may come from strangers and ask for work that never ends: patterns that backtrack, paths that
branch, queries over every pair of nodes. So they run in a process that can be killed and has no
network access.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from importlib.util import find_spec
from itertools import chain, count
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

import pyoxigraph

from mcpg.documents.addresses import digest
from mcpg.documents.facts import LABEL_KEYS, TARGET_KEYS, pick_text
from mcpg.documents.front_matter import split_front_matter
from mcpg.documents.model import LineNumbers, Link, ToolDocument
from mcpg.errors import Code, Diagnostic, DocumentError, InputError, McpgError, UsageError, warning
from mcpg.graph import terms as v
from mcpg.graph.exports import turtle
from mcpg.graph.terms import (
    MOST_SUGGESTED,
    OWL,
    RDFS,
    Triple,
    compact_iri,
    node_iri,
    part_iri,
    unknown_names,
)
from mcpg.graph.triples import PREDICATES, distinct_documents, make_triples
from mcpg.graph.worker import Worker, WorkerEndedError
from mcpg.sources.model import read_text
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.library_errors import install_command, turtle_reason
from mcpg.text.spelling import Suggester

_SH = "http://www.w3.org/ns/shacl#"
_SCRIPTED = tuple(f"{_SH}{name}" for name in ("js", "jsFunctionName", "jsLibrary", "jsLibraryURL"))
_ADVANCED = tuple(f"{_SH}{name}" for name in ("rule", "target", "expression", "returnType"))
_IMPORTS, _ONTOLOGY = f"{OWL}imports", f"{OWL}Ontology"
_MOST_FILES = 100
_SHOWN = 200
_TARGET_NODE, _TARGET_CLASS = "targetNode", "targetClass"
_TARGETS = (_TARGET_NODE, _TARGET_CLASS, "targetSubjectsOf", "targetObjectsOf")
_TRUE = ("true", "1")
_DEACTIVATED, _SUBCLASS = f"{_SH}deactivated", f"{RDFS}subClassOf"
_SHAPES = (f"{_SH}NodeShape", f"{_SH}PropertyShape")
_LOCAL_HOSTS = ("", "localhost")


def shipped_shapes() -> str:
    """Return the shapes of tools, documents and relations that come with the package, in Turtle."""
    return (files("mcpg.graph") / "data" / "shapes.ttl").read_text("utf-8")


def check_shapes(text: str, place: str) -> None:
    """Check that *text*, of the file *place*, is Turtle and needs only supported features.

    JavaScript and SHACL's advanced features would be ignored, and passing would mean nothing.
    """
    predicates = {triple.predicate.value for triple in _parse_turtle(text, place)}
    _refuse_unsupported(predicates, place)
    if not any(predicate.startswith(_SH) for predicate in predicates):
        remedy = "use a file of SHACL shapes"
        raise InputError("this file contains no shapes", place=place, remedy=remedy)


def _refuse_unsupported(predicates: Collection[str], place: str) -> None:
    for names, what in ((_SCRIPTED, "JavaScript"), (_ADVANCED, "SHACL's advanced features")):
        used = next((name for name in names if name in predicates), None)
        if used:
            raise InputError(
                f"these shapes need {what} (sh:{used.removeprefix(_SH)}), which is not supported",
                place=place,
                remedy="use core constraints, or sh:sparql",
            )


def complete_shapes(given: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of shapes by file: those *given*, checked, and the ones they import.

    An import is the address of a file on this machine, or names an ontology that is among the
    files. Nothing is read from the network. An import that cannot be read is an `InputError`.
    """
    for place, text in given.items():
        check_shapes(text, place)
    found = dict(given)
    known = {Path(place).resolve() for place in found}
    for place in (waiting := list(found)):
        for path in _find_imported_files(place, found):
            if path in known:
                continue
            if len(found) == _MOST_FILES:
                message = f"imports more than {_MOST_FILES} files"
                raise InputError(message, place=place, remedy="join them")
            known.add(path)
            try:
                text = found[str(path)] = read_text(path, str(path))
            except McpgError as fault:
                message = f"imports {path}, which cannot be read: {fault.message}"
                raise InputError(message, place=place, remedy=fault.remedy) from fault
            # An import may have only classes, and no shapes.
            predicates = {one.predicate.value for one in _parse_turtle(text, str(path))}
            _refuse_unsupported(predicates, str(path))
            waiting.append(str(path))
    return found


def find_unknown_terms(texts: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Report names in the namespace of SHACL that its recommendation lacks, which do nothing.

    *texts* are shapes in Turtle, by file.
    """
    # Its names are in https://www.w3.org/ns/shacl.ttl.
    from rdflib import SH  # noqa: PLC0415 - few validations have shapes of their own

    known = Suggester(str(term).removeprefix(_SH) for term in dir(SH))
    shown = count()
    for place, text in texts.items():
        lines = _lines_by_name(text)
        terms = chain.from_iterable(_parse_turtle(text, place))
        values = dict.fromkeys(
            term.value for term in terms if isinstance(term, pyoxigraph.NamedNode)
        )
        for name in (one.removeprefix(_SH) for one in values if one.startswith(_SH)):
            if name and name not in SH:
                near = known.suggest(name) if next(shown) < MOST_SUGGESTED else ()
                advice = f"; did you mean sh:{near[0]}?" if near else ""
                message = f"SHACL has no sh:{name[:_SHOWN]}, so it has no effect{advice}"
                yield warning(Code.SHAPE_TERM_UNKNOWN, message, _locate_name(name, lines, place))


class ShapeTargets:
    """The targets of shapes in Turtle, by file, and which of them have a node in a graph."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._targets = list(dict.fromkeys(_find_targets(texts)))
        self._unseen = {value for _, kind, value in self._targets if kind == _TARGET_NODE}
        self._classes: set[object] = set()
        self._predicates: set[str] = set()
        self._above: defaultdict[object, set[object]] = defaultdict(set)

    def see(self, triple: Triple) -> None:
        """Note the nodes of a *triple* of the graph."""
        subject, predicate, value = triple
        self._predicates.add(predicate)
        if predicate == v.rdf.type:
            self._classes.add(value)
        elif predicate == _SUBCLASS:
            self._above[subject].add(value)
        if self._unseen:
            self._unseen.difference_update((subject, value))

    def find_unmet(self) -> Iterator[Diagnostic]:
        """Report the targets that no node of the graph meets."""
        # Classes are also met by instances of a subclass.
        waiting = [*self._classes]
        while waiting:
            others = self._above[waiting.pop()] - self._classes
            self._classes |= others
            waiting += others
        met = dict.fromkeys(_TARGETS, self._predicates) | {_TARGET_CLASS: self._classes}
        unmet = [
            (place, kind, value)
            for place, kind, value in self._targets
            if (value in self._unseen if kind == _TARGET_NODE else value not in met[kind])
        ]
        names = ((value, compact_iri(value)) for _, _, value in unmet)
        near = unknown_names(name for value, name in names if name != value)
        for place, kind, value in unmet:
            likely = near.get(compact_iri(value))
            advice = f"; did you mean {likely[0]}?" if likely else ""
            message = f"sh:{kind} <{value[:_SHOWN]}> matches no node of the graph{advice}"
            yield warning(Code.SHAPE_TARGET_EMPTY, message, place)


def _find_targets(texts: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the targets of shapes, each of which may be described in several of *texts*.

    Each target has its place, the local name of the property that sets it, and an IRI.
    """
    parsed = {place: _parse_turtle(text, place) for place, text in texts.items()}
    types, off = defaultdict(set), set()
    for one in chain.from_iterable(parsed.values()):
        if one.predicate.value == v.rdf.type:
            types[one.subject].add(one.object.value)
        elif one.predicate.value == _DEACTIVATED and one.object.value in _TRUE:
            off.add(one.subject)
    for place, triples in parsed.items():
        lines = _lines_by_name(texts[place])
        for one in triples:
            kind, node = one.predicate.value.removeprefix(_SH), one.object
            is_class = kind == v.rdf.type and node.value == f"{RDFS}Class"
            if is_class and not types[one.subject].isdisjoint(_SHAPES):
                kind, node = _TARGET_CLASS, one.subject
            is_named = isinstance(node, pyoxigraph.NamedNode)
            if kind in _TARGETS and is_named and one.subject not in off:
                yield _locate_name(node.value, lines, place), kind, node.value


# A sign after which the last part of an IRI or a prefixed name begins.
_LOCAL = re.compile(r"""(?<=[#/:])[^\s#/:<>,;"'()\[\]]+""")


def _lines_by_name(text: str) -> Mapping[str, int]:
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        for name in _LOCAL.findall(line):
            lines.setdefault(name.rstrip("."), number)
    return lines


def _locate_name(name: str, lines: Mapping[str, int], place: str) -> str:
    """Return `file:line` of the first IRI that ends as *name* does, the file if none is found."""
    line = lines.get(re.split("[#/:]", name.rstrip("#/:"))[-1])
    return f"{place}:{line}" if line else place


def with_base(text: str, place: str) -> str:
    """Return *text* such that relative addresses in it begin at the file *place*."""
    return f"@base <{Path(place).resolve().as_uri()}> .\n{text}"


def _find_imported_files(place: str, texts: Mapping[str, str]) -> Iterator[Path]:
    for triple in _parse_turtle(texts[place], place):
        if triple.predicate.value != _IMPORTS:
            continue
        if not isinstance(triple.object, pyoxigraph.NamedNode):
            message = "owl:imports names no address"
            raise InputError(message, place=place, remedy="write an IRI between < and >")
        address = triple.object.value
        parts = urlsplit(address)
        if parts.scheme == "file" and parts.netloc in _LOCAL_HOSTS:
            try:
                yield Path(url2pathname(parts.path)).resolve()
            except (OSError, RuntimeError, ValueError) as fault:
                message = f"imports {address}, which is not the address of a file"
                raise InputError(message, place=place, remedy="correct it") from fault
            continue
        known = (
            one.subject.value
            for other, text in (("ontology.ttl", v.ontology_text()), *texts.items())
            for one in _parse_turtle(text, other)
            if one.predicate.value == v.rdf.type and one.object.value == _ONTOLOGY
        )
        if address not in set(known):
            raise InputError(
                f"imports {address}, and validation reads nothing from the network",
                place=place,
                remedy="download it and import the file, or add the file with --shapes",
            )


def _parse_turtle(text: str, place: str) -> list[Any]:
    try:
        base, form = Path(place).resolve().as_uri(), pyoxigraph.RdfFormat.TURTLE
        found = list(pyoxigraph.parse(text.encode(), format=form, base_iri=base))
    except (SyntaxError, UnicodeEncodeError) as fault:
        line = getattr(fault, "lineno", None)
        where = f"{place}:{line}" if line else place
        problem, remedy = (
            turtle_reason(fault)
            if isinstance(fault, SyntaxError)
            else ("half a character", "save it as UTF-8")
        )
        raise InputError(f"invalid Turtle: {problem}", place=where, remedy=remedy) from fault
    if any(isinstance(one.object, pyoxigraph.Triple) for one in found):
        message = "a triple within a triple is not supported"
        raise InputError(message, place=place, remedy="use triples of RDF 1.1")
    return found


_THINGS = {
    v.schema.about: ("about",),
    v.schema.mentions: ("entity_hints", "entityHints", "graph_entities", "graphEntities"),
    v.schema.author: ("authors", "author"),
}
_EDGES = {
    v.kb.relatedTo: ("graph_related", "graphRelated"),
    v.kb.nextStep: ("graph_next_steps", "graphNextSteps"),
    v.kb.memberOf: ("graph_groups", "graphGroups"),
}
_KEYS = {
    **_THINGS,
    **_EDGES,
    v.rdf.type: ("rdf_types", "rdfTypes", "entry_type", "entryType"),
    v.schema.name: ("title", "displayName", "display_name", "name"),
    v.schema.description: ("description", "summary"),
    v.schema.keywords: ("keywords", "tags"),
    v.schema.alternateName: ("aliases",),
    v.schema.datePublished: ("date_published", "datePublished"),
    v.schema.dateModified: ("date_modified", "dateModified"),
    v.kb.entryType: ("entry_type", "entryType"),
    v.kb.sourceProject: ("source_project", "sourceProject"),
    v.prov.wasDerivedFrom: ("canonical_url", "canonicalUrl"),
    v.mcpg.toolName: ("name", "toolName", "tool_name"),
    v.mcpg.source: ("source", "server", "sourceId", "source_id"),
}
_STATED = ("rdf_properties", "rdfProperties", "graph_edges", "graphEdges")


class SourceLocations:
    """Finds the document and the line of a result."""

    def __init__(
        self, documents: Iterable[ToolDocument], originals: Mapping[str, tuple[str, str]]
    ) -> None:
        """Keep the documents of a graph, and the texts of their authors.

        *originals* has the place and text of each by path of the document, or by its place if
        its path in the bundle is another.
        """
        self._documents = list(documents)
        self._originals = originals
        self._fronts: dict[str, _FrontMatterLines] = {}
        self._links: dict[str, Mapping[str, Link]] = {}

    def locate_result(self, result: ShaclResult) -> str | None:
        """Return `file:line` of the subject of *result*, or as much of it as is known."""
        focus = result.focus
        whole, _, _ = focus.rpartition("#")
        owner = self._by_node.get(focus) or self._by_node.get(whole) or self._things.get(focus)
        # If the document's own IRI has a fragment, its parts are below that.
        owner = owner or self._by_node.get(focus.rsplit("/", 2)[0])
        if owner is None:
            return None
        front = self._front(owner.path) or self._front(owner.tool.place)
        if front is None:
            return owner.tool.place or owner.path
        if focus in self._things and focus not in self._by_node:
            keys = tuple(key for keys in _THINGS.values() for key in keys)
            return front.locate(*front.find_item(keys, focus))
        if owner.path not in self._links:
            node = node_iri(owner.uri)
            self._links[owner.path] = {
                part_iri(node, link.kind.value, digest(link.target)): link for link in owner.links
            }
        sought: tuple[str, ...] = result.value, result.path
        keys = (*_KEYS.get(result.path, ()), *_STATED)
        link = self._links[owner.path].get(focus)
        if link is not None:
            keys, sought = _EDGES[PREDICATES[link.kind]], (link.target,)
        return front.locate(*front.find_item(keys, *sought))

    @cached_property
    def _by_node(self) -> dict[str, ToolDocument]:
        return {node_iri(document.uri): document for document in self._documents}

    @cached_property
    def _things(self) -> dict[str, ToolDocument]:
        found: dict[str, ToolDocument] = {}
        for document in self._documents:
            for keys in _THINGS.values() if document.further else ():
                for key in keys:
                    for item in _as_list(document.further.get(key)):
                        for name in _names(item):
                            found.setdefault(node_iri(name), document)
        return found

    def _front(self, path: str) -> _FrontMatterLines | None:
        if path not in self._fronts and path in self._originals:
            place, content = self._originals[path]
            self._fronts[path] = _FrontMatterLines(content, place)
        return self._fronts.get(path)


class _FrontMatterLines:
    def __init__(self, content: str, place: str) -> None:
        self._place = place
        self._values: JsonObject = {}
        self._meanings: dict[str, dict[str, int]] = {}
        self._lines = LineNumbers("", place, 1)
        try:
            matter = split_front_matter(content.removeprefix("\ufeff"), place)
        except DocumentError:
            return
        self._values = matter.values
        self._lines = LineNumbers(matter.text, place, matter.text_line)

    def find_item(self, keys: tuple[str, ...], *values: str) -> tuple[str | int, ...]:
        """Return the path of the item under *keys* that means one of *values*, or its key."""
        present = [key for key in keys if key in self._values]
        for value in filter(None, values):
            for key in present:
                numbers = self._numbers(key)
                # The last segment of an address that ends with a slash, with the slashes.
                end = f"/{value[:-1].rpartition('/')[2]}/" if value.endswith("/") else ""
                found = [numbers[one] for one in (value, end) if one in numbers]
                if found:
                    return (key, min(found))
        return (present[0],) if present and present[0] not in _STATED else ()

    def _numbers(self, key: str) -> Mapping[str, int]:
        """Return the number of the first item under *key* that means a node or value, by that."""
        if key not in self._meanings:
            found = self._meanings[key] = {}
            for number, item in enumerate(_as_list(self._values[key])):
                for name in _names(item):
                    # As the URI of a tool ends that an author calls so.
                    end = f"/{quote(name.rpartition('::')[2], safe='')}/"
                    for meaning in (name, node_iri(name), end):
                        found.setdefault(meaning, number)
        return self._meanings[key]

    def locate(self, *path: str | int) -> str:
        return self._lines.at(*path) if path else f"{self._place}:1"


def _as_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _names(item: JsonValue) -> list[str]:
    members = item if isinstance(item, dict) else {}
    nested = (members.get(key) for key in ("object", "target", "predicate"))
    texts = [pick_text(item, TARGET_KEYS), pick_text(item, LABEL_KEYS)]
    texts += [pick_text(one, TARGET_KEYS) for one in nested]
    texts += [key for key in members if ":" in key]
    return list(filter(None, texts))


MEMORY = 4 * 1024 * 1024 * 1024
"""How many bytes a validation may take, if the system has such a bound."""

_WORKER = "mcpg.graph.shacl_worker"
_SEVERITIES = ("violation", "warning", "info")


@dataclass(frozen=True, slots=True)
class ShaclResult:
    """One thing that a shape finds wrong.

    Attributes:
        severity: `violation`, `warning` or `info`.
        message: The fault, in the shape's words.
        place: Its `file:line` or `file`; `None` if it is not known.
        focus: IRI of the node at fault.
        path: IRI of its property at fault, or "".
        value: The value at fault, IRI or text, or "".
        constraint: Name of the constraint, such as `MinCount`.
        shape: IRI of the shape, "" for one without a name.
    """

    severity: str
    message: str
    place: str | None
    focus: str
    path: str = ""
    value: str = ""
    constraint: str = ""
    shape: str = ""


def validate(
    data: bytes, shapes: Sequence[str], *, timeout: float, memory: int = MEMORY
) -> tuple[ShaclResult, ...]:
    """Validate the graph *data*, in Turtle, within *timeout* seconds and *memory* bytes.

    Shapes are Turtle that `check_shapes` has seen, and count together. The bound of memory applies
    if the system has one. The results are in the order of severity, node, property, value and
    message.
    """
    if find_spec("pyshacl") is None:
        raise UsageError("the SHACL validator is not installed", remedy=install_command("shacl"))
    until = time.monotonic() + timeout
    try:
        with closing(Worker(_WORKER, data, until, memory=memory)) as worker:
            answer: list[list[str]] | str = worker.ask({"shapes": list(shapes)}, until)
    except WorkerEndedError as fault:
        if fault.is_late:
            raise InputError(
                f"validation took longer than {timeout:g} seconds and was stopped",
                remedy="simplify the shapes, or raise --timeout",
            ) from None
        raise InputError(
            f"validation failed: it needs more than {memory / 2**30:g} GiB of memory, or crashed",
            remedy="simplify the shapes, or validate fewer documents",
        ) from None
    if isinstance(answer, str):
        raise InputError(f"the shapes cannot be used: {answer}", remedy="correct the shapes")
    results = [
        ShaclResult(severity, message or "the shape is not satisfied", None, *members)
        for severity, message, *members in answer
    ]
    results.sort(key=attrgetter("focus", "path", "value", "message", "shape"))
    return tuple(sorted(results, key=lambda one: _SEVERITIES.index(one.severity)))


DEFAULT_TIMEOUT = 300.0
"""How long a validation may take, in seconds."""


@dataclass(frozen=True, slots=True)
class Validation:
    """The outcome of a validation.

    Attributes:
        findings: The faults, violations first, then warnings, then the rest; in the order of
            places within each.
        pages: How many of them are of no tool.
        shapes: The files of further shapes, with those that they import.
    """

    findings: tuple[ShaclResult, ...]
    documents: int
    triples: int
    diagnostics: tuple[Diagnostic, ...] = ()
    pages: int = 0
    shapes: tuple[str, ...] = ()

    def count(self, severity: str) -> int:
        """Return how many findings are a `violation`, a `warning` or an `info`."""
        return sum(finding.severity == severity for finding in self.findings)


def validate_documents(
    documents: Iterable[ToolDocument],
    *,
    originals: Mapping[str, tuple[str, str]],
    shapes: Mapping[str, str],
    timeout: float = DEFAULT_TIMEOUT,
) -> Validation:
    """Validate the graph of *documents* against the shipped shapes and *shapes*.

    Documents include pages, and have their links resolved. *originals* are the texts that authors
    wrote, see `SourceLocations`; *shapes* has texts of further shapes in Turtle, by file, and
    their imports are read; *timeout* is in seconds.
    """
    texts = complete_shapes(shapes)
    targets = ShapeTargets(shapes)
    kept, noticed = distinct_documents(documents)
    count = 0

    def count_triples() -> Iterator[Triple]:
        nonlocal count
        for triple in make_triples(kept):
            count += 1
            if shapes:
                targets.see(triple)
            yield triple

    data = "".join(turtle(count_triples())).encode()
    based = [with_base(text, place) for place, text in texts.items()]
    results = validate(data, [shipped_shapes(), *based], timeout=timeout)
    blame = SourceLocations(kept, originals)
    findings = [replace(result, place=blame.locate_result(result)) for result in results]

    def order(finding: ShaclResult) -> tuple[int, str, int, str]:
        file, _, line = (finding.place or "").rpartition(":")
        rank = _SEVERITIES.index(finding.severity)
        return rank, file, int(line) if line.isdigit() else 0, finding.message

    findings.sort(key=order)
    pages = sum(document.is_page for document in kept)
    doubts = (*find_unknown_terms(texts), *targets.find_unmet()) if shapes else ()
    diagnostics = (*noticed, *doubts)
    return Validation(tuple(findings), len(kept), count, diagnostics, pages, tuple(texts))
