"""The sources of a gateway: where its tools come from, and how they are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from mcpg.catalog.sources.servers import Server


@dataclass(frozen=True, slots=True)
class FileSource:
    """What is read: a manifest, a bundle, a document, a folder of these, or an OpenAPI document.

    Its tools can be found. Those of a module are invoked here, and those of an OpenAPI document by
    HTTP; all others only where another source of the gateway has them.

    Attributes:
        id: Unique in the gateway.
        path: The file or folder, or a module as `python:package.module`.
        source_id: Source id of the tools that do not say theirs, `None` for the file's name.
        base_url: What the paths of an OpenAPI document stand below, `http` or `https`, in place of
            the servers that it names; its query goes with every request.
        headers: Headers of every request; they go to *base_url* and nowhere else.
        secrets: Texts beside these that must not come back in what is said of a failure.

    Raises:
        UsageError: *base_url* or *headers* cannot be used, or there are headers without address.
    """

    id: str
    path: str
    source_id: str | None = None
    base_url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.base_url is not None or self.headers:
            # Few sources have one, and reading documents is none of the others' affair.
            from mcpg.gateway.addressing import check_addressing  # noqa: PLC0415

            check_addressing(self.base_url, self.headers)


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
