"""The generated sections of a document, read and written, and the author's prose around them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, NamedTuple

from mcpg.catalog.json_text import has_surrogate_escapes, parse_json_documents, repair_surrogates
from mcpg.catalog.model import GENERATED_LISTS, NO_HINTS, Hints, Tier, Tool, ToolExample
from mcpg.catalog.view import unique
from mcpg.documents.front_matter import one_line
from mcpg.documents.model import read_flag, read_tier
from mcpg.errors import Code, Diagnostic, DocumentError, InputError, warning
from mcpg.text.json_values import JsonObject, JsonValue

IDENTITY_HEADING = "Tool Identity"
CONTRACT_HEADING = "Execution Contract"
INPUT_HEADING = "Input Schema"
OUTPUT_HEADING = "Output Schema"
NOTES_HEADING = "Author Notes"
"""Everything below this heading is a person's, whatever it looks like."""

_NOTES = NOTES_HEADING.casefold()
_GENERATED = frozenset(
    heading.casefold()
    for heading in (IDENTITY_HEADING, CONTRACT_HEADING, INPUT_HEADING, OUTPUT_HEADING)
)
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_BLANK_START = re.compile(r"\A(?:[ \t]*\n)+")
_TOP_LEVELS = 2


@dataclass(slots=True)
class Page:
    """The parts of the Markdown of a document.

    Attributes:
        heading: Text of the title line, else of the first heading; "" without any.
        title: Text of the title line, which is not part of the body; "" without one.
        identity: Labelled values of the section *Tool Identity*.
        contract: Labelled values of the section *Execution Contract*, some of several lines.
        body: A person's prose, in order.
        diagnostics: Faults of parts that could not be read.
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
class _PageSection:
    """Lines from one heading that matters up to the next; `name` is "" for prose."""

    name: str
    line: int
    lines: list[str]


def tidy(prose: str) -> str:
    """Return *prose* with LF line ends, without blank lines around it or space after it."""
    text = prose.replace("\r\n", "\n").replace("\r", "\n").rstrip(" \t\n")
    return _BLANK_START.sub("", text)


def fence_for(text: str) -> str:
    """Return a fence of back-ticks longer than any run of them in *text*."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


def read_page(
    markdown: str, first_line: int, place: str, description: str = "", *, is_prose: bool = False
) -> Page:
    """Read the Markdown part of a document, with LF line ends, that begins on its *first_line*.

    The contract may have the *description* of the front matter in lines. All is a person's if it
    *is_prose*, also sections with the heading of a generated one.
    """
    page = Page()
    pieces = _cut(markdown, first_line, page, frozenset() if is_prose else _GENERATED)
    schemas = {
        at: _read_schema(piece, page, place)
        for at, piece in enumerate(pieces)
        if piece.name in _SCHEMAS
    }
    prose: list[str] = []
    for at, piece in enumerate(pieces):
        known = _KNOWN_LABELS.get(piece.name)
        if known is None or not any(map(known.match, piece.lines)):
            prose.append(schemas.get(at, "\n".join(piece.lines)))
            continue
        lines = "\n".join(piece.lines[1:]).rstrip().split("\n")
        values, others = _split_values(lines, known, page.input_schema or {}, description)
        setattr(page, "identity" if piece.name == _IDENTITY else "contract", values)
        prose.append("\n".join(others))
    page.body = "\n\n".join(text for text in map(tidy, prose) if text)
    return page


def _cut(
    markdown: str, first_line: int, page: Page, generated: Collection[str]
) -> list[_PageSection]:
    """Cut *markdown* into pieces; note the title line, which is in none of them, in *page*."""
    pieces = [_PageSection("", first_line, [])]
    taken: set[str] = set()
    fence = ""
    is_blank = True
    lines = markdown.split("\n")
    for number, line in enumerate(lines):
        if line.lstrip(" ")[:1] not in _MARKS:
            is_blank = is_blank and not line.strip()
            pieces[-1].lines.append(line)
            continue
        level, title = (0, "") if fence else parse_heading(line)
        fence = fence_after(line, fence)
        name = title.casefold() if level == _TOP_LEVELS else ""
        if name == _NOTES and generated:
            pieces.append(_PageSection("", first_line + number + 1, lines[number + 1 :]))
            break
        if level == 1 and not page.heading and is_blank:
            page.heading = page.title = title
            continue
        is_blank = False
        if name in generated and name not in taken:
            taken.add(name)
            pieces.append(_PageSection(name, first_line + number, [line]))
        elif 0 < level <= _TOP_LEVELS and pieces[-1].name:
            pieces.append(_PageSection("", first_line + number, [line]))
        else:
            page.heading = page.heading or title
            pieces[-1].lines.append(line)
    return pieces


