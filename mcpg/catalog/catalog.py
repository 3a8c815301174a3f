"""The catalog: all tools of a host with ids, hints, and relations from authors.

Ids are short, safe, unique, and independent of the order of the tools. Their rules are those of the
.NET gateway, so that an id means the same tool on both sides; only a name without usable characters
gets a hash here, because a fallback for the first such tool would change its meaning when another
is added.
"""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, Literal, Protocol, TypeVar

from mcpg.catalog.definitions import definition_digest, definition_text
from mcpg.catalog.hints import overlong_claims
from mcpg.catalog.model import (
    GENERATED_LISTS,
    MOST_GENERATED,
    NO_HINTS,
    HintRule,
    Hints,
    Tool,
    ToolExample,
)
from mcpg.errors import Code, Diagnostic, NotFoundError, info, warning
from mcpg.text.spelling import Suggester
from mcpg.values import format_count, join_choices, list_some


def keep_ids(
    tools: Sequence[Tool], earlier: Iterable[Tool], reserved: Collection[str]
) -> tuple[list[str], set[str]]:
    """Find the id that each of *tools* had before, to keep it.

    If several tools have one source and name, those whose definition is the same as before keep
    their ids; then the others take those that are left, in order. Of two *earlier* ids of one tool,
    the first counts, and of two tools with one id, the first keeps it. Ids that are *reserved* are
    in lower case.

    Returns:
        The id of each tool, "" for none, and all earlier ids: no other tool gets one, even if its
        tool is gone.
    """
    by_key, taken = _group_earlier(earlier, reserved)
    groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, tool in enumerate(tools):
        groups[tool.key].append(number)
    kept = [""] * len(tools)
    for key, numbers in groups.items():
        known = {one.id: one for one in by_key.get(key, ())}
        if len(known) > 1 or len(numbers) > 1:
            same = {definition_text(one): one.id for one in known.values()}
            for number in numbers:
                text = definition_text(tools[number])
                tool_id = same.pop(text, "") if text is not None else ""
                if tool_id:
                    del known[tool_id]
                    kept[number] = tool_id
        rest = (number for number in numbers if not kept[number])
        for number, tool_id in zip(rest, known, strict=False):
            kept[number] = tool_id
    return kept, taken


def _group_earlier(
    earlier: Iterable[Tool], reserved: Collection[str]
) -> tuple[Mapping[tuple[str, str], list[Tool]], set[str]]:
    """Return the tools that keep an id, by source and name, and these ids."""
    taken: set[str] = set()
    by_key: defaultdict[tuple[str, str], list[Tool]] = defaultdict(list)
    texts: dict[tuple[str, str], set[str | None]] = {}
    for tool in earlier:
        key = tool.key
        known = by_key[key]
        if tool.id in taken or tool.id in reserved:
            continue
        if known:
            # A server may list thousands of tools under one name: none is compared with all.
            if key not in texts:
                texts[key] = {definition_text(one) for one in known}
            text = definition_text(tool)
            if text is not None and text in texts[key]:
                continue
            texts[key].add(text)
        taken.add(tool.id)
        known.append(tool)
    return by_key, taken


_SIGNS_OF_GLOBS = "*?["
_SUGGESTIONS = 3
# Bounds of messages about names: how many tools, how many characters.
_NAMED = 5
_SHOWN = 120


class NamedTool(Protocol):
    """A tool with its names."""

    @property
    def id(self) -> str: ...

    @property
    def source_id(self) -> str: ...

    @property
    def name(self) -> str: ...


