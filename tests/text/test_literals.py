"""Literals: the parts of a text that are arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.text.literals import MOST, NAME, QUOTED, WORDS_OF_KINDS, blank_literals, find_literals

FORMS = [
    ("https://example.com/a?b=c", "url"),
    ("www.example.com", "url"),
    ("google.com", "domain"),
    ("mail.example.co.uk", "domain"),
    ("jane.doe@example.com", "e-mail address"),
    ("192.168.1.1", "IP address"),
    ("10.0.0.0/8", "IP address"),
    ("2001:db8::1", "IP address"),
    ("123e4567-e89b-12d3-a456-426614174000", "UUID"),
    ("a1b2c3d", "hash"),
    ("/etc/hosts", "path"),
    ("~/notes", "path"),
    ("./src", "path"),
    ("src/main.py", "path"),
    ("C:\\Users\\jane", "path"),
    ("notes.txt", "file name"),
    (".gitignore", "file name"),
    ("*.py", "file pattern"),
    ("src/**/*.ts", "file pattern"),
    ("2026-11-22", "date"),
    ("22/11/2026", "date"),
    ("22.11.2026", "date"),
    ("March 15, 2023", "date"),
    ("15 March", "date"),
    ("March 10th", "date"),
    ("Sep 2023", "date"),
    ("10:30", "time"),
    ("3pm", "time"),
    ("9 a.m.", "time"),
    ("2026-11-22T10:00:00Z", "date and time"),
    ("$59.99", "amount"),
    ("5€", "amount"),
    ("20%", "percentage"),
    ("v1.2", "version"),
    ("1.2.3-beta", "version"),
    ("€ 12,50", "amount"),
    ("1 200 €", "amount"),
    ("+49 170 1234567", "phone number"),
    ("(030) 901820", "phone number"),
    ("555-123-4567", "phone number"),
    ("@octocat", "handle"),
    ("@jane@example.social", "handle"),
    ("#general", "channel"),
    ("1z999", "code"),
    ("ORD-2024-001", "code"),
    ("id=5", "code"),
    ("INV/2024/0042", "code"),
    ("978-0-306-40615-7", "code"),
    ("4111 1111 1111 1111", "code"),
    ("DE89 3704 0044 0532 0130 00", "code"),
    ("GB29 NWBK 6016 1331 9268 19", "code"),
    ("1Z 999 AA1 01 2345 6784", "code"),
    ("RR 123456785 DE", "code"),
    ("10482", "number"),
    ("#123", "number"),
    ("1,234.56", "number"),
    ("10th", "number"),
    ("select * from users where id = 5", "SQL statement"),
    ("SELECT name FROM users", "SQL statement"),
    ('"hello world"', QUOTED),
    ("'John Doe'", QUOTED),
    ("`git rebase`", QUOTED),
    ("\u201chello there\u201d", QUOTED),
    ("'/etc/hosts'", "path"),
    ('"2026-11-22"', "date"),
]
WORDS = [
    "list the users' posts",
    "what's in Bob's folder",
    "it is on/off and/or TCP/IP at 5",
    "e.g. this, i.e. that, in the U.S.",
    "Done.Then go on",
    "call lawyer.get_experience or getOrder",
    "select a page from the book",
    "C++ and R&D",
    "add 12000 340 56000 and 101 102 103",
    "compare 2019 2020 2021 with 2022, 2023, 2024",
    "FROM 2024 TO 2025 AND 2026 OR 10000 EUR",
    "call 5 people 10 times, 24 or 7",
    "get_user orderId acme/shop a/b/c",
    "Apple Inc.'s share isn't up",
    '"a request that is one quotation"',
    "...",
    "",
]


@pytest.mark.parametrize(("text", "kind"), FORMS)
def test_literals_are_known_by_their_form(text: str, kind: str) -> None:
    """Each form is found in a sentence, as one literal of its kind, with its place."""
    for sentence in (f"please take {text}", f"take {text}, please", f"({text}) is it"):
        found = [one for one in find_literals(sentence) if one.kind == kind]

        assert len(found) == 1, sentence
        assert not any(map(str.isalnum, blank_literals(text, find_literals(f"{text} x"))))


@pytest.mark.parametrize("text", WORDS)
def test_words_are_no_literals(text: str) -> None:
    """Words, abbreviations, names with dots or slashes and apostrophes stay words."""
    assert [one.text for one in find_literals(text) if one.kind != "number"] == []


def test_names_of_programs_are_literals_where_they_are_asked_for() -> None:
    """Names with seams or slashes are words of a query, and literals for who must keep them."""
    text = "run get_user, orderId or client.fetchAll of acme/shop and/or us, iPhone a/b/c"
    found = [one.text for one in find_literals(text, with_names=True) if one.kind == NAME]

    names = ["get_user", "orderId", "client.fetchAll", "acme/shop", "iPhone", "a/b/c"]
    assert found == names
    assert find_literals(text) == ()


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("at 0.123456789 and 0.12", ["number", "number"]),
        ("on 05.06.2024 12 people", ["date", "number"]),
        ("room 030 05.06.2024", ["number", "date"]),
        ("in 2024 100 €", ["number", "amount"]),
        ("10:30 4111 1111 1111 1111", ["time", "code"]),
        ("call 1-800-555-0199, 10 times", ["phone number", "number"]),
        ("+49 170 1234567, 20 people", ["phone number", "number"]),
        ("(+44 (0)20 7946 0123)", ["phone number"]),
    ],
)
def test_numbers_beside_each_other_are_apart(text: str, kinds: list[str]) -> None:
    """A number with spaces holds no date, time or number that is not a group of it."""
    found = find_literals(text)

    assert [one.kind for one in found] == kinds
    assert [text[one.start : one.end] for one in found] == [one.text for one in found]


def test_a_number_in_a_compound_is_a_literal_and_its_word_is_none() -> None:
    """Of a word with a number, such as a measure, the word remains."""
    text = "the 24-hour top-10 list"

    assert blank_literals(text, find_literals(text)).split() == ["the", "-hour", "top-", "list"]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        (
            "run select * from users where email = 'jane@x.org'",
            "select * from users where email = 'jane@x.org'",
        ),
        ('run SELECT a FROM t WHERE e = "2026-01-02".', 'SELECT a FROM t WHERE e = "2026-01-02"'),
        ("run SELECT a FROM t WHERE b = 'x;y'; then mail", "SELECT a FROM t WHERE b = 'x;y';"),
        ("run `select * from t` and mail", "select * from t"),
        ("run 'SELECT a FROM t WHERE b = 'x'' and mail", "SELECT a FROM t WHERE b = 'x'"),
        ('"SELECT a FROM t"', "SELECT a FROM t"),
        ("run \"SELECT a FROM t WHERE b = 'x;y'\"", "SELECT a FROM t WHERE b = 'x;y'"),
        ('"SELECT a FROM t; and mail"', "SELECT a FROM t;"),
        ("\"run 'SELECT a FROM t' and mail\"", "SELECT a FROM t"),
        ("führe `SELECT a FROM t` aus", "SELECT a FROM t"),
    ],
)
def test_a_statement_is_whole_and_no_more(text: str, statement: str) -> None:
    """A statement of SQL keeps what it quotes, and ends with the quotation that it stands in."""
    found = [one for one in find_literals(text) if one.kind == "SQL statement"]

    assert [one.text for one in found] == [statement]
    assert [text[one.start : one.end] for one in found] == [statement]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RR 123456785 DE 987654321 FR", ["RR 123456785 DE", "987654321"]),
        ("at 9 AM 123456785 DE", ["9 AM", "123456785"]),
    ],
)
def test_a_word_is_part_of_one_literal(text: str, expected: list[str]) -> None:
    """What ends one literal begins no other."""
    assert [one.text for one in find_literals(text)] == expected


def test_scripts_without_spaces_hold_literals() -> None:
    """A number or a quotation is found though no space sets it apart."""
    found = [(one.kind, one.text) for one in find_literals("查询订单10482的状态，写上“你好”")]

    assert found == [("number", "10482"), (QUOTED, "你好")]


def test_a_quotation_holds_further_literals() -> None:
    """Numbers and dates in a quoted text are found as well."""
    found = [(one.kind, one.text) for one in find_literals('add "lunch on 2026-11-22" please')]

    assert found == [(QUOTED, "lunch on 2026-11-22"), ("date", "2026-11-22")]


@given(st.text(st.sampled_from("ab1 /.-:@#*'\"\u201c\u201d%$=T你 ")) | st.text())
def test_any_text_has_literals_in_order(text: str) -> None:
    """Literals are in order of place, lie in the text, and are of a known kind."""
    found = find_literals(text)

    assert [one.start for one in found] == sorted(one.start for one in found)
    assert len(blank_literals(text, found)) == len(text)
    for one in found:
        assert 0 <= one.start < one.end <= len(text)
        assert one.kind in {*WORDS_OF_KINDS, QUOTED, "number"}


@pytest.mark.parametrize(
    "part", ["'a ", '"a" ', "1 ", "11 ", "€ 1 ", "A1 ", "a/b ", "select ", "march 5 ", "a."]
)
def test_literals_are_bounded(part: str) -> None:
    """However many there are, the first are found, in time that grows with the text alone."""
    assert len(find_literals(part * 20_000)) <= MOST


TOKENS = st.text(alphabet="a1-.:/@#$%'\"*{\\\u00e9\u6771 M", max_size=6) | st.sampled_from(
    ["May", "may,", "5", "2024", "9", "a.m.", "it's", "'a b'", "(x)", "!", "10%", "fe:ab::c"]
)


@given(st.lists(TOKENS, max_size=8).map(" ".join))
def test_literals_are_where_they_say(text: str) -> None:
    """Literals are in order, and each stands between its offsets, whatever stands twice."""
    found = find_literals(text)

    assert list(found) == sorted(found, key=lambda one: (one.start, -one.end))
    for one in found:
        part = text[one.start : one.end]
        assert all(token in part for token in one.text.split())
