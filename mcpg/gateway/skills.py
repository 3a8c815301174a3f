"""Skills that servers serve, by SEP-2640: entries, addresses, folders and digests.

The extension `io.modelcontextprotocol/skills` is specified at
https://github.com/modelcontextprotocol/ext-skills. Entries are untrusted: an invalid entry would
make clients refuse the lists of all servers.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import mimetypes
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from mcpg.catalog.json_text import repair_surrogates
from mcpg.engine.engine import Engine
from mcpg.errors import NotFoundError, SourceError
from mcpg.skills.folder import MOST_BYTES, MOST_FILES, Skill, compute_digest, split_skill_file
from mcpg.skills.items import NAME, make_uri
from mcpg.sources.model import SKILL_FILE
from mcpg.text.json_values import JsonObject, JsonValue

EXTENSION = "io.modelcontextprotocol/skills"
"""The identifier of the extension."""

DIRECTORY_READ = "directoryRead"
"""The setting of a server that reads directories."""

DYNAMIC = "dynamic"
"""The `resources` of an entry with generated content."""

MARKDOWN = "text/markdown"
"""The media type of `SKILL.md`."""

_END = f"/{SKILL_FILE}"
_DIRECTORY = "inode/directory"
_LONGEST_URI, _DEEPEST, _FRONT_MATTER = 2000, 64, 64 << 10
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?(?P<path>[^\s?#\\\x00-\x1f\x7f]+)")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_RELATIVE = frozenset({".", ".."})
_MEMBERS = {"uri", "digest", "size"}
_COMPARED = ("name", "description")
_LONGEST_NAME, _DESCRIPTION, _COMPATIBILITY = 64, 1024, 500
_SHOWN = 120


def read_entry(given: JsonValue) -> JsonObject:
    """Return the members of a skill's entry that the specification defines, unaltered.

    Raises `ValueError` with the reason if the specification does not allow the entry.
    """
    if not isinstance(given, dict):
        raise ValueError("a skill is left out: it is not an object")  # noqa: TRY004 - the text of a server
    uri, front, files = (given.get(name) for name in ("uri", "frontmatter", "resources"))
    shown = ascii(uri if isinstance(uri, str) else None)[:_SHOWN]
    try:
        name = _find_name(uri)
        _check_front_matter(front, name)
        _check_files(str(uri), files)
    except (ValueError, RecursionError) as fault:
        reason = str(fault) if isinstance(fault, ValueError) else "is nested too deeply"
        raise ValueError(f"the skill {shown} is left out: {reason}") from None
    return {"uri": uri, "frontmatter": front, "resources": files}


def _find_name(uri: JsonValue) -> str:
    """Return the name of the skill with the address *uri*: the last part of its folder."""
    segments = _split_address(uri)
    if len(segments) < len(("name", "file")) or not str(uri).endswith(_END):
        raise ValueError("its address does not end in NAME/SKILL.md")
    name = segments[-2]
    if len(name) > _LONGEST_NAME or _NAME.fullmatch(name) is None:
        raise ValueError("its name has other characters than a-z, 0-9 and single hyphens")
    return name


def _split_address(uri: JsonValue) -> list[str]:
    """Return the decoded segments of an address; raises `ValueError` if they lead out."""
    if not isinstance(uri, str) or len(uri) > _LONGEST_URI:
        raise ValueError(f"an address is not a text of at most {_LONGEST_URI:,} characters")
    matched = _ADDRESS.fullmatch(uri)
    if matched is None:
        raise ValueError("an address is not a URI with a path")
    segments = [unquote(one) for one in matched["path"].removeprefix("/").split("/")]
    first, *others = segments  # the first names no folder, and may have any encoded character
    if len(segments) > _DEEPEST or first in _RELATIVE or any(map(_leads_out, others)):
        raise ValueError("an address has relative or too many segments")
    return segments


def _leads_out(segment: str) -> bool:
    return segment in _RELATIVE or any(one in segment for one in "/\\\0")


def _check_front_matter(front: JsonValue, name: str) -> None:
    if not isinstance(front, dict) or front.get("name") != name:
        raise ValueError("its front matter does not have the name in its address")
    if repair_surrogates(front, "", []) != front or not _is_finite(front):
        raise ValueError("its front matter has text or numbers that JSON cannot represent")
    size = len(json.dumps(front, ensure_ascii=False).encode())
    if size > _FRONT_MATTER:
        raise ValueError(f"its front matter has {size:,} bytes, more than {_FRONT_MATTER:,}")
    description = front.get("description")
    if not isinstance(description, str) or not description.strip():
        raise ValueError("its front matter has no description")
    if len(description) > _DESCRIPTION:
        raise ValueError(f"its description has more than {_DESCRIPTION:,} characters")
    compatibility = front.get("compatibility", "any")
    tools = front.get("allowed-tools", "")
    is_valid = {
        "license": isinstance(front.get("license", ""), str),
        "compatibility": isinstance(compatibility, str)
        and 0 < len(compatibility) <= _COMPATIBILITY,
        "metadata": isinstance(front.get("metadata", {}), dict),
        "allowed-tools": isinstance(tools, str)
        or (isinstance(tools, list) and all(isinstance(one, str) for one in tools)),
    }
    for member in (member for member in is_valid if not is_valid[member]):
        raise ValueError(f"its front matter has an invalid {member!r}")


def _is_finite(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _check_files(uri: str, files: JsonValue) -> None:
    """Check the files of a skill: all in its folder, each once, within the limits of hosts."""
    if files == DYNAMIC:
        return
    if not isinstance(files, list):
        raise ValueError(f"its resources are neither a list nor {DYNAMIC!r}")  # noqa: TRY004 - as above
    if len(files) > MOST_FILES:
        raise ValueError(f"it has more than {MOST_FILES} files")
    sizes: dict[str, int] = {}
    for file in files:
        address, size = _read_file(file)
        if not address.startswith(f"{uri.removesuffix(_END)}/") or address in sizes:
            raise ValueError("a file is outside its folder, or listed twice")
        sizes[address] = size
    if uri not in sizes:
        raise ValueError(f"its files lack {SKILL_FILE}")
    if sum(sizes.values()) > MOST_BYTES:
        raise ValueError(f"its files have more than {MOST_BYTES:,} bytes")


def _read_file(file: JsonValue) -> tuple[str, int]:
    """Return the address and the size of a file; raises `ValueError` if it is not valid."""
    if not isinstance(file, dict) or file.keys() != _MEMBERS:
        raise ValueError("a file is not an object with an address, a digest and a size")
    address, size, digest = file["uri"], file["size"], file["digest"]
    _split_address(address)
    if not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
        raise ValueError("a file has no SHA-256 digest")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise ValueError("a file has no size")
    return str(address), size


def find_root(skill: JsonObject) -> str:
    """Return the address of the folder of a skill."""
    return str(skill["uri"]).removesuffix(_END)


def find_local_skills(engine: Engine) -> tuple[Skill, ...]:
    """Return the skills of the bundles and folders from which *engine* was built."""
    if engine.kind_engine(NAME) is None:
        return ()
    return tuple(engine.items(NAME).by_id.values())


def make_entry(skill: Skill) -> JsonObject:
    """Return the entry of a *skill* that was read; raises `ValueError` as `read_entry` does."""
    files: list[JsonValue] = [
        {"uri": make_uri(skill, one.path), "digest": one.digest, "size": one.size}
        for one in skill.files
    ]
    uri = make_uri(skill, SKILL_FILE)
    return read_entry({"uri": uri, "frontmatter": skill.frontmatter, "resources": files})


def read_file(skill: Skill, path: str, uri: str) -> JsonObject:
    """Return the result of reading a file of a *skill*, with unaltered bytes.

    Raises `NotFoundError` if the file does not exist, or its bytes are not in the bundle.
    """
    file = next((one for one in skill.files if one.path == path), None)
    if file is None or file.content is None:
        known = "is not part of its skill" if file is None else "is too large for the bundle"
        remedy = "get the skill for its files" if file is None else "read it where the skill is"
        raise NotFoundError(f"the file {uri[:_SHOWN]!r} {known}", remedy=remedy)
    return {"contents": [make_content(file.content, path, uri)]}


def make_content(data: bytes, path: str, uri: str) -> JsonObject:
    """Return the *data* of the file at *path* as the content of a resource."""
    kind = MARKDOWN if path.endswith(".md") else mimetypes.guess_type(path)[0]
    content: JsonObject = {"uri": uri, **({} if kind is None else {"mimeType": kind})}
    try:
        content["text"] = data.decode()
    except UnicodeDecodeError:
        content["blob"] = base64.b64encode(data).decode()
    return content


def move_entry(skill: JsonObject, prefix: str) -> JsonObject:
    """Return a skill with *prefix* before its address and its files' addresses."""
    if not prefix:
        return skill
    files: Any = skill["resources"]
    if files != DYNAMIC:
        files = [{**one, "uri": f"{prefix}{one['uri']}"} for one in files]
    return {**skill, "uri": f"{prefix}{skill['uri']}", "resources": files}


