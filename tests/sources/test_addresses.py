from __future__ import annotations

import pytest

from mcpg.errors import SourceError, UsageError
from mcpg.sources.client_config import HttpServer, ServerAccess, StdioServer, is_address, server_at


@pytest.mark.parametrize(
    ("argument", "answer"),
    [
        ("stdio:uvx mcp-server-time", True),
        ("https://example.com/mcp", True),
        ("HTTP://localhost:8000/mcp?key=a.json", True),
        ("https://example.com/openapi.json", False),
        ("https://example.com/tools.yaml?raw", False),
        ("./stdio:x", False),
        ("tools.json", False),
    ],
)
def test_what_is_an_address(argument: str, answer: bool) -> None:
    """Servers are told from paths, and from files on the web."""
    assert is_address(argument) is answer


def test_a_command() -> None:
    """A command is split as a shell would, and named by its program alone."""
    server = server_at("stdio:/opt/serve 'two words' --token abc", ServerAccess())
    assert isinstance(server, StdioServer)
    assert (server.place, server.command) == ("stdio:serve", "/opt/serve")
    assert server.args == ("two words", "--token", "abc")
    assert server.secrets == ("abc",)


def test_an_address() -> None:
    """An address is named by its host, since the rest may be secret; headers are filled in."""
    live = ServerAccess({"TOKEN": "marker"}, {"X-Key": "${TOKEN}"})
    server = server_at("https://user:secret@example.com:8443/private/mcp?key=1", live)
    assert isinstance(server, HttpServer)
    assert server.place == "https://example.com:8443"
    assert server.headers == {"X-Key": "marker"}
    assert "secret" not in repr(server)
    assert server_at("http://[::1]/mcp", ServerAccess()).place == "http://[::1]"


@pytest.mark.parametrize("argument", ["stdio:", "stdio:'x", "stdio:x\0", "https://", "https://[x"])
def test_what_makes_no_sense(argument: str) -> None:
    """A command or address that is none is an error."""
    with pytest.raises(UsageError):
        server_at(argument, ServerAccess())


def test_a_header_that_is_not_set() -> None:
    """A header must not be sent without its secret."""
    with pytest.raises(SourceError, match="`TOKEN` is not set"):
        server_at("https://example.com/mcp", ServerAccess({}, {"X-Key": "${TOKEN}"}))
