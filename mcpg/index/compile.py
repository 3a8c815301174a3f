"""Compiling: from documents to the sections of an index."""

from __future__ import annotations

import json
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple, TypeAlias
from zlib import ZLIB_RUNTIME_VERSION, crc32

from mcpg import __version__
from mcpg.caching.build_cache import NO_BUILD_CACHE, BuildCache, ResultKind, cut_runs, encode_parts
from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument, document_key, encode_record
from mcpg.index.document_terms import analyse_documents
from mcpg.index.layout import (
    COVERAGES,
    HUNDREDTHS,
    KINDS,
    NAMED,
    NO_KEY,
    NONE,
    ORIGINS,
    PAGES,
    READS,
    SUMMARY_LENGTH,
    UNSAID,
    WRITES,
    Header,
    compress_record,
    own_dictionary,
    sample_dictionary,
)
from mcpg.index.reader import extract_phrases
from mcpg.index.recipe import hash_recipe
from mcpg.index.tables import (
    Section,
    array_section,
    bytes_sections,
    keys_sections,
    number_holders,
    pack,
    rows_sections,
    texts_sections,
)
from mcpg.index.word_sections import WordSections, word_sections
from mcpg.relations.edges import FieldMapping
from mcpg.relations.provisions import Provision, build_field_index
from mcpg.text import join_words, lexicon

_Mapped: TypeAlias = "tuple[str, tuple[FieldMapping, ...]]"


def _link_sections(
    documents: Sequence[ToolDocument], mappings: dict[_Mapped, int]
) -> Iterator[Section]:
    tools = {document.uri: number for number, document in enumerate(documents)}
    links = [link for document in documents for link in document.links]
    reasons = sorted({link.reason for link in links})
    numbers = {reason: number for number, reason in enumerate(reasons)}
    targets = [[tools.get(link.target, NONE) for link in one.links] for one in documents]
    yield from rows_sections("links", targets)
    yield from rows_sections("linked_by", _invert_targets(targets, len(documents)))
    yield Section("links.kind", "B", bytes(KINDS.index(link.kind) for link in links))
    yield array_section("links.weight", "d", (link.weight for link in links))
    yield array_section("links.reason", "I", (numbers[link.reason] for link in links))
    yield from texts_sections("reasons", reasons)
    yield Section("links.origin", "B", bytes(ORIGINS.index(link.origin) for link in links))
    mapped = (_number(link.coverage, link.fields, mappings) for link in links)
    yield array_section("links.mapping", "I", mapped)


def _provision_sections(
    rows: Sequence[Sequence[Provision]], mappings: dict[_Mapped, int]
) -> Iterator[Section]:
    found = [provision for row in rows for provision in row]
    targets = [[provision.target for provision in row] for row in rows]
    yield from rows_sections("provides", targets)
    yield from rows_sections("provided_by", _invert_targets(targets, len(rows)))
    weights = bytes(round(one.weight * HUNDREDTHS) for one in found)
    yield Section("provides.weight", "B", weights)
    mapped = (_number(one.coverage, one.fields, mappings) for one in found)
    yield array_section("provides.mapping", "I", mapped)


def _invert_targets(targets: Iterable[Iterable[int]], size: int) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(size)]
    for number, target in enumerate(chain.from_iterable(targets)):
        if target != NONE:
            found[target].append(number)
    return found


def _number(
    coverage: str | None, fields: tuple[FieldMapping, ...], mappings: dict[_Mapped, int]
) -> int:
    if not coverage and not fields:
        return NONE
    return mappings.setdefault((coverage or "", fields), len(mappings))


def _mapping_sections(mappings: Iterable[_Mapped]) -> Iterator[Section]:
    names = sorted(
        {name for _, fields in mappings for one in fields for name in (one.given, one.argument)}
    )
    numbers = {name: number for number, name in enumerate(names)}
    rows: list[list[int]] = []
    for coverage, fields in mappings:
        row = [COVERAGES.index(coverage)]
        for one in fields:
            row += numbers[one.given], numbers[one.argument], int(one.required)
        rows.append(row)
    yield from texts_sections("fields", names)
    yield from rows_sections("mappings", rows)


_SAID = {None: UNSAID, True: READS, False: WRITES}


