"""Prompts, resources and skills of a gateway's servers, under its names and addresses."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote

from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import ValidationError

from mcpg.catalog.catalog import SOURCE_FALLBACK, normalize
from mcpg.catalog.json_text import repair_surrogates
from mcpg.errors import Diagnostic
from mcpg.gateway import skills
from mcpg.gateway.calls import CallError
from mcpg.skills.folder import Skill
from mcpg.sources.live.client import MAX_PAGES, is_repeated
from mcpg.sources.model import SKILL_FILE
from mcpg.sources.registry import ServerSource
from mcpg.text.json_values import JsonObject


class ListKind(NamedTuple):
    """How a server lists a kind of items.

    Attributes:
        method: The method that lists them.
        member: The member of its result that contains them.
        key: The member that identifies an item.
        most: The maximum number of items read.
        extension: The extension that a server declares for them; "" for a capability of the
            protocol, which the method names.
    """

    method: str
    member: str
    key: str
    most: int
    extension: str = ""

    def is_declared(self, capabilities: JsonObject) -> bool:
        """Return whether a server with these *capabilities* lists items of the kind."""
        if not self.extension:
            return self.method.partition("/")[0] in capabilities
        return self.extension in find_extensions(capabilities)


def find_extensions(capabilities: JsonObject) -> JsonObject:
    """Return the extensions that a server with these *capabilities* declares."""
    stated = capabilities.get("extensions")
    return stated if isinstance(stated, dict) else {}


# Skills come last: a server that hangs when it is to list them has listed the others.
KINDS = {
    "resources": ListKind("resources/list", "resources", "uri", 20_000),
    "templates": ListKind("resources/templates/list", "resourceTemplates", "uriTemplate", 1_000),
    "prompts": ListKind("prompts/list", "prompts", "name", 20_000),
    "skills": ListKind("skills/list", "skills", "uri", 5_000, skills.EXTENSION),
}
_SKILL_BYTES, _MOST_FAULTS = 32 << 20, 1000  # of the skills of a server
_ENVELOPE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_VERSIONS = (LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION)

Lists = dict[str, tuple[JsonObject, ...]]
"""What a server lists beside its tools, by the names of `KINDS`."""


async def list_kind(
    kind: ListKind,
    send: Callable[[str, JsonObject], Awaitable[JsonObject]],
    before: tuple[JsonObject, ...],
    faults: list[str],
) -> tuple[JsonObject, ...]:
    """Return the valid items of all pages, each once, or *before* if that fails.

    The *faults* of skills, and of their list, are added.
    """
    found: dict[str, JsonObject] = {}
    cursor: Any = None
    known: set[str] = set()
    room = _SKILL_BYTES
    try:
        for _ in range(MAX_PAGES):
            page = await send(kind.method, {} if cursor is None else {"cursor": cursor})
            stated = page.get(kind.member)
            items = stated if isinstance(stated, list) else []
            for item in items:
                read: Any = read_item(kind, item, faults)
                if read is not None:
                    found.setdefault(read[kind.key], read)
                    room -= len(json.dumps(read)) if kind.extension else 0
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or is_repeated(items, kind.key, known):
                break
            if len(found) >= kind.most or room < 0:
                faults.append(f"lists more than {len(found):,} {kind.member}, which are served")
                break
        else:
            faults.append(f"lists {kind.member} on more than {MAX_PAGES:,} pages")
    except CallError as fault:
        faults.append(f"did not list its {kind.member}: {fault.message}")
        # A server that claims a capability and does not have it lists nothing.
        return () if fault.error is not None else before
    return tuple(islice(found.values(), kind.most))


def read_item(kind: ListKind, item: Any, faults: list[str]) -> JsonObject | None:
    """Return a valid item, as all clients accept it; else `None`, and add its fault."""
    if kind.extension:
        try:
            return skills.read_entry(item)
        except ValueError as fault:
            if len(faults) < _MOST_FAULTS:
                faults.append(str(fault))
    elif isinstance(item, dict) and _is_valid(kind, item):
        repaired: Any = repair_surrogates(item, "", [])
        return repaired  # type: ignore[no-any-return]
    return None


def _is_valid(kind: ListKind, item: JsonObject) -> bool:
    """Return whether clients of all versions accept a list with *item*."""
    try:
        for version in _VERSIONS:
            validate_server_result(kind.method, version, {**_ENVELOPE, kind.member: [item]})
    except ValidationError:
        return False
    return bool(item.get(kind.key))


SCHEME = "mcpg://"
# Comparing an address with a template takes time by its length.
_LONGEST_MATCHED = 2000


class ServerItem(NamedTuple):
    """A prompt or a resource on its server, and its name or address there."""

    source: ServerSource
    key: str


@dataclass(frozen=True)
class Directory:
    """The prompts, resources and skills of all servers, and the skills of files.

    Attributes:
        resources: Resources as entries of `resources/list`, by their addresses.
        templates: Templates as entries of `resources/templates/list`, by their texts.
        prompts: Prompts as entries of `prompts/list`, by their names.
        skills: Skills as entries of `skills/list`, by their addresses.
        located: The server of each item and its address there, by its kind and key.
        owners: The ids of the sources of skills, by the addresses of these.
        roots: The servers of folders of skills and the addresses there, by their addresses.
        local: The skills of bundles and folders, by the addresses of their folders.
        sources: The servers, by their names in addresses.
        diagnostics: Diagnostics of skills.
    """

    resources: dict[str, JsonObject] = field(default_factory=dict)
    templates: dict[str, JsonObject] = field(default_factory=dict)
    prompts: dict[str, JsonObject] = field(default_factory=dict)
    skills: dict[str, JsonObject] = field(default_factory=dict)
    located: dict[tuple[str, str], ServerItem] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    roots: dict[str, ServerItem] = field(default_factory=dict)
    local: dict[str, Skill] = field(default_factory=dict)
    sources: dict[str, ServerSource] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()

    @cached_property
    def _matchers(self) -> list[tuple[UriTemplate, ServerItem]]:
        found = []
        for text in self.templates:
            try:
                template = UriTemplate.parse(text)
            except InvalidUriTemplate:
                continue
            found.append((template, self.located["templates", text]))
        return found

    def find_listed(self, uri: str) -> ServerItem | None:
        """Return where the resource at *uri* is, according to lists or its own text."""
        known = self.located.get(("resources", uri))
        if known is not None:
            return known
        name, _, rest = uri.removeprefix(SCHEME).partition("/")
        if uri.startswith(SCHEME) and name in self.sources and rest:
            return ServerItem(self.sources[name], rest)
        return find_below(uri, self.roots)

    def resource(self, uri: str) -> ServerItem | None:
        """Return where the resource at *uri* is, according to lists and templates."""
        return self.find_listed(uri) or self.match_template(uri)

    def match_template(self, uri: str) -> ServerItem | None:
        """Return where a resource with the address *uri* of a template would be."""
        for template, place in self._matchers:
            if template.match(uri, max_uri_length=_LONGEST_MATCHED) is not None:
                return ServerItem(place.source, uri)
        return None

    def find_skill(self, uri: str) -> JsonObject | None:
        """Return the skill with the innermost folder that contains *uri*."""
        folders = skills.find_folders(uri) if self.skills else ()
        found = (self.skills.get(f"{one}/{SKILL_FILE}") for one in folders)
        return next((one for one in found if one is not None), None)

    def find_local(self, uri: str) -> tuple[Skill, str] | None:
        """Return the bundled skill that contains the file at *uri*, and the file's path in it."""
        for folder in skills.find_folders(uri) if self.local else ():
            if folder in self.local:
                return self.local[folder], unquote(uri[len(folder) + 1 :])
        return None

    def find_server_skills(self) -> Iterator[tuple[str, JsonObject]]:
        """Yield the skills of servers, by their addresses."""
        for uri, skill in self.skills.items():
            if skills.find_root(skill) not in self.local:
                yield uri, skill

    def find_changes(self, before: Directory) -> list[str]:
        is_same = {
            "prompts": self.prompts == before.prompts,
            # The extension has no notification; its files are resources.
            "resources": (self.resources, self.templates, self.skills)
            == (before.resources, before.templates, before.skills),
        }
        return [kind for kind in is_same if not is_same[kind]]

    def prefix_uri(self, source: ServerSource, uri: str) -> str:
        name = next((name for name, one in self.sources.items() if one.id == source.id), "")
        return f"{SCHEME}{name}/{uri}" if name else uri


