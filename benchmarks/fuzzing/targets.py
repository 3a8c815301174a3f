"""The readers that are fuzzed: each with its first inputs, and the results that are right.

A reader returns, or raises `McpgError` or a further error of its target. Any other exception is a
fault, and so is a broken promise, which a reader reports by `AssertionError`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import mcpg
from mcpg.bundle.assemble import assemble, build_bundle
from mcpg.bundle.codec import decode_bundle, encode_bundle, mistakes_in
from mcpg.catalog.catalog import build_catalog
from mcpg.catalog.hints import read_hint_rules
from mcpg.catalog.manifest import read_manifest
from mcpg.catalog.model import SourceDocument
from mcpg.cli.environment import NotPlainError, plain_settings
from mcpg.cli.settings import read_config, set_value
from mcpg.code.scip import read_descriptors, read_index
from mcpg.documents.front_matter import member, split_front_matter
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import write_document
from mcpg.engine.engine import Engine
from mcpg.engine.loading import with_graphs_read
from mcpg.errors import McpgError
from mcpg.evaluation.judged import parse_judged
from mcpg.gateway.validation import accepts_at_once, check_arguments
from mcpg.graph.jsonld import read_graph
from mcpg.graph.parsing import RdfFormat, triples_in
from mcpg.graph.validation import check_shapes
from mcpg.index.layout import StaleIndexError
from mcpg.index.reader import Index
from mcpg.relations.learn import Learner
from mcpg.relations.observed_calls import decode, encode
from mcpg.review.lock import lock_text, parse_lock
from mcpg.servers.publish import Publisher, answer_request, make_entries, parse_request
from mcpg.skills.folder import SKILL_FILE, SkillFile, compute_digest, make_skill
from mcpg.skills.pages import write_skill_page
from mcpg.sources.client_config import read_client_configuration
from mcpg.sources.client_entries import make_client_entry
from mcpg.sources.listing_formats import read_catalog
from mcpg.sources.listings import read_listing_page
from mcpg.sources.model import RawFile, SourceBatch, SourceText, kind_of_named
from mcpg.sources.model import decode as decode_text
from mcpg.sources.openapi import read_openapi
from mcpg.text.json_values import write_json
from mcpg.text.literals import find_literals
from mcpg.text.safeyaml import load_yaml
from mcpg.vectors.file import UnusableVectorsError, unpack_vectors

from . import seeds, servers
from .model import Reader, Target, pure
from .mutators import (
    Mutator,
    mutate_bytes,
    mutate_document,
    mutate_json,
    mutate_lines,
    mutate_protobuf,
    mutate_text,
    mutate_yaml,
    repair_index,
    repair_vectors,
)


def text_of(data: bytes) -> str:
    """Decode *data* as sources are decoded."""
    return decode_text(data, "input")


def text_with_surrogates(data: bytes) -> str:
    """Decode *data* as the arguments of a process are decoded: every input is a text."""
    return data.decode("utf-8", "surrogateescape")


def parse_json(data: bytes) -> Any:
    """Parse JSON as servers do before a reader gets it; `None` for other data."""
    with suppress(ValueError, RecursionError):
        return json.loads(data)
    return None


def _read_manifest(data: bytes) -> None:
    found = read_manifest(text_of(data), "input.json", default_source="input")
    build_catalog(found.tools)


def _read_hints(data: bytes) -> None:
    text = text_of(data)
    name = "x.hints.json" if text.startswith("{") else "x.hints.yaml"
    read_hint_rules(text, name)
    read_hint_rules(text, name, is_generated=True)


def _read_document(data: bytes) -> None:
    text = text_of(data).replace("\r\n", "\n").replace("\r", "\n")
    document, _ = parse_document(SourceDocument("a/b.md", text), is_checked=True)
    if len(data) % 4 == 0:  # which takes three times as long
        written = SourceDocument("a/b.md", write_document(document), document.uri)
        again, _ = parse_document(written)
        assert again == document, "a document changes when it is written again"


def _read_front_matter(data: bytes) -> None:
    found = split_front_matter(text_of(data), "input.md")
    if found.is_plain:
        values = load_yaml(found.text, "input.md")
        assert write_json(values) == write_json(found.values), "the quick reader differs"


def _read_yaml(data: bytes) -> None:
    value = load_yaml(text_of(data), "input.yaml")
    if isinstance(value, dict):
        text = "".join(f"{line}\n" for key, one in value.items() for line in member(key, one))
        again = load_yaml(text, "again.yaml") if text else {}
        assert write_json(again) == write_json(value), "YAML changes when it is written again"


def _read_bundle(data: bytes) -> None:
    bundle = decode_bundle(data, "input.mdld")
    again = decode_bundle(encode_bundle(bundle), "again.mdld")
    assert again.documents == bundle.documents, "a bundle changes when it is written again"
    list(mistakes_in(bundle))


_NAMES = (
    *("x.json", "x.md", "x.mdld", "x.hints.yaml", "x.yaml", "x.ttl", "x.jsonld", "x.nq", "x.rdf"),
    *("x.toml", "hints.json", "x.txt", "x.jsonc", "x.generated.hints.yaml"),
)


def _read_source(data: bytes) -> None:
    """Read a file of any kind: its first byte chooses the name."""
    name, text = _NAMES[data[0] % len(_NAMES)] if data else "x", text_of(data[1:])
    kind = kind_of_named(name, text, name)
    batch = with_graphs_read(SourceText(text, name, name).read_as(kind))
    bundle = build_bundle(assemble(batch))
    if len(data) % 4 == 0:  # as above
        raw = RawFile(encode_bundle(bundle).decode(), "again.mdld")
        again = build_bundle(assemble(SourceBatch(bundles=(raw,))))
        assert encode_bundle(again) == encode_bundle(bundle), "a bundle of a bundle is another"


def _list_sources() -> Iterator[bytes]:
    """Return an input of each kind, with the name that says so."""
    kinds: dict[str, Iterable[bytes]] = {
        "x.json": [*seeds.make_manifests(), *seeds.make_catalogs(), *seeds.read_corpus("openapi")],
        "x.md": seeds.make_documents(),
        "x.mdld": seeds.make_bundles(),
        "x.hints.yaml": seeds.make_hints(),
        "x.ttl": seeds.read_corpus("rdf"),
        "x.jsonld": seeds.read_corpus("json-ld"),
    }
    for name, inputs in kinds.items():
        yield from (bytes([_NAMES.index(name)]) + one for one in inputs)


def mutate_behind(count: int, *mutators: Mutator) -> Mutator:
    """Return how to change what is behind the first *count* bytes, by one of *mutators*."""

    def mutate(data: bytes, words: Sequence[str], rng: Random) -> bytes | None:
        changed = rng.choice(mutators)(data[count:], words, rng)
        return None if changed is None else data[:count] + changed

    return mutate


def one_of(*mutators: Mutator) -> Mutator:
    """Return how to change an input by one of *mutators*."""
    return mutate_behind(0, *mutators)


def _read_all(index: Index) -> list[Any]:
    """Return the answers of an index to everything that it can be asked about a tool."""
    found: list[Any] = [index.verify(), index.language, list(index.categories), index.pages()]
    for tool in range(len(index)):
        found += [index.record(tool), index.edges(tool), index.edges_to(tool)]
        found += [list(index.cards([tool])), index.provides(tool), index.provided_by(tool)]
        found += [index.required_arguments(tool), index.find_tool(index.tool_id(tool))]
    engine = Engine(index)
    found += [engine.search("track a parcel").to_dict(), engine.search("ordr 42").to_dict()]
    return found


@contextmanager
def _open_index(_: Path) -> Iterator[Reader]:
    whole = next(iter(seeds.make_indexes()))
    expected = repr(_read_all(Index(whole)))

    def read(data: bytes) -> None:
        index = Index(data, in_blocks=len(data) % 2 == 0)
        assert repr(_read_all(index)) == expected, "a damaged index gives another answer"

    yield read


def _read_forged_index(data: bytes) -> None:
    _read_all(Index(repair_index(data)))


def _read_vectors(data: bytes) -> None:
    vectors = unpack_vectors(repair_vectors(data)).vectors
    row = vectors.vector(0) if len(vectors) else None
    if row is not None:
        vectors.cosines(row)


def _read_judged(data: bytes) -> None:
    parse_judged(data, "input")
    parse_judged(data, "input.yaml")


def _read_traces(data: bytes) -> None:
    learner = Learner()
    learner.read_stream(io.BytesIO(data))
    observed = learner.finish().observed
    assert decode(encode(observed), "again") == observed, "counts change when written again"


def _read_observed(data: bytes) -> None:
    observed = decode(text_of(data), "input")
    assert decode(encode(observed), "again") == observed, "counts change when written again"


def _read_lock(data: bytes) -> None:
    lock = parse_lock(text_of(data), "mcpg.lock")
    again = parse_lock(lock_text(lock), "again.lock")
    assert again == lock, "a lock changes when it is written again"


def _read_openapi(data: bytes) -> None:
    found = read_openapi(text_of(data), "input.yaml", default_source="input")
    build_catalog(found.tools)


@contextmanager
def _open_settings(folder: Path) -> Iterator[Reader]:
    path = folder / "mcpg.toml"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        plain: dict[str, Any] = {}
        with suppress(NotPlainError, ValueError):
            plain = plain_settings(str(path), {})
        found = read_config(str(path), ())
        if found is not None:
            assert plain.items() <= found.values.items(), "the quick reader differs"
            set_value(found.text, ("search", "limit"), "7")

    yield read


_CONFIGURATIONS = ("mcp.json", "settings.toml", "config.yaml", ".claude.json")


def _read_client(data: bytes) -> None:
    """Read a client's configuration: its first byte chooses the name."""
    name = _CONFIGURATIONS[data[0] % len(_CONFIGURATIONS)] if data else "mcp.json"
    read_client_configuration(text_of(data[1:]), name, {"HOME": "/home/x", "KEY": "value"})


