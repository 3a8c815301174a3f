"""Rules on parameters: without a description, without a type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mcpg.catalog.model import Parameter, Tool
from mcpg.json_types import JsonObject
from mcpg.lint.catalogue import LintContext, make_finding, outliers, stems
from mcpg.lint.model import Finding
from mcpg.lint.vocabulary import EMPTY_WORDS
from mcpg.values import format_count

_NAMED = 3
_SELF_EXPLAINING = ("enum", "const", "examples")
_TYPED = ("type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "properties", "items", "not")


def check_parameters(catalogue: LintContext) -> Iterator[Finding]:
    """Yield what is missing from parameters."""
    checks: Mapping[str, tuple[Callable[[Parameter, Tool], bool], str, str]] = {
        "P101": (_is_undescribed, "without a description", "say what it means and how it looks"),
        "P102": (_is_untyped, "without a type", "state its `type`"),
        "P103": (_is_repeated, "whose description repeats the name", "say what the name does not"),
    }
    for code, (is_bad, lack, remedy) in checks.items():
        if code not in catalogue.chosen:
            continue
        found: dict[str, Finding] = {}
        for tool in catalogue.tools:
            bad = [one for one in catalogue.parameters[tool.id] if is_bad(one, tool)]
            if bad:
                found[tool.id] = _finding(code, tool, bad, lack, remedy)
        yield from outliers(
            catalogue,
            found,
            f"have parameters {lack}",
            lambda tool: bool(catalogue.parameters[tool.id]),
        )


def _finding(code: str, tool: Tool, bad: list[Parameter], lack: str, remedy: str) -> Finding:
    names = ", ".join(one.path for one in bad[:_NAMED])
    more = f" and {len(bad) - _NAMED:,} more" if len(bad) > _NAMED else ""
    return make_finding(
        code,
        tool,
        f"{tool.id!r} has {format_count(len(bad), 'parameter')} {lack}: {names}{more}",
        *_way(bad[0]),
        suggestion=remedy,
    )


def _way(parameter: Parameter) -> tuple[str, ...]:
    """Return the way to a parameter at the top; deeper ones stand somewhere within it."""
    top = parameter.path.partition(".")[0].partition("[")[0]
    return ("inputSchema", "properties", top)


def _is_undescribed(parameter: Parameter, tool: Tool) -> bool:
    if parameter.description.strip() or parameter.values:
        return False
    schema = _find_schema(parameter, tool)
    return schema is None or not any(key in schema for key in _SELF_EXPLAINING)


def _find_schema(parameter: Parameter, tool: Tool) -> JsonObject | None:
    """Return the schema of a parameter at the top, `None` for others."""
    properties = tool.input_schema.get("properties")
    schema = properties.get(parameter.path) if isinstance(properties, dict) else None
    return schema if isinstance(schema, dict) else None


def _is_untyped(parameter: Parameter, tool: Tool) -> bool:
    if parameter.type or parameter.values:
        return False
    schema = _find_schema(parameter, tool)
    return schema is not None and not any(key in schema for key in _TYPED)


def _is_repeated(parameter: Parameter, _: Tool) -> bool:
    if not parameter.description.strip() or parameter.values:
        return False
    return stems(parameter.description) - EMPTY_WORDS <= stems(parameter.path)
