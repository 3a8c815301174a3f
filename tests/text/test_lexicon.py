"""The tables of words: their properties, and what they know."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcpg.text import fold, lexicon, split_words, strip_accents
from mcpg.text.spelling import edit_distance

LANGUAGES = sorted(lexicon.FOREIGN)
ALL = [lexicon.ENGLISH, *LANGUAGES]
SENTENCES = {
    "arabic": ["احذف الملف القديم من المجلد", "كيف حال الطقس اليوم"],
    "chinese": ["删除旧文件", "今天天气怎么样", "富士山天气", "取消预约"],
    "dutch": ["verwijder het oude bestand", "hoe wordt het weer morgen"],
    "french": ["supprimer le fichier", "quel temps fera-t-il demain à Paris"],
    "german": ["lösche die alte Datei", "wie wird das Wetter morgen in der Stadt"],
    "hindi": ["पुरानी फ़ाइल हटाएं", "आज मौसम कैसा है"],
    "italian": ["elimina il vecchio documento", "che tempo farà domani"],
    "japanese": ["古いファイルを削除する", "今日の天気はどうですか", "天気予報", "写真削除"],
    "korean": ["오래된 파일 삭제", "오늘 날씨 어때"],
    "polish": ["usuń stary plik", "jaka będzie jutro pogoda"],
    "portuguese": ["excluir o arquivo antigo", "como vai estar o tempo amanhã"],
    "russian": ["удали старый файл", "какая завтра погода"],
    "spanish": ["eliminar el archivo viejo", "qué tiempo hará mañana"],
    "turkish": ["eski dosyayı sil", "yarın hava nasıl olacak"],
    "ukrainian": ["видали старий файл", "яка завтра погода у місті"],
}
ENGLISH = [
    "delete the old file",
    "what is the weather tomorrow",
    "list pull requests",
    "send an email to Anna",
    "restart container",
    "convert pdf to docx",
]


def words_of(language: str) -> list[str]:
    """Return some of the words of the table of *language*: every hundredth."""
    table = lexicon._table(f"{language}.words")
    return [table.word(number) for number in range(0, len(table), 100)]


def translated(word: str, language: str) -> list[tuple[str, float]]:
    """Return the English stems that *word* may stand for."""
    return lexicon.translations(word, language)[1]


@pytest.mark.parametrize("language", ALL)
def test_words_are_sorted_and_found(language: str) -> None:
    """A table lists words in the order of their UTF-8, each once, and finds each of them."""
    words = [word.encode() for word in words_of(language)]

    assert all(one < other for one, other in pairwise(words))
    assert all(0 <= lexicon.zipf_frequency(word.decode(), language) < 9 for word in words)


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_are_english_stems_with_probabilities(language: str) -> None:
    """Targets exist, are distinct, and their strengths are in (0, 1], the strongest first."""
    rows = [row for word in words_of(language) if (row := translated(word, language))]

    assert rows
    for row in rows:
        check_row(row)


def test_related_stems_are_other_stems() -> None:
    """Targets exist, are distinct, and their strengths are in (0, 1], the strongest first."""
    table = lexicon._table("english.related")
    stems = [table.word(number) for number in range(0, len(table), 50)]
    rows = {one: row for one in stems if (row := lexicon.related_stems(one))}

    assert rows
    for one, row in rows.items():
        check_row(row)
        assert one not in dict(row)


def check_row(row: list[tuple[str, float]]) -> None:
    """Check one row of targets with strengths."""
    table = lexicon._table("english.related")
    strengths = [strength for _, strength in row]
    assert all(table.find(target) >= 0 for target, _ in row)
    assert all(0 < strength <= 1 for strength in strengths)
    assert strengths == sorted(strengths, reverse=True)
    assert len(dict(row)) == len(row)


@given(st.text(max_size=40), st.sampled_from(LANGUAGES))
def test_any_text_has_an_answer(text: str, language: str) -> None:
    """Whatever is no word has no frequency and nothing related, and raises nothing."""
    word = f"\x00{text}"

    assert lexicon.zipf_frequency(word, language) == 0
    assert lexicon.share_of_texts(word, language) == 0
    assert lexicon.related_stems(word) == []
    assert all(0 < one <= 1 for _, one in translated(text, language))
    assert lexicon.foreign_language(split_words(text)) in {None, *LANGUAGES}


@pytest.mark.parametrize(
    ("language", "text"), [(name, text) for name, texts in SENTENCES.items() for text in texts]
)
def test_a_sentence_tells_its_language(language: str, text: str) -> None:
    """A short request is known by its script, or by how probable its words are."""
    assert lexicon.foreign_language(split_words(text)) == language


def test_every_language_has_sentences() -> None:
    """No language with a table goes untested."""
    assert set(SENTENCES) == lexicon.FOREIGN


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_not_foreign(text: str) -> None:
    """English requests are taken for English, technical ones too."""
    assert lexicon.foreign_language(split_words(text)) is None


def test_words_outweigh_stop_words_that_two_languages_share() -> None:
    """`in` and `dir` are German stop words, but the words around them are English."""
    assert lexicon.is_rather_english(split_words("list file in desktop using dir"), "german")
    assert not lexicon.is_rather_english(split_words("liste mir die Dateien in Github"), "german")
    assert not lexicon.is_rather_english(split_words("list file in desktop"), "danish")


def test_a_long_text_is_told_by_its_beginning() -> None:
    """However long a text is, a bounded number of its words are looked up."""
    german = split_words("wie wird das Wetter morgen in der Stadt " * 40)

    assert lexicon.foreign_language(german + ["zebra"] * 10**6) == "german"


def test_related_words_are_general_knowledge() -> None:
    """A few pairs that anyone would relate."""
    assert "directori" in dict(lexicon.related_stems("folder"))
    assert "delet" in dict(lexicon.related_stems("remov"))
    assert next(iter(dict(translated("datei", "german")))) == "file"


@st.composite
def misspelt(draw: st.DrawFn) -> tuple[str, str, str]:
    """Choose a language with an alphabet, one of its words, and an edit of that word."""
    language = draw(st.sampled_from(sorted(lexicon.FOREIGN.difference(lexicon.UNSPACED))))
    word = draw(st.sampled_from([one for one in words_of(language) if len(one) > 3]))
    place = draw(st.integers(0, len(word) - 1))
    letter = draw(st.sampled_from("".join(words_of(language))))
    # A letter of another alphabet is no slip of the hand.
    assume(letter in lexicon._table(f"{language}.words").find_alphabet(word))
    head, tail = word[:place], word[place:]
    assume(word[place] in lexicon._table(f"{language}.words").find_alphabet(word))
    edits = (head + tail[1:], head + letter + tail[1:], head + letter + tail)
    swapped = head + tail[1:2] + tail[:1] + tail[2:]
    return language, word, draw(st.sampled_from((*edits, swapped)))


@given(misspelt())
def test_every_single_edit_of_a_word_is_found(case: tuple[str, str, str]) -> None:
    """Whichever letter is left out, added, replaced or swapped, the word is among those near."""
    language, word, edited = case
    table = lexicon._table(f"{language}.words")
    near = {table.word(number) for number in table.near(edited)}

    assert word in near or word == edited
    assert all(edit_distance(edited, other, 1) is not None for other in near)


@pytest.mark.parametrize(
    ("language", "word", "edited"),
    [
        ("spanish", "directorio", "dircetorio"),
        ("german", "verzeichnis", "verzeichis"),
        ("polish", "katalog", "kataolg"),
        ("russian", "открыть", "открыьт"),
    ],
)
def test_a_misspelt_word_is_translated(language: str, word: str, edited: str) -> None:
    """What is one edit from a listed word stands for what that stands for, as a repair."""
    assert lexicon.translations(edited, language) == (1, translated(word, language))


@pytest.mark.parametrize(
    ("language", "word", "plain"),
    [
        ("german", "löschen", "loeschen"),
        ("german", "Änderungen", "aenderungen"),
        ("polish", "połącz", "polacz"),
        ("polish", "usuń", "usun"),
        ("spanish", "añadir", "anadir"),
        ("turkish", "karşılaştır", "karsilastir"),
        ("arabic", "إضافة", "اضافة"),
        ("french", "ｆｉｃｈｉｅｒ", "fichier"),
    ],
)
def test_plain_letters_stand_for_those_that_a_keyboard_lacks(
    language: str, word: str, plain: str
) -> None:
    """What is written without accents, umlauts or other letters is no misspelling."""
    written = translated(strip_accents(fold(word)), language)

    assert written
    assert lexicon.translations(plain, language) == (0, written)


@pytest.mark.parametrize(
    "text", ["a" * 64, "ae" * 32, "i" * 64, "\ud800\ud800\ud800\ud800", "\0" * 9]
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_no_word_has_no_translation(text: str, language: str) -> None:
    """Long and broken words cost a bounded number of look-ups and find nothing."""
    assert translated(text, language) == []


def test_accents_speak_for_another_language() -> None:
    """Where words alone could be of either language, accents decide."""
    words = split_words("Pull Request anhören")

    assert lexicon.foreign_language(words, names=["pull", "request"]) is None
    told = lexicon.foreign_language(words, names=["pull", "request"], is_accented=True)
    assert told == "german"


def test_names_of_things_do_not_make_a_request_english() -> None:
    """Technical English words are named in every language."""
    words = split_words("nowy pull request")

    assert lexicon.foreign_language(words) is None
    assert lexicon.foreign_language(words, names=["pull", "request"]) == "polish"


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Make a small table, and overwrite, cut or lengthen it anywhere."""
    words = sorted(draw(st.sets(st.text(max_size=3), max_size=6)), key=str.encode)
    keys = [word.encode() for word in words]
    starts = [sum(map(len, keys[:number])) for number in range(len(keys) + 1)]
    header = struct.pack("<8s4I", b"mcpgwt1\0", len(keys), len(keys), starts[-1], 0)
    ends = range(len(keys) + 1)
    numbers = struct.pack(f"<{2 * len(starts)}I", *starts, *ends)
    targets = struct.pack(f"<{len(keys)}H", *range(len(keys))) + bytes(-2 * len(keys) % 4)
    data = bytearray(header + numbers + targets + 2 * bytes([99]) * len(keys) + b"".join(keys))
    for place in draw(st.lists(st.integers(0, len(data) - 1), max_size=4)):
        data[place] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])


