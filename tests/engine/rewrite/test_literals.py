from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.rewrite import append_literals, find_lost_literals, select_literals, without
from mcpg.text.literals import MOST, TextLiteral


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
        ("wer ruft get_user() oder x.getUser(id) auf", ["get_user", "x.getUser"]),
        (
            "get_user,list_users, **send_mail** et l'orderId",
            ["get_user", "list_users", "send_mail", "orderId"],
        ),
        ("setze --dry_run und $HOME_DIR", ["dry_run", "HOME_DIR"]),
        ("öffne main.ts:42 und a_b.py::test_x", ["main.ts", "a_b.py", "test_x"]),
        (f"翻译「{'长' * 81}」", []),
        ("翻译 ``` 你好 ```", []),
        ('"  "', []),
        ('"wo ist mein Paket"', []),
        (f'schreibe "{"lang " * 30}"', []),
        ("A-1 A-1 A-1", ["A-1"]),
        ("x@", []),
    ],
)
def test_what_means_itself_is_found(text: str, expected: list[str] | None) -> None:
    """Addresses, names, numbers and quoted names are literals; plain words are none."""
    found = [literal.text for literal in select_literals(text)]
    assert found == (text.split() if expected is None else expected)


SHAPES = {
    "paths": (
        *("lib/core/index.js", "docs/guide/intro.md", "x/y/z", "assets/img/logo@2x.png"),
        *("/var/log/nginx/access.log", "~/Downloads/report.pdf", "../common/util.ts"),
        *("C:\\Users\\mara\\notes.txt", "src/components", "packages/api/src", "infra/prod/main.tf"),
        *("\\\\nas01\\share\\plans.xlsx", "acme/billing-service", "torvalds/linux"),
    ),
    "addresses": (
        *("gitlab.com/team/app", "bitbucket.org/acme/api", "api.example.com/v2/orders"),
        *("https://shop.example.net/cart?id=7", "www.example.org/about", "s3://bucket/key.csv"),
        *("ftp://mirror.example.com/iso", "mara.lindt@example.org", "git@github.com:acme/shop.git"),
        *("ops+alerts@sub.example.co.uk", "10.20.30.40:8080", "fe80::1ff:fe23:4567:890a"),
    ),
    "ids": (
        *("RE/2023/00017", "PO-2024-118", "ABC_4411_X", "2023/AB/77", "978-0-306-40615-7"),
        *("123-45-6789", "4X5-99812", "FR76 3000 6000 0112 3456 7890 189", "RR 473124829 DE"),
        *("NL91 ABNA 0417 1643 00", "1Z 12E 345 02 1234 5678", "9400 1118 9922 3197 4283 77"),
        *("5500 0000 0000 0004", "CVE-2021-44228"),
    ),
    "phone numbers": (
        *("+43 660 1234567", "+1 212 555 0187", "+44 (0)20 7946 0123", "+33 1 42 68 53 00"),
        *("+49-30-901820", "+81 3-1234-5678", "(0221) 987654", "030 2345678", "0170/9876543"),
        *("415-555-0132", "(415) 555-0132", "415.555.0132", "+4915112345678"),
    ),
    "handles": (
        *("@octo_dev", "@jane.doe", "@mara-l", "@acme/core", "@mara@mastodon.example", "@x4"),
        *("#release-notes", "#dev", "@ACME", "@a.b-c_d", "@team_42", "#café"),
    ),
    "amounts": (
        *("€ 99", "99 €", "€ 1.299,00", "$ 5", "£ 12.50", "12,50 €", "¥ 3000", "₹ 1,20,000"),
        *("$1.5M", "19.90€", "£3", "US$ 40", "1 200 €", "€ 1 200,50"),
    ),
}


@pytest.mark.parametrize(("shape", "text"), [(one, text) for one in SHAPES for text in SHAPES[one]])
def test_what_a_rewrite_must_keep_is_one_literal(shape: str, text: str) -> None:
    """Paths, addresses, ids, phone numbers, handles and amounts are kept whole, with spaces."""
    for query in (f"bitte {text} öffnen", f"öffne {text}, bitte", f"suche ({text})."):
        assert [one.text for one in select_literals(query)] == [text], shape


@pytest.mark.parametrize(
    "text",
    [
        *("and/or this", "he/she/they", "offen 24/7", "rouge/vert", "oui/non", "yes/no/maybe"),
        *("1/2 Tasse", "am 3. Mai", "on March 15, 2023", "um 9 a.m.", "in 3 days", "20% off"),
        *("top 10 of 99", "the 24-hour list", "zwischen 10 und 20", "from 5 to 7", "2nd floor"),
        *("e.g. this, i.e. that", "C++ and R&D", "Mr. Smith's car", "rot/schwarz"),
    ],
)
def test_what_may_be_written_otherwise_is_no_literal(text: str) -> None:
    """Alternatives, dates in words, small numbers and abbreviations are translated."""
    assert select_literals(text) == ()


@pytest.mark.parametrize("marks", ['""', "''", "``", "“”", "«»"])
def test_quotation_marks_around_everything_hide_no_literal(marks: str) -> None:
    """What means itself does so in a query that is quoted as a whole, too."""
    query = "öffne /etc/passwd und ORDER-123"
    quoted, bare = select_literals(f" {marks[0]}{query}{marks[1]} "), select_literals(query)
    assert [one.text for one in quoted] == [one.text for one in bare]


def test_literals_have_kinds_and_are_bounded() -> None:
    """What takes characters first names them, and no query has more than so many."""
    kinds = [
        one.kind for one in select_literals("a@b.de c/d e.py f1 g_h https://i.de/j.py 1.2 k.l/m")
    ]
    assert kinds == [
        *("e-mail address", "name", "file name", "code", "name", "url", "number", "path"),
    ]
    assert len(select_literals(" ".join(f"a{n}b" for n in range(100)))) == MOST


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
    literal = TextLiteral("code", "A-1234", 0, 6)
    assert find_lost_literals([literal], rewrite) == ((literal,) if is_lost else ())
    assert (
        find_lost_literals(
            [literal], append_literals(rewrite, find_lost_literals([literal], rewrite))
        )
        == ()
    )


@pytest.mark.parametrize("blank", ["  ", "\t", "\n", "\u00a0"])
def test_a_literal_is_held_with_any_white_space(blank: str) -> None:
    """A rewrite has single blanks, where the query may have others."""
    assert find_lost_literals(select_literals(f"suche 'foo{blank}bar'"), "find 'foo bar'") == ()


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
    assert without(text, select_literals(text)) == expected


@given(st.text(max_size=200))
def test_what_is_restored_is_there(text: str) -> None:
    """Every literal of any text can be put back into any other one."""
    literals = select_literals(text)
    assert all(literal.text for literal in literals)
    assert not any(literal.text in without(text, literals).split() for literal in literals)
    assert find_lost_literals(literals, append_literals("other words", literals)) == ()


@pytest.mark.parametrize(
    "part", ["a", "a.", "a/", "-", "1-", '"', "'a ", "a_", "@a", "a@a.", "aA", "://", "~/."]
)
def test_hostile_texts_take_linear_time(part: str) -> None:
    """A text eight times as long takes eight times as long to read, not 64 times."""

    def seconds(length: int) -> float:
        start = time.thread_time()
        select_literals(part * (length // len(part)))
        return time.thread_time() - start

    assert seconds(16_384) < 24 * seconds(2_048)
