"""Inputs: values for which a client asks its user, and how mcpg gets them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mcpg.errors import SourceError
from mcpg.text.json_values import JsonValue

_INPUT_TEXTS = ("description", "default")


@dataclass(frozen=True, slots=True)
class ClientInput:
    """A value for which a client asks its user, written `${input:NAME}`.

    Attributes:
        is_password: Whether it is hidden while it is typed.
        default: The value if the user cannot be asked, "" for none.
    """

    name: str
    description: str = ""
    is_password: bool = True
    default: str = ""

    @property
    def variable(self) -> str:
        """The environment variable that has its value."""
        return f"MCPG_INPUT_{re.sub(r'[^A-Za-z0-9]', '_', self.name).upper()}"


def find_inputs(value: JsonValue) -> dict[str, ClientInput]:
    """Return the inputs that a configuration declares, by their names."""
    members = value if isinstance(value, dict) else {}
    inner = members.get("mcp")
    listed = [one.get("inputs") for one in (members, inner) if isinstance(one, dict)]
    given = [one for part in listed if isinstance(part, list) for one in part]
    found: dict[str, ClientInput] = {}
    for one in given:
        name = one.get("id") if isinstance(one, dict) else None
        if isinstance(one, dict) and isinstance(name, str):
            texts = (text if isinstance(text := one.get(key), str) else "" for key in _INPUT_TEXTS)
            description, default = texts
            found[name] = ClientInput(name, description, one.get("password") is True, default)
    return found


AskUser = Callable[[ClientInput], str]
"""Asks the user for the value of an input."""


@dataclass(frozen=True, slots=True)
class InputValues:
    """The values of the inputs that one configuration declares.

    Each is in an environment variable, or else the user is asked, or else its default is used.
    """

    declared: Mapping[str, ClientInput]
    environ: Mapping[str, str]
    ask: AskUser | None = None

    def find(self, name: str, place: str, used: dict[str, str]) -> str:
        """Return the value of the input *name*, and add it to *used*."""
        # A client also asks for undeclared inputs; no declaration permits showing them.
        one = self.declared.get(name) or ClientInput(name)
        found = self.environ.get(one.variable)
        if not found:
            found = self.ask(one) if self.ask is not None else one.default
        if not found:
            message = f"the input `{name}` has no value"
            raise SourceError(message, place=place, remedy=f"set {one.variable}")
        # Short values are redacted by the names of their variables.
        used[f"{one.variable}_SECRET" if one.is_password else one.variable] = found
        return found
