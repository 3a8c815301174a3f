"""Answers of models: finding their entries, and keeping only texts that fit a catalog.

Answers are untrusted: a definition may contain instructions to the model.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from mcpg.catalog.model import Hints, Tool, ToolExample
from mcpg.enrich.prompt import ALIASES, EXAMPLES, KEYWORDS
from mcpg.errors import Code, Diagnostic, warning
from mcpg.lint.deception import ToolText, find_hidden_text, find_poisoning
from mcpg.text.json_values import JsonObject
from mcpg.text.safeyaml import UNSAFE
from mcpg.text.words import split_words, stem

_KINDS = {"examples": (EXAMPLES, 160), "aliases": (ALIASES, 80), "keywords": (KEYWORDS, 40)}
"""The kinds of texts: how many a tool has at most, and how long one is in characters."""

_FEWEST = {"examples": 3, "aliases": 2}
"""How many texts of a kind a whole entry has at least."""

_MOST_READ = 64
_MOST_ATTEMPTS = 1_000
_MOST_ENTRIES = 10_000
_SHOWN = 80
_TOOLS = re.compile(r'"tools"\s*:\s*\[')
_GAP = re.compile(r"[\s,]*")
_PROMPT = re.compile(r'"prompt"\s*:\s*"([^"]{1,80})"')
_LINK = re.compile(r"\w://|www\.|[\w.+-]+@[\w-]+\.\w", re.IGNORECASE)
_MARKUP = re.compile(r"[<>{}`|]")


@dataclass(frozen=True, slots=True)
class Answer:
    """The entries of one answer.

    Attributes:
        prompt: The id of the prompt in the answer; "" if it has none.
    """

    prompt: str
    entries: tuple[JsonObject, ...]


def find_answers(text: str) -> Iterator[Answer]:
    """Yield the answers in *text*, also within prose; a cut-off answer counts up to the cut."""
    decoder, at = json.JSONDecoder(), 0
    for _ in range(_MOST_ATTEMPTS):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            listed = _TOOLS.search(text, at)
            if listed is None:
                return
            # The text before may be prose, or an answer that is cut off.
            begin = text.rfind("{", at, listed.start())
            if begin > at:
                at = begin
                continue
            entries, end = _read_entries(text, listed.end(), decoder)
            prompt = _PROMPT.search(text, at, listed.start())
            yield Answer(prompt[1] if prompt else "", entries)
        else:
            if isinstance(found.get("tools"), list):
                entries = tuple(one for one in found["tools"] if isinstance(one, dict))
                yield Answer(str(found.get("prompt") or ""), entries[:_MOST_ENTRIES])
        at = max(end, at + 1)


def _read_entries(
    text: str, at: int, decoder: json.JSONDecoder
) -> tuple[tuple[JsonObject, ...], int]:
    """Return the whole objects of a list that begins at *at*, and the end of the last one."""
    entries: list[JsonObject] = []
    while len(entries) < _MOST_ENTRIES:
        gap = _GAP.match(text, at)
        begin = gap.end() if gap else at
        if text[begin : begin + 1] != "{":
            break
        try:
            found, at = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            break
        entries.append(found)
    return tuple(entries), at


def fold_text(text: str) -> str:
    """Return the folded words of *text*, which equal texts share."""
    return " ".join(split_words(text))


class TextCheck:
    """Checks texts against all tools of a catalog."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        """Note the texts that belong to a single one of *tools*.

        These are aliases that people wrote, and among the tools of its server names and titles.
        """
        self._owners: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for tool in tools:
            for text in (tool.name, tool.title or "", *tool.hints.aliases):
                self._owners[tool.source_id, fold_text(text)].add(tool.id)
            for text in tool.hints.aliases:
                self._owners["", fold_text(text)].add(tool.id)

    def find_fault(self, text: str, kind: str, tool: Tool) -> str | None:
        """Return why *text* may not belong to *tool*, `None` if it may."""
        if len(text) > _KINDS[kind][1]:
            return f"is longer than {_KINDS[kind][1]} characters"
        words = fold_text(text)
        if not words or not any(sign.isalpha() for sign in text):
            return "has no words"
        read = ToolText((kind, 0), text)
        if UNSAFE.search(text) or any(find_hidden_text(tool, read)):
            return "has hidden or control characters"
        if _LINK.search(text) or _MARKUP.search(text):
            return "has a link, an address or markup"
        if poison := next(find_poisoning(tool, read), None):
            return f"is found by the rule {poison.code}"
        owners = {one for key in (tool.source_id, "") for one in self._owners.get((key, words), ())}
        is_foreign = owners and tool.id not in owners
        return f"is a name or an alias of {min(owners)!r}" if is_foreign else None


@dataclass(slots=True)
class CheckedTexts:
    """The usable texts of answers.

    Attributes:
        texts: The texts of each tool with a whole entry, by the id of the tool.
        partial: Ids of tools whose entries have too few texts.
    """

    texts: dict[str, Hints] = field(default_factory=dict)
    partial: set[str] = field(default_factory=set)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, entries: Iterable[JsonObject], tools: Sequence[Tool], check: TextCheck) -> None:
        """Take the whole ones of *entries* for *tools* of one server that have none yet."""
        by_name = {tool.name: tool for tool in tools}
        folded = {tool.name.strip().casefold(): tool for tool in tools}
        for entry in islice(entries, _MOST_ENTRIES):
            name = entry.get("name")
            name = name if isinstance(name, str) else ""
            tool = by_name.get(name) or folded.get(name.strip().casefold())
            if tool is None:
                message = f"the answer names {name[:_SHOWN]!r}, for which no texts were asked"
                self._note(message, tools[0].source_id if tools else None)
            elif tool.id not in self.texts:
                self._add_entry(entry, tool, check)

    def _add_entry(self, entry: JsonObject, tool: Tool, check: TextCheck) -> None:
        kept: dict[str, list[str]] = {}
        for kind, (most, _) in _KINDS.items():
            stated = entry.get(kind)
            texts = [_read_text(one) for one in stated] if isinstance(stated, list) else []
            kept[kind] = []
            seen: set[str] = set()
            for text in filter(None, texts[:_MOST_READ]):
                fault = check.find_fault(text, kind, tool)
                if fault is not None:
                    self._note(f"the text {text[:_SHOWN]!r} {fault}, and is dropped", tool.id)
                elif (folded := fold_text(text)) not in seen and len(kept[kind]) < most:
                    seen.add(folded)
                    kept[kind].append(text)
        if any(len(kept[kind]) < fewest for kind, fewest in _FEWEST.items()):
            self.partial.add(tool.id)
            return
        self.partial.discard(tool.id)
        self.texts[tool.id] = Hints(
            aliases=tuple(kept["aliases"]),
            keywords=_drop_known(kept["keywords"], tool),
            examples=tuple(map(ToolExample, kept["examples"])),
        )

    def _note(self, message: str, place: str | None) -> None:
        self.diagnostics.append(warning(Code.ANSWER_DROPPED, message, place))


def _read_text(value: object) -> str:
    if isinstance(value, dict):
        value = value.get("input")
    # Control characters stay, and are found.
    return re.sub(r"[ \t\r\n]+", " ", value).strip(" ") if isinstance(value, str) else ""


def _drop_known(keywords: Iterable[str], tool: Tool) -> tuple[str, ...]:
    """Return the *keywords* that the names and the description of *tool* lack."""
    known = {
        stem(word)
        for text in (tool.name, tool.title or "", tool.description)
        for word in split_words(text)
    }
    return tuple(one for one in keywords if not known.issuperset(map(stem, split_words(one))))
