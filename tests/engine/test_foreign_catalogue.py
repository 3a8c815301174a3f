"""Catalogues in other languages than English, and requests in English or in a third language."""

from __future__ import annotations

import pytest
from builders import ids, make_engine, make_tool

from mcpg.engine import Engine
from mcpg.text import lexicon

ENGLISH = (
    "make a folder",
    "delete a file",
    "send an email",
    "show the orders of a customer",
    "search for a product",
    "weather forecast",
    "convert money to another currency",
    "book a flight",
    "cancel my booking",
    "translate this text",
    "add a meeting to the calendar",
    "upload a picture",
    "create an invoice",
    "change my password",
    "shortest route between two places",
    "play a song",
)
SPANISH = (
    "Crea una carpeta nueva en la ruta indicada.",
    "Elimina un archivo del disco de forma permanente.",
    "Envía un correo electrónico a un destinatario.",
    "Muestra los pedidos de un cliente con su estado.",
    "Busca productos en la tienda por nombre o categoría.",
    "Devuelve el pronóstico del tiempo de una ciudad.",
    "Convierte un importe de una divisa a otra.",
    "Reserva un vuelo entre dos aeropuertos.",
    "Anula una reserva existente.",
    "Traduce un texto a otro idioma.",
    "Añade una reunión al calendario.",
    "Carga una fotografía en la galería.",
    "Genera la factura de una compra en PDF.",
    "Actualiza la contraseña del usuario.",
    "Calcula la ruta más corta entre dos lugares.",
    "Reproduce una canción o una lista de canciones.",
)
GERMAN = (
    "Legt einen neuen Ordner im angegebenen Verzeichnis an.",
    "Löscht eine Datei endgültig.",
    "Sendet eine E-Mail an einen Empfänger.",
    "Zeigt die Bestellungen eines Kunden.",
    "Durchsucht den Katalog nach Produkten.",
    "Liefert die Wettervorhersage für eine Stadt.",
    "Rechnet einen Betrag in eine andere Währung um.",
    "Bucht einen Flug zwischen zwei Flughäfen.",
    "Storniert eine bestehende Buchung.",
    "Übersetzt einen Text in eine andere Sprache.",
    "Trägt ein Treffen in den Kalender ein.",
    "Lädt ein Bild in die Galerie hoch.",
    "Erstellt eine Rechnung für einen Einkauf.",
    "Ändert das Passwort des Benutzers.",
    "Berechnet den kürzesten Weg zwischen zwei Orten.",
    "Spielt ein Lied oder eine Wiedergabeliste ab.",
)
CHINESE = (
    "在指定路径下创建一个新的文件夹。",
    "永久删除一个文件。",
    "向收件人发送一封电子邮件。",
    "显示客户的所有订单。",
    "按名称搜索商店里的产品。",
    "查询城市的天气预报。",
    "将金额从一种货币转换成另一种货币。",
    "预订两个机场之间的航班。",
    "取消已有的预订。",
    "把文本翻译成另一种语言。",
    "在日历中添加会议。",
    "上传一张图片到相册。",
    "为购买生成发票。",
    "修改用户的密码。",
    "计算两个地点之间的最短路线。",
    "播放一首歌曲或播放列表。",
)
RUSSIAN = (
    "Создаёт новую папку по указанному пути.",
    "Удаляет файл без возможности восстановления.",
    "Отправляет письмо получателю по электронной почте.",
    "Показывает заказы клиента.",
    "Ищет товары в магазине по названию.",
    "Возвращает прогноз погоды для города.",
    "Переводит сумму из одной валюты в другую.",
    "Бронирует рейс между двумя аэропортами.",
    "Отменяет существующее бронирование.",
    "Переводит текст на другой язык.",
    "Добавляет встречу в календарь.",
    "Загружает изображение в галерею.",
    "Создаёт счёт за покупку.",
    "Меняет пароль пользователя.",
    "Рассчитывает кратчайший маршрут между двумя местами.",
    "Воспроизводит песню или список песен.",
)