def find_folders(uri: str) -> Iterator[str]:
    """Yield *uri* and the addresses of the folders around it, from the inside."""
    ends = [at for at, one in enumerate(uri[: 2 * _LONGEST_URI]) if one == "/"]
    yield uri
    yield from (uri[:end] for end in reversed(ends[: 2 * _DEEPEST]))


def fold(uri: str) -> str:
    """Return *uri* for comparison: clients may decode addresses and change their case."""
    return unquote(uri).casefold()


def is_within(uri: str, roots: Collection[str]) -> bool:
    """Return whether *uri* is in a folder of *roots*, which are folded."""
    return bool(roots) and any(one in roots for one in find_folders(fold(uri)))


def find_moved(
    skills: Iterable[JsonObject], taken: Sequence[str], roots: Collection[str]
) -> set[str]:
    """Return the addresses of the folders of *skills* that conflict with other servers' folders.

    A folder conflicts with a folder around it or in it, and with a resource in it, so that no file
    that a skill refers to is read from another server. *taken* has the sorted addresses of other
    servers' resources and folders, and *roots* the folders; all are folded.
    """
    moved: set[str] = set()
    folded_moved: set[str] = set()
    for root in sorted(map(find_root, skills)):
        folded = fold(root)
        at = bisect_left(taken, f"{folded}/")
        is_taken = at < len(taken) and taken[at].startswith(f"{folded}/")
        first = bisect_left(taken, folded)
        is_taken = is_taken or (first < len(taken) and taken[first] == folded)
        if is_taken or is_within(root, roots) or is_within(root, folded_moved):
            moved.add(root)
            folded_moved.add(folded)
    return moved


