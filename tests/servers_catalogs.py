"""Catalogs in the formats in which they are met, of invented servers."""

from __future__ import annotations

from typing import Any

SERVER: dict[str, Any] = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "name": "io.github.acme/tide-tables",
    "title": "Tide tables",
    "description": "High and low water at harbours",
    "version": "1.4.0",
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@acme/tide-tables",
            "version": "1.4.0",
            "transport": {"type": "stdio"},
            "environmentVariables": [
                {"name": "TIDE_KEY", "description": "Key", "isRequired": True, "isSecret": True},
                {"name": "TIDE_UNITS", "default": "metres"},
                {"name": "TIDE_PROXY"},
            ],
        }
    ],
}
"""A server as 2025-12-11 has it."""

OLD_SERVER: dict[str, Any] = {
    "name": "io.github.acme/tide-tables",
    "description": "High and low water at harbours",
    "version_detail": {"version": "1.4.0"},
    "packages": [
        {
            "registry_type": "npm",
            "identifier": "@acme/tide-tables",
            "version": "1.4.0",
            "environment_variables": [
                {"name": "TIDE_KEY", "is_required": True, "is_secret": True},
                {"name": "TIDE_UNITS", "default": "metres"},
                {"name": "TIDE_PROXY"},
            ],
        }
    ],
}
"""The same as 2025-07-09 has it."""

ENTRY: dict[str, Any] = {
    "identifier": "urn:air:acme.example:server:orchard",
    "displayName": "Orchard planner",
    "type": "application/mcp-server-card+json",
    "url": "https://acme.example/orchard.json",
    "capabilities": ["plan_rows", "choose_rootstock"],
    "representativeQueries": ["which apple trees pollinate each other", "plan rows of pear trees"],
}
"""An entry of Agentic Resource Discovery."""

AGENT_CARD: dict[str, Any] = {
    "name": "Ferry desk",
    "description": "Books crossings",
    "url": "https://ferry.example/a2a",
    "version": "2.0",
    "protocolVersion": "0.3.0",
    "skills": [
        {
            "id": "book",
            "name": "book_crossing",
            "description": "Reserves a cabin and a place for a car",
            "tags": ["travel"],
            "examples": ["book the night ferry to Harwich"],
        }
    ],
}
"""An agent card of A2A."""
