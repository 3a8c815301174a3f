"""The words of a query that matter before it runs: `SERVICE`, and whom it names.

Strings, comments and IRIs are told apart as the grammar of SPARQL 1.1 has them (terminals [139] to
[160]), so that a word within them is not taken for a keyword.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Each quantifier is possessive or bounded, so that no text takes longer than its length allows; a
# string that does not end goes as far as it can.
_TOKEN = re.compile(
    r"""
    (?P<long>'''(?:'{0,2}(?:[^'\\]|\\.))*+(?:''')?|\"\"\"(?:"{0,2}(?:[^"\\]|\\.))*+(?:\"\"\")?)
    | (?P<string>'(?:[^'\\\n\r]|\\.)*+'?|"(?:[^"\\\n\r]|\\.)*+"?)
    | (?P<iri><[^<>"{}|^`\\\x00-\x20]*+>)
    | (?P<comment>\#[^\n\r]*+)
    | (?P<space>\s++)
    | (?P<name>[\w.-]{0,100}:(?:[\w:.%-]|\\.)*+|[?$]\w++)
    | (?P<word>\w++)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_LAST_CHARACTER = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Service:
    """Where a query asks another endpoint.

    Attributes:
        term: What stands for the endpoint: an IRI in angle brackets, a prefixed name, a variable.
        start: Where the term begins in the text.
        end: Where it ends.
    """

    term: str
    start: int
    end: int

    @property
    def endpoint(self) -> str | None:
        """The endpoint's address, `None` when it is not written in full."""
        return self.term[1:-1] if self.term.startswith("<") else None


def unescaped(query: str) -> str:
    r"""Give *query* with every `\uXXXX` and `\UXXXXXXXX` replaced, as SPARQL does first of all."""
    return _ESCAPE.sub(_character, query)


def services_in(query: str) -> list[Service]:
    """Give every `SERVICE` of *query*, which has no escapes left, in the order of the text."""
    tokens = [token for token in _tokens(query) if token[0] not in {"comment", "space"}]
    found: list[Service] = []
    for place, (kind, text, _) in enumerate(tokens):
        if kind == "word" and text.upper() == "SERVICE":
            after = tokens[place + 1 : place + 3]
            if after and after[0][0] == "word" and after[0][1].upper() == "SILENT":
                after = after[1:]
            if after:
                _, term, start = after[0]
                found.append(Service(term, start, start + len(term)))
    return found


def _tokens(query: str) -> Iterator[tuple[str, str, int]]:
    """Give kind, text and place of every token."""
    for found in _TOKEN.finditer(query):
        yield str(found.lastgroup), found.group(), found.start()


def _character(found: re.Match[str]) -> str:
    code = int(found[1] or found[2], 16)
    return chr(code) if code <= _LAST_CHARACTER else found[0]
