"""Source code as a source: symbols, edges, pages, and what becomes of bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from bounded import output_of

from mcpg.ask.model import CodeScope
from mcpg.bundle import assemble
from mcpg.caching.build_cache import StoredBuildCache
from mcpg.code.graph import CodeGraph, locate_file
from mcpg.code.model import KINDS_BY_WORD, CodeEdgeKind, read_page, write_page
from mcpg.code.read import read_files, read_pages
from mcpg.documents.markdown import read_markdown
from mcpg.errors import Code
from mcpg.plugins.hooks import SourceRequest
from mcpg.sources import read_sources

CALLS = (CodeEdgeKind.CALLS,)
CLASSES = KINDS_BY_WORD["class"]
INHERITS = (CodeEdgeKind.INHERITS,)

SHOPS = {
    "python": {
        "shop/__init__.py": "",
        "shop/store.py": (
            "class Base:\n    def save(self):\n        '''Save it.'''\n\n"
            "class Store(Base):\n    def login(self):\n        self.save()\n"
        ),
        "shop/web.py": "from .store import Store as S\n\ndef post():\n    s = S()\n    s.login()\n",
    },
    "typescript": {
        "store.ts": (
            "export class Base {\n  /** Save it. */\n  save() {}\n}\n"
            "export class Store extends Base {\n  login(): void { this.save(); }\n}\n"
        ),
        "web.ts": (
            "import { Store as S } from './store';\n"
            "export function post() { const s = new S(); s.login(); }\n"
        ),
    },
    "javascript": {
        "store.js": (
            "export class Base {\n  // Save it.\n  save() {}\n}\n"
            "export class Store extends Base {\n  login() { this.save(); }\n}\n"
        ),
        "web.js": (
            "import { Store } from './store';\nconst post = () => { new Store().login(); };\n"
        ),
    },
    "csharp": {
        "Store.cs": (
            "namespace Shop;\npublic class Base {\n  /// <summary>Save it.</summary>\n"
            "  public void save() {}\n}\n"
            "public class Store : Base {\n  public void login() { save(); }\n}\n"
        ),
        "Web.cs": ("using Shop;\nclass Web {\n  void post(Store s) { s.login(); }\n}\n"),
    },
    "java": {
        "Base.java": "package shop;\nclass Base {\n  /** Save it. */\n  void save() {}\n}\n",
        "Store.java": (
            "package shop;\nclass Store extends Base {\n  void login() { save(); }\n}\n"
        ),
        "Web.java": "package shop;\nclass Web {\n  void post(Store s) { s.login(); }\n}\n",
    },
    "go": {
        "store/store.go": (
            "package store\n\ntype Base struct{}\n\n// Save it.\nfunc (b *Base) save() {}\n\n"
            "type Store struct {\n\tBase\n}\n\nfunc (s *Store) login() { s.save() }\n"
        ),
        "store/web.go": "package store\n\nfunc post(s *Store) { s.login() }\n",
    },
    "rust": {
        "src/store.rs": (
            "pub trait Base {\n    /// Save it.\n    fn save(&self) {}\n}\n"
            "pub struct Store {}\nimpl Base for Store {}\n"
            "impl Store {\n    pub fn login(&self) { self.save(); }\n}\n"
        ),
        "src/web.rs": "use crate::store::Store;\nfn post(s: &Store) { s.login(); }\n",
    },
}


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write *files* into *folder*."""
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def build_graph(folder: Path) -> CodeGraph:
    """Return the graph of a folder, through its pages."""
    return CodeGraph(filter(None, map(read_page, map(write_page, read_files(folder)[0]))))


@pytest.mark.parametrize("language", SHOPS)
def test_callers_are_found_across_files(language: str, tmp_path: Path) -> None:
    """In each language a call through a typed receiver leads to the method in another file."""
    graph = build_graph(write(tmp_path, SHOPS[language]))
    (login,) = graph.find("login")
    callers = graph.incoming(login, CALLS)
    assert [one.symbol.short_name for one in callers if one.symbol] == ["post"]
    assert [one.is_guess for one in callers] == [False]
    assert login.file.language == language


