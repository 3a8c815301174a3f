"""SCIP indexes state the edges of source files, wherever they describe them as they are."""

from __future__ import annotations

import os
from itertools import pairwise
from time import process_time
from typing import TYPE_CHECKING

import pytest

from mcpg.code.graph import CodeGraph
from mcpg.code.model import CodeEdgeKind, SymbolKind
from mcpg.code.read import read_files
from mcpg.code.scip import read_descriptors, read_index
from mcpg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STORE = """\
class Base:
    limit = 10

    def save(self, data):
        return data


class Store(Base):
    def login(self):
        save = self.save
        return save(self.limit)
"""
MAIN = """\
from store import Store as Shop

shop = Shop()
shop.login()
"""
BASE, SAVE = "s p x 1 store/Base#", "s p x 1 store/Base#save()."
LIMIT, STORE_TYPE = "s p x 1 store/Base#limit.", "s p x 1 store/Store#"
LOGIN = "s p x 1 store/Store#login()."


def varint(number: int) -> bytes:
    """Return a number in the encoding of Protocol Buffers."""
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


def field(number: int, value: int | bytes | str) -> bytes:
    """Return a field of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def occurrence(symbol: str, line: int, start: int, end: int, roles: int = 0) -> bytes:
    """Return an occurrence on one line, counted from 1."""
    place = b"".join(map(varint, (line - 1, start, end)))
    return field(2, field(1, place) + field(2, symbol) + field(3, roles))


def document(path: str, *parts: bytes) -> bytes:
    """Return a document of an index."""
    return field(2, field(1, path) + b"".join(parts))


def index(*documents: bytes) -> bytes:
    """Return an index, with fields that this version of the format does not have."""
    tool = field(1, "scip-test") + field(2, "1.2")
    return field(1, field(2, tool) + field(99, 1)) + b"".join(documents) + field(98, "later")


STORE_DOCUMENT = document(
    "store.py",
    occurrence(BASE, 1, 6, 10, 1),
    occurrence(LIMIT, 2, 4, 9, 1),
    occurrence(SAVE, 4, 8, 12, 1),
    occurrence(STORE_TYPE, 8, 6, 11, 1),
    occurrence(BASE, 8, 12, 16),
    occurrence(LOGIN, 9, 8, 13, 1),
    occurrence("local 1", 10, 8, 12, 1),
    occurrence(SAVE, 10, 20, 24),
    occurrence("local 1", 11, 15, 19),
    occurrence(LIMIT, 11, 25, 30),
)
MAIN_DOCUMENT = document(
    "main.py",
    occurrence(STORE_TYPE, 1, 18, 23),
    occurrence(STORE_TYPE, 3, 7, 11),
    occurrence(LOGIN, 4, 5, 10),
)


def write_project(folder: Path, data: bytes, name: str = "index.scip") -> Path:
    """Write two source files, and an index that is newer."""
    folder.mkdir(exist_ok=True)
    (folder / "store.py").write_text(STORE)
    (folder / "main.py").write_text(MAIN)
    (folder / name).write_bytes(data)
    for path, time in ((folder / "store.py", 100), (folder / "main.py", 100), (folder / name, 200)):
        os.utime(path, (time, time))
    return folder


def list_users(
    graph: CodeGraph, name: str, *, certain: bool = False
) -> list[tuple[str, str, Sequence[int]]]:
    """Return the kind, the name and the lines of what leads to a symbol."""
    (found,) = graph.find(name)
    kinds = frozenset(CodeEdgeKind) - {CodeEdgeKind.DEFINES}
    return sorted(
        (one.kind, one.name, one.lines)
        for one in graph.incoming(found, kinds)
        if not (certain and one.is_guess)
    )


def test_edges_are_those_of_the_index(tmp_path: Path) -> None:
    """References are edges from what is around them; syntax decides between calls and others."""
    folder = write_project(tmp_path / "app", index(STORE_DOCUMENT, MAIN_DOCUMENT))
    files, noticed = read_files(folder)
    graph = CodeGraph(files)
    assert not noticed
    assert {file.indexer for file in files} == {"scip-test 1.2"}
    assert list_users(graph, "Base") == [("inherits", "store.py::Store", (8,))]
    assert list_users(graph, "save") == [("references", "store.py::Store.login", (10,))]
    assert list_users(graph, "login") == [("calls", "main.py", (4,))]
    assert list_users(graph, "Store") == [
        ("calls", "main.py", (3,)),
        ("imports", "main.py", (1,)),
    ]


def test_definitions_that_syntax_does_not_show_are_symbols(tmp_path: Path) -> None:
    """A field is a symbol with its line; a variable of a function is none."""
    folder = write_project(tmp_path / "app", index(STORE_DOCUMENT, MAIN_DOCUMENT))
    graph = CodeGraph(read_files(folder)[0])
    (limit,) = graph.find("Base.limit")
    assert (limit.symbol.kind, limit.symbol.first_line) == (SymbolKind.FIELD, 2)
    assert list_users(graph, "Base.limit") == [("references", "store.py::Store.login", (11,))]
    assert len(graph.find("save")) == 1


def test_an_index_can_be_named(tmp_path: Path) -> None:
    """An index that is named itself describes the folder that it stands in."""
    folder = write_project(tmp_path / "app", index(STORE_DOCUMENT), "code.scip")
    files, _ = read_files(folder / "code.scip")
    assert {file.path: file.indexer for file in files} == {
        "main.py": "",
        "store.py": "scip-test 1.2",
    }


def test_a_newer_file_is_read_without_the_index(tmp_path: Path) -> None:
    """A file that is newer than its index is linked by syntax, and both say so."""
    folder = write_project(tmp_path / "app", index(STORE_DOCUMENT, MAIN_DOCUMENT))
    os.utime(folder / "main.py", (300, 300))
    files, noticed = read_files(folder)
    assert {file.path: file.is_newer for file in files} == {"main.py": True, "store.py": False}
    assert [one.code for one in noticed] == ["code_index_stale"]
    assert ("calls", "main.py", (4,)) in list_users(CodeGraph(files), "login")


def test_a_newer_file_keeps_its_users(tmp_path: Path) -> None:
    """Edges from indexed files to a file that is newer than the index are those of syntax."""
    folder = write_project(tmp_path / "app", index(STORE_DOCUMENT, MAIN_DOCUMENT))
    os.utime(folder / "store.py", (300, 300))
    graph = CodeGraph(read_files(folder)[0])
    assert ("calls", "main.py", (4,)) in list_users(graph, "login")
    assert ("imports", "main.py", (1,)) in list_users(graph, "Store")


def test_an_index_of_other_files_is_reported(tmp_path: Path) -> None:
    """An index none of whose files is there was made for another folder."""
    folder = write_project(tmp_path / "app", index(document("src/store.py"), document("a\0b")))
    files, noticed = read_files(folder)
    assert (len(files), [one.code for one in noticed]) == (2, ["code_index_unusable"])


@pytest.mark.parametrize("path", ["../other/store.py", "/etc/passwd"])
def test_files_outside_the_folder_are_ignored(path: str, tmp_path: Path) -> None:
    """An index states nothing about files outside its folder."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other/store.py").write_text(STORE)
    folder = write_project(tmp_path / "app", index(document(path), STORE_DOCUMENT))
    files, noticed = read_files(folder)
    assert {file.path for file in files} == {"main.py", "store.py"}
    assert [one.code for one in noticed] == ["code_index_unusable"]


