"""Read a tool, its relations and its prose from Markdown-LD text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from urllib.parse import unquote

from mcpg.catalog.hints import HINT_KEYS, hints_of_tool, unusable_keys
from mcpg.catalog.model import NO_HINTS, Hints, SourceDocument, SourceKind, Tool
from mcpg.documents.addresses import is_absolute, tool_uri
from mcpg.documents.checks import check_front_matter, suggestion
from mcpg.documents.facts import (
    GENERATED_KEY,
    TARGET_KEYS,
    pick_text,
    read_facts,
    read_generated,
    with_extras,
)
from mcpg.documents.front_matter import EXTRAS_KEY, one_line, split_front_matter, without_breaks
from mcpg.documents.front_matter_edits import authored_text, has_own_lines, written_lines
from mcpg.documents.markdown import check_page
from mcpg.documents.model import (
    TAG_KEYS,
    LineNumbers,
    Link,
    TagFacts,
    ToolDocument,
    make_tags,
    read_tags,
    text_items,
)
from mcpg.documents.page import (
    CONTRACT_HEADING,
    DESCRIPTION_LABEL,
    NAME_LABEL,
    TITLE_LABEL,
    Page,
    descriptor_text,
    differing_labels,
    impossible_values,
    part_generated,
    read_description,
    read_examples,
    read_hints,
    read_labels,
    read_page,
)
from mcpg.errors import Code, Diagnostic, DocumentError, info, warning
from mcpg.relations.edges import Coverage, EdgeKind, EdgeOrigin, FieldMapping
from mcpg.text.json_values import JsonObject, JsonValue, without_spelling
from mcpg.values import join_choices

GROUPS_KEY = "graph_groups"
RELATIONS_KEY = "relations"
"""The member of the `mcpg` key with the evidence of links."""

LINK_KEYS: Mapping[EdgeKind, str] = {
    EdgeKind.RELATED: "graph_related",
    EdgeKind.NEXT_STEP: "graph_next_steps",
}
"""The front-matter key of each kind of link, in the order of the links."""

_ORIGINS = tuple(EdgeOrigin)
_COVERAGES = (*Coverage, None)
MOST_FIELDS = 256
"""The most fields of one link that are read."""

SPELLINGS = {
    GROUPS_KEY: (GROUPS_KEY, "graphGroups"),
    "graph_related": ("graph_related", "graphRelated"),
    "graph_next_steps": ("graph_next_steps", "graphNextSteps"),
}
"""The spellings of each of these keys; their lists are joined."""

GRAPH_KEYS = tuple(spelling for spellings in SPELLINGS.values() for spelling in spellings)
"""All keys of groups and links, in either spelling."""

_GROUP_KEYS = ("id", "label", "name", "value")


def _read_groups(front: JsonObject, lines: LineNumbers, found: list[Diagnostic]) -> tuple[str, ...]:
    groups: dict[str, None] = {}
    for where, place, item in _items(front, GROUPS_KEY, lines):
        if name := pick_text(item, _GROUP_KEYS):
            groups.setdefault(name)
        else:
            found.append(_invalid(f"{where} names no group", place()))
    return tuple(groups)


def _read_links(front: JsonObject, lines: LineNumbers, found: list[Diagnostic]) -> tuple[Link, ...]:
    """Read the links of a document: the related ones, then the next steps, without repeats.

    A target that is not an absolute URI (a tool id, `source::name`, a path, a title) is kept as
    given. Items that name no target are reported and left out.
    """
    links: dict[tuple[EdgeKind, str], Link] = {}
    for kind, key in LINK_KEYS.items():
        for where, place, item in _items(front, key, lines):
            target = pick_text(item, TARGET_KEYS)
            if not target:
                found.append(_invalid(f"{where} names no tool", place()))
                continue
            link, faults = _evidence(Link(kind, target), item if isinstance(item, dict) else {})
            if link is not None:
                links.setdefault((kind, target), link)
            found += [_invalid(f"{where} has {fault}", place()) for fault in faults]
    return tuple(links.values())


def state_evidence(links: tuple[Link, ...]) -> list[JsonValue]:
    """Return the evidence that plain lists of targets lack: weights, reasons, origins, fields."""
    stated: list[JsonValue] = []
    for link in links:
        default = Link(link.kind, link.target)
        members: JsonObject = {"edge": link.kind.value, "target": link.target}
        if link.weight != default.weight:
            members["weight"] = link.weight
        if link.reason != default.reason:
            members["reason"] = link.reason
        if link.origin != default.origin:
            members["origin"] = link.origin.value
        if link.coverage is not None:
            members["coverage"] = link.coverage.value
        if link.fields:
            members["fields"] = [mapping_json(one) for one in link.fields]
        if link != default:
            stated.append(members)
    return stated


def _with_evidence(
    links: tuple[Link, ...], stated: JsonValue, lines: LineNumbers, found: list[Diagnostic]
) -> tuple[Link, ...]:
    """Put the evidence from `state_evidence` back on *links*; entries without one are ignored."""
    path = (EXTRAS_KEY, RELATIONS_KEY)
    if not isinstance(stated, list):
        found.append(_invalid("mcpg.relations is not a list", lines.at(*path)))
        return links
    known: dict[tuple[str, str], Link | None] = {(link.kind, link.target): link for link in links}
    for index, entry in enumerate(stated):
        members = entry if isinstance(entry, dict) else {}
        link = known.get((str(members.get("edge")), str(members.get("target"))))
        faults = [] if members else ["no mapping"]
        if link is not None:
            known[link.kind, link.target], faults = _evidence(link, members)
        place = lines.at(*path, index) if faults else ""
        found += [_invalid(f"mcpg.relations[{index}] has {fault}", place) for fault in faults]
    return tuple(filter(None, known.values()))


def _items(
    front: JsonObject, key: str, lines: LineNumbers
) -> Iterator[tuple[str, Callable[[], str], JsonValue]]:
    """Return the items under *key* in either spelling: name, function for its place, and value."""
    for spelling in SPELLINGS[key]:
        value = front.get(spelling)
        items = value if isinstance(value, list) else [] if value is None else [value]
        for index, item in enumerate(items):
            yield f"{spelling}[{index}]", partial(lines.at, spelling, index), item


def _evidence(link: Link, members: JsonObject) -> tuple[Link | None, list[str]]:
    """Return *link* with the evidence among *members*, `None` without weight, and the faults."""
    if not members:
        return link, []
    faults: list[str] = []
    weight = members.get("weight", link.weight)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        faults.append("a weight that is not a number")
        weight = link.weight
    elif weight <= 0:
        return None, ["a weight outside (0, 1] and is ignored"]
    elif weight > 1:
        faults.append("a weight above 1, which is read as 1")
    reason = members.get("reason", link.reason)
    if not isinstance(reason, str):
        faults.append("a reason that is not text")
        reason = link.reason
    origin = members.get("origin", link.origin)
    if origin not in _ORIGINS:
        faults.append(f"an origin that is not {join_choices(_ORIGINS)}")
        origin = link.origin
    coverage = members.get("coverage", link.coverage)
    if coverage not in _COVERAGES:
        faults.append(f"a coverage that is not {join_choices(Coverage)}")
        coverage = link.coverage
    fields, wrong = read_mappings(members.get("fields", []))
    known = Coverage(str(coverage)) if coverage else None
    strength, source = float(min(1.0, weight)), EdgeOrigin(str(origin))
    found = Link(link.kind, link.target, strength, reason, source, fields, known)
    return found, [*faults, *wrong]


def read_mappings(stated: JsonValue) -> tuple[tuple[FieldMapping, ...], list[str]]:
    """Read mappings of fields; other values are left out and named among the faults."""
    items = stated if isinstance(stated, list) else [stated]
    found: dict[FieldMapping, None] = {}
    faults: list[str] = []
    if len(items) > MOST_FIELDS:
        faults.append(f"more than {MOST_FIELDS} fields, and the others are ignored")
    wrong = "a field that is not a mapping of `given` to `argument` and is ignored"
    for item in items[:MOST_FIELDS]:
        members = item if isinstance(item, dict) else {}
        given, argument = members.get("given"), members.get("argument")
        required = members.get("required", True)
        are_texts = isinstance(given, str) and isinstance(argument, str)
        if are_texts and given and argument and isinstance(required, bool):
            found.setdefault(FieldMapping(str(given), str(argument), required))
        elif wrong not in faults:
            faults.append(wrong)
    return tuple(found), faults


def mapping_json(mapping: FieldMapping) -> JsonObject:
    """Return *mapping* as documents have it: `required` is written only if it is false."""
    members: JsonObject = {"given": mapping.given, "argument": mapping.argument}
    return members if mapping.required else {**members, "required": False}


def _invalid(message: str, place: str) -> Diagnostic:
    return warning(Code.RELATION_INVALID, message, place)


UNNAMED = "document.md"
"""A path without meaning, since a document may be moved."""

EXCERPT_LENGTH = 1000
"""How much of a description the front matter has if all of it would be too long."""

DEFAULT_SOURCE = "local"
"""The source of a document that names none, as in the .NET gateway."""

_LAYOUT_FOLDER = "tools"
_SHORT = 80
_HEADING = re.compile(r" {0,3}#")
_NO_PARAGRAPH = ("```", "~~~", "    ", "|", "<")
_ID_KEYS = ("toolId", "tool_id", "id")
_NAME_KEYS = ("name", "toolName", "tool_name")
_SOURCE_KEYS = ("source", "server", "sourceId", "source_id")
NAMING_KEYS = frozenset((*_ID_KEYS, *_NAME_KEYS, *_SOURCE_KEYS))
"""Front-matter keys that identify the tool of a document."""

TOOL_KEY = "tool"
"""The front-matter key for the tool that a document is about, `false` for none."""

_TITLE_KEYS = ("title", "displayName", "display_name")
_DESCRIPTION_KEYS = ("description", "summary")
URI_KEYS = ("canonical_url", "canonicalUrl")
"""Front-matter keys for the URI of a document."""

_KINDS = {kind.lower(): kind for kind in SourceKind}
_HINTED = {*HINT_KEYS, "hints", "annotations", "_meta", "meta"} - set(TAG_KEYS)
_SHOWN_HINTS = {*Hints.__match_args__} - {"examples"}
_SHOWN = {"title", *_SHOWN_HINTS}
_KIND_KEYS = ("sourceKind", "source_kind")
_INPUT_KEYS = ("input_schema", "inputSchema")
_OUTPUT_KEYS = ("output_schema", "outputSchema")
_TOOL_KEYS = frozenset(
    (
        *(*_ID_KEYS, *_NAME_KEYS, *_SOURCE_KEYS, *_TITLE_KEYS, *_DESCRIPTION_KEYS, *URI_KEYS),
        *(*TAG_KEYS, *_HINTED, *_KIND_KEYS, *_INPUT_KEYS, *_OUTPUT_KEYS, *GRAPH_KEYS, EXTRAS_KEY),
    )
)


@dataclass(frozen=True, slots=True)
class _SplitDocument:
    """A document cut into the parts from which facts are taken.

    Attributes:
        lines: The line numbers of the values in the front matter.
        identity: The labels of the section *Tool Identity*.
        contract: The labels of the section *Execution Contract*.
        first_line: Number of the document's line on which *markdown* begins.
        yaml: The YAML of the front matter.
        is_plain: Whether this package may have written that.
    """

    front: JsonObject
    lines: LineNumbers
    page: Page
    tag_facts: TagFacts
    identity: Mapping[str, str]
    contract: Mapping[str, str]
    markdown: str
    first_line: int
    is_prose: bool
    yaml: str
    is_plain: bool


def parse_document(
    source: SourceDocument, *, source_id: str | None = None, is_checked: bool = False
) -> tuple[ToolDocument, tuple[Diagnostic, ...]]:
    """Read a document that this package, the .NET gateway or a person has written.

    Each fact is taken from the first part that has it: the `mcpg` key of the front matter, other
    keys, the tags, the generated sections. Lists of hints are joined from all but the `mcpg` key,
    which replaces them. Its description is ignored when the `description` beside it was edited
    since.

    Targets of links that are not absolute URIs (a tool id, `source::name`, a path, a title) are in
    `Link.target` as given; callers with all documents at hand resolve them.

    Args:
        source: The text and its place.
        source_id: The server of a document that names none; without it, the document's folder
            (`.../{source}/{name}.md`), else `DEFAULT_SOURCE`.
        is_checked: Whether to report also probable mistakes that can be read.

    Raises:
        DocumentError: No tool can be read: the text is empty, its front matter is
            damaged, or nothing names the tool. Its place is `file` or `file:line`.
    """
    place = source.place or source.path
    text = _cut(source, place)
    found = [*text.page.diagnostics]
    for path in ((), ("hints",), ("annotations",)):
        held = text.front if not path else _member(text.front, *path) or {}
        for key in unusable_keys(held):
            part = "an item" if isinstance(held[key], list) else "the value"
            message = f"{part} of {key!r} has the wrong type for this hint and is ignored"
            found.append(warning(Code.DOCUMENT_INVALID, message, text.lines.at(*path, key)))
    if is_checked:
        found += check_front_matter(text.front, text.lines)
        found += check_page(text.markdown, text.first_line, place, is_prose=text.is_prose)
    tool = _tool(text, source.path, source_id, place)
    extras = _extras(text, found)
    tool, faults = _with_extras(tool, extras, text)
    found += faults
    if is_checked:
        found += _contract_faults(text, tool, place)
    unnamed: list[Diagnostic] = []
    groups = _read_groups(text.front, text.lines, unnamed)
    further = _further(text, found)
    uri = _uri(source, text, found) or tool_uri(tool.source_id, tool.name)
    links = _read_links(text.front, text.lines, found)
    if RELATIONS_KEY in extras:
        links = _with_evidence(links, extras[RELATIONS_KEY], text.lines, found)
    is_own = not text.yaml or (text.is_plain and has_own_lines(further, text.yaml))
    document = ToolDocument(
        tool=tool,
        path=source.path,
        uri=uri,
        groups=groups,
        links=links,
        body=_body(text, tool),
        states_relations=any(key in text.front for key in GRAPH_KEYS),
        further=further,
        written="" if is_own else written_lines(further, [text.yaml]),
    )
    return document, (*found, *unnamed)


def check_document(source: SourceDocument) -> list[Diagnostic]:
    """Report probable mistakes in a document that can be read."""
    place = source.place or source.path
    text = _cut(source, place)
    tool, _ = _with_extras(_tool(text, source.path, None, place), _extras(text, []), text)
    return [
        *check_front_matter(text.front, text.lines),
        *check_page(text.markdown, text.first_line, place, is_prose=text.is_prose),
        *_contract_faults(text, tool, place),
    ]


def _contract_faults(text: _SplitDocument, tool: Tool, place: str) -> Iterator[Diagnostic]:
    """Report values of the contract that have no effect, with their lines."""
    found: list[tuple[str, Diagnostic]] = []
    impossible = impossible_values(text.contract)
    for label, known in impossible.items():
        value = text.contract[label]
        advice = suggestion(value, known) or f"; write {', '.join(known)}"
        message = f"{label!r} has the unknown value {value[:_SHORT]!r}{advice}"
        found.append((label, warning(Code.VALUE_INVALID, message)))
    tags = text.tag_facts.hints if text.tag_facts.generated and text.contract else None
    for label, stated, is_lost in differing_labels(text.page.contract, tool, tags):
        if label not in impossible:
            shown = f"{label[:_SHORT]!r} differs from the {stated}, which counts: edit the {stated}"
            # Otherwise the line may be older than an edit there.
            report = warning if is_lost else info
            found.append((label, report(Code.DOCUMENT_INVALID, shown)))
    lines = text.markdown.split("\n") if found else []
    rows = {line.lstrip("#*- ").rstrip(): at for at, line in reversed([*enumerate(lines)])}
    for label, one in found:
        value = text.contract.get(label, "").split("\n")[0].rstrip()
        line = f"{label}: {value}" if label in text.contract else CONTRACT_HEADING
        yield one._replace(place=f"{place}:{text.first_line + rows.get(line, 0)}")


def tool_without_extras(source: SourceDocument) -> Tool:
    """Read the tool of a document as `parse_document` does, but without most of the `mcpg` key.

    Of its members, only the list of generated texts is read.
    """
    place = source.place or source.path
    return _tool(_cut(source, place), source.path, None, place)


def tool_as_shown(tool: Tool, title: str, description: str) -> Tool:
    """Return the result of `tool_without_extras` for the generated text of *tool*, schemas aside.

    The text need not be there: each label of the generated sections is on one line, and no value
    can be mistaken for another label. Title and description, which must not be blank, come from
    the front matter.
    """
    name = one_line(tool.name) or parse_stem(UNNAMED)
    display = one_line(tool.display_name)
    is_labelled = display and (tool.title or tool.display_name != tool.name)
    is_titled = title.strip() and (is_labelled or one_line(title) != name)
    hints = _read_back_hints(tool.hints)
    if tool.hints.examples:
        examples = read_examples(descriptor_text(tool).split("\n"))
        hints = Hints.merge(hints, Hints(examples=examples))
    return Tool(
        id=one_line(tool.id),
        source_id=one_line(tool.source_id) or tool.source_id.strip() or DEFAULT_SOURCE,
        name=name,
        title=title if is_titled else None,
        description=description,
        hints=hints,
        source_kind=tool.source_kind,
    )


@lru_cache(maxsize=64)
def _read_back_hints(hints: Hints) -> Hints:
    return read_tags(make_tags(Tool("", "", "x", hints=hints))).hints


def _cut(source: SourceDocument, place: str) -> _SplitDocument:
    content = authored_text(source.content).removeprefix("\ufeff")
    if "\r" in content:
        content = content.replace("\r\n", "\n").replace("\r", "\n")
    if not content.strip():
        remedy = "write a heading and a description of the tool"
        raise DocumentError("the document is empty", place=place, remedy=remedy)
    matter = split_front_matter(content, place)
    front = matter.values
    facts = read_tags([tag for key in TAG_KEYS for tag in text_items(front.get(key))])
    # A page, or a text about a tool, may show the format of a generated document.
    is_prose = TOOL_KEY in front and not facts.generated
    stated = _stated_description(front)
    page = read_page(matter.markdown, matter.line, place, stated, is_prose=is_prose)

    return _SplitDocument(
        front,
        LineNumbers(matter.text, place, matter.text_line),
        page,
        facts,
        read_labels(page.identity),
        read_labels(page.contract),
        matter.markdown,
        matter.line,
        is_prose,
        matter.text,
        matter.is_plain,
    )


def _tool(text: _SplitDocument, path: str, source_id: str | None, place: str) -> Tool:
    front, page = text.front, text.page
    name = _first(front, _NAME_KEYS) or text.contract.get(NAME_LABEL) or parse_stem(path)
    if not name:
        remedy = "give it a file name, or a `name` in the front matter"
        raise DocumentError("nothing names the tool", place=place, remedy=remedy)
    schema = _member(front, *_INPUT_KEYS) or page.input_schema
    members: JsonObject = {} if schema is None else {"input_schema": schema}
    tags, identity, folders = text.tag_facts, text.identity, path.split("/")[:-1]
    # The folder of a document, unless it is the layout's own.
    folder = unquote(folders[-1]).strip() if folders and folders != [_LAYOUT_FOLDER] else ""
    stated_source = _first(front, _SOURCE_KEYS) or identity.get("Source id") or tags.source_id
    kind = _first(front, _KIND_KEYS) or identity.get("Source kind") or tags.kind
    display = text.contract.get(TITLE_LABEL)
    title = _first(front, _TITLE_KEYS, exact=True) or display or page.heading
    hints, generated = _hints(text)
    return Tool(
        id=_first(front, _ID_KEYS) or identity.get("Tool id", ""),
        source_id=stated_source or source_id or folder or DEFAULT_SOURCE,
        name=name,
        # A heading that only repeats the name does not count as a title.
        title=title if title and (display or one_line(title) != one_line(name)) else None,
        description=_description(text),
        output_schema=_member(front, *_OUTPUT_KEYS) or page.output_schema,
        annotations=_member(front, "annotations") or {},
        meta=_member(front, "_meta", "meta") or {},
        hints=hints,
        generated=generated,
        source_kind=_KINDS.get(kind.lower(), SourceKind.LOCAL),
        place=place,
        **members,  # type: ignore[arg-type]
    )


def _extras(text: _SplitDocument, found: list[Diagnostic]) -> JsonObject:
    """Return the members under the `mcpg` key that are still valid."""
    extras = text.front.get(EXTRAS_KEY)
    if extras is None:
        return {}
    if not isinstance(extras, dict):
        place = text.lines.at(EXTRAS_KEY)
        found.append(warning(Code.DOCUMENT_INVALID, "the key `mcpg` is not a mapping", place))
        return {}
    raw, shown = extras.get("description"), text.front.get("description")
    if isinstance(raw, str) and isinstance(shown, str):
        flat = without_breaks(raw)
        if shown not in (flat, flat[:EXCERPT_LENGTH]):  # people have edited it since
            extras = {key: value for key, value in extras.items() if key != "description"}
    plain: JsonObject = without_spelling(extras)
    return plain


def _with_extras(
    tool: Tool, extras: JsonObject, text: _SplitDocument
) -> tuple[Tool, list[Diagnostic]]:
    """Put *extras* on *tool*, except those of a generated document that people edited above."""
    whole, faults = with_extras(tool, extras, text.lines)
    if not text.tag_facts.generated or _SHOWN.isdisjoint(extras):
        return whole, faults
    expected, shown = read_tags(make_tags(whole)).hints, text.tag_facts.hints
    stated = _SHOWN_HINTS & extras.keys()
    edited = {key for key in stated if getattr(expected, key) != getattr(shown, key)}
    title = _edited_title(text, whole) if "title" in extras else None
    if not edited and title is None:
        return whole, faults
    kept = {key: value for key, value in extras.items() if key not in edited}
    return with_extras(tool, kept if title is None else kept | {"title": title}, text.lines)


def _edited_title(text: _SplitDocument, tool: Tool) -> str | None:
    """Return the title that differs from that of a document of *tool*, `None` without one."""
    name = one_line(without_breaks(tool.display_name))
    front = _first(text.front, _TITLE_KEYS, exact=True) or ""
    for title in (front, text.contract.get(TITLE_LABEL, "")):
        if title and one_line(title) != name:
            return title
    heading = text.page.heading
    return heading if heading and heading != read_page(f"# {name}", 1, "").heading else None


def _further(text: _SplitDocument, found: list[Diagnostic]) -> JsonObject:
    further = {key: value for key, value in text.front.items() if key not in _TOOL_KEYS}
    if further:
        for path, message in read_facts(further)[1]:
            place = text.lines.at(*path)
            found.append(warning(Code.DOCUMENT_INVALID, f"{message}; it is ignored", place))
    return further


def _uri(source: SourceDocument, text: _SplitDocument, found: list[Diagnostic]) -> str | None:
    if source.canonical_uri:
        return source.canonical_uri
    uri = _first(text.front, URI_KEYS)
    if uri and not is_absolute(uri):
        message = "canonical_url is not an absolute URI and is ignored"
        place = text.lines.at(next(key for key in URI_KEYS if key in text.front))
        found.append(warning(Code.DOCUMENT_INVALID, message, place))
        return None
    return uri


def _description(text: _SplitDocument) -> str:
    stated = _stated_description(text.front)
    if stated:
        return read_description(text.page.contract, stated)
    if DESCRIPTION_LABEL in text.contract:
        return text.contract[DESCRIPTION_LABEL]
    for block in re.split(r"\n[ \t]*\n", text.page.body):
        paragraph = "\n".join(one for one in block.split("\n") if _HEADING.match(one) is None)
        if paragraph.strip() and not paragraph.startswith(_NO_PARAGRAPH):
            return paragraph.strip()
    return ""


def _stated_description(front: JsonObject) -> str:
    stated = (front.get(key) for key in _DESCRIPTION_KEYS)
    return next((one for one in stated if isinstance(one, str) and one.strip()), "")


def _body(text: _SplitDocument, tool: Tool) -> str:
    """Return the prose, with its title line unless that is only the name of the tool."""
    page = text.page
    is_generated = page.identity or page.contract
    names = () if TOOL_KEY in text.front else (one_line(tool.display_name), one_line(tool.name))
    if is_generated or not page.title or one_line(page.title) in names:
        return page.body
    return "\n\n".join(filter(None, (f"# {page.title}", page.body)))


def _hints(text: _SplitDocument) -> tuple[Hints, Hints]:
    """Return the hints of the author, and the texts that a language model wrote."""
    facts, contract, generated = text.tag_facts, read_hints(text.contract), NO_HINTS
    examples = read_examples(text.page.contract)
    listed = read_generated((_member(text.front, EXTRAS_KEY) or {}).get(GENERATED_KEY))
    if listed is not NO_HINTS:
        lines, labels = text.page.contract, text.contract
        apart = part_generated(lines, labels, listed, facts.hints)
        examples, generated = apart.examples, apart.generated
        contract = replace(contract, aliases=apart.lists.aliases, keywords=apart.lists.keywords)
    parts = [facts.hints]
    stated = {key: value for key, value in text.front.items() if key in _HINTED}
    if stated:
        annotations = _member(stated, "annotations") or {}
        meta = _member(stated, "_meta", "meta") or {}
        parts.insert(0, hints_of_tool(stated, annotations, meta))
    if not facts.generated:
        parts.append(contract)
    elif listed is not NO_HINTS:
        parts.append(Hints(contract.aliases, contract.keywords))
    if examples:
        parts.append(Hints(examples=examples))
    return (Hints.merge(*parts) if len(parts) > 1 else parts[0]), generated


def _first(front: JsonObject, keys: tuple[str, ...], *, exact: bool = False) -> str | None:
    """Return the first text or number under *keys* that is not blank, trimmed unless *exact*."""
    for value in map(front.get, keys):
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            text = str(value) if exact else str(value).strip()
            if text.strip():
                return text
    return None


def _member(front: JsonObject, *keys: str) -> JsonObject | None:
    """Return the first mapping under *keys*, as plain values, however they are written."""
    stated = next((value for key in keys if isinstance(value := front.get(key), dict)), None)
    return None if stated is None else without_spelling(stated)


def parse_stem(path: str) -> str:
    """Return the name of the file at *path* as its author wrote it, without the extension."""
    name = path.rpartition("/")[2]
    return unquote(name.rpartition(".")[0] or name).strip()
