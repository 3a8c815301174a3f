"""Front matter that is rewritten for other readers, with the lines that its author wrote.

A rewritten text has a member `authored` under its key `mcpg`: a checksum of the front matter, then
for each run of lines that is not the author's the first line, how many lines there are, and the
lines that the author wrote instead. If the front matter was changed since, the text is used as
it is.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import yaml

from mcpg.catalog.flat_schema import canonical_text
from mcpg.documents.front_matter import (
    EXTRAS_KEY,
    MAX_FRONT_MATTER,
    FrontMatter,
    flow,
    member,
    split_front_matter,
)
from mcpg.errors import DocumentError
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.safeyaml import PAIR, load_yaml, mask_pairs

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# A number that JSON writes otherwise.
_NUMBER = re.compile(r"(?<![\w.])-?[0-9]+(?:\.[0-9]*0|(?:\.[0-9]+)?[eE][-+]?[0-9]+|\.[0-9]{16,})")
_COMMENT = re.compile(r"(?:(?<=\s)|^)#[^\n]*", re.MULTILINE)


class _Block(NamedTuple):
    """A key of front matter as written, with the comments and blank lines above it.

    The key is `None` for the lines below the last one.
    """

    key: str | None
    above: str
    lines: str
    value: JsonValue


def written_lines(values: JsonObject, texts: Iterable[str]) -> str:
    """Return front matter of *values*, in this order, with the lines of *texts* that fit them.

    The texts are front matter that authors wrote and that can be read. All their comments stay:
    comments of other keys keep their places. The result is "" if the lines would be those that
    `member` writes.
    """
    texts, canonical = list(texts), _canonical(values)
    blocks = [block for text in texts for block in _blocks(text)]
    left = dict(values)
    parts: list[str] = []
    for block in blocks:
        if block.key is not None and block.key in left and _is_same(left[block.key], block.value):
            parts += [block.above, block.lines]
            del left[block.key]
        else:
            parts += [f"{comment}\n" for comment in _comments(block.above + block.lines)]
    found = "".join((*parts, _canonical(left)))
    if not _says(found, values):
        comments = (f"{comment}\n" for text in texts for comment in _comments(text))
        found = "".join((*comments, canonical))
    return found if found != canonical and _says(found, values) else ""


def has_own_lines(values: JsonObject, text: str) -> bool:
    """Return whether front matter has each of *values* in the lines that `member` writes."""
    lines = f"\n{text}\n"
    return all("\n".join(("", *member(key, one), "")) in lines for key, one in values.items())


def write_authored_lines(values: JsonObject, written: str) -> str:
    """Return front matter of *values*: *written* if it has them, else the lines of `member`."""
    return written if written and _says(written, values) else _canonical(values)


def values_as_written(values: JsonObject, written: str) -> JsonObject:
    """Return *values* with numbers as their author wrote them, such as `1.10`.

    *written* is the result of `written_lines` for them, perhaps for others meanwhile.
    """
    if not written or _NUMBER.search(written) is None:
        return values
    found = _read(written)
    return found if isinstance(found, dict) and found == values else values


def _says(text: str, values: JsonObject) -> bool:
    found = _read(text)
    return _is_same({} if found is None else found, values)


def _read(text: str) -> JsonValue:
    try:
        return load_yaml(text, "", error=DocumentError)
    except DocumentError:
        return ""


def _is_same(left: JsonValue, right: JsonValue) -> bool:
    """Return whether values are equal as JSON, in which `true` is not 1."""
    return left == right and canonical_text(left) == canonical_text(right)


def _canonical(values: JsonObject) -> str:
    return "".join(f"{line}\n" for key, value in values.items() for line in member(key, value))


def _blocks(text: str) -> Iterator[_Block]:
    """Cut front matter into its keys; if it is not a block mapping, it has only comments."""
    lines = text.removesuffix("\n").split("\n")
    starts: dict[str, int] = {}  # the line of each key, from 0, in order
    line = end = 0
    for name, (key, _) in _block_members(_compose_yaml(text)).items():
        # The parser also counts other line ends.
        at = key.start_mark.index
        line, end = line + text.count("\n", end, at), at
        if text[at - 1 : at] in ("", "\n"):
            starts[name] = line
    values = _read(text)
    members = values if isinstance(values, dict) else {}
    if not starts or list(starts) != list(members) or len(set(starts.values())) < len(starts):
        yield _Block(None, "", text, None)
        return
    ends = [*list(starts.values())[1:], len(lines)]
    first = next(iter(starts.values()), len(lines))
    above = _join_lines([line.lstrip(" ") for line in lines[:first]])
    for (name, start), end in zip(starts.items(), ends, strict=True):
        stop = end
        while stop > start + 1 and (not lines[stop - 1].strip() or lines[stop - 1][0] == "#"):
            stop -= 1
        yield _Block(name, above, _join_lines(lines[start:stop]), members[name])
        above = _join_lines(lines[stop:end])
    yield _Block(None, above, "", None)


def _join_lines(lines: Sequence[str]) -> str:
    text = "".join(f"{line}\n" for line in lines)
    return text if text.strip() else ""


def _comments(text: str) -> Iterator[str]:
    """Return the comments in YAML, each from its mark to the end of its line."""
    if "#" not in text:
        return
    end = 0
    try:
        masked, _ = mask_pairs(text)
        tokens = list(yaml.scan(masked, Loader=_LOADER))
    except yaml.YAMLError:
        return
    for token in tokens:
        yield from _COMMENT.findall(text[end : token.start_mark.index])
        end = max(end, token.end_mark.index)
    yield from _COMMENT.findall(text[end:])


AUTHORED_KEY = "authored"
"""The member of the `mcpg` key with the lines of the author."""

MAX_REWRITTEN = 8 * MAX_FRONT_MATTER
"""Longest rewritten front matter with the author's lines, in characters."""

