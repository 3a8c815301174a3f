from __future__ import annotations

from typing import TYPE_CHECKING

from builders import make_tool
from vectorial import HashProvider

import mcpg
from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.index.file import cached_path
from mcpg.sources import SourceBatch
from mcpg.vectors.file import open_vectors

if TYPE_CHECKING:
    from pathlib import Path


def test_what_a_search_made_is_found_by_the_next_process(tmp_path: Path) -> None:
    """Vectors that a search had to make lie in the cache folder, and nothing beside the bundle."""
    tools = tuple(make_tool(f"tool_{number}", description=f"Does {number}.") for number in range(4))
    path, cache = tmp_path / "graph.mdld", str(tmp_path / "cache")
    write_bundle(path, build_bundle(assemble(SourceBatch(tools=tools))))

    for first in (True, False):
        provider = HashProvider()
        engine = mcpg.load(path, embeddings=provider, cache_dir=cache)
        assert engine.search("does", strategy="embeddings").ranking_mode == "vector"
        assert len(provider.batches) == 1 + first
    file = open_vectors(cached_path(str(path), cache, ".vec"))
    assert file.is_fresh(engine.index.header.key, 4, provider.fingerprint)
    assert not path.with_name("graph.mdld.vec").exists()
    assert mcpg.load(path, embeddings=None, cache_dir=cache).services.kept is None