@pytest.mark.parametrize("language", SHOPS)
def test_inherited_methods_are_found(language: str, tmp_path: Path) -> None:
    """A call on the object itself leads to the method of a base; the base knows its heirs."""
    graph = build_graph(write(tmp_path, SHOPS[language]))
    (save,) = graph.find("Base.save")
    (base,) = graph.find("Base")
    assert [one.name.rpartition("::")[2] for one in graph.incoming(save, CALLS)] == ["Store.login"]
    heirs = graph.incoming(base, INHERITS)
    assert [one.name.rpartition("::")[2] for one in heirs] == ["Store"]


def called(graph: CodeGraph, caller: str) -> list[tuple[str, bool]]:
    """Return the ids that *caller* calls, and whether each is a guess."""
    (start,) = graph.find(caller)
    return [(one.name, one.is_guess) for one in graph.outgoing(start, CALLS)]


def test_new_objects_are_of_types(tmp_path: Path) -> None:
    """`new X` calls the type X, though a method around it has the same name."""
    text = "class Item {}\nclass Tests {\n  void Item() { var i = new Item(); }\n}\n"
    graph = build_graph(write(tmp_path, {"Tests.cs": text}))
    assert called(graph, "Tests.Item") == [("Tests.cs::Item", False)]


def test_parts_of_a_type_share_members(tmp_path: Path) -> None:
    """The parts of a partial class are one type, in other files too; another namespace is not."""
    graph = build_graph(
        write(
            tmp_path,
            {
                "a/One.cs": "namespace A;\npartial class Big { public void F() { G(); } }\n",
                "a/Two.cs": "namespace A;\npartial class Big { public void G() {} }\n",
                "b/Big.cs": "namespace B;\nclass Big { public void F() {} }\n",
            },
        )
    )
    (start,) = [one for one in graph.find("Big.F") if one.file.path == "a/One.cs"]
    assert [one.name for one in graph.outgoing(start, CALLS)] == ["a/Two.cs::Big.G"]


def test_overloads_are_called_by_the_first(tmp_path: Path) -> None:
    """Of several methods of a name, calls lead to the first one."""
    text = "class A {\n  void put(int x) {}\n  void put(long x) {}\n  void go() { put(1); }\n}\n"
    graph = build_graph(write(tmp_path, {"A.java": text}))
    assert called(graph, "A.go") == [("A.java::A.put", False)]


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("", [("m.py::Own.send_mail", True)]),
        (": Foreign", []),
        (": Own", [("m.py::Own.send_mail", False)]),
    ],
)
def test_methods_of_foreign_types_are_not_guessed(
    parameter: str, expected: list[tuple[str, bool]], tmp_path: Path
) -> None:
    """A method of an unknown receiver is guessed; one of a type outside the code is not."""
    text = (
        f"class Own:\n    def send_mail(self): pass\n\ndef go(x{parameter}):\n    x.send_mail()\n"
    )
    graph = build_graph(write(tmp_path, {"m.py": text}))
    assert called(graph, "go") == expected


@pytest.mark.parametrize("language", SHOPS)
def test_comments_document_symbols(language: str, tmp_path: Path) -> None:
    """The docstring or comment of a definition is its documentation, without marks."""
    graph = build_graph(write(tmp_path, SHOPS[language]))
    (save,) = graph.find("Base.save")
    assert save.symbol.documentation == "Save it."
    assert "save" in save.symbol.signature


def test_pages_round_trip(tmp_path: Path) -> None:
    """Reading a page gives the file that was written."""
    for language, files in SHOPS.items():
        found, _ = read_files(write(tmp_path / language, files))
        assert [read_page(write_page(one)) for one in found] == found


