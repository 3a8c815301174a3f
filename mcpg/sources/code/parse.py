"""Parsing of source files by tree-sitter, within limits that hold for hostile files, too.

Limits are counted, not timed, so that equal files give equal results.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from mcpg.sources.code.grammars import language

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

Parsed = TypeVar("Parsed")

# Of 2,800 files in seven languages, none took more than 27 steps for a thousand bytes, nor more
# than 4,000. The time to recover from errors can grow with the square of the steps.
_BYTES_PER_STEP = 20
_LEAST_STEPS, _MOST_STEPS = 2_000, 10_000
# Nor was a part of them read more than 8 times. A comment without an end, for one, is read to the
# end of the file from each place where it may begin.
_CHUNK = 16_384
_READS_PER_CHUNK = 32
_LEAST_READS = 64
# Tree-sitter joins ambiguous parses by recursion, a level for each of their brackets. A thread
# that is only reserved space for 128 bytes of a file's every byte cannot overflow.
_SHORTEST_DEEP = 16_384
_STACK = 256 * 1024 * 1024
# The time of a query grows with the square of the depth, and of the width of what cannot be parsed.
# Depth changes by one from node to node at most, so looking at some nodes suffices.
_DEEPEST = 1_000
_MOST_UNPARSED = 10_000
_SAMPLED = 500


class UnparsableError(Exception):
    """A file takes too many steps to parse, nests too deeply, or states too much."""


def parse_source(source: bytes, grammar: str) -> Tree:
    """Parse *source* with the *grammar*.

    Raises:
        UnparsableError: It is too complex, as no ordinary file is.
    """
    if len(source) < _SHORTEST_DEEP:
        return _parse_in_thread(source, grammar)
    return _with_deep_stack(lambda: _parse_in_thread(source, grammar))


def _with_deep_stack(work: Callable[[], Parsed]) -> Parsed:
    before = threading.stack_size(_STACK)
    try:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(work).result()
    finally:
        threading.stack_size(before)


class _ParserInput:
    """Hands a source to the parser, and counts what that takes."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._steps = min(_MOST_STEPS, _LEAST_STEPS + len(source) // _BYTES_PER_STEP)
        self._reads = _LEAST_READS + _READS_PER_CHUNK * len(source) // _CHUNK

    @property
    def is_too_long(self) -> bool:
        return self._steps < 0 or self._reads < 0

    def read(self, offset: int, _: Any) -> bytes:
        """Return what stands at *offset*; nothing more once it was read too often."""
        self._reads -= 1
        return self._source[offset : offset + _CHUNK] if self._reads >= 0 else b""

    def step(self, *_: Any) -> bool:
        """Return whether parsing is to stop."""
        self._steps -= 1
        return self.is_too_long


def _parse_in_thread(source: bytes, grammar: str) -> Tree:
    from tree_sitter import Parser  # noqa: PLC0415 - an extra

    reading = _ParserInput(source)
    try:
        tree = Parser(language(grammar)).parse(reading.read, progress_callback=reading.step)
    except ValueError as fault:  # parsing was stopped
        raise UnparsableError from fault
    if reading.is_too_long:
        raise UnparsableError
    _check_shape(tree)
    return tree


def _check_shape(tree: Tree) -> None:
    root = tree.root_node
    cursor = tree.walk()
    for place in range(0, root.descendant_count, _SAMPLED):
        cursor.goto_descendant(place)
        if cursor.depth > _DEEPEST:
            raise UnparsableError
        # A node with that many children is an ancestor of one of the nodes that are looked at.
        while root.has_error and cursor.node is not None:
            if _is_wide_error(cursor.node):
                raise UnparsableError
            if not cursor.goto_parent():
                break


def _is_wide_error(node: Node) -> bool:
    is_broken = node.is_error or (node.parent is None and node.has_error)
    return is_broken and node.child_count > _MOST_UNPARSED
