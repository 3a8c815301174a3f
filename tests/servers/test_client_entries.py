"""Entries of clients: what a catalog states becomes a command or an address, and nothing worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from servers_catalogs import OLD_SERVER, SERVER

import mcpg
from mcpg.errors import McpgError
from mcpg.sources.client_config import read_client_configuration
from mcpg.sources.client_entries import ClientEntry, add_entry, make_client_entry, write_entry
from mcpg.sources.listings import ListedServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def server(**members: Any) -> ListedServer:
    """Return a listed server with packages or remotes."""
    return ListedServer("catalog", "io.github.acme/tide-tables", **members)


def package(kind: str = "npm", **members: Any) -> ListedServer:
    """Return a server with one package."""
    given = {"registryType": kind, "identifier": "tides", "version": "1.4.0", **members}
    return server(packages=(given,))


def remote(url: str, **members: Any) -> ListedServer:
    """Return a server with one address."""
    return server(remotes=({"type": "streamable-http", "url": url, **members},))


@pytest.mark.parametrize(
    ("given", "command"),
    [
        (package("npm", identifier="@acme/tides"), "npx -y @acme/tides@1.4.0"),
        (package("pypi"), "uvx tides@1.4.0"),
        (package("nuget", identifier="Acme.Tides"), "dnx Acme.Tides@1.4.0 --yes"),
        (
            package("nuget", packageArguments=[{"type": "positional", "value": "mcp"}]),
            "dnx tides@1.4.0 --yes -- mcp",
        ),
        (
            package("oci", identifier="ghcr.io/acme/tides:2.0"),
            "docker run -i --rm ghcr.io/acme/tides:2.0",
        ),
        (package("oci", runtimeHint="podman"), "podman run -i --rm tides:1.4.0"),
        (
            package("oci", environmentVariables=[{"name": "A", "value": "b"}]),
            "docker run -i --rm -e A tides:1.4.0",
        ),
        (
            package(
                "oci",
                runtimeArguments=[
                    {"type": "positional", "value": "-i"},
                    {"type": "named", "name": "-p", "value": "127.0.0.1:80:80"},
                    {"type": "named", "name": "-e", "value": "A=b"},
                    {
                        "type": "named",
                        "name": "-v",
                        "value": "{folder}:/data",
                        "variables": {"folder": {"isRequired": True}},
                    },
                ],
            ),
            "docker run -i --rm -p 127.0.0.1:80:80 -e A=b -v ${FOLDER}:/data tides:1.4.0",
        ),
        (
            package(
                "npm", runtimeHint="bash", runtimeArguments=[{"type": "positional", "value": "-c"}]
            ),
            "npx -y tides@1.4.0",
        ),
    ],
)
def test_packages_run_pinned_by_their_usual_runner(given: ListedServer, command: str) -> None:
    """A package is started in its version, by a runner that the catalog may not invent."""
    members = make_client_entry(given).members
    assert " ".join([members["command"], *members["args"]]) == command


@pytest.mark.parametrize(
    "given",
    [
        package(version="latest"),
        package(version="^1.2.3"),
        package(version="1.x"),
        package(version="1.*"),
        package(version="1"),
        package(version="1.x.0"),
        package(version="beta2"),
        package(version="${VERSION}"),
        package(version=""),
        package("oci", identifier="acme/tides:latest"),
        package("mcpb", identifier="https://acme.example/tides.mcpb"),
        package(identifier="--call=evil"),
        package(identifier="evil/repository"),
        package("pypi", identifier="a/b"),
        package("oci", identifier="a", registryBaseUrl="https://--env=x"),
        package(runtimeArguments=[{"type": "positional", "value": "evil"}]),
        package(runtimeArguments=[{"type": "named", "name": "--call", "value": "evil"}]),
        package(runtimeArguments=[{"type": "named", "name": "--registry=https://evil.example"}]),
        package("pypi", runtimeArguments=[{"type": "named", "name": "--with", "value": "evil"}]),
        package("oci", runtimeArguments=[{"type": "named", "name": "--privileged"}]),
        package("oci", runtimeArguments=[{"type": "positional", "value": "evil:1"}]),
        package("oci", runtimeArguments=[{"type": "named", "name": "-v"}]),
        package("oci", runtimeArguments=[{"type": "named", "name": "-v", "value": "/:/host"}]),
        package(
            "oci",
            runtimeArguments=[
                {"type": "named", "name": "--mount", "value": "type=bind,src=/,dst=/a"}
            ],
        ),
        package("oci", runtimeArguments=[{"type": "named", "name": "-e", "value": "AWS_TOKEN"}]),
        package(environmentVariables=[{"name": "PATH", "value": "/evil"}]),
        package(environmentVariables=[{"name": "npm_config_registry", "default": "https://e.org"}]),
        package(environmentVariables=[{"name": "NODE_OPTIONS", "value": "--import evil"}]),
        package(packageArguments=[{"type": "positional", "value": "a\u202eb"}]),
        package(packageArguments=[{"type": "positional", "value": "\ud800"}]),
        package(identifier="tides; rm -rf ~"),
        package(identifier="https://evil.example/x.tgz"),
        package(registryBaseUrl="https://registry.evil.example"),
        package(transport={"type": "streamable-http", "url": "http://localhost:3000"}),
        package(environmentVariables=[{"name": "A=B C", "value": "x"}]),
        package(environmentVariables=[{"name": "A", "value": "${AWS_SECRET_ACCESS_KEY}"}]),
        package(environmentVariables=[{"name": "A", "default": "$HOME"}]),
        package(packageArguments=[{"type": "positional", "value": "{file:/etc/passwd}"}]),
        package(packageArguments=[{"type": "positional", "value": "a\nb"}]),
        package(packageArguments=[{"type": "named", "name": "x"}]),
        package(packageArguments=[{"type": "positional", "value": "a"}] * 101),
        remote("http://acme.example/mcp"),
        remote("https://127.0.0.1/mcp"),
        remote("https://localhost/mcp"),
        remote("https://localhost./mcp"),
        remote("https://localhost.localdomain/mcp"),
        remote("https://printer.lan/mcp"),
        remote("https://metadata.google.internal./"),
        remote("https://a.b\u3002localhost/"),
        remote("https://[::1]/mcp"),
        remote("https://169.254.169.254/latest/meta-data"),
        remote("https://metadata.google.internal/"),
        remote("https://192.168.1.1/mcp"),
        remote("https://2130706433/mcp"),
        remote("https://0x7f.0.0.1/mcp"),
        remote("https://user:key@acme.example/mcp"),
        remote("file:///etc/passwd"),
        remote("https://acme.example/${HOME}"),
        remote("https://acme.example", headers=[{"name": "X: y\r\nZ", "value": "1"}]),
        server(remotes=({"type": "carrier-pigeon", "url": "https://acme.example"},)),
        server(),
        server(url="https://acme.example/card.json"),
        server(type="application/a2a-agent-card+json"),
    ],
)
def test_what_is_not_safe_makes_no_entry(given: ListedServer) -> None:
    """What is not pinned, not public, or more than a literal text is refused with its reason."""
    with pytest.raises(McpgError) as fault:
        make_client_entry(given)
    assert fault.value.remedy


@pytest.mark.parametrize("given", [SERVER, OLD_SERVER], ids=["2025-12-11", "2025-07-09"])
def test_secrets_and_required_inputs_are_variables(
    save: Callable[[str, object], str], given: dict[str, Any]
) -> None:
    """Of inputs, secrets are never literal, defaults stand, and optional ones are left out."""
    listed = mcpg.load([save("server.json", given)]).items("server")
    entry = make_client_entry(listed.find_named(given["name"]))
    assert entry.members["env"] == {"TIDE_KEY": "${TIDE_KEY}", "TIDE_UNITS": "metres"}
    assert list(entry.variables) == ["TIDE_KEY"]
    assert entry.left_out == ["TIDE_PROXY"]


def test_arguments_are_filled_in() -> None:
    """Arguments take values, defaults, declared variables, and references to what is missing."""
    given = package(
        packageArguments=[
            {"type": "positional", "value": "serve"},
            {"type": "named", "name": "--stdio"},
            {"type": "named", "name": "--port", "default": "8080"},
            {"type": "named", "name": "--host", "isRequired": True},
            {"type": "named", "name": "--note"} | {"valueHint": "text"},
            {"type": "named", "name": "--fast", "format": "boolean", "default": "true"},
            {"type": "named", "name": "--slow", "format": "boolean", "default": "false"},
            {"type": "positional", "valueHint": "data-dir", "isRequired": True},
            {
                "type": "named",
                "name": "--mount",
                "isRequired": True,
                "value": "src={source},dst={target},raw={other}",
                "variables": {"source": {"isRequired": True}, "target": {"default": "/data"}},
            },
        ]
    )
    entry = make_client_entry(given)
    words = [*entry.members["args"]][2:]
    assert words == [
        *("serve", "--stdio", "--port", "8080", "--host", "${HOST}", "--fast", "${DATA_DIR}"),
        *("--mount", "src=${SOURCE},dst=/data,raw={other}"),
    ]
    assert entry.left_out == ["--note"]


def test_addresses_come_with_their_headers_and_variables() -> None:
    """A remote server is preferred to packages; its inputs become references."""
    given = remote(
        "https://{tenant}.acme.example/mcp",
        variables={"tenant": {"isRequired": True}},
        headers=[
            {
                "name": "Authorization",
                "value": "Bearer {key}",
                "isSecret": True,
                "isRequired": True,
                "variables": {"key": {"isSecret": True}},
            },
            {"name": "X-Region", "default": "north"},
            {"name": "X-Trace"},
        ],
    )
    entry = make_client_entry(given)
    assert entry.members == {
        "type": "http",
        "url": "https://${TENANT}.acme.example/mcp",
        "headers": {"Authorization": "Bearer ${KEY}", "X-Region": "north"},
    }
    assert set(entry.variables) == {"TENANT", "KEY"}


def test_variables_of_variables_do_not_multiply() -> None:
    """Texts that refer to each other twice, fifty levels deep, stay as short as they are."""
    variables: dict[str, Any] = {"a": {"value": "{a}{a}"}}
    for _ in range(50):
        variables = {"a": {"value": "{a}{a}", "variables": variables}}
    argument = {"type": "positional", "value": "{a}{a}", "variables": variables}
    entry = make_client_entry(package(packageArguments=[argument]))
    assert entry.members["args"][-1] == "{a}{a}{a}{a}"


ENTRY = ClientEntry("tides", "npm", {"command": "npx", "args": ["-y", "tides@1.4.0"]})
COMMENTED = """{
\t// mine
\t"mcpServers": {
\t\t"a": {"command": "x", "env": {"K": "}"}}, /* b */
\t},
\t"z": [1, {"mcpServers": 2}],
}
"""


@pytest.mark.parametrize(
    ("place", "text", "key"),
    [
        ("mcp.json", "", "mcpServers"),
        (".vscode/mcp.json", "", "servers"),
        ("mcp.json", "{}", "mcpServers"),
        ("mcp.json", '{"mcpServers": {"a": {"command": "x"}}}', "mcpServers"),
        ("mcp.json", '{"other": [1,\n 2], "servers": {\n}}', "servers"),
        ("mcp.json", COMMENTED, "mcpServers"),
        ("settings.json", COMMENTED.replace("mcpServers", "context_servers"), "context_servers"),
        ("mcp.json", COMMENTED.replace("\n", "\r\n"), "mcpServers"),
    ],
)
def test_an_entry_changes_nothing_else(place: str, text: str, key: str) -> None:
    """What stood in a configuration stands there still, comments and line ends too."""
    added = add_entry(text, place, ENTRY)
    servers, _ = read_client_configuration(added, place, {})
    before = read_client_configuration(text, place, {})[0] if "x" in text else ()
    assert [one.name for one in servers] == ["tides", *(one.name for one in before)]
    assert f'"{key}"' in added
    assert added.count("\r\n") == added.count("\n") or "\r" not in text
    comments = (line.strip() for line in text.splitlines() if "//" in line or "/*" in line)
    assert all(line in added for line in comments)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("mcp.json", '{"mcpServers": {"tides": {"command": "x"}}}'),
        ("mcp.json", '{"mcpServers": []}'),
        ("mcp.json", "[]"),
        ("mcp.json", '{"mcpServers": {'),
        ("config.toml", '[mcp_servers.a]\ncommand = "x"\n'),
        ("config.yaml", "mcpServers:\n"),
    ],
)
def test_what_cannot_be_changed_safely_is_left_alone(place: str, text: str) -> None:
    """A server of this name, another format or damage is an error, never a guess."""
    with pytest.raises(McpgError):
        add_entry(text, place, ENTRY)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    """A configuration keeps its bytes where an entry cannot be added, and its mark where it can."""
    path = tmp_path / "mcp.json"
    path.write_bytes("\ufeff{}".encode())
    write_entry(str(path), "mcp.json", ENTRY)
    assert path.read_bytes().startswith("\ufeff{\n".encode())
    before = path.read_bytes()
    with pytest.raises(McpgError, match="has a server"):
        write_entry(str(path), "mcp.json", ENTRY)
    assert path.read_bytes() == before
    path.write_bytes("{}".encode("utf-16"))
    with pytest.raises(McpgError, match="UTF-8"):
        write_entry(str(path), "mcp.json", ENTRY)
