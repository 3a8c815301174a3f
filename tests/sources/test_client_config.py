from __future__ import annotations

import json
from typing import Any

import pytest
from bounded import output_of

from mcpg.errors import Code, Severity, SourceError
from mcpg.sources.client_config import (
    HttpServer,
    Server,
    ServerAccess,
    StdioServer,
    is_client_configuration,
    read_client_configuration,
    server_at,
)
from mcpg.sources.live.requests import redact

ENVIRON = {"TOKEN": "marker-token-1234", "EMPTY": ""}


def one(entry: dict[str, Any]) -> Server:
    """Read the only server of a configuration."""
    (server,), noticed = read_client_configuration(
        json.dumps({"mcpServers": {"a": entry}}), "mcp.json", ENVIRON
    )
    assert not noticed
    return server


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"a": {"command": "x"}}}',
        '{"servers": {"a": {"type": "stdio", "command": "x"}}, "inputs": []}',
        '{"mcp": {"servers": {"a": {"command": "x"}}}}',
        '{"theme": "dark", "context_servers": {"a": {"source": "custom", "command": "x"}}}',
        '{"context_servers": {"a": {"command": {"path": "x", "args": []}}}}',
        '{ // a comment, with "quotes"\n"mcpServers": {"a": {"command": "x",},}, /* more */ }',
    ],
)
def test_dialects(text: str) -> None:
    """The layouts of the usual clients are known, with comments and trailing commas."""
    assert is_client_configuration(text)
    servers, noticed = read_client_configuration(text, "mcp.json", {})
    assert servers == (StdioServer("mcp.json: a", "a", "x"),)
    assert not noticed


@pytest.mark.parametrize(
    "text",
    [
        '{"openapi": "3.1.0", "servers": [{"url": "https://example.com"}]}',
        '{"tools": [{"name": "mcpServers"}]}',
        '{"servers": {"a": 1}}',
        '{"mcpServers": {',
        '["servers"]',
    ],
)
def test_other_json(text: str) -> None:
    """What names no servers is no configuration."""
    assert not is_client_configuration(text)


def test_a_program() -> None:
    """Command, arguments, environment and folder are read, with variables filled in."""
    entry = {
        "command": "run",
        "args": ["--port", 80, "${env:TOKEN}", "${EMPTY:-none}"],
        "env": {"KEY": "${TOKEN}", "FLAG": True},
        "cwd": "/tmp",
        "alwaysAllow": ["x"],
    }
    server = one(entry)
    assert isinstance(server, StdioServer)
    assert server.args == ("--port", "80", "marker-token-1234", "none")
    assert server.env == {"KEY": "marker-token-1234", "FLAG": "true"}
    assert server.cwd == "/tmp"
    assert "marker-token-1234" in server.secrets
    assert "marker" not in repr(server)


@pytest.mark.parametrize(
    "args",
    [
        ["--key=literal-5678"],
        ["--api-key", "literal-5678"],
        ["--header", "Authorization: Bearer literal-5678"],
        ["--header", "X-Api-Key:literal-5678"],
        ["-c", "GITHUB_TOKEN=literal-5678 serve --verbose"],
        ["https://example.com/mcp?x=1&api_key=literal-5678&y=2"],
        ["postgresql://user:literal-5678@example.com/db"],
        ['{"password": "literal-5678"}'],
    ],
)
def test_secrets_among_the_arguments_are_known(args: list[str]) -> None:
    """A secret that is written into the arguments is replaced where the server repeats it."""
    server = one({"command": "run", "args": args})
    assert redact("say literal-5678.", server.secrets) == ("say ***.", True)


def test_other_arguments_are_no_secrets() -> None:
    """Paths, packages and plain options may be spoken of."""
    args = ["--path=/home/me/documents", "-y", "@scope/server-files", "--author=somebody-else"]
    assert one({"command": "run", "args": [*args, "--compat=everything-else"]}).secrets == ()