def list_files(skill: JsonObject) -> list[JsonObject]:
    """Return the files of *skill*, each with its address, digest and size; none if dynamic."""
    files: Any = skill["resources"]
    return [] if files == DYNAMIC else files


def find_promise(skill: JsonObject, uri: str) -> JsonObject | None:
    """Return the digest and size in the entry of *skill* for its file at *uri*, if any."""
    return next((one for one in list_files(skill) if one["uri"] == uri), None)


def is_as_listed(skill: JsonObject, uri: str, result: JsonObject) -> bool:
    """Return whether the *result* of reading the file at *uri* matches the entry of *skill*.

    It compares the digest and size and, for `SKILL.md`, the name and description.
    """
    data, promise = _read_content(result), find_promise(skill, uri)
    if data is None:
        return promise is None
    found = {"size": len(data), "digest": compute_digest(data)}
    if promise is not None and not found.items() <= promise.items():
        return False
    return uri != skill["uri"] or _has_front_matter(data, skill["frontmatter"])


def _read_content(result: JsonObject) -> bytes | None:
    """Return the bytes of the single file in a *result* of reading, `None` for another result."""
    contents: Any = result.get("contents")
    if not isinstance(contents, list) or len(contents) != 1 or not isinstance(contents[0], dict):
        return None
    text, blob = contents[0].get("text"), contents[0].get("blob")
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(str(blob), validate=True)
    except (binascii.Error, ValueError):
        return None


def _has_front_matter(data: bytes, stated: Any) -> bool:
    """Return whether a `SKILL.md` has the name and description of its entry.

    Readers of YAML differ in other values. Values that mcpg cannot read are not compared.
    """
    try:
        own, _ = split_skill_file(data, SKILL_FILE)
    except SourceError:
        return True
    return all(str(own.get(key)).split() == str(stated.get(key)).split() for key in _COMPARED)


def list_folder(uri: str, files: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the files and folders directly in the folder *uri*, as resources.

    The *files* are resources, or files of a skill, in it and below.
    """
    found: dict[str, JsonObject] = {}
    for file in files:
        address = str(file["uri"])
        if not address.startswith(f"{uri}/"):
            continue
        name, is_below, _ = address[len(uri) + 1 :].partition("/")
        shown: JsonObject = {"uri": f"{uri}/{name}", "name": unquote(name)}
        if is_below:
            found.setdefault(name, {**shown, "mimeType": _DIRECTORY})
        elif "name" in file:
            found[name] = file
        else:
            kind: JsonObject = {"mimeType": MARKDOWN} if name.endswith(".md") else {}
            found.setdefault(name, {**shown, **kind, "size": file["size"]})
    return [*found.values()]