_MARKS = {"#", "`", "~"}


def parse_heading(line: str) -> tuple[int, str]:
    """Return level and text of the heading *line*, 0 and "" if it is not a heading."""
    mark = _HEADING.match(line)
    if mark is None:
        return 0, ""
    text = line[mark.end() :].strip(" \t")
    before = text.rstrip("#")
    # Marks at the end close the heading if a blank separates them from its text.
    return len(mark[1]), (before if before.endswith((" ", "\t")) else text).strip()


def fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after *line*, when *fence* ("" for none) is open before."""
    if fence:
        mark = line.strip()
        closes = len(mark) >= len(fence) and not mark.strip(fence[0])
        return "" if closes else fence
    opening = _FENCE.match(line)
    return opening[1] if opening else ""


def _split_values(
    lines: Sequence[str], known: re.Pattern[str], schema: JsonObject, description: str
) -> tuple[list[str], list[str]]:
    """Part labelled values, some of several lines, from the lines of a person between them."""
    values: list[list[str]] = []
    prose: list[str] = []
    taken: set[str] = set()
    fence, whole, at = "", "", 0
    is_below = is_value = False
    for line in lines:
        label = None if fence or is_below else known.match(line)
        text = line[label.start(1) :] if label else line
        part = _solid(text)
        goes_on = at < len(whole) and whole.startswith(part, at)
        if EXAMPLES_LABEL in taken:
            is_value = label is not None or (is_value and part != "")
        elif label is None or goes_on:
            is_value = goes_on
        elif label[1] == EXAMPLES_LABEL:
            is_value = not line[label.end() :].strip()
        else:
            # Arguments whose names differ only in line breaks have the same label.
            is_new = label[1] not in taken or label[1].startswith(PARAMETER_LABEL)
            is_value = is_new and label[1] not in _OF_EXAMPLES
        if goes_on:
            values[-1].append(line)
        elif is_value:
            values.append([text])
            prose += [""] if any(prose[-1:]) else []
            whole, at = _solid(_whole_value(label, schema, description)), 0
            taken.update(label.groups() if label else ())
        else:
            prose.append(line)
            fence = fence_after(line, fence)
            is_below = is_below or parse_heading(line)[0] > 0
            whole = ""
        at = at + len(part) if whole.startswith(part, at) else len(whole)
    return ["\n".join(value) for value in values], prose


def _whole_value(label: re.Match[str] | None, schema: JsonObject, description: str) -> str:
    """Return the line that *label* begins, as far as the rest of the document has it."""
    if label is None:
        return ""
    if label[1] == DESCRIPTION_LABEL:
        return f"{label[1]}: {description}"
    properties = schema.get("properties")
    name = label[1].removeprefix(f"{PARAMETER_LABEL} ")
    if name == label[1] or not isinstance(properties, dict) or name not in properties:
        return ""
    return _parameter_line(name, properties[name])


def _solid(text: str) -> str:
    """Return *text* without white space, and without full stops, which close some sentences."""
    return "".join(text.split()).replace(".", "")


_IDENTITY = IDENTITY_HEADING.casefold()
_SCHEMAS = {INPUT_HEADING.casefold(): "input_schema", OUTPUT_HEADING.casefold(): "output_schema"}


def _read_schema(piece: _PageSection, page: Page, place: str) -> str:
    """Read the JSON of a schema section; prose is the text around it, or all of it."""
    start, end, fence = -1, len(piece.lines), ""
    for position, line in enumerate(piece.lines):
        before, fence = fence, fence_after(line, fence)
        if fence and not before:
            start = position
        elif before and not fence:
            end = position
            break
    if start < 0:
        return "\n".join(piece.lines)
    try:
        schema = json_object("\n".join(piece.lines[start + 1 : end]), "")
    except InputError as fault:
        message = f"the schema in this section cannot be used: {fault.message}"
        at = f"{place}:{piece.line + start + parse_row(fault)}"
        page.diagnostics.append(warning(Code.DOCUMENT_INVALID, message, at))
        return "\n".join(piece.lines)
    setattr(page, _SCHEMAS[piece.name], schema)
    return "\n".join([*piece.lines[1:start], "", *piece.lines[end + 1 :]])


def parse_row(fault: InputError) -> int:
    """Return the number of the line that *fault* names in a text without a place, from 1."""
    row = next((part for part in (fault.place or "").split(":") if part.isdigit()), "1")
    return int(row)


def json_object(text: str, place: str) -> JsonObject:
    """Read *text* as one JSON object, with whole characters only."""
    value, *more = parse_json_documents(text, place)
    if has_surrogate_escapes(text):
        value = repair_surrogates(value, "", [])
    if more or not isinstance(value, dict):
        raise DocumentError("it is not one JSON object", place=place)
    return value


LIST_LABELS: Mapping[str, str] = {
    "aliases": "Search aliases",
    "keywords": "Search keywords",
    "categories": "Categories",
    "tags": "Tags",
    "data_sources": "Data sources",
}
"""The label of each list among the hints, by its attribute."""

FLAG_LABELS: Mapping[str, str] = {
    "read_only": "Read only",
    "idempotent": "Idempotent",
    "destructive": "Destructive",
    "open_world": "Open world",
}
"""The label of each yes-or-no hint, by its attribute."""

TIER_LABELS: Mapping[str, str] = {"cost_tier": "Cost tier", "latency_tier": "Latency tier"}
"""The label of each price, by its attribute."""

NAME_LABEL = "Tool name"
TITLE_LABEL = "Display name"
DESCRIPTION_LABEL = "Description"
ENABLED_LABEL = "Enabled by default"
ARGUMENTS_LABEL = "Required arguments"
EXAMPLES_LABEL = "Usage examples"
INPUT_LABEL = "Input"
OUTPUT_LABEL = "Output"
PARAMETER_LABEL = "Parameter"
SCHEMA_LABEL = "Input schema"

IDENTITY_LABELS = ("Tool id", "Source id", "Source kind")
"""The labels of the section *Tool Identity*."""

CONTRACT_LABELS = (
    *(NAME_LABEL, TITLE_LABEL, DESCRIPTION_LABEL, *LIST_LABELS.values(), *FLAG_LABELS.values()),
    *(*TIER_LABELS.values(), ENABLED_LABEL, ARGUMENTS_LABEL, EXAMPLES_LABEL),
    *(INPUT_LABEL, OUTPUT_LABEL, PARAMETER_LABEL, SCHEMA_LABEL),
)
"""The labels of the section *Execution Contract*; a parameter's is followed by its name."""


