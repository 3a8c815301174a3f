"""Desktop and editor clients: the places of their configurations, and the servers in them."""

from __future__ import annotations

import os
import posixpath
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path, PurePath

from mcpg.errors import Code, Diagnostic, Severity, SourceError, error
from mcpg.files import is_file
from mcpg.sources.client_config import lack_servers, names_servers, read_client_configuration
from mcpg.sources.client_inputs import ClientInput
from mcpg.sources.model import SKILL_FILE, read_text


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A place where a client keeps a configuration.

    Attributes:
        shown: The file as people write it, with `~` for the home folder.
        is_local: Whether it is in the working folder, and may come with the files of strangers.
    """

    client: str
    path: str
    shown: str
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class FoundClient:
    """A configuration that names servers: the usable servers, and the faults of the others."""

    file: ClientFile
    servers: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


_MOST_FOLDERS = 20_000


@cache
def _read_places() -> dict[str, list[tuple[str, str]]]:
    """Return the tables of `data/clients.toml`: clients and paths."""
    text = Path(__file__).with_name("data").joinpath("clients.toml").read_text("utf-8")
    return tomllib.loads(text)


@dataclass(frozen=True, slots=True)
class FoundSkills:
    """A folder in which a client keeps skills, and how many are there."""

    file: ClientFile
    count: int


def skill_folders(folder: str, home: str) -> tuple[ClientFile, ...]:
    """Return the folders in which clients keep skills, the user's first."""
    places = _read_places()
    own = (
        ClientFile(name, _join_path(home, path), f"~/{path}")
        for name, path in places["skills_in_home"]
    )
    local = (
        ClientFile(name, _join_path(folder, path), path, True)
        for name, path in places["skills_in_folder"]
    )
    return (*own, *local)


def find_skill_folders(folders: Iterable[ClientFile]) -> tuple[FoundSkills, ...]:
    """Return the *folders* that have skills, each once; nothing in them is read."""
    found: list[FoundSkills] = []
    seen: set[str] = set()
    for one in folders:
        real = os.path.realpath(one.path)
        if real not in seen:
            seen.add(real)
            below = islice(os.walk(real), _MOST_FOLDERS)
            count = sum(SKILL_FILE in names for _, _, names in below)
            found += [FoundSkills(one, count)] if count else []
    return tuple(found)


def client_files(
    folder: str, home: str, system: str, environ: Mapping[str, str]
) -> tuple[ClientFile, ...]:
    """Return the places where clients keep their configurations, the user's first."""
    # By the XDG Base Directory Specification, a relative path counts as none.
    named = environ.get("XDG_CONFIG_HOME", "")
    applications = settings = named if posixpath.isabs(named) else _join_path(home, ".config")
    goose = "goose/config.yaml"
    if system == "win32":
        applications = settings = environ.get("APPDATA") or _join_path(home, "AppData/Roaming")
        goose = "Block/goose/config/config.yaml"
    elif system == "darwin":
        applications = _join_path(home, "Library/Application Support")
    known = _read_places()
    codex = environ.get("CODEX_HOME") or _join_path(home, ".codex")
    places = (
        *((name, applications, path) for name, path in known["in_applications"]),
        ("Zed", settings, "zed/settings.json"),
        ("Goose", settings, goose),
        ("Codex", codex, "config.toml"),
        *((name, home, path) for name, path in known["in_home"]),
    )
    start = _join_path(home, "")
    found: list[ClientFile] = []
    for name, parent, path in places:
        full = _join_path(parent, path)
        shown = f"~/{full.removeprefix(start)}" if full.startswith(start) else full
        found.append(ClientFile(name, full, shown))
    local = (
        ClientFile(name, _join_path(folder, path), path, True) for name, path in known["in_folder"]
    )
    return (*found, *local)


def _join_path(folder: str, path: str) -> str:
    return f"{folder.replace(os.sep, '/').rstrip('/')}/{path}"


def find_clients(
    files: Iterable[ClientFile],
    environ: Mapping[str, str],
    *,
    can_ask: bool = False,
    are_named: bool = False,
) -> tuple[tuple[FoundClient, ...], tuple[Diagnostic, ...]]:
    """Return which of *files* name servers, each once, and diagnostics of broken files.

    Nothing is started or changed, and no value of a server's entry is kept. Inputs without a value
    do not exclude a server if the user *can* be asked for them later.
    """
    found: list[FoundClient] = []
    broken: list[Diagnostic] = []
    seen: set[str] = set()
    for file in files:
        real = os.path.realpath(file.path)
        if real in seen or not (are_named or is_file(file.path)):
            continue
        seen.add(real)
        try:
            text = read_text(Path(file.path), file.shown)
            if not (are_named or names_servers(text, file.shown)):
                continue
            ask = _name_input if can_ask else None
            servers, noticed = read_client_configuration(text, file.shown, environ, ask)
        except SourceError as fault:
            if are_named:
                raise
            broken.append(error(Code.SOURCE_LOAD_FAILED, fault.message, fault.place))
            continue
        faults = tuple(one for one in noticed if one.severity == Severity.ERROR)
        if servers or faults:
            names = tuple(server.name or server.place for server in servers)
            found.append(FoundClient(file, names, faults))
        elif are_named:
            raise lack_servers(file.shown, are_disabled=bool(noticed))
    return tuple(found), tuple(broken)


def _name_input(one: ClientInput) -> str:
    return one.default or one.name


def named_client(path: str) -> ClientFile:
    """Return the configuration that the user names by its *path*."""
    return ClientFile(PurePath(path).stem, os.path.abspath(path), path)  # noqa: PTH100 - text stays