def test_scopes_filter(tmp_path: Path) -> None:
    """Languages and paths filter definitions and callers."""
    for language in ("python", "go"):
        write(tmp_path / language, SHOPS[language])
    graph = build_graph(tmp_path)
    assert len(graph.find("login")) == 2
    assert [one.file.language for one in graph.find("login", CodeScope(languages=("Go",)))] == [
        "go"
    ]
    (login,) = graph.find("login", CodeScope(paths=("python",)))
    assert login.file.path == "python/shop/store.py"
    assert graph.incoming(login, CALLS, CodeScope(paths=("go/*",))) == ()
    assert graph.find("login", CodeScope(branches=("other",))) == ()


def test_repository_and_branch_are_recorded(tmp_path: Path) -> None:
    """Both come from the files of Git, and no password of an address with them."""
    write(
        tmp_path,
        {
            ".git/HEAD": "ref: refs/heads/feature/x\n",
            ".git/config": '[remote "origin"]\n\turl = https://me:secret@host/team/shop.git\n',
            "a.py": "def f(): pass\n",
        },
    )
    (file,), _ = read_files(tmp_path)
    assert (file.repository, file.branch) == ("shop", "feature/x")
    assert "secret" not in write_page(file).content
    write(tmp_path, {".git/config": '[remote "origin"]\n\turl = https://me:secret@host\n'})
    assert read_files(tmp_path)[0][0].repository == "host"


def test_branches_do_not_mix(tmp_path: Path) -> None:
    """A symbol of one branch has callers of that branch alone."""
    files = []
    for branch in ("one", "two"):
        folder = write(tmp_path / branch / "shop", SHOPS["python"])
        write(folder, {".git/HEAD": f"ref: refs/heads/{branch}\n"})
        files += read_files(folder)[0]
    graph = CodeGraph(files)
    (login,) = graph.find("login", CodeScope(branches=("two",)))
    assert [one.file.branch for one in graph.incoming(login, CALLS)] == ["two"]


def test_ignored_files_are_passed_over(tmp_path: Path) -> None:
    """`.gitignore` files hold, the inner one first; what is in ignored folders stays ignored."""
    write(
        tmp_path,
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            ".gitignore": "build/\n*_gen.py\n",
            "a.py": "",
            "b_gen.py": "",
            "build/.gitignore": "!c.py\n",
            "build/c.py": "",
            "in/.gitignore": "!keep_gen.py\nd.py\n",
            "in/keep_gen.py": "",
            "in/d.py": "",
            "in/other_gen.py": "",
            "in/node_modules/e.py": "",
            ".hidden/f.py": "",
        },
    )
    (tmp_path / "in" / "loop").symlink_to(tmp_path)
    (tmp_path / "linked.py").symlink_to(tmp_path / "a.py")
    assert [one.path for one in read_files(tmp_path)[0]] == ["a.py", "in/keep_gen.py"]


PATHS = ("a.py", "ab.py", "[a].py", "in/a.py", "in/ab.py", "in/of/a.py", "in/of/b.py")


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ("*\n!*/\n!a.py", ["a.py", "in/a.py", "in/of/a.py"]),
        ("in/*\n!in/of/", ["[a].py", "a.py", "ab.py", "in/of/a.py", "in/of/b.py"]),
        ("/*.py\n**/of", ["in/a.py", "in/ab.py"]),
        ("in/**/a.py\n", ["[a].py", "a.py", "ab.py", "in/ab.py", "in/of/b.py"]),
        ("**/of/**\n?b.py  ", ["[a].py", "a.py", "in/a.py"]),
        ("in/**\n[!a].py\n", ["[a].py", "a.py", "ab.py"]),
        ("in\n\\[a].py\na.py\r\n", ["ab.py"]),
        ("[!]].py\na[]b].py\n", ["[a].py"]),
        (
            "[!]a].py\n[\\]a[]\\].py\n[a-c-]b.py\n[+--]\n",
            ["[a].py", "a.py", "in/a.py", "in/of/a.py"],
        ),
        ("#a.py\n\n/\n!\nin/ \n[z-a]\n[a\na\\\nb*b.py\na/**/b\n", ["[a].py", "a.py", "ab.py"]),
        ("a[]\n[]\n[!]\n[^]\nin/\na[]*.py\n", ["[a].py", "a.py", "ab.py"]),
    ],
)
def test_patterns_mean_what_they_mean_to_git(tmp_path: Path, rules: str, left: list[str]) -> None:
    """A path is ignored if Git ignores it; an invalid line changes no other."""
    write(tmp_path, {".git/HEAD": "", ".gitignore": rules, **dict.fromkeys(PATHS, "")})
    assert [one.path for one in read_files(tmp_path)[0]] == left


