"""Questions about symbols of source code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import make_tool

from mcpg.bundle import assemble
from mcpg.code.graph import CodeScope
from mcpg.code.model import CodeEdge, CodeEdgeKind, CodeFile, Symbol, SymbolKind
from mcpg.code.page import write_page
from mcpg.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.index import Index
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Iterable

CALLS, INHERITS, IMPORTS = CodeEdgeKind.CALLS, CodeEdgeKind.INHERITS, CodeEdgeKind.IMPORTS

AUTH = CodeFile(
    "src/auth.cs",
    "csharp",
    "my-app",
    "main",
    60,
    (
        Symbol("AuthService", SymbolKind.CLASS, 10, 60, "public class AuthService : IAuth"),
        Symbol("AuthService.Login", SymbolKind.METHOD, 45, 52, "Login(string name)", "Logs in."),
        Symbol("AuthService.Hash", SymbolKind.METHOD, 54, 58, "Hash(string text)"),
    ),
    (
        CodeEdge(CALLS, "AuthService.Login", "src/auth.cs::AuthService.Hash", (47,)),
        CodeEdge(INHERITS, "AuthService", "src/iauth.cs::IAuth", (10,)),
    ),
)
INTERFACE = CodeFile(
    "src/iauth.cs",
    "csharp",
    "my-app",
    "main",
    9,
    (Symbol("IAuth", SymbolKind.INTERFACE, 1, 9, "public interface IAuth"),),
)
PAGE = CodeFile(
    "web/login.ts",
    "typescript",
    "my-app",
    "main",
    30,
    (Symbol("submitForm", SymbolKind.FUNCTION, 20, 30, "function submitForm()"),),
    (
        CodeEdge(CALLS, "submitForm", "src/auth.cs::AuthService.Login", (25,)),
        CodeEdge(IMPORTS, "", "leftpad", (1,), is_external=True),
    ),
)


def engine_of(files: Iterable[CodeFile], *tools: str) -> Engine:
    """Return an engine over source files and tools."""
    pages = tuple(map(write_page, files))
    batch = SourceBatch(tools=tuple(map(make_tool, tools)), documents=pages)
    return Engine(Index(compile_assembly(assemble(batch))))


@pytest.fixture(scope="module")
def code() -> Engine:
    """Return an engine over three source files and a tool."""
    return engine_of((AUTH, INTERFACE, PAGE), "send_mail")


def test_where_a_class_is(code: Engine) -> None:
    """A class is found at its file and lines, with kind and signature."""
    answer = code.ask("where is the AuthService class?")
    (result,) = answer.results
    assert (answer.decision.intent, answer.repository, answer.branch) == (
        "navigation",
        "my-app",
        "main",
    )
    assert (result.file, result.lines, result.kind) == ("src/auth.cs", "10-60", "class")
    assert result.sig == "public class AuthService : IAuth"


def test_what_calls_a_method(code: Engine) -> None:
    """A method comes with its callers, which are results as well."""
    answer = code.ask("what calls the Login method?")
    target, caller = answer.results
    assert answer.decision.direction == "callers"
    assert (target.symbol, target.type) == ("AuthService.Login", "symbol_with_relations")
    (related,) = target.related
    assert (related.name, related.rel, related.file, related.line) == (
        "submitForm",
        "called_by",
        "web/login.ts",
        25,
    )
    assert (caller.symbol, caller.type) == ("submitForm", "caller")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what does submitForm call", "AuthService.Login"),
        ("what inherits from IAuth", "AuthService"),
        ("subclasses of IAuth", "AuthService"),
        ("what does AuthService inherit from", "IAuth"),
        ("callers of AuthService.Hash", "AuthService.Login"),
    ],
)
def test_relations_both_ways(code: Engine, question: str, expected: str) -> None:
    """Calls and inheritance are followed in both directions."""
    answer = code.ask(question)
    assert answer.decision.intent == "relations"
    assert [one.symbol for one in answer.results[1:]] == [expected]


def test_a_chain_of_calls(code: Engine) -> None:
    """A chain of calls leads from one function to another."""
    answer = code.ask("how do I get from submitForm to AuthService.Hash")
    assert [one.symbol for one in answer.results] == [
        "submitForm",
        "AuthService.Login",
        "AuthService.Hash",
    ]


def test_a_scope_excludes(code: Engine) -> None:
    """Languages, branches, repositories and paths limit what is found."""
    question = "where is AuthService"
    assert code.ask(question, scope=CodeScope(languages=("csharp",))).results[0].type == "symbol"
    for scope in (
        CodeScope(languages=("typescript",)),
        CodeScope(branches=("next",)),
        CodeScope(repositories=("other",)),
        CodeScope(paths=("web",)),
    ):
        assert "AuthService" not in [one.symbol for one in code.ask(question, scope=scope).results]


def test_words_find_tools_and_symbols(code: Engine) -> None:
    """A search finds tools and symbols together."""
    kinds = {one.kind for one in code.ask("send mail after login").results}
    assert {"tool", "method"} <= kinds


def test_tools_beside_code_are_named_as_ever(code: Engine) -> None:
    """A tool of a bundle with source code is recognised."""
    assert [one.symbol for one in code.ask("where is send_mail").results] == ["send_mail"]


def test_code_alone() -> None:
    """A bundle of nothing but code answers questions about it."""
    answer = engine_of((AUTH, INTERFACE, PAGE)).ask("who calls Login?")
    assert [one.symbol for one in answer.results] == ["AuthService.Login", "submitForm"]
