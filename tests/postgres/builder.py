"""Makes the vectors of a few tools in PostgreSQL, with a provider that writes down its work."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from builders import make_engine, make_tool

from mcpg.embeddings import FunctionEmbeddings
from mcpg.postgres import Database, PostgresStore
from mcpg.vectors.build import vectors_for

TOOLS = 40


def main(dsn: str, calls: Path) -> None:
    """Make the vectors once all processes are likely to be there."""

    def embed(texts: list[str]) -> list[list[float]]:
        with calls.open("a", encoding="utf-8") as written:
            written.writelines(f"{text!r}\n" for text in texts)
        time.sleep(0.3)
        return [[len(text), 1.0] for text in texts]

    engine = make_engine(*(make_tool(f"tool{number}") for number in range(TOOLS)))
    provider = FunctionEmbeddings(embed, "counted")
    built = vectors_for(engine.documents.values(), provider, store=PostgresStore(Database(dsn)))
    assert built.embedded + built.reused == TOOLS
    assert not built.diagnostics


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
