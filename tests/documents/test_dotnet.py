"""Names as the .NET library was seen to read them."""

from __future__ import annotations

import pytest

from mcpg.documents.dotnet import is_uri, reads_yaml, resolves, slug

SLUGS = {
    "STOCK  DESK": "stock-desk",
    "stock_desk": "stockdesk",
    "stock - desk": "stock-desk",
    "a.md#b": "amdb",
    "C++": "c",
    "C#": "c",
    "R&D": "rd",
    "Größe & Maß": "groe-ma",
    "Café Ångström": "cafe-angstrom",
    "Ærø": "r",
    "Łódź": "odz",
    "İstanbul Kapısı": "istanbul-kaps",
    "\ufb01sh": "sh",
    "物流": "",
    "物流 2": "2",
    "مستودع": "",
    "🚚 van": "van",
    "tab\there": "tab-here",
    "-a-": "a",
    "___": "",
}
URIS = [
    *("domain:stock", "category:food safety", "depot::stock_peek", "note: call", "urn:x"),
    *("urn:larkspur:a b", "mailto:desk@larkspur.example", "data:text/plain,x", "a+b:c"),
    *("http://larkspur.example", "HTTP://LARKSPUR.example:80", "https://larkspur.example/a b"),
    *("https://user:secret@larkspur.example/", "https://lärkspur.example/", "https://[::1]/x"),
    *('https://larkspur.example/<x>"y"', "file:///etc/hosts", "did:web:larkspur.example"),
]
LABELS = [
    *("Stock desk", "Step 2: call", ":note", "12:30", "a:b", "http://[", "http://", "https:///x"),
    *("https:larkspur.example", "larkspur.example/x", "1st:kind", "a_b:c", "ü:c", "_:blank", "?q"),
    *("<https://larkspur.example/x>", "~/x", "", "http://a:99999/"),
]


@pytest.mark.parametrize("label", SLUGS)
def test_labels(label: str) -> None:
    """The node of a label is made of a-z, 0-9 and hyphens."""
    assert slug(label) == SLUGS[label]


@pytest.mark.parametrize("text", [*URIS, *LABELS])
def test_addresses(text: str) -> None:
    """What has a scheme is an address, unless it lacks the host that its scheme needs."""
    assert is_uri(text) == (text in URIS)


def test_addresses_of_one_system_alone_are_none() -> None:
    """A path is an address on Linux or on Windows, so nothing relies on it."""
    assert not any(map(is_uri, ("/etc/hosts", "//host/x", r"\\depot\share", "C:/temp/x")))


@pytest.mark.parametrize(
    ("name", "is_resolved"),
    [
        *((f"{prefix}:x", True) for prefix in ("ex", "EX", "urn")),
        ("https://ex.test/x", True),
        *((name, False) for name in ("mailto:x", "other:x", "x", ":x", "ex:", "http://[", "/x")),
    ],
)
def test_names(name: str, is_resolved: bool) -> None:
    """A name has a declared prefix, or is an IRI of a kind that .NET takes for one."""
    assert resolves(name, {"ex": "urn:ex:"}) == is_resolved


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("title: a\ntitle: b", True),
        ("title: &x a\nsummary: *x", True),
        ("title: !!str 12", True),
        ("base: &b {title: a}\n<<: *b", True),
        ("a: *x\nb: &x 1", False),
        ("a: &x [*x]", False),
        ("title: !own a", False),
        ("- a", False),
        ("title: 'a", False),
    ],
)
def test_yaml(text: str, is_read: bool) -> None:
    """Repeated keys, aliases and common tags are read; a list within itself ends the process."""
    assert reads_yaml(text) == is_read
