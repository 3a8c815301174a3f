"""Checks of `mcpg lint` for skills, besides its checks for tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from posixpath import normpath
from urllib.parse import unquote

from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument
from mcpg.lint.context import make_finding
from mcpg.lint.deception import ToolText, find_hidden_text, find_poisoning
from mcpg.lint.model import Finding
from mcpg.skills.folder import Skill
from mcpg.skills.items import identify_skills, make_tools
from mcpg.sources.model import SKILL_FILE

MOST_LINES = 500
LONGEST_DESCRIPTION = 1024
"""Limits of the specification of Agent Skills: advised for the text, required of descriptions."""

_LONGEST_NAME = 64
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_MOST_REFERENCES = 10
_ORDERS, _HTML = "X101", "X106"
"""Rules against orders to models, which skills consist of, and HTML, which is normal in code."""

_CODE = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*\n.*?^[ \t]*\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_MARKDOWN = (".md", ".markdown")

# Words of grammar that introduce an occasion or purpose, in the languages of the stop words.
_OCCASION = re.compile(
    r"\b(?:when(?:ever)?|if|before|after|while|during|once|until|upon|unless|trigger(?:s|ed)?\s+(?:on|by)"
    r"|use[ds]?\s+(?:this|it|me|the\s+skill|only|for|in|to|with)|for\s+(?:use|tasks|requests|questions)"
    r"|wenn|falls|sobald|bevor|nachdem|während|bei|quand|lorsque?|avant|après|pour|si|cuando|antes|después"
    r"|para|al|quando|prima|dopo|se|wanneer|als|voor|när|om|före|efter|gdy|kiedy|jeśli|przed"
    r"|когда|если|перед|после|при|для)\b|当|時|时|用于|如果|とき|場合|際|前に|할\s*때|경우",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"(?<!!)\[[^\]\n]*\]\(<?([^)\s>]+)>?(?:\s+[\"'][^)\n]*)?\)|!\[[^\]\n]*\]\(([^)\s]+)\)"
)
_MENTION = re.compile(
    r"(?<![\w./$~{}<>*-])((?:\./)?(?:scripts|references|assets)/[\w./-]*\w\.\w+)\b"
)
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#|/|[{<$]")


def check_skills(pages: Sequence[ToolDocument]) -> Iterator[Finding]:
    """Yield the findings on the skills among *pages*."""
    skills = identify_skills(pages)
    for tool in make_tools(skills.values()):
        skill = skills[tool.key]
        yield from _check_name(tool, skill)
        yield from _check_description(tool)
        yield from _check_length(tool, skill)
        yield from _check_references(tool, skill)
        yield from _check_texts(tool, skill)


def _check_name(tool: Tool, skill: Skill) -> Iterator[Finding]:
    fault = ""
    if "name" not in skill.frontmatter:
        fault = f"{tool.id!r} has no name in its front matter"
    elif len(skill.name) > _LONGEST_NAME or not _NAME.match(skill.name):
        fault = f"the name {skill.name[:_LONGEST_NAME]!r} is not of the form that clients accept"
    elif skill.name != skill.folder_name:
        fault = f"the name {skill.name!r} differs from the folder's, {skill.folder_name!r}"
    if fault:
        advice = "use lowercase letters, digits and single hyphens, as its folder is called"
        yield make_finding("A101", tool, fault, "name", suggestion=advice)


def _check_description(tool: Tool) -> Iterator[Finding]:
    text = tool.description
    if len(text) > LONGEST_DESCRIPTION:
        message = (
            f"the description of {tool.id!r} has {len(text):,} characters, more than"
            f" {LONGEST_DESCRIPTION:,}"
        )
        advice = "keep its effect and when to use it; move the rest below"
        yield make_finding("A103", tool, message, "description", suggestion=advice)
    if text and not _OCCASION.search(text):
        message = f"the description of {tool.id!r} does not describe when to use it"
        advice = "add the occasions: `Use when ...`"
        yield make_finding("A102", tool, message, "description", suggestion=advice)


def _check_length(tool: Tool, skill: Skill) -> Iterator[Finding]:
    lines = skill.body.count("\n") + 1
    if lines > MOST_LINES:
        message = f"the text of {tool.id!r} has {lines:,} lines, more than {MOST_LINES}"
        advice = "move details into files that are read when they are needed"
        yield make_finding("A104", tool, message, suggestion=advice)


def _check_references(tool: Tool, skill: Skill) -> Iterator[Finding]:
    """Yield references of the text to files that the skill does not have."""
    known = {one.path for one in skill.files}
    folders = {path.rpartition("/")[0] for path in known}
    folders |= {path[:at] for path in folders for at, sign in enumerate(path) if sign == "/"}
    found: dict[str, tuple[int, int]] = {}
    for pattern in (_LINK, _MENTION):
        for match in pattern.finditer(skill.body):
            group = 1 if match[1] else 2
            target = match[group]
            if not _ADDRESS.match(target):
                found.setdefault(target, match.span(group))
    broken = 0
    for target, (start, end) in found.items():
        path = normpath(unquote(target.partition("#")[0].partition("?")[0]) or SKILL_FILE)
        if path not in known and path not in folders and broken < _MOST_REFERENCES:
            broken += 1
            leads_out = path.startswith("..")
            what = "leads out of the skill" if leads_out else "is not a file of the skill"
            yield make_finding(
                "A105",
                tool,
                f"{target!r} in {tool.id!r} {what}",
                "body",
                text=skill.body,
                start=start,
                size=end - start,
                suggestion="copy the file into the skill, or correct the path",
            )


def _check_texts(tool: Tool, skill: Skill) -> Iterator[Finding]:
    """Yield findings on hidden text and attacks in a skill's text and its other files."""
    yield from _check_text(tool, ToolText(("body",), skill.body), is_prose=True)
    for file in skill.files:
        if file.path == SKILL_FILE or file.content is None:
            continue
        try:
            text = ToolText(("files", file.path), file.content.decode())
        except UnicodeDecodeError:
            continue
        owner = replace(tool, place=f"{skill.place.removesuffix(SKILL_FILE)}{file.path}")
        yield from _check_text(owner, text, is_prose=file.path.lower().endswith(_MARKDOWN))


def _check_text(tool: Tool, text: ToolText, *, is_prose: bool) -> Iterator[Finding]:
    yield from find_hidden_text(tool, text)
    for found in find_poisoning(tool, text):
        if found.code not in (_ORDERS, _HTML):
            yield found
    if is_prose:
        # The same length keeps places valid.
        bare = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text.text)
        for found in find_poisoning(tool, text._replace(text=bare)):
            if found.code == _HTML:
                yield found
