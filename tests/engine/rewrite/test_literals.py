from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.engine.rewrite.answers import MOST, Literal, literals_of, lost, restored, without


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("написати a.b+c@ex-ample.co.uk, зараз", ["a.b+c@ex-ample.co.uk"]),
        ("ouvrir acme/site-2 et fermer", ["acme/site-2"]),
        ("this and/or that, he/she", []),
        ("siehe CVE-2024-12345.", ["CVE-2024-12345"]),
        (
            "1Z999AA10123456784, order #4711, SKU A-1234, 12 of 99",
            ["1Z999AA10123456784", "#4711", "A-1234"],
        ),
        ("paket 00340434161094042557", ["00340434161094042557"]),
        ("v1.2.3-rc.1 am 2024-05-06", ["v1.2.3-rc.1", "2024-05-06"]),
        ("~/x/y.txt /etc/hosts C:\\Temp\\a.txt ./run", None),
        ("voir (https://ex.com/a?b=c#d).", ["https://ex.com/a?b=c#d"]),
        ("cherche “petit déjeuner” et 'lune de miel'", ["petit déjeuner", "lune de miel"]),
        ("suche «eins» 「二」 `drei` ‘vier’", ["eins", "二", "drei", "vier"]),
        ("l'hôtel d'hier et c'est l'autre", []),
        ("请打开README.md文件", ["README.md"]),
        ("get_user_name et orderId", ["get_user_name", "orderId"]),
        ('"  "', []),
        ('"wo ist mein Paket"', []),
        (f'schreibe "{"lang " * 30}"', []),
        ("A-1 A-1 A-1", ["A-1"]),
        ("x@", []),
    ],
)
def test_what_means_itself_is_found(text: str, expected: list[str] | None) -> None:
    """Addresses, names, numbers and quoted names are literals; plain words are none."""
    found = [literal.text for literal in literals_of(text)]
    assert found == (text.split() if expected is None else expected)


@pytest.mark.parametrize("marks", ['""', "''", "``", "“”", "«»"])
def test_quotation_marks_around_everything_hide_no_literal(marks: str) -> None:
    """What means itself does so in a query that is quoted as a whole, too."""
    query = "öffne /etc/passwd und ORDER-123"
    assert literals_of(f" {marks[0]}{query}{marks[1]} ") == literals_of(query)


def test_literals_have_kinds_and_are_bounded() -> None:
    """What takes characters first names them, and no query has more than so many."""
    kinds = [one.kind for one in literals_of("a@b.de c/d e.py f1 g_h https://i.de/j.py 1.2 k.l/m")]
    assert kinds == [
        *("e-mail", "repository", "file", "code", "identifier", "url", "number", "repository"),
    ]
    assert len(literals_of(" ".join(f"a{n}b" for n in range(100)))) == MOST


@pytest.mark.parametrize(
    ("rewrite", "is_lost"),
    [
        ("track parcel a-1234", False),
        ("track A-1234, please", False),
        ("包裹A-1234的状态", False),
        ("track parcel", True),
        ("track A-12345", True),
        ("track XA-1234", True),
        ("track XA-1234 and A-1234", False),
    ],
)
def test_a_literal_is_held_as_a_whole(rewrite: str, is_lost: bool) -> None:
    """Case does not matter, but a longer number is another one."""
    literal = Literal("code", "A-1234")
    assert lost([literal], rewrite) == ((literal,) if is_lost else ())
    assert lost([literal], restored(rewrite, lost([literal], rewrite))) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rename drive 'a' to 'data'", "rename drive ' ' to ' '"),
        ("buchstabe «é» im café", "buchstabe « » im café"),
        ("поиск «и» или «к»", "поиск « » или « »"),
        ("請打開「木」的文件 木", "請打開「 」的文件  "),
        ("请打开README.md文件", "请打开 文件"),
    ],
)
def test_a_literal_is_taken_out_as_a_whole(text: str, expected: str) -> None:
    """A quoted letter is no part of the words that hold it, in any script."""
    assert without(text, literals_of(text)) == expected


@given(st.text(max_size=200))
def test_what_is_restored_is_there(text: str) -> None:
    """Every literal of any text can be put back into any other one."""
    literals = literals_of(text)
    assert all(literal.text for literal in literals)
    assert not any(literal.text in without(text, literals).split() for literal in literals)
    assert lost(literals, restored("other words", literals)) == ()


@pytest.mark.parametrize(
    "part", ["a", "a.", "a/", "-", "1-", '"', "'a ", "a_", "@a", "a@a.", "aA", "://", "~/."]
)
def test_hostile_texts_take_linear_time(part: str) -> None:
    """A text eight times as long takes eight times as long to read, not 64 times."""

    def seconds(length: int) -> float:
        start = time.thread_time()
        literals_of(part * (length // len(part)))
        return time.thread_time() - start

    assert seconds(16_384) < 24 * seconds(2_048)
