"""The last list of tools of each server, kept in the cache folder for gateways that start."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpg.errors import InputError, OutputError
from mcpg.files import atomic_write, read_bytes, read_last_use
from mcpg.sources.client_config import Server, StdioServer
from mcpg.sources.live.requests import redact

SUFFIX = ".tools"
"""The ending of the files' names."""

MARK = b"mcpgtool"
"""How the files begin."""

_LAYOUT = 1
_MOST_FILES = 256
_MOST_BYTES = 8 << 20
# Of a tool and its schemas: what calls and checks of arguments depend on.
IDENTIFIERS = frozenset(("name", "type", "required", "enum", "const", "$ref"))


@dataclass(frozen=True, slots=True)
class ListingCache:
    """The lists in one folder; a list that cannot be written or read counts as missing."""

    folder: str

    def find(self, server: Server) -> tuple[str, list[Any]] | None:
        """Return the name that *server* had given itself, and its tools."""
        try:
            data = read_bytes(self._path(server), _MOST_BYTES)
            found = json.loads(data.removeprefix(MARK))
            if data.startswith(MARK) and found["layout"] == _LAYOUT:
                return str(found["name"]), [*found["tools"]]
        except (InputError, OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        return None

    def keep(self, server: Server, name: str, tools: list[Any], secrets: Collection[str]) -> None:
        """Keep the *tools* of *server*, without its secrets and the further *secrets*."""
        named = (*server.named_secrets, *secrets)
        (name, tools), _ = redact([name, tools], server.secrets, named, IDENTIFIERS)
        path = self._path(server)
        with suppress(OSError, OutputError, ValueError, RecursionError):
            members = {"layout": _LAYOUT, "name": name, "tools": tools}
            data = MARK + json.dumps(members).encode()
            if len(data) > _MOST_BYTES or (path.is_file() and path.read_bytes() == data):
                return
            atomic_write(path, data, sync=False, private=True)
            files = sorted(path.parent.glob(f"*{SUFFIX}"), key=read_last_use)
            for one in files[:-_MOST_FILES]:
                one.unlink(missing_ok=True)

    def _path(self, server: Server) -> Path:
        """Return the file of *server*, by how it is reached; which leaves out its secrets."""
        if isinstance(server, StdioServer):
            folder = os.path.abspath(server.cwd or "")  # noqa: PTH100 - a text
            reached = (server.command, *server.args, *sorted(server.env), folder)
        else:
            reached = (server.url, *sorted(server.headers))
        filters = server.included, server.excluded
        text, _ = redact(repr((server.name, reached, filters)), (), server.named_secrets)
        return Path(self.folder, hashlib.sha256(text.encode()).hexdigest()[:32] + SUFFIX)