def test_a_secret_in_an_address_is_known_alone() -> None:
    """A server that repeats the key of its address without the rest of it gives nothing away."""
    server = one({"url": "https://me:password-1234@example.com/mcp?api_key=literal-5678"})
    assert redact("literal-5678 password-1234", server.secrets) == ("*** ***", True)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "run", "args": ["--auth-file-of", "${API_KEY}"]},
        {"command": "run", "env": {"SETTING": "is ${API_KEY}"}},
        {"url": "https://example.com/${API_KEY}/mcp"},
        {"url": "https://example.com/mcp", "headers": {"X-Setting": "is ${API_KEY}"}},
    ],
)
def test_a_variable_is_secret_by_its_name(entry: dict[str, Any]) -> None:
    """A short value is replaced where the name of the variable that is filled in is a secret's."""
    environ = {"API_KEY": "s3c/4"}
    (server,), _ = read_client_configuration(
        json.dumps({"mcpServers": {"a": entry}}), "mcp.json", environ
    )
    assert redact("no s3c%2F4", server.secrets, server.named_secrets) == ("no ***", True)
    assert "s3c" not in repr(server)


def test_headers_of_an_address_are_secret_by_their_variables() -> None:
    """The same holds for a server that is named by its address."""
    live = ServerAccess({"API_KEY": "s3c/4"}, {"X-Setting": "is ${API_KEY}"})
    named = server_at("https://example.com/mcp", live).named_secrets
    assert redact("no s3c/4", (), named) == ("no ***", True)


def test_secrets_that_begin_alike_are_replaced_whole() -> None:
    """Of several that match at one place, the longest is replaced."""
    secrets = ["word-one-1234", "word-one-12345", "word-one-12345-more", "word-two-1234"]
    text = "word-one-12345-more word-one-12345-mo word-one-1234 word-two-12345 word-one"
    assert redact(text, secrets) == ("*** ***-mo *** ***5 word-one", True)


def test_arguments_of_any_size_are_looked_through() -> None:
    """Secrets are looked for in a time that grows with the text."""
    program = (
        "from mcpg.sources.client_config import secrets_in\n"
        "for part in ('a', 'key', 'a:', '://a:', 'key='): secrets_in([part * 300_000])\n"
        "print('done')"
    )
    assert output_of(program) == "done\n"


@pytest.mark.parametrize(
    ("entry", "is_sse"),
    [
        ({"url": "https://example.com/mcp"}, False),
        ({"type": "streamable-http", "url": "https://example.com/mcp"}, False),
        ({"serverUrl": "https://example.com/mcp"}, False),
        ({"httpUrl": "https://example.com/mcp"}, False),
        ({"type": "sse", "url": "https://example.com/mcp"}, True),
    ],
)
def test_an_address(entry: dict[str, Any], is_sse: bool) -> None:
    """An address is read with its headers."""
    server = one({**entry, "headers": {"Authorization": "Bearer ${TOKEN}"}})
    assert isinstance(server, HttpServer)
    assert (server.url, server.is_sse) == ("https://example.com/mcp", is_sse)
    assert server.headers == {"Authorization": "Bearer marker-token-1234"}
    assert "marker-token-1234" in server.secrets
    assert "marker" not in repr(server)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({}, "neither a `command` nor a `url`"),
        ({"type": "stdio"}, "no `command`"),
        ({"command": " "}, "`command` is empty"),
        ({"command": 5}, "`command` is not a string"),
        ({"command": "x", "args": "y"}, "`args` are not a list"),
        ({"command": "x", "args": [{}]}, "`args` has values that are not strings"),
        ({"command": "x", "env": []}, "`env` is not an object"),
        ({"command": "x\0"}, "null character"),
        (
            {"command": "x", "args": ["${input:api-key}"]},
            "the input `api-key` has no value (set MCPG_INPUT_API_KEY)",
        ),
        ({"command": "x", "cwd": "${config:a.b}"}, "is not an environment variable reference"),
        ({"command": "x", "env": {"A": "${MISSING}"}}, "`MISSING` is not set"),
        ({"type": "carrier-pigeon"}, "`type` is not a known value"),
        ({"url": "ftp://example.com"}, "`url` is not a URL"),
        ({"url": "https:///mcp"}, "`url` is not a URL"),
        ({"url": "https://[::1"}, "`url` is not a URL"),
        ({"url": "https://example.com:99999/mcp"}, "`url` is not a URL"),
    ],
)
def test_servers_that_cannot_be_used(entry: dict[str, Any], says: str) -> None:
    """A server that makes no sense is told with its name, and the others are used."""
    text = json.dumps({"mcpServers": {"bad": entry, "good": {"command": "x"}}})
    servers, (failed,) = read_client_configuration(text, "mcp.json", ENVIRON)
    assert [server.name for server in servers] == ["good"]
    assert (failed.code, failed.place) == (Code.SOURCE_LOAD_FAILED, "mcp.json: bad")
    assert says in failed.message


