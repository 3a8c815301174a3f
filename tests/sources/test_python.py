from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcpg.catalog.model import Hints, Tool, ToolExample
from mcpg.engine import load
from mcpg.errors import Code, McpgError, NotFoundError, SourceError, UsageError
from mcpg.sources import read_sources, source_signature
from mcpg.sources.authoring import tool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str], str]

PLAIN = '''
from __future__ import annotations
import dataclasses, enum
from os.path import join
from typing import Annotated, Any, Literal
from pydantic import Field

print("noise")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Tree:
    name: str
    kids: list[Tree] = dataclasses.field(default_factory=list)


class Odd:
    pass


async def find(
    query: str,
    limit: Annotated[int, Field(ge=1, description="How many")] = 5,
    mode: Literal["near", "exact"] = "near",
    colour: Colour = Colour.RED,
    under: Tree | None = None,
    tags: set[str] = frozenset("mcpgraphtools"),
    many: dict[str, Any] = {"x": [{8, 1}]},  # a set gives 8 first
    odd=object(),
    nan: float = float("nan"),
) -> list[Tree]:
    """Find trees.

    In every wood.

    Args:
        query: What to look for.
        limit: Not said, since the annotation says it.

    Returns:
        The trees.
    """
    return []


def plain(): ...
def odd_parameter(odd: Odd): ...
def odd_answer() -> Odd: ...
def by_position(a, /): ...
def unknown(a: Nowhere): ...
def _private(): ...

several = [find, plain, 5]
number = 5
'''

MARKED = '''
from mcpg.sources.authoring import tool

@tool(
    name=" status ", title="Where it is", aliases=["wo ist mein Paket"], tags={"b", "a"},
    examples=({"input": "where is it"},), cost_tier="low", read_only=True,
    colour="red", category={},
)
def shipment_status(number: str) -> None:
    """Tell where a shipment is ?.

    :param number: as on the label
    """

# From Python 3.13 on, no docstring of a source may have half a character.
shipment_status.__doc__ = shipment_status.__doc__.replace("?", "\\ud800")

@tool
def other(): ...

def neither(): ...

other.__deprecated__ = "use status"
'''


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Write:
    """Write a module into the current folder; give it as a source."""
    monkeypatch.chdir(tmp_path)
    count = iter(range(9))

    def writing(text: str) -> str:
        name = f"made_{abs(hash(request.node.name))}_{next(count)}"
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        request.addfinalizer(lambda: sys.modules.pop(name, None))
        return f"python:{name}"

    return writing


def tools(source: str, **options: Any) -> tuple[dict[str, Tool], list[tuple[str, str]]]:
    """Read a module; give its tools by name, and of each diagnostic code and name."""
    batch = read_sources([source], imports=True, **options)
    noticed = [(item.code, str(item.place).rpartition(":")[2]) for item in batch.diagnostics]
    return {one.name: one for one in batch.tools}, noticed


