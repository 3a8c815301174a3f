"""Errors of the libraries that read files, in mcpg's wording, and how to install one.

Their messages differ by version and implementation, name parts of a grammar, and give places in
another form. Each function takes the exception of one library, and returns the reason and the
remedy. The module imports none of the libraries.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from mcpg.text.spelling import suggest

DISTRIBUTION = "mcpg-graph"

_EXTRAS = re.compile(r"\[([\w,\s-]*)\]")


def install_command(extra: str) -> str:
    """Return the command that adds *extra* to this installation; extras that it has stay."""
    tool = _tool()
    if tool is not None:
        command, present = tool
        extras = ",".join(sorted({*present, extra}))
        return f"{command} '{DISTRIBUTION}[{extras}]'"
    try:
        is_checkout = json.loads(_read_note("direct_url.json"))["dir_info"]["editable"]
    except (ValueError, KeyError, TypeError):
        is_checkout = False
    if is_checkout:
        return f"{_pip()} install -e '.[{extra}]'"
    return f"{_pip()} install '{DISTRIBUTION}[{extra}]'"


def package_command(package: str) -> str:
    """Return the command that installs another *package* beside mcpg."""
    tool = _tool()
    if tool is None:
        return f"{_pip()} install {package}"
    command, present = tool
    if command.startswith("pipx"):
        return f"pipx inject {DISTRIBUTION} {package}"
    extras = f"[{','.join(sorted(present))}]" if present else ""
    return f"{command} '{DISTRIBUTION}{extras}' --with {package}"


def _tool() -> tuple[str, Iterable[str]] | None:
    """Return the installer of mcpg as a tool, and the extras that it installed."""
    prefix = Path(sys.prefix)
    for name, command in (
        ("pipx_metadata.json", "pipx install --force"),
        ("uv-receipt.toml", "uv tool install"),
    ):
        with suppress(OSError, ValueError):
            return command, _parse_extras((prefix / name).read_text("utf-8"), name)
    return None


def _parse_extras(text: str, name: str) -> set[str]:
    try:
        if name.endswith(".json"):
            stated = str(json.loads(text)["main_package"]["package_or_url"])
            found = _EXTRAS.search(stated)
            return {one.strip() for one in found[1].split(",")} - {""} if found else set()
        requirements = tomllib.loads(text)["tool"]["requirements"]
        ours = (one for one in requirements if one.get("name") == DISTRIBUTION)
        return {str(extra) for one in ours for extra in one.get("extras", ())}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()


def _read_note(file: str) -> str:
    """Return the content of a *file* that the installer wrote beside the package."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - slow

    try:
        return distribution(DISTRIBUTION).read_text(file) or ""
    except (PackageNotFoundError, OSError, ValueError):
        return ""


def _pip() -> str:
    return "uv pip" if _read_note("INSTALLER").strip() == "uv" else "pip"


_SHOWN = 30

_JSON = (
    ("Expecting property name", "a key in double quotes is missing", "add it, or remove the comma"),
    ("Illegal trailing comma", "nothing follows the comma", "remove it"),
    ("Expecting value", "a value is missing", "add it, or remove the comma before it"),
    ("Expecting ',' delimiter", "a comma or a closing bracket is missing", "add it before this"),
    ("Expecting ':' delimiter", "a colon is missing behind a key", "add it before this"),
    ("Unterminated string", "a string is not closed", 'add a " at its end'),
    ("Invalid control character", "a string has a line break or control character", r"write \n"),
    (r"Invalid \uXXXX escape", r"four hexadecimal digits are missing behind \u", "add them"),
    (r"Invalid \escape", "a string has an unknown escape", r"write \\ for a backslash"),
    ("Extra data", "something follows the end", "keep one value"),
)


def json_reason(fault: JSONDecodeError) -> tuple[str, str]:
    """Return the fault of a JSON text, and the remedy."""
    found = " ".join(fault.doc[fault.pos : fault.pos + _SHOWN].split())
    if not found:
        return "the text ends too early", "look for a missing bracket or quote"
    for begin, problem, remedy in _JSON:
        if fault.msg.startswith(begin):
            is_missing = "missing" in problem and not fault.msg.startswith("Invalid")
            return f"{problem}{f', found {found!r}' if is_missing else ''}", remedy
    return f"found {found!r}", "correct it there"


