"""Questions about symbols of source code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import make_tool

from mcpg.ask.model import CodeScope
from mcpg.bundle import assemble
from mcpg.code.model import CodeEdge, CodeEdgeKind, CodeFile, Symbol, SymbolKind, write_page
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
BACKEND = CodeFile(
    "src/backend.py",
    "python",
    "my-app",
    "main",
    40,
    (
        Symbol("BaseBackend", SymbolKind.CLASS, 1, 9, "class BaseBackend"),
        Symbol("BaseBackend.check", SymbolKind.METHOD, 2, 4, "def check(self)"),
        Symbol("Ldap", SymbolKind.CLASS, 10, 19, "class Ldap(BaseBackend)"),
        Symbol("Ldap.check", SymbolKind.METHOD, 12, 14, "def check(self)"),
        Symbol("SafeLdap", SymbolKind.CLASS, 20, 29, "class SafeLdap(Ldap)"),
        Symbol("extend", SymbolKind.FUNCTION, 30, 32, "def extend(items)"),
        Symbol("i", SymbolKind.FUNCTION, 33, 35, "def i()"),
        Symbol("slugify", SymbolKind.FUNCTION, 36, 40, "def slugify(text)"),
    ),
    (
        CodeEdge(INHERITS, "Ldap", "src/backend.py::BaseBackend", (10,)),
        CodeEdge(INHERITS, "SafeLdap", "src/backend.py::Ldap", (20,)),
        CodeEdge(CALLS, "extend", "src/backend.py::slugify", (31,)),
        CodeEdge(IMPORTS, "", "json", (1,), is_external=True),
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
    return engine_of((AUTH, BACKEND, INTERFACE, PAGE), "send_mail")


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


@pytest.mark.parametrize(
    ("question", "direction", "expected"),
    [
        ("what inherits from BaseBackend", "subtypes", ["Ldap", "SafeLdap"]),
        ("what extends the base class BaseBackend", "subtypes", ["Ldap", "SafeLdap"]),
        ("which classes extend BaseBackend", "subtypes", ["Ldap", "SafeLdap"]),
        ("superclasses of SafeLdap", "supertypes", ["Ldap", "BaseBackend"]),
        ("what is SafeLdap derived from", "supertypes", ["Ldap", "BaseBackend"]),
        ("what overrides BaseBackend.check", "subtypes", ["Ldap.check"]),
        ("what is slugify called by", "callers", ["extend"]),
        ("what is called by `extend`", "callees", ["slugify"]),
        ("what calls slugify", "callers", ["extend"]),
    ],
)
def test_direction_is_that_of_the_verb(
    code: Engine, question: str, direction: str, expected: list[str]
) -> None:
    """The verb and its voice tell a direction, not the words of the name; indirect heirs count."""
    answer = code.ask(question)
    assert answer.decision.direction == direction
    assert [one.symbol for one in answer.results[1:]] == expected


def test_reasons_tell_what_a_result_is(code: Engine) -> None:
    """A callee is told from a caller by its reason."""
    assert code.ask("what does submitForm call").results[1].why == (
        "callee of submitForm, line 25",
    )


def test_what_nothing_is_related_to(code: Engine) -> None:
    """A symbol without relations comes last, and says so."""
    (alone,) = code.ask("what does BaseBackend inherit from").results
    assert "no supertype is known" in alone.why
    *_, last = code.ask("who calls the check method").results
    assert "no caller is known" in last.why


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("where is the AuthServise class", "AuthService"),
        ("where is AuthService.Logn", "AuthService.Login"),
        ("where is the sulgify function", "slugify"),
    ],
)
def test_misspelt_symbols_are_found(code: Engine, question: str, expected: str) -> None:
    """A misspelt symbol is located as a well spelt one is."""
    answer = code.ask(question)
    assert answer.decision.intent == "navigation"
    assert [one.symbol for one in answer.results] == [expected]


def test_a_name_alone_is_a_symbol(code: Engine) -> None:
    """A symbol needs neither a capital nor a seam where nothing else is said."""
    assert code.ask("slugify").results[0].symbol == "slugify"
    assert code.ask("similar:slugify").parsed.symbols == ("slugify",)


@pytest.mark.parametrize(
    "question",
    [
        "where do I put it",
        "which classes extend it",
        "write the slugify file",
        "get the slugify called Alice",
        "zeige mir die Slugifi",
    ],
)
def test_words_of_questions_are_no_symbols(code: Engine, question: str) -> None:
    """Pronouns and verbs are no symbols, even if the code has such names."""
    assert code.ask(question).parsed.symbols == ()


def test_importers_of_a_library(code: Engine) -> None:
    """Files that import a library are found by its name."""
    answer = code.ask("which files import json")
    assert (answer.decision.intent, answer.decision.direction) == ("relations", "importers")
    assert [one.symbol for one in answer.results] == ["src/backend.py"]


def test_suggestions_lead_to_something(code: Engine) -> None:
    """Callers and callees are suggested where there are any."""
    suggested = [one.command[1] for one in code.ask("where is slugify?").suggestions]
    assert suggested == [
        "show me how slugify is used",
        "what calls slugify",
        "similar:slugify",
    ]


def test_a_chain_between_methods_of_one_name() -> None:
    """A chain leads from the first name to the last, even if their last parts are the same."""
    file = CodeFile(
        "a.py",
        "python",
        "my-app",
        "main",
        9,
        (
            Symbol("Model.save", SymbolKind.METHOD, 1, 2),
            Symbol("Base.save", SymbolKind.METHOD, 3, 4),
            Symbol("write_all", SymbolKind.FUNCTION, 5, 6),
        ),
        (
            CodeEdge(CALLS, "Base.save", "a.py::Model.save", (3,)),
            CodeEdge(CALLS, "Model.save", "a.py::write_all", (1,)),
            CodeEdge(CALLS, "write_all", "a.py::Base.save", (5,)),
        ),
    )
    answer = engine_of((file,)).ask("how do I get from Model.save to Base.save")
    assert (answer.decision.intent, answer.parsed.literals) == ("relations", ())
    assert [one.symbol for one in answer.results] == ["Model.save", "write_all", "Base.save"]


def test_one_symbol_in_two_spellings_is_no_chain(code: Engine) -> None:
    """A question that names one symbol twice is about that symbol."""
    answer = code.ask("what calls AuthService.Login, the Login method", intent="relations")
    assert answer.decision.direction == "callers"
    assert [one.symbol for one in answer.results] == ["AuthService.Login", "submitForm"]


def test_a_short_spelling_that_others_share_is_no_chain() -> None:
    """A name that may mean the symbol that is named beside it means that one."""
    login = Symbol("Guest.Login", SymbolKind.METHOD, 1, 2)
    guest = CodeFile("src/guest.cs", "csharp", "my-app", "main", 9, (login,))
    engine = engine_of((AUTH, guest), "send_mail")
    answer = engine.ask("what calls AuthService.Login, the Login method", intent="relations")
    assert answer.decision.direction == "callers"


@pytest.mark.parametrize("question", ["who calls show.__", "what calls `__`", "similar:__"])
def test_a_name_of_signs_is_like_no_symbol(question: str) -> None:
    """A name without letters misspells nothing, not even another one of signs."""
    file = CodeFile(
        "a.py", "python", "my-app", "main", 9, (Symbol("_", SymbolKind.FUNCTION, 1, 2),)
    )
    assert engine_of((file,), "send_mail").ask(question).parsed.symbols == ()


def test_only_short_questions_are_repaired(code: Engine) -> None:
    """A long question is not searched for misspelt symbols word by word."""
    assert code.ask("where is AuthServise").parsed.symbols
    assert not code.ask("where is AuthServise" + " and more" * 20).parsed.symbols
