"""The sources of a gateway: where its tools come from, and how they are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcpg.catalog.sources.servers import Server


@dataclass(frozen=True, slots=True)
class FileSource:
    """What is read: a manifest, a bundle, a document, a folder of these, or an OpenAPI document.

    Its tools can be found; they can be invoked only where another source of the gateway has them.

    Attributes:
        id: Unique in the gateway.
        path: The file or folder, or a module as `python:package.module`.
        source_id: Source id of the tools that do not say theirs, `None` for the file's name.
    """

    id: str
    path: str
    source_id: str | None = None


@dataclass(frozen=True, slots=True)
class ServerSource:
    """An MCP server, which is asked for its tools and called.

    Attributes:
        id: Unique in the gateway.
        server: The server.
        timeout: Seconds that it has to tell its tools, `None` for what is usual.
    """

    id: str
    server: Server
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """Functions of this process.

    Attributes:
        id: Unique in the gateway; the source id of the tools.
        functions: The functions, perhaps marked with `mcpg.authoring.tool`.
    """

    id: str
    functions: tuple[Callable[..., Any], ...] = field(repr=False)


Source = FileSource | ServerSource | FunctionSource