def test_public_functions_become_tools(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing is marked, public functions that the module defines are read."""
    source = write(PLAIN)
    found, noticed = tools(source)
    assert list(found) == ["find", "plain", "odd_answer"]
    assert noticed == [
        (Code.TOOL_INVALID, "odd_parameter"),
        (Code.SCHEMA_INCOMPLETE, "odd_answer"),
        (Code.TOOL_INVALID, "by_position"),
        (Code.TOOL_INVALID, "unknown"),
    ]
    assert {one.source_id for one in found.values()} == {source.removeprefix("python:")}
    assert found["find"].description == "Find trees.\n\nIn every wood."
    assert found["plain"].input_schema["properties"] == {}
    assert found["plain"].output_schema is None
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "noise\n")


def test_signatures_become_schemas(write: Write) -> None:
    """Types, defaults and descriptions are kept; sets are sorted, what JSON cannot hold is not."""
    find = tools(write(PLAIN))[0]["find"]
    assert find.input_schema["required"] == ["query"]
    assert find.input_schema["properties"] == {
        "query": {"type": "string", "description": "What to look for."},
        "limit": {"type": "integer", "minimum": 1, "default": 5, "description": "How many"},
        "mode": {"type": "string", "enum": ["near", "exact"], "default": "near"},
        "colour": {"$ref": "#/$defs/Colour", "default": "red"},
        "under": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}], "default": None},
        "tags": {
            "type": "array",
            "items": {"type": "string"},
            "uniqueItems": True,
            "default": sorted(set("mcpgraphtools")),
        },
        "many": {"type": "object", "additionalProperties": True, "default": {"x": [[1, 8]]}},
        "odd": {},
        "nan": {"type": "number"},
    }
    assert find.output_schema is not None
    assert find.output_schema["items"] == {"$ref": "#/$defs/Tree"}
    assert find.output_schema["description"] == "The trees."
    assert "0x" not in repr(find)


def test_marked_functions_come_alone_with_their_hints(write: Write) -> None:
    """What the decorator says goes before the function; hints that cannot be used are reported."""
    found, noticed = tools(write(MARKED), source_id="mine")
    assert list(found) == ["status", "other"]
    status = found["status"]
    assert (status.title, status.source_id) == ("Where it is", "mine")
    assert status.description == "Tell where a shipment is \ufffd."
    assert status.input_schema["properties"] == {
        "number": {"type": "string", "description": "as on the label"}
    }
    assert status.hints == Hints(
        aliases=("wo ist mein Paket",),
        tags=("a", "b"),
        examples=(ToolExample("where is it"),),
        cost_tier=status.hints.cost_tier,
        read_only=True,
    )
    assert status.hints.cost_tier == "Low"
    assert not found["other"].enabled
    assert noticed == [(Code.HINT_INVALID, "shipment_status")] * 2


CACHED = """
from functools import cache, lru_cache, partial
from mcpg.sources.authoring import tool

class Lazy:
    def __call__(self): ...
    def __getattr__(self, name): raise RuntimeError(name)

request = Lazy()

{mark}
@cache
def above(number: int) -> int: ...

@lru_cache(maxsize=4)
{mark}
def below(number: int) -> int: ...

def helper(): ...
part = {part}(partial(helper))
"""


def test_a_marked_object_counts_as_a_marked_function(write: Write) -> None:
    """A mark on a cached or a partial function counts; functions without a mark are not read."""
    found, noticed = tools(write(CACHED.format(mark="@tool", part="tool(name='part')")))
    assert list(found) == ["above", "below", "part"]
    assert noticed == [(Code.SCHEMA_INCOMPLETE, "part")]  # a partial function states no type
    number = {"type": "object", "properties": {"number": {"type": "integer"}}}
    for one in (found["above"], found["below"]):
        assert one.input_schema.items() >= number.items()
        assert one.output_schema == {"type": "integer"}


def test_a_cached_function_is_a_public_function(write: Write) -> None:
    """Without marks, cached functions are read like others, and can be named."""
    source = write(CACHED.format(mark="", part=""))
    assert list(tools(source)[0]) == ["above", "below", "helper"]
    assert list(tools(f"{source}:above")[0]) == ["above"]


def test_the_decorator_leaves_the_function_alone() -> None:
    """A marked function is the same function."""

    def function(a: int) -> int:
        return a

    assert tool(function) is function
    assert tool(name="n")(function) is function
    assert function(2) == 2


def test_attributes_name_functions(write: Write) -> None:
    """After a second colon stands a function, or a list of functions."""
    source = write(PLAIN)
    assert list(tools(f"{source}:find")[0]) == ["find"]
    assert list(tools(f"{source}:several")[0]) == ["find", "plain"]
    with pytest.raises(NotFoundError, match="has no 'nothing'"):
        read_sources([f"{source}:nothing"], imports=True)
    with pytest.raises(SourceError, match="neither a function nor a list"):
        read_sources([f"{source}:number"], imports=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise SystemExit(3)", "failed: SystemExit: 3"),
        ("raise ValueError", "failed: ValueError"),
        ("import nowhere_at_all", "No module named 'nowhere_at_all'"),
        ("def", "SyntaxError"),
        (
            "class E(Exception):\n def __str__(self): raise ValueError\nraise E",
            "failed: E",
        ),
    ],
)
def test_modules_that_cannot_be_imported(write: Write, text: str, message: str) -> None:
    """A module that fails or exits is an error that names it."""
    source = write(text)
    with pytest.raises(SourceError, match=message) as caught:
        read_sources([source], imports=True)
    assert caught.value.place == source


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("python:", UsageError),
        ("python:a b", UsageError),
        ("python:json:", UsageError),
        ("python:json:a-b", UsageError),
        ("python:nowhere_at_all", NotFoundError),
        ("python:nowhere_at_all.inside", NotFoundError),
    ],
)
def test_names_that_lead_to_no_module(source: str, kind: type[McpgError]) -> None:
    """What is no name, or the name of nothing, is an error with a remedy."""
    with pytest.raises(kind) as caught:
        read_sources([source], imports=True)
    assert caught.value.remedy


def test_without_the_extra(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a library is missing, the error says how to install it; the module is not imported."""
    source = write("raise ValueError")
    monkeypatch.setitem(sys.modules, "docstring_parser", None)
    with pytest.raises(UsageError, match=r"needs the library 'docstring_parser'.*\[python\]"):
        read_sources([source], imports=True)


def test_modules_are_imported_only_where_that_is_meant(write: Write) -> None:
    """What reads bundles runs no code: settings of strangers may name a module as the bundle."""
    source = write("raise ValueError")
    with pytest.raises(UsageError, match="modules are not imported here"):
        read_sources([source])
    with pytest.raises(UsageError, match="modules are not imported here"):
        load(source)


def test_modules_are_never_signed() -> None:
    """A module is read anew each time: nobody can say without it whether it has changed."""
    assert source_signature(["python:a"]) is None


def test_the_same_bytes_whatever_the_order_of_sets(write: Write) -> None:
    """Runs whose sets are in another order make the same bundle, and print nothing else."""
    source = write(PLAIN)
    made = {
        subprocess.run(
            [sys.executable, "-m", "mcpg", "bundle", source, "-o", "-"],
            env={"PYTHONHASHSEED": seed, "PATH": "", "SYSTEMROOT": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(made) == 1
    assert made.pop().startswith(b"{")


def test_other_sources_do_without_pydantic(tmp_path: Path) -> None:
    """Neither the decorator nor the catalogue imports what the extra brings."""
    (tmp_path / "t.json").write_text('{"tools": [{"name": "a"}]}', encoding="utf-8")
    code = (
        "import sys; from mcpg.sources import read_sources; import mcpg.sources.authoring; "
        "read_sources(['t.json']); "
        "print({'pydantic', 'docstring_parser', 'referencing'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
