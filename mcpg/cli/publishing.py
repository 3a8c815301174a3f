"""What `mcpg publish` does: the words and vectors of a bundle put into PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpg.cli.embedding import Target
from mcpg.cli.open_bundle import open_engine
from mcpg.cli.output import Output
from mcpg.cli.providers import Equipping
from mcpg.cli.settings import Settings
from mcpg.documents.model import ToolDocument
from mcpg.errors import UsageError
from mcpg.index.layout import NO_KEY
from mcpg.index.scoring import FIELDS, field_texts
from mcpg.vectors.file import UnusableVectorsError, VectorFile, open_vectors

if TYPE_CHECKING:
    from mcpg.engine import Engine
    from mcpg.postgres import PublishedTool

_NAMES = frozenset(FIELDS.index(name) for name in ("name", "title", "aliases"))


@dataclass(frozen=True, slots=True)
class Published:
    """What came of it.

    Attributes:
        is_new: Whether anything was written.
        tools: How many tools are published.
        key: SHA-256 of the bundle, in hexadecimal.
        fingerprint: Who made the vectors, "" where there are none.
        address: Where the database is, without user and password.
    """

    is_new: bool
    tools: int
    key: str
    fingerprint: str
    address: str

    @property
    def facts(self) -> dict[str, Any]:
        """Members of a report."""
        return {
            "published": self.is_new,
            "tools": self.tools,
            "key": self.key,
            "fingerprint": self.fingerprint or None,
            "database": self.address,
        }


def publish_bundle(settings: Settings, keep: int, output: Output) -> Published:
    """Publish the bundle that *settings* name, and keep as many older publications.

    Raises:
        UsageError: It is no bundle, or there is no database.
        PostgresError: The database cannot be reached, or refuses.
    """
    database = Equipping(settings).database
    engine = open_engine(settings, output)
    key = engine.index.header.key
    if key == NO_KEY:
        raise UsageError(
            "only a single bundle can be published",
            remedy="make one with `mcpg bundle`, and name it with --bundle",
        )
    vectors = _vectors(str(settings.bundles()[0].value), engine)
    maker = vectors.fingerprint if vectors else ""
    with closing(Equipping(settings).candidates()) as source, output.progress("publishing"):
        is_new = source.publish(_tools(engine, vectors), key.hex(), maker, keep)
    return Published(is_new, len(engine.index), key.hex(), maker, database.address)


def _vectors(path: str, engine: Engine) -> VectorFile | None:
    """Return the vectors of the bundle at *path*, where a file of them fits it."""
    key, tools = engine.index.header.key, len(engine.index)
    for place in Target(path, key, tools).places:
        try:
            found = open_vectors(place)
        except UnusableVectorsError:
            continue
        if found.is_fresh(key, tools, found.fingerprint):
            return found
    return None


def _tools(engine: Engine, vectors: VectorFile | None) -> Iterator[PublishedTool]:
    from mcpg.postgres import PublishedTool  # noqa: PLC0415 - whoever comes here has found it

    for number, document in enumerate(engine.documents.values()):
        names, texts = _texts(document)
        vector = vectors.vectors.vector(number) if vectors else None
        tool = document.tool
        yield PublishedTool(tool.id, names, texts, vector, tool.enabled)


def _texts(document: ToolDocument) -> tuple[str, str]:
    """Give what the tool of *document* is called, and all that is said of it, as it is indexed."""
    fields = list(field_texts(document))
    names = " ".join(text for field, text in fields if field in _NAMES)
    return names, " ".join(text for _, text in fields)