_BOM = "\ufeff"
_FENCE = "---"
_RECORD = re.compile(rf" +{AUTHORED_KEY}: (\[.*\])")
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'[^']*'""")
_IN_BRACKETS = re.compile(r"[\[{][^\[\]{}]*\?")
# YAML has no such character, so it marks the line of the record until this can be written.
_HERE = "\x00"


class _ReplacedRun(NamedTuple):
    """Lines of a rewritten text: number of the first, from 1, how many, the author's instead."""

    first: int
    size: int
    authored: Sequence[str]


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def rewritten_text(content: str, values: JsonObject) -> str:
    """Return the document *content*, which can be read, with other *values* in its front matter.

    Lines with unchanged values are kept as they are, with their comments; blank lines above the
    front matter are dropped. `authored_text` returns *content* again. A key may be added, but not
    left out.
    """
    text = content.removeprefix(_BOM)
    front = split_front_matter(text, "")
    values = _without_record(values)
    edits = _edits(front, values)
    made = _apply_edits(text, front, edits) if edits else ""
    if not made or not _is_sound(made, values):
        extras = values.get(EXTRAS_KEY)
        others = {key: value for key, value in values.items() if key != EXTRAS_KEY}
        inner = _lines(_canonical(extras if isinstance(extras, dict) else {}))
        lines = [f"{EXTRAS_KEY}:", f"  {_HERE}", *(f"  {line}" for line in inner)]
        whole = _canonical(others) + "".join(f"{line}\n" for line in lines)
        made = _apply_edits(text, front, [_Edit(0, len(front.text), whole)])
        if not _is_sound(made, values):
            message = f"the front matter would be longer than {MAX_REWRITTEN} characters"
            raise DocumentError(message, remedy="shorten it")
    return content[: content.startswith(_BOM)] + made


def authored_text(content: str) -> str:
    """Return the text that an author wrote, of a document that may be rewritten."""
    if f" {AUTHORED_KEY}: [" not in content:
        return content
    text = content.removeprefix(_BOM)
    lines = text.split("\n")
    ends = (at for at in range(1, len(lines)) if lines[at].rstrip(" \t") == _FENCE)
    front = lines[: next(ends, 0)]
    records = [at for at, line in enumerate(front) if _RECORD.fullmatch(line)]
    if not records or front[0].rstrip(" \t") != _FENCE:
        return content
    at = records[-1]
    checksum, runs = _read_record(front[at])
    is_added = any(run.first <= at + 1 < run.first + run.size for run in runs)
    if not is_added or checksum != _checksum(front, at):
        return content
    for run in reversed(runs):
        lines[run.first - 1 : run.first - 1 + run.size] = run.authored
    return content[: content.startswith(_BOM)] + "\n".join(lines)