_TOML = (
    (r"Expected '=' after a key", "a key has no = behind it", "write key = value"),
    (r"Invalid statement|Invalid initial character", "a key is missing", "write key = value"),
    (r"Invalid value", "the value is invalid", 'write a number, true, false, or "text" in quotes'),
    (
        r"Cannot (?:overwrite|declare|mutate|redefine)|Duplicate inline",
        "the key is set twice",
        "keep one of them",
    ),
    (
        r"Unterminated string|Illegal character '\\n'|Expected \"'",
        "a string is not closed",
        "add the quote at its end",
    ),
    (r"Unclosed array", "a list is not closed", "add ] at its end"),
    (r"Unclosed inline table", "an inline table is not closed", "add } at its end"),
    (r"Expected '\]", "a heading is not closed", "add ] at its end"),
    (r"Expected newline", "something follows the value", "put each key on a line of its own"),
    (
        r"Unescaped|Invalid hex|Escaped character",
        "a string has an unknown escape",
        "write \\\\ for a backslash, or put the text in single quotes",
    ),
    (r"Invalid date", "the date is invalid", "write it as 2026-01-31, or in quotes"),
    (
        r"Illegal character|Found invalid character",
        "a control character is not allowed",
        "remove it",
    ),
    (r"Exceeds the limit", "a number is too long", "shorten it"),
)
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def toml_reason(fault: Exception, text: str) -> tuple[str, str, str]:
    """Return the fault of a TOML *text*, the remedy, and the place: `line[:column]`."""
    message = str(fault)
    at = _TOML_PLACE.search(message)
    place = f"{at[1]}:{at[2]}" if at and at[1] else str(max(1, len(text.rstrip().splitlines())))
    if isinstance(fault, RecursionError):
        return "it is nested too deeply", "flatten it", place
    return *_first(_TOML, message, ("a statement is invalid", "write key = value")), place


_YAML = (
    (r"node content", "a list or mapping is not closed", "add ] or } at its end"),
    (r"',' or '?\]", "a list is not closed", "add ] at its end"),
    (r"',' or '?\}", "a mapping is not closed", "add } at its end"),
    (
        r"mapping values are not allowed",
        "a second colon on a line",
        "put the text that has a colon in quotes",
    ),
    (
        r"cannot start any token",
        "no text may begin with this character",
        "indent by spaces, or put the text in quotes",
    ),
    (r"unexpected end of stream", "a quoted text is not closed", "add the quote at its end"),
    (
        r"invalid Unicode character escape",
        "an escape is not a character, or half of one",
        "write the character itself",
    ),
    (
        r"escape|hexadecimal|hexdecimal",
        "a text in double quotes has an unknown escape",
        "use single quotes, or write \\\\ for a backslash",
    ),
    (r"expected ':'", "a key has no colon behind it", "write key: value"),
    (r"directive", "a line begins with %", "put the text in quotes"),
    (
        r"block scalar|indentation indicator|comment or a line break|chomping",
        "text follows | or > on its line",
        "begin the text on the next line",
    ),
    (
        r"expected|indent",
        "the indentation does not fit the lines above",
        "align it with its neighbours",
    ),
    (r"character|UTF|byte", "a character is not allowed", "remove it, or write it as an escape"),
)


def yaml_reason(problem: str) -> tuple[str, str]:
    """Return the fault of a YAML text, by the message of PyYAML or libyaml, and the remedy."""
    return _first(_YAML, problem, ("its structure is broken", "correct it there"))


def _first(
    known: Iterable[tuple[str, str, str]], message: str, otherwise: tuple[str, str]
) -> tuple[str, str]:
    found = ((problem, remedy) for pattern, problem, remedy in known if re.search(pattern, message))
    return next(found, otherwise)


_TURTLE = (
    (r"A dot is expected", "a dot is missing at the end of a statement", "add it"),
    (r"[Uu]nexpected end", "the text ends too early", "look for a missing dot, quote or bracket"),
    (r"IRI", "an address in < > is invalid", "correct it there"),
    (r"escape", "a string has an unknown escape", r"write \\ for a backslash"),
)
_UNDECLARED = re.compile(r"[Pp]refix (\S*?):? has not been declared")


def turtle_reason(fault: SyntaxError) -> tuple[str, str]:
    """Return the fault of a Turtle document, and the remedy."""
    message = str(fault.args[0] if fault.args else fault).partition(": ")[2]
    undeclared = _UNDECLARED.search(message)
    if undeclared is not None:
        prefix = undeclared[1]
        return f"the prefix {prefix!r} is not declared", f"declare it: @prefix {prefix}: <...> ."
    return _first(_TURTLE, message, ("a statement is invalid", "correct it there"))


_RDF = (
    _TURTLE[0],
    _TURTLE[1],
    (r"[Nn]o scheme|[Ii]nvalid IRI", "an IRI is relative or invalid", ""),
)
_RDF_SHOWN = 120


def rdf_reason(fault: SyntaxError) -> tuple[str, int | None]:
    """Return the fault of a text in a format of RDF, and its line if known."""
    text = str(fault.args[0] if fault.args else fault)
    message = text.partition(": ")[2] if text.startswith("Parser error at") else text
    undeclared = _UNDECLARED.search(message)
    if undeclared is not None:
        reason = f"the prefix {undeclared[1]!r} is not declared"
    else:
        short = " ".join(message.split())[:_RDF_SHOWN]
        reason = _first(_RDF, message, (f"its syntax is broken: {short}", ""))[0]
    return reason, fault.lineno


