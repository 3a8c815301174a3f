"""Link targets: resolved from an author's words to URIs, and rewritten in prose."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from mcpg.catalog.model import Tool
from mcpg.documents.markdown import Reference, code_lines, written_address
from mcpg.documents.model import normal_path, path_key

if TYPE_CHECKING:
    from mcpg.documents import ToolDocument

_SUFFIX = ".md"
_PATHS = 2


@dataclass(frozen=True, slots=True)
class Targets:
    """The documents that a link can reach, by everything an author may call them.

    Attributes:
        by_uri: Tool ids by canonical URI, "" for that of a page.
        by_words: URIs by kind of name: tool id, `source::name`, path, raw name, label. A name that
            several documents bear stands for none, so its URI is `None`.
    """

    by_uri: Mapping[str, str]
    by_words: Sequence[Mapping[str, str | None]]

    def resolve(self, target: str, path: str) -> str | None:
        """Return the URI that *target* means in the document at *path*, `None` if no one's.

        The first that answers: a URI, a tool id, `source::name`, a path from the top or from the
        document's own folder, a raw name, a label; the last two only where they are unique.
        """
        spelt = (target, f"{target}/", target.rstrip("/"))
        direct = next((uri for uri in spelt if uri in self.by_uri), None)
        return direct or self._named(target, path)

    def with_paths(self, paths: Mapping[str, str]) -> Targets:
        """Return targets that further *paths*, each with its URI, lead to as well."""
        words = list(self.by_words)
        words[_PATHS] = {**paths, **words[_PATHS]}
        return Targets(self.by_uri, words)

    def _named(self, target: str, path: str) -> str | None:
        keys = list(dict.fromkeys(_target_keys(target, path)))
        meant = (words.get(key) for words in self.by_words for key in keys)
        return next(filter(None, meant), None)


def targets_of(tools: Iterable[Tool], addresses: Mapping[str, tuple[str, str]]) -> Targets:
    """Gather what *tools* are called, each at its path and URI in *addresses*, by tool id."""
    by_uri: dict[str, str] = {}
    by_words: list[dict[str, str | None]] = [{}, {}, {}, {}, {}]
    for tool in tools:
        path, uri = addresses[tool.id]
        by_uri[uri] = tool.id
        names = (tool.id, f"{tool.source_id}::{tool.name}", path, tool.name, tool.display_name)
        for words, name in zip(by_words, names, strict=True):
            key = path_key(name.strip())
            words[key] = uri if key and words.get(key, uri) == uri else None
    return Targets(by_uri, by_words)


def with_pages(targets: Targets, pages: Collection[ToolDocument]) -> Targets:
    """Return *targets* and *pages*, which have a URI and a path and no other name."""
    addresses = {page.uri: "" for page in pages}
    paths = {path_key(page.path): page.uri for page in pages}
    return Targets({**addresses, **targets.by_uri}, (*targets.by_words, paths))


def _target_keys(target: str, path: str) -> Iterator[str]:
    yield path_key(target.strip())
    relative = target.strip().replace("\\", "/")
    for joined in (relative, posixpath.join(posixpath.dirname(path), relative)):
        normal = normal_path(posixpath.normpath(joined))
        yield path_key(normal)
        yield path_key(normal + _SUFFIX)


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
