"""The weights of words and vectors in the search of source code are fitted to judged queries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mcpg.bundle import assemble
from mcpg.cli.settings import Settings, set_value
from mcpg.code.model import CodeFile, Symbol, SymbolKind, write_page
from mcpg.code.tune import tune_weights
from mcpg.embeddings import FunctionEmbeddings
from mcpg.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.errors import InputError, UsageError
from mcpg.evaluation.judged import parse_judged
from mcpg.index import Index
from mcpg.search.results import EngineServices
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SYLLABLES = ("ba", "de", "ki", "lo", "mu", "ra")
WORDS = [f"{one}{two}x" for one in SYLLABLES for two in (*SYLLABLES, "sa", "te", "ni", "po")]


def embed(texts: Sequence[str], *, is_telling: bool) -> np.ndarray:
    """Return a vector for the word of each text, or one that tells nothing."""
    rows = np.zeros((len(texts), len(WORDS) + 1), dtype=np.float32)
    for row, text in enumerate(texts):
        number = next((n for n, word in enumerate(WORDS) if word in text.casefold()), 0)
        other = number if is_telling else (number * 7 + len(text)) % len(WORDS)
        rows[row, other] = 1.0
        rows[row, -1] = 0.1
    return rows


def make_engine(*, is_telling: bool) -> Engine:
    """Return an engine over a file of functions, one a word."""
    symbols = tuple(
        Symbol(f"do_{word}", SymbolKind.FUNCTION, line, line, f"def do_{word}()")
        for line, word in enumerate(WORDS, 1)
    )
    file = CodeFile("m.py", "python", "app", "main", len(WORDS), symbols)
    assembly = assemble(SourceBatch(documents=(write_page(file),)))
    provider = FunctionEmbeddings(lambda texts: embed(texts, is_telling=is_telling), "test")
    return Engine(Index(compile_assembly(assembly)), services=EngineServices(embeddings=provider))


def write_queries(words: Sequence[str]) -> bytes:
    """Return judged queries of one word each, as JSON lines."""
    rows = ({"query": f"{word} please", "relevant": f"do_{word}"} for word in words)
    return "\n".join(map(json.dumps, rows)).encode()


def test_words_count_more_where_vectors_mislead() -> None:
    """The setting that is best on what was held out is kept, with its gain."""
    judged = parse_judged(write_queries(WORDS), "q.jsonl")
    found = tune_weights(make_engine(is_telling=False), judged, 5, 0)
    assert found.tuned is not None
    assert found.part is not None
    assert found.tuned[1] < found.shipped[1]
    assert sum(found.tuned) == pytest.approx(1)
    assert found.part.figures["ndcg@5"].after > found.part.figures["ndcg@5"].before
    assert found.part.p < 0.05


def test_no_setting_is_better_where_both_find_all() -> None:
    """A gain that chance would bring is refused."""
    judged = parse_judged(write_queries(WORDS), "q.jsonl")
    found = tune_weights(make_engine(is_telling=True), judged, 5, 0)
    assert found.tuned is None
    assert found.refusal.startswith("no setting is better")


def test_too_few_queries_and_unknown_symbols_are_reported() -> None:
    """Nothing is learned from few queries; names that no symbol has are warnings."""
    judged = parse_judged(write_queries(["bade", *WORDS[:3]]), "q.jsonl")
    found = tune_weights(make_engine(is_telling=True), judged, 5, 0)
    assert "4 queries have an answer" in found.refusal
    assert [one.place for one in found.diagnostics] == ["q.jsonl:1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "[ask]\nweights = [1]\n"),
        ("limit = 3\n", "limit = 3\n\n[ask]\nweights = [1]\n"),
        ('# mine\n[ask]  # of code\nstrategy = "auto"\n',
         '# mine\n[ask]  # of code\nweights = [1]\nstrategy = "auto"\n'),
        ("[ask]\nweights = [\n  3,\n  4,\n]\n[lint]\n", "[ask]\nweights = [1]\n[lint]\n"),
        ("ask.weights = [3]\n", None),
        ("ask = { weights = [3] }\n", None),
    ],
)  # fmt: skip
def test_a_setting_is_written_into_a_file(text: str, expected: str | None) -> None:
    """All else of a file stays; what cannot be changed by a line is not changed."""
    assert set_value(text, ("ask", "weights"), "[1]") == expected


def test_settings_are_written_where_the_project_has_them(tmp_path: Path) -> None:
    """A project's file is changed, also `pyproject.toml`; a broken or odd one is not touched."""
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nname = "a"\n\n[tool.mcpg]\nlimit = 3\n')
    assert Settings(tmp_path).write("ask.weights", "[0.5, 0.5]") == str(project)
    assert project.read_text().endswith("[tool.mcpg.ask]\nweights = [0.5, 0.5]\n")
    settings = Settings(tmp_path)
    found = settings.find("ask.weights")
    assert found is not None
    assert found.value == [0.5, 0.5]
    odd = tmp_path / "mcpg.toml"
    for text, fault in (("[ask", InputError), ("ask = { weights = [1, 2] }\n", UsageError)):
        odd.write_text(text)
        with pytest.raises(fault):
            settings.write("ask.weights", "[0.5, 0.5]", str(odd))
        assert odd.read_text() == text
