"""Listed servers as items: their searched texts, and look-up by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mcpg.catalog.catalog import ToolLookup, assign_ids, number_namesakes
from mcpg.catalog.model import Hints, Tool
from mcpg.documents.model import ToolDocument
from mcpg.sources.listings import AGENT, MCP_SERVER, SKILL, ListedServer, read_listing_page
from mcpg.text.json_values import JsonObject

_TYPES = {MCP_SERVER: "server", AGENT: "agent", SKILL: "skill"}
"""The names of media types in lists."""


def _read_servers(pages: Iterable[ToolDocument]) -> dict[tuple[str, str], ListedServer]:
    """Return the servers of all pages by catalog and name.

    Of another server that has both, the catalog gets a number, so that none hides another.
    """
    servers = (server for page in pages for server in read_listing_page(page.further, page.body))
    found = number_namesakes(servers, lambda one: (one.catalog, one.name), ListedServer.__eq__)
    return {key: replace(server, catalog=key[0]) for key, server in found.items()}


def _make_tools(servers: Iterable[ListedServer]) -> tuple[Tool, ...]:
    """Return *servers* as what an index ranks, with ids, in order of these.

    What a publisher claims of a server ranks as what a server claims of a tool.
    """
    tools: list[Tool] = []
    for one in servers:
        claims: JsonObject = {
            "keywords": list(one.capabilities),
            "tags": list(one.tags),
            "examples": list(one.queries),
        }
        tools.append(
            Tool(
                id="",
                source_id=one.catalog,
                name=one.name,
                title=one.title or None,
                description=one.description,
                meta={"type": _TYPES.get(one.type, one.type), "listed": claims},
                hints=Hints(enabled_by_default=False if one.status else None),
            )
        )
    return assign_ids(tools)[0]


def make_documents(pages: Sequence[ToolDocument]) -> tuple[ToolDocument, ...]:
    """Return the servers of *pages* as documents for an index."""
    servers = _read_servers(pages)
    documents: list[ToolDocument] = []
    for tool in _make_tools(servers.values()):
        server = servers[tool.key]
        packages = (one.get("identifier") for one in server.packages)
        texts = (*server.texts, *filter(None, packages))
        place = f"servers/{tool.id}"
        body = "\n\n".join(map(str, texts))
        documents.append(ToolDocument(tool, f"{place}.md", f"urn:mcpg:{place}", body=body))
    return tuple(documents)


class ListedServers:
    """The servers among the pages of a bundle."""

    def __init__(self, pages: Iterable[ToolDocument]) -> None:
        servers = _read_servers(pages)
        tools = _make_tools(servers.values())
        self._lookup = ToolLookup(tools)
        self.by_id = {tool.id: servers[tool.key] for tool in tools}

    def find_named(self, name: str) -> ListedServer:
        """Return the server called *name*: its name, `CATALOG::NAME`, an id or a glob.

        Raises:
            NotFoundError: No server is called so, or several are.
        """
        return self.by_id[self._lookup.find_named(name, "server").id]
