"""Texts that a language model wrote rank the tools of a gateway, and reach no client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from mcp import Client

from mcpg.gateway import FileSource, Gateway
from mcpg.gateway.serve import DESCRIBE, META_TOOLS, ROUTE, SEARCH, ServingOptions
from mcpg.gateway.serve.server import GatewayServer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio

TOOLS = [
    {"name": "shipment_status", "description": "Return the state of a shipment."},
    {"name": "label_buy", "description": "Buy a label for a carrier."},
]
TEXTS = {"aliases": ["whereabouts"], "keywords": ["eta"], "examples": ["news of my order"]}


async def test_clients_find_tools_by_texts_that_they_never_see(tmp_path: Path) -> None:
    """Neither lists nor answers of meta-tools have them."""
    (tmp_path / "post.json").write_text(json.dumps({"tools": TOOLS}), "utf-8")
    written = {"tools": {"shipment_status": TEXTS}}
    (tmp_path / "post.generated.hints.json").write_text(json.dumps(written), "utf-8")
    async with Gateway([FileSource("post", str(tmp_path))], reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, ServingOptions(expose="all"))
        async with server.running(), Client(server.sdk) as client:
            told = [repr(await client.list_tools())]
            for name, arguments in (
                (SEARCH, {"query": "eta"}),
                (ROUTE, {"query": "eta"}),
                (DESCRIBE, {"toolId": "shipment_status"}),
            ):
                answer = await client.call_tool(name, arguments)
                assert not answer.is_error
                told.append(repr(answer))
                assert "shipment_status" in told[-1]
    assert not any(text in one for one in told for text in ("whereabouts", "news of my order"))
