"""Search of source code: symbols by name and by words."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from mcpg import load
from mcpg.ask.model import CodeScope
from mcpg.code.graph import CodeGraph
from mcpg.code.model import KINDS_BY_WORD
from mcpg.code.read import read_files
from mcpg.code.search import CodeMatch, CodeSearch

FILES = {
    "shop/auth/service.py": (
        "class UserService:\n"
        "    '''Manages accounts.'''\n"
        "    def check_password(self, login, password):\n"
        "        '''Verify the credentials of a customer.'''\n"
        "    def rename(self): pass\n"
    ),
    "shop/cart.py": "class Cart:\n    def add_item(self, item): pass\n\ndef user_service(): pass\n",
    "shop/tests.py": "def test_cart(): pass\n",
}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """Return a folder of source code."""
    for path, text in FILES.items():
        place = tmp_path / "code" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path / "code"


@pytest.fixture
def search(code: Path) -> CodeSearch:
    """Return the search of its graph."""
    return CodeSearch(CodeGraph(read_files(code)[0]))


def names(found: Iterable[CodeMatch]) -> list[str]:
    """Return the qualified names that were found."""
    return [match.definition.symbol.name for match in found]


@pytest.mark.parametrize("name", ["UserService", "userservice", "UserServise", "UsrService"])
def test_names_are_found_in_any_spelling(search: CodeSearch, name: str) -> None:
    """A name is found in another case and with a typing error, a class where one is asked for."""
    found = search.find_named_symbols(name, kinds=KINDS_BY_WORD["class"])
    assert names(found) == ["UserService"]
    assert (found[0].score == 1) == (name.casefold() == "userservice")


def test_a_name_in_words(search: CodeSearch) -> None:
    """The words of a name stand for it, however it is written in the code."""
    assert names(search.find_named_symbols("user service")) == ["UserService", "user_service"]
    assert names(search.find_named_symbols("add item")) == ["Cart.add_item"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("password check", "UserService.check_password"),
        ("verifying credentials", "UserService.check_password"),
        ("credentails of customers", "UserService.check_password"),
        ("adding items", "Cart.add_item"),
        ("renaming a user", "UserService.rename"),
    ],
)
def test_words_find_symbols(search: CodeSearch, text: str, first: str) -> None:
    """Words of names, comments and classes count, inflected or misspelt."""
    assert names(search.search(text))[0] == first


def test_abbreviations_stand_for_words(search: CodeSearch) -> None:
    """A part of a path that begins a word of the query is an abbreviation of it."""
    found = search.search("authentication")
    assert {match.definition.file.path for match in found} == {"shop/auth/service.py"}


def test_scores_are_shares(search: CodeSearch) -> None:
    """Scores are in [0, 1], in descending order, with the words that were found."""
    found = search.search("check the password of a user in the cart")
    scores = [match.score for match in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)
    assert set(found[0].words) >= {"check", "password"}


def test_scope_kinds_and_limit_hold(search: CodeSearch) -> None:
    """Only symbols of the scope and the kinds are found, and no more than the limit."""
    scope = CodeScope(paths=("shop/cart.py",))
    assert names(search.search("user service", scope)) == ["user_service"]
    assert names(search.search("cart", kinds=KINDS_BY_WORD["class"])) == ["Cart"]
    assert len(search.search("user", limit=1)) == 1
    assert len(search.find_named_symbols("user service", limit=1)) == 1


@pytest.mark.parametrize("text", ["", "  ", "::", "?!", "x" * 100_000, "\u0000", "登録"])
def test_any_text_may_be_asked(search: CodeSearch, text: str) -> None:
    """Texts without a word of the code find nothing, and fail nowhere."""
    assert search.search(text) == ()
    assert search.find_named_symbols(text) == ()


def test_empty_graphs_have_nothing() -> None:
    """A catalogue without source code finds no symbol."""
    assert CodeSearch(CodeGraph(())).search("login") == ()


def test_an_engine_has_the_code_of_its_bundle(code: Path) -> None:
    """`Engine.code` searches the source files of a bundle, and is read once."""
    engine = load(f"code:{code}")
    assert names(engine.code.find_named_symbols("Cart")) == ["Cart"]
    assert engine.code is engine.code
    assert engine.search("cart").matches == ()
