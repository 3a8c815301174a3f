"""Edits of YAML text that keep the rest of it as it is: comments, order, quotes, line ends.

The composer of PyYAML gives the position of every node, so that only what is added or replaced is
written. Each edit is read again and compared with what it should mean; an edit that would mean
something else is refused.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

import yaml

from mcpg.documents.front_matter import flow, quote_scalar
from mcpg.errors import InputError, OutputError
from mcpg.json_types import JsonValue
from mcpg.text.safeyaml import YamlPath, load_yaml

_STEP = 2
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Keys that a reader of YAML 1.1 does not take for text."""


class YamlText:
    """A YAML document as text, with its value.

    Attributes:
        text: The text.
        value: What it means; `None` where it is empty.
    """

    def __init__(self, text: str, place: str) -> None:
        """Parse *text*; *place* is its file, for messages.

        Raises:
            InputError: It is no YAML, or uses what is refused.
        """
        self.text = text
        self.value = load_yaml(text, place)
        self._place = place
        # The parser in Python: its marks count characters.
        self._root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
        self._line_end = "\r\n" if "\r\n" in text else "\n"

    def with_member(self, path: YamlPath, key: str, value: JsonValue) -> YamlText:
        """Return the text with a further member of the mapping at *path*, which may be empty.

        Raises:
            OutputError: The text cannot be edited without a change to something else.
        """
        expected = copy.deepcopy(self.value)
        if path or expected is not None:
            parent: Any = _at(expected, path[:-1]) if path else expected
            if path:
                parent[path[-1]] = parent[path[-1]] or {}
                parent = parent[path[-1]]
            parent[key] = value
        else:
            expected = {key: value}
        return self._check_edit(self._member_added(path, key, value), expected)

    def with_items(self, path: YamlPath, items: Sequence[JsonValue]) -> YamlText:
        """Return the text with *items* at the end of the list at *path*; one value becomes a list.

        Raises:
            OutputError: See `with_member`.
        """
        expected = copy.deepcopy(self.value)
        old = _at(expected, path)
        whole = [*(old if isinstance(old, list) else [] if old is None else [old]), *items]
        if not path:
            return self._check_edit(self._items_added(path, items, whole), whole)
        parent: Any = _at(expected, path[:-1])
        parent[path[-1]] = whole
        return self._check_edit(self._items_added(path, items, whole), expected)

    def with_value(self, path: YamlPath, value: JsonValue) -> YamlText:
        """Return the text with another value at *path*.

        Raises:
            OutputError: See `with_member`.
        """
        expected = copy.deepcopy(self.value)
        parent: Any = _at(expected, path[:-1])
        parent[path[-1]] = value
        return self._check_edit(self._replace_value(path, value), expected)

    def without(self, path: YamlPath) -> YamlText:
        """Return the text without the member or item at *path*.

        Raises:
            OutputError: See `with_member`.
        """
        expected = copy.deepcopy(self.value)
        parent: Any = _at(expected, path[:-1])
        del parent[path[-1]]
        if not self._node(path[:-1])[1].flow_style and parent:
            key, node = self._node(path)
            start = self.text.rfind("\n", 0, (key or node).start_mark.index) + 1
            return self._check_edit(self.text[:start] + self.text[self._after(node) :], expected)
        if path[:-1]:
            return self._check_edit(self._replace_value(path[:-1], parent), expected)
        return self._check_edit(flow(parent) + self._line_end, expected)

    def _check_edit(self, text: str, expected: JsonValue) -> YamlText:
        try:
            edited = YamlText(text, self._place)
        except InputError:
            edited = None
        if edited is None or edited.value != expected:
            raise OutputError(
                "its layout cannot be edited without a change to something else",
                place=self._place,
                remedy="add the lines by hand, or choose another file",
            )
        return edited

    def _node(self, path: YamlPath) -> tuple[Any, Any]:
        """Return the nodes of the key, `None` for an item, and of the value at *path*."""
        key, node = None, self._root
        for step in path:
            if isinstance(step, int):
                key, node = None, node.value[step]
            else:
                key, node = next(pair for pair in node.value if pair[0].value == step)
        return key, node

    def _member_added(self, path: YamlPath, key: str, value: JsonValue) -> str:
        holder, node = self._node(path)
        if node is None or (isinstance(node, yaml.ScalarNode) and not path and not node.value):
            # Nothing but comments.
            gap = "" if not self.text or self.text.endswith("\n") else self._line_end
            return self.text + gap + self._block(key, value, 0)
        if isinstance(node, yaml.MappingNode) and node.value:
            if node.flow_style:
                return self._insert_text(_end(node), f", {quote_scalar(key)}: {flow(value)}")
            column = node.value[0][0].start_mark.column
            return self._inserted_line(self._after(node), self._block(key, value, column))
        if node.start_mark.index == node.end_mark.index and holder is not None:
            block = self._block(key, value, holder.start_mark.column + _STEP)
            return self._inserted_line(self._line_after(holder.end_mark.index), block)
        return self._replace_value(path, {key: value})

    def _items_added(
        self, path: YamlPath, items: Sequence[JsonValue], whole: Sequence[JsonValue]
    ) -> str:
        node = self._node(path)[1]
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            return self._replace_value(path, list(whole))
        if node.flow_style:
            return self._insert_text(_end(node), "".join(f", {flow(item)}" for item in items))
        margin = " " * node.start_mark.column
        lines = (f"{margin}- {flow(item)}{self._line_end}" for item in items)
        return self._inserted_line(self._after(node), "".join(lines))

    def _replace_value(self, path: YamlPath, value: JsonValue) -> str:
        node = self._node(path)[1]
        start, end = node.start_mark.index, node.end_mark.index
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            end = _end(node)
        gap = " " if start == end else ""
        return f"{self.text[:start]}{gap}{flow(value)}{self.text[end:]}"

    def _insert_text(self, place: int, text: str) -> str:
        return self.text[:place] + text + self.text[place:]

    def _inserted_line(self, place: int, lines: str) -> str:
        """Insert *lines* at the beginning of a line, or below a last line without an end."""
        gap = "" if not place or self.text[place - 1] == "\n" else self._line_end
        return self._insert_text(place, gap + lines)

    def _block(self, key: str, value: JsonValue, column: int) -> str:
        """Return a member as lines: a mapping with a line for each member, the rest on one."""
        margin = " " * column
        name = key if _PLAIN.fullmatch(key) and key.lower() not in _WORDS else quote_scalar(key)
        if not isinstance(value, dict) or not value:
            return f"{margin}{name}: {flow(value)}{self._line_end}"
        parts = (self._block(one, part, column + _STEP) for one, part in value.items())
        return f"{margin}{name}:{self._line_end}{''.join(parts)}"

    def _after(self, node: Any) -> int:
        """Return the beginning of the line after *node*."""
        return self._line_after(_end(node))

    def _line_after(self, place: int) -> int:
        if place and self.text[place - 1] == "\n":  # behind a block scalar
            return place
        found = self.text.find("\n", place)
        return len(self.text) if found < 0 else found + 1


def _end(node: Any) -> int:
    """Return where the last value in *node* ends, or *node* itself where it has none.

    The mark of a block is behind the comments and blank lines that follow it.
    """
    if isinstance(node, yaml.MappingNode) and node.value:
        last = node.value[-1][1]
    elif isinstance(node, yaml.SequenceNode) and node.value:
        last = node.value[-1]
    else:
        return int(node.end_mark.index)
    return int(last.end_mark.index) if _is_closed(last) else _end(last)


def _is_closed(node: Any) -> bool:
    return not isinstance(node, yaml.CollectionNode) or bool(node.flow_style)


def _at(value: JsonValue, path: YamlPath) -> Any:
    found: Any = value
    for step in path:
        found = found[step]
    return found
