"""References in an OpenAPI document, followed by the library `referencing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpg.diagnostics import Code, Diagnostic, warning

if TYPE_CHECKING:
    from mcpg.jsontypes import JsonObject, JsonValue

_LONGEST_CHAIN = 20
_SHOWN = 120


class References:
    """Follows references within one document, and notes once each what leads nowhere.

    Nothing outside the document is ever read: neither files nor addresses.
    """

    def __init__(self, document: JsonObject, place: str) -> None:
        from referencing import Registry, Specification  # noqa: PLC0415 - most sources need none

        resource = Specification.OPAQUE.create_resource(document)
        registry: Registry[Any] = Registry().with_resource("", resource)
        self._resolver = registry.resolver()
        self._known: dict[str, JsonValue] = {}
        self._place = place
        self.diagnostics: list[Diagnostic] = []

    def note(self, message: str, where: str) -> None:
        """Say that a part of the schema of the operation *where* is left out."""
        place = f"{self._place}: {where}" if where else self._place
        self.diagnostics.append(warning(Code.SCHEMA_INCOMPLETE, message, place))

    def target(self, reference: str, where: str) -> JsonValue:
        """Give what *reference* leads to, `None` where it leads nowhere."""
        if reference not in self._known:
            self._known[reference] = self._look_up(reference, where)
        return self._known[reference]

    def follow(self, value: JsonValue, where: str) -> JsonObject | None:
        """Give *value* or, where it is a reference, what this finally leads to, if an object."""
        for _ in range(_LONGEST_CHAIN):
            if not isinstance(value, dict):
                return None
            reference = value.get("$ref")
            if not isinstance(reference, str):
                return value
            value = self.target(reference, where)
        self.note("a chain of references has no end; that part is left out", where)
        return None

    def _look_up(self, reference: str, where: str) -> JsonValue:
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

        shown = repr(reference[:_SHOWN])
        if not reference.startswith("#"):
            message = (
                f"{shown} leads out of the document, and is not followed: that part is left out"
            )
            self.note(message, where)
            return None
        try:
            found: JsonValue = self._resolver.lookup(reference).contents
        except (Unresolvable, LookupError, TypeError, ValueError, AttributeError):
            found = None
        if not isinstance(found, dict | bool):
            self.note(f"{shown} leads nowhere: that part is left out", where)
            return None
        return found