def test_files_that_are_too_many_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ones are read, in the order of their paths, and a warning states that."""
    monkeypatch.setattr("mcpg.code.read.MOST_FILES", 2)
    write(tmp_path, {"a.py": "", "b.py": ""})
    assert read_files(tmp_path)[1] == ()
    write(tmp_path, {"b/c.py": ""})
    files, (noticed,) = read_files(tmp_path)
    assert [one.path for one in files] == ["a.py", "b.py"]
    assert (noticed.code, noticed.severity) == (Code.SOURCE_INCOMPLETE, "warning")


def test_a_named_folder_is_read_though_it_is_ignored(tmp_path: Path) -> None:
    """The user's choice goes before a rule for the folder, not before rules for files in it."""
    files = {".gitignore": "in/\nb.py", "in/a.py": "", "in/b.py": "", "in/of/a.py": ""}
    write(tmp_path, {".git/HEAD": "", **files})
    assert [one.path for one in read_files(tmp_path / "in")[0]] == ["in/a.py", "in/of/a.py"]


@pytest.mark.parametrize(
    "pattern",
    ["*a" * 100 + "b", "*[ab]?" * 80 + "c", "**/a/" * 150 + "b", "**/*a*/" * 100 + "b"],
)
def test_no_pattern_is_tried_in_all_ways(tmp_path: Path, pattern: str) -> None:
    """A pattern of many wildcards is matched without backtracking."""
    name, folder = "a" * 200 + ".py", "a/" * 150
    write(tmp_path, {".git/HEAD": "", ".gitignore": pattern, name: "", f"{folder}a.py": ""})
    program = (
        "from pathlib import Path; from mcpg.code.read import source_files; "
        f"place = Path({str(tmp_path)!r}); print(len([*source_files(place, place)]))"
    )
    assert output_of(program) == "2\n"


@pytest.mark.parametrize(
    "config", ["\n" * 1_000_000, " " * 1_000_000, f"\turl = {'a' * 900_000}:", "[" * 1_000_000]
)
def test_no_configuration_of_git_is_searched_twice(tmp_path: Path, config: str) -> None:
    """The name of a repository is found in a time that grows with its configuration."""
    write(tmp_path, {".git/HEAD": "", ".git/config": f'[remote "origin"]\n{config}'})
    program = (
        "from pathlib import Path; from mcpg.code.read import find_repository; "
        f"print(find_repository(Path({str(tmp_path)!r})).name)"
    )
    assert output_of(program) == f"{tmp_path.name}\n"


def test_bad_files_become_diagnostics(tmp_path: Path) -> None:
    """What cannot be parsed is reported by its reason, and the rest is read."""
    write(
        tmp_path,
        {
            "big.py": b"x = 1\n" * 2_000_000,
            "binary.py": b"\0\xff\0" * 100,
            "broken.py": "def good(): pass\nclass (((\ndef also(): pass\n",
            "deep.py": "x = " + "(\n" * 50_000,
            "generated.go": "// Code generated by x. DO NOT EDIT.\npackage p\n",
            "latin.py": "def caf\u00e9(): pass\n".encode("latin-1"),
            "min.js": "var a=function(){b()};" * 2_000,
            "circle.py": (
                "class A(B): pass\nclass B(A):\n"
                "    def f(self):\n        x = x.f()\n        x.g()\n"
            ),
        },
    )
    files, noticed = read_files(tmp_path)
    names = {one.name for file in files for one in file.symbols}
    assert {"good", "A", "B.f", "caf\u00e9"} <= names
    told = " ".join(one.message for one in noticed)
    assert all(
        word in told for word in ("larger", "binary", "minified", "generated", "syntax", "complex")
    )


