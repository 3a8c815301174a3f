from __future__ import annotations

import pytest

from mcpg.rewrite import MOST_FOREIGN, read_language


@pytest.mark.parametrize(
    "text",
    [
        "what did I change",
        "hotel with breakfast near city center",
        "list open pull requests",
        "Get the weather, please!",
        "4711 A-1234",
        "",
    ],
)
def test_plain_english_is_recognised(text: str) -> None:
    """Function words and common words make English; numbers and nothing make no other language."""
    assert read_language(text).is_plain_english


@pytest.mark.parametrize(
    "text",
    [
        "trouver un hôtel avec petit déjeuner près du centre",
        "wo ist mein Paket",
        "crear una nueva rama en el repositorio",
        "hvor er min pakke",
        "luo uusi haara",
        "nerede benim kargom",
        "де моя посилка",
        "gdzie jest moja paczka",
        "我的包裹在哪里",
        "荷物はどこですか",
        "أين طردي",
        "मेरा पार्सल कहाँ है",
        "আমার পার্সেল কোথায়",
        "எனது பார்சல் எங்கே",
        "พัสดุของฉันอยู่ที่ไหน",
        "ພັດສະດຸຂອງຂ້ອຍ",
        "កញ្ចប់របស់ខ្ញុំ",
        "rechnung exportieren",
        "status paket",
        "exporter la facture",
        "crate a nwe brnch",
    ],
)
def test_what_is_no_plain_english_is_recognised(text: str) -> None:
    """Other languages, in any script, and words that are spelt wrong, are no plain English."""
    assert not read_language(text).is_plain_english
    assert read_language(text).foreign > MOST_FOREIGN


def test_what_the_catalogue_knows_is_not_foreign() -> None:
    """Words of a catalogue need no translation, whatever they are."""
    known = {"invoice", "kubernetes", "rotate"}
    read = read_language("rotate kubernetes invoice", known.__contains__)
    assert read.is_plain_english
    assert read.foreign == 0
    assert not read_language("rotate kubernetes invoice").is_plain_english


def test_what_the_catalogue_knows_does_not_make_english() -> None:
    """A sentence in another language stays one though the catalogue shares its words."""
    read = read_language("list alle brukere", {"list", "alle", "brukere"}.__contains__)
    assert read.foreign == 0
    read = read_language("wo ist das paket", {"paket", "ist", "wo", "das"}.__contains__)
    assert read.foreign == 1
    read = read_language("trouver un hôtel avec petit déjeuner près du centre")
    assert read.foreign == read.other > 1 - read.english
    assert not read.is_plain_english


def test_words_of_another_script_are_never_plain_english() -> None:
    """An alias in the catalogue makes its words known, not English."""
    read = read_language("посилка", {"посилка"}.__contains__)
    assert (read.foreign, read.is_latin, read.is_plain_english) == (0, False, False)
