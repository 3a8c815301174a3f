from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

from hostile import TEXTS
from hypothesis import given
from hypothesis import strategies as st

from mcpg.text.markup import Markup, element, embed_json, escape_unsafe_json, join_markup, verbatim
from mcpg.text.safeyaml import UNSAFE, escape_unsafe

ANY_TEXT = st.text(st.characters(), max_size=40) | st.sampled_from(TEXTS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


class Reader(HTMLParser):
    """Reads elements, attributes and text as a browser does."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element and its attributes."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.texts.append(data)


@given(ANY_TEXT)
def test_text_stays_text(text: str) -> None:
    """No text makes an element, leaves an attribute, or comes out as another text."""
    read = Reader(element("p", text, title=text, data_a=text))
    shown = escape_unsafe(text)
    assert read.tags == [("p", {"title": shown, "data-a": shown})]
    assert "".join(read.texts) == shown


@given(JSON)
def test_embedded_data_come_back(value: Any) -> None:
    """Data end at the end of their element, whatever they hold, and read as what was meant."""
    text = embed_json(value, "data")
    opening, _, rest = text.partition(">")
    assert opening == '<script type="application/json" id="data"'
    content, closing, after = rest.partition("</script>")
    assert (closing, after) == ("</script>", "")
    assert not set(content) & set("<>&\u2028\u2029")
    assert json.loads(content) == escape_unsafe_json(value)


@given(ANY_TEXT)
def test_a_page_can_always_be_written(text: str) -> None:
    """Nothing on a page hides, reorders or steers, and all of it is UTF-8."""
    page = join_markup(text, element("p", text), embed_json({text: [text]}, "data"))
    page.encode("utf-8")
    assert not UNSAFE.search(page.replace("\n", "").replace("\t", ""))


def test_attributes() -> None:
    """What is not given is not written; a fact needs no value; numbers are short."""
    made = element("input", class_="a", hidden=True, open=False, title=None, x=0.5, y=3)
    assert made == '<input class="a" hidden x="0.5" y="3">'


def test_children_nest() -> None:
    """Markup stands as it is, text is escaped, nothing is nothing, however deep."""
    nested: list[Any] = [Markup("<b>"), ["<", [None, "x"]]]
    assert join_markup(nested) == "<b>&lt;x"
    assert verbatim("style", "a > b") == "<style>a > b</style>"
