"""What an author can hardly have meant in the Markdown of a document.

Sections like those of generated documents are read only where their headings are exact, and a fence
or comment that is not closed takes in all that follows. These checks report it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mcpg.catalog.model import SourceKind
from mcpg.documents.checks import quote_cut, suggestion
from mcpg.documents.page import (
    CONTRACT_HEADING,
    CONTRACT_LABELS,
    IDENTITY_HEADING,
    IDENTITY_LABELS,
    INPUT_HEADING,
    OUTPUT_HEADING,
    fence_after,
    parse_heading,
    json_object,
    parse_row,
)
from mcpg.errors import Code, Diagnostic, InputError, warning
from mcpg.text.spelling import likeliest

_SECTIONS = (IDENTITY_HEADING, CONTRACT_HEADING, INPUT_HEADING, OUTPUT_HEADING)
_BY_NAME = {heading.casefold(): heading for heading in _SECTIONS}
_LABELLED_SECTIONS = (IDENTITY_HEADING, CONTRACT_HEADING)
_LEVEL = 2
_LABEL = re.compile(r"(?:[-*] +)?([A-Za-z][A-Za-z ]{1,40}):(?: |\Z)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*\Z")
_STRONG = re.compile(r"[ \t]*(\*\*|__)(.+?):?\1:?[ \t]*\Z")
_JSON_FENCE = re.compile(
    r"[ \t]*(?:`{3,}|~{3,})[ \t]*json(?:schema|-schema)?[ \t]*\Z", re.IGNORECASE
)
_SCHEMA = re.compile(r'"(?:properties|\$schema|required)"\s*:|"type"\s*:\s*"object"')


@dataclass(frozen=True, slots=True)
class _MarkdownLine:
    """A line of Markdown.

    Attributes:
        text: The line.
        fence: The fence in which it stands, "" outside of one.
        is_mark: Whether it opens or closes a fence.
    """

    text: str
    fence: str
    is_mark: bool


def check_page(
    markdown: str, first_line: int, place: str, *, is_prose: bool
) -> Iterator[Diagnostic]:
    """Report what the author of *markdown* can hardly have meant, with the line of each.

    Args:
        markdown: The text after the front matter, with LF line ends.
        first_line: Number of the document's line on which it begins.
        place: Name of the document.
        is_prose: Whether all of it is prose, also what is headed like a generated section.
    """
    lines = _split_lines(markdown)
    parts = [_open_fence(lines), _open_comment(lines), _broken_schemas(lines, is_prose=is_prose)]
    if not is_prose:
        parts.append(_sections(lines))
    for part in parts:
        for message, number in part:
            yield warning(Code.DOCUMENT_INVALID, message, f"{place}:{first_line + number}")


def _split_lines(markdown: str) -> list[_MarkdownLine]:
    lines: list[_MarkdownLine] = []
    fence = ""
    for text in markdown.split("\n"):
        before, fence = fence, fence_after(text, fence)
        lines.append(_MarkdownLine(text, before or fence, before != fence))
    return lines


def _open_fence(lines: Sequence[_MarkdownLine]) -> Iterator[tuple[str, int]]:
    """Report a fence in which another one opens, or the document ends."""
    opened = None
    for number, line in enumerate(lines):
        if line.is_mark:
            opened = number if opened is None else None
        elif opened is not None and fence_after(line.text, "").startswith(line.fence):
            yield "this code fence is not closed before the next one opens", opened
            return
    if opened is not None:
        yield "this code fence is not closed: all that follows is code", opened


def _open_comment(lines: Sequence[_MarkdownLine]) -> Iterator[tuple[str, int]]:
    # Only at the beginning of a line does a comment hide more than the rest of its paragraph.
    opened = None
    for number, line in enumerate(lines):
        if not line.fence and "--" in line.text:
            if opened is None and line.text.lstrip().startswith("<!--"):
                opened = number
            if opened is not None and "-->" in line.text:
                opened = None
    if opened is not None:
        yield "this comment is not closed: all that follows is hidden", opened


def _broken_schemas(lines: Sequence[_MarkdownLine], *, is_prose: bool) -> Iterator[tuple[str, int]]:
    """Report fences of JSON that are meant as schemas and are none; sections report their own."""
    section = ""
    for number, line in enumerate(lines):
        if not line.fence:
            level, title = parse_heading(line.text)
            if 0 < level <= _LEVEL:
                section = title.casefold() if level == _LEVEL and not is_prose else ""
        elif line.is_mark and _JSON_FENCE.match(line.text) and section not in _BY_NAME:
            inside = _inside(lines, number)
            text = "\n".join(inside)
            if text.lstrip().startswith("{") and _SCHEMA.search(text):
                try:
                    json_object(text, "")
                except InputError as fault:
                    message = f"the JSON Schema in this fence is ignored: {fault.message}"
                    yield message, number + parse_row(fault)


def _inside(lines: Sequence[_MarkdownLine], opening: int) -> list[str]:
    inside: list[str] = []
    for number in range(opening + 1, len(lines)):
        if lines[number].is_mark:
            break
        inside.append(lines[number].text)
    return inside


def _sections(lines: Sequence[_MarkdownLine]) -> Iterator[tuple[str, int]]:
    """Report sections that are headed nearly like generated ones, or hold nothing of theirs."""
    found: Counter[str] = Counter()
    for number, level, title, how in _headings(lines):
        exact = _BY_NAME.get(title.casefold())
        name = exact or (_nearest(title, _SECTIONS) if len(title) <= _LONGEST else None)
        if name is None:
            if title.casefold() == _NOTES:
                return
            continue
        below = _below(lines, number)
        holds = _holds_its_own(name, below)
        if exact and level == _LEVEL and not how:
            found[name] += 1
            yield from _of_section(name, below, number, found[name], holds=holds)
        elif holds or (level == _LEVEL and not how and _is_misspelt(title, name)):
            yield f"{quote_cut(title)} is no section of its own{how}: write `## {name}`", number


_LONGEST = 40
_MOST_LABELS_REMEMBERED = 1_000
_NOTES = "author notes"


def _headings(lines: Sequence[_MarkdownLine]) -> Iterator[tuple[int, int, str, str]]:
    """Return number, level and text of whatever is, or looks like, a heading; and why not."""
    for number, line in enumerate(lines):
        if line.fence or not line.text.strip():
            continue
        level, title = parse_heading(line.text)
        if level:
            yield number, level, title, "" if level == _LEVEL else f" at level {level}"
        elif number + 1 < len(lines) and _UNDERLINE.match(lines[number + 1].text):
            yield number, _LEVEL, line.text.strip(), " with an underline"
        elif len(line.text) <= _LONGEST and (strong := _STRONG.match(line.text)):
            yield number, 0, strong[2].strip(), " as strong text"
        elif line.text.lstrip().startswith("#"):
            yield number, 0, line.text.strip("# \t"), " without a blank after its marks"


def _below(lines: Sequence[_MarkdownLine], heading: int) -> list[_MarkdownLine]:
    """Return the lines below a heading, up to the next one."""
    below: list[_MarkdownLine] = []
    for number in range(heading + 1, len(lines)):
        line = lines[number]
        if not line.fence and parse_heading(line.text)[0]:
            break
        below.append(line)
    return below


def _holds_its_own(name: str, below: Sequence[_MarkdownLine]) -> bool:
    if name not in _LABELLED_SECTIONS:
        return any(line.is_mark for line in below)
    known = IDENTITY_LABELS if name == IDENTITY_HEADING else CONTRACT_LABELS
    labels = (_LABEL.match(line.text) for line in below if not line.fence)
    return any(label is not None and _nearest(label[1], known) for label in labels)


_nearest = lru_cache(_MOST_LABELS_REMEMBERED)(likeliest)


def _is_misspelt(title: str, name: str) -> bool:
    """Return whether *title* can hardly be anything but a slip of the heading *name*."""
    is_plural = title.casefold() == f"{name.casefold()}s"
    return name in _LABELLED_SECTIONS and not is_plural


def _of_section(
    name: str, below: Sequence[_MarkdownLine], number: int, count: int, *, holds: bool
) -> Iterator[tuple[str, int]]:
    if count > 1:
        yield f"a second section {name!r} is prose: a document is of one tool", number
    elif not holds:
        wanted = {
            IDENTITY_HEADING: "no line such as `- Tool id: NAME`",
            CONTRACT_HEADING: "no line such as `Tool name: NAME`",
        }.get(name, "no JSON in a code fence")
        yield f"the section {name!r} has {wanted}, so it is prose", number
    elif name == IDENTITY_HEADING:
        yield from _labels(below, number + 1)


def _labels(below: Sequence[_MarkdownLine], first: int) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(below, start=first):
        label = _LABEL.match(line.text)
        if label is None:
            continue
        value = line.text[label.end() :].strip()
        if label[1] not in IDENTITY_LABELS:
            advice = suggestion(label[1], IDENTITY_LABELS)
            if advice:
                yield f"the label {quote_cut(label[1])} is unknown{advice}", number
        elif not value:
            yield f"{quote_cut(label[1])} has no value", number
        elif label[1] == IDENTITY_LABELS[-1] and value.lower() not in _KINDS:
            advice = suggestion(value, _SOURCE_KINDS) or f"; write {', '.join(_SOURCE_KINDS)}"
            yield f"the source kind {quote_cut(value)} is unknown{advice}", number


_SOURCE_KINDS = tuple(kind.value for kind in SourceKind)
_KINDS = frozenset(map(str.lower, _SOURCE_KINDS))
