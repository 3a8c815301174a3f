"""Hints: their keys in a JSON object, and hints files.

A hints file adds to tools whose manifests its author does not own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mcpg.catalog.json_text import parse_json_documents
from mcpg.catalog.model import (
    GENERATED_LISTS,
    HINT_LISTS,
    MOST_GENERATED,
    NO_HINTS,
    HintRule,
    Hints,
    Tier,
    Tool,
    ToolExample,
)
from mcpg.catalog.view import unique
from mcpg.errors import Code, Diagnostic, SourceError, warning
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.safeyaml import load_yaml_with_lines
from mcpg.text.spelling import suggest
from mcpg.text.words import split_words

TYPED_ANNOTATIONS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
"""The annotations that the MCP specification defines as booleans."""

_FIRST_NAMESPACES = ("mcpg", "managedCodeMcpGateway")


def read_texts(value: JsonValue) -> tuple[str, ...] | None:
    """Read one text or number or an array of them; `None` when nothing in it is one."""
    items = value if isinstance(value, list) else [value]
    texts = [
        str(item)
        for item in items
        if isinstance(item, str | int | float) and not isinstance(item, bool)
    ]
    return unique(texts) if texts or not items else None


def _read_boolean(value: JsonValue) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().casefold())
    return value if isinstance(value, bool) else None


def _read_tier(value: JsonValue) -> Tier | None:
    name = value.strip().capitalize() if isinstance(value, str) else None
    return next((tier for tier in Tier if tier == name), None)


def _read_examples(value: JsonValue) -> tuple[ToolExample, ...] | None:
    items = value if isinstance(value, list) else [value]
    examples: dict[ToolExample, None] = {}
    for item in items:
        members: JsonObject = item if isinstance(item, dict) else {"input": item}
        asked = _first_text(members, "Input", "input", "request", "Request")
        answer = _first_text(members, "output", "Output", "response", "Response")
        label = _first_text(members, "description", "Description", "label", "Label")
        if asked is not None:
            examples.setdefault(ToolExample(asked, answer, label))
    return tuple(examples) if examples or not items else None


def _first_text(mapping: JsonObject, *keys: str) -> str | None:
    texts = (text.strip() for text in map(mapping.get, keys) if isinstance(text, str))
    return next(filter(None, texts), None)


@dataclass(frozen=True, slots=True)
class HintField:
    """One member of `Hints`: its keys, in order, and how a value is read."""

    keys: tuple[str, ...]
    read: Callable[[JsonValue], object | None]

    def find(self, mapping: JsonObject) -> object | None:
        """Return the value of the first key with a usable one, or `None`."""
        stated = (value for value in map(mapping.get, self.keys) if value is not None)
        return next((one for one in map(self.read, stated) if one is not None), None)


def _spellings(*words: str) -> tuple[str, ...]:
    """Spell a key as `SearchAliases`, `searchAliases`, `search_aliases`; one word in two ways."""
    pascal = "".join(word.capitalize() for word in words)
    camel = pascal[0].lower() + pascal[1:]
    return tuple(dict.fromkeys((pascal, camel, "_".join(words))))


HINT_FIELDS: dict[str, HintField] = {
    "aliases": HintField(_spellings("search", "aliases") + _spellings("aliases"), read_texts),
    "keywords": HintField(_spellings("search", "keywords") + _spellings("keywords"), read_texts),
    "categories": HintField(_spellings("categories") + _spellings("category"), read_texts),
    "tags": HintField(_spellings("tags"), read_texts),
    "data_sources": HintField(
        _spellings("data", "sources") + _spellings("data", "source"), read_texts
    ),
    "examples": HintField(_spellings("usage", "examples") + _spellings("examples"), _read_examples),
    **{
        "_".join(words): HintField(_spellings(*words) + _spellings(*words, "hint"), _read_boolean)
        for words in (("read", "only"), ("idempotent",), ("destructive",), ("open", "world"))
    },
    "cost_tier": HintField(_spellings("cost", "tier"), _read_tier),
    "latency_tier": HintField(_spellings("latency", "tier"), _read_tier),
    "enabled_by_default": HintField(
        _spellings("enabled", "by", "default") + _spellings("default", "enabled"), _read_boolean
    ),
}
"""Every member of `Hints` with the keys of the .NET gateway."""

HINT_KEYS = tuple(key for field in HINT_FIELDS.values() for key in field.keys)
"""All keys of hints, in the order of the fields."""

_HINT_KEYS = frozenset(HINT_KEYS)


def hints_from(mapping: JsonObject) -> Hints:
    """Read the hints in a JSON object.

    Each hint comes from the first of its keys with a usable value. Lists may be one text, whose
    items may be numbers; a boolean may be the word; a tier may be in any case. Values and items of
    a wrong type are ignored; `unusable_keys` names them.
    """
    if _HINT_KEYS.isdisjoint(mapping):
        return NO_HINTS
    found = ((name, field.find(mapping)) for name, field in HINT_FIELDS.items())
    return Hints(**{name: value for name, value in found if value is not None})  # type: ignore[arg-type]


def unusable_keys(mapping: JsonObject) -> Iterator[str]:
    """Name the keys of hints whose value, or an item of it, is not usable."""
    for field in HINT_FIELDS.values():
        for key in field.keys:
            value = mapping.get(key)
            if value is not None and not is_usable(value, field.read):
                yield key


def is_usable(value: JsonValue, read: Callable[[JsonValue], object | None]) -> bool:
    """Return whether *read* takes a value; of a list, whether it takes each item."""
    if isinstance(value, list) and read in (read_texts, _read_examples):
        return not any(isinstance(item, list) or read(item) is None for item in value)
    return read(value) is not None


def hints_of_tool(
    entry: JsonObject,
    annotations: JsonObject,
    meta: JsonObject,
    *,
    trusts_entry: bool = True,
    trusts_server: bool = True,
) -> Hints:
    """Read a tool's own hints, from the most to the least deliberate place.

    Untrusted hints count only for single values: they describe how the tool behaves, as the
    annotations of MCP do, and cannot be stuffed with words. *entry* is the tool in its manifest,
    with hints beside `name` or in an object `hints`; *trusts_server* is for the others.
    """
    own, claimed = _entry_hints(entry), claimed_hints(annotations, meta)
    if own is NO_HINTS and claimed is NO_HINTS:
        return NO_HINTS
    return Hints.merge(
        own if trusts_entry else without_lists(own),
        claimed if trusts_server else without_lists(claimed),
    )


def states_lists(entry: JsonObject) -> bool:
    """Return whether hints beside `name`, or in an object `hints`, have any list."""
    own = _entry_hints(entry)
    return own != without_lists(own)


def _entry_hints(entry: JsonObject) -> Hints:
    nested = entry.get("hints")
    return _merge_hints((entry, nested if isinstance(nested, dict) else {}))


def claimed_hints(annotations: JsonObject, meta: JsonObject) -> Hints:
    """Return the hints of a server for a tool: annotations, then `_meta`."""
    if not (annotations or meta):
        return NO_HINTS
    typed: JsonObject = {key: annotations[key] for key in TYPED_ANNOTATIONS if key in annotations}
    return _merge_hints((typed, annotations, *meta_parts(meta)))


def _merge_hints(parts: Iterable[JsonObject]) -> Hints:
    said = [hints for part in parts if (hints := hints_from(part)) is not NO_HINTS]
    if len(said) == 1:
        return said[0]
    return Hints.merge(*said) if said else NO_HINTS


def without_lists(hints: Hints) -> Hints:
    """Return the single values of *hints*."""
    lists: dict[str, Any] = {name: () for name in HINT_LISTS if getattr(hints, name)}
    return replace(hints, **lists) if lists else hints


def meta_parts(meta: JsonObject) -> Iterator[JsonObject]:
    """Return the objects of a `_meta` that may have hints: itself, then its namespaced ones."""
    yield meta
    others = sorted(key for key in meta if key not in _FIRST_NAMESPACES)
    for key in (*_FIRST_NAMESPACES, *others):
        value = meta.get(key)
        if isinstance(value, dict):
            yield value


_RELATED = ("related",)
_NEXT_STEPS = ("nextSteps", "next_steps")
LINT_IGNORE = ("lintIgnore", "lint_ignore")
"""The keys of findings that `mcpg lint` does not report."""

GENERATED_KEY = "generated"
"""The key of the record of a generated hints file, or of an entry of it."""

_KNOWN = (*HINT_KEYS, *_RELATED, *_NEXT_STEPS, *LINT_IGNORE)
_KNOWN_GENERATED = (
    *(key for name in GENERATED_LISTS for key in HINT_FIELDS[name].keys),
    GENERATED_KEY,
)
_GENERATED_NAME = re.compile(
    r"(?:.*\.)?generated\.hints\.(?:ya?ml|json)", re.DOTALL | re.IGNORECASE
)
_LAYOUT = "write `tools:`, then tool ids below it, then hints below each"


def is_generated_name(name: str) -> bool:
    """Return whether a file of this name is a hints file that a language model wrote."""
    return _GENERATED_NAME.fullmatch(name) is not None


def generated_hints(hints: Hints) -> Hints:
    """Return the texts of *hints* that a language model may write, each on one line."""

    def lines(texts: Iterable[str]) -> tuple[str, ...]:
        return unique(" ".join(_CONTROLS.sub(" ", text).split()) for text in texts)[:MOST_GENERATED]

    examples = lines(one.input for one in hints.examples)
    found = Hints(
        lines(hints.aliases), lines(hints.keywords), examples=tuple(map(ToolExample, examples))
    )
    return NO_HINTS if found == NO_HINTS else found


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def read_hint_rules(
    text: str, place: str, *, is_generated: bool = False
) -> tuple[tuple[HintRule, ...], tuple[Diagnostic, ...]]:
    """Read the rules of a hints file, YAML or JSON, and report each unusable member.

    In a generated file only the lists of `GENERATED_LISTS` count.
    """
    value, line_of = _parse(text, place)
    if value is None:
        return (), (warning(Code.HINT_INVALID, "this hints file is empty", place),)
    tools = value.get("tools") if isinstance(value, dict) else None
    if not isinstance(value, dict) or "tools" not in value or not isinstance(tools, dict | None):
        keys = list(value) if isinstance(value, dict) else []
        near = () if "tools" in keys else suggest("tools", keys)
        remedy = f"rename {near[0][:80]!r} to 'tools'" if near else _LAYOUT
        raise SourceError("this hints file has no mapping `tools`", place=place, remedy=remedy)
    head = ("tools", "$schema", *((GENERATED_KEY,) if is_generated else ()))
    diagnostics = list(_unknown(value, head, place))
    rules: list[HintRule] = []
    for pattern, entry in (tools or {}).items():
        at = line_of(pattern)
        if is_generated and isinstance(entry, dict) and pattern.strip():
            written = generated_hints(hints_from(entry))
            rules.append(HintRule(pattern.strip(), written, (), (), at, (), _written_for(entry)))
            diagnostics.extend(_problems(entry, at, _KNOWN_GENERATED))
        elif isinstance(entry, dict) and pattern.strip():
            related, next_steps = _texts(entry, _RELATED), _texts(entry, _NEXT_STEPS)
            ignored = _texts(entry, LINT_IGNORE)
            stated = (related, next_steps, at, ignored)
            rules.append(HintRule(pattern.strip(), hints_from(entry), *stated))
            diagnostics.extend(_problems(entry, at))
        else:
            message = f"the entry {pattern!r} is not a mapping of hints and is ignored"
            diagnostics.append(warning(Code.HINT_INVALID, message, at))
    return tuple(rules), tuple(diagnostics)


def _parse(text: str, place: str) -> tuple[JsonValue, Callable[[str], str]]:
    if text.lstrip().startswith("{") and place.casefold().endswith(".json"):
        repeated: set[str] = set()
        values = parse_json_documents(text, place, repeated)
        if repeated:
            message = f"the key {min(repeated)[:80]!r} is repeated in one object"
            raise SourceError(message, place=place, remedy="keep one of them")
        if len(values) > 1:
            raise SourceError("has several JSON documents", place=place, remedy="keep one")

        def find_place(key: str) -> str:
            found = map(text.find, (json.dumps(key, ensure_ascii=False), json.dumps(key)))
            at = next((at for at in found if at >= 0), 0)
            return f"{place}:{text.count(chr(10), 0, at) + 1}"

        return values[0], find_place
    value, lines = load_yaml_with_lines(text, place, error=SourceError)
    return value, lambda pattern: f"{place}:{lines[('tools', pattern)]}"


def _texts(entry: JsonObject, keys: tuple[str, ...]) -> tuple[str, ...]:
    found = (read_texts(entry[key]) for key in keys if key in entry)
    return next((patterns for patterns in found if patterns), ())


def _written_for(entry: JsonObject) -> str:
    stamp = entry.get(GENERATED_KEY)
    digest = stamp.get("definition") if isinstance(stamp, dict) else None
    return digest.strip() if isinstance(digest, str) else ""


def _problems(entry: JsonObject, place: str, known: Iterable[str] = _KNOWN) -> Iterator[Diagnostic]:
    relations = [
        key for key in (*_RELATED, *_NEXT_STEPS, *LINT_IGNORE) if entry.get(key) is not None
    ]
    unusable = [key for key in relations if not is_usable(entry[key], read_texts)]
    for key in (*unusable_keys(entry), *unusable):
        part = "an item" if isinstance(entry[key], list) else "the value"
        message = f"{part} of {key!r} has the wrong type for this hint and is ignored"
        yield warning(Code.HINT_INVALID, message, place)
    yield from _unknown(entry, known, place)


def _unknown(mapping: JsonObject, known: Iterable[str], place: str) -> Iterator[Diagnostic]:
    names = tuple(known)
    for key in mapping:
        if key not in names:
            close = suggest(key, names)
            advice = f"; did you mean {close[0]!r}?" if close else ""
            yield warning(Code.HINT_INVALID, f"{key[:80]!r} is not a known hint{advice}", place)


MOST_WORDS = 64
"""How many distinct words of the claims of one tool are searched."""


def generated_text(generated: Hints) -> str:
    """Return the first words of texts that a language model wrote, `MOST_GENERATED_WORDS`."""
    tokens: list[str] = []
    room = MOST_GENERATED_WORDS
    for token in (token for text in _claim_texts(generated) for token in text.split()):
        room -= len(split_words(token))
        if room < 0:
            break
        tokens.append(token)
    return " ".join(tokens)


MOST_GENERATED_WORDS = 128
"""How many words of the generated texts of one tool are searched."""

_KEYS = frozenset(key for name in HINT_LISTS for key in HINT_FIELDS[name].keys)


@dataclass(frozen=True, slots=True)
class ClaimedWords:
    """The words of a tool's claims.

    Attributes:
        text: The first `MOST_WORDS` distinct ones, as the server writes them.
        kept: How many distinct words these are.
        total: How many there are in all.
    """

    text: str
    kept: int
    total: int


def read_claims(tool: Tool) -> Hints:
    """Return the lists of hints from the server of *tool* that are not its hints."""
    # Most tools have annotations, and hardly one has such keys among them.
    if all(_KEYS.isdisjoint(part) for part in (tool.annotations, *meta_parts(tool.meta))):
        return NO_HINTS

    def fold(entry: object) -> object:
        return entry.casefold() if isinstance(entry, str) else entry

    claimed = claimed_hints(tool.annotations, tool.meta)
    kept: dict[str, tuple[object, ...]] = {}
    for name in HINT_LISTS:
        own = set(map(fold, getattr(tool.hints, name)))
        kept[name] = tuple(one for one in getattr(claimed, name) if fold(one) not in own)
    return Hints(**kept)  # type: ignore[arg-type]


def claimed_texts(claims: Hints) -> tuple[str, ...]:
    """Return the entries of *claims*, each once."""
    return unique(_claim_texts(claims))


def claimed_words(claims: Hints) -> ClaimedWords:
    """Return the words of *claims*, each once, in order of their first place."""
    stated = [token for text in _claim_texts(claims) for token in text.split()]
    if not stated:
        return ClaimedWords("", 0, 0)
    every: set[str] = set()
    kept: set[str] = set()
    tokens: list[str] = []
    for token in stated:
        words = split_words(token)
        if every.issuperset(words):
            continue
        every.update(words)
        if len(kept.union(words)) <= MOST_WORDS:
            kept.update(words)
            tokens.append(token)
    return ClaimedWords(" ".join(tokens), len(kept), len(every))


def _claim_texts(claims: Hints) -> Iterable[str]:
    asked = (text for one in claims.examples for text in (one.input, one.description, one.output))
    return (
        *(*claims.aliases, *claims.keywords, *claims.categories, *claims.tags),
        *(*claims.data_sources, *filter(None, asked)),
    )


def overlong_claims(tools: Iterable[Tool]) -> Iterator[Diagnostic]:
    """Report the *tools* whose claims have words that are left out."""
    for tool in tools:
        claims = read_claims(tool)
        if claims is NO_HINTS or claims == NO_HINTS:
            continue
        words = claimed_words(claims)
        if words.kept < words.total:
            message = (
                f"the server of {tool.id!r} gives hints of {words.total:,} words for it;"
                f" {words.kept} are searched, the others are left out"
            )
            yield warning(Code.HINT_UNTRUSTED, message, tool.place or tool.id)
