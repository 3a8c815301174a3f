"""SHACL validation, in a process of its own.

Shapes may come from anybody and may ask for work that never ends: patterns that backtrack, paths
that branch, queries over every pair of nodes. No library can be stopped in the middle of such
work, but a process can. The process has no way to the network either.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mcpg.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PROGRAM = """\
import json, sys
asked = json.loads(sys.stdin.buffer.readline())
sys.path[:] = asked["path"]
from mcpg.graph.shacl_worker import work
sys.stdout.buffer.write(work(sys.stdin.buffer.read(), asked["shapes"]))
"""
_SHIPPED = "shapes.ttl"
_SH = "http://www.w3.org/ns/shacl#"
_SCRIPTED = tuple(f"{_SH}{name}" for name in ("js", "jsFunctionName", "jsLibrary", "jsLibraryURL"))
_ADVANCED = tuple(f"{_SH}{name}" for name in ("rule", "target", "expression", "returnType"))


@dataclass(frozen=True, slots=True)
class Result:
    """One thing that a shape finds wrong.

    Attributes:
        severity: `violation`, `warning` or `info`.
        message: What is wrong, in the shape's words.
        focus: IRI of the node at fault.
        path: IRI of its property at fault, or "".
        value: The value at fault, IRI or text, or "".
        constraint: Name of the constraint, such as `MinCount`.
        shape: IRI of the shape, "" for one without a name.
    """

    severity: str
    message: str
    focus: str
    path: str = ""
    value: str = ""
    constraint: str = ""
    shape: str = ""


def shipped_shapes() -> str:
    """Give the shapes of tools, documents and relations that come with the package, in Turtle."""
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
    predicates = _predicates(text, place)
    for names, what in ((_SCRIPTED, "JavaScript"), (_ADVANCED, "SHACL's advanced features")):
        used = next((name for name in names if name in predicates), None)
        if used:
            raise InputError(
                f"these shapes need {what} (sh:{used.removeprefix(_SH)}), which is not run",
                place=place,
                remedy="state it with core constraints, or with sh:sparql",
            )
    if not any(predicate.startswith(_SH) for predicate in predicates):
        remedy = "give a file of SHACL shapes"
        raise InputError("there is no shape in this file", place=place, remedy=remedy)


def validate(data: bytes, shapes: Sequence[str], *, timeout: float) -> tuple[Result, ...]:
    """Validate a graph, with a limit on time.

    Args:
        data: The graph in Turtle.
        shapes: Texts of shapes in Turtle, which `check_shapes` has seen; they count together.
        timeout: Longest time to take, in seconds.

    Returns:
        What was found: by severity, then node, property, value and message.

    Raises:
        UsageError: The validator is not installed.
        InputError: The shapes cannot be used, or take too long.
    """
    if find_spec("pyshacl") is None:
        raise UsageError(
            "the SHACL validator is not installed",
            remedy="pip install 'mcpg-graph[shacl]'",
        )
    answer = _answer(data, shapes, timeout)
    if isinstance(answer, str):
        raise InputError(f"the shapes cannot be used: {answer}", remedy="correct the shapes")
    return tuple(sorted((Result(*members) for members in answer), key=_order))


def _answer(data: bytes, shapes: Sequence[str], timeout: float) -> list[list[str]] | str:
    """Have the work done, and give what was found, or why nothing could be."""
    # The folder in which somebody happens to stand must not lend its modules to the process.
    command = [sys.executable, "-P", "-c", _PROGRAM]
    head = json.dumps({"path": sys.path, "shapes": list(shapes)}).encode()
    try:
        run = subprocess.run(  # noqa: S603 - our own program, nothing of it from outside
            command, input=head + b"\n" + data, capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as fault:
        raise InputError(
            f"validation took longer than {timeout:g} seconds and was stopped",
            remedy="simplify the shapes, or give it more time with --timeout",
        ) from fault
    if run.returncode:
        return "the validator came to a sudden end, perhaps for want of memory"
    answer: list[list[str]] | str = json.loads(run.stdout)
    return answer


def _order(result: Result) -> tuple[Any, ...]:
    rank = ("violation", "warning", "info").index(result.severity)
    return rank, result.focus, result.path, result.value, result.message, result.shape


def _predicates(text: str, place: str) -> set[str]:
    import pyoxigraph  # noqa: PLC0415 - only these commands need it

    try:
        triples = pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.TURTLE)
        return {triple.predicate.value for triple in triples}
    except (SyntaxError, UnicodeEncodeError) as fault:
        line = getattr(fault, "lineno", None)
        where = f"{place}:{line}" if line else place
        reason = str(getattr(fault, "msg", fault)).partition(" at line ")[0]
        remedy = "correct the Turtle"
        raise InputError(f"this is no Turtle: {reason}", place=where, remedy=remedy) from fault
