"""Source code as a source of `mcpg bundle`: options, configuration, freshness, bad paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from vectorial import embed_with

from mcpg import load
from mcpg.embeddings import FunctionEmbeddings

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

TOOLS = {"tools": [{"name": "login", "description": "Log in to the shop"}]}


@pytest.fixture
def folder(folder: Path) -> Path:
    """A folder with a manifest and source code, in which the program runs."""
    (folder / "tools.json").write_text(json.dumps(TOOLS), "utf-8")
    (folder / "src").mkdir()
    (folder / "src" / "app.py").write_text("def login(): pass\ndef post(): login()\n", "utf-8")
    return folder


def names(bundle: str) -> list[str]:
    """Return the names of the symbols in a bundle."""
    return [one.symbol.name for one in load(bundle).code.graph.definitions]


def test_code_is_bundled_beside_tools(run: Callable[..., Run]) -> None:
    """A bundle holds both; the search of tools finds the tool alone."""
    assert run("bundle", "tools.json", "code:src", "-o", "app.mdld", "-q").code == 0
    assert names("app.mdld") == ["login", "post"]
    found = json.loads(run("search", "login", "-b", "app.mdld", "--format", "json").out)
    assert [match["toolId"] for match in found["matches"]] == ["login"]


def test_code_is_a_configured_source(folder: Path, run: Callable[..., Run]) -> None:
    """`code` is a kind of the sources in mcpg.toml, relative to that file."""
    (folder / "mcpg.toml").write_text('[[sources]]\ncode = "src"\n', "utf-8")
    result = run("bundle", "-o", "app.mdld")
    assert result.code == 0
    assert "no tool was found" not in result.err
    assert names("app.mdld") == ["login", "post"]
    checks = json.loads(run("doctor", "--format", "json").out)["checks"]
    (check,) = [one for one in checks if one["name"] == "source src"]
    assert (check["status"], check["details"]["kind"]) == ("note", "code")


def test_changed_code_is_stale(folder: Path, run: Callable[..., Run]) -> None:
    """`--check` fails once a file has changed, and `--diff` shows its symbols."""
    sources = ("tools.json", "code:src", "-o", "app.mdld")
    assert run("bundle", *sources).code == 0
    assert run("bundle", *sources, "--check").code == 0
    (folder / "src" / "app.py").write_text("def logout(): pass\n", "utf-8")
    stale = run("bundle", *sources, "--check")
    assert stale.code == 1
    assert "~ code/src/app.py.md: code, body" in stale.err + stale.out
    shown = run("bundle", *sources, "--diff").out
    assert '+{"symbol": "logout"' in shown
    assert '-{"symbol": "login"' in shown


def test_a_missing_folder_is_an_error(run: Callable[..., Run]) -> None:
    """Code that is not there fails the build, with the path."""
    result = run("bundle", "code:nowhere", "-o", "app.mdld")
    assert result.code == 2
    assert "nowhere" in result.err


@pytest.fixture
def bundled(run: Callable[..., Run]) -> str:
    """A bundle of a tool and source code."""
    assert run("bundle", "tools.json", "code:src", "-o", "app.mdld", "-q").code == 0
    return "app.mdld"


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "ids", "markdown", "text"])
def test_symbols_are_a_kind_of_items(bundled: str, form: str, run: Callable[..., Run]) -> None:
    """`--kind symbol` lists, searches and explains symbols in every form of lists."""
    for command in (("list",), ("search", "login"), ("explain", "login")):
        result = run(*command, "-b", bundled, "--kind", "symbol", "--format", form)
        assert result.code == 0
        assert "app.py::login" in result.out


def test_kinds_are_told_apart(bundled: str, run: Callable[..., Run]) -> None:
    """Records of items state their kind, and lists of tools stay as they are."""
    found = json.loads(run("list", "-b", bundled, "--kind", "symbol", "--format", "json").out)
    assert [(one["id"], one["kind"], one["type"]) for one in found["items"]] == [
        ("app.py::login", "symbol", "function"),
        ("app.py::post", "symbol", "function"),
    ]
    plain = run("list", "-b", bundled, "--format", "json").out
    assert run("list", "-b", bundled, "--kind", "tool", "--format", "json").out == plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kind", "symbl"), "did you mean 'symbol'?"),
        (("--kind", "symbol", "--read-only"), "--read-only is only for tools"),
        (("--kind", "symbol", "--source", "a"), "--source is only for tools"),
        (("--kind", "symbol", "--category", "a"), "--category is only for tools"),
        (("--kind", "symbol", "--min-score", "0.5"), "--min-score is only for tools"),
        (("--kind", "symbol", "--as", "openai"), "--as is only for tools"),
        (("--kind", "symbol", "--deferred"), "--deferred is only for tools"),
        (("--kind", "symbol", "--context-tool", "a"), "--context-tool is only for tools"),
        (("--kind", "symbol", "-n", "-1"), "the limit is -1"),
    ],
)
def test_wrong_kinds_are_refused(
    bundled: str, options: tuple[str, ...], message: str, run: Callable[..., Run]
) -> None:
    """An unknown kind, and an option that is for tools, are errors of usage."""
    result = run("search", "login", "-b", bundled, *options)
    assert result.code == 2
    assert message in result.err


@pytest.mark.parametrize("options", [("--timings",), ("--prefer", "write"), ("--route",)])
def test_parts_of_an_explanation_of_tools_are_refused(
    bundled: str, options: tuple[str, ...], run: Callable[..., Run]
) -> None:
    """An option of explanations of tools is not ignored."""
    result = run("explain", "login", "-b", bundled, "--kind", "symbol", *options)
    assert result.code == 2
    assert f"{options[0]} is only for tools" in result.err


def test_nothing_found_is_an_exit_code(bundled: str, run: Callable[..., Run]) -> None:
    """A search for items that finds none exits with 1."""
    assert run("search", "zebra", "-b", bundled, "--kind", "symbol").code == 1


def test_code_pages_can_be_left_out(bundled: str, run: Callable[..., Run]) -> None:
    """`--no-code-pages` bundles the same tools without source code, also from a bundle."""
    for sources in (("tools.json", "code:src"), (bundled,)):
        result = run("bundle", *sources, "-o", "small.mdld", "--no-code-pages", "-q")
        assert result.code == 0
        assert names("small.mdld") == []
        assert [tool.name for tool in load("small.mdld").tools] == ["login"]


def test_questions_have_settings(folder: Path, bundled: str, run: Callable[..., Run]) -> None:
    """Patterns and the strategy of questions stand in mcpg.toml."""
    text = (
        '[ask]\nstrategy = "graph"\nweights = [0.5, 0.5]\n'
        '[ask.patterns]\n"who owns {symbol}" = "navigation"\n'
    )
    (folder / "mcpg.toml").write_text(text, "utf-8")
    found = json.loads(run("ask", "who owns post()", "-b", bundled, "--format", "json").out)
    assert (found["intent"], found["decision"]["decidedBy"]) == ("navigation", "pattern")


@pytest.mark.parametrize(
    "text", ["weights = [1]", "weights = [1, -1]", 'patterns = {"who" = "owner"}', 'strategy = "x"']
)
def test_wrong_settings_of_questions_are_refused(
    text: str, folder: Path, bundled: str, run: Callable[..., Run]
) -> None:
    """Settings that mean nothing are errors that name the file and the key."""
    (folder / "mcpg.toml").write_text(f"[ask]\n{text}\n", "utf-8")
    result = run("ask", "login", "-b", bundled)
    assert result.code == 2
    assert "mcpg.toml" in result.err


def test_symbols_are_nodes_of_the_graph(bundled: str, run: Callable[..., Run]) -> None:
    """Symbols, their edges, and the function of a tool can be queried, counted and exported."""
    query = (
        "SELECT ?name ?kind { ?caller mcpg:calls ?called ; schema:name ?name ; "
        'mcpg:symbolKind ?kind . ?called schema:name "login" }'
    )
    result = run("graph", "sparql", query, "-b", bundled, "--format", "csv")
    assert result.out.split() == ["name,kind", "post,function"]
    stats = json.loads(run("graph", "stats", "-b", bundled, "--format", "json").out)
    assert stats["items"]["symbol"] == {
        "symbols": {"function": 2},
        "edges": {"calls": 1},
        "files": {"python": 1},
    }
    turtle = run("graph", "export", "-b", bundled).out
    assert "a mcpg:Symbol" in turtle
    drawing = run("graph", "export", "-b", bundled, "--format", "mermaid").out
    assert "calls" in drawing


def test_results_of_two_branches_name_theirs(folder: Path, run: Callable[..., Run]) -> None:
    """Where a symbol is on several branches, each result names its own, for people as well."""
    for branch in ("main", "dev"):
        place = folder / branch / "app"
        (place / ".git").mkdir(parents=True)
        (place / ".git/HEAD").write_text(f"ref: refs/heads/{branch}\n", "utf-8")
        (place / "shop.py").write_text("def load_order(): pass\n", "utf-8")
    assert run("bundle", "code:main/app", "code:dev/app", "-o", "app.mdld", "-q").code == 0
    found = run("ask", "where is load_order", "-b", "app.mdld").out
    assert "shop.py:1-1 (app, main)" in found
    assert "shop.py:1-1 (app, dev)" in found
    found = run("ask", "where is load_order", "-b", "app.mdld", "--branch", "dev").out
    assert "shop.py:1-1\n" in found


def test_weights_of_code_are_tuned_and_written(
    folder: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What beats the default weights becomes a setting; a dry run writes nothing."""

    def mislead(texts: list[str]) -> list[list[float]]:
        places = (next((n for n, one in enumerate(words) if one in text), 0) for text in texts)
        shifted = [place + ("please" in text) for place, text in zip(places, texts, strict=True)]
        return [[float(n == place) for n in range(len(words) + 1)] for place in shifted]

    provider = FunctionEmbeddings(mislead, "misleading")
    embed_with(monkeypatch, provider)
    monkeypatch.setattr("mcpg.code.vectors.make_provider", lambda _spec: provider)
    words = [f"{one}o{two}x" for one in "bdfgklmnrz" for two in ("ra", "si", "to", "nu", "pe")]
    (folder / "app.py").write_text("".join(f"def do_{one}(): ...\n" for one in words))
    rows = ({"query": f"{one} please", "relevant": f"do_{one}"} for one in words)
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run("bundle", "code:app.py", "-o", "app.mdld", "-q").code == 0
    tune = ("tune", "q.jsonl", "-b", "app.mdld", "--kind", "symbol")
    dry = json.loads(run(*tune, "--dry-run", "--format", "json").out)
    assert (dry["written"], dry["refusal"]) == (False, None)
    assert not (folder / "mcpg.toml").exists()
    done = run(*tune)
    assert done.code == 0
    assert "ask.weights  [0.3, 0.7] shipped" in done.out
    assert (folder / "mcpg.toml").read_text() == f"[ask]\nweights = {dry['tuned']}\n"
    (folder / "few.jsonl").write_text('{"query": "a", "relevant": "do_borax"}')
    assert run("tune", "few.jsonl", "-b", "app.mdld", "--kind", "symbol").code == 1
    assert "has nothing to tune" in run(*tune[:-1], "server").err


def test_answers_as_csv_have_places(run: Callable[..., Run]) -> None:
    """A table for programs has the file and the lines of a result."""
    assert run("bundle", "code:src", "-o", "app.mdld", "-q").code == 0
    heads, row = run("ask", "where is post", "-b", "app.mdld", "--format", "csv").out.splitlines()
    values = dict(zip(heads.split(","), row.split(","), strict=True))
    assert (values["file"], values["lines"]) == ("app.py", "2-2")
