"""The Markdown of a document, cut into generated sections and a person's prose."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcpg.catalog.jsontext import (
    has_surrogate_escapes,
    parse_json_documents,
    repair_surrogates,
)
from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.errors import DocumentError, InputError

if TYPE_CHECKING:
    from mcpg.jsontypes import JsonObject

IDENTITY_HEADING = "Tool Identity"
CONTRACT_HEADING = "Execution Contract"
INPUT_HEADING = "Input Schema"
OUTPUT_HEADING = "Output Schema"
NOTES_HEADING = "Author Notes"
"""Everything below this heading is a person's, whatever it looks like."""

_NOTES = NOTES_HEADING.casefold()
_GENERATED = {
    heading.casefold()
    for heading in (IDENTITY_HEADING, CONTRACT_HEADING, INPUT_HEADING, OUTPUT_HEADING)
}
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_BLANK_START = re.compile(r"\A(?:[ \t]*\n)+")
_LABELLED = re.compile(r"(?:[-*] +)?[A-Z][a-z]+(?: [a-z]+)*:(?: |\Z)")
_TOP_LEVELS = 2


@dataclass(slots=True)
class Page:
    """What the Markdown of a document holds.

    Attributes:
        heading: Text of the title line, else of the first heading; "" without any.
        title: Text of the title line, which is no part of the body; "" without one.
        identity: Lines of the section *Tool Identity*.
        contract: Lines of the section *Execution Contract*.
        input_schema: The object in *Input Schema*, or `None`.
        output_schema: The object in *Output Schema*, or `None`.
        body: A person's prose, in order.
        diagnostics: What could not be read.
    """

    heading: str = ""
    title: str = ""
    identity: list[str] = field(default_factory=list)
    contract: list[str] = field(default_factory=list)
    input_schema: JsonObject | None = None
    output_schema: JsonObject | None = None
    body: str = ""
    diagnostics: list[Diagnostic] = field(default_factory=list)


@dataclass(slots=True)
class _Piece:
    """A run of lines under one heading that matters.

    Attributes:
        name: Heading of a generated section in lower case, or "" for prose.
        line: Number of the document's line on which the piece begins.
        lines: The lines, that heading included.
    """

    name: str
    line: int
    lines: list[str]


def tidy(prose: str) -> str:
    """Give *prose* with LF line ends, without blank lines around it or space after it."""
    text = prose.replace("\r\n", "\n").replace("\r", "\n").rstrip(" \t\n")
    return _BLANK_START.sub("", text)


def fence_for(text: str) -> str:
    """Give a fence of back-ticks longer than any run of them in *text*."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


def read_page(markdown: str, first_line: int, place: str) -> Page:
    """Read the Markdown part of a document.

    Args:
        markdown: The text after the front matter, with LF line ends.
        first_line: Number of the document's line on which it begins.
        place: Name of the document, for messages.
    """
    page = Page()
    pieces = _cut(markdown, first_line, page)
    prose = [_read_piece(piece, page, place) for piece in pieces]
    page.body = "\n\n".join(text for text in map(tidy, prose) if text)
    return page


def _cut(markdown: str, first_line: int, page: Page) -> list[_Piece]:
    """Cut *markdown* into pieces; note the title line, which is in none of them."""
    pieces = [_Piece("", first_line, [])]
    taken: set[str] = set()
    fence = ""
    is_blank = True
    lines = markdown.split("\n")
    for number, line in enumerate(lines):
        if line.lstrip(" ")[:1] not in _MARKS:
            is_blank = is_blank and not line.strip()
            pieces[-1].lines.append(line)
            continue
        level, title = (0, "") if fence else _heading(line)
        fence = _fence_after(line, fence)
        name = title.casefold() if level == _TOP_LEVELS else ""
        if name == _NOTES:
            pieces.append(_Piece("", first_line + number + 1, lines[number + 1 :]))
            break
        if level == 1 and not page.heading and is_blank:
            page.heading = page.title = title
            continue
        is_blank = False
        if name in _GENERATED and name not in taken:
            taken.add(name)
            pieces.append(_Piece(name, first_line + number, [line]))
        elif 0 < level <= _TOP_LEVELS and pieces[-1].name:
            pieces.append(_Piece("", first_line + number, [line]))
        else:
            page.heading = page.heading or title
            pieces[-1].lines.append(line)
    return pieces


_MARKS = {"#", "`", "~"}


def _heading(line: str) -> tuple[int, str]:
    """Return level and text of the heading that *line* is, 0 and "" when it is none."""
    mark = _HEADING.match(line)
    if mark is None:
        return 0, ""
    text = line[mark.end() :].strip(" \t")
    before = text.rstrip("#")
    # Marks at the end close the heading where a blank parts them from its text.
    return len(mark[1]), (before if before.endswith((" ", "\t")) else text).strip()


def _fence_after(line: str, fence: str) -> str:
    """Give the fence that is open after *line*, when *fence* ("" for none) is open before."""
    if fence:
        mark = line.strip()
        closes = len(mark) >= len(fence) and not mark.strip(fence[0])
        return "" if closes else fence
    opening = _FENCE.match(line)
    return opening[1] if opening else ""


def _read_piece(piece: _Piece, page: Page, place: str) -> str:
    """Take a generated section into *page*; give what of the piece is prose."""
    if piece.name in _SCHEMAS:
        return _read_schema(piece, page, place)
    if piece.name and any(map(_LABELLED.match, piece.lines[1:])):
        setattr(page, "identity" if piece.name == _IDENTITY else "contract", piece.lines[1:])
        return ""
    return "\n".join(piece.lines)


_IDENTITY = IDENTITY_HEADING.casefold()
_SCHEMAS = {INPUT_HEADING.casefold(): "input_schema", OUTPUT_HEADING.casefold(): "output_schema"}


def _read_schema(piece: _Piece, page: Page, place: str) -> str:
    """Read the JSON of a schema section; prose is what stands around it, or all of it."""
    span = _first_fence(piece.lines)
    if span is None:
        return "\n".join(piece.lines)
    start, end = span
    try:
        schema = json_object("\n".join(piece.lines[start + 1 : end]), place)
    except InputError as fault:
        message = f"the schema in this section cannot be used: {fault.message}"
        at = f"{place}:{piece.line}"
        page.diagnostics.append(warning(Code.DOCUMENT_INVALID, message, at))
        return "\n".join(piece.lines)
    setattr(page, _SCHEMAS[piece.name], schema)
    return "\n".join([*piece.lines[1:start], "", *piece.lines[end + 1 :]])


def _first_fence(lines: list[str]) -> tuple[int, int] | None:
    """Find the first fenced block: the positions of its two fences."""
    start, fence = -1, ""
    for position, line in enumerate(lines):
        before, fence = fence, _fence_after(line, fence)
        if fence and not before:
            start = position
        elif before and not fence:
            return start, position
    return (start, len(lines)) if fence else None


def json_object(text: str, place: str) -> JsonObject:
    """Read *text* as one JSON object, with whole characters only.

    Args:
        text: What stands in a fence.
        place: Name of the document, for messages.

    Raises:
        InputError: It is anything else.
    """
    value, *more = parse_json_documents(text, place)
    if has_surrogate_escapes(text):
        value = repair_surrogates(value, "", [])
    if more or not isinstance(value, dict):
        raise DocumentError("it is not one JSON object", place=place)
    return value
