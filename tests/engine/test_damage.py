from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from builders import make_tool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mcpg
from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.cli import main
from mcpg.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.errors import NotFoundError
from mcpg.index import tables
from mcpg.index.file import open_index
from mcpg.index.layout import StaleIndexError, unpack
from mcpg.index.reader import Index
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from pathlib import Path

NOUNS = ("shipment", "order", "invoice", "parcel")
TOOLS = [
    make_tool(f"{noun}_{verb}", description=f"{verb.title()} one {noun} of a customer.")
    for noun in NOUNS
    for verb in ("create", "find", "cancel")
]
ASSEMBLY = assemble(SourceBatch(tools=(*TOOLS, make_tool("off", enabled_by_default=False))))
QUERIES = ("find an invoce", "parcel_cancel", "", "customer order and a shipment", "qwxz")
RIGHT = Engine(Index(compile_assembly(ASSEMBLY)))

every_place = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def answers(engine: Engine) -> list[Any]:
    """Give all that an engine says to a few queries."""
    results = [engine.search(query) for query in QUERIES]
    descriptors = [match.descriptor for result in results for match in result.matches]
    words = [engine.explain(query).words for query in QUERIES]
    return [results, descriptors, words, engine.documents, engine.tools]


ANSWERS = answers(RIGHT)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return a bundle with a fresh index."""
    path = tmp_path / "graph.mdld"
    write_bundle(path, build_bundle(ASSEMBLY))
    mcpg.load(path)
    return path


@pytest.fixture
def index(bundle: Path) -> Path:
    """Return the index of the bundle."""
    return bundle.with_name("graph.mdld.idx")


def flip(index: Path, place: float, bits: int) -> None:
    """Damage one byte of a file where it lies, at *place* in [0, 1) of its length."""
    with index.open("r+b") as file:
        at = int(place * index.stat().st_size)
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ bits]))


places = st.floats(0, 1, exclude_max=True)
bits = st.integers(1, 255)


@every_place
@given(place=places, bits=bits, size=st.sampled_from([0, 1 << 20]))
def test_a_damaged_index_changes_no_answer(
    bundle: Path, index: Path, place: float, bits: int, size: int
) -> None:
    """Whichever byte is wrong, in a small file or a large one, the answers are those without."""
    whole = index.read_bytes()
    flip(index, place, bits)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "CHECKED_SIZE", size)
        assert answers(mcpg.load(bundle)) == ANSWERS
    index.write_bytes(whole)


@every_place
@given(place=places, bits=bits)
def test_damage_while_an_engine_lives_changes_no_answer(
    bundle: Path, index: Path, place: float, bits: int
) -> None:
    """What is not read yet is compared with its checksum when it is."""
    engine = mcpg.load(bundle)
    flip(index, place, bits)

    assert answers(engine) == ANSWERS
    assert answers(mcpg.load(bundle)) == ANSWERS


@every_place
@given(damage=st.lists(st.tuples(places, bits), min_size=1, max_size=30))
def test_damage_under_a_large_index_is_no_failure(
    bundle: Path, index: Path, damage: list[tuple[float, int]]
) -> None:
    """Where sections are not compared before use, every search is answered all the same."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "CHECKED_SIZE", 0)
        engine = mcpg.load(bundle)
        for place, flipped in damage:
            flip(index, place, flipped)
        for query in QUERIES:
            scores = [match.score for match in engine.search(query).matches]
            assert all(0 <= score <= 1 for score in scores)
    index.unlink()
    assert answers(mcpg.load(bundle)) == ANSWERS


