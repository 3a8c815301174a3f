"""From the words in which people name an embedding provider to the provider."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from mcpg.embeddings.local import LOCAL_MODELS, LocalEmbeddings
from mcpg.errors import UsageError

if TYPE_CHECKING:
    from mcpg.embeddings.provider import EmbeddingProvider

LOCAL = tuple(f"local:{name}" for name in LOCAL_MODELS)
NAMED_KINDS = ("fastembed", "sentence-transformers")
KNOWN = ("local", *LOCAL, *(f"{kind}:NAME" for kind in NAMED_KINDS))
"""What `provider_of` takes."""

_ENDPOINT = "openai"  # the command line makes it, which alone knows address and key


def provider_of(spec: str) -> EmbeddingProvider:
    """Give the embedding provider that *spec* names.

    Nothing is loaded yet, and nothing is ever downloaded unless a package that downloads models is
    named together with a model.

    Args:
        spec: `local` or `local:english` (the English model that ships in a package),
            `local:multilingual`, `fastembed:NAME` or `sentence-transformers:NAME` (a model by the
            name, or for the latter the folder, by which that package knows it).

    Raises:
        EmbeddingError: A package that the provider needs is not installed (`missing`).
        UsageError: There is no such provider.
    """
    kind, colon, name = spec.strip().partition(":")
    if kind == "local" and (name or "english") in LOCAL_MODELS and (name or not colon):
        return LocalEmbeddings(LOCAL_MODELS[name or "english"])
    if kind in NAMED_KINDS and name:
        from mcpg.embeddings.named import NAMED  # noqa: PLC0415 - few people need it

        return NAMED[kind](name)
    raise UsageError(f"there is no embedding provider {spec!r}", remedy=_advice(spec))


def _advice(spec: str) -> str:
    kind, _, model = spec.strip().partition(":")
    if kind == _ENDPOINT:
        return "make one with mcpg.embeddings.http.HttpEmbeddings, which takes address and key"
    close = _closest(spec.strip().lower(), model)
    return f"{close}choose one of {', '.join(KNOWN)}, or {_ENDPOINT}:MODEL on the command line"


def _closest(spec: str, model: str) -> str:
    kind = get_close_matches(spec.partition(":")[0], ("local", *NAMED_KINDS, _ENDPOINT), n=1)
    if not kind:
        return ""
    if kind[0] == "local":
        return f"did you mean {get_close_matches(spec, ('local', *LOCAL), n=1, cutoff=0)[0]}? "
    return f"did you mean {kind[0]}:{model or 'NAME'}? "
