"""Variables of the environment in texts of a configuration, filled in when it is used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcpg.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_OTHER = re.compile(r"\$\{([^}]{0,60})\}")


def check_variables(text: str, place: str) -> None:
    """Check that `${...}` in *text* can be filled in from some environment.

    Raises:
        SourceError: Something else stands in it.
    """
    other = next((one for one in _OTHER.finditer(text) if not _VARIABLE.match(one[0])), None)
    if other is not None:
        raise SourceError(
            f"`{other[0]}` names no variable of the environment",
            place=place,
            remedy="write `${NAME}` or `${env:NAME}` and set it",
        )


def without_variables(text: str, stand_in: str = "") -> str:
    """Give *text* with *stand_in* in the place of every variable."""
    return _VARIABLE.sub(lambda _: stand_in, text)


def expand(text: str, environ: Mapping[str, str], place: str, used: list[str] | None = None) -> str:
    """Fill in `${NAME}`, `${env:NAME}` and `${NAME:-default}` from *environ*.

    The default stands for a variable that is not set or empty, as in a shell. What is filled in is
    not looked at again.

    Args:
        text: The text of the configuration.
        environ: The environment.
        place: Where the text stands, for messages.
        used: Gets the values of variables that were filled in.

    Raises:
        SourceError: A variable without default is not set, or something else stands in `${...}`,
            such as an input that only a client asks its user for.
    """
    check_variables(text, place)

    def value(found: re.Match[str]) -> str:
        name, default = found.groups()
        said = environ.get(name)
        if default is not None and not said:
            return default
        if said is None:
            raise SourceError(
                f"the variable `{name}` of the environment is not set",
                place=place,
                remedy=f"set it, or write `${{{name}:-default}}`",
            )
        if used is not None:
            used.append(said)
        return said

    return _VARIABLE.sub(value, text)