def _list_clients() -> Iterator[bytes]:
    ends = {".json": 0, ".toml": 1, ".yaml": 2}
    for path in sorted((seeds.CORPUS / "clients").iterdir()):
        yield bytes([ends[path.suffix]]) + path.read_bytes()


def _read_skill(data: bytes) -> None:
    file = SkillFile(SKILL_FILE, len(data), compute_digest(data), data)
    write_skill_page(make_skill((file,), path="a", source_id="s", place="a", folder_name="a"))


def _read_catalog(data: bytes) -> None:
    pages, _ = read_catalog(text_of(data), "input.json", path="input.json")
    for page in pages:
        front = split_front_matter(page.content, page.path)
        for server in read_listing_page(front.values, front.markdown):
            with suppress(McpgError):
                make_client_entry(server)


@contextmanager
def _open_scip(folder: Path) -> Iterator[Reader]:
    path = folder / "index.scip"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        for document in read_index(path).documents:
            for occurrence in document.occurrences:
                read_descriptors(occurrence.symbol)

    yield read


_FORMATS = (RdfFormat.TURTLE, RdfFormat.N_QUADS, RdfFormat.RDF_XML)


def _read_rdf(data: bytes) -> None:
    """Read a graph in each format that has no other target, as tools and as shapes."""
    text = text_of(data)
    for form in _FORMATS:
        with suppress(McpgError):
            for _ in triples_in(text, form, "input"):
                pass
    with suppress(McpgError):
        check_shapes(text, "input.ttl")
    read_graph(text, "input.ttl")


