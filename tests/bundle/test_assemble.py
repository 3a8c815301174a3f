from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from bounded import calls_in
from builders import make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.bundle import (
    Assembly,
    Bundle,
    apply_plan,
    assemble,
    build_bundle,
    encode_bundle,
    plan_folder,
)
from mcpg.catalog.model import HintRule, Hints, SourceDocument, Tool
from mcpg.engine.loading import compile_assembly
from mcpg.errors import BundleError, Code, Severity
from mcpg.relations.edges import EdgeOrigin
from mcpg.review.lock_sources import collect_statements
from mcpg.sources import RawFile, SourceBatch, read_sources

if TYPE_CHECKING:
    import random
    from pathlib import Path

BASE = "https://managedcode.com/mcpgateway/knowledge/tools/commerce"


def requiring(*names: str) -> dict[str, Any]:
    """Make a schema that requires *names*."""
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": list(names)}


SHOP = tuple(
    replace(tool, id="")
    for tool in (
        make_tool("order_search", description="Finds orders.", output_schema=requiring("order_id")),
        make_tool("order_get", description="Shows an order.", input_schema=requiring("order_id")),
        make_tool("refund_issue", description="Pays back.", input_schema=requiring("order_id")),
        make_tool("weather", source_id="sky", keywords=("rain",)),
    )
)
HAND_WRITTEN = "---\ntitle: Track a parcel\n---\n\nFollows a parcel on its way.\n"


def manifest(*tools: Tool, **parts: Any) -> Assembly:
    """Assemble *tools* of manifests with further *parts* of a batch."""
    return assemble(SourceBatch(tools=tools or SHOP, **parts))


def data(assembly: Assembly) -> bytes:
    """Return the bytes of the bundle."""
    return encode_bundle(build_bundle(assembly))


def texts(assembly: Assembly) -> dict[str, str]:
    """Return the texts by path."""
    return {text.path: text.content for text in assembly.texts}


def codes(assembly: Assembly) -> list[str]:
    """Return the codes of the diagnostics."""
    return [diagnostic.code for diagnostic in assembly.diagnostics]


def as_bundle(assembly: Assembly) -> SourceBatch:
    """Return the bundle as a source."""
    return SourceBatch(bundles=(RawFile(data(assembly).decode(), "graph.mdld"),))


def author(path: str, content: str, **members: Any) -> SourceDocument:
    """Make a document as it stands in a folder."""
    return SourceDocument(path, content, place=f"docs/{path}", **members)


