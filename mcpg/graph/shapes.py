"""Files of SHACL shapes: what comes with the package, what others import, and what is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mcpg.errors import InputError, McpgError
from mcpg.graph.terms import OWL, RDF_TYPE
from mcpg.library_errors import turtle_reason

_SHIPPED = "shapes.ttl"
_SH = "http://www.w3.org/ns/shacl#"
_SCRIPTED = tuple(f"{_SH}{name}" for name in ("js", "jsFunctionName", "jsLibrary", "jsLibraryURL"))
_ADVANCED = tuple(f"{_SH}{name}" for name in ("rule", "target", "expression", "returnType"))
_IMPORTS, _ONTOLOGY = f"{OWL}imports", f"{OWL}Ontology"
_MOST_FILES = 100
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
    known = {_resolved(place) for place in found}
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


def with_base(text: str, place: str) -> str:
    """Return *text* such that relative addresses in it begin at the file *place*."""
    return f"@base <{_base(place)}> .\n{text}"


def _files_imported(place: str, texts: Mapping[str, str]) -> Iterator[Path]:
    for address in _imports(texts[place], place):
        parts = urlsplit(address)
        if parts.scheme == "file" and parts.netloc in _LOCAL_HOSTS:
            yield Path(url2pathname(parts.path)).resolve()
        elif address not in _ontologies(texts):
            raise InputError(
                f"imports {address}, and validation reads nothing from the network",
                place=place,
                remedy="download it and import the file, or add the file with --shapes",
            )


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


def _resolved(place: str) -> Path:
    return Path(place).resolve()


def _base(place: str) -> str:
    return _resolved(place).as_uri()


def _triples(text: str, place: str) -> list[Any]:
    import pyoxigraph  # noqa: PLC0415 - as above

    try:
        form = pyoxigraph.RdfFormat.TURTLE
        return list(pyoxigraph.parse(text.encode(), format=form, base_iri=_base(place)))
    except (SyntaxError, UnicodeEncodeError) as fault:
        line = getattr(fault, "lineno", None)
        where = f"{place}:{line}" if line else place
        problem, remedy = (
            turtle_reason(fault)
            if isinstance(fault, SyntaxError)
            else ("half a character", "save it as UTF-8")
        )
        raise InputError(f"invalid Turtle: {problem}", place=where, remedy=remedy) from fault
