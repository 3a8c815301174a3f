"""A client for the scenarios of the conformance suite of MCP: `conformanceclient.py KIND URL`.

KIND is `sdk` for the client of the SDK alone, or `mcpg` for the same behind `mcpg serve`, logged in
by `mcpg login`. The suite names the scenario in the environment.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

METADATA_URL = "https://conformance-test.local/client-metadata.json"
"""The client of the suite whose metadata are at its id."""

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "tools_call": ("add_numbers", {"a": 5, "b": 3}),
    "sse-retry": ("test_reconnection", {}),
    "elicitation-sep1034-client-defaults": ("test_client_elicitation_defaults", {}),
}
SECONDS = 60
SCOPE = re.compile(r"--scope \\*'?([\w:. -]+)")
"""The scope that an error of mcpg proposes for another login."""

CALLBACK = "http://localhost:3000/callback"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


class Memory:
    """Tokens and a client, for as long as the process lives."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.tokens: OAuthToken | None = None
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a client."""
        self.client = client_info


def issuer_of(url: str) -> str:
    """Return the authorisation server of the server at *url*, as its operator would name it."""
    parts = urlsplit(url)
    path = f"/.well-known/oauth-protected-resource{parts.path}"
    try:
        with urllib.request.urlopen(f"{parts.scheme}://{parts.netloc}{path}", timeout=10) as found:
            return str(json.load(found)["authorization_servers"][0])
    except urllib.error.HTTPError:
        return f"{parts.scheme}://{parts.netloc}"


def assertion_grant(context: dict[str, Any], issuer: str, resource: str) -> str:
    """Exchange the identity token of *context* for an assertion, at the identity provider."""
    form = {
        "grant_type": TOKEN_EXCHANGE,
        "requested_token_type": ID_JAG,
        "subject_token": context["idp_id_token"],
        "subject_token_type": ID_TOKEN,
        "audience": issuer,
        "resource": resource,
        "client_id": context["idp_client_id"],
    }
    answer = httpx2.post(context["idp_token_endpoint"], data=form)
    return str(answer.raise_for_status().json()["access_token"])


def provider(scenario: str, context: dict[str, Any], url: str) -> httpx2.Auth:
    """Return how the SDK authenticates in a scenario."""
    name, secret = context.get("client_id", ""), context.get("client_secret", "")
    if scenario == "auth/client-credentials-jwt":
        signed = SignedJWTParameters(
            issuer=name,
            subject=name,
            signing_key=context["private_key_pem"],
            signing_algorithm=context["signing_algorithm"],
        )
        make = signed.create_assertion_provider()
        return PrivateKeyJWTOAuthProvider(url, Memory(), name, make, issuer=issuer_of(url))
    if scenario == "auth/client-credentials-basic":
        issuer = issuer_of(url)
        return ClientCredentialsOAuthProvider(url, Memory(), name, secret, issuer=issuer)
    if scenario == "auth/cross-app-access-complete-flow":

        async def assertion(audience: str, resource: str) -> str:
            return assertion_grant(context, audience, resource)

        return IdentityAssertionOAuthProvider(
            server_url=url,
            storage=Memory(),
            client_id=name,
            client_secret=secret,
            issuer=issuer_of(url),
            assertion_provider=assertion,
            token_endpoint_auth_method="client_secret_basic",
        )
    return authorization_code(name, secret, url)


def authorization_code(name: str, secret: str, url: str) -> OAuthClientProvider:
    """Return how the SDK authenticates where a person agrees."""
    known = None
    if name:
        known = OAuthClientInformationFull(
            client_id=name,
            client_secret=secret,
            redirect_uris=[AnyUrl(CALLBACK)],
            token_endpoint_auth_method="client_secret_basic",
        )
    answers: list[AuthorizationCodeResult] = []

    async def redirect(address: str) -> None:
        async with httpx2.AsyncClient() as browser:
            reply = await browser.get(address)
        query = parse_qs(urlsplit(reply.headers["location"]).query)
        members = {key: query[key][0] for key in ("code", "state", "iss") if key in query}
        answers.append(AuthorizationCodeResult(**members))

    async def answer() -> AuthorizationCodeResult:
        return answers.pop()

    return OAuthClientProvider(
        url,
        OAuthClientMetadata(client_name="conformance", redirect_uris=[AnyUrl(CALLBACK)]),
        Memory(known),
        redirect,
        answer,
        METADATA_URL,
    )


async def elicited(_: Any, params: Any) -> types.ElicitResult:
    """Accept with the defaults of the form."""
    fields = params.requested_schema.get("properties", {})
    content = {key: one["default"] for key, one in fields.items() if "default" in one}
    return types.ElicitResult(action="accept", content=content)


async def use(transport: AbstractAsyncContextManager[Any], scenario: str, mode: str) -> None:
    """List the tools of a server, and call the one of the scenario.

    Raises:
        RuntimeError: The tool reports a failure.
    """
    async with Client(transport, mode=mode, elicitation_callback=elicited) as client:
        await client.list_tools()
        name, arguments = CALLS.get(scenario, ("test-tool", {}))
        if scenario != "initialize":
            result = await client.call_tool(name, arguments)
            if result.is_error:
                raise RuntimeError(str(result.content))


def with_sdk(scenario: str, context: dict[str, Any], url: str) -> None:
    """Do what a scenario wants with the SDK alone."""
    auth = provider(scenario, context, url) if scenario.startswith("auth/") else None

    async def run() -> None:
        async with httpx2.AsyncClient(auth=auth, follow_redirects=True, timeout=SECONDS) as http:
            await use(streamable_http_client(url, http_client=http), scenario, "legacy")

    anyio.run(run)


def settings(scenario: str, context: dict[str, Any], url: str) -> dict[str, Any]:
    """Return what a configuration states of OAuth for a scenario."""
    if scenario == "auth/basic-cimd":
        return {"clientId": METADATA_URL}
    if "client_id" not in context:
        return {}
    oauth = {"clientId": context["client_id"], "issuer": issuer_of(url)}
    if scenario == "auth/client-credentials-jwt":
        os.environ["CLIENT_KEY"] = context["private_key_pem"]
        key = {"privateKey": "${CLIENT_KEY}", "algorithm": context["signing_algorithm"]}
        return {**oauth, **key, "grant": "client_credentials"}
    oauth["clientSecret"] = context["client_secret"]
    if scenario == "auth/client-credentials-basic":
        oauth["grant"] = "client_credentials"
    if scenario == "auth/cross-app-access-complete-flow":
        os.environ["ASSERTION"] = assertion_grant(context, oauth["issuer"], url)
        oauth |= {"grant": "jwt-bearer", "assertion": "${ASSERTION}"}
    return oauth


def log_in(config: Path, scope: str = "") -> None:
    """Log in by `mcpg login` with *scope*, if any is given, and agree in place of a browser.

    Raises:
        RuntimeError: It failed.
    """
    words = [sys.executable, "-m", "mcpg", "login", "server", str(config), "--no-browser"]
    words += ["--scope", scope] if scope else []
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = ""
    for line in process.stdout or ():
        said += line
        found = re.search(r"https?://\S*response_type=\S*", line)
        if found:
            urllib.request.urlopen(found[0], timeout=SECONDS).close()
    if process.wait(SECONDS):
        raise RuntimeError(said)


def with_mcpg(scenario: str, context: dict[str, Any], url: str) -> None:
    """Do what a scenario wants behind `mcpg serve`; a call that lacks a permission logs in anew."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "mcp.json")
        oauth = settings(scenario, context, url)
        entry = {"url": url, "oauth": oauth}
        config.write_text(json.dumps({"mcpServers": {"server": entry}}), "utf-8")
        os.environ["MCPG_LOGIN_DIR"] = folder
        is_login = scenario.startswith("auth/") and "grant" not in oauth
        if is_login:
            log_in(config)
        words = ["-m", "mcpg", "serve", str(config), "--expose", "all"]

        async def run() -> None:
            env = {**os.environ}
            started = StdioServerParameters(command=sys.executable, args=words, env=env)
            await use(stdio_client(started), scenario, "legacy")

        try:
            anyio.run(run)
        except* RuntimeError as faults:
            wanted = SCOPE.search(str(faults.exceptions))
            if wanted is None:
                raise
            log_in(config, wanted[1])
            anyio.run(run)


KINDS: dict[str, Callable[[str, dict[str, Any], str], None]] = {
    "sdk": with_sdk,
    "mcpg": with_mcpg,
}

if __name__ == "__main__":
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    KINDS[sys.argv[1]](os.environ["MCP_CONFORMANCE_SCENARIO"], given, sys.argv[2])