def tool_sections(tools: Sequence[Tool]) -> Iterator[Section]:
    """Return the sections with one text or number for each tool, except its words."""
    sources = sorted({tool.source_id for tool in tools})
    numbers = {source: number for number, source in enumerate(sources)}
    yield from keys_sections("ids", [tool.id for tool in tools])
    # Without a name, it is the id; without a title, it is the name.
    named = ((tool.id, tool.name, tool.name[:1] in ("", NAMED)) for tool in tools)
    names = ("" if name == key else NAMED * is_marked + name for key, name, is_marked in named)
    yield from texts_sections("names", names)
    yield from texts_sections("titles", map(_own_title, tools))
    yield from texts_sections("summaries", (summary(tool.description) for tool in tools))
    yield from texts_sections("sources", sources)
    yield array_section("source_of", "I", (numbers[tool.source_id] for tool in tools))
    yield Section("enabled", "B", bytes(tool.enabled for tool in tools))
    yield Section("tools.read_only", "B", bytes(_SAID[tool.hints.read_only] for tool in tools))


def _own_title(tool: Tool) -> str:
    return "" if tool.display_name == tool.name else tool.display_name


def summary(description: str) -> str:
    """Return the beginning of *description* on one line."""
    return " ".join(description[: 4 * SUMMARY_LENGTH].split())[:SUMMARY_LENGTH]


def index_sections(  # noqa: PLR0913 - each is one part of the content
    documents: Iterable[ToolDocument],
    *,
    key: bytes = NO_KEY,
    recipe: bytes = b"",
    model: Sequence[float] = (),
    texts: Mapping[str, str] | None = None,
    pages: Iterable[ToolDocument] = (),
    extra: Sequence[Section] = (),
    provisions: Sequence[Sequence[Provision]] | None = None,
    memo: BuildCache = NO_BUILD_CACHE,
    word_sections_of: Callable[[Sequence[ToolDocument]], WordSections] | None = None,
) -> tuple[Iterator[Section], Header]:
    """Return the sections of an index of *documents*, each made on demand, and a header.

    Equal documents give equal sections, whatever their order.

    Args:
        documents: The documents, their tools with distinct ids.
        key: SHA-256 of the source of the documents.
        recipe: Whatever else the content depends on, such as fitted weights.
        model: Weights for the ranking.
        texts: The Markdown of the documents, by path, to store.
        pages: Documents without a tool, to store.
        extra: Further sections.
        provisions: For each tool, in the order of ids, its provisions to others, if known.
        memo: Results of an earlier run, which do not change the sections.
        word_sections_of: Returns the sections made from the words of documents in the order of ids.
    """
    ordered = sorted(documents, key=lambda document: document.tool.id)
    pages = sorted(pages, key=lambda page: page.path)
    tools = [document.tool for document in ordered]
    described = tool_sections(tools)
    related = related_sections(ordered, tools, provisions)
    records = _record_sections(ordered, texts or {}, memo)
    if word_sections_of is None:
        words = word_sections(analyse_documents(ordered, memo))
    else:
        # Another process may still be at work on the words.
        made = map(deque[Section], (described, related, records))
        described, related, records = map(_yield_and_release, made)
        words = word_sections_of(ordered)
    members = {"generator": f"mcpg {__version__}", "tools": len(ordered), "words": words.words}
    sections = chain(
        (
            Section("meta", "B", json.dumps(members, sort_keys=True).encode()),
            array_section("model", "d", model),
        ),
        described,
        (Section("tools.operation", "B", words.operations),),
        related,
        words.sections,
        extra,
        _page_sections(ordered, pages),
        records,
    )
    # An index compiled without a word table is stale as soon as it is written.
    made_with = hash_recipe(recipe) ^ bool(lexicon.faults)
    return sections, Header(key, made_with)


def _yield_and_release(sections: deque[Section]) -> Iterator[Section]:
    """Yield *sections*, each released before the next one."""
    while sections:
        yield sections.popleft()


def compile_index(documents: Iterable[ToolDocument], **named: Any) -> bytes:
    """Pack the `index_sections` of *documents*, which takes the same arguments."""
    return pack(*index_sections(documents, **named))


