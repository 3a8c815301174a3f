"""Questions about symbols of source code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import make_tool

from mcpg.ask.model import CodeScope
from mcpg.bundle import assemble
from mcpg.code.model import CodeEdge, CodeEdgeKind, CodeFile, Symbol, SymbolKind, write_page
from mcpg.embeddings import FunctionEmbeddings
from mcpg.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.errors import UsageError
from mcpg.index import Index
from mcpg.search.results import EngineServices
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


OTHER = CodeFile(
    "src/auth.cs",
    "csharp",
    "other-app",
    "next",
    20,
    (Symbol("AuthService", SymbolKind.CLASS, 1, 20, "class AuthService", "Signs users in."),),
)
TESTS = CodeFile(
    "tests/test_auth.py",
    "python",
    "my-app",
    "main",
    9,
    (Symbol("test_login", SymbolKind.FUNCTION, 1, 9, "def test_login()", "Logs in."),),
    (CodeEdge(CALLS, "test_login", "src/auth.cs::AuthService.Login", (3,)),),
)


def test_several_repositories_stand_at_each_result() -> None:
    """Results of several repositories name theirs; of one, the answer does."""
    engine = engine_of((AUTH, INTERFACE, OTHER))
    answer = engine.ask("where is the AuthService class?")
    assert (answer.repository, answer.branch) == ("", "")
    homes = [(one.repo, one.branch) for one in answer.results]
    assert homes == [("my-app", "main"), ("other-app", "next")]
    scope = CodeScope(repositories=("other-app",))
    (found,) = (answer := engine.ask("where is the AuthService class?", scope=scope)).results
    assert (answer.repository, found.repo) == ("other-app", "")


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("where is src/auth.cs", "navigation"),
        ("open ./src/auth.cs", "navigation"),
        ("find auth.cs", "navigation"),
    ],
)
def test_files_are_results(code: Engine, question: str, intent: str) -> None:
    """A file is found by its path or the end of it."""
    answer = code.ask(question)
    (found,) = answer.results
    assert answer.decision.intent == intent
    assert (found.file, found.lines, found.kind) == ("src/auth.cs", "1-60", "file")


@pytest.mark.parametrize(
    ("question", "intent", "first"),
    [
        ("explain how hashing works", "documentation", "AuthService.Hash"),
        ("show me examples of using slugify", "examples", "slugify"),
        ("usage of AuthService", "examples", "AuthService"),
        ("how to use BaseBackend", "examples", "BaseBackend"),
        ("references to BaseBackend", "relations", "BaseBackend"),
        ("what depends on AuthService", "relations", "AuthService"),
        ("find similar code to AuthService.Login", "similar", None),
        ("find hashing code", "search", "AuthService.Hash"),
    ],
)
def test_wordings_about_code(code: Engine, question: str, intent: str, first: str | None) -> None:
    """Questions about code have the intents that their wordings have for code."""
    answer = code.ask(question)
    assert answer.decision.intent == intent
    assert first is None or answer.results[0].symbol == first


def test_a_type_depends_on_what_its_methods_use(code: Engine) -> None:
    """Dependencies of a type are those of its members, itself aside."""
    answer = code.ask("what does AuthService depend on")
    assert answer.decision.direction == "dependencies"
    assert [one.symbol for one in answer.results if one.type == "dependency"] == ["IAuth"]


def test_tests_stand_below_what_they_test() -> None:
    """Of equal symbols one of a test ranks lower, unless the query asks for tests."""
    engine = engine_of((AUTH, INTERFACE, TESTS))
    best = [one.symbol for one in engine.ask("log a user in").results]
    assert best.index("AuthService.Login") < best.index("test_login")
    assert engine.ask("login tests").results[0].symbol == "test_login"


def test_unknown_values_of_a_scope_are_reported(code: Engine) -> None:
    """A language, branch, repository or path that no file has is reported."""
    scope = CodeScope(("pyton", "csharp"), ("my-app",), ("trunk",), ("src", "nowhere"))
    found = [one.message for one in code.ask("AuthService", scope=scope).diagnostics]
    named = [one for one in found if one.startswith("no source code has the ")]
    assert [one.partition("has the ")[2].split("'")[:2] for one in named] == [
        ["language ", "pyton"],
        ["branch ", "trunk"],
        ["path ", "nowhere"],
    ]
    assert "did you mean 'python'" in named[0]


def test_a_tool_is_linked_with_its_function() -> None:
    """A tool whose function is in the code, without doubt, comes with its place."""
    file = CodeFile(
        "app/mail.py",
        "python",
        "my-app",
        "main",
        9,
        (
            Symbol("send_mail", SymbolKind.FUNCTION, 2, 5),
            Symbol("fetch", SymbolKind.FUNCTION, 6, 9, "", "Another thing."),
        ),
    )
    engine = engine_of((file,), "send_mail", "fetch")
    (handler, *_) = engine.ask("where is send_mail").results[0].related
    assert (handler.rel, handler.file, handler.line) == ("implemented_by", "app/mail.py", 2)
    assert all(
        one.rel != "implemented_by" for one in engine.ask("where is fetch").results[0].related
    )


def test_answers_are_kept(code: Engine) -> None:
    """The same question is answered once; another request is another question."""
    first = code.ask("where is slugify?")
    assert code.ask("where is slugify?") is first
    assert code.ask("where is slugify?", limit=1) is not first


def embed(texts: list[str]) -> list[list[float]]:
    """Return vectors in which words about doors are near each other."""
    near = [("hash", "text", "scramble"), ("slug", "address")]
    return [[0.1, *(sum(map(text.lower().count, words)) for words in near)] for text in texts]


def test_vectors_find_what_words_do_not() -> None:
    """With vectors, a symbol is found that shares no word with the question."""
    pages = tuple(map(write_page, (AUTH, BACKEND, INTERFACE)))
    index = Index(compile_assembly(assemble(SourceBatch(documents=pages))))
    services = EngineServices(embeddings=FunctionEmbeddings(embed, "test"))
    engine = Engine(index, services=services)
    assert not engine.ask("scramble").results
    for strategy in ("embeddings", "auto"):
        best, *_ = engine.ask("scramble", strategy=strategy).results
        assert (best.symbol, best.why) == ("AuthService.Hash", ("is near in meaning",))


def test_vectors_are_made_after_an_outage() -> None:
    """An answer without vectors is not kept: the next question asks the provider again."""
    pages = tuple(map(write_page, (AUTH, BACKEND, INTERFACE)))
    index = Index(compile_assembly(assemble(SourceBatch(documents=pages))))
    is_down = True

    def fail_first(texts: list[str]) -> list[list[float]]:
        if is_down:
            raise RuntimeError("the model is being loaded")
        return embed(texts)

    services = EngineServices(embeddings=FunctionEmbeddings(fail_first, "test"))
    engine = Engine(index, services=services)
    answer = engine.ask("scramble", strategy="embeddings")
    assert "embedding_failed" in [one.code for one in answer.diagnostics]
    is_down = False
    answer = engine.ask("scramble", strategy="embeddings")
    assert "embedding_failed" not in [one.code for one in answer.diagnostics]
    assert answer.results


def test_without_a_provider_words_are_searched(code: Engine) -> None:
    """A search with vectors that cannot be had is one by words, and says so."""
    answer = code.ask("hash", strategy="auto", intent="search")
    assert answer.results[0].symbol == "AuthService.Hash"
    assert "embedding_failed" in [one.code for one in answer.diagnostics]


@pytest.mark.parametrize("weights", [(0, 0), (-1, 2), (float("nan"), 1), (1, float("inf"))])
def test_weights_are_checked(code: Engine, weights: tuple[float, float]) -> None:
    """Weights are two numbers from 0 on, not both 0."""
    with pytest.raises(UsageError, match="weights"):
        code.ask("hash", strategy="auto", weights=weights)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("difference between Ldap and SafeLdap", ["Ldap", "SafeLdap"]),
        ("Ldap vs AuthService", ["AuthService", "Ldap"]),
        ("difference between extend and slugify", ["extend", "slugify"]),
    ],
)
def test_a_comparison_is_of_what_it_names(code: Engine, question: str, names: list[str]) -> None:
    """Symbols that are compared come with what each alone has, and without other symbols."""
    answer = code.ask(question)
    assert answer.decision.intent == "similar"
    assert sorted(one.symbol for one in answer.results) == names
    assert {one.type for one in answer.results} == {"compared"}


def test_a_comparison_tells_what_differs(code: Engine) -> None:
    """Members, ancestors and calls that one alone has, and those in common, are its reasons."""
    found = {one.symbol: one.why for one in code.ask("SafeLdap vs Ldap").results}
    assert found["SafeLdap"] == ("only it has: Ldap",)
    assert found["Ldap"] == ("only it has: check, BaseBackend",)


def test_common_words_between_from_and_to_are_names(code: Engine) -> None:
    """A chain names its ends by where they stand, even where they are words of English."""
    answer = code.ask("call chain from extend to slugify")
    assert answer.decision.direction == "path"
    assert [one.symbol for one in answer.results] == ["extend", "slugify"]
    assert code.ask("send it from extend to slugify").decision.intent == "search"


def test_the_object_of_a_verb_may_be_any_word(code: Engine) -> None:
    """What ends a question about calls is a name, even if it asks for something elsewhere."""
    answer = code.ask("what calls extend")
    assert (answer.decision.direction, answer.results[0].symbol) == ("callers", "extend")
