"""What the .NET library makes of the documents of a bundle or a folder.

It reads a bundle as a whole or not at all, finds documents by their addresses alone, and makes one
node of labels that differ in letters which it drops.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcpg.catalog.model import SourceDocument
from mcpg.documents import dotnet
from mcpg.documents.apart import NamedNode, named_nodes, shared_nodes
from mcpg.documents.front_matter import FrontMatter, front_matter_text, split_front_matter
from mcpg.documents.markdown import LinkTargets
from mcpg.documents.model import LineNumbers
from mcpg.documents.portable import number_items, portable_values
from mcpg.documents.rewritten import MAX_REWRITTEN
from mcpg.errors import DocumentError, Severity, SeverityName
from mcpg.json_types import JsonObject, JsonValue

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_DATES = frozenset({"date_published", "datepublished", "date_modified", "datemodified"})
_PROPERTIES = frozenset({"rdf_properties", "rdfproperties"})
_TOPICS = frozenset({"about", "author"})
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ReaderFinding:
    """Something that another reader refuses, or reads otherwise.

    Attributes:
        severity: `error` where it loads nothing, `warning` where something is lost or falls
            together, `info` where it reads something else on purpose.
        rule: What is wrong: `name`, `is_rejected_by_strict`, `unresolved`, `together`, `unread` or `differs`.
        place: The file, and the line where there is one.
        message: What becomes of it.
    """

    severity: SeverityName
    rule: str
    place: str
    message: str


def named_findings(file: str) -> Sequence[ReaderFinding]:
    """Return what keeps the .NET gateway from reading *file* as a bundle: its name."""
    if file.lower().endswith(".json"):
        return ()
    message = (
        "a file whose name does not end in .json is read as one text, and searches find nothing:"
        f" write the bundle to {file}.json"
    )
    return (ReaderFinding(Severity.ERROR, "name", file, message),)


def reader_findings(
    documents: Iterable[SourceDocument], targets: LinkTargets
) -> Sequence[ReaderFinding]:
    """Return what the .NET library makes of *documents* that their authors may not expect.

    Args:
        documents: The documents, as the file has them.
        targets: What mcpg takes the names of their relations for.
    """
    found: list[ReaderFinding] = []
    names: defaultdict[str, list[tuple[NamedNode, str]]] = defaultdict(list)
    for document in documents:
        front = _front(document, found)
        if front is None:
            continue
        lines = LineNumbers(front.text, document.place or document.path, front.text_line)
        found += _refusals(document, front, lines)
        found += _differences(front.values, lines)
        for one in named_nodes(front.values):
            found += _find_unresolved(one, document, lines, targets)
            names[one.name].append((one, lines.at(*one.path)))
    return [*found, *_together(names)]


def _front(document: SourceDocument, found: list[ReaderFinding]) -> FrontMatter | None:
    """Return the front matter of *document*, `None` where it cannot be read."""
    place = document.place or document.path
    content = document.content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        front = split_front_matter(content, place, MAX_REWRITTEN)
    except DocumentError as fault:
        at = fault.place or place
        text = front_matter_text(content)
        if text is not None and dotnet.reads_yaml(text):
            found.append(_differs(f"it is read, though mcpg refuses it: {fault.message}", at))
        else:
            message = f"the whole bundle is refused: {fault.message}"
            found.append(ReaderFinding(Severity.ERROR, "refused", at, message))
        return None
    if content.startswith((" ", "\t", "\n")) and front.line > 1:
        message = "below an empty line, front matter is prose"
        found.append(ReaderFinding(Severity.WARNING, "unread", f"{place}:1", message))
        return None
    return front


def _refusals(
    document: SourceDocument, front: FrontMatter, lines: LineNumbers
) -> Iterator[ReaderFinding]:
    uri = document.canonical_uri
    if uri is not None and not dotnet.is_uri(uri):
        message = f"the whole bundle is refused: {uri!r} is not an absolute URI"
        yield ReaderFinding(Severity.ERROR, "refused", lines.place, message)
    for change in portable_values(front.values)[1]:
        message = f"the whole bundle is refused: {change.reason}"
        yield ReaderFinding(Severity.ERROR, "refused", lines.at(*change.path), message)


def _find_unresolved(
    named: NamedNode, document: SourceDocument, lines: LineNumbers, targets: LinkTargets
) -> Iterator[ReaderFinding]:
    if not named.is_target or dotnet.is_uri(named.name):
        return
    uri = targets.resolve(named.name, document.path)
    if uri is not None:
        message = f"{named.name!r} is taken for a thing of that name; mcpg resolves it to {uri}"
        yield ReaderFinding(Severity.WARNING, "unresolved", lines.at(*named.path), message)


def _together(names: Mapping[str, Sequence[tuple[NamedNode, str]]]) -> Iterator[ReaderFinding]:
    kinds = ((one.name, one.is_concept) for places in names.values() for one, _ in places)
    for shared in shared_nodes(kinds):
        shown = ", ".join(map(repr, shared[:_MOST_SHOWN]))
        more = f" and {len(shared) - _MOST_SHOWN} more" if len(shared) > _MOST_SHOWN else ""
        message = f"these names are one node: {shown}{more}"
        yield ReaderFinding(Severity.WARNING, "together", names[shared[0]][0][1], message)


def _differences(values: JsonObject, lines: LineNumbers) -> Iterator[ReaderFinding]:
    """Return what is read otherwise than mcpg reads it, where mcpg does so on purpose."""
    for key, held in values.items():
        for path, message in _find_differences(key, held):
            yield _differs(message, lines.at(*path))


def _find_differences(key: str, held: JsonValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
    kind = key.strip().lower()
    if kind == "authors":
        yield (key,), "`authors` is ignored; `author` is read"
    elif kind in _DATES and isinstance(held, str) and held and not _ISO.match(held):
        yield (key,), f"the date {held!r} depends on the culture of the machine, or is a text"
    elif kind in _TOPICS:
        found = ((path, item) for path, item in number_items((key,), held) if isinstance(item, str))
        labels = ((path, item) for path, item in found if dotnet.is_uri(item))
        yield from ((path, f"the IRI {item!r} is taken for a label") for path, item in labels)
    elif kind in _PROPERTIES and isinstance(held, dict):
        for name, stated in held.items():
            yield from (((key, name), message) for message in _literals(stated))


def _literals(stated: JsonValue) -> Iterator[str]:
    if isinstance(stated, list):
        for item in stated:
            yield from _literals(item)
    elif isinstance(stated, dict) and "id" not in stated:
        if stated.get("lang") or stated.get("language"):
            yield "the language of the text is dropped"
        if isinstance(stated.get("value"), list):
            yield "a list under `value` becomes the text System.Object[]"
    elif isinstance(stated, int | float):
        yield f"the number or truth value {stated!r} is a plain text"


def _differs(message: str, place: str) -> ReaderFinding:
    return ReaderFinding(Severity.INFO, "differs", place, message)
