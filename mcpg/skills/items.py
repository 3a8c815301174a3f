"""Skills as items: their searched texts, and finding a skill by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

from mcpg.catalog.catalog import ToolLookup, assign_ids, number_namesakes
from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument
from mcpg.plugins.hooks import Item, ItemContent, ItemDetails
from mcpg.skills.folder import Skill
from mcpg.skills.pages import read_skills
from mcpg.sources.model import SKILL_FILE
from mcpg.text.json_values import JsonValue

NAME = "skill"
"""The kind of skills."""

_OWN = ("name", "description", "license", "compatibility", "allowed-tools")
_MOST_TEXTS = 200


def identify_skills(pages: Iterable[ToolDocument]) -> dict[tuple[str, str], Skill]:
    """Return the skills of all *pages* by source and name.

    The source of another skill with the same two gets a number, so that no skill hides another.
    """
    # Among pages with the same path, all but the first get a number at its end.
    ordered = sorted(pages, key=lambda page: (len(page.path), page.path))
    found = number_namesakes(
        read_skills(ordered),
        lambda one: (one.source_id, one.name),
        lambda one, other: one.files == other.files,
    )
    return {key: replace(skill, source_id=key[0]) for key, skill in found.items()}


def make_tools(skills: Iterable[Skill]) -> tuple[Tool, ...]:
    """Return *skills* as items for the ranking of an index, sorted by id.

    The names of files rank like a server's claims about a tool.
    """
    tools = [
        Tool(
            id="",
            source_id=one.source_id,
            name=one.name,
            description=one.description,
            meta={"type": NAME, "skill": {"keywords": [*_name_files(one)]}},
            place=one.place,
        )
        for one in skills
    ]
    return assign_ids(tools)[0]


def _name_files(skill: Skill) -> Iterator[JsonValue]:
    """Yield the paths of scripts, references and other files without their extensions."""
    for file in skill.files[:_MOST_TEXTS]:
        if file.path != SKILL_FILE:
            folder, _, name = file.path.rpartition("/")
            yield f"{folder} {name.partition('.')[0]}".strip()


def make_documents(pages: Sequence[ToolDocument]) -> tuple[ToolDocument, ...]:
    """Return the skills of *pages* as documents for an index."""
    skills = identify_skills(pages)
    documents: list[ToolDocument] = []
    for tool in make_tools(skills.values()):
        skill = skills[tool.key]
        place = f"skills/{tool.id}"
        body = "\n\n".join((skill.body, *_list_texts(skill)))
        documents.append(ToolDocument(tool, f"{place}.md", f"urn:mcpg:{place}", body=body))
    return tuple(documents)


def _list_texts(skill: Skill) -> Iterator[str]:
    """Yield the texts of other members of the front matter, such as `when_to_use` and tags."""
    waiting: list[JsonValue] = [one for key, one in skill.frontmatter.items() if key not in _OWN]
    for _ in range(_MOST_TEXTS):
        if not waiting:
            return
        one = waiting.pop(0)
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def list_contents(pages: Iterable[ToolDocument]) -> Iterator[ItemContent]:
    """Yield the components of the skills of *pages*."""
    for (source, name), skill in identify_skills(pages).items():
        files = {one.path: one.digest for one in skill.files}
        yield ItemContent(source, f"{NAME}:{name}", skill.description, files, skill.page_place)


def make_uri(skill: Skill, path: str) -> str:
    """Return the address of a file of a *skill*, by its source and name, which are unique."""
    return f"skill://{quote(skill.source_id, safe='')}/{quote(skill.name, safe='')}/{quote(path)}"


class Skills:
    """The skills among the pages of a bundle."""

    def __init__(self, pages: Iterable[ToolDocument]) -> None:
        skills = identify_skills(pages)
        tools = make_tools(skills.values())
        self._lookup = ToolLookup(tools)
        self.by_id = {tool.id: skills[tool.key] for tool in tools}

    def find_named(self, name: str) -> tuple[str, Skill]:
        """Return the id and the skill that *name* means: its name, `SOURCE::NAME`, or an id.

        Raises:
            NotFoundError: No skill, or more than one, has the name.
        """
        found = self._lookup.find_named(name, NAME)
        return found.id, self.by_id[found.id]

    def describe_item(self, name: str) -> ItemDetails:
        """Return all of the skill that *name* means; see `find_named`."""
        item_id, skill = self.find_named(name)
        files: list[JsonValue] = [
            {
                "path": one.path,
                "size": one.size,
                "digest": one.digest,
                "isHeld": one.content is not None,
            }
            for one in skill.files
        ]
        main = next(one.content for one in skill.files if one.path == SKILL_FILE)
        facts = {
            "source": skill.source_id,
            "folder": skill.folder,
            "license": str(skill.frontmatter.get("license") or ""),
            "files": ", ".join(f"{one.path} ({one.size:,} bytes)" for one in skill.files),
        }
        return ItemDetails(
            Item(item_id, NAME, skill.source_id, skill.description),
            {"frontmatter": skill.frontmatter, "files": files},
            facts,
            (main or b"").decode("utf-8-sig"),
        )
