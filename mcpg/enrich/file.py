"""Files of generated texts: finding, reading and writing them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mcpg.catalog.hints import GENERATED_KEY, is_generated_name
from mcpg.catalog.json_text import parse_json_documents
from mcpg.errors import SourceError
from mcpg.files import MAX_BYTES, atomic_write, is_file, is_folder, read_bytes
from mcpg.sources.read import walk_folder
from mcpg.text.json_values import JsonObject, JsonValue, write_json
from mcpg.text.safeyaml import load_yaml

ENDING = ".generated.hints.yaml"
STAMP = GENERATED_KEY
"""The member of a file, and of an entry, that records the origin of its texts."""

BY = "mcpg enrich"
_MARK = re.compile(r"generated\.hints(?=\.\w+\Z)", re.IGNORECASE)
_UNSAFE_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LONGEST_NAME = 80
_COMMENT = f"""\
# Written by `{BY}`, which keeps the texts of a tool until its definition changes.
# To make a text yours, move it into a hints file of your own.
"""


def find_generated_files(paths: Iterable[str]) -> list[Path]:
    """Return the files of generated texts among *paths* and in the folders among them."""
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        inner = [one.location for one in walk_folder(str(path))[0]] if is_folder(path) else [path]
        for one in inner:
            if is_generated_name(one.name) and is_file(one):
                found.setdefault(one.resolve(), one)
    return [*found.values()]


def name_file(source_id: str, others: Iterable[str] = ()) -> str:
    """Return the name of the file for a server, safe on every file system.

    The name has a digest if the id is not a safe name, differs only in case from one of *others*,
    or would make the hand-written hints file beside it a generated one.
    """
    name = _UNSAFE_IN_NAMES.sub("-", source_id).strip("-.")[:_LONGEST_NAME] or "server"
    folded = name.casefold()
    is_shared = any(one != source_id and one.casefold() == folded for one in others)
    is_mark = is_generated_name(f"{name}.hints.yaml")
    if name != source_id or is_shared or is_mark or _RESERVED.fullmatch(name):
        name += f"-{hashlib.sha256(source_id.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return name + ENDING


def own_file(path: Path) -> Path:
    """Return the path of the hand-written hints file beside the generated one at *path*."""
    return path.with_name(_MARK.sub("hints", path.name))


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A file of generated texts.

    Attributes:
        entries: The entry of each tool, by its key in the file.
        further: Other members of the file.
    """

    path: Path
    entries: dict[str, JsonObject] = field(default_factory=dict)
    further: JsonObject = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> GeneratedFile:
        """Read the file at *path*.

        Raises:
            SourceError: It is broken, or has no mapping `tools`.
        """
        place = str(path)
        try:
            text = read_bytes(path, MAX_BYTES).decode("utf-8-sig")
        except UnicodeDecodeError as fault:
            raise SourceError("is not UTF-8", place=place) from fault
        value: JsonValue
        if path.suffix.casefold() == ".json" and text.lstrip().startswith("{"):
            repeated: set[str] = set()
            value, *others = parse_json_documents(text, place, repeated)
            if repeated or others:
                message = "has several values, or a key that is repeated in one object"
                raise SourceError(message, place=place, remedy="keep one of them")
        else:
            value = load_yaml(text, place, error=SourceError)
        members = value if isinstance(value, dict) else {}
        tools = members.get("tools")
        if "tools" in members and tools is None:  # a person has removed all of them
            tools = {}
        if not isinstance(tools, dict):
            remedy = "write `tools:`, then tool ids below it, or remove the file"
            raise SourceError("this hints file has no mapping `tools`", place=place, remedy=remedy)
        entries = {key: one for key, one in tools.items() if isinstance(one, dict)}
        further = {key: one for key, one in members.items() if key not in ("tools", STAMP)}
        return cls(path, entries, further)

    def write(self, prompt: int) -> None:
        """Write the file, whose texts come from version *prompt* or earlier ones.

        Raises:
            OutputError: It cannot be written.
        """
        whole: JsonObject = {
            **self.further,
            STAMP: {"by": BY, "prompt": prompt},
            "tools": {key: self.entries[key] for key in sorted(self.entries)},
        }
        if self.path.suffix.casefold() == ".json":
            text = write_json(whole, indent=2) + "\n"
        else:
            text = _COMMENT + "".join(f"{line}\n" for line in _write_members(whole, ""))
        atomic_write(self.path, text.encode("utf-8"))


def _write_members(members: Mapping[str, JsonValue], margin: str) -> Iterator[str]:
    for key, one in members.items():
        name = key if _PLAIN_KEY.fullmatch(key) else _quote(key)
        if isinstance(one, dict) and one:
            yield f"{margin}{name}:"
            yield from _write_members(one, f"{margin}  ")
        elif isinstance(one, list) and one:
            yield f"{margin}{name}:"
            for item in one:
                if isinstance(item, dict) and item:
                    first, *rest = _write_members(item, f"{margin}    ")
                    yield f"{margin}  - {first.lstrip()}"
                    yield from rest
                else:
                    yield f"{margin}  - {_quote(item)}"
        else:
            yield f"{margin}{name}: {_quote(one)}"


def _quote(value: JsonValue) -> str:
    # YAML accepts JSON, except for characters that it does not allow.
    is_plain = not isinstance(value, str) or value.isprintable()
    return json.dumps(value, ensure_ascii=not is_plain)
