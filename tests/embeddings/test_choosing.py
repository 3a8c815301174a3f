from __future__ import annotations

import pytest

from mcpg.embeddings import KNOWN, make_provider
from mcpg.errors import UsageError


@pytest.mark.parametrize(
    ("spec", "model"),
    [
        ("local", "english"),
        ("local:english", "english"),
        (" local:multilingual ", "multilingual"),
    ],
)
def test_local_models_are_chosen_by_name(spec: str, model: str) -> None:
    """`local` is the English model; others are named."""
    assert repr(make_provider(spec)) == f"LocalEmbeddings({model!r})"


@pytest.mark.parametrize(
    ("spec", "guess"),
    [
        ("lokal", "did you mean local?"),
        ("Local:English", "did you mean local:english?"),
        ("local:multi", "did you mean local:multilingual?"),
        ("fast-embed:BAAI/bge", "did you mean fastembed:BAAI/bge?"),
        ("sentence_transformers:x", "did you mean sentence-transformers:x?"),
        ("fastembed:", "did you mean fastembed:NAME?"),
        ("fastembed", "did you mean fastembed:NAME?"),
        ("local:", "did you mean local?"),
        ("opnai:model", "did you mean openai:model?"),
        ("openai:model", "make one with mcpg.embeddings.http.HttpEmbeddings"),
    ],
)
def test_a_slip_is_answered_by_a_guess(spec: str, guess: str) -> None:
    """What nearly names a provider is an error that says which it nearly names."""
    with pytest.raises(UsageError, match="unknown embedding provider") as caught:
        make_provider(spec)
    assert (caught.value.remedy or "").startswith(guess)


@pytest.mark.parametrize("spec", ["", ":", "??", "\ud800\n"])
def test_what_is_like_nothing_lists_all(spec: str) -> None:
    """Without a guess the providers are listed."""
    with pytest.raises(UsageError) as caught:
        make_provider(spec)
    listed = f"choose one of {', '.join(KNOWN)}, or openai:MODEL on the command line"
    assert caught.value.remedy == listed