def _compile_labels(labels: Iterable[str]) -> re.Pattern[str]:
    names = (f"{label} .*?" if label == PARAMETER_LABEL else label for label in labels)
    return re.compile(rf"(?:[-*] +)?({'|'.join(names)}):(?= |\Z)")


_KNOWN_LABELS = {
    IDENTITY_HEADING.casefold(): _compile_labels(IDENTITY_LABELS),
    CONTRACT_HEADING.casefold(): _compile_labels(CONTRACT_LABELS),
}

_OF_EXAMPLES = frozenset({INPUT_LABEL, OUTPUT_LABEL})
_EXAMPLES = f"{EXAMPLES_LABEL}:"
_SENTENCE_ENDS = (".", "!", "?", "。")


def descriptor_text(tool: Tool) -> str:
    r"""Describe *tool* in labelled lines joined by `\n`, in the .NET gateway's order.

    A line break or control character inside a value becomes a space, so one label is one line.
    Nothing is cut off. Generated texts follow the author's.
    """
    hints = tool.hints
    if tool.generated != NO_HINTS:
        hints = Hints.merge(hints, tool.generated)
    titled = tool.title or tool.display_name != tool.name
    lines = [
        *_line(NAME_LABEL, tool.name),
        *_line(TITLE_LABEL, tool.display_name if titled else ""),
        *_line(DESCRIPTION_LABEL, tool.description),
    ]
    for attribute, label in LIST_LABELS.items():
        lines += _line(label, ", ".join(getattr(hints, attribute)))
    for attribute, label in FLAG_LABELS.items():
        flag = getattr(hints, attribute)
        lines += _line(label, "" if flag is None else str(flag))
    for attribute, label in TIER_LABELS.items():
        lines += _line(label, getattr(hints, attribute) or "")
    lines += _line(ENABLED_LABEL, str(tool.enabled))
    lines += _line(ARGUMENTS_LABEL, ", ".join(tool.required_arguments))
    properties = tool.input_schema.get("properties")
    if isinstance(properties, dict):
        lines += [_parameter_line(name, schema) for name, schema in properties.items()]
    else:
        raw = json.dumps(tool.input_schema, ensure_ascii=False, separators=(",", ":"))
        lines += _line(SCHEMA_LABEL, raw)
    lines += [_EXAMPLES] if hints.examples else []
    for example in hints.examples:
        lines += _line(DESCRIPTION_LABEL, example.description or "")
        lines += [*_line(INPUT_LABEL, example.input), *_line(OUTPUT_LABEL, example.output or "")]
    return "\n".join(lines)