HOSTILE = {
    # Each of these would overflow the stack of a parser or of Python, or take minutes.
    "ambiguous.js": "{a:\n" * 200_000,
    "comments.js": "/**yield\n" * 60_000,
    "brackets.py": "x = " + "([\n" * 50_000,
    "errors.cs": "class A{void f(){g(h(\n" * 4_000,
    "generics.ts": "a<b<\n" * 10_000,
    "ladder.py": "".join(f"{' ' * depth}if x:\n" for depth in range(1_200)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_skipped(name: str, tmp_path: Path) -> None:
    """What nests more deeply than any program is reported, or read without its depths."""
    files, noticed = read_files(write(tmp_path, {name: HOSTILE[name], "good.py": "def f(): 1\n"}))
    assert {"f"} == {one.name for file in files for one in file.symbols}
    assert [one.code for one in noticed] == [Code.CODE_SKIPPED]


CHAINS = {
    "bases": {"a.py": "".join(f"class A{n}(A{n + 1}.x): pass\n" for n in range(1_500))},
    "classes": {
        "A.java": "".join(
            f"class A{n} extends A{n + 1} {{ void f() {{ g(); }}\n" for n in range(250)
        )
        + "}" * 250
    },
    "exports": {f"m{n}.py": f"from m{n + 1} import x\nx()\n" for n in range(400)},
    "stars": {f"m{n}.py": f"from m{n + 1} import *\nfoo()\n" for n in range(400)},
    "types": {
        "a.py": "".join(f"def f{n}() -> f{n + 1}: return f{n + 1}()\n" for n in range(1_500))
    },
    "within itself": {"a.rs": "impl A { fn f() { struct A; g(); x.y(); } }\n"},
}


@pytest.mark.parametrize("name", CHAINS)
def test_endless_chains_end(name: str, tmp_path: Path) -> None:
    """Bases, exports and types that lead from one to the next are followed for some steps."""
    files, noticed = read_files(write(tmp_path, CHAINS[name]))
    assert len(files) == len(CHAINS[name])
    assert noticed == ()


def test_files_that_state_too_much_are_skipped(tmp_path: Path) -> None:
    """More definitions than any hand writes are no source code."""
    text = "".join(f"def f{n}(): 1\n" for n in range(25_000))
    files, noticed = read_files(write(tmp_path, {"table.py": text}))
    assert (files, [one.code for one in noticed]) == ([], [Code.CODE_SKIPPED])


def test_the_cache_changes_nothing(tmp_path: Path) -> None:
    """Facts are recalled by content; what is read is the same, whatever file changed."""
    write(tmp_path, SHOPS["python"])
    memo = StoredBuildCache()
    first = read_files(tmp_path, memo)
    again = memo.make_next()
    assert read_files(tmp_path, again) == first
    assert not again.has_changed
    write(tmp_path, {"shop/web.py": "def get(): pass\n"})
    assert read_files(tmp_path, again.make_next()) == read_files(tmp_path)


def test_pages_are_recalled_whole(tmp_path: Path) -> None:
    """Pages are recalled where no file, branch or manifest of their folder changed."""
    write(
        tmp_path, {"a.py": "def (:\n", "go.mod": "module shop", ".git/HEAD": "ref: refs/heads/one"}
    )
    write(
        tmp_path, {"main.go": 'package main\n\nimport "shop/store"\n\nfunc f() { store.Save() }\n'}
    )
    write(tmp_path, {"store/store.go": "package store\n\nfunc Save() {}\n"})
    request = SourceRequest(f"code:{tmp_path}")
    memo = StoredBuildCache()
    first = read_pages(replace(request, memo=memo))
    again = memo.make_next()
    assert read_pages(replace(request, memo=again)) == first == read_pages(request)
    assert not again.has_changed
    assert [one.code for one in first.diagnostics] == [Code.CODE_SKIPPED]
    for path, text in (
        ("go.mod", "module other"),
        (".git/HEAD", "ref: refs/heads/two"),
        ("store/store.go", "package store\n\nfunc Load() {}\n"),
    ):
        before, text_before = read_pages(request), (tmp_path / path).read_text()
        write(tmp_path, {path: text})
        found = read_pages(replace(request, memo=again))
        assert found == read_pages(request) != before
        write(tmp_path, {path: text_before})


def test_symbols_are_no_tools(tmp_path: Path) -> None:
    """Source code adds pages to a bundle, and no tool: tools, edges and ids stay the same."""
    tools = [{"name": name, "description": f"{name} in the shop"} for name in ("login", "save")]
    (tmp_path / "shop.json").write_text(json.dumps({"tools": tools}))
    code = write(tmp_path / "code", SHOPS["python"])
    plain = assemble(read_sources([str(tmp_path / "shop.json")]))
    both = assemble(read_sources([str(tmp_path / "shop.json"), f"code:{code}"]))
    assert both.catalog.tools == plain.catalog.tools
    assert both.documents == plain.documents
    assert len(both.pages) == 3
    assert [
        one.symbol.name for one in CodeGraph(filter(None, map(read_page, both.texts))).find("Store")
    ] == ["Store"]


def test_call_chains_end(tmp_path: Path) -> None:
    """A chain is a shortest one, and a circle of calls does not hold it up."""
    text = "def a(): b()\ndef b(): a(); c()\ndef c(): d()\ndef d(): pass\n"
    graph = build_graph(write(tmp_path, {"m.py": text}))
    ends = [graph.find(name) for name in "ad"]
    assert [one.symbol.name for one in graph.call_chain(*ends)] == ["a", "b", "c", "d"]
    assert graph.call_chain(*ends[::-1]) == ()
    assert graph.call_chain(*ends, most=2) == ()


def test_imports_outside_the_code(tmp_path: Path) -> None:
    """What imports a library is found by the name of the library."""
    files = {
        "a.py": "import requests.auth\nimport requests.api\n",
        "b.py": "import requests_cache\n",
        "requests.py": "",
        "c.py": "import requests\nfrom in_here import d\n",
        "in_here.py": "d = 1\n",
        "e.js": 'import get from "requests/get";\n',
    }
    graph = build_graph(write(tmp_path, files))

    def importers(module: str, **scope: tuple[str, ...]) -> list[str]:
        return [one.file.path for one in graph.importers(module, CodeScope(**scope))]

    assert importers("requests") == ["a.py", "e.js"]
    assert importers("requests", languages=("python",)) == ["a.py"]
    assert importers("requests.auth") == ["a.py"]
    assert importers("in_here") == importers("request") == []


def test_kinds_filter_definitions(tmp_path: Path) -> None:
    """A class and a function of one name are told apart by their kind."""
    text = "class Login: pass\nclass Store:\n    def login(self): pass\n"
    graph = build_graph(write(tmp_path, {"m.py": text}))
    assert [one.symbol.name for one in graph.find("login", kinds=CLASSES)] == ["Login"]
    assert [one.symbol.name for one in graph.find("login", kinds=KINDS_BY_WORD["method"])] == [
        "Store.login"
    ]


def test_heirs_and_overrides(tmp_path: Path) -> None:
    """Heirs are followed over several levels, in circles too; overrides are theirs."""
    text = (
        "class A(C):\n    def f(self): pass\nclass B(A):\n    def f(self): pass\n"
        "class C(B):\n    def f(self): pass\n"
    )
    graph = build_graph(write(tmp_path, {"m.py": text}))
    (first,) = graph.find("A")
    assert [one.symbol.name for one in graph.heirs(first)] == ["B", "C"]
    assert [one.symbol.name for one in graph.heirs(first, depth=1)] == ["B"]
    assert [one.symbol.name for one in graph.ancestors(first)] == ["C", "B"]
    assert [one.symbol.name for one in graph.overrides(graph.find("A.f")[0])] == ["B.f", "C.f"]


def test_definitions_by_place(tmp_path: Path) -> None:
    """The innermost definition around a line is found, and files by the end of their path."""
    graph = build_graph(write(tmp_path, SHOPS["python"]))
    (file,) = graph.find_files("store.py")
    assert file.path == "shop/store.py"
    found = [graph.at(file, line) for line in (1, 2, 4, 7)]
    assert [one.symbol.name if one else None for one in found] == [
        "Base",
        "Base.save",
        None,
        "Store.login",
    ]
    assert found[1] is not None
    assert found[1].place == "shop/store.py:2-3"


def test_degrees_count_ends_once(tmp_path: Path) -> None:
    """Degrees count the symbols at the other ends; a call of oneself is none."""
    text = "def a():\n    b()\n    b()\n    a()\n\ndef b(): pass\n\nb()\n"
    graph = build_graph(write(tmp_path, {"m.py": text}))
    assert [graph.degrees(graph.find(name)[0]) for name in "ab"] == [(0, 1), (2, 0)]


def test_definitions_are_relations(tmp_path: Path) -> None:
    """What defines a symbol, and what a symbol or file defines, are relations like others."""
    graph = build_graph(write(tmp_path, SHOPS["python"]))
    (file,), (login,) = graph.find_files("store.py"), graph.find("login")
    defines = (CodeEdgeKind.DEFINES,)
    assert [one.name for one in graph.incoming(login, defines)] == ["shop/store.py::Store"]
    assert [one.symbol.name for one in graph.outgoing(file, defines) if one.symbol] == [
        "Base",
        "Store",
    ]


def test_private_members_have_names(tmp_path: Path) -> None:
    """The sign of a private member of JavaScript is no mark of a repeated name."""
    text = "class A {\n  #x() {}\n  f() { this.#x(); }\n}\nclass A { f() {} }\n"
    graph = build_graph(write(tmp_path, {"a.js": text}))
    names = [one.symbol.short_name for one in graph.definitions]
    assert names == ["A", "#x", "f", "A", "f"]
    assert [one.symbol.plain_name for one in graph.definitions][-1] == "A.f"


def test_brackets_in_a_path_are_no_link(tmp_path: Path) -> None:
    """A path such as that of a catch-all route of Next.js makes no link of its page."""
    write(tmp_path, {"app/[[...slug]]/page.ts": "export function page() {}\n"})
    (page,) = read_pages(SourceRequest(f"code:{tmp_path}")).documents
    assert not read_markdown(page.content.split("---\n")[2]).references
    assert build_graph(tmp_path).find("page")


def test_what_imports_a_symbol_imports_its_file(tmp_path: Path) -> None:
    """A file is imported by all that imports something from it, each once with its lines."""
    write(tmp_path, {"store.py": "class Store: pass\ndef load(): pass\n"})
    write(tmp_path, {"a.py": "from store import Store\nfrom store import load\n"})
    write(tmp_path, {"b.py": "import store\n", "c.py": "import os\n"})
    graph = build_graph(tmp_path)
    (file,) = graph.find_files("store.py")
    for end in (file, locate_file(file)):
        found = [(one.name, one.lines) for one in graph.incoming(end, (CodeEdgeKind.IMPORTS,))]
        assert found == [("a.py", (1, 2)), ("b.py", (1,))]
