"""What comes out with a memory is, to the byte, what comes out without one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from builders import make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.bundle import Assembly, assemble, build_bundle, encode_bundle
from mcpg.caching.build_cache import NO_BUILD_CACHE, BuildCache, load_build_cache, save_build_cache
from mcpg.catalog.model import HintRule, Hints, SourceDocument, Tool
from mcpg.engine.loading import compile_assembly
from mcpg.sources import RawFile, SourceBatch

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

WORDS = st.sampled_from(
    (
        *("order", "orderId", "refund", "find", "the", "of", "don't", "1.5", "CVE-2024-1"),
        *(
            "na\u00efve",
            "\u8acb\u6c42\u66f8",
            "\ufdfa",
            "\ud800",
            "\u0421\u043f\u0438\u0441\u043e\u043a",
        ),
    )
)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
SCHEMAS = st.dictionaries(
    WORDS, st.builds(lambda text: {"type": "string", "description": text}, TEXTS), max_size=2
).map(lambda found: {"type": "object", "properties": found, "required": list(found)})
TOOLS = st.builds(
    lambda name, **members: replace(make_tool(name, **members), id=""),
    st.sampled_from(("order_find", "order_get", "refundIssue", "sky", "odd/name")),
    source_id=st.sampled_from(("shop", "bank")),
    description=TEXTS,
    title=st.none() | TEXTS,
    input_schema=SCHEMAS,
    output_schema=st.none() | SCHEMAS,
    keywords=st.lists(WORDS, max_size=2).map(tuple),
    place=st.sampled_from(("a.json: tools[0]", "b.json: tools[7]")),
)
FRONT = st.sampled_from(
    (
        "",
        "---\ntitle: Track it\n---\n",
        "---\nname: seen\ngraph_related: [sky, nobody]\nannotations: {size: 1.0, much: 1e3}\n---\n",
        "---\ntags: [order, 7]\nbroken: [\n---\n",
        '---\nmcpg:\n  keywords: ["order"]\n  title: 3\n---\n',
    )
)
DOCUMENTS = st.builds(
    lambda path, front, body, uri: SourceDocument(f"{path}.md", f"{front}\n{body}\n", uri, path),
    st.sampled_from(("shop/order_find", "b/c", "d")),
    FRONT,
    TEXTS,
    st.sampled_from((None, "urn:one")),
)
RULES = st.builds(
    lambda pattern, word: HintRule(pattern, Hints(keywords=(word,)), related=("*sky*",)),
    st.sampled_from(("*", "order_*")),
    WORDS,
)
BATCHES = st.builds(
    SourceBatch,
    tools=st.lists(TOOLS, max_size=5).map(tuple),
    rules=st.lists(RULES, max_size=1).map(tuple),
    documents=st.lists(DOCUMENTS, max_size=3).map(tuple),
)


@st.composite
def edits(draw: st.DrawFn) -> list[SourceBatch]:
    """Draw a batch of sources and what becomes of it, one small edit after the other."""
    states = [draw(BATCHES)]
    for _ in range(draw(st.integers(1, 5))):
        states.append(draw(edited(states[-1])))
    return states


@st.composite
def edited(draw: st.DrawFn, batch: SourceBatch) -> SourceBatch:
    """Draw *batch* with one thing added, removed, replaced or moved."""
    name = draw(st.sampled_from(("tools", "tools", "documents", "documents", "rules")))
    items = list(getattr(batch, name))
    at = draw(st.integers(0, len(items)))
    new = {"tools": TOOLS, "documents": DOCUMENTS, "rules": RULES}[name]
    items[at : at + draw(st.integers(0, 1))] = draw(st.lists(new, max_size=1))
    return replace(batch, **{name: tuple(items)})


def made(batch: SourceBatch, memo: BuildCache, source_id: str | None) -> tuple[object, ...]:
    """Put *batch* together: all that anybody can see of it, the index included."""
    assembly = assemble(batch, source_id=source_id, memo=memo)
    data = encode_bundle(build_bundle(assembly)) if is_writable(assembly) else b""
    return assembly, places(assembly), data, compile_assembly(assembly, memo=memo)


def is_writable(assembly: Assembly) -> bool:
    """Return whether the documents can stand in a file: half a character cannot."""
    return not any("\ud800" in text.content for text in assembly.texts)


def places(assembly: Assembly) -> list[str]:
    """Name where everything was read from, which equal tools need not share."""
    return [tool.place for tool in assembly.catalog.tools] + [
        document.tool.place for document in assembly.documents
    ]


@settings(max_examples=60, deadline=None)
@given(
    states=edits(),
    sources=st.lists(st.sampled_from((None, "mine")), min_size=6, max_size=6),
)
def test_a_memory_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    states: list[SourceBatch],
    sources: list[str | None],
) -> None:
    """After any edits, a build with the memory of the builds before gives the same bytes."""
    file = tmp_path_factory.mktemp("memo") / "graph.memo"
    for batch, source_id in zip(states, sources, strict=False):
        with load_build_cache(file) as memo:
            assert made(batch, memo, source_id) == made(batch, NO_BUILD_CACHE, source_id)
            save_build_cache(file, memo)


def test_bundles_are_remembered_as_well(tmp_path: Path) -> None:
    """A bundle among the sources may have changed in one document and be known in all others."""
    tools = tuple(make_tool(f"order_{n}", description="Finds an order.") for n in range(5))
    for names in (tools, tools[1:], (*tools, make_tool("sky", source_id="sky"))):
        text = encode_bundle(build_bundle(assemble(SourceBatch(tools=names)))).decode()
        batch = SourceBatch(bundles=(RawFile(text, "graph.mdld"),))
        with load_build_cache(tmp_path / "a.memo") as memo:
            assert made(batch, memo, None) == made(batch, NO_BUILD_CACHE, None)
            save_build_cache(tmp_path / "a.memo", memo)


def test_tools_are_worked_out_from_values(tmp_path: Path) -> None:
    """Numbers that are equal but are not written alike are told apart."""
    for number in (1, 1.0, True, 1e16, 10**16):
        tool = Tool("a", "shop", "a", annotations={"much": number})
        batch = SourceBatch(tools=(tool,))
        with load_build_cache(tmp_path / "a.memo") as memo:
            assert made(batch, memo, None) == made(batch, NO_BUILD_CACHE, None)
            save_build_cache(tmp_path / "a.memo", memo)
