"""The lines of front matter that an author wrote, kept with comments when the rest is rewritten."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mcpg.documents.front_matter import member
from mcpg.errors import DocumentError
from mcpg.json_types import JsonObject, JsonValue
from mcpg.text.safeyaml import load_yaml, mask_pairs

# A number that JSON writes otherwise.
_NUMBER = re.compile(r"(?<![\w.])-?[0-9]+(?:\.[0-9]*0|(?:\.[0-9]+)?[eE][-+]?[0-9]+|\.[0-9]{16,})")
_COMMENT = re.compile(r"(?:(?<=\s)|^)#[^\n]*", re.MULTILINE)


class _Block(NamedTuple):
    """A key of front matter as it stands.

    Attributes:
        key: The key, "" for what stands below the last one.
        above: Comments above it, with blank lines.
        lines: Its lines.
        value: Its value.
    """

    key: str
    above: str
    lines: str
    value: JsonValue


def written_lines(values: JsonObject, texts: Iterable[str]) -> str:
    """Return front matter of *values*, whose lines are those of *texts* where these hold them.

    All comments of *texts* stay: those of other keys stand where these were.

    Args:
        values: The values, in the order in which they are to stand.
        texts: Front matter that authors wrote, which can be read.

    Returns:
        The lines; "" where they would be those that `member` writes.
    """
    texts, canonical = list(texts), _canonical(values)
    blocks = [block for text in texts for block in _blocks(text)]
    left = dict(values)
    parts: list[str] = []
    for block in blocks:
        if block.key and block.key in left and _is_same(left[block.key], block.value):
            parts += [block.above, block.lines]
            del left[block.key]
        else:
            parts += [f"{comment}\n" for comment in _comments(block.above + block.lines)]
    found = "".join((*parts, _canonical(left)))
    if not _says(found, values):
        comments = (f"{comment}\n" for text in texts for comment in _comments(text))
        found = "".join((*comments, canonical))
    return found if found != canonical and _says(found, values) else ""


def write_authored_lines(values: JsonObject, written: str) -> str:
    """Return front matter of *values*: *written* where it holds them, else what `member` writes."""
    return written if written and _says(written, values) else _canonical(values)


def values_as_written(values: JsonObject, written: str) -> JsonObject:
    """Return *values* with numbers as their author wrote them, such as `1.10`.

    Args:
        values: The values.
        written: What `written_lines` returned for them, perhaps for others meanwhile.
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
    """Return whether values are equal as JSON, where `true` is not 1."""
    return left == right and _dump_sorted(left) == _dump_sorted(right)


def _dump_sorted(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _canonical(values: JsonObject) -> str:
    return "".join(f"{line}\n" for key, value in values.items() for line in member(key, value))


def _blocks(text: str) -> Iterator[_Block]:
    """Cut front matter into its keys; what is no mapping in blocks has none, but comments."""
    lines = text.removesuffix("\n").split("\n")
    starts = _starts(text)
    values = _read(text)
    members = values if isinstance(values, dict) else {}
    if not starts or list(starts) != list(members) or len(set(starts.values())) < len(starts):
        yield _Block("", "", text, None)
        return
    ends = [*list(starts.values())[1:], len(lines)]
    first = next(iter(starts.values()), len(lines))
    above = _join_lines([line.lstrip(" ") for line in lines[:first]])
    for (key, start), end in zip(starts.items(), ends, strict=True):
        stop = end
        while stop > start + 1 and (not lines[stop - 1].strip() or lines[stop - 1][0] == "#"):
            stop -= 1
        yield _Block(key, above, _join_lines(lines[start:stop]), members[key])
        above = _join_lines(lines[stop:end])
    yield _Block("", above, "", None)


def _join_lines(lines: Sequence[str]) -> str:
    text = "".join(f"{line}\n" for line in lines)
    return text if text.strip() else ""


def _starts(text: str) -> dict[str, int]:
    """Return the line, from 0, on which each key of a mapping in blocks stands, in order."""
    import yaml  # noqa: PLC0415 - generated documents have no such lines

    try:
        root = yaml.compose(
            mask_pairs(text)[0], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        )
    except yaml.YAMLError:
        return {}
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        return {}
    starts: dict[str, int] = {}
    line = end = 0
    for key, _ in root.value:
        # The parser counts other line ends as well.
        at = key.start_mark.index
        line, end = line + text.count("\n", end, at), at
        if text[at - 1 : at] in ("", "\n"):
            starts[str(key.value)] = line
    return starts


def _comments(text: str) -> Iterator[str]:
    """Return the comments in YAML, each from its mark to the end of its line."""
    import yaml  # noqa: PLC0415 - as above

    if "#" not in text:
        return
    end = 0
    try:
        masked, _ = mask_pairs(text)
        tokens = list(yaml.scan(masked, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError:
        return
    for token in tokens:
        yield from _COMMENT.findall(text[end : token.start_mark.index])
        end = max(end, token.end_mark.index)
    yield from _COMMENT.findall(text[end:])