def _read_json_ld(data: bytes) -> None:
    read_graph(text_of(data), "input.jsonld")


def _read_literals(data: bytes) -> None:
    text = text_with_surrogates(data)
    for one in find_literals(text, with_names=True):
        assert one.text, "an empty literal"
        assert 0 <= one.start < one.end <= len(text), "a literal outside of its text"


@contextmanager
def _open_queries(folder: Path) -> Iterator[Reader]:
    engine = mcpg.load(seeds.write_sources(folder), embeddings=None)

    def read(data: bytes) -> None:
        """Ask the engine; the first byte chooses how."""
        text = text_with_surrogates(data[1:])
        how = data[0] % 16 if data else 0
        if how < 8:
            engine.search(text, lexicon=how % 2 == 0, context=text[:20] if how == 5 else None)
        elif how < 11:
            engine.ask(text)
        elif how == 11:
            engine.explain(text)
        elif how == 12:
            engine.explain(text[:40], tool=text[40:])
        elif how == 13:
            engine.route(text)
        else:
            engine.plan(text)

    yield read


@contextmanager
def _open_registry(_: Path) -> Iterator[Reader]:
    engine = mcpg.load(str(seeds.EXAMPLES / "catalogs"), embeddings=None)
    entries = make_entries(seeds.example_tools(), Publisher("example.com"))
    publisher = Publisher("example.com", "https://example.com")

    def read(data: bytes) -> None:
        body = parse_json(data)
        json.dumps(answer_request(engine, entries, parse_request(body), publisher))

    yield read