class TestManifests:
    """Tools of manifests."""

    def test_every_tool_gets_its_document(self) -> None:
        """Documents, texts, catalogue and relations speak of the same tools, sorted by path."""
        found = manifest()
        assert [text.path for text in found.texts] == [
            "tools/commerce/order_get.md",
            "tools/commerce/order_search.md",
            "tools/commerce/refund_issue.md",
            "tools/sky/weather.md",
        ]
        assert [item.path for item in found.documents] == [text.path for text in found.texts]
        assert [text.canonical_uri for text in found.texts] == [
            item.uri for item in found.documents
        ]
        assert set(found.relations.by_tool) == {tool.id for tool in found.catalog.tools}
        assert found.diagnostics == ()

    def test_texts_are_sorted_by_path(self) -> None:
        """Texts of pages stand among those of tools, by their paths."""
        page = author("tools/commerce/p.md", "---\ntool: false\n---\nText.\n")
        first = author("a.md", "---\ntool: false\n---\nText.\n")
        paths = [text.path for text in manifest(documents=(page, first)).texts]
        assert paths == sorted(paths)
        assert paths[0] == "a.md"
        assert paths.index("tools/commerce/p.md") == 3

    def test_links_and_relations_agree(self) -> None:
        """The edges between tools are those that the documents' links state."""
        found = manifest()
        search = found.relations.of("order_search")
        assert [edge.target for edge in search.next_steps] == ["refund_issue", "order_get"]
        document = next(item for item in found.documents if item.tool.id == "order_search")
        assert [link.target for link in document.links if link.kind.value == "nextStep"] == [
            f"{BASE}/refund_issue/",
            f"{BASE}/order_get/",
        ]

    def test_a_tool_without_relations_says_so(self) -> None:
        """Nothing related is stated as such, so that nobody has to look again."""
        found = manifest(replace(make_tool("git_x"), description="", id=""))
        assert found.relations.of("git_x").related == ()
        assert all(item.states_relations for item in found.documents)

    def test_diagnostics_of_all_stages_are_kept(self) -> None:
        """What the sources and the catalogue noticed is handed on."""
        rule = HintRule("nobody", place="x.hints.yaml:1")
        assert Code.HINT_UNMATCHED in codes(manifest(rules=(rule,)))

    def test_a_tool_that_fits_no_document_is_left_out(self) -> None:
        """A tool too big to be written is reported, and the others go on."""
        giant = make_tool("giant", id="", keywords=("word" * 70_000,))
        found = manifest(*SHOP, giant)
        assert "tools/commerce/giant.md" not in texts(found)
        assert len(found.texts) == 4
        (fault,) = [item for item in found.diagnostics if item.severity is Severity.ERROR]
        assert fault.code is Code.DOCUMENT_INVALID
        assert fault.message.startswith("the tool is left out: ")

    def test_without_texts_all_else_is_the_same(self) -> None:
        """Texts that nobody needs are not written, and a tool that has none is left out still."""
        giant = make_tool("giant", id="", keywords=("word" * 70_000,))
        page = author("p.md", "---\ntool: false\n---\n[[weather]]\n")
        batch = SourceBatch(tools=(*SHOP, giant), documents=(author("w.md", HAND_WRITTEN), page))
        found, bare = assemble(batch), assemble(batch, texts=False)
        assert bare == replace(found, texts=())
        assert "giant" not in {document.tool.name for document in bare.documents}

    @pytest.mark.parametrize("levels", [100, 900, 50_000])
    @pytest.mark.parametrize("part", ["input_schema", "output_schema", "annotations", "meta"])
    def test_what_nests_too_deeply_is_left_out(self, part: str, levels: int) -> None:
        """A tool that a program nests deeper than can be read costs no other tool."""
        nested: Any = {"type": "string"}
        for _ in range(levels):
            nested = {"a": nested}
        deep = replace(make_tool("deep"), **{part: nested})
        made = manifest(*SHOP, deep, replace(deep, description="Another."))

        assert len(made.catalog.tools) == len(SHOP)
        assert codes(made) == [Code.TOOL_INVALID] * 2
        assert "nests deeper than 100 levels" in made.diagnostics[0].message
        assert assemble(as_bundle(made)).documents == made.documents

    def test_what_nests_less_deeply_is_read_back(self) -> None:
        """A schema of as many levels as can be read is kept whole."""
        nested: Any = {"type": "string"}
        for _ in range(99):
            nested = {"a": nested}
        made = manifest(replace(make_tool("deep"), input_schema=nested))
        assert assemble(as_bundle(made)).documents[0].tool.input_schema == nested


class TestRoundTrip:
    """Documents and bundles as sources."""

    def test_generated_folder_gives_the_same_bytes(self, tmp_path: Path) -> None:
        """Generating documents and bundling them is bundling the manifests."""
        rules = (HintRule("order_*", Hints(aliases=("замовлення",)), related=("weather",)),)
        direct = manifest(rules=rules)
        apply_plan(plan_folder(tmp_path, direct.texts))
        again = assemble(read_sources([tmp_path]))
        assert data(again) == data(direct)
        assert again.documents == direct.documents
        assert again.relations == direct.relations
        assert again.diagnostics == ()

    def test_bundle_of_a_bundle_is_the_same(self) -> None:
        """A bundle as a source gives its own bytes."""
        direct = manifest()
        again = assemble(as_bundle(direct))
        assert data(again) == data(direct)
        assert again.relations == direct.relations

    def test_folder_and_its_bundle_count_once(self) -> None:
        """The same documents twice are one each, whatever their order."""
        direct = manifest()
        documents = tuple(replace(text, place=f"docs/{text.path}") for text in direct.texts)
        both = assemble(replace(as_bundle(direct), documents=documents))
        assert data(both) == data(direct)

    def test_damaged_bundle_is_refused(self) -> None:
        """A bundle that is damaged is an error, never half a catalogue."""
        raw = RawFile(data(manifest()).decode().replace("orders", "others"), "graph.mdld")
        with pytest.raises(BundleError, match="do not match its content hash"):
            assemble(SourceBatch(tools=SHOP, bundles=(raw,)))

    def test_namesakes_keep_their_documents(self, tmp_path: Path) -> None:
        """Two different tools with one source and name survive the round trip."""
        twins = (
            make_tool("ping", id="", description="Pings a host."),
            make_tool("ping", id="", description="Pings a person."),
        )
        direct = manifest(*twins)
        assert len(direct.texts) == 2
        apply_plan(plan_folder(tmp_path, direct.texts))
        assert data(assemble(read_sources([tmp_path]))) == data(direct)