def engine_of(texts: tuple[str, ...]) -> Engine:
    """Make an engine of tools with these descriptions and names that say nothing."""
    return make_engine(*(make_tool(f"t{n:02}", description=text) for n, text in enumerate(texts)))


ENGINES = {
    "spanish": engine_of(SPANISH),
    "german": engine_of(GERMAN),
    "chinese": engine_of(CHINESE),
    "russian": engine_of(RUSSIAN),
}


def right(engine: Engine, requests: tuple[str, ...], **asked: bool) -> int:
    """Return how many of the *requests* have the tool in their place first."""
    found = [ids(engine.search(one, **asked).matches)[:1] for one in requests]
    return sum(first == [f"t{number:02}"] for number, first in enumerate(found))


@pytest.mark.parametrize("language", ENGINES)
def test_english_requests_find_tools_in_another_language(language: str) -> None:
    """Words are translated the other way round; without the lexicon few are found."""
    engine = ENGINES[language]

    assert engine.index.foreign_languages == (language,)
    assert right(engine, ENGLISH) >= len(ENGLISH) - 3
    assert right(engine, ENGLISH, lexicon=False) <= len(ENGLISH) // 3


@pytest.mark.parametrize("language", ["german", "chinese", "russian"])
def test_a_request_in_a_third_language_finds_tools_by_way_of_english(language: str) -> None:
    """A Spanish request is understood by a catalogue that is neither English nor Spanish."""
    requests = ("una carpeta nueva", "borrar un archivo", "enviar un correo electrónico")

    assert right(ENGINES[language], requests) == len(requests)


@pytest.mark.parametrize(("language", "requests"), [("spanish", SPANISH), ("german", GERMAN)])
def test_the_own_language_of_a_catalogue_takes_no_way_by_english(
    language: str, requests: tuple[str, ...]
) -> None:
    """Words of the language of the tools stand for words of the catalogue as they did."""
    engine = ENGINES[language]
    absent = engine.explain("un perro" if language == "spanish" else "ein Hund").words

    assert right(engine, requests) == len(requests)
    assert not any(one.kind == "translation" for word in absent for one in word.repairs)
    for request in requests:
        for word in engine.explain(request).words:
            assert {one.kind for one in word.repairs} <= {"exact", "stem"}


def test_an_english_catalogue_has_no_table_of_meanings() -> None:
    """What needs no translation pays nothing for it."""
    engine = engine_of(ENGLISH)

    assert engine.index.foreign_languages == ()
    assert not engine.index.has_section("meanings")


def test_tools_of_several_languages_are_found_together() -> None:
    """Of a mixed catalogue, the word itself comes first, and its translation is related."""
    engine = engine_of((*ENGLISH[:8], *SPANISH[8:]))

    assert right(engine, ENGLISH) >= len(ENGLISH) - 3


def test_the_texts_of_a_catalogue_are_not_changed_by_their_meanings() -> None:
    """English words that are meant are no words of the catalogue."""
    index = ENGINES["spanish"].index

    assert index.meant_by("folder")
    assert index.find_stem("folder") < 0
    assert index.meant_by("no such stem") == []


@pytest.mark.untraced
@pytest.mark.parametrize("language", ["english", "spanish", "chinese"])
def test_stems_are_found_by_their_numbers(language: str) -> None:
    """What a stem is, or what means it, is the same by its text and by its number."""
    index = (engine_of(ENGLISH) if language == "english" else ENGINES[language]).index
    found = 0
    for stem, number in lexicon.numbers_of_stems().items():
        own = [(index.find_stem(stem), 1.0)] if index.find_stem(stem) >= 0 else []
        assert index.terms_of_stem(number, with_meanings=False) == own
        assert index.terms_of_stem(number, with_meanings=True) == [*own, *index.meant_by(stem)]
        found += bool(own or index.meant_by(stem))
    assert found > len(ENGLISH)
    assert index.terms_of_stem(0xFFFF, with_meanings=True) == []
