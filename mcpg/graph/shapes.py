"""Files of SHACL shapes: what comes with the package, what others import, and what is refused."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from importlib.resources import files
from itertools import chain, count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mcpg.errors import Code, Diagnostic, InputError, McpgError, warning
from mcpg.graph.suggestions import MOST_SUGGESTED, unknown_names
from mcpg.graph.terms import OWL, RDF_TYPE, RDFS, Triple, compact_iri
from mcpg.library_errors import turtle_reason
from mcpg.suggestions import Suggester

_SHIPPED = "shapes.ttl"
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
    return (files("mcpg.graph") / "data" / _SHIPPED).read_text("utf-8")


def check_shapes(text: str, place: str) -> None:
    """See that *text* is Turtle and asks for nothing that is not done.

    Args:
        text: Shapes in Turtle.
        place: Name of the file, for messages.

    Raises:
        InputError: It is no Turtle, holds no shape, or needs JavaScript or SHACL's advanced
            features; these would be passed over, and passing would mean nothing.
    """
    predicates = {triple.predicate.value for triple in _triples(text, place)}
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
                remedy="state it with core constraints, or with sh:sparql",
            )


def complete_shapes(given: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of shapes by file: those of *given*, checked, and what they import.

    An import is the address of a file on this machine, or names an ontology that is among the
    files. Nothing is read from the network.

    Raises:
        InputError: A text is no file of shapes, or what it imports cannot be had.
    """
    for place, text in given.items():
        check_shapes(text, place)
    found = dict(given)
    known = {_resolve_path(place) for place in found}
    for place in (waiting := list(found)):
        for path in _files_imported(place, found):
            if path in known:
                continue
            if len(found) == _MOST_FILES:
                message = f"imports more than {_MOST_FILES} files"
                raise InputError(message, place=place, remedy="join them")
            known.add(path)
            found[str(path)] = _read(path, place)
            waiting.append(str(path))
    return found


