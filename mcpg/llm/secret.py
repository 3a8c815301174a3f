"""Secrets: kept out of everything that is shown, quoted or written."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

from mcpg.errors import UsageError
from mcpg.text.unsafe import UNSAFE, visible_form

_MASK = "***"
_SHORTEST_TOLD = 4
"""So many leading characters of a key at the end of a text are taken for the key, cut off."""


class Secret:
    """A text that shows itself to nobody who does not ask for it by `reveal`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Keep *text*.

        Raises:
            UsageError: No header of HTTP can carry it.
        """
        self._text = text.strip()
        if not (self._text.isascii() and self._text.isprintable() and self._text):
            raise UsageError(
                "the API key is empty or has characters that no header can carry",
                remedy="set it to the key alone, without quotes or line ends",
            )

    def __repr__(self) -> str:
        return f"Secret({_MASK!r})"

    def reveal(self) -> str:
        """Give the text."""
        return self._text

    def hidden_in(self, text: str) -> str:
        """Give *text* with the secret masked, plain or as other formats write it, cut off too."""
        for form in self._forms():
            text = text.replace(form, _MASK)
            for length in range(min(len(form), len(text)), _SHORTEST_TOLD - 1, -1):
                if text.endswith(form[:length]):
                    text = text[:-length] + _MASK
                    break
        return text

    def _forms(self) -> tuple[str, ...]:
        plain = self._text
        coded = base64.b64encode(plain.encode()).decode()
        return plain, quote(plain, safe=""), json.dumps(plain)[1:-1], coded.rstrip("=")


def quotable(text: str, secret: Secret | None, longest: int) -> str:
    """Bring what a stranger wrote to one harmless line of at most *longest* characters.

    The secret is masked before anything is cut or escaped, so that no part of it is left.
    """
    if secret is not None:
        text = secret.hidden_in(text)
    line = " ".join(UNSAFE.sub(visible_form, " ".join(text.split())).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