_QUERY_PLACE = re.compile(r"(?:error at |line:)(\d+)(?::|, col:)(\d+)")
# A broken rule of SPARQL, which is a sentence among the accepted tokens.
_QUERY_RULE = re.compile(r"\b[A-Z][a-z]* [A-Za-z]+ [A-Za-z]+(?: [A-Za-z]+)*")
_QUERY_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_PROLOGUE = re.compile(r"(?i)\s*(?:#[^\n]*\n\s*|(?:PREFIX\s+\S+|BASE)\s*<[^>]*>\s*)*")
_FIRST_WORD = re.compile(r"[A-Za-z]+")


def sparql_reason(message: str, query: str) -> tuple[str, str]:
    """Return the fault of a SPARQL *query*, and the remedy.

    The *message* is the parser's, which lists everything that its grammar accepts.
    """
    prologue = _PROLOGUE.match(query)
    word = _FIRST_WORD.match(query, prologue.end() if prologue else 0)
    if word is not None and word[0].upper() not in _QUERY_FORMS:
        near = suggest(word[0], _QUERY_FORMS)
        remedy = f"did you mean {near[0]}?" if near else f"begin with {', '.join(_QUERY_FORMS)}"
        return f"a query does not begin with {word[0][:_SHOWN]!r}", remedy
    place = _QUERY_PLACE.search(message)
    if place is None:
        return "its syntax is broken", "correct it"
    rule = _QUERY_RULE.search(message)
    if rule is not None:
        return f"{rule[0][0].lower()}{rule[0][1:]}", "correct it"
    row, column = int(place[1]), int(place[2])
    line = (query.splitlines() or [""])[min(row, len(query.splitlines()) or 1) - 1]
    found = " ".join(line[column - 1 :].split())[:_SHOWN]
    at = f"at {row}:{column}"
    if not found and row >= len(query.rstrip().splitlines()):
        return f"it ends too early, {at}", "look for a missing bracket or quote"
    return f"{found!r} is not expected {at}", "correct it there"


_EXPECTED = {
    "int": "a whole number",
    **dict.fromkeys(("float", "decimal"), "a number"),
    "finite_number": "a finite number",
    "bool": "true or false",
    **dict.fromkeys(("string", "bytes"), "a string"),
    **dict.fromkeys(("list", "tuple", "set", "frozen_set"), "a list"),
    **dict.fromkeys(("dict", "model", "dataclass", "mapping"), "a table"),
    "none": "nothing",
    "date": "a date such as 2026-01-31",
    "datetime": "a date and time such as 2026-01-31T12:00:00Z",
    "time": "a time such as 12:00:00",
    "time_delta": "a duration such as PT1H30M",
    "uuid": "a UUID",
    "url": "a URL",
    **dict.fromkeys(("missing", "missing_argument", "missing_keyword_only_argument"), "a value"),
    "missing_positional_only_argument": "a value",
}
_BOUNDS = {
    "greater_than": "a number greater than {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number less than {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "multiple_of": "a multiple of {multiple_of:g}",
    "string_too_short": "a string of at least {min_length} characters",
    "string_too_long": "a string of at most {max_length} characters",
    "too_short": "at least {min_length} items",
    "too_long": "at most {max_length} items",
    "string_pattern_mismatch": "a string that matches {pattern}",
}
_QUOTED = re.compile(r"'([^']*)'")
_KIND = re.compile(r"_(?:type|parsing|from_\w+|parsing_size|unicode|sub_type|exact)$")


def pydantic_expected(fault: Mapping[str, Any]) -> str:
    """Return what pydantic expects instead of a value, such as "a whole number"; "" if not known.

    *fault* is an item of `ValidationError.errors()`.
    """
    kind, context = str(fault["type"]), fault.get("ctx") or {}
    if kind in ("literal_error", "enum"):
        choices = pydantic_choices(fault)
        return f"one of {', '.join(choices)}" if choices else ""
    if kind == "string_too_short" and context.get("min_length") == 1:
        return "a string that is not empty"
    if kind in _BOUNDS:
        try:
            return _BOUNDS[kind].format(**context)
        except (KeyError, ValueError, TypeError):  # a bound of another type, such as a date
            return ""
    return _EXPECTED.get(_KIND.sub("", kind), "")


def pydantic_choices(fault: Mapping[str, Any]) -> list[str]:
    """Return the texts that pydantic accepts instead of a value; none if unknown."""
    return _QUOTED.findall(str((fault.get("ctx") or {}).get("expected", "")))


_CONNECTION = (
    (r"name or service not known|getaddrinfo|nodename|name resolution", "unknown host name"),
    (r"connection refused|all connection attempts failed", "connection refused"),
    (r"certificate", "the certificate is not trusted"),
    (r"ssl|tls", "the TLS handshake failed"),
    (r"unreachable|no route", "the network is unreachable"),
    (r"disconnected|closed|reset|broken pipe|peer", "the connection was closed"),
    (r"timed out|timeout", "timed out"),
)


def connection_reason(fault: Exception) -> str:
    """Return why a host could not be reached, or else the message of the library."""
    message = str(fault)
    found = (ours for pattern, ours in _CONNECTION if re.search(pattern, message, re.IGNORECASE))
    return next(found, message or type(fault).__name__)