def find_unknown_terms(texts: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Report names in the namespace of SHACL that its recommendation lacks, which do nothing.

    Args:
        texts: Texts of shapes in Turtle, by file.
    """
    # Its names are those of https://www.w3.org/ns/shacl.ttl.
    from rdflib import SH  # noqa: PLC0415 - few validations have shapes of their own

    known = Suggester(str(term).removeprefix(_SH) for term in dir(SH))
    shown = count()
    for place, text in texts.items():
        lines = _lines_by_name(text)
        terms = chain.from_iterable(_triples(text, place))
        values = dict.fromkeys(term.value for term in terms if _is_named(term))
        for name in (one.removeprefix(_SH) for one in values if one.startswith(_SH)):
            if name and name not in SH:
                near = known.suggest(name) if next(shown) < MOST_SUGGESTED else ()
                advice = f"; did you mean sh:{near[0]}?" if near else ""
                message = f"SHACL has no sh:{name[:_SHOWN]}, so it has no effect{advice}"
                yield warning(Code.SHAPE_TERM_UNKNOWN, message, _locate_name(name, lines, place))


class ShapeTargets:
    """The targets of shapes, and which of them have a node in a graph.

    Args:
        texts: Texts of shapes in Turtle, by file.
    """

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
        if predicate == RDF_TYPE:
            self._classes.add(value)
        elif predicate == _SUBCLASS:
            self._above[subject].add(value)
        if self._unseen:
            self._unseen.difference_update((subject, value))

    def find_unmet(self) -> Iterator[Diagnostic]:
        """Report the targets that no node of the graph meets."""
        self._add_superclasses()
        unmet = [one for one in self._targets if not self._is_met(*one[1:])]
        names = ((value, compact_iri(value)) for _, _, value in unmet)
        near = unknown_names(name for value, name in names if name != value)
        for place, kind, value in unmet:
            likely = near.get(compact_iri(value))
            advice = f"; did you mean {likely[0]}?" if likely else ""
            message = f"sh:{kind} <{value[:_SHOWN]}> matches no node of the graph{advice}"
            yield warning(Code.SHAPE_TARGET_EMPTY, message, place)

    def _add_superclasses(self) -> None:
        """Add the classes of which the graph has instances of a subclass."""
        waiting = [*self._classes]
        while waiting:
            others = self._above[waiting.pop()] - self._classes
            self._classes |= others
            waiting += others

    def _is_met(self, kind: str, value: str) -> bool:
        if kind == _TARGET_NODE:
            return value not in self._unseen
        return value in (self._classes if kind == _TARGET_CLASS else self._predicates)


def _find_targets(texts: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the targets of shapes, each of which may be described in several of *texts*.

    Of each there is the place, the local name of the property that states it, and an IRI.
    """
    parsed = {place: _triples(text, place) for place, text in texts.items()}
    types, off = defaultdict(set), set()
    for one in chain.from_iterable(parsed.values()):
        if one.predicate.value == RDF_TYPE:
            types[one.subject].add(one.object.value)
        elif one.predicate.value == _DEACTIVATED and one.object.value in _TRUE:
            off.add(one.subject)
    for place, triples in parsed.items():
        lines = _lines_by_name(texts[place])
        for one in triples:
            kind, node = one.predicate.value.removeprefix(_SH), one.object
            is_class = kind == RDF_TYPE and node.value == f"{RDFS}Class"
            if is_class and not types[one.subject].isdisjoint(_SHAPES):
                kind, node = _TARGET_CLASS, one.subject
            if kind in _TARGETS and _is_named(node) and one.subject not in off:
                yield _locate_name(node.value, lines, place), kind, node.value


def _is_named(term: Any) -> bool:
    import pyoxigraph  # noqa: PLC0415 - as above

    return isinstance(term, pyoxigraph.NamedNode)


# What follows a sign after which the last part of an IRI or a prefixed name begins.
_LOCAL = re.compile(r"""(?<=[#/:])[^\s#/:<>,;"'()\[\]]+""")


def _lines_by_name(text: str) -> Mapping[str, int]:
    """Return for each local name in *text*, a text in Turtle, the first line that has it."""
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
    return f"@base <{_base(place)}> .\n{text}"


def _files_imported(place: str, texts: Mapping[str, str]) -> Iterator[Path]:
    for address in _imports(texts[place], place):
        parts = urlsplit(address)
        if parts.scheme == "file" and parts.netloc in _LOCAL_HOSTS:
            yield _parse_file_address(parts.path, address, place)
        elif address not in _ontologies(texts):
            raise InputError(
                f"imports {address}, and validation reads nothing from the network",
                place=place,
                remedy="download it and import the file, or add the file with --shapes",
            )


def _parse_file_address(written: str, address: str, place: str) -> Path:
    try:
        return Path(url2pathname(written)).resolve()
    except (OSError, RuntimeError, ValueError) as fault:
        message = f"imports {address}, which is no address of a file"
        raise InputError(message, place=place, remedy="correct it") from fault


def _imports(text: str, place: str) -> Iterator[str]:
    import pyoxigraph  # noqa: PLC0415 - only these commands need it

    for triple in _triples(text, place):
        if triple.predicate.value == _IMPORTS:
            if not isinstance(triple.object, pyoxigraph.NamedNode):
                message = "owl:imports names no address"
                raise InputError(message, place=place, remedy="write an IRI between < and >")
            yield triple.object.value


def _ontologies(texts: Mapping[str, str]) -> set[str]:
    """Return the IRIs of the ontologies that *texts* and the package hold."""
    own = (files("mcpg.graph") / "data" / "ontology.ttl").read_text("utf-8")
    return {
        triple.subject.value
        for place, text in (("ontology.ttl", own), *texts.items())
        for triple in _triples(text, place)
        if triple.predicate.value == RDF_TYPE and triple.object.value == _ONTOLOGY
    }


def _read(path: Path, place: str) -> str:
    """Return the text of the file at *path*, which the file *place* imports."""
    from mcpg.sources.model import read_text  # noqa: PLC0415 - few shapes import others

    try:
        text = read_text(path, str(path))
    except McpgError as fault:
        message = f"imports {path}, which cannot be read: {fault.message}"
        raise InputError(message, place=place, remedy=fault.remedy) from fault
    # What is imported may hold classes alone, and no shapes.
    _refuse_unsupported({triple.predicate.value for triple in _triples(text, str(path))}, str(path))
    return text


def _resolve_path(place: str) -> Path:
    return Path(place).resolve()


def _base(place: str) -> str:
    return _resolve_path(place).as_uri()


def _triples(text: str, place: str) -> list[Any]:
    import pyoxigraph  # noqa: PLC0415 - as above

    try:
        form = pyoxigraph.RdfFormat.TURTLE
        found = list(pyoxigraph.parse(text.encode(), format=form, base_iri=_base(place)))
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
        raise InputError(message, place=place, remedy="state it in triples of RDF 1.1")
    return found
