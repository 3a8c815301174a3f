"""The JSON Schema of `mcpg.toml`, made of the models that check it."""

from __future__ import annotations

import re
from typing import Any

from pydantic.json_schema import models_json_schema

from mcpg.cli.environment import SOURCES
from mcpg.cli.setting_models import UNSET, Configuration, SettingsTable
from mcpg.cli.source_settings import KINDS
from mcpg.json_types import JsonObject

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def settings_schema() -> JsonObject:
    """Return the schema of a configuration file, without its `$schema`."""
    models: tuple[type[SettingsTable], ...] = (Configuration, *KINDS.values())
    references, made = models_json_schema([(model, "validation") for model in models])
    definitions = {name: _describe_schema(one) for name, one in made["$defs"].items()}
    root = definitions.pop(Configuration.__name__)
    sources = {
        "type": "array",
        "items": {"anyOf": [references[model, "validation"] for model in KINDS.values()]},
        "description": "The sources of `mcpg bundle`, `mcpg generate` and `mcpg serve`.",
    }
    return {
        "$id": "urn:mcpg:schema:settings:1",
        "title": "mcpg.toml",
        "description": "Settings of mcpg: a file mcpg.toml, or [tool.mcpg] in a pyproject.toml.",
        "type": "object",
        "properties": root["properties"] | {SOURCES: sources},
        "additionalProperties": False,
        "$defs": definitions,
    }


def _describe_schema(part: Any) -> Any:
    """Return a schema of pydantic with descriptions that stand by themselves."""
    if part == {"type": "null"}:
        return {"const": False}  # TOML has no null
    if not isinstance(part, dict):
        return part  # `false` allows no further keys
    kept = {key: one for key, one in part.items() if key not in _REWRITTEN}
    if "properties" in part:
        kept["properties"] = {
            name: _describe_schema(one) for name, one in part["properties"].items()
        }
    if "anyOf" in part:
        kept["anyOf"] = [_describe_schema(one) for one in part["anyOf"]]
    kept |= {
        key: _describe_schema(part[key]) for key in ("items", "additionalProperties") if key in part
    }
    text = _description(part)
    described = {"description": text} if text else {}
    has_default = UNSET not in part and isinstance(part.get("default"), str | int | float)
    return described | kept | ({"default": part["default"]} if has_default else {})


_REWRITTEN = ("title", "description", "default", UNSET)


def _description(part: JsonObject) -> str:
    said, absent = (_text(part.get(key)) for key in ("description", UNSET))
    text = ". ".join(filter(None, (said, f"Default: {absent}" if absent else "")))
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _text(found: object) -> str:
    """Return a text of the reference page without links and line breaks."""
    return " ".join(_LINK.sub(r"\1", str(found or "")).split()).removesuffix(".")