def fences(text: str) -> list[str]:
    """Return what stands in the fences of JSON in *text*."""
    return re.findall(r"^```json\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)


class TestSchemasInBundles:
    """Other readers make a searchable part of each line, so a bundle has one for a schema."""

    def test_generated_schemas_take_one_line_each(self) -> None:
        """In a bundle alone: the texts for folders, also those from a bundle, are indented."""
        direct = manifest()
        old = RawFile(encode_bundle(Bundle(direct.texts)).decode(), "old.mdld")
        for found in (direct, assemble(as_bundle(direct)), assemble(SourceBatch(bundles=(old,)))):
            lines = [one for text in build_bundle(found).documents for one in fences(text.content)]
            assert len(lines) == 5
            assert [json.dumps(json.loads(one), separators=(",", ":")) for one in lines] == lines
            assert texts(found) == texts(direct)

    def test_the_words_of_an_author_are_not_reformatted(self) -> None:
        """Neither an edited section, nor a copy of one, nor a document without the tag."""
        (order_get,) = (text for text in manifest().texts if "order_get" in text.path)
        (schema,) = fences(order_get.content)
        copy = f"{order_get.content}\n## Author Notes\n\n## Input Schema\n```json\n{schema}\n```\n"
        second = copy.replace("## Author Notes", "## More")
        edited = order_get.content.replace('  "type"', '    "type"')
        bare = order_get.content.replace('  - "mcp-gateway-tool"\n', "")
        cases = (copy, [schema]), (second, [schema]), (edited, fences(edited)), (bare, [schema])
        for content, kept in cases:
            found = assemble(SourceBatch(documents=(replace(order_get, content=content),)))
            (bundled,) = build_bundle(found).documents
            assert fences(bundled.content)[-1:] == kept
            assert texts(found) == {order_get.path: content}
            assert texts(assemble(as_bundle(found))) == {order_get.path: content}

    def test_line_ends_of_a_folder_do_not_matter(self) -> None:
        """A folder with the line ends of Windows gives the same bundle."""
        direct = manifest()
        windows = [replace(one, content=one.content.replace("\n", "\r\n")) for one in direct.texts]
        assert data(assemble(SourceBatch(documents=tuple(windows)))) == data(direct)

    def test_a_bundle_of_before_is_the_same_catalogue(self) -> None:
        """Its index, and what is compared with a lock, are those of a new bundle."""
        direct = manifest()
        old = RawFile(encode_bundle(Bundle(direct.texts)).decode(), "graph.mdld")
        before, after = assemble(SourceBatch(bundles=(old,))), assemble(as_bundle(direct))
        assert compile_assembly(before) == compile_assembly(after)
        assert collect_statements(before) == collect_statements(after)

    def test_two_forms_of_a_document_count_once(self) -> None:
        """A folder, a bundle of before and a new one repeat no tool."""
        direct = manifest()
        old = RawFile(encode_bundle(Bundle(direct.texts)).decode(), "old.mdld")
        batch = as_bundle(direct)
        both = assemble(
            replace(batch, documents=tuple(direct.texts), bundles=(*batch.bundles, old))
        )
        assert both.diagnostics == ()
        assert data(both) == data(direct)


class TestAuthors:
    """Documents that people write."""

    def test_text_stays_to_the_byte(self) -> None:
        """A document that states its relations is kept exactly as it was written."""
        content = "---\ngraph_groups: [ x:y ]   # mine\n---\n# Track\n\nFollows a parcel.  \n"
        found = assemble(SourceBatch(documents=(author("parcels/track.md", content),)))
        assert texts(found) == {"parcels/track.md": content}
        assert found.relations.of("track").groups == ("x:y",)

    def test_missing_relations_are_added_and_the_prose_kept(self) -> None:
        """Where no relation is stated it is inferred, and the author's body stays."""
        document = author("commerce/order_track.md", "# Order tracking\n\nFollows an *order*.\n")
        found = manifest(documents=(document,))
        text = texts(found)["commerce/order_track.md"]
        assert "domain:order" in text
        assert "Follows an *order*." in text
        assert found.relations.of("order_track").related
        assert data(assemble(as_bundle(found))) == data(found)

    def test_nothing_inferred_changes_nothing(self) -> None:
        """A document without relations, for which none are found, stays to the byte."""
        content = "---\nname: get\nsource: zed\n---\n"
        found = assemble(SourceBatch(documents=(author("get.md", content),)))
        assert texts(found) == {"get.md": content}
        assert found.relations.of("get").groups == ()

    def test_repeated_tool_has_one_document(self) -> None:
        """Two documents that describe the same tool in the same words count once."""
        content = "---\nname: ant\nsource: zoo\ngraph_groups: []\n---\nAn ant.\n"
        found = assemble(SourceBatch(documents=(author("a.md", content), author("b.md", content))))
        assert texts(found) == {"a.md": content}
        assert codes(found) == [Code.TOOL_REPEATED]

    def test_hints_are_written_into_the_document(self) -> None:
        """What a hints file adds stands in the text, beside the author's prose."""
        content = "---\ngraph_groups: []\n---\n# Track\n\nFollows a *parcel*.\n"
        rule = HintRule("track", Hints(aliases=("de pakketvolger",)), next_steps=("order_get",))
        found = manifest(documents=(author("track.md", content),), rules=(rule,))
        text = texts(found)["track.md"]
        assert "de pakketvolger" in text
        assert "Follows a *parcel*." in text
        (edge,) = found.relations.of("track").next_steps
        assert (edge.target, edge.origin) == ("order_get", EdgeOrigin.AUTHORED)
        assert data(assemble(as_bundle(found))) == data(found)
        again = assemble(replace(as_bundle(found), rules=(rule,)))
        assert data(again) == data(found)

    def test_assertions_go_before_inferred_links(self) -> None:
        """An assertion about a generated document comes first and replaces what was inferred."""
        direct = manifest()
        rule = HintRule("order_search", next_steps=("refund_issue",))
        found = assemble(replace(as_bundle(direct), rules=(rule,)))
        edges = found.relations.of("order_search").next_steps
        assert [(edge.target, edge.origin) for edge in edges] == [
            ("refund_issue", EdgeOrigin.AUTHORED),
            ("order_get", EdgeOrigin.SCHEMA),
        ]

    def test_document_wins_over_the_manifest(self) -> None:
        """A document replaces the manifest's tool of the same source and name."""
        content = "---\nname: order_get\nsource: commerce\ndescription: Better words.\n---\n"
        found = manifest(documents=(author("mine.md", content),))
        tool = found.catalog.get("order_get")
        assert tool is not None
        assert tool.description == "Better words."
        assert len(found.catalog.tools) == 4
        (note,) = [item for item in found.diagnostics if item.code is Code.DOCUMENT_SUPERSEDES]
        assert note.severity is Severity.INFO
        assert "'mine.md'" in note.message

    @pytest.mark.parametrize(
        "target",
        ["order_get", "commerce::order_get", "tools/commerce/order_get.md", f"{BASE}/order_get/"],
    )
    def test_links_are_resolved(self, target: str) -> None:
        """A link by id, `source::name`, path or URI reaches the tool; the text stays."""
        content = f"---\ngraph_related: ['{target}', order_get]\n---\n# Track\n"
        found = manifest(documents=(author("track.md", content),))
        document = next(item for item in found.documents if item.path == "track.md")
        assert [link.target for link in document.links] == [f"{BASE}/order_get/"]
        assert [edge.target for edge in found.relations.of("track").related] == ["order_get"]
        assert texts(found)["track.md"] == content

    def test_unresolved_links_are_told_and_kept(self) -> None:
        """A link to nobody is a warning, stays in the document, and makes no edge."""
        content = "---\ngraph_related: [ghost, track]\n---\n# Track\n"
        found = manifest(documents=(author("track.md", content),))
        (note,) = [item for item in found.diagnostics if item.code is Code.RELATION_UNRESOLVED]
        assert "'ghost'" in note.message
        assert note.place == "docs/track.md:2"
        document = next(item for item in found.documents if item.path == "track.md")
        assert document.links[0].target == "ghost"
        assert found.relations.of("track").related == ()

    def test_invalid_document_is_told_and_the_rest_go_on(self) -> None:
        """A document that cannot be read is an error among the diagnostics."""
        documents = (author("bad.md", "---\ntitle: [\n---\n"), author("track.md", HAND_WRITTEN))
        found = assemble(SourceBatch(documents=documents))
        assert [tool.name for tool in found.catalog.tools] == ["track"]
        (fault,) = [item for item in found.diagnostics if item.code is Code.DOCUMENT_INVALID]
        assert fault.severity is Severity.ERROR
        assert (fault.place or "").startswith("docs/bad.md")

    def test_source_id_is_for_those_that_name_none(self) -> None:
        """A document without a source gets the one that was given."""
        found = assemble(
            SourceBatch(documents=(author("track.md", HAND_WRITTEN),)), source_id="parcels"
        )
        assert [tool.source_id for tool in found.catalog.tools] == ["parcels"]

    def test_a_stale_id_is_corrected(self) -> None:
        """An id that the catalogue no longer gives is replaced in the text."""
        alone = assemble(SourceBatch(tools=SHOP[:1]))
        other = make_tool("order_search", id="", source_id="other")
        found = assemble(replace(as_bundle(alone), tools=(other,)))
        ids = [tool.id for tool in found.catalog.tools]
        assert ids == ["commerce_order_search", "other_order_search"]
        assert (
            "- Tool id: commerce_order_search\n" in texts(found)["tools/commerce/order_search.md"]
        )

    def test_shared_path_and_uri_give_way(self) -> None:
        """Of two documents with one path and URI the second is moved, with a warning."""
        uri = "https://example.org/x/"
        documents = (
            author("x.md", "---\nname: ant\n---\nAn ant.\n", canonical_uri=uri),
            author("X.md", "---\nname: bee\n---\nA bee.\n", canonical_uri=uri),
        )
        found = assemble(SourceBatch(documents=documents))
        assert [text.path for text in found.texts] == ["tools/local/bee.md", "x.md"]
        assert len({text.canonical_uri for text in found.texts}) == 2
        (note,) = [item for item in found.diagnostics if item.severity is Severity.WARNING]
        assert "is taken or unsafe" in note.message
        encode_bundle(build_bundle(found))

    def test_of_one_uri_the_first_tool_keeps_it(self) -> None:
        """Of documents with one URI the one whose tool id comes first bears it, in any order."""
        uri = "https://example.org/x/"
        documents = (
            author("a.md", "---\nname: bee\n---\nA bee.\n", canonical_uri=uri),
            author("b.md", "---\nname: ant\n---\nAn ant.\n", canonical_uri=uri),
            author("c.md", "---\nname: cow\n---\nA cow.\n", canonical_uri=uri),
        )
        for ordered in (documents, documents[::-1]):
            found = assemble(SourceBatch(documents=ordered))
            uris = {item.tool.id: item.uri for item in found.documents}
            assert uris["ant"] == uri
            assert uris["bee"].endswith("/tools/local/bee/")
            assert uris["cow"].endswith("/tools/local/cow/")

    def test_of_one_text_the_stated_uri_counts(self) -> None:
        """The same text with and without a URI is one document, which has the least URI given."""
        content = "---\nname: ant\n---\nAn ant.\n"
        uris = [None, "https://b.example/", "https://a.example/"]
        documents = [author("x.md", content, canonical_uri=uri) for uri in uris]
        for ordered in (documents, documents[::-1]):
            found = assemble(SourceBatch(documents=tuple(ordered)))
            assert [text.canonical_uri for text in found.texts] == ["https://a.example/"]

    def test_an_odd_uri_costs_only_itself(self) -> None:
        """A stated URI that no bundle may hold is passed over with its line."""
        for uri in ("c:/x", '"https://x.org/\\x01"'):
            text = f"---\nname: ant\ncanonical_url: {uri}\n---\nAn ant.\n"
            found = manifest(documents=(author("x.md", text),))
            (noticed,) = [one for one in found.diagnostics if one.severity is Severity.WARNING]
            assert (noticed.code, noticed.place) == (Code.DOCUMENT_INVALID, "docs/x.md:3")
            assert len(Bundle(found.texts).documents) == len(SHOP) + 1
            assert data(assemble(as_bundle(found))) == data(found)

    def test_a_path_that_is_no_unicode_is_replaced(self) -> None:
        """Half a surrogate pair in a path costs the path, not the bundle."""
        text = "---\nname: ant\n---\nAn ant.\n"
        found = assemble(SourceBatch(documents=(author("\udcff.md", text),)))
        assert [one.path for one in found.texts] == ["tools/local/ant.md"]
        assert data(assemble(as_bundle(found))) == data(found)

    def test_unsafe_path_is_replaced(self) -> None:
        """A document whose path no bundle may hold gets the standard one."""
        found = assemble(
            SourceBatch(documents=(author("C:x.md", "---\nname: ant\n---\nAn ant.\n"),))
        )
        assert [text.path for text in found.texts] == ["tools/local/ant.md"]

    def test_standard_places_may_be_taken(self) -> None:
        """A tool whose standard path and URI a document bears gets numbered ones."""
        uri = f"{BASE}/order_get/"
        squatter = author(
            "tools/commerce/order_get.md", "---\nname: ant\n---\nAn ant.\n", canonical_uri=uri
        )
        found = manifest(documents=(squatter,))
        placed = {item.tool.id: (item.path, item.uri) for item in found.documents}
        assert placed["ant"] == (squatter.path, uri)
        assert placed["order_get"] == ("tools/commerce/order_get-2.md", f"{uri}2/")


NAMES = st.sampled_from(
    ["order_get", "order_list", "refund", "a b", "Ünï", "注文", ".hidden", "con"]
)
TOOLS = st.lists(
    st.builds(
        make_tool,
        NAMES,
        id=st.just(""),
        source_id=st.sampled_from(["a", "B c"]),
        description=st.sampled_from(["", "Gets an order.", 'Line\nbreak: "x" --- # y']),
        input_schema=st.sampled_from([requiring("order_id"), requiring()]),
        output_schema=st.sampled_from([None, requiring("order_id")]),
    ),
    max_size=8,
)


@settings(max_examples=40, deadline=None)
@given(TOOLS, st.randoms(use_true_random=False))
def test_bundle_does_not_depend_on_order(tools: list[Tool], shuffler: random.Random) -> None:
    """The same tools in any order give the same bytes, and so does their own bundle."""
    shuffled = list(tools)
    shuffler.shuffle(shuffled)
    first = assemble(SourceBatch(tools=tuple(tools)))
    assert data(assemble(SourceBatch(tools=tuple(shuffled)))) == data(first)
    again = assemble(as_bundle(first))
    assert data(again) == data(first)
    assert again.relations == first.relations


def test_hash_seed_does_not_show() -> None:
    """Every process builds the same bytes, whatever its hash seed."""
    program = (
        "import hashlib\n"
        "from builders import make_tool\n"
        "from mcpg.bundle import assemble, build_bundle, encode_bundle\n"
        "from mcpg.sources import SourceBatch\n"
        "words = 'order refund user mail ant'.split()\n"
        "tools = tuple(make_tool(f'{a}_{b}', tags=(a, b)) for a in words for b in words)\n"
        "data = encode_bundle(build_bundle(assemble(SourceBatch(tools=tools))))\n"
        "print(hashlib.sha256(data).hexdigest())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "77")
    }
    assert len(outputs) == 1


@pytest.mark.untraced
def test_texts_of_one_name_are_placed_at_once() -> None:
    """Paths and URIs that differ in case only are numbered without trying each number anew."""

    def calls(names: list[str]) -> int:
        texts = [SourceDocument(f"{one}.md", "---\ntool: false\n---\nText.\n") for one in names]
        batch = SourceBatch(documents=tuple(texts))
        assert len({text.path.casefold() for text in assemble(batch).texts}) == len(names)
        return calls_in(lambda: assemble(batch))

    cases = itertools.product(*((letter, letter.upper()) for letter in "abcdefghij"))
    alike = ["".join(case) for case in itertools.islice(cases, 300)]
    apart = [f"abcdef{number:04}" for number in range(300)]
    # A page that moves is read once more.
    assert calls(alike) < 2 * calls(apart)


def test_empty_batch_gives_an_empty_bundle() -> None:
    """Nothing in, nothing out."""
    found = assemble(SourceBatch())
    assert build_bundle(found) == Bundle()
    assert found.diagnostics == ()