NOTHING = Directory()
"""The directory before anything was listed."""


def build_directory(
    lists: Iterable[tuple[ServerSource, Lists]], local: Iterable[Skill] = ()
) -> Directory:
    """Return the directory of servers; in a conflict of names, the first server keeps its name.

    The *local* skills come before all others.
    """
    found = Directory()
    taken = _add_local(found, local)
    listed = list(lists)
    for source, _ in listed:
        name = unique = normalize(source.id, SOURCE_FALLBACK)
        number = 1
        while unique in found.sources:
            number += 1
            unique = f"{name}-{number}"
        found.sources[unique] = source
    for (source, one), name in zip(listed, found.sources, strict=True):
        moved = _add_skills(found, source, f"{SCHEME}{name}/", one["skills"], taken)
        pairs = [(kind, item) for kind in _LISTED for item in one[kind]]
        for kind, item in pairs:
            items, member = getattr(found, kind), KINDS[kind].key
            key = shown = str(item[member])
            # An address that begins like ours could pass for one of another server.
            is_ours = key.startswith(SCHEME) and kind != "prompts"
            is_other = kind == "resources" and _is_of_other(key, source, taken, moved)
            if key in items or is_ours or is_other:
                shown = f"{name}_{key}" if kind == "prompts" else f"{SCHEME}{name}/{key}"
            number = 1
            while shown in items:
                number += 1
                shown = f"{name}_{key}_{number}"
            given = item.get("_meta")
            meta: JsonObject = {**(given if isinstance(given, dict) else {}), "sourceId": source.id}
            items[shown] = {**item, member: shown, "_meta": meta}
            found.located[kind, shown] = ServerItem(source, key)
    return found