def related_sections(
    documents: Sequence[ToolDocument],
    tools: Sequence[Tool],
    provisions: Sequence[Sequence[Provision]] | None,
) -> Iterator[Section]:
    """Yield the sections of what *documents*, which are of *tools*, have in common by names."""
    # Tools are found by a joined id, name, title or alias, by a phrase, and by a category of hints.
    names = ((tool.id, tool.name, tool.display_name, *tool.hints.aliases) for tool in tools)
    keys = (filter(None, dict.fromkeys(map(join_words, one))) for one in names)
    phrases = (extract_phrases(tool.hints.aliases) for tool in tools)
    categories = (tool.hints.categories for tool in tools)
    for name, texts_of, write in (
        ("keys", keys, keys_sections),
        ("phrases", phrases, keys_sections),
        ("categories", categories, texts_sections),
    ):
        texts, holders = number_holders(texts_of)
        yield from write(name, texts)
        yield from rows_sections(f"{name}.tools", holders)
    # Reading a whole document for its required arguments takes long.
    arguments = [tool.required_arguments for tool in tools]
    yield from _numbered_sections("arguments", "arguments_of", arguments)
    groups = [document.groups for document in documents]
    yield from _numbered_sections("groups", "groups_of", groups, "members")
    if provisions is None:
        provisions = build_field_index(tools).provisions()
    mappings: dict[_Mapped, int] = {}
    yield from _link_sections(documents, mappings)
    yield from _provision_sections(provisions, mappings)
    yield from _mapping_sections(mappings)


def _numbered_sections(
    name: str, rows_name: str, rows: Iterable[Sequence[str]], holders_name: str | None = None
) -> Iterator[Section]:
    """Yield the sections of texts, of their holders if wanted, and of *rows* by their numbers."""
    texts, holders = number_holders(rows)
    numbers = {text: number for number, text in enumerate(texts)}
    yield from texts_sections(name, texts)
    if holders_name:
        yield from rows_sections(holders_name, holders)
    yield from rows_sections(rows_name, ([numbers[text] for text in row] for row in rows))


def _page_sections(
    documents: Sequence[ToolDocument], pages: Sequence[ToolDocument]
) -> Iterator[Section]:
    """Yield pages, and places: a bundle has its documents in the order of their paths."""
    if pages:
        yield from bytes_sections(PAGES, map(encode_record, pages), "Q")
    paths = sorted(document.path for document in (*documents, *pages))
    places = {path: place for place, path in enumerate(paths)}
    yield array_section("tools.place", "I", (places[document.path] for document in documents))


def _record_sections(
    documents: Sequence[ToolDocument], texts: Mapping[str, str], memo: BuildCache
) -> Iterator[Section]:
    def encode(document: ToolDocument) -> bytes:
        return encode_record(document, texts.get(document.path))

    shared = sample_dictionary(lambda place: encode(documents[place]), len(documents))
    checksums = array("I")

    def compress_run(run: Sequence[ToolDocument]) -> _Records:
        records, own = [*map(encode, run)], list[bytes]()
        for tool in (document.tool for document in run):
            # Data of the tool in other sections.
            held = tool.id, _own_title(tool), summary(tool.description)
            own.append(
                own_dictionary(shared, [one.encode("utf-8", "surrogatepass") for one in held])
            )
        return _Records(array("I", map(crc32, records)), [*map(compress_record, records, own)])

    def describe_run(run: Sequence[ToolDocument]) -> bytes:
        keys = [(document_key(one), texts.get(one.path)) for one in run]
        return encode_parts((ZLIB_RUNTIME_VERSION, shared, keys))

    def compress_runs() -> Iterator[bytes]:
        for run in cut_runs(documents, lambda one: one.tool.id.encode("utf-8", "surrogatepass")):
            found = memo.recall(_RECORDS, partial(describe_run, run), partial(compress_run, run))
            checksums.extend(found.checksums)
            yield from found.packed

    records = bytes_sections("records", compress_runs(), "Q")
    yield Section("records.crc", "I", checksums.tobytes())
    yield Section("records.dictionary", "B", shared)
    yield from records


class _Records(NamedTuple):
    """The checksums of the records of a run of documents, and their bytes as they are kept."""

    checksums: array[int]
    packed: Sequence[bytes]


def _encode(records: _Records) -> bytes:
    lengths = array("I", map(len, records.packed))
    head = array("I", [len(lengths)]) + lengths + records.checksums
    return b"".join((head.tobytes(), *records.packed))


def _decode(data: bytes) -> _Records:
    numbers = array("I")
    count = memoryview(data)[: numbers.itemsize].cast("I")[0]
    start = (2 * count + 1) * numbers.itemsize
    numbers.frombytes(data[numbers.itemsize : start])
    ends = [*accumulate(numbers[:count], initial=start)]
    if ends[-1] != len(data):
        raise ValueError("records are cut short")
    return _Records(numbers[count:], [data[one:end] for one, end in pairwise(ends)])


_RECORDS = ResultKind("records", _encode, _decode)