@given(damaged(), st.lists(st.text(max_size=3), max_size=4))
def test_a_damaged_table_is_refused_or_answers(data: bytes, words: list[str]) -> None:
    """A table is not opened where its parts do not fit; what is opened raises nothing."""
    try:
        table = lexicon.WordTable(memoryview(data))
    except ValueError:
        return
    for word in words:
        assert table.find(word) < len(table)
        assert table.zipf(word) >= 0
        assert all(strength <= 1 for _, strength in table.row(word))
        assert all(length <= len(word) for length, _ in table.beginnings(word))
    assert all(isinstance(table.word(number), str) for number in range(len(table)))


letters = st.one_of(
    st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=24),
    st.text(st.sampled_from("删除文件我想要一个新的闹钟ファイルを파일삭제"), max_size=24),
)


@given(letters, st.sampled_from(lexicon.UNSPACED))
def test_segments_join_to_the_run(run: str, language: str) -> None:
    """Nothing is lost, added or moved where a run is cut into words."""
    cut = lexicon.segment(run, language)

    assert "".join(cut) == run
    assert all(cut)
    assert lexicon.segment(run, language) == cut


def test_a_run_is_cut_into_words() -> None:
    """The most probable words are chosen."""
    assert lexicon.segment("删除文件", "chinese") == ("删除", "文件")


TABLES = Path(lexicon.__file__).parent / "data" / "lexicon"


@pytest.mark.parametrize("name", ["english.operations", "english.words"])
def test_words_are_found_alike_by_blocks(name: str) -> None:
    """A table finds what it lists, and nothing else, before and after it is read ahead."""
    data = memoryview((TABLES / name).read_bytes())
    table, ahead = lexicon.WordTable(data), lexicon.WordTable(data)
    ahead.read_ahead()
    listed = [ahead.word(number) for number in range(0, len(ahead), 97)]
    asked = ["", "\0", "zzzz", "\U0010ffff", *listed, *(word[:-1] for word in listed)]

    assert [ahead.find(word) for word in asked] == [table.find(word) for word in asked]
    assert [ahead.find(word) for word in listed] == [*range(0, len(ahead), 97)]
