"""Entries of client configurations, made from a catalog's description of a server.

Strangers write the texts of a catalog: versions are pinned, only runners of packages become
commands, an address must be public, and no text refers to a variable that the catalog chooses
unless it is a declared input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path, PurePath
from typing import Any

from mcpg.errors import OutputError, SourceError
from mcpg.files import MAX_BYTES, atomic_write, exists, read_bytes
from mcpg.net.addresses import is_header_name, split_address
from mcpg.net.public import is_public
from mcpg.sources.client_config import without_variables
from mcpg.sources.listings import MCP_SERVER, ListedServer, clean_text
from mcpg.sources.server_entries import mask_comments, parse_configuration
from mcpg.text.json_values import JsonObject


@dataclass(frozen=True, slots=True)
class _Runner:
    """The commands that run packages of one type.

    Attributes:
        commands: The commands that a catalog may choose; the first is usual.
        name: The pattern of names of packages.
        version: The pattern of versions that are fixed.
        words: Words before the package.
        joint: The text between the package and its version.
        after: Words after the package.
        registries: Address of the only registry that it loads packages from.
        options: Options with values that a catalog may give to the command.
    """

    commands: tuple[str, ...]
    name: re.Pattern[str]
    version: re.Pattern[str]
    words: tuple[str, ...] = ()
    joint: str = "@"
    after: tuple[str, ...] = ()
    registries: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()


_SIMPLE_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,213}"
_NAME = re.compile(_SIMPLE_NAME)
_VERSION = re.compile(r"v?[0-9][A-Za-z0-9._+!-]{0,127}")
_ENVIRONMENT, _MOUNTS = frozenset({"-e", "--env"}), frozenset({"-v", "--volume", "--mount"})

_RUNNERS = {
    # npx takes `owner/name` for a repository of code, fewer numbers for a range, words for a tag.
    "npm": _Runner(
        ("npx",),
        re.compile(f"(?:@{_SIMPLE_NAME}/)?{_SIMPLE_NAME}"),
        re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(?:[+-][A-Za-z0-9.+-]{1,100})?"),
        words=("-y",),
        registries=("registry.npmjs.org",),
    ),
    "pypi": _Runner(("uvx",), _NAME, _VERSION, registries=("pypi.org",)),
    "nuget": _Runner(
        ("dnx",), _NAME, _VERSION, after=("--yes", "--"), registries=("api.nuget.org",)
    ),
    "oci": _Runner(
        ("docker", "podman"),
        re.compile(r"[A-Za-z0-9][A-Za-z0-9@._/-]{0,213}(?::[A-Za-z0-9._-]{1,128})?"),
        re.compile(r"(?=.*[0-9])[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"),
        words=("run", "-i", "--rm"),
        joint=":",
        options=_ENVIRONMENT | _MOUNTS | {"-p", "--publish", "-u", "--user", "-w", "--workdir"},
    ),
}
_REMOTE_TYPES = {"streamable-http": "http", "http": "http", "sse": "sse"}
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
# How clients refer to variables, and to files.
_REFERENCE = re.compile(r"\$[A-Za-z_{(]|%[A-Za-z_]\w*%|\{(?:env|file):|`")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IS_REFERENCE = re.compile(rf"\$\{{{_VARIABLE.pattern}\}}")
# Variables that change the packages that a runner loads, or their origin.
_OF_RUNNERS = re.compile(
    r"PATH|(?:LD|DYLD|NPM|UV|PIP|NUGET|DOTNET|DOCKER)_\w+|NODE_(?:OPTIONS|PATH)"
    r"|PYTHON(?:PATH|HOME|STARTUP|WARNINGS)|BASH_ENV",
    re.IGNORECASE,
)
# A path of the host that the catalog chooses; the user chooses paths that begin with a variable.
_HOST_PATH = re.compile(r"^[^$\w]|^[a-z]:|(?:src|source)\s*=[^$\w]", re.IGNORECASE)
_LOCAL_ENDS = (".localhost", ".localdomain", ".local", ".internal", ".lan", ".home.arpa")
_NO_NAME = re.compile(r"[^A-Za-z0-9]+")
_MOST_INPUTS = 100


class EntryError(SourceError):
    """A server of a catalog cannot be added to a client."""


@dataclass(slots=True)
class ClientEntry:
    """An entry for a server, as `mcpServers` has it.

    Attributes:
        name: Its name in the configuration.
        via: Its package registry or host: `npm`, `pypi`, `nuget`, `oci`, or the host of an address.
        variables: Environment variables that the user sets, with the purpose of each.
        left_out: Names of optional inputs without a value.
    """

    name: str
    via: str
    members: JsonObject = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def make_client_entry(server: ListedServer) -> ClientEntry:
    """Return an entry for *server*: for the first of its addresses or packages that can be used."""
    place = f"{server.catalog}::{server.name}"
    short = _NO_NAME.sub("-", re.split("[/:]", server.name)[-1]).strip("-").lower() or "server"
    faults: list[str] = []
    makers = [partial(_add_remote, one) for one in server.remotes]
    makers += [partial(_add_package, one) for one in server.packages]
    for make in makers:
        entry = ClientEntry(short, "")
        try:
            make(entry)
        except _UnusableError as fault:
            faults.append(str(fault))
        else:
            return entry
    if faults:
        raise EntryError(
            f"cannot be used: {'; '.join(faults)}", place=place, remedy="add it by hand"
        )
    if server.type != MCP_SERVER:
        message, remedy = f"is not an MCP server but {server.type!r}", "choose an MCP server"
    elif server.url:
        message = f"the catalog has no package or address, only {server.url}"
        remedy = "save its content, and bundle that file"
    else:
        message, remedy = "the catalog has neither a package nor an address", "add it by hand"
    raise EntryError(message, place=place, remedy=remedy)


class _UnusableError(Exception):
    """A package or an address cannot be used; the message is the reason."""


def _add_remote(remote: JsonObject, entry: ClientEntry) -> None:
    kind = _REMOTE_TYPES.get(str(remote.get("type")))
    if kind is None:
        raise _UnusableError(f"the transport {remote.get('type')!r} is unknown")
    template = _text(remote, "url")
    url = _fill(template, remote, entry)
    entry.via = _check_address(url)
    entry.members = {"type": kind, "url": url}
    headers: JsonObject = {}
    for header in _inputs(remote, "headers"):
        name = _text(header, "name")
        if not is_header_name(name):
            raise _UnusableError(f"the header {name[:80]!r} is none")
        if (value := _value(header, name, entry)) is not None:
            headers[name] = value
    if headers:
        entry.members["headers"] = headers


def _check_address(url: str) -> str:
    """Return the host of *url*, which must be one of the Internet, or be a variable of the user."""
    if url.startswith("${"):
        return without_variables(url, "address")
    plain = without_variables(url, "x")
    parts = split_address(plain) if plain.isascii() else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise _UnusableError(f"{url[:120]!r} is not an address of HTTP")
    if "@" in parts.netloc:
        raise _UnusableError("its address contains a user name or a password")
    host = parts.hostname.rstrip(".")
    is_local = host == "localhost" or host.endswith(_LOCAL_ENDS)
    try:
        is_local = is_local or not is_public(host)
    except ValueError:
        is_local = is_local or "." not in host or _is_number(host)
    if is_local:
        raise _UnusableError(f"its address {host!r} is not on the public Internet")
    if parts.scheme != "https":
        raise _UnusableError(f"its address at {host!r} is not encrypted (https)")
    return host


def _is_number(host: str) -> bool:
    """Return whether resolvers may take *host* for a number: `0x7f.1` is this machine."""
    last = host.rpartition(".")[2]
    return bool(re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last))


def _add_package(package: JsonObject, entry: ClientEntry) -> None:
    kind = _text(package, "registryType")
    runner = _RUNNERS.get(kind)
    if runner is None:
        raise _UnusableError(f"packages of type {kind[:40]!r} have no runner")
    transport = package.get("transport")
    if isinstance(transport, dict) and transport.get("type", "stdio") != "stdio":
        raise _UnusableError(f"the {kind} package serves HTTP and must be started by hand")
    named = _pin(package, kind, runner)
    hint = _text(package, "runtimeHint")
    command = hint if hint in runner.commands else runner.commands[0]
    given = [*_words(package, "runtimeArguments", entry)] if hint in ("", command) else []
    before = [one for one in given if one not in runner.words]
    _check_options(before, kind, runner)
    env: JsonObject = {}
    for one in _inputs(package, "environmentVariables"):
        name = _text(one, "name")
        if not _VARIABLE.fullmatch(name):
            raise _UnusableError(f"the environment variable {name[:80]!r} is none")
        if (value := _value(one, name, entry)) is not None:
            if _OF_RUNNERS.fullmatch(name) and not _IS_REFERENCE.fullmatch(value):
                raise _UnusableError(f"the variable {name[:80]!r} changes the program that runs")
            env[name] = value
    if kind == "oci":  # a container has only those variables that are passed on
        before += [word for name in env for word in ("-e", name)]
    words = [*runner.words, *before, named, *runner.after]
    arguments = [*_words(package, "packageArguments", entry)]
    if runner.after and not arguments:
        words.pop()
    entry.via = kind
    entry.members = {"command": command, "args": [*words, *arguments]}
    if env:
        entry.members["env"] = env


def _pin(package: JsonObject, kind: str, runner: _Runner) -> str:
    """Return the package with its version, as its runner takes it."""
    name, version = _text(package, "identifier"), _text(package, "version")
    base = split_address(_text(package, "registryBaseUrl"))
    host = (base.hostname if base else "") or ""
    if runner.registries and host and host not in runner.registries:
        raise _UnusableError(f"the {kind} package is in another registry, {host}")
    if kind == "oci" and host not in ("", "docker.io") and not name.startswith(f"{host}/"):
        name = f"{host}/{name}"
    if not runner.name.fullmatch(name):
        raise _UnusableError(f"{name[:120]!r} is not a name of a package of type {kind}")
    name, _, tag = name.partition(":")
    version = tag or version
    if not runner.version.fullmatch(version):
        raise _UnusableError(f"the {kind} package {name} has no fixed version")
    return f"{name}{runner.joint}{version}"


def _check_options(words: list[str], kind: str, runner: _Runner) -> None:
    """Refuse words before a package with which something else could run, or see more of here."""
    for option, value in zip_longest(words[::2], words[1::2], fillvalue=""):
        is_passed_on = option in _ENVIRONMENT and "=" not in value
        is_chosen = option in _MOUNTS and _HOST_PATH.search(value)
        if not value or option not in runner.options or is_passed_on or is_chosen:
            shown = f"{option} {value}".strip()[:80]
            raise _UnusableError(f"the {kind} package may not be run with {shown!r}")


def _words(package: JsonObject, key: str, entry: ClientEntry) -> Iterator[str]:
    """Yield the words of a command line that arguments of a package give."""
    for one in _inputs(package, key):
        name, hint = _text(one, "name"), _text(one, "valueHint")
        if one.get("type") == "named" and not name.startswith("-"):
            raise _UnusableError(f"the argument {name[:80]!r} is not an option")
        _check_literal(name)
        is_flag = not one.keys() - {"type", "name", "description", "isRepeated"}
        if one.get("type") == "named" and (is_flag or one.get("format") == "boolean"):
            stated = _text(one, "value") or _text(one, "default")
            if is_flag or stated == "true" or one.get("isRequired"):
                yield name
            continue
        value = _value(one, name or hint or "argument", entry)
        if value is not None:
            yield from (name, value) if name else (value,)


def _value(given: JsonObject, name: str, entry: ClientEntry) -> str | None:
    """Return the value of an input, `None` for an optional one without a value.

    A secret is a reference to a variable of the environment, and so is what the user must give.
    """
    value, default = _text(given, "value"), _text(given, "default")
    is_template = _PLACEHOLDER.search(value) is not None
    if value and (is_template or not given.get("isSecret")):
        if given.get("isRequired") or not _lacks_variable(value, given):
            return _fill(value, given, entry)
    elif given.get("isRequired") or value:
        if given.get("isSecret") or not default:
            return _refer(name, given, entry)
        _check_literal(default)
        return default
    elif default and not given.get("isSecret"):
        _check_literal(default)
        return default
    entry.left_out.append(name)
    return None


def _lacks_variable(text: str, given: JsonObject) -> bool:
    """Return whether an optional variable of *text* has no value, so that it may be left out."""
    declared = _declared(given)
    named = (declared.get(one) for one in _PLACEHOLDER.findall(text))
    return any(
        isinstance(one, dict)
        and not any(one.get(key) for key in ("value", "default", "isRequired"))
        for one in named
    )


def _declared(given: JsonObject) -> JsonObject:
    found = given.get("variables")
    return found if isinstance(found, dict) else {}


def _fill(text: str, given: JsonObject, entry: ClientEntry) -> str:
    """Return *text* with its `{placeholders}` replaced by the variables that are declared."""
    _check_literal(text)
    declared = _declared(given)

    def replace(placeholder: re.Match[str]) -> str:
        variable = declared.get(placeholder[1])
        if not isinstance(variable, dict):
            return placeholder[0]
        # A variable has none of its own: texts that refer to each other could grow without end.
        own = {**variable, "isRequired": True, "variables": None}
        return _value(own, placeholder[1], entry) or ""

    return _PLACEHOLDER.sub(replace, text)


def _refer(name: str, given: JsonObject, entry: ClientEntry) -> str:
    variable = _NO_NAME.sub("_", name).strip("_").upper()
    if not _VARIABLE.fullmatch(variable):
        variable = f"VALUE_{variable}".rstrip("_")
    entry.variables.setdefault(variable, clean_text(given.get("description")))
    return f"${{{variable}}}"


def _check_literal(text: str) -> None:
    """Refuse a text that would be more than itself in a configuration."""
    if _REFERENCE.search(text):
        raise _UnusableError(f"{text[:120]!r} refers to a variable of yours")
    if not text.isprintable():
        raise _UnusableError(f"{text[:120]!r} has characters that are not shown")


def _text(given: JsonObject, key: str) -> str:
    value = given.get(key)
    return value.strip() if isinstance(value, str) else ""


def _inputs(given: JsonObject, key: str) -> list[JsonObject]:
    found = given.get(key)
    inputs = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    if len(inputs) > _MOST_INPUTS:
        raise _UnusableError(f"it has more than {_MOST_INPUTS} {key}")
    return inputs


_KEYS = ("mcpServers", "servers", "context_servers", "amp.mcpServers")
_KEYS_BY_END = {"mcp.json": {".vscode": "servers", "User": "servers"}}
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}\[\]]')
_BOM = "\ufeff"


def add_entry(text: str, place: str, entry: ClientEntry) -> str:
    """Return the JSON *text* of a client's configuration with an *entry* more.

    Everything else stays as it is, comments too. An empty text is a new configuration.
    """
    path = PurePath(place)
    own = _KEYS_BY_END.get(path.name, {}).get(path.parent.name, _KEYS[0])
    before = parse_configuration(text, place, set()) if text.strip() else {}
    by_hand = OutputError("the entry cannot be added to it", place=place, remedy="add it by hand")
    if path.suffix.casefold() in (".toml", ".yaml", ".yml") or not isinstance(before, dict):
        raise by_hand
    key = next((one for one in _KEYS if isinstance(before.get(one), dict)), own)
    servers: Any = before.get(key, {})
    if not isinstance(servers, dict):
        raise by_hand
    if entry.name in servers:
        message = f"it has a server {entry.name!r}"
        raise OutputError(message, place=place, remedy="rename that one, or remove it")
    added = _insert(text if text.strip() else "{}\n", key, entry)
    try:
        after = parse_configuration(added, place, set())
    except SourceError as fault:
        raise by_hand from fault
    if after != {**before, key: {**servers, entry.name: entry.members}}:
        raise by_hand
    return added


def _insert(text: str, key: str, entry: ClientEntry) -> str:
    """Return *text* with the entry as the first one of the object *key*, made if needed."""
    line = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    unit = line[1] if line else "  "
    masked = mask_comments(text)
    at, is_new = _find_object(masked, key), False
    if at < 0:
        at, is_new = masked.index("{") + 1, True
    members: JsonObject = {entry.name: entry.members}
    members = {key: members} if is_new else members
    depth = 1 if is_new else 2
    shown = json.dumps(members, indent=unit, ensure_ascii=False)[1:-1].strip("\n")
    is_empty = masked[at:].lstrip().startswith("}")
    inner = "\n".join(f"{unit * (depth - 1)}{one}" for one in shown.split("\n"))
    closing = f"\n{unit * (depth - 1)}" if is_empty else ","
    gap = "" if is_empty or masked[at:].lstrip(" \t\r")[:1] == "\n" else f"\n{unit * depth}"
    rest = text[at:].lstrip(" \t") if gap else text[at:]
    inner = f"\n{inner}{closing}{gap}"
    if "\r\n" in text:
        inner = inner.replace("\n", "\r\n")
    return text[:at] + inner + (rest.lstrip() if is_empty else rest)


def _find_object(text: str, key: str) -> int:
    """Return the offset of the object that is the member *key* of the whole, -1 if missing."""
    depth, name = 0, ""
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "[{":
            if depth == 1 and name == key and sign == "{":
                return token.end()
            depth += 1
        elif sign in "]}":
            depth -= 1
        elif depth == 1 and text[token.end() :].lstrip().startswith(":"):
            name = json.loads(sign)
    return -1


def write_entry(path: str, shown: str, entry: ClientEntry) -> None:
    """Add an *entry* to the client's configuration at *path*, which need not exist."""
    present = Path(path)
    raw = read_bytes(present, MAX_BYTES) if exists(path) else b""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        message = "is not UTF-8 text, so the entry cannot be added to it"
        raise OutputError(message, place=shown, remedy="add it by hand") from None
    mark = _BOM if text.startswith(_BOM) else ""
    added = add_entry(text.removeprefix(_BOM), shown, entry)
    if exists(path) and read_bytes(present, MAX_BYTES) != raw:
        raise OutputError("was changed meanwhile", place=shown, remedy="try again")
    atomic_write(present, (mark + added).encode())