def _read_record(line: str) -> tuple[str, Sequence[_ReplacedRun]]:
    """Return checksum and runs of the record in *line*; no runs if it is damaged."""
    try:
        checksum, *stated = json.loads(line.partition(":")[2])
        runs = [_ReplacedRun(first, size, lines) for first, size, lines in stated]
        after = 1
        for run in runs:
            is_sound = run.first >= after and run.size >= 0
            if not is_sound or not all(isinstance(one, str) for one in run.authored):
                return "", ()
            after = run.first + run.size
    except (TypeError, ValueError, RecursionError):
        return "", ()
    return str(checksum), runs


def _checksum(front: Sequence[str], record: int) -> str:
    text = "\n".join(line for at, line in enumerate(front) if at != record)
    return f"{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _is_sound(text: str, values: JsonObject) -> bool:
    """Return whether a rewritten text has *values* beside its record, for every parser."""
    try:
        front = split_front_matter(text, "", MAX_REWRITTEN)
    except DocumentError:
        return False
    return _without_record(front.values) == values and not is_disputed(front.text)


def _without_record(values: JsonObject) -> JsonObject:
    extras = values.get(EXTRAS_KEY)
    if not isinstance(extras, dict) or AUTHORED_KEY not in extras:
        return values
    others = {key: value for key, value in extras.items() if key != AUTHORED_KEY}
    kept = {key: value for key, value in values.items() if key != EXTRAS_KEY}
    return {**kept, EXTRAS_KEY: others} if others else kept


def is_hidden(content: str) -> bool:
    """Return whether other readers miss front matter, or a part of it, that this package reads.

    The .NET library takes front matter below a blank line for prose, and ends it at the first line
    of three hyphens, even one within a text block.
    """
    text = content.removeprefix(_BOM)
    try:
        front = split_front_matter(text, "")
    except DocumentError:
        return False
    return front.line > 1 and (not text.startswith(_FENCE) or _is_cut(front))


def _is_cut(front: FrontMatter) -> bool:
    return any(line.strip() == _FENCE for line in front.text.split("\n"))


def is_disputed(text: str) -> bool:
    """Return whether parsers differ on YAML that can be read.

    They do for a tab outside of quotes, or a question mark in brackets: PyYAML's parser in Python
    refuses them there, its parser in C does not. Many refuse a character that is escaped as a pair.
    """
    if not _may_be_disputed(text):
        return False
    if PAIR.search(text):
        return True
    try:
        for _ in yaml.parse(text, Loader=yaml.SafeLoader):
            pass
    except yaml.YAMLError:
        return True
    return False


def _may_be_disputed(text: str) -> bool:
    has_key = "?" in text and _IN_BRACKETS.search(_QUOTED.sub("", text)) is not None
    return "\t" in text or has_key or PAIR.search(text) is not None


def _apply_edits(text: str, front: FrontMatter, edits: Sequence[_Edit]) -> str:
    lines = text.split("\n")
    has_front = front.line > 1
    fence = front.text_line - 2 if has_front else 0
    above = lines[:fence]
    runs = [_ReplacedRun(1, 0, above)] if above else []
    made = [lines[fence]] if has_front else []
    for is_edited, old, new in _in_runs(front.text, edits):
        if is_edited:
            runs.append(_ReplacedRun(len(made) + 1, len(new), old))
        made += new
    if not has_front:
        made, runs = [_FENCE, *made, _FENCE], [_ReplacedRun(1, len(made) + 2, ())]
    record = next(at for at, line in enumerate(made) if line.endswith(_HERE))
    end = len(made) - (not has_front)
    stated: list[JsonValue] = [[run.first, run.size, [*run.authored]] for run in runs]
    written = flow([_checksum(made[:end], record), *stated])
    made[record] = f"{made[record][:-1]}{AUTHORED_KEY}: {written}"
    below = lines[fence + 1 + front.text.count("\n") :] if has_front else lines
    return "\n".join((*made, *below))