TIMES = [(90, 90), (2.5, 2.5), (120_000, 120), (0, None), (True, None), ("9", None), (1e12, 86_400)]


@pytest.mark.parametrize(("stated", "seconds"), TIMES)
def test_the_time_of_calls(stated: Any, seconds: float | None) -> None:
    """Clients write seconds or milliseconds; what is no time is left to the clients."""
    for entry in ({"command": "x"}, {"url": "https://example.com"}):
        assert one({**entry, "timeout": stated}).timeout == seconds


@pytest.mark.parametrize("entry", [{"disabled": True}, {"enabled": False}])
def test_servers_that_are_switched_off(entry: dict[str, Any]) -> None:
    """A server that its user has switched off is left out, which is mere information."""
    text = json.dumps({"mcpServers": {"off": {"command": "x", **entry}}})
    servers, (told,) = read_client_configuration(text, "mcp.json", {})
    assert not servers
    assert (told.code, told.severity) == (Code.SOURCE_SKIPPED, Severity.INFO)


def test_names() -> None:
    """A name that stands twice is told; a server without one is refused."""
    text = '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}, " ": {"command": "z"}}}'
    servers, noticed = read_client_configuration(text, "mcp.json", {})
    assert [server.name for server in servers] == ["a"]
    assert [item.code for item in noticed] == [Code.KEY_REPEATED, Code.SOURCE_LOAD_FAILED]


def test_no_configuration() -> None:
    """Something else is refused."""
    with pytest.raises(SourceError, match="names no servers"):
        read_client_configuration("{}", "mcp.json", {})


@pytest.mark.parametrize(
    "rest", ["'/* ' * 300_000", "'\\\\\"' * 300_000", "'\"' + '\\\\\"' * 300_000"]
)
def test_what_is_not_closed_is_looked_at_once(rest: str) -> None:
    """Comments and strings without an end take time in proportion to the file, and are no JSON."""
    program = (
        "from mcpg.sources.client_config import is_client_configuration\n"
        f"text = '{{\"mcpServers\": {{}}, ' + {rest}\n"
        "print(is_client_configuration(text))"
    )
    assert output_of(program) == "False\n"


@pytest.mark.parametrize("rest", ["/*", "/*/", "/* more", '"', "//\n/"])
def test_a_configuration_ends_where_it_is_closed(rest: str) -> None:
    """A comment or string that does not end is no part of a configuration."""
    text = '{"mcpServers": {"a": {"command": "x"}}} '
    assert is_client_configuration(f"{text}/* more */ // and")
    with pytest.raises(SourceError, match="invalid JSON") as caught:
        read_client_configuration(text + rest, "mcp.json", {})
    assert caught.value.place.startswith(("mcp.json:1:41", "mcp.json:2:1"))
