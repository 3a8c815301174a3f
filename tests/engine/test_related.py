"""Requests in other words and in other languages than the catalogue's."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from builders import ids, make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.index import Index, lookups
from mcpg.search.retrieval import clause_impacts

if TYPE_CHECKING:
    from mcpg.engine import Engine

TOOLS = (
    make_tool("create_directory", description="Create a directory at a path."),
    make_tool("delete_file", description="Delete a file from the disk."),
    make_tool("send_email", description="Send an email message to a recipient."),
    make_tool("list_orders", description="List the orders of a customer.", source_id="shop"),
    make_tool("remote_exec", description="Run a command on a remote host.", source_id="hosts"),
    make_tool("get_weather", description="Get the weather forecast of a city.", source_id="sky"),
)
ENGINE = make_engine(*TOOLS)
CHINESE = make_engine(
    make_tool("wenjian_shanchu", description="删除一个文件。"),
    make_tool("naozhong_gai", description="把闹钟改为新的时间。"),
    make_tool("youjian_fasong", description="发送一封电子邮件。"),
)
IN_OTHER_WORDS = [
    ("make a folder", "create_directory"),
    ("remove a file", "delete_file"),
    ("purchases of a client", "list_orders"),
    ("execute something", "remote_exec"),
]
IN_OTHER_LANGUAGES = [
    ("crear un directorio", "create_directory"),
    ("enviar un mensaje al destinatario", "send_email"),
    ("Datei löschen", "delete_file"),
    ("das Wetter in der Stadt", "get_weather"),
    ("supprimer un fichier", "delete_file"),
    ("elimina il file", "delete_file"),
    ("een bestand verwijderen", "delete_file"),
    ("apagar o arquivo", "delete_file"),
    ("usuń plik", "delete_file"),
    ("dosyayı sil", "delete_file"),
    ("удалить файл", "delete_file"),
    ("видалити файл", "delete_file"),
    ("حذف ملف", "delete_file"),
    ("फ़ाइल हटाएं", "delete_file"),
    ("删除文件", "delete_file"),
    ("ファイルを削除", "delete_file"),
    ("파일 삭제", "delete_file"),
]


def kinds(engine: Engine, query: str, **asked: bool) -> dict[str, list[str]]:
    """Return of each word of *query* how the words that it stands for were found."""
    words = engine.explain(query, **asked).words
    return {word.text: [one.kind for one in word.repairs] for word in words}


@pytest.mark.parametrize(("query", "tool"), IN_OTHER_WORDS)
def test_a_request_in_other_words_finds_the_tool(query: str, tool: str) -> None:
    """A word that no tool has is answered by words of related meaning."""
    assert ids(ENGINE.search(query).matches)[0] == tool


@pytest.mark.parametrize(("query", "tool"), IN_OTHER_LANGUAGES)
def test_a_request_in_another_language_finds_the_tool(query: str, tool: str) -> None:
    """Words are translated without a model at run time."""
    assert ids(ENGINE.search(query).matches)[0] == tool


@pytest.mark.parametrize("query", ["make a folder", "удалить файл", "删除文件"])
def test_without_the_lexicon_a_catalogue_knows_its_own_words_alone(query: str) -> None:
    """The switch leaves out related words and translations, in every public way to ask."""
    explanation = ENGINE.explain(query, lexicon=False)

    assert ENGINE.search(query, lexicon=False).matches == ()
    assert explanation.result.matches == ()
    assert not any(word.related or word.repairs for word in explanation.words)
    assert not ENGINE.route(query, lexicon=False).suggested_matches
    assert ENGINE.route(query).suggested_matches


def test_the_switch_is_of_one_request() -> None:
    """What a word became with the lexicon is not remembered for a request without it."""
    for lexicon, kind in ((True, None), (False, "typo"), (True, None)):
        found = kinds(ENGINE, "remove it", lexicon=lexicon)["remove"]
        assert found == ([kind] if kind else [])


def test_a_common_word_is_not_respelt() -> None:
    """`remove` is a word, no misspelling of `remote`; `remot` is one."""
    assert kinds(ENGINE, "remove")["remove"] == []
    assert kinds(ENGINE, "exec on the remoet host")["remoet"] == ["typo"]


def test_a_translation_comes_before_a_misspelling() -> None:
    """German `Datei` is a file, no misspelt date."""
    engine = make_engine(*TOOLS, make_tool("get_date", description="Get the date."))

    assert set(kinds(engine, "die Datei löschen")["datei"]) == {"translation"}
    assert ids(engine.search("die Datei löschen").matches)[0] == "delete_file"


def test_translations_of_one_meaning_support_each_other() -> None:
    """What is related to a word is what all its translations together are related to."""
    (word,) = [one for one in ENGINE.explain("usuń plik").words if one.text == "usun"]
    related = {one.word: one.similarity for one in word.related}

    # It is "delete" or "remove", and these are related.
    assert [(one.word, one.kind) for one in word.repairs] == [("delete", "translation")]
    assert word.repairs[0].similarity < related["delete"] <= 1


MISSPELT = [
    ("crear un dircetorio", "create_directory"),
    ("Dtaei löschen", "delete_file"),
    ("supprimmer le fihcier", "delete_file"),
    ("удалить фаил", "delete_file"),
    ("usun pilk", "delete_file"),
    ("Datei loeschen", "delete_file"),
]


@pytest.mark.parametrize(("query", "tool"), MISSPELT)
def test_a_misspelt_request_in_another_language_finds_the_tool(query: str, tool: str) -> None:
    """A foreign word is repaired by the words of its language, and translated then."""
    assert ids(ENGINE.search(query).matches)[0] == tool


def test_a_repaired_translation_counts_less() -> None:
    """The credit of a translation falls with the edits before it, and the edits are shown."""
    (right,) = [one for one in ENGINE.explain("el directorio").words if one.text == "directorio"]
    (wrong,) = [one for one in ENGINE.explain("el dircetorio").words if one.text == "dircetorio"]

    assert (right.repairs[0].distance, wrong.repairs[0].distance) == (0, 1)
    assert right.repairs[0].word == wrong.repairs[0].word
    assert right.repairs[0].similarity > wrong.repairs[0].similarity


def test_stop_words_of_another_language_do_not_outvote_english_words() -> None:
    """English words with two that are stop words elsewhere are read as English."""
    (chicago,) = [
        one for one in ENGINE.explain("find events in Chicago, IL").words if one.text == "chicago"
    ]

    assert "city" in {one.word for one in chicago.related}


def test_a_word_of_the_catalogue_is_never_translated() -> None:
    """A word that a tool has stands for itself, whatever it means elsewhere."""
    engine = make_engine(*TOOLS, make_tool("gift_wrap", description="Wrap a gift."))

    assert kinds(engine, "das Gift in der Datei")["gift"] == ["exact"]


@pytest.mark.parametrize("tool", [one.name for one in TOOLS])
def test_exact_names_still_win(tool: str) -> None:
    """A tool that is named stands first, whatever else is related."""
    query = f"{tool} folder mail purchase"

    assert ids(ENGINE.search(query).matches)[0] == tool


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("删除文件", "wenjian_shanchu"),
        ("我想要一个新的闹钟", "naozhong_gai"),
        ("请把8:30的闹钟改为9:00。", "naozhong_gai"),
        ("发送邮件", "youjian_fasong"),
    ],
)
@pytest.mark.parametrize("lexicon", [True, False])
def test_a_catalogue_in_another_script_keeps_its_own_words(
    query: str, tool: str, *, lexicon: bool
) -> None:
    """A catalogue in Chinese is searched by its pairs of characters, as without the lexicon."""
    assert ids(CHINESE.search(query, lexicon=lexicon).matches)[0] == tool


def test_an_alias_in_another_script_is_found_within_a_sentence() -> None:
    """Pairs of characters that the catalogue has stay words of a query that is cut into others."""
    engine = make_engine(*TOOLS, make_tool("set_alarm", aliases=("闹钟",)))

    assert ids(engine.search("请帮我把明天早上的闹钟往后推一个小时").matches)[0] == "set_alarm"


@pytest.mark.untraced
@pytest.mark.parametrize("run", ["删除文件", "ファイルを削除", "파일삭제"])
def test_a_text_without_a_break_may_be_long(run: str) -> None:
    """Of ten thousand characters the first that fill a query are cut into words."""
    assert ids(ENGINE.search(run * 2_500).matches)[0] == "delete_file"


def test_an_english_request_is_english_whatever_stop_words_it_shares() -> None:
    """`in` and `dir` are stop words of German too."""
    explanation = ENGINE.explain("delete file in desktop using dir desktop")
    (analysed,) = [stage for stage in explanation.stages if stage.name == "analyse"]

    assert analysed.details["language"] == "english"


SPOKEN = "make folder remove file purchase execute mail the Datei löschen 删除 文件 удалить"
queries = st.lists(st.sampled_from(SPOKEN.split()), min_size=1, max_size=5).map(" ".join)


@given(queries)
def test_a_limit_only_cuts(query: str) -> None:
    """Related words and translations rank the same, however many matches are asked for."""
    most = ENGINE.search(query, limit=50).matches

    for limit in (1, 2, 3):
        assert ENGINE.search(query, limit=limit).matches == most[:limit]


@given(queries)
def test_an_explanation_names_the_related_words_that_moved_a_tool(query: str) -> None:
    """What related words and translations add is traced to words, and words to the catalogue."""
    explanation = ENGINE.explain(query)
    related = {(word.text, one.word) for word in explanation.words for one in word.related}

    for match in explanation.matches:
        sums = {one.feature: one.contribution for one in match.contributions}
        near = [one for one in match.terms if one.kind == "related"]
        assert sum(one.contribution for one in near) == pytest.approx(
            sums["related"] + sums["relatedName"], abs=1e-9
        )
        assert {(one.query, one.matched) for one in near} <= related


def test_a_word_that_is_answered_is_not_missing() -> None:
    """A translated word is held; one that only a related word answers is in neither list."""
    (match, *_) = ENGINE.search("remove zorb file").matches
    (translated, *_) = ENGINE.search("удалить файл").matches

    assert (match.evidence.terms, match.evidence.missing) == (("file",), ("zorb",))
    assert (translated.evidence.terms, translated.evidence.missing) == (("удалить", "файл"), ())


def test_the_advice_is_on_words_that_nothing_answers() -> None:
    """No alias is suggested for a word that a related word or a translation answers already."""
    advice = " ".join(ENGINE.explain("make zorb folder").advice)

    assert "zorb" in advice
    assert "make" not in advice
    assert "folder" not in advice


def test_a_related_word_that_many_tools_have_is_looked_up_where_it_is_all_there_is() -> None:
    """A word that the catalogue lacks finds tools by a related one, however many hold that."""
    many = [
        make_tool(f"tool_{n}", description=f"Lists the directory number {n}.") for n in range(60)
    ]
    explanation = make_engine(*many).explain("folder")
    (retrieved,) = [stage for stage in explanation.stages if stage.name == "retrieve"]
    assert explanation.result.matches
    assert "directory" in {row["matched"] for row in retrieved.details["lists"]}


@given(st.lists(st.tuples(st.integers(0, 11), st.floats(0.01, 1)), min_size=1, max_size=6))
def test_best_impacts_are_those_of_the_terms(credited: list[tuple[int, float]]) -> None:
    """What is kept of several terms, asked for again, is what looking each of them up gives."""
    index, variants = Index(ENGINE.index.data), tuple(credited)

    assert index.best_impacts(variants) is None
    for _ in range(5):
        best = index.best_impacts(variants)

    assert best == clause_impacts(variants, range(len(TOOLS)), index)


def test_what_cannot_be_kept_is_not_merged() -> None:
    """Where there is no room for the best impacts, their lists are left as they are."""
    variants = ((0, 1.0), (1, 0.5))
    with patch.object(lookups, "_MOST_BEST", 0):
        index = Index(ENGINE.index.data)
        assert [index.best_impacts(variants) for _ in range(6)] == [None] * 6


def test_a_word_is_not_cut_at_a_stop_word() -> None:
    """*forget* is no *for* and *get* written together, although tools have both words."""
    engine = make_engine(
        make_tool("get_page", description="Get a page."),
        make_tool("wait", description="What is waited for: a page to load."),
    )

    assert "compound" not in kinds(engine, "please forget what I told you about it")["forget"]


def test_another_spelling_is_the_word_itself() -> None:
    """British and American spellings find each other, as sure as the word as it stands."""
    engine = make_engine(
        make_tool("set_color", description="Set the color of a label."),
        make_tool("organize_files", description="Organize files into folders."),
        make_tool("tint_image", description="Make an image grey."),
    )

    for british, american, tool in (
        ("colour of a label", "color of a label", "set_color"),
        ("organise all my files", "organize all my files", "organize_files"),
        ("make it gray", "make it grey", "tint_image"),
    ):
        found, same = (engine.search(one).matches[0] for one in (british, american))
        assert found.tool_name == same.tool_name == tool
        assert found.score == pytest.approx(same.score, abs=0.05)
    assert kinds(engine, "colour of a label")["colour"] == ["spelling"]
    assert kinds(engine, "color of a label")["color"] == ["exact"]


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        ("mkdir reports", "create_directory"),
        ("rm notes", "delete_file"),
        ("cp it", "duplicate_document"),
        ("ls", "list_orders"),
    ],
)
def test_commands_of_a_shell_stand_for_what_they_do(command: str, tool: str) -> None:
    """A command that no tool mentions is answered by the words that describe it."""
    engine = make_engine(*TOOLS, make_tool("duplicate_document", description="Copy a document."))

    assert engine.search(command).matches[0].tool_name == tool
    assert not engine.search(command.split(maxsplit=1)[0], lexicon=False).matches


def test_what_a_catalogue_calls_like_a_command_is_found_by_its_name() -> None:
    """A tool that mentions the command comes before those that do what it does."""
    engine = make_engine(*TOOLS, make_tool("explain_mkdir", description="Explain mkdir."))

    assert engine.search("mkdir").matches[0].tool_name == "explain_mkdir"


@pytest.mark.parametrize("word", ["weekend", "newsletters", "username"])
def test_english_words_are_not_cut_into_two(word: str) -> None:
    """*weekend* is no week and end written together, although tools have both words."""
    engine = make_engine(
        make_tool("end_week", description="End the week: news letters of a user name."),
        make_tool("list_orders", description="List orders."),
    )

    assert "compound" not in kinds(engine, word)[word]
    assert kinds(engine, "newsuser")["newsuser"] == ["compound", "compound"]


def test_english_words_are_cut_where_a_name_has_both_parts() -> None:
    """What a name writes as two words is found by the one word that they are."""
    engine = make_engine(
        make_tool("convert_time_zone", description="Convert."),
        make_tool("end_of_time", description="Zone."),
    )

    assert kinds(engine, "timezone")["timezone"] == ["compound", "compound"]
    assert engine.search("timezone").matches[0].tool_name == "convert_time_zone"


@pytest.mark.parametrize(
    ("request_text", "dropped"),
    [
        ("ファイルを削除する", {"を", "する"}),
        ("请删除这个文件", {"这个"}),
        ("usuń ten plik i nie pytaj mnie", {"i", "nie", "mnie"}),
        ("це треба видалити для мене", {"це", "для"}),
    ],
)
def test_particles_are_stop_words_of_their_language(request_text: str, dropped: set[str]) -> None:
    """Words that only hold a sentence together find nothing, whatever the language."""
    words = ENGINE.explain(request_text).words

    assert dropped < {word.text for word in words}
    assert {word.role for word in words if word.text in dropped} == {"function word"}


def test_a_superlative_is_a_form_of_its_adjective() -> None:
    """*cheapest* finds what is cheap; a word that only ends like one does not."""
    engine = make_engine(
        make_tool("list_flights", description="Flights that are cheap."),
        make_tool("crop_image", description="Crop for a better picture."),
    )

    assert kinds(engine, "cheapest flights")["cheapest"] == ["stem"]
    assert "stem" not in kinds(engine, "forest")["forest"]