AnyTool = TypeVar("AnyTool", bound=NamedTool)
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class ToolLookup(Generic[AnyTool]):
    """Finds tools by id, name or glob, ignoring case.

    Names are looked up in tables, which are made when they are needed; only globs look at every
    tool.
    """

    tools: Sequence[AnyTool]

    @cached_property
    def _by_id(self) -> dict[str, AnyTool]:
        return {tool.id.casefold(): tool for tool in self.tools}

    @cached_property
    def _keys(self) -> list[tuple[str, ...]]:
        named = ((one.id, f"{one.source_id}::{one.name}", one.name) for one in self.tools)
        return [tuple(dict.fromkeys(map(str.casefold, names))) for names in named]

    @cached_property
    def _by_key(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for index, keys in enumerate(self._keys):
            for key in keys:
                found[key].append(index)
        return found

    @cached_property
    def _suggester(self) -> Suggester:
        return Suggester(dict.fromkeys(one for tool in self.tools for one in (tool.id, tool.name)))

    def get(self, tool_id: str) -> AnyTool | None:
        """Return the tool of this id, or `None`."""
        return self._by_id.get(tool_id.strip().casefold())

    def is_name(self, pattern: str) -> bool:
        """Return whether *pattern* is an id, a `source::name` or a raw name."""
        wanted = pattern.strip().casefold()
        return wanted in self._by_id or wanted in self._by_key

    def matching(self, pattern: str) -> tuple[AnyTool, ...]:
        """Return the tools that *pattern* means, in their order.

        It is a tool id, `source::name`, a raw name, or a glob over any of these, such as
        `source::*`. An id means its one tool, whatever other tools are called.
        """
        wanted = pattern.strip().casefold()
        if wanted in self._by_id:
            return (self._by_id[wanted],)
        if wanted in self._by_key:
            return tuple(self.tools[index] for index in self._by_key[wanted])
        if not any(sign in wanted for sign in _SIGNS_OF_GLOBS):
            return ()
        matches = re.compile(fnmatch.translate(wanted)).match
        keyed = zip(self.tools, self._keys, strict=True)
        return tuple(tool for tool, keys in keyed if any(map(matches, keys)))

    def find_named(self, name: str, kind: str = "tool") -> AnyTool:
        """Return the tool that *name* means: an id, `source::name`, a raw name or a glob.

        *kind* is the word for the items that are looked up as tools are.

        Raises:
            NotFoundError: No tool is called so, or several are.
        """
        found = self.matching(name)
        if len(found) == 1:
            return found[0]
        is_tool = kind == "tool"

        def label(one: AnyTool) -> str:
            return one.id if is_tool else f"{one.source_id}::{one.name}"

        if found:
            message = f"{name[:_SHOWN]!r} is the name of {len(found)} {kind}s"
            names = join_choices(map(label, found[:_NAMED]))
            raise NotFoundError(message, remedy=f"use {names}")
        near = [label(self._by_id[one.casefold()]) for one in self.suggest(name)]
        listing = "mcpg list" if is_tool else f"mcpg list --kind {kind}"
        advice = f"did you mean {join_choices(near)}?" if near else f"see `{listing}`"
        raise NotFoundError(f"no {kind} is called {name[:_SHOWN]!r}", remedy=advice)

    def suggest(self, reference: str) -> tuple[str, ...]:
        """Return up to three ids that *reference* may be a slip of, the likeliest first."""
        # A tool may be named with a source that it does not have.
        names = dict.fromkeys((reference, reference.rpartition("::")[2]))
        near = (one for name in names for one in self._suggester.suggest(name, 2 * _SUGGESTIONS))
        found = (self.tools[at].id for one in near for at in self._by_key[one.casefold()])
        return tuple(islice(dict.fromkeys(found), _SUGGESTIONS))


MAX_LENGTH = 64
"""Longest id, in characters; the limit that model providers set for tool names."""

TOOL_FALLBACK = "gateway_tool"
SOURCE_FALLBACK = "source"

_KEPT_OF_LONG = 55
_HASH_DIGITS = 8
_EDGE = "_-"
_RUN = re.compile(r"[A-Za-z0-9_-]+")


def normalize(value: str, fallback: str) -> str:
    """Turn any text into a name of at most 64 characters out of `a-z`, `0-9`, `_` and `-`.

    A longer name is cut and ends in a hash; *fallback* replaces a name with no usable character.
    """
    return _clean_name(value) or fallback


def _clean_name(value: str) -> str:
    name = ""
    for run in _RUN.findall(value):
        name += run if not name or name.endswith("_") else f"_{run}"
    return _cut_name(name.lower().strip(_EDGE))


def source_qualified(source_id: str, name: str, fallback: str) -> str:
    """Put the source before the name, unless the name already begins with it."""
    source = normalize(source_id, SOURCE_FALLBACK)
    tool = normalize(name, fallback)
    if tool.startswith((f"{source}_", f"{source}-")):
        return tool
    return _cut_name(f"{source}_{tool}")


def append_suffix(name: str, suffix: str) -> str:
    """Add *suffix* to *name*, cutting the name so that both fit into 64 characters."""
    if len(name) + len(suffix) <= MAX_LENGTH:
        return name + suffix
    return name[: MAX_LENGTH - len(suffix)].rstrip(_EDGE) + suffix


def tool_id(
    source_id: str, name: str, reserved: Collection[str], *, require_source_prefix: bool
) -> str:
    """Find an id for one tool, of a source and a name as given, that is not *reserved* in any case.

    Returns:
        The first free of: the name, the source and the name, these with a hash, and that with a
        number. If the name has no usable character, or the source has none and must be named, the
        first is the id with a hash.
    """
    pool = _IdPool({one.casefold() for one in reserved})
    return pool.take(source_id, name, require_source_prefix=require_source_prefix)


def number_namesakes(
    items: Iterable[_Item],
    make_key: Callable[[_Item], tuple[str, str]],
    is_same: Callable[[_Item, _Item], bool],
) -> dict[tuple[str, str], _Item]:
    """Return different *items* by source and name.

    The source of another item with the same two gets a number, so that no item hides another.
    """
    found: dict[tuple[str, str], _Item] = {}
    for item in items:
        origin, name = make_key(item)
        source, number = origin, 1
        while (known := found.get((source, name))) is not None and not is_same(known, item):
            number += 1
            source = f"{origin}-{number}"
        found.setdefault((source, name), item)
    return found


def assign_ids(
    tools: Iterable[Tool], reserved: Collection[str] = (), earlier: Iterable[Tool] = ()
) -> tuple[tuple[Tool, ...], tuple[Diagnostic, ...]]:
    """Assign an id to every tool of a catalog.

    A tool keeps its id from the *earlier* ones. Among the others, a tool with a unique normalized
    name gets that name as its id; tools that share a name get their source and name, with a
    diagnostic. See `tool_id` for the next choices if these are also taken, or have no usable
    character. No tool gets an id that is *reserved*, in any case.

    Returns:
        The tools sorted by id, and notices. Neither depends on the order of *tools*.
    """
    ordered: list[Tool] = []
    for _, group in itertools.groupby(sorted(tools, key=_source_and_name), key=_source_and_name):
        members = list(group)
        ordered += sorted(members, key=content_key) if len(members) > 1 else members
    names = [_clean_name(one.name) or _id_hash(*one.key) for one in ordered]
    holders = Counter(names)
    kept: Sequence[str] = [""] * len(ordered)
    pool = _IdPool({one.casefold() for one in reserved})
    if earlier := tuple(earlier):
        kept, taken = keep_ids(ordered, earlier, pool.taken)
        pool.taken.update(one.casefold() for one in taken)
    assigned: list[Tool] = []
    diagnostics: list[Diagnostic] = []
    triples = zip(ordered, names, kept, strict=True)
    # Sole holders come first, so that no qualified name can take theirs away.
    for tool, name, known in sorted(triples, key=lambda triple: holders[triple[1]] > 1):
        count = holders[name]
        found = known or pool.take(tool.source_id, tool.name, require_source_prefix=count > 1)
        assigned.append(replace(tool, id=found))
        if found != name or (count > 1 and not known):
            why = f"{count} tools are called {name!r}" if count > 1 else f"the id {name!r} is taken"
            message = f"{why}, so {tool.name!r} of source {tool.source_id!r} has the id {found!r}"
            diagnostics.append(info(Code.DUPLICATE_TOOL_ID, message, tool.place or None))
    return tuple(sorted(assigned, key=lambda tool: tool.id)), tuple(diagnostics)


_source_and_name = attrgetter("source_id", "name")


def content_key(tool: Tool) -> str:
    """Write all content of a tool, except its id and place, as one canonical text."""
    content = [
        tool.source_id,
        tool.name,
        tool.title,
        tool.description,
        tool.input_schema,
        tool.output_schema,
        tool.annotations,
        tool.meta,
        asdict(tool.hints),
        tool.source_kind,
        *([asdict(tool.generated)] if tool.generated != NO_HINTS else []),
    ]
    return json.dumps(content, sort_keys=True)


@dataclass(slots=True)
class _IdPool:
    """Ids that are taken, and how far numbering has come for each hashed one."""

    taken: set[str]
    numbers: dict[str, int] = field(default_factory=dict)

    def take(self, source_id: str, name: str, *, require_source_prefix: bool) -> str:
        candidates = self._candidates(source_id, name, require_source_prefix)
        found = next(one for one in candidates if one not in self.taken)
        self.taken.add(found)
        return found

    def _candidates(self, source_id: str, name: str, require_source_prefix: bool) -> Iterator[str]:
        if not require_source_prefix:
            yield _clean_name(name) or _id_hash(source_id, name)
        if _clean_name(name) and _clean_name(source_id):
            yield source_qualified(source_id, name, TOOL_FALLBACK)
        yield (hashed := _id_hash(source_id, name))
        # Numbering goes on where it stopped: thousands of namesakes must not cost a square.
        for number in itertools.count(self.numbers.get(hashed, 2)):
            self.numbers[hashed] = number + 1
            yield append_suffix(hashed, f"_{number}")


def _id_hash(source_id: str, name: str) -> str:
    # The length in front keeps ("ab", "c") apart from ("a", "bc").
    source = source_id.encode("utf-8", "surrogatepass")
    content = len(source).to_bytes(4, "big") + source + name.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(content).hexdigest()[:_HASH_DIGITS]
    return append_suffix(source_qualified(source_id, name, TOOL_FALLBACK), f"_{digest}")


def _cut_name(name: str) -> str:
    if len(name) <= MAX_LENGTH:
        return name
    digest = hashlib.sha256(name.encode("utf-8")).hexdigest()[:_HASH_DIGITS]
    return f"{name[:_KEPT_OF_LONG].rstrip(_EDGE)}_{digest}"


def drop_repeats(tools: Iterable[Tool]) -> tuple[list[Tool], tuple[Diagnostic, ...]]:
    """Keep one of each set of identical tools; keep namesakes that differ, with a warning.

    Two tools are identical if their content is, wherever it was read.
    """
    namesakes: dict[tuple[str, str], list[Tool]] = defaultdict(list)
    for tool in tools:
        namesakes[tool.key].append(tool)
    kept: list[Tool] = []
    noticed: list[Diagnostic] = []
    for (source_id, name), group in namesakes.items():
        called = f"the tool {name!r} of source {source_id!r} is given again"
        distinct: dict[str, Tool] = {}
        for tool in group:
            first = distinct.setdefault(content_key(tool) if len(group) > 1 else "", tool)
            if first is not tool:
                seen = f" (first at {first.place})" if first.place else ""
                message = f"{called}, unchanged; it is kept once{seen}"
                noticed.append(info(Code.TOOL_REPEATED, message, tool.place or None))
        first, *others = distinct.values()
        seen = f" (first at {first.place})" if first.place else ""
        for tool in others:
            message = (
                f"{called} with other content{seen}; both are kept (rename one, or set its source)"
            )
            noticed.append(warning(Code.DUPLICATE_TOOL_NAME, message, tool.place or None))
        kept += distinct.values()
    return kept, tuple(noticed)


MAX_TARGETS = 50
"""Most tools to which one rule relates one tool in one way."""

_MAX_SUGGESTED = 50


@dataclass(frozen=True, slots=True)
class Assertion:
    """A relation from an author: *target* is related, or is called afterwards."""

    kind: Literal["related", "nextStep"]
    source: str
    target: str
    place: str


def apply_rules(
    tools: Sequence[Tool], rules: Sequence[HintRule]
) -> tuple[tuple[Tool, ...], tuple[Assertion, ...], tuple[Diagnostic, ...]]:
    """Add the hints of *rules* to *tools* and find the tools that they relate.

    A rule with a tool's name comes before a rule with a glob; among equals, the earlier comes
    first; the tool's own hints come last. Lists are joined, of single values the first counts.
    Generated texts stay apart, and are left out if people wrote the same.

    Returns:
        The tools in their order, the assertions without repeats, and notices.
    """
    if not rules:
        return tuple(tools), (), ()
    stated = _StatedHints(ToolLookup(tools))
    for rule in rules:
        stated.add(rule)
    hinted: list[Tool] = []
    for tool in tools:
        hints = (*stated.named.get(tool.id, ()), *stated.globbed.get(tool.id, ()))
        own = replace(tool, hints=Hints.merge(*hints, tool.hints)) if hints else tool
        hinted.append(with_generated(own, stated.generated.get(tool.id, ())))
    return tuple(hinted), tuple(stated.assertions.values()), tuple(stated.noticed)


def with_generated(tool: Tool, added: Iterable[Hints] = ()) -> Tool:
    """Return *tool* with *added* texts of a language model, but none that is among its hints."""
    generated = Hints.merge(*added, tool.generated) if added else tool.generated
    if generated == NO_HINTS:
        return tool if tool.generated is generated else replace(tool, generated=NO_HINTS)
    own = {
        "examples": {one.input.casefold() for one in tool.hints.examples},
        "aliases": {*map(str.casefold, tool.hints.aliases)},
        "keywords": {*map(str.casefold, tool.hints.keywords)},
    }
    kept: dict[str, Any] = {}
    for name in GENERATED_LISTS:
        texts = (one for one in getattr(generated, name) if _fold(one) not in own[name])
        kept[name] = tuple(islice(texts, MOST_GENERATED))
    found = Hints(**kept)
    return tool if found == tool.generated else replace(tool, generated=found)


def _fold(text: str | ToolExample) -> str:
    return (text if isinstance(text, str) else text.input).casefold()


@dataclass(slots=True)
class _StatedHints:
    lookup: ToolLookup[Tool]
    suggested: int = 0
    named: dict[str, list[Hints]] = field(default_factory=lambda: defaultdict(list))
    globbed: dict[str, list[Hints]] = field(default_factory=lambda: defaultdict(list))
    generated: dict[str, list[Hints]] = field(default_factory=lambda: defaultdict(list))
    assertions: dict[tuple[str, str, str], Assertion] = field(default_factory=dict)
    noticed: list[Diagnostic] = field(default_factory=list)

    def add(self, rule: HintRule) -> None:
        tools = self.lookup.matching(rule.pattern)
        if not tools:
            self._report_unmatched(
                Code.HINT_UNMATCHED, "no tool is called", rule.pattern, rule.place
            )
            return
        gathered = self.named if self.lookup.is_name(rule.pattern) else self.globbed
        if rule.written_for is not None:
            gathered = self.generated
        for tool in tools:
            gathered[tool.id].append(rule.hints)
        self._relate(rule, tools, "related", rule.related)
        self._relate(rule, tools, "nextStep", rule.next_steps)

    def _relate(
        self,
        rule: HintRule,
        tools: tuple[Tool, ...],
        kind: Literal["related", "nextStep"],
        patterns: tuple[str, ...],
    ) -> None:
        found: dict[str, None] = {}
        for pattern in patterns:
            meant = self.lookup.matching(pattern)
            if not meant:
                what = f"{rule.pattern!r} is related to a tool that does not exist:"
                self._report_unmatched(Code.RELATION_UNRESOLVED, what, pattern, rule.place)
            found |= dict.fromkeys(tool.id for tool in meant)
        targets = list(found)
        if len(targets) > MAX_TARGETS + 1:
            message = (
                f"{rule.pattern!r} relates to {len(targets)} tools; "
                f"only the first {MAX_TARGETS} are used"
            )
            self.noticed.append(warning(Code.RELATION_INVALID, message, rule.place))
        for tool in tools:
            others = [target for target in targets[: MAX_TARGETS + 1] if target != tool.id]
            for target in others[:MAX_TARGETS]:
                key = (kind, tool.id, target)
                # Globs repeat an assertion for thousands of tools.
                if key not in self.assertions:
                    self.assertions[key] = Assertion(*key, rule.place)

    def _report_unmatched(self, code: str, what: str, pattern: str, place: str) -> None:
        # A file written for another catalog misses all its tools; guessing at each is too slow.
        self.suggested += 1
        close = self.lookup.suggest(pattern) if self.suggested <= _MAX_SUGGESTED else ()
        advice = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        self.noticed.append(warning(code, f"{what} {pattern!r}{advice}", place or None))


@dataclass(frozen=True)
class Catalog(ToolLookup[Tool]):
    """Tools with unique ids.

    Attributes:
        tools: The tools, sorted by id.
        assertions: Relations between tools from authors, in the order of their rules.
        diagnostics: Notices from the making of the catalog.
    """

    tools: tuple[Tool, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def build_catalog(
    tools: Iterable[Tool],
    rules: Iterable[HintRule] = (),
    *,
    reserved: Collection[str] = (),
    earlier: Iterable[Tool] = (),
) -> Catalog:
    """Make a catalog: drop repeats, assign ids, add hints, find the tools that rules relate.

    Hints of *rules* take precedence over the tools' own. No tool gets an id that is *reserved*, in
    any case; the *earlier* tools keep their ids.
    """
    distinct, repeats = drop_repeats(tools)
    named, clashes = assign_ids(distinct, reserved, earlier)
    rules = tuple(rules)
    hinted, assertions, unmatched = apply_rules(named, rules)
    overlong = overlong_claims(hinted)
    doubtful = _doubt_generated(hinted, rules)
    return Catalog(hinted, assertions, (*repeats, *clashes, *unmatched, *overlong, *doubtful))


def _doubt_generated(tools: Sequence[Tool], rules: Sequence[HintRule]) -> Iterator[Diagnostic]:
    """Report generated texts that are stale or may be, and servers that have them in part."""
    written = [rule for rule in rules if rule.written_for is not None]
    if not written:
        return
    lookup = ToolLookup(tools)
    enriched: set[str] = set()
    stale: defaultdict[str, list[str]] = defaultdict(list)
    unstamped: Counter[str] = Counter()
    for rule in written:
        matched = lookup.matching(rule.pattern)
        enriched.update(tool.id for tool in matched)
        file = rule.place.rpartition(":")[0]
        if not rule.written_for:
            unstamped[file] += 1
        else:
            digests = ((tool.id, definition_digest(tool)) for tool in matched)
            stale[file] += [one for one, now in digests if not now.startswith(rule.written_for)]
    for file, count in unstamped.items():
        entries = f"{format_count(count, 'entry', 'entries')} of generated texts"
        message = f"{entries} without a digest of the definition may be stale"
        yield warning(Code.GENERATED_STALE, message, file)
    for file, names in stale.items():
        if names:
            shown = list_some(names, _NAMED)
            message = f"generated texts are of an earlier definition of {shown}"
            yield warning(Code.GENERATED_STALE, message, file)
    servers: defaultdict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        servers[tool.source_id].append(tool)
    for source_id, members in sorted(servers.items()):
        bare = [one.id for one in members if one.id not in enriched and one.generated == NO_HINTS]
        if bare and len(bare) < len(members):
            some = f"{len(bare):,} of {len(members):,} tools of {source_id!r}"
            message = f"{some} have no generated texts and rank below the others: "
            yield warning(Code.GENERATED_PARTLY, message + list_some(bare, _NAMED), source_id)