def impossible_values(contract: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the flags and prices of a contract without a known value, and the known ones."""
    return {
        label: known
        for label, known in _CLOSED.items()
        if contract.get(label, known[0]).lower() not in map(str.lower, known)
    }


_CLOSED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((*FLAG_LABELS.values(), ENABLED_LABEL), ("True", "False")),
    **dict.fromkeys(TIER_LABELS.values(), tuple(tier.value for tier in Tier)),
}
_HINT_LABELS = (*LIST_LABELS.values(), *_CLOSED)
_STATED_BY = {
    **dict.fromkeys((NAME_LABEL, TITLE_LABEL, DESCRIPTION_LABEL), "front matter"),
    **dict.fromkeys(_HINT_LABELS, "tags"),
}


def differing_labels(
    values: Iterable[str], tool: Tool, tags: Hints | None
) -> Iterator[tuple[str, str, bool]]:
    """Return the labels of a contract whose values differ from *tool*.

    The *tags* are the hints in the tags, if these count instead of the contract. With each label
    comes the source of its value, and whether the contract has a hint that is not there.
    """
    texts = [descriptor_text(replace(tool, hints=one)) for one in (tool.hints, tags or tool.hints)]
    contract, *known = (
        read_labels(takewhile(lambda one: one != _EXAMPLES, lines))
        for lines in (values, *(text.split("\n") for text in texts))
    )
    contract = {ENABLED_LABEL: "True"} | contract
    hint_labels = _HINT_LABELS if tags else ()
    for label in dict.fromkeys((*contract, *hint_labels)):
        value = contract.get(label, "")
        stated = [one.get(label, "") for one in known]
        is_compared = label in hint_labels or label not in _HINT_LABELS
        if is_compared and _solid(value) not in map(_solid, stated):
            lost = {*value.split(", ")} - {*stated[1].split(", "), ""}
            is_lost = label in hint_labels and bool(lost)
            yield label, _STATED_BY.get(label, "input schema"), is_lost


def _line(label: str, value: str) -> list[str]:
    text = one_line(value)
    return [f"{label}: {text}"] if text else []


def _parameter_line(name: str, schema: JsonValue) -> str:
    members = schema if isinstance(schema, dict) else {}
    description, kind = members.get("description"), members.get("type")
    values = members.get("enum")
    parts = [f"{PARAMETER_LABEL} {name}:"]
    if isinstance(description, str) and (text := description.strip()):
        parts.append(text if text.endswith(_SENTENCE_ENDS) else f"{text}.")
    if isinstance(kind, str) and kind:
        parts.append(f"Type {kind}.")
    texts = [one for one in values if isinstance(one, str)] if isinstance(values, list) else []
    if typical := ", ".join(texts):
        parts.append(f"Typical values: {typical}.")
    return one_line(" ".join(parts))


_EXAMPLE_LABELS = (DESCRIPTION_LABEL, INPUT_LABEL, OUTPUT_LABEL)


def read_labels(lines: Iterable[str]) -> dict[str, str]:
    """Read `Label: value` lines; the first of equal labels counts."""
    labels: dict[str, str] = {}
    for line in lines:
        label, colon, value = line.partition(":")
        if colon:
            labels.setdefault(label, value.strip())
    return labels


def read_hints(labels: Mapping[str, str]) -> Hints:
    """Read the hints of an execution contract, with lists joined by commas."""
    hints: dict[str, Any] = {
        **{name: unique(labels.get(one, "").split(", ")) for name, one in LIST_LABELS.items()},
        **{name: read_flag(labels.get(one, "")) for name, one in FLAG_LABELS.items()},
        **{name: read_tier(labels.get(one, "")) for name, one in TIER_LABELS.items()},
    }
    is_off = read_flag(labels.get(ENABLED_LABEL, "")) is False
    return Hints(**hints, enabled_by_default=False if is_off else None)


def read_examples(lines: list[str]) -> tuple[ToolExample, ...]:
    """Read the examples at the end of an execution contract; lines without a label continue one."""
    starts = [position for position, line in enumerate(lines) if line.strip() == _EXAMPLES]
    if not starts:
        return ()
    found: list[dict[str, list[str]]] = [{}]
    last = ""
    for line in lines[starts[-1] + 1 :]:
        label, colon, value = line.partition(":")
        if colon and label in _EXAMPLE_LABELS:
            is_other = label == DESCRIPTION_LABEL and INPUT_LABEL in found[-1]
            if is_other or label in found[-1]:
                found.append({})
            found[-1][label] = [value.strip()]
            last = label
        elif last and line.strip():
            found[-1][last].append(line.rstrip())
    texts = ({label: "\n".join(lines) for label, lines in one.items()} for one in found)
    return tuple(
        ToolExample(members[INPUT_LABEL], members.get(OUTPUT_LABEL), members.get(DESCRIPTION_LABEL))
        for members in texts
        if members.get(INPUT_LABEL)
    )


class ApartTexts(NamedTuple):
    """The texts of a contract: the author's lists and examples, and the generated ones."""

    lists: Hints
    examples: tuple[ToolExample, ...]
    generated: Hints


def part_generated(
    lines: list[str], labels: Mapping[str, str], listed: Hints, stated: Hints
) -> ApartTexts:
    """Part the texts of an execution contract by who wrote them.

    Generated are those that the front matter has *listed* and the contract still has. All others
    are the author's, who may also have *stated* them elsewhere.
    """
    lists: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    for name in GENERATED_LISTS[:2]:
        texts, own = getattr(listed, name), getattr(stated, name)
        value = labels.get(LIST_LABELS[name], "")
        if value == one_line(", ".join(unique((*own, *texts)))):
            lists[name], kept[name] = (), texts
            continue
        present, rest = [], f", {value}, "
        for text in sorted({*own, *texts}, key=len, reverse=True):
            before = rest
            rest = rest.replace(f", {one_line(text)}, ", ", ")
            present += [text] if rest != before else []
        lists[name] = unique(rest.split(", "))
        kept[name] = tuple(text for text in texts if text in present)
    examples = read_examples(lines)
    asked = {ToolExample(one_line(one.input)) for one in listed.examples}
    kept["examples"] = tuple(
        one
        for one in listed.examples
        if not one_line(one.input) or ToolExample(one_line(one.input)) in examples
    )
    generated = Hints(**kept)
    return ApartTexts(
        Hints(**lists),
        tuple(one for one in examples if one not in asked),
        NO_HINTS if generated == NO_HINTS else generated,
    )


def read_description(values: Iterable[str], flat: str) -> str:
    """Find the lines of a description whose breaks the front matter has turned into spaces.

    It is *flat* as the front matter gives it, or if the contract, in which the .NET gateway
    keeps the breaks, does not have it.
    """
    found = next((one for one in values if one.startswith(f"{DESCRIPTION_LABEL}:")), "")
    text = found.partition(":")[2].strip()
    return text if "\n" in text and text.split() == flat.split() else flat
