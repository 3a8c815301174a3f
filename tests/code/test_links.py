"""Edges of source code: what scopes, imports, packages and types make of a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpg.code.graph import CodeGraph
from mcpg.code.model import CodeEdgeKind, CodeFile
from mcpg.code.read import read_files


def read(folder: Path, files: dict[str, str]) -> dict[str, CodeFile]:
    """Write *files* into *folder*, and read them."""
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return {one.path: one for one in read_files(folder)[0]}


def uses(file: CodeFile) -> set[tuple[str, str]]:
    """Return the certain edges of a file inside the code, without its imports."""
    return {
        (one.source, one.target)
        for one in file.edges
        if not (one.is_external or one.is_guess or one.kind is CodeEdgeKind.IMPORTS)
    }


def imports(file: CodeFile) -> list[tuple[str, bool]]:
    """Return what a file imports, and whether that is outside the code."""
    return [(one.target, one.is_external) for one in file.edges if one.kind is CodeEdgeKind.IMPORTS]


BINDINGS = {
    "a destructured object": "function f(o) { const { helper } = o; helper(); }",
    "a renamed property": "function f(o) { const { x: helper } = o; helper(); }",
    "an array": "function f(o) { const [helper] = o; helper(); }",
    "a rest": "function f({ ...helper }) { helper(); }",
    "for of": "function f(o) { for (const helper of o) { helper(); } }",
    "catch": "function f() { try { } catch (helper) { helper(); } }",
    "a parameter of a callback": "function f(o) { o.map((helper) => helper()); }",
    "a hoisted variable": "function f() { if (x) { var helper = 1; } helper(); }",
    "a default": "function f(helper = 1) { helper(); }",
    "a name of a function": "const g = [function helper() { helper(); }];",
}


@pytest.mark.parametrize("name", BINDINGS)
def test_bindings_shadow(name: str, tmp_path: Path) -> None:
    """Each kind of binding hides the import of the same name."""
    text = f"import {{ helper }} from './a';\n{BINDINGS[name]}\n"
    found = read(tmp_path, {"a.ts": "export function helper() {}\n", "b.ts": text})
    assert uses(found["b.ts"]) == set()


def test_a_binding_ends_with_its_scope(tmp_path: Path) -> None:
    """Outside a callback or block, a name means again what it meant before."""
    text = (
        "import { helper } from './a';\n"
        "function f(o) { o.map((helper) => helper); { const helper = 1; } return helper; }\n"
    )
    found = read(tmp_path, {"a.ts": "export function helper() {}\n", "b.ts": text})
    assert uses(found["b.ts"]) == {("f", "a.ts::helper")}


@pytest.mark.parametrize(
    ("export", "target"),
    [
        ("class Other {}\nexport default class Shop {}", "a.ts::Shop"),
        ("class Other {}\nclass Shop {}\nexport default Shop;", "a.ts::Shop"),
        ("class Other {}\nclass Shop {}\nexport { Shop as default };", "a.ts::Shop"),
        ("class Shop {}\nexport default make(Shop);", "a.ts"),
    ],
)
def test_default_exports_are_what_is_exported(export: str, target: str, tmp_path: Path) -> None:
    """A default import means what the file exports, not the class that it defines."""
    found = read(tmp_path, {"a.ts": export, "b.ts": "import S from './a';\n"})
    assert imports(found["b.ts"]) == [(target, False)]


def test_methods_of_objects_are_no_names(tmp_path: Path) -> None:
    """A method of a literal is a member of its constant, and no function of the file."""
    text = "export const shop = { open() {}, close: () => {} };\nopen();\nclose();\nshop.close();\n"
    found = read(tmp_path, {"a.ts": text})["a.ts"]
    names = [(one.name, one.kind.value) for one in found.symbols]
    assert names == [("shop", "constant"), ("shop.open", "method"), ("shop.close", "method")]
    assert ("", "a.ts::shop.close") in uses(found)
    assert ("", "a.ts::shop.open") not in uses(found)


def test_this_of_a_function_is_unknown(tmp_path: Path) -> None:
    """`this` in a function that is passed on is not the object around it; in an arrow it is."""
    text = (
        "class A {\n  go() {}\n  f(o) { o.map(function () { this.go(); }); }\n"
        "  g(o) { o.map(() => { this.go(); }); }\n}\n"
    )
    assert uses(read(tmp_path, {"a.ts": text})["a.ts"]) == {("A.g", "a.ts::A.go")}


def test_classes_without_a_name_own_their_methods(tmp_path: Path) -> None:
    """A call in an anonymous class means its own method, or one of its base."""
    text = (
        "class Base { void run() {} }\n"
        "class A {\n  void run() {}\n"
        "  Object f() { return new Base() { void go() { run(); stop(); } void stop() {} }; }\n}\n"
    )
    found = uses(read(tmp_path, {"A.java": text})["A.java"])
    assert ("A.f.go", "A.java::Base.run") in found
    assert ("A.f.go", "A.java::A.f.stop") in found
    assert ("A.f.go", "A.java::A.run") not in found


@pytest.mark.parametrize(
    ("files", "path", "name"),
    [
        (
            {
                "a/Entry.java": "package a;\nclass Entry {}\n",
                "b/B.java": "package b;\nimport java.util.Map.Entry;\nclass B { Entry e; }\n",
            },
            "b/B.java",
            "java.util.Map.Entry",
        ),
        (
            {
                "a/Entry.java": "package a;\nclass Entry {}\n",
                "b/B.java": "package b;\nimport java.util.*;\nclass B { Entry e; }\n",
            },
            "b/B.java",
            "java.util",
        ),
        (
            {"go.mod": "module x.y/shop\n", "log/log.go": "package log\nfunc New() {}\n"}
            | {"m.go": 'package m\nimport "github.com/other/log"\nfunc f() { log.New() }\n'},
            "m.go",
            "github.com/other/log",
        ),
        (
            {"src/error.rs": "pub struct Error {}\n"}
            | {"src/m.rs": "use other::error::Error;\nfn f(e: Error) {}\n"},
            "src/m.rs",
            "other.error.Error",
        ),
        (
            {"A.cs": "namespace A;\nclass Entry {}\n"}
            | {"B.cs": "namespace B;\nusing Other;\nclass B { Entry e; }\n"},
            "B.cs",
            "Other",
        ),
    ],
)
def test_names_of_other_packages_are_external(
    files: dict[str, str], path: str, name: str, tmp_path: Path
) -> None:
    """A type or package is not taken for one of the code that has the same name."""
    found = read(tmp_path, files)[path]
    assert uses(found) == set()
    assert imports(found) == [(name, True)]


def test_go_imports_follow_the_module(tmp_path: Path) -> None:
    """An import is linked by the path of `go.mod`, and called as its package is."""
    files = {
        "go.mod": "module x.y/shop\n",
        "pkg/v2/store.go": "package store\ntype Store struct{}\nfunc New() *Store { return nil }\n",
        "pkg/v2/store_test.go": "package store_test\nfunc New() {}\n",
        "m.go": 'package m\nimport "x.y/shop/pkg/v2"\nfunc f() store.Store { store.New() }\n',
    }
    found = read(tmp_path, files)["m.go"]
    assert imports(found) == [("pkg/v2/store.go", False)]
    assert uses(found) == {
        ("f", "pkg/v2/store.go::Store"),
        ("f", "pkg/v2/store.go::New"),
    }


def test_embedded_types_of_go_are_fields(tmp_path: Path) -> None:
    """A method is found through the name of an embedded type, and without it."""
    text = (
        "package m\ntype Group struct{}\nfunc (g *Group) Use() {}\n"
        "type Engine struct {\n\tGroup\n}\n"
        "func f(e *Engine) { e.Group.Use() }\nfunc g(e *Engine) { e.Use() }\n"
    )
    found = uses(read(tmp_path, {"m.go": text})["m.go"])
    assert {("f", "m.go::Group.Use"), ("g", "m.go::Group.Use")} <= found


def test_rust_paths_follow_crates(tmp_path: Path) -> None:
    """Paths lead through modules, crates of the workspace and modules inside a file."""
    files = {
        "a/Cargo.toml": '[package]\nname = "shop-core"\n',
        "a/src/lib.rs": "pub mod store;\npub use crate::store::Store;\n",
        "a/src/store.rs": (
            "pub struct Store {}\nimpl Store { pub fn open() -> Self { Store {} } }\n"
        ),
        "b/Cargo.toml": '[package]\nname = "web"\n[[bin]]\nname = "web"\npath = "web.rs"\n',
        "b/web.rs": (
            "use shop_core::Store;\nmod tools;\nfn run() { Store::open(); tools::fix(); }\n"
            "mod tests { use super::*; fn t() { run(); } }\nmod apart { fn t() { run(); } }\n"
        ),
        "b/tools.rs": "pub fn fix() {}\n",
        "c/Cargo.toml": '[package]\nname = "other"\n[lib]\npath = "gone.rs"\n[[bin]]\npath = 3\n',
        "c/src/lib.rs": "use other::x;\nuse crate::y;\nuse super::super::z;\n",
        "c/src/main.rs": "mod y;\nfn run() {}\nfn main() { crate::run(); y::go(); }\n",
        "c/src/y.rs": "pub fn go() {}\n",
        "d/Cargo.toml": "[[" * 5_000,
        "d/src/lib.rs": "use crate::d::e;\n",
    }
    by_path = read(tmp_path, files)
    assert {target for _, target in uses(by_path["c/src/main.rs"])} == {
        "c/src/main.rs::run",
        "c/src/y.rs::go",
    }
    found = uses(by_path["b/web.rs"])
    assert ("run", "a/src/store.rs::Store.open") in found
    assert ("run", "b/tools.rs::fix") in found
    assert ("tests.t", "b/web.rs::run") in found
    assert ("apart.t", "b/web.rs::run") not in found


def test_a_namespace_is_guessed_at(tmp_path: Path) -> None:
    """A type whose namespace nothing names is a guess, if one type alone has its name."""
    files = {
        "A.cs": "namespace A;\nclass OrderStore {}\n",
        "B.cs": "namespace B;\nclass B { OrderStore s; }\n",
    }
    (edge,) = read(tmp_path, files)["B.cs"].edges
    assert (edge.target, edge.is_guess) == ("A.cs::OrderStore", True)


COMPLETE = {
    "python": (
        {
            "m.py": (
                "class E(Exception): pass\nclass K:\n    def y(): pass\n\ndef h(): pass\n"
                "def f(x):\n    {}\n"
            )
        },
        {
            "raise E": "E",
            "raise E from x": "E",
            "try: pass\n    except (ValueError, E): pass": "E",
            "return isinstance(x, E)": "E",
            "return x is E": "E",
            "v: E | None = None": "E",
            "v: list[E] = []": "E",
            "return K.y": "K.y",
            "return [h for x in x if h]": "h",
            "return {'a': h}[x] or h": "h",
            "return f'{h}'": "h",
            "return lambda: h": "h",
        },
    ),
    "typescript": (
        {"m.ts": "class E {{ static y() {{}} }}\nfunction h() {{}}\nfunction f(x) {{ {} }}\n"},
        {
            "let v: E | undefined;": "E",
            "let v: Map<string, E[]>;": "E",
            "return x as E;": "E",
            "return x instanceof E;": "E",
            "return E.y;": "E.y",
            "return x === h ? 1 : h;": "h",
            "let v: typeof h;": "h",
            "throw new E();": "E",
        },
    ),
    "java": (
        {"M.java": "class E {{ static void y() {{}} }}\nclass M {{ void f(Object x) {{ {} }} }}\n"},
        {
            "E.y();": "E.y",
            "Object o = (E) x;": "E",
            "if (x instanceof E) {}": "E",
            "E[] v = new E[3];": "E",
            "java.util.List<? extends E> v;": "E",
            "Runnable r = E::y;": "E.y",
        },
    ),
    "go": (
        {"m.go": "package m\ntype E struct {{}}\nfunc h() {{}}\nfunc f(x any) {{ {} }}\n"},
        {
            "var v []E": "E",
            "_ = x.(*E)": "E",
            "var v map[string]E": "E",
            "if x == h { }": "h",
        },
    ),
    "csharp": (
        {"M.cs": "class E {{ static void Y() {{}} }}\nclass M {{ void F(object x) {{ {} }} }}\n"},
        {
            "E.Y();": "E.Y",
            "var v = (E)x;": "E",
            "var v = x as E;": "E",
            "if (x is E e) {}": "E",
            "var v = new List<E>();": "E",
            "E? v = null;": "E",
            "var v = typeof(E);": "E",
            "} [E] void E2() {": "E",
        },
    ),
    "rust": (
        {"src/m.rs": "struct E {{}}\nimpl E {{ fn y() {{}} }}\nfn h() {{}}\nfn f() {{ {} }}\n"},
        {
            "let v: Vec<E> = x;": "E",
            "E::y();": "E.y",
            "let v = E::y;": "E.y",
            "let v = if a { h } else { b };": "h",
            'println!("{}", h);': "h",
            "assert!(E::y());": "E",
        },
    ),
}


@pytest.mark.parametrize(
    ("language", "use"), [(one, use) for one, (_, found) in COMPLETE.items() for use in found]
)
def test_uses_are_found_where_they_stand(language: str, use: str, tmp_path: Path) -> None:
    """A name is found as an operand, type, argument, pattern and member, and not only in calls."""
    files, found = COMPLETE[language]
    ((path, text),) = files.items()
    targets = {target for _, target in uses(read(tmp_path, {path: text.format(use)})[path])}
    assert f"{path}::{found[use]}" in targets


def test_attributes_are_classes_of_their_own(tmp_path: Path) -> None:
    """`[Order]` means the class `OrderAttribute`, not one called `Order`, nor a method."""
    text = "class Order {}\nclass OrderAttribute {}\nclass A { [Order] void Order() {} }\n"
    found = uses(read(tmp_path, {"A.cs": text})["A.cs"])
    assert found == {("A.Order", "A.cs::OrderAttribute")}


def test_paths_in_macros_are_no_names(tmp_path: Path) -> None:
    """A variant in the arguments of a macro is not taken for a type with its name."""
    text = "enum Mode { Files }\nstruct Files;\nfn f(m: Mode) { assert_eq!(Mode::Files, m); }\n"
    assert uses(read(tmp_path, {"src/m.rs": text})["src/m.rs"]) == {("f", "src/m.rs::Mode")}


def test_values_that_disagree_have_no_type(tmp_path: Path) -> None:
    """A variable that holds objects of two types leads to the methods of neither."""
    text = (
        "class A:\n    def go(self): pass\nclass B:\n    def go(self): pass\n"
        "def f(x):\n    v = A()\n    if x:\n        v = B()\n    v.go()\n"
    )
    found = uses(read(tmp_path, {"m.py": text})["m.py"])
    assert found == {("f", "m.py::A"), ("f", "m.py::B")}


def test_an_imported_value_is_no_symbol(tmp_path: Path) -> None:
    """Of an object that another file makes, the methods are used, and the class is not."""
    files = {
        "conf.py": "class Settings:\n    def load(self): pass\n\nsettings = Settings()\n",
        "m.py": "from conf import settings\n\ndef f():\n    settings.load()\n    return settings\n",
    }
    assert uses(read(tmp_path, files)["m.py"]) == {("f", "conf.py::Settings.load")}


def test_lines_of_references_beside_calls_are_kept(tmp_path: Path) -> None:
    """A line that only refers to what another line calls has an edge of its own."""
    text = "def g(): pass\ndef f():\n    g()\n    return g\n"
    edges = read(tmp_path, {"m.py": text})["m.py"].edges
    assert [(one.kind.value, one.lines) for one in edges] == [("calls", (3,)), ("references", (4,))]


@pytest.mark.parametrize(
    ("path", "text", "name", "kind"),
    [
        ("m.py", "double = lambda x: x + x\n", "double", "function"),
        ("m.ts", "class A { go = (x: number) => x; }\n", "A.go", "method"),
        ("m.js", "class A { go = () => 1; }\n", "A.go", "method"),
        ("m.ts", "export const LIMIT = 3;\n", "LIMIT", "constant"),
        ("m.ts", "export namespace util { }\n", "util", "module"),
        ("m.rs", "mod tests { }\n", "tests", "module"),
    ],
)
def test_more_than_declarations_are_symbols(
    path: str, text: str, name: str, kind: str, tmp_path: Path
) -> None:
    """Lambdas, arrow functions in fields, exported constants and modules are symbols."""
    symbols = [(one.name, one.kind.value) for one in read(tmp_path, {path: text})[path].symbols]
    assert (name, kind) in symbols


def test_overloads_are_looked_up_by_number(tmp_path: Path) -> None:
    """`put#2` is the second definition of the name; `put` is all of them."""
    text = "class A {\n  void put(int x) {}\n  void put(long x) {}\n}\n"
    graph = CodeGraph(read(tmp_path, {"A.java": text}).values())
    assert [one.symbol.name for one in graph.find("A.put#2")] == ["A.put#2"]
    assert len(graph.find("A.put")) == 2
    assert graph.find("A.put#3") == ()


@pytest.mark.parametrize(
    ("path", "text", "signature"),
    [
        ("A.java", "class A { List<Foo> f(int a /* x > y */) { } }", "List<Foo> f(int a )"),
        ("m.rs", "fn f(a: u8) -> Vec<Foo> { }", "fn f(a: u8) -> Vec<Foo>"),
        ("m.ts", "interface A extends B<C> { }", "interface A extends B<C>"),
        (
            "m.py",
            "def f(\n    a='#', # why\n) -> list[int]: pass\n",
            "def f( a='#', ) -> list[int]",
        ),
    ],
)
def test_signatures_are_whole(path: str, text: str, signature: str, tmp_path: Path) -> None:
    """A signature keeps the end of a type, and has no comments."""
    symbols = read(tmp_path, {path: text})[path].symbols
    assert signature in [one.signature for one in symbols]


def test_a_class_depends_on_what_its_methods_call(tmp_path: Path) -> None:
    """The outgoing relations of a type are those of its members, outside itself, each once."""
    text = (
        "def log(): pass\nclass A:\n    def f(self):\n        log()\n        self.g()\n"
        "    def g(self):\n        log()\n"
    )
    graph = CodeGraph(read(tmp_path, {"m.py": text}).values())
    (start,) = graph.find("A")
    assert [one.name for one in graph.outgoing(start, (CodeEdgeKind.CALLS,))] == ["m.py::log"]


def test_elements_of_html_are_no_functions(tmp_path: Path) -> None:
    """In JSX, a name with a small letter is an element of HTML, whatever is called so."""
    text = (
        "function form() {}\nfunction Form() {}\n"
        "function page() { return <form><Form /><form /></form>; }\n"
    )
    for name in ("a.tsx", "a.jsx"):
        file = read(tmp_path / name, {name: text})[name]
        assert uses(file) == {("page", f"{name}::Form")}
