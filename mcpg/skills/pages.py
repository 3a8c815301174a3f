"""Pages of skills in a bundle, one each: the files of the skill, as far as a bundle has them.

Every file has its size and digest; files up to `MOST_HELD` bytes are included whole. So a skill
is read from its page wherever the bundle is, and no file of the folder is opened again.
"""

from __future__ import annotations

import base64
import json
import re
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from posixpath import basename
from urllib.parse import quote

from mcpg.catalog.model import SourceDocument
from mcpg.documents.model import ToolDocument
from mcpg.errors import SourceError
from mcpg.skills.folder import MOST_BYTES, Skill, SkillFile, compute_digest, make_skill
from mcpg.sources.model import SKILL_FILE
from mcpg.text.json_values import JsonObject

ENTRY_TYPE = "skill"
"""The `entry_type` of pages of skills."""

SOURCE = "skill_source"
"""The key of these pages that names the source of the skill."""

MOST_HELD = 256 * 1024
MOST_HELD_OF_SKILL = 2 * 1024**2
"""Bytes of a file in a page, and of all files beside `SKILL.md`, which is always in it."""

_FOLDER = "skills"
_URI = "https://managedcode.com/mcpgateway/knowledge/skills/"
_MARK = f'entry_type: "{ENTRY_TYPE}"\n'
_LONGEST_FRONT = 4096
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NO_NAMES = frozenset(("", ".", ".."))
_FENCE = "```"


def write_skill_page(skill: Skill) -> SourceDocument:
    """Return the page of a *skill*; equal skills give equal pages.

    Files are JSON on one line each, so that none of their text is read as part of the page.
    """
    name = "/".join(filter(None, (skill.source_id, skill.folder or skill.name)))
    path = quote(name, safe="/ ")
    uri = f"{_URI}{quote(name)}/"
    folder = f"folder: {_json(skill.folder)}\nfolder_name: {_json(skill.folder_name)}\n"
    text = "".join(
        (
            f"---\ntitle: {_json(f'Skill {skill.name}')}\ntool: false\n{_MARK}",
            f"canonical_url: {_json(uri)}\n{SOURCE}: {_json(skill.source_id)}\n{folder}---\n",
            f"\n# Skill\n\n{_FENCE}jsonl\n",
            *(f"{_json(record)}\n" for record in _make_records(skill.files)),
            f"{_FENCE}\n",
        )
    )
    return SourceDocument(f"{_FOLDER}/{path}.md", text, uri, skill.place)


def _make_records(files: Iterable[SkillFile]) -> Iterator[JsonObject]:
    left = MOST_HELD_OF_SKILL
    for file in files:
        record: JsonObject = {"path": file.path, "size": file.size, "digest": file.digest}
        is_main = file.path == SKILL_FILE
        if file.content is not None and (is_main or file.size <= min(left, MOST_HELD)):
            left -= 0 if is_main else file.size
            try:
                record["text"] = file.content.decode()
            except UnicodeDecodeError:
                record["base64"] = base64.b64encode(file.content).decode()
        yield record


def _json(value: object) -> str:
    # Escapes keep untrusted line separators and control characters out of YAML.
    return json.dumps(value, ensure_ascii=True)


def is_skill_page(document: SourceDocument) -> bool:
    """Return whether *document* is the page of a skill, without parsing it."""
    return _MARK in document.content[:_LONGEST_FRONT]


def read_skill_page(page: ToolDocument) -> Skill | None:
    """Return the skill of a *page*; `None` for another page, or a damaged page."""
    stated = page.further
    source, folder = stated.get(SOURCE), stated.get("folder")
    if stated.get("entry_type") != ENTRY_TYPE or not isinstance(source, str):
        return None
    path = folder if isinstance(folder, str) else ""
    name = stated.get("folder_name")
    folder_name = name if isinstance(name, str) else basename(path)
    files: dict[str, SkillFile] = {}
    for line in page.body.split("\n"):
        if line.startswith("{"):
            with suppress(ValueError, RecursionError):
                file = _read_record(json.loads(line))
                files.setdefault(file.path, file)
    try:
        skill = make_skill(
            tuple(files.values()),
            path=path,
            source_id=source,
            place=(page.tool.place or page.path).removesuffix(f"/{SKILL_FILE}"),
            folder_name=folder_name,
        )
    except SourceError:
        return None
    return replace(skill, page_place=page.tool.place)


def _read_record(record: JsonObject) -> SkillFile:
    """Return the file of a *record*; raises `ValueError` if it is not valid in a skill."""
    path, size, digest = (record.get(name) for name in ("path", "size", "digest"))
    if not (isinstance(path, str) and _NO_NAMES.isdisjoint(path.split("/")) and path.encode()):
        raise ValueError("the path is not in the folder")
    if type(size) is not int or not 0 <= size <= MOST_BYTES:
        raise ValueError("the size is not valid for a file of a skill")
    if not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
        raise ValueError("the digest is not a SHA-256 digest")
    text, encoded = record.get("text"), record.get("base64")
    content = text.encode() if isinstance(text, str) else None
    if isinstance(encoded, str):
        with suppress(Base64Error, ValueError):
            content = base64.b64decode(encoded, validate=True)
    if content is not None and (len(content), compute_digest(content)) != (size, digest):
        content = None  # the bundle was changed by hand
    return SkillFile(path, size, digest, content)


def read_skills(pages: Iterable[ToolDocument]) -> Iterator[Skill]:
    """Yield the skills among *pages*."""
    yield from filter(None, map(read_skill_page, pages))
