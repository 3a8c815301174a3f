"""Desktop and editor clients: where their configurations are, and which servers these name."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from mcpg.errors import Code, Diagnostic, Severity, SourceError, error
from mcpg.files import is_file
from mcpg.sources.client_config import names_servers, read_client_configuration
from mcpg.sources.model import read_text


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A place where a client keeps a configuration.

    Attributes:
        client: Name of the client.
        path: The file, absolute.
        shown: The file as people write it, with `~` for the home folder.
        is_local: Whether it lies in the working folder, and may come with the files of strangers.
    """

    client: str
    path: str
    shown: str
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class FoundClient:
    """A configuration that names servers.

    Attributes:
        file: Where it is.
        servers: Names of the servers that can be used.
        diagnostics: What is wrong with others.
    """

    file: ClientFile
    servers: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


_EDITORS = {"VS Code": "Code", "VS Code Insiders": "Code - Insiders", "VSCodium": "VSCodium"}
_EXTENSIONS = {
    "Cline": "saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "Roo Code": "rooveterinaryinc.roo-cline/settings/mcp_settings.json",
}
_IN_APPLICATIONS = (
    ("Claude Desktop", "Claude/claude_desktop_config.json"),
    *((editor, f"{name}/User/mcp.json") for editor, name in _EDITORS.items()),
    *((editor, f"{name}/User/settings.json") for editor, name in _EDITORS.items()),
    *(
        (f"{extension} in {editor}", f"{name}/User/globalStorage/{file}")
        for editor, name in _EDITORS.items()
        for extension, file in _EXTENSIONS.items()
    ),
)
_IN_HOME = (
    ("Claude Code", ".claude.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("Windsurf", ".codeium/windsurf/mcp_config.json"),
    ("Gemini CLI", ".gemini/settings.json"),
    ("GitHub Copilot CLI", ".copilot/mcp-config.json"),
    ("Amazon Q", ".aws/amazonq/mcp.json"),
    ("Kiro", ".kiro/settings/mcp.json"),
    ("Junie", ".junie/mcp/mcp.json"),
    ("LM Studio", ".lmstudio/mcp.json"),
    ("Continue", ".continue/config.yaml"),
)
_IN_FOLDER = (
    ("Claude Code", ".mcp.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("VS Code", ".vscode/mcp.json"),
    ("Zed", ".zed/settings.json"),
    ("Roo Code", ".roo/mcp.json"),
    ("Gemini CLI", ".gemini/settings.json"),
    ("Kiro", ".kiro/settings/mcp.json"),
    ("Codex", ".codex/config.toml"),
    ("Continue", ".continue/mcpServers/mcp.json"),
)


def client_files(
    folder: str, home: str, system: str, environ: Mapping[str, str]
) -> tuple[ClientFile, ...]:
    """Return the places where clients keep their configurations, those of the user first.

    Args:
        folder: The working folder.
        home: The user's home folder.
        system: The operating system, as `sys.platform` has it.
        environ: The environment, which may name other folders for configurations.
    """
    applications, settings = _folders(home, system, environ)
    places = (
        *(ClientFile(name, *_locate(home, applications, path)) for name, path in _IN_APPLICATIONS),
        ClientFile("Zed", *_locate(home, settings, "zed/settings.json")),
        ClientFile("Goose", *_locate(home, settings, _goose_file(system))),
        ClientFile("Codex", *_locate(home, _codex_folder(home, environ), "config.toml")),
        *(ClientFile(name, *_locate(home, home, path)) for name, path in _IN_HOME),
        *(ClientFile(name, _join_path(folder, path), path, True) for name, path in _IN_FOLDER),
    )
    return tuple(places)


def _folders(home: str, system: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the folders in which desktop applications, and other programs, keep their settings."""
    if system == "win32":
        roaming = environ.get("APPDATA") or _join_path(home, "AppData/Roaming")
        return roaming, roaming
    # By the XDG Base Directory Specification, a relative path counts as none.
    named = environ.get("XDG_CONFIG_HOME", "")
    settings = named if posixpath.isabs(named) else _join_path(home, ".config")
    if system == "darwin":
        return _join_path(home, "Library/Application Support"), settings
    return settings, settings


def _goose_file(system: str) -> str:
    return "Block/goose/config/config.yaml" if system == "win32" else "goose/config.yaml"


def _codex_folder(home: str, environ: Mapping[str, str]) -> str:
    return environ.get("CODEX_HOME") or _join_path(home, ".codex")


def _join_path(folder: str, path: str) -> str:
    return f"{folder.replace(os.sep, '/').rstrip('/')}/{path}"


def _locate(home: str, folder: str, path: str) -> tuple[str, str]:
    full, start = _join_path(folder, path), _join_path(home, "")
    return full, f"~/{full.removeprefix(start)}" if full.startswith(start) else full


def find_clients(
    files: Iterable[ClientFile], environ: Mapping[str, str]
) -> tuple[tuple[FoundClient, ...], tuple[Diagnostic, ...]]:
    """Return which of *files* name servers, each once, and diagnostics of those that are broken.

    Nothing is started or changed, and no value of a server's entry is kept.
    """
    found: list[FoundClient] = []
    broken: list[Diagnostic] = []
    for file in _present(files):
        try:
            text = read_text(Path(file.path), file.shown)
            if not names_servers(text, file.shown):
                continue
            servers, noticed = read_client_configuration(text, file.shown, environ)
        except SourceError as fault:
            broken.append(error(Code.SOURCE_LOAD_FAILED, fault.message, fault.place))
            continue
        faults = tuple(one for one in noticed if one.severity == Severity.ERROR)
        if servers or faults:
            names = tuple(server.name or server.place for server in servers)
            found.append(FoundClient(file, names, faults))
    return tuple(found), tuple(broken)


def _present(files: Iterable[ClientFile]) -> Iterator[ClientFile]:
    seen: set[str] = set()
    for file in files:
        real = os.path.realpath(file.path)
        if real not in seen and is_file(file.path):
            seen.add(real)
            yield file


def named_client(path: str) -> ClientFile:
    """Return the configuration that the user names by its *path*."""
    return ClientFile(PurePath(path).stem, os.path.abspath(path), path)  # noqa: PTH100 - text stays
