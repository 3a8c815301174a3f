from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.text import iter_words, join_words, split_words, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getCurrentTime", ["get", "current", "time"]),
        ("list_pull-requests", ["list", "pull", "requests"]),
        ("HTTPServer", ["http", "server"]),
        ("step12 sha256", ["step", "12", "sha", "256"]),
        ("СтатусЗаказа", ["статус", "заказа"]),
        ("région Straße", ["region", "strasse"]),
        ("ﬁle ＡＰＩ", ["file", "api"]),
        ("don't it's l'ordre", ["don", "it", "l", "ordre"]),
        ("東京の天気", ["東京", "京の", "の天", "天気"]),
        ("GitHub课程v2", ["git", "hub", "课程", "v2"]),
        ("", []),
        ("HTTP2Server⑴ x--y", ["http", "2", "server", "1", "x", "y"]),
        ("ßa東b", ["ssa", "東", "b"]),
        ("!?… 🧨", []),
        ("listPRs getURLs APIs2", ["list", "prs", "get", "urls", "apis", "2"]),
        ("PRsByUser PDFAsImage", ["prs", "by", "user", "pdf", "as", "image"]),
        ("IPv6 getVPCId sendSMSTo", ["ipv", "6", "get", "vpc", "id", "send", "sms", "to"]),
    ],
)
def test_words_are_cut_at_seams(text: str, expected: list[str]) -> None:
    """Spaces, case, digits, underscores and scripts without spaces show where a word ends."""
    assert split_words(text) == expected


@pytest.mark.parametrize("code", ["1z999", "a1b2c3", "s3", "ec2", "mp3", "3d"])
def test_codes_stay_whole(code: str) -> None:
    """A code that mixes letters and digits is one word."""
    assert split_words(code) == [code]


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("k8s_pods", ["k8s", "pods", "k8s_pods"]),
        ("listK8sPods", ["list", "k8s", "pods"]),
        ("S3CreateBucket", ["s3", "create", "bucket"]),
        ("describeEC2Instances", ["describe", "ec2", "instances"]),
        ("convertToMp4", ["convert", "to", "mp4"]),
        ("x509Certificate", ["x509", "certificate"]),
        ("getI18nKeys", ["get", "i18n", "keys"]),
        ("d1-query", ["d1", "query", "d1-query"]),
        ("2024-01-02", ["2024-01-02"]),
        ("a3f2-b4c5", ["a3f2-b4c5"]),
    ],
)
def test_short_names_with_digits_stay_whole_inside_identifiers(
    identifier: str, expected: list[str]
) -> None:
    """One or two letters, digits and at most two small letters are a word, not three."""
    assert sorted(split_words(identifier)) == sorted(expected)


def test_identifiers_appear_whole_as_well() -> None:
    """A compound identifier is found by its parts and by itself."""
    found = list(iter_words("call gitCommit now"))

    assert [word.text for word in found if word.is_compound] == ["gitcommit"]
    assert [word.text for word in found if not word.is_compound] == ["call", "git", "commit", "now"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("हिन्दी ক্রয় தமிழ்", ["हिन्दी", "ক্রয়", "தமிழ்"]),
        ("हिन्दी2", ["हिन्दी", "2"]),
        ("เสือ", ["เสื", "สือ"]),
        ("น้ำ", ["น้ํา"]),
        ("ເສືອ", ["ເສື", "ສືອ"]),
        ("ខ្មែរ", ["ខ្មែ", "មែរ"]),
        ("မြန်မာ", ["မြန်", "န်မာ"]),
        ("བོད་ཡིག", ["བོད", "ཡིག"]),
        ("ދިވެހި", ["ދިވެހި"]),
        ("й и\u0306", ["й", "й"]),
        ("か\u3099く", ["がく"]),
        ("葛\U000e0100飾 1\ufe0f\u20e3", ["葛飾", "1"]),
    ],
)
def test_vowel_signs_belong_to_their_word(text: str, expected: list[str]) -> None:
    """A mark after a letter tears no word apart; a pair of characters is one of letters."""
    assert split_words(text) == [unicodedata.normalize("NFKC", word) for word in expected]


@pytest.mark.parametrize(
    ("pointed", "plain"),
    [
        ("מִשְׁלוֹחַ", "משלוח"),
        ("\ufb2aלום", "שלום"),
        ("יְרוּשָׁלַ\u034fִם", "ירושלם"),
        ("מִשְׁלוֹחַ2", "משלוח2"),
        ("شَحْنَة", "شحنة"),
        ("مُرْسَل", "مرسل"),
        ("ܡܲܠܟܵܐ", "ܡܠܟܐ"),
        ("re\u0301sume\u0301 Ἀθῆναι", "resume Αθηναι"),
    ],
)
def test_points_and_accents_may_be_left_out(pointed: str, plain: str) -> None:
    """A pointed and an unpointed spelling have the same words, and the same key."""
    assert list(iter_words(pointed)) == list(iter_words(plain))
    assert join_words(pointed) == join_words(plain)


@pytest.mark.parametrize(("one", "other"), [("की", "कि"), ("เสือ", "เสอ"), ("й", "и")])
def test_words_that_differ_in_a_vowel_have_other_keys(one: str, other: str) -> None:
    """A vowel sign tells names apart as a letter does."""
    assert join_words(one) != join_words(other)
    assert split_words(one) != split_words(other)