WHOLE = index(STORE_DOCUMENT, MAIN_DOCUMENT)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\xff" * 100,
        b"# a text",
        WHOLE[:-3],
        WHOLE[: len(WHOLE) // 2],
        field(2, field(2, b"\x0a\xff\xff\xff\xff\x0f")),
        varint(2 << 3 | 3),
        varint(2 << 3 | 2) + varint(1 << 60),
    ],
)
def test_damaged_indexes_are_reported(data: bytes, tmp_path: Path) -> None:
    """An index that is cut or none is reported, and the code is read by syntax."""
    folder = write_project(tmp_path / "app", data)
    with pytest.raises(InputError, match="SCIP index"):
        read_index(folder / "index.scip")
    files, noticed = read_files(folder)
    assert [one.code for one in noticed] == ["code_index_unusable"]
    assert ("calls", "main.py", (4,)) in list_users(CodeGraph(files), "login")


def test_a_huge_index_is_not_read(tmp_path: Path) -> None:
    """An index of a gigabyte is reported before it is read."""
    folder = write_project(tmp_path / "app", b"")
    with (folder / "index.scip").open("r+b") as file:
        file.truncate(1 << 30)
    files, noticed = read_files(folder)
    assert [one.code for one in noticed] == ["code_index_unusable"]
    assert len(files) == 2