def _read_arguments(data: bytes) -> None:
    """Check arguments by a schema, which a server gives: both are lines of JSON."""
    lines = data.split(b"\n")
    schema, arguments = parse_json(lines[0]), parse_json(lines[-1])
    if isinstance(schema, dict) and isinstance(arguments, dict):
        faults = check_arguments(schema, arguments)
        assert not (faults and accepts_at_once(schema, arguments)), "the quick check differs"


JSON, YAML, DOCUMENT = mutate_json, one_of(mutate_yaml, mutate_lines), mutate_document
TEXT = one_of(mutate_text, mutate_lines)

TARGETS = (
    Target("manifest", pure(_read_manifest), seeds.make_manifests, JSON, share=2),
    Target("hints", pure(_read_hints), seeds.make_hints, YAML),
    Target(
        "yaml",
        pure(_read_yaml),
        seeds.make_hints,
        YAML,
        share=2,
    ),
    Target(
        "front-matter",
        pure(_read_front_matter),
        seeds.make_documents,
        DOCUMENT,
        share=2,
    ),
    Target("document", pure(_read_document), seeds.make_documents, DOCUMENT),
    Target("bundle", pure(_read_bundle), seeds.make_bundles, JSON, largest=16_384),
    Target(
        "source",
        pure(_read_source),
        _list_sources,
        mutate_behind(1, mutate_json, mutate_yaml, mutate_document),
    ),
    Target(
        "index",
        _open_index,
        seeds.make_indexes,
        mutate_bytes,
        (StaleIndexError,),
        largest=262_144,
        share=2,
    ),
    Target(
        "index-forged",
        pure(_read_forged_index),
        seeds.make_indexes,
        mutate_bytes,
        (StaleIndexError,),
        largest=262_144,
    ),
    Target(
        "vectors",
        pure(_read_vectors),
        seeds.make_vectors,
        mutate_bytes,
        (UnusableVectorsError,),
        largest=1024,
        share=6,
    ),
    Target(
        "judged",
        pure(_read_judged),
        seeds.make_judged,
        one_of(mutate_yaml, mutate_json, mutate_lines),
    ),
    Target("traces", pure(_read_traces), seeds.make_traces, JSON, share=2),
    Target("observed", pure(_read_observed), seeds.make_observed, JSON, share=4),
    Target("lock", pure(_read_lock), seeds.make_locks, JSON),
    Target("openapi", pure(_read_openapi), mutate=one_of(mutate_json, mutate_yaml)),
    Target("settings", _open_settings, mutate=TEXT),
    Target(
        "client",
        pure(_read_client),
        _list_clients,
        mutate_behind(1, mutate_json, mutate_yaml, mutate_lines),
    ),
    Target("skill", pure(_read_skill), seeds.make_skill_files, DOCUMENT),
    Target("catalog", pure(_read_catalog), seeds.make_catalogs, JSON),
    Target("scip", _open_scip, seeds.make_indexes_of_code, mutate_protobuf, share=3),
    Target("rdf", pure(_read_rdf), seeds.make_graphs, TEXT),
    Target("json-ld", pure(_read_json_ld), seeds.make_json_ld, JSON),
    Target("literals", pure(_read_literals), seeds.make_queries, TEXT, largest=1024, share=10),
    Target(
        "queries",
        _open_queries,
        lambda: (bytes([at]) + one for at, one in enumerate(seeds.make_queries())),
        mutate_behind(1, TEXT),
        largest=4096,
    ),
    Target("registry", _open_registry, mutate=JSON, largest=1024),
    Target("arguments", pure(_read_arguments), mutate=JSON, largest=1024),
    *servers.TARGETS,
)