def test_a_ligature_is_the_word_it_stands_for() -> None:
    """A ligature whose long form holds spaces is one word without any."""
    assert split_words("\ufdfa") == ["صلىاللهعليهوسلم"]
    assert join_words("\ufdfa") == join_words("صلى الله عليه وسلم")


@pytest.mark.parametrize("sign", ["\u00ad", "\u2060"])
def test_invisible_signs_do_not_cut_words(sign: str) -> None:
    """Pages hyphenate words softly, and the hyphens are copied with the words."""
    assert split_words(f"Ship{sign}ment sta{sign}tus{sign} {sign}") == ["shipment", "status"]


@pytest.mark.parametrize("text", ["\u115f", "\u1160", "\u3164", "\u3164\u0301", "\u3164.\uffa0"])
def test_blank_letters_are_no_words(text: str) -> None:
    """Nothing that shows nothing is a word, alone or beside others."""
    assert split_words(text) == []
    assert split_words(f"parcel {text}") == ["parcel"]


def test_the_slash_of_a_fraction_is_no_word() -> None:
    """The plain form of a fraction is cut at its slash."""
    assert split_words("size2\u00bdinch") == ["size", "21", "2", "inch"]


@given(st.text(max_size=60))
def test_any_text_is_cut_without_failing(text: str) -> None:
    """Whatever the text, words are never blank and never longer than their bound."""
    found = [word.text for word in iter_words(text)]
    assert all(any(map(str.isalnum, word)) for word in found)

    assert all(0 < len(word) <= 64 and word.split() == [word] for word in found)


@given(st.text(max_size=60))
def test_cutting_ignores_case_of_plain_words(text: str) -> None:
    """Folding is done before words are compared: upper-case text has the same plain words."""
    plain = " ".join(word for word in text.lower().split() if word.isascii() and word.isalpha())

    assert split_words(plain) == split_words(plain.title())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.4.17", ["2.4.17"]),
        ("2024-05-01", ["2024-05-01"]),
        ("CVE-2024-1234", ["cve", "cve-2024-1234"]),
        ("gpt-4", ["gpt", "gpt-4"]),
        ("v1.2", ["v1.2"]),
        ("⒈", ["1."]),
    ],
)
def test_literals_stay_whole(text: str, expected: list[str]) -> None:
    """Versions, dates and numbered codes are one word: a near miss shares nothing with them."""
    assert split_words(text) == expected


@pytest.mark.parametrize("name", ["git_commit", "gitCommit", "Git-Commit", "git commit"])
def test_every_way_to_write_a_name_has_one_key(name: str) -> None:
    """Joined forms are equal whatever the separators and the case."""
    assert join_words(name) == "gitcommit"


def test_memory_for_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was cut is forgotten when there is too much of it; long texts are not kept at all."""
    monkeypatch.setattr(words, "_MOST_REMEMBERED", 2)
    lengths = words.CachedFunction(len)

    assert [lengths[text] for text in ("one", "two", "three", "four", "three")] == [3, 3, 5, 4, 5]
    assert lengths["x" * 100_000] == 100_000
    assert lengths == {"three": 5, "four": 4}


@pytest.mark.parametrize(
    "text",
    [
        "של" * 2_000_000,
        "\ufdfa" * 200_000,
        "a" + "\u0301\u0316" * 300_000,
        "カ" + "\uff9e\u093c" * 300_000,
    ],
    ids=["letters", "ligatures", "marks", "letters that become marks"],
)
def test_a_long_text_without_a_break_is_cut_in_time(text: str) -> None:
    """The work grows with the length of a text, not with its square."""
    script = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from mcpg.text import join_words, split_words\n"
        "text = sys.stdin.buffer.read().decode()\n"
        "print(len(split_words(text)), bool(join_words(text)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=text.encode(),
        check=True,
        capture_output=True,
        timeout=90,
    )

    assert done.stdout.split()[1] == b"True"


@pytest.mark.parametrize("part", ["aB", "เสือ", "データ"])
def test_a_chunk_is_read_up_to_a_bound(part: str) -> None:
    """Of a run without a break, however long, so many characters are read, and no more."""
    words = split_words(part * 20_000)
    assert words == split_words((part * 20_000)[:16_384])
    assert 8_000 < len(words) <= 16_384


SIGNS = st.text(alphabet="!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~", max_size=3)


@given(SIGNS, st.text(alphabet="abcABC019", min_size=1, max_size=6), SIGNS)
def test_signs_around_a_word_change_nothing(before: str, word: str, after: str) -> None:
    """Signs of ASCII before and behind a word are no part of it, remembered or not."""
    assert [*iter_words(before + word + after)] == [*iter_words(word)]


@given(st.lists(st.sampled_from(["der", "the", "og", "und", "dog", "tool", "la", ""])))
def test_a_word_votes_for_each_language_that_has_it_as_a_stop_word(spoken: list[str]) -> None:
    """The votes are those that the lists of the languages give, word by word."""
    assert words.language_votes(spoken) == [
        sum(word in words.get_stop_words(language) for word in spoken)
        for language in words.LANGUAGES
    ]
    assert words.are_stop_words(spoken) == all(any(words.language_votes([one])) for one in spoken)
