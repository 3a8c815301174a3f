from __future__ import annotations

import json
from typing import Any

import pytest

from mcpg.errors import Code
from mcpg.sources.client_config import HttpServer, read_client_configuration
from mcpg.sources.server_entries import CLIENT_CREDENTIALS, JWT_BEARER, PRIVATE_KEY_JWT, OAuth

ENVIRON = {"SECRET": "marker-secret-1234"}


def read(**more: Any) -> tuple[HttpServer | None, str]:
    """Read a server with the members *more*, or why there is none."""
    entry = {"url": "https://example.com/mcp", **more}
    servers, noticed = read_client_configuration(
        json.dumps({"mcpServers": {"a": entry}}), "mcp.json", ENVIRON
    )
    if noticed:
        assert (noticed[0].code, servers) == (Code.SOURCE_LOAD_FAILED, ())
        return None, noticed[0].message
    (server,) = servers
    assert isinstance(server, HttpServer)
    return server, ""


SAID = OAuth(client_id="me", client_secret="marker-secret-1234", scope="read write")


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, OAuth()),
        ({"oauth": True, "auth": "oauth"}, OAuth()),
        ({"oauth": False}, None),
        ({"oauth": {"enabled": False}}, None),
        (
            {"oauth": {"clientId": "me", "clientSecret": "${SECRET}", "scopes": ["read", "write"]}},
            SAID,
        ),
        (
            {"oauth": {"client_id": "me", "client_secret": "${SECRET}", "scope": "read write"}},
            SAID,
        ),
        (
            {
                "auth": {
                    "CLIENT_ID": "me",
                    "CLIENT_SECRET": "${env:SECRET}",
                    "scopes": ["read", "write"],
                }
            },
            SAID,
        ),
        (
            {"oauth": {"clientId": "me", "callbackPort": 8080, "authorizationUrl": "https://x"}},
            OAuth(client_id="me", redirect="http://localhost:8080/callback"),
        ),
        (
            {"oauth": {"redirectUri": "http://127.0.0.1:7777/oauth/callback", "scope": None}},
            OAuth(redirect="http://127.0.0.1:7777/oauth/callback"),
        ),
        (
            {
                "oauthClientId": "me",
                "oauthClientSecret": "s",
                "oauthGrantType": "client_credentials",
            },
            OAuth(CLIENT_CREDENTIALS, "me", "s"),
        ),
        (
            {
                "oauth": {
                    "grant": "client-credentials",
                    "clientId": "me",
                    "clientSecret": "s",
                    "authMethod": "client_secret_post",
                    "issuer": "https://login.example.com",
                }
            },
            OAuth(
                CLIENT_CREDENTIALS,
                "me",
                "s",
                method="client_secret_post",
                issuer="https://login.example.com",
            ),
        ),
        (
            {
                "oauth": {
                    "grant": "client_credentials",
                    "client_id": "me",
                    "private_key": "${SECRET}",
                    "algorithm": "EdDSA",
                }
            },
            OAuth(
                CLIENT_CREDENTIALS,
                "me",
                method=PRIVATE_KEY_JWT,
                private_key="marker-secret-1234",
                algorithm="EdDSA",
            ),
        ),
        (
            {
                "oauth": {
                    "grant": "client_credentials",
                    "clientId": "me",
                    "authMethod": "private_key_jwt",
                    "privateKeyFile": "~/key.pem",
                }
            },
            OAuth(CLIENT_CREDENTIALS, "me", method=PRIVATE_KEY_JWT, private_key_file="~/key.pem"),
        ),
        (
            {
                "oauth": {
                    "grantType": "urn:ietf:params:oauth:grant-type:jwt-bearer",
                    "clientId": "me",
                    "clientSecret": "s",
                    "issuer": "https://login.example.com",
                    "assertionFile": "/run/assertion",
                }
            },
            OAuth(
                JWT_BEARER,
                "me",
                "s",
                issuer="https://login.example.com",
                assertion_file="/run/assertion",
            ),
        ),
    ],
)
def test_dialects(members: dict[str, Any], expected: OAuth | None) -> None:
    """What clients write for OAuth is understood, in each of their ways."""
    server, _ = read(**members)
    assert server is not None
    assert server.oauth == expected


def test_a_secret_is_kept_to_itself() -> None:
    """The secret stands in no repr, and is among what must not come back."""
    server, _ = read(oauth={"clientId": "me", "clientSecret": "marker-plain-5678"})
    assert server is not None
    assert "marker" not in repr(server)
    assert "marker-plain-5678" in server.secrets


@pytest.mark.parametrize(
    ("oauth", "message"),
    [
        ({"grant": "password"}, "the `grant` of its `oauth` is not a known value"),
        (
            {"grant": "client_credentials", "clientId": "me"},
            "its `oauth` has no `clientId` and `clientSecret`",
        ),
        (
            {"grant": "client_credentials", "clientId": "me", "privateKey": "plain"},
            "the `privateKey` of its `oauth` contains a secret (write ${NAME}",
        ),
        (
            {"grant": "jwt-bearer", "assertion": "plain"},
            "the `assertion` of its `oauth` contains a secret (write ${NAME}",
        ),
        (
            {"grant": "client_credentials", "clientSecret": "s", "privateKeyFile": "k"},
            "its `oauth` has both `clientSecret` and `privateKeyFile`",
        ),
        (
            {"grant": "client_credentials", "clientId": "me", "authMethod": "private_key_jwt"},
            "its `oauth` has no `clientId` and `privateKey`",
        ),
        (
            {"privateKeyFile": "k"},
            "its `oauth` has `privateKeyFile` without its grant (add the grant client_credentials",
        ),
        (
            {"authMethod": "private_key_jwt"},
            "its `oauth` has the method private_key_jwt without its grant",
        ),
        (
            {"grant": "jwt_bearer", "clientId": "me", "assertionFile": "a"},
            "its `oauth` has no `clientSecret` and `issuer`",
        ),
        (
            {"assertion": "${SECRET}"},
            "its `oauth` has `assertion` without its grant (add the grant jwt_bearer",
        ),
        (
            {"algorithm": "none"},
            "the `algorithm` of its `oauth` is not a known value (write RS256 or",
        ),
        ({"authMethod": "tls"}, "the `authMethod` of its `oauth` is not a known value"),
        ({"clientId": 7}, "the `clientId` of its `oauth` is not a string"),
        ({"scopes": [7]}, "the `scope` of its `oauth` is not a string"),
        ({"callbackPort": "8080"}, "the `callbackPort` of its `oauth` is not a port"),
        ({"callbackPort": 70000}, "the `callbackPort` of its `oauth` is not a port"),
        ({"clientSecret": "${UNSET}"}, "the environment variable `UNSET` is not set"),
    ],
)
def test_what_makes_no_sense(oauth: dict[str, Any], message: str) -> None:
    """What cannot be used is told, and the server is not asked."""
    _, said = read(oauth=oauth)
    assert said.startswith(message)


@pytest.mark.parametrize(
    ("name", "file", "command"),
    [
        ("web", "mcp.json", "mcpg login web mcp.json"),
        ("my web", "a b.json", "mcpg login 'my web' 'a b.json'"),
        ("web", "mcpg.toml", "mcpg login web"),
    ],
)
def test_the_command_that_logs_in(name: str, file: str, command: str) -> None:
    """Messages say how to log in to a server as its place names it."""
    assert HttpServer(f"{file}: {name}", name, "https://example.com").login_with() == f"`{command}`"
    assert HttpServer("example.com", None, "x").login_with() == "`mcpg login` with its address"