_LISTED = ("resources", "templates", "prompts")


def _add_local(found: Directory, local: Iterable[Skill]) -> dict[str, str]:
    """Add *local* skills; return their folders, as `_add_skills` has them."""
    for skill in local:
        try:
            entry = skills.make_entry(skill)
        except ValueError:  # a rule of `mcpg lint` reports it
            continue
        uri, root = str(entry["uri"]), skills.find_root(entry)
        found.skills[uri], found.owners[uri], found.local[root] = entry, skill.source_id, skill
    return dict.fromkeys(map(skills.fold, found.local), "")


def _add_skills(
    found: Directory,
    source: ServerSource,
    prefix: str,
    entries: tuple[JsonObject, ...],
    taken: dict[str, str],
) -> set[str]:
    """Add the skills of *source*, with the *prefix* if they conflict with earlier servers.

    The folders of other skills are *taken*, with the ids of their sources. Return the folders of
    the moved skills. Both are folded.
    """
    if not entries:
        return set()
    others = sorted([*map(skills.fold, found.resources), *taken])
    moved = skills.find_moved(entries, others, taken)
    moved |= {root for root in map(skills.find_root, entries) if root.startswith(SCHEME)}
    for entry in entries:
        root = skills.find_root(entry)
        start = prefix if root in moved else ""
        shown = skills.move_entry(entry, start)
        uri = str(shown["uri"])
        found.skills[uri], found.owners[uri] = shown, source.id
        found.roots[f"{start}{root}"] = ServerItem(source, root)
        if not start:
            taken[skills.fold(root)] = source.id
    return {*map(skills.fold, moved)}


def _is_of_other(uri: str, source: ServerSource, taken: Mapping[str, str], moved: set[str]) -> bool:
    """Return whether *uri* is in the folder of another server's skill, or of a *moved* one."""
    if not taken and not moved:
        return False
    folders = [*skills.find_folders(skills.fold(uri))]
    is_own = all(taken.get(one, source.id) == source.id for one in folders)
    return not is_own or any(one in moved for one in folders)


def find_below(uri: str, roots: Mapping[str, ServerItem]) -> ServerItem | None:
    """Return where *uri* is, in the innermost folder of *roots* that contains it."""
    for folder in skills.find_folders(uri) if roots else ():
        if folder in roots:
            return ServerItem(roots[folder].source, roots[folder].key + uri[len(folder) :])
    return None


def rewrite_item(item: Any, address: Callable[[str], str]) -> Any:
    """Return an item of a result with the *address* of the resource that it has or links to."""
    if not isinstance(item, dict):
        return item
    if isinstance(item.get("content"), dict):  # a message of a prompt
        return {**item, "content": rewrite_item(item["content"], address)}
    if isinstance(item.get("resource"), dict) and item.get("type") == "resource":
        return {**item, "resource": rewrite_uri(item["resource"], address)}
    return rewrite_uri(item, address) if item.get("type") in {None, "resource_link"} else item


def rewrite_uri(item: JsonObject, address: Callable[[str], str]) -> JsonObject:
    """Return *item* with the *address* of its resource."""
    uri = item.get("uri")
    if not isinstance(uri, str) or (shown := address(uri)) == uri:
        return item
    return {**item, "uri": shown}