def _in_runs(text: str, edits: Sequence[_Edit]) -> Iterator[tuple[bool, list[str], list[str]]]:
    """Cut *text* into runs of lines: whether it is edited, its lines before and after."""
    runs: list[tuple[int, int, list[_Edit]]] = []  # edits of the same lines are one
    for edit in sorted(edits):
        start = text.rfind("\n", 0, edit.start) + 1
        end = start if edit.end == start else text.find("\n", edit.end - 1) + 1
        if runs and start < runs[-1][1]:
            first, before, run = runs[-1]
            runs[-1] = first, max(before, end), [*run, edit]
        else:
            runs.append((start, end, [edit]))
    at = 0
    for start, end, run in runs:
        new, cut = "", start
        for edit in run:
            new += text[cut : edit.start] + edit.text
            cut = edit.end
        if at < start:
            yield False, [], _lines(text[at:start])
        yield True, _lines(text[start:end]), _lines(new + text[cut:end])
        at = end
    if at < len(text):
        yield False, [], _lines(text[at:])


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _edits(front: FrontMatter, values: JsonObject) -> list[_Edit]:
    """Return the edits that change the front matter in place; none if only new text will do."""
    extras = front.values.get(EXTRAS_KEY)
    is_recorded = isinstance(extras, dict) and AUTHORED_KEY in extras
    is_same = (extras, EXTRAS_KEY in front.values) == (values.get(EXTRAS_KEY), EXTRAS_KEY in values)
    if _is_cut(front) or is_recorded or not is_same:
        return []
    members = _block_members(_compose_yaml(front.text)) if front.values else {}
    if members.keys() != front.values.keys():
        return []
    disputed = is_disputed(front.text)
    edits: list[_Edit] = []
    for key, (name, node) in members.items():
        written = front.text[name.end_mark.index : node.end_mark.index]
        as_whole = disputed and _may_be_disputed(written)
        edits += _changes(name, node, front, key, values[key], as_whole=as_whole)
    added = "".join(
        f"{line}\n"
        for key, value in values.items()
        if key not in members
        for line in member(key, value)
    )
    if EXTRAS_KEY in members:
        inner = _block_members(members[EXTRAS_KEY][1])
        if not inner:
            return []
        first = next(iter(inner.values()))[0].start_mark
        start = first.index - first.column
        edits.append(_Edit(start, start, f"{' ' * first.column}{_HERE}\n"))
    else:
        added += f"{EXTRAS_KEY}:\n  {_HERE}\n"
    end = len(front.text)
    return [*edits, *([_Edit(end, end, added)] if added else [])]


def _changes(
    name: yaml.Node,
    node: yaml.Node,
    front: FrontMatter,
    key: str,
    new: JsonValue,
    *,
    as_whole: bool,
) -> Iterator[_Edit]:
    """Return the edits that make *new* of the value of *key*, which *node* is."""
    old = front.values[key]
    items = node.value if isinstance(node.value, list) else []
    is_list = isinstance(old, list) and isinstance(new, list) and len(old) == len(new) == len(items)
    if not as_whole and old == new:
        return
    if not as_whole and is_list and isinstance(old, list) and isinstance(new, list):
        for item, before, after in zip(items, old, new, strict=True):
            if before != after:
                yield _Edit(item.start_mark.index, _end(item, front.text), flow(after))
        return
    start = name.end_mark.index
    yield _Edit(start, max(start, _end(node, front.text)), f": {flow(new)}")


def _end(node: yaml.Node, text: str) -> int:
    """Return the end of the text of *node*; a block otherwise extends to the next one."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last, text)
    return len(text[: node.end_mark.index].rstrip())


def _compose_yaml(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(mask_pairs(text)[0], Loader=_LOADER)
    except yaml.YAMLError:
        return None


def _block_members(node: yaml.Node | None) -> Mapping[str, tuple[yaml.Node, yaml.Node]]:
    """Return key and value of each member of a block mapping."""
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        return {}
    return {str(key.value): (key, value) for key, value in node.value}
