"""Links in prose led to other targets; all else of the prose stays as it was written."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from mcpg.documents.markdown import code_lines, written_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.documents.markdown import Reference

_ADDRESS = re.compile(
    r"(\]\([ \t]*(?:\n[ \t]*)?|^[ \t>]*\[[^\[\]\n]+\]:[ \t]*(?:\n[ \t]*)?)"
    r"(<[^<>\n]*>|(?:[^\s()<>\\]|\\.|\([^\s()\\]*\))+)",
    re.MULTILINE,
)
_WIKI = re.compile(r"\[\[([^\[\]\n|\\]+)((?:\\?\|[^\[\]\n]*)?)\]\]")


def retarget(body: str, targets: Mapping[Reference, str]) -> str:
    """Return *body* with other targets for links.

    Args:
        body: A person's Markdown.
        targets: The new target of each link that changes, the link as `read_markdown` gives it.
    """
    addresses = {link.target: new for link, new in targets.items() if not link.is_wiki}
    wiki = {link.target: new for link, new in targets.items() if link.is_wiki}

    def address(match: re.Match[str]) -> str:
        new = addresses.get(written_address(match[2]))
        return match[0] if new is None else f"{match[1]}{_bracketed(new)}"

    def linked(line: str) -> str:
        # In a table a bare bar would end the cell.
        bar = "\\|" if "|" in _WIKI.sub("", line) else "|"
        return _WIKI.sub(lambda match: _wiki_link(match, wiki, bar), line)

    code = code_lines(body)
    lines = enumerate(body.split("\n"))
    runs = groupby(lines, key=lambda line: line[0] in code)
    parts = ((is_code, "\n".join(text for _, text in run)) for is_code, run in runs)
    return "\n".join(
        text if is_code else "\n".join(map(linked, _ADDRESS.sub(address, text).split("\n")))
        for is_code, text in parts
    )


def _wiki_link(match: re.Match[str], targets: Mapping[str, str], bar: str) -> str:
    name = match[1].strip()
    return f"[[{targets[name]}{match[2] or bar + name}]]" if name in targets else match[0]


def _bracketed(address: str) -> str:
    return f"<{address}>" if any(mark in address for mark in " ()") else address
