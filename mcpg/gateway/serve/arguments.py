"""Arguments of the meta-tools as clients give them: by our names or those of the .NET gateway.

What only programs written for the .NET gateway pass is accepted, but not listed: a listed argument
costs every conversation its tokens.
"""

from __future__ import annotations

from typing import Any

from jsonschema.exceptions import best_match
from jsonschema.validators import Draft202012Validator

from mcpg.gateway.calls.simple_schemas import accepts
from mcpg.gateway.serve import GRAPH_SEARCH, INVOKE, PLAN, ROUTE, SEARCH
from mcpg.gateway.serve.answers import make_error_result, line
from mcpg.gateway.serve.schemas import INPUTS
from mcpg.json_types import JsonObject, JsonValue

Arguments = dict[str, Any]

OTHER_NAMES: dict[str, dict[str, str]] = {
    SEARCH: {"maxResults": "limit"},
    ROUTE: {"maxCategories": "categories", "maxToolsPerCategory": "toolsPerCategory"},
    GRAPH_SEARCH: {"maxResults": "limit", "serviceEndpoints": "endpoints"},
}
"""Arguments of the .NET gateway by its names, with ours."""

_CONTEXT: JsonObject = {
    "context": {"type": ["string", "object"]},
    "contextSummary": {"type": "string"},
}
UNLISTED: dict[str, JsonObject] = {
    **dict.fromkeys((SEARCH, ROUTE, PLAN), _CONTEXT),
    INVOKE: {"query": {"type": "string"}, **_CONTEXT},
}
"""Arguments that are accepted beside those listed, or as further types of these."""

_ARGUMENT_MESSAGE = 300


def _accepted_schema(name: str) -> JsonObject:
    """Return the schema of the arguments of a meta-tool, those that are not listed included."""
    listed: Any = INPUTS[name]
    return {**listed, "properties": {**listed["properties"], **UNLISTED.get(name, {})}}


_VALIDATORS = {name: Draft202012Validator(_accepted_schema(name)) for name in INPUTS}


def by_our_names(name: str, given: Arguments) -> Arguments:
    """Return arguments of the meta-tool *name* by our names, without those that are null.

    Programs and models give null for an argument that they leave out. Where both names of one are
    given, ours counts.
    """
    stated = {key: one for key, one in given.items() if one is not None}
    others = OTHER_NAMES.get(name, {})
    named = {others[key]: one for key, one in stated.items() if key in others}
    return named | {key: one for key, one in stated.items() if key not in others}


def invalid_arguments(name: str, arguments: Arguments) -> JsonObject | None:
    """Return the error result for invalid *arguments*, `None` if they are valid."""
    validator = _VALIDATORS[name]
    error = None
    if not accepts(validator.schema, arguments):
        error = best_match(validator.iter_errors(arguments))
    if error is None:
        return None
    field = "/".join(("", *(line(str(step), _ARGUMENT_MESSAGE) for step in error.absolute_path)))
    message = line(error.message, _ARGUMENT_MESSAGE)
    text = f"invalid arguments of {name}{f' at {field}' if field else ''}: {message}"
    fault: JsonObject = {"code": "arguments_invalid", "message": message, "field": field}
    return make_error_result(text, {"toolId": name, "faults": [fault]})


def search_context(arguments: Arguments) -> JsonValue:
    """Return the context of a search: the summary, the object or text, or both."""
    given = [arguments[name] for name in ("contextSummary", "context") if name in arguments]
    return given[0] if len(given) == 1 else given or None