@pytest.mark.parametrize(
    "content",
    [b"", b"mcpg-idx", b"\0" * 100_000, b"%PDF-1.7 " * 1000, "half", "future", "zeros"],
)
def test_foreign_cut_and_future_files_change_no_answer(
    bundle: Path, index: Path, content: bytes | str
) -> None:
    """Whatever stands in the place of the index, it is mended and changes no answer."""
    whole = index.read_bytes()
    made = {
        "half": whole[: len(whole) // 2],
        "future": whole[:12] + b"\xff" + whole[13:],
        "zeros": whole[:4096] + bytes(len(whole) - 4096),
    }
    index.write_bytes(made[content] if isinstance(content, str) else content)

    assert answers(mcpg.load(bundle)) == ANSWERS
    assert index.read_bytes() == whole


@every_place
@given(place=places, bits=bits)
def test_the_program_prints_the_same(
    bundle: Path, index: Path, place: float, bits: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line says the same with a damaged index as with a whole one."""
    arguments = ["search", "find an invoce", "-b", str(bundle)]
    assert main(arguments) == 0
    right = capsys.readouterr()
    flip(index, place, bits)

    assert main(arguments) == 0
    assert capsys.readouterr() == right


def damaged(name: str) -> Index:
    """Return an index that has a section with a wrong byte."""
    data = bytearray(compile_assembly(ASSEMBLY))
    data[unpack(bytes(data))[1][name].start] ^= 1
    return Index(bytes(data))


@pytest.mark.parametrize("name", ["postings", "words", "records"])
def test_threads_share_one_repair(name: str) -> None:
    """However many searches meet the damage at once, the index is made anew once."""
    made: list[Index] = []

    def rebuild() -> Index:
        made.append(Index(compile_assembly(ASSEMBLY)))
        return made[-1]

    engine = Engine(damaged(name), rebuild=rebuild)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: answers(engine), range(8)))

    assert found == [ANSWERS] * 8
    assert made == [engine.index]


def test_matches_outlive_their_index() -> None:
    """A tool is described though its record was damaged after the search."""
    engine = Engine(damaged("records"), rebuild=lambda: RIGHT.index)
    match = engine.search(TOOLS[0].id).matches[0]

    assert match.descriptor.description == TOOLS[0].description


def test_without_a_way_to_rebuild_damage_is_reported() -> None:
    """An index from elsewhere is its giver's to replace."""
    with pytest.raises(StaleIndexError):
        Engine(damaged("postings")).search("order")


def test_faults_that_are_no_damage_are_passed_on() -> None:
    """A whole index is not made anew because a caller made a mistake."""

    def rebuild() -> Index:
        raise AssertionError("it was made anew")

    engine = Engine(Index(compile_assembly(ASSEMBLY)), rebuild=rebuild)
    with pytest.raises(NotFoundError):
        engine.explain("order", tool="nothing")


def test_a_bundle_that_is_gone_is_reported(bundle: Path, index: Path) -> None:
    """With neither index nor bundle, there is an error that says which file is missing."""
    engine = mcpg.load(bundle)
    bundle.unlink()
    place = unpack(index.read_bytes())[1]["postings"].start
    flip(index, place / index.stat().st_size, 1)

    with pytest.raises(NotFoundError, match="no such file"):
        engine.search("order")


def test_a_source_id_is_not_kept_in_the_index(bundle: Path) -> None:
    """What a bundle says under another source id is nobody else's answer."""
    mcpg.load(bundle, source_id="other")

    assert answers(mcpg.load(bundle)) == ANSWERS


def test_an_index_of_a_bundle_replaced_meanwhile_is_not_trusted(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bundle that changes between its reading and the compiling is read again."""
    bundle.with_name("graph.mdld.idx").unlink()
    less = assemble(SourceBatch(tools=tuple(TOOLS[:2])))

    def assembled(*arguments: Any, **options: Any) -> Any:
        made = assemble(*arguments, **options)
        write_bundle(bundle, build_bundle(less))
        return made

    monkeypatch.setattr("mcpg.bundle.assemble", assembled)
    mcpg.load(bundle)
    monkeypatch.undo()

    assert len(mcpg.load(bundle).tools) == 2
    assert len(open_index(f"{bundle}.idx")) == 2