def test_places_beyond_a_file_are_ignored(tmp_path: Path) -> None:
    """Lines and columns that a file does not have make no edges."""
    beyond = document(
        "main.py", occurrence(LOGIN, 4_000, 5, 10), occurrence("s p x 1 main/far.", 900, 0, 3, 1)
    )
    folder = write_project(tmp_path / "app", index(STORE_DOCUMENT, beyond))
    graph = CodeGraph(read_files(folder)[0])
    assert not list_users(graph, "login", certain=True)
    assert not graph.find("far")


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        (
            "s p x 1 a/`b.ts`/Shop#log_in().",
            [("a", "/"), ("b.ts", "/"), ("Shop", "#"), ("log_in", "()")],
        ),
        ("s p x 1 a/over(+1).", [("a", "/"), ("over", "()")]),
        ("s p a  b 1 `odd``name`.", [("odd`name", ".")]),
        ("s p x 1 a/run().(argument)", []),
        ("s p x 1", []),
        ("", []),
    ],
)
def test_descriptors(symbol: str, expected: list[tuple[str, str]]) -> None:
    """Symbols are names with suffixes; a parameter has none of its own."""
    assert read_descriptors(symbol) == expected


def test_what_the_index_does_not_record_is_a_guess(tmp_path: Path) -> None:
    """Names of an import of everything, which an indexer leaves out, are found by syntax."""
    silent = document("main.py", occurrence(STORE_TYPE, 3, 7, 11))
    folder = write_project(tmp_path / "app", index(STORE_DOCUMENT, silent))
    main = folder / "main.py"
    main.write_text("from store import *\n\nshop = Store()\nshop.login()\n")
    os.utime(main, (100, 100))
    graph = CodeGraph(read_files(folder)[0])
    (login,), (store,) = graph.find("login"), graph.find("Store")
    (call,) = graph.incoming(login, (CodeEdgeKind.CALLS,))
    assert (call.name, call.lines, call.is_guess) == ("main.py", (4,), True)
    assert not any(one.is_guess for one in graph.incoming(store, (CodeEdgeKind.CALLS,)))


def test_many_definitions_of_one_name_are_read_in_time(tmp_path: Path) -> None:
    """Definitions of an index are looked up among their namesakes by line."""
    count = 10_000
    names = [f"s p x 1 m/C{number}#" for number in range(count)]
    found = [occurrence(name, line, 6, 7, 1) for line, name in enumerate(names, 1)]
    bases = [
        field(3, field(1, name) + field(4, field(1, base) + field(3, 1)))
        for base, name in pairwise(names)
    ]
    folder = write_project(tmp_path / "app", index(document("m.py", *found, *bases)))
    (folder / "m.py").write_text("class C: pass\n" * count)
    os.utime(folder / "m.py", (100, 100))
    started = process_time()
    file = next(one for one in read_files(folder)[0] if one.path == "m.py")
    assert process_time() - started < 12
    assert len(file.symbols) == count
    assert sum(one.kind is CodeEdgeKind.INHERITS for one in file.edges) == count - 1


def test_a_type_stands_for_its_constructor(tmp_path: Path) -> None:
    """An index names the constructor where a type is created; such an edge leads to the type."""
    shop, make = "s p x 1 a/Shop#", "s p x 1 a/Shop#`<constructor>`()."
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "a.ts").write_text("export class Shop {\n  constructor() {}\n}\nnew Shop()\n")
    found = (occurrence(shop, 1, 13, 17, 1), occurrence(make, 2, 2, 13, 1))
    (folder / "index.scip").write_bytes(index(document("a.ts", *found, occurrence(make, 4, 4, 8))))
    os.utime(folder / "a.ts", (100, 100))
    graph = CodeGraph(read_files(folder)[0])
    (one,) = graph.find("Shop")
    (call,) = graph.incoming(one, (CodeEdgeKind.CALLS,))
    assert (call.lines, call.is_guess) == ((4,), False)
