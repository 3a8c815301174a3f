"""Namespaces and their prefixes, schemes of addresses, and the datatypes of XML Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

XSD = "http://www.w3.org/2001/XMLSchema#"

PREFIXES: Mapping[str, str] = {
    "kb": "urn:managedcode:markdown-ld-kb:vocab:",
    "mcpg": "urn:mcpg:vocab:",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "https://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": XSD,
}
"""The prefix of each namespace, as in every export and every query."""

# https://www.iana.org/assignments/uri-schemes, those that authors write.
SCHEMES = frozenset(
    (
        *("about", "acct", "arn", "bitcoin", "cid", "data", "did", "dns", "doi", "example", "feed"),
        *("file", "ftp", "ftps", "geo", "git", "github", "gitlab", "gopher", "hdl", "http"),
        *("https", "imap", "info", "ipfs", "ipp", "irc", "ircs", "isbn", "issn", "jar", "jdbc"),
        *("ldap", "ldaps", "lsid", "magnet", "mailto", "mcp", "mid", "mongodb", "mqtt", "news"),
        *("nfs", "ni", "oid", "orcid", "pkg", "postgres", "postgresql", "redis", "rsync", "rtsp"),
        *("s3", "sftp", "sip", "sips", "slack", "sms", "smb", "spdx", "ssh", "steam", "stun"),
        *("svn", "tag", "tel", "telnet", "tftp", "turn", "udp", "unix", "urn", "view-source"),
        *("vscode", "ws", "wss", "xmpp"),
    )
)
"""Schemes of addresses, which are no prefixes."""

_DATE = re.compile(r"-?([0-9]{4,})-([0-9]{2})-([0-9]{2})(?:Z|[+-][0-9]{2}:[0-9]{2})?\Z")
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
_DECIMAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_WHOLE = re.compile(r"[+-]?[0-9]+\Z")
_FORMS = {
    "anyURI": re.compile(r"[^\s<>\"{}|\\^`]*\Z"),
    "base64Binary": re.compile(r"[A-Za-z0-9+/\s]*={0,2}\s*\Z"),
    "boolean": re.compile(r"(?:true|false|1|0)\Z"),
    "decimal": re.compile(rf"{_DECIMAL}\Z"),
    "double": re.compile(
        r"(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN)\Z"
    ),
    "duration": re.compile(
        r"-?P(?=.)(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
        r"(?:T(?=.)(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?\Z"
    ),
    "gDay": re.compile(r"---[0-9]{2}\Z"),
    "gMonth": re.compile(r"--[0-9]{2}\Z"),
    "gMonthDay": re.compile(r"--[0-9]{2}-[0-9]{2}\Z"),
    "gYear": re.compile(r"-?[0-9]{4,}\Z"),
    "gYearMonth": re.compile(r"-?[0-9]{4,}-[0-9]{2}\Z"),
    "hexBinary": re.compile(r"(?:[0-9A-Fa-f]{2})*\Z"),
    "language": re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*\Z"),
    "time": re.compile(rf"{_TIME}\Z"),
}
_FORMS["float"] = _FORMS["double"]
_FORMS["dayTimeDuration"] = _FORMS["yearMonthDuration"] = _FORMS["duration"]
_INTEGERS: Mapping[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    **{
        name: (-(1 << bits - 1), (1 << bits - 1) - 1)
        for name, bits in (("long", 64), ("int", 32), ("short", 16), ("byte", 8))
    },
    **{
        name: (0, (1 << bits) - 1)
        for name, bits in (
            ("unsignedLong", 64),
            ("unsignedInt", 32),
            ("unsignedShort", 16),
            ("unsignedByte", 8),
        )
    },
}
_TEXTS = ("string", "normalizedString", "token", "Name", "NCName", "NMTOKEN", "QName")

DATATYPES = tuple(sorted({*_FORMS, *_INTEGERS, *_TEXTS, "date", "dateTime", "dateTimeStamp"}))
"""The local names of the datatypes of XML Schema."""

LANGUAGE = _FORMS["language"]
"""A language tag."""


def is_date(text: str) -> bool:
    """Return whether *text* is a day of the calendar, such as `2026-01-31`."""
    found = _DATE.match(text)
    if found is None:
        return False
    # The calendar of Python ends in 9999; that of XML Schema repeats after 400 years.
    year = int(found[1][-4:]) % 400 + 2000
    try:
        date(year, int(found[2]), int(found[3]))
    except ValueError:
        return False
    return True


def is_of_datatype(text: str, datatype: str) -> bool:
    """Return whether *text* is a value of a datatype of XML Schema; of any other, `True`.

    Source: "W3C XML Schema Definition Language (XSD) 1.1 Part 2: Datatypes", 2012.

    Args:
        text: The lexical form.
        datatype: IRI of the datatype.
    """
    name = datatype.removeprefix(XSD)
    text = text.strip()
    if name in _INTEGERS:
        least, most = _INTEGERS[name]
        if _WHOLE.match(text) is None or len(text) > _LONGEST_NUMBER:
            return _WHOLE.match(text) is not None and (least, most) == (None, None)
        number = int(text)
        return (least is None or number >= least) and (most is None or number <= most)
    if name == "date":
        return is_date(text)
    if name in {"dateTime", "dateTimeStamp"}:
        day, _, time = text.partition("T")
        return is_date(day) and _FORMS["time"].match(time) is not None
    form = _FORMS.get(name) if name != datatype else None
    return form is None or form.match(text) is not None


_LONGEST_NUMBER = 1000
