from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
import yaml
from bounded import output_of
from builders import make_tool
from generated import documents, shown
from hypothesis import HealthCheck, example, given, settings

from mcpg.catalog.model import SourceDocument, ToolExample
from mcpg.documents.addresses import tool_uri
from mcpg.documents.facts import extras_for
from mcpg.documents.front_matter import EXTRAS_KEY, MAX_FRONT_MATTER, split_front_matter
from mcpg.documents.model import Link, ToolDocument, encode_record
from mcpg.documents.reader import RELATIONS_KEY, parse_document, tool_without_extras
from mcpg.documents.writer import (
    can_be_written,
    with_compact_schemas,
    with_indented_schemas,
    write_document,
)
from mcpg.errors import DocumentError
from mcpg.relations.edges import EdgeKind, EdgeOrigin
from mcpg.text.safeyaml import load_yaml

if TYPE_CHECKING:
    from mcpg.text.json_values import JsonObject


def read(text: str, path: str = "tools/a/b.md", uri: str | None = None) -> ToolDocument:
    """Parse *text*, which must have nothing to complain about."""
    document, found = parse_document(SourceDocument(path, text, uri))
    assert found == ()
    return document


def front_of(text: str) -> str:
    """Cut the front matter out of a written text."""
    return text.removeprefix("---\n").partition("\n---\n")[0] + "\n"


wide = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@wide
@given(documents())
def test_reading_what_was_written_gives_an_equal_document(document: ToolDocument) -> None:
    """Nothing that a document holds is lost or changed by its text."""
    assert read(write_document(document)) == document


@wide
@given(documents())
def test_schemas_on_one_line_say_the_same_and_are_indented_again(document: ToolDocument) -> None:
    """The form that documents have in bundles is another spelling, and no loss."""
    text = write_document(document)
    compact = with_compact_schemas(text, document.tool)
    assert compact == with_compact_schemas(text, document.tool, is_fresh=True)
    assert read(compact) == document
    assert with_indented_schemas(compact, document.tool) == text


def test_schemas_that_do_not_end_are_looked_for_once() -> None:
    """Sections of a hostile document take no time that grows with the square of their number."""
    program = (
        "from mcpg.catalog.model import Tool\n"
        "from mcpg.documents.writer import with_compact_schemas\n"
        "front = '---\\ntags: [mcp-gateway-tool]\\n---\\n'\n"
        "text = front + '## Input Schema\\n```json\\n' * 40_000\n"
        "print(with_compact_schemas(text, Tool('a', 'b', 'c')) == text)"
    )
    assert output_of(program) == "True\n"


@wide
@given(documents())
def test_front_matter_repeats_nothing_that_the_text_says(document: ToolDocument) -> None:
    """The `mcpg` key holds just what is not read back from the rest of the text."""
    text = write_document(document)
    extras = split_front_matter(text, "").values.get(EXTRAS_KEY, {})
    assert isinstance(extras, dict)
    rest = tool_without_extras(SourceDocument("document.md", text, document.uri))
    stated = {key: value for key, value in extras.items() if key != RELATIONS_KEY}
    assert stated == extras_for(document.tool, rest)


@wide
@given(documents())
def test_writing_what_was_read_gives_the_same_text(document: ToolDocument) -> None:
    """A written text is a fixed point of reading and writing."""
    text = write_document(document)
    assert write_document(read(text)) == text


@wide
@given(documents())
def test_every_yaml_reader_takes_the_front_matter_alike(document: ToolDocument) -> None:
    """The quick reader, the safe reader and plain PyYAML agree on written front matter."""
    text = write_document(document)
    values = split_front_matter(text, "a.md").values
    assert values == yaml.safe_load(front_of(text))
    assert values == load_yaml(front_of(text), "a.md", error=DocumentError)


@example(ToolDocument(make_tool(title="\t"), "tools/a/b.md", "urn:a"))
@given(documents())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_written_text_holds_no_character_that_files_change(document: ToolDocument) -> None:
    """A written text has LF line ends and no blank space at the end of generated lines."""
    text = write_document(document)
    assert "\r" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    generated = text.partition("\n## Author Notes\n")[0]
    assert [line for line in generated.split("\n") if line != line.rstrip(" \t")] == []


@pytest.fixture
def without_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the import of a YAML parser fail."""
    for name in [name for name in sys.modules if name.endswith(".safeyaml")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "yaml", None)


@pytest.mark.usefixtures("without_yaml")
def test_generated_front_matter_needs_no_yaml_parser() -> None:
    """What an ordinary tool's document carries is read by the quick reader."""
    tool = make_tool(
        description="a\nb",
        annotations={"readOnlyHint": True, "x": [1.5e-7, None]},
        examples=(ToolExample("one\ntwo"),),
    )
    links = (Link(EdgeKind.RELATED, "urn:x", 0.5, "why", EdgeOrigin.INFERRED),)
    document = ToolDocument(tool, "a.md", "urn:y", ("g",), links)
    text = write_document(document)
    assert split_front_matter(text, "a.md").values == yaml.safe_load(front_of(text))


@pytest.mark.usefixtures("without_yaml")
@pytest.mark.parametrize(
    "front",
    [
        "title: plain\n",
        'title: "a" # comment\n',
        'title: "a"\ntitle: "b"\n',
        'title:\n  - "a"\n    "b"\n',
        'title: "\\ud83d\\ude00"\n',
        "tags:\n",
        "tags: [a]\n",
        "  indented: 1\n",
        'mcpg:\n  x: "a"\n  x: "b"\n',
        "mcpg:\n  x: NaN\n",
        "mcpg:\n  x:\n",
        'mcpg:\n    - {"a": 1}\n',
        "mcpg:\n  x\n",
        'mcpg:\n  meta: {"a": 1e999}\n',
        "mcpg:\n  x: -1e999\n",
        "mcpg:\n  x: 1" + "0" * 400 + "\n",
        "mcpg:\n  x: " + "[" * 99 + "]" * 99 + "\n",
        'mcpg:\n  x:\n    - "a"\n',
        "1: x\n",
        "",
    ],
)
def test_the_quick_reader_leaves_other_yaml_to_the_parser(front: str) -> None:
    """Anything that generated documents do not use is read by a YAML parser."""
    with pytest.raises(ImportError):
        split_front_matter(f"---\n{front}---\n", "a.md")


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + "0" * 400])
def test_a_number_that_json_cannot_hold_is_text(number: str) -> None:
    """A value under `mcpg` is read alike by both readers, and written as it was read."""
    document = read(f'---\ntitle: "a"\nmcpg:\n  meta: {{"a": {number}}}\n---\n\nx\n')
    assert document.tool.meta == {"a": number}
    assert read(write_document(document), document.path) == document


@pytest.mark.parametrize("depth", [99, 500, 900, 20_000])
def test_nesting_without_end_is_refused(depth: int) -> None:
    """Front matter nests 100 levels deep at most, in whatever notation; the error has a line."""
    front = f'---\ntitle: "a"\nmcpg:\n  future: {"[" * depth}{"]" * depth}\n---\nx\n'
    with pytest.raises(DocumentError, match="deeper than 100 levels") as caught:
        read(front)
    assert caught.value.place == "tools/a/b.md:4"
    meta = '{"a": ' * 97 + "{}" + "}" * 97
    fits = read(f'---\ntitle: "a"\nmcpg:\n  meta: {meta}\n---\nx\n')
    assert fits.tool.meta != {}


@example(name="naïve/../名前")
@given(name=shown)
@settings(max_examples=50, deadline=None)
def test_a_moved_document_keeps_its_tool(name: str) -> None:
    """A written document says everything about its tool itself; its path does not matter."""
    tool = make_tool(name.strip() or "x", source_id="commerce")
    text = write_document(ToolDocument(tool, "tools/a.md", tool_uri("commerce", tool.name)))
    assert read(text, "elsewhere/other/z.md").tool == tool
    assert read(text, "elsewhere/other/z.md").uri == tool_uri("commerce", tool.name)


def test_a_uri_that_does_not_follow_from_the_name_is_written_down() -> None:
    """A document whose URI is its own keeps it when read from a folder."""
    document = ToolDocument(make_tool(), "a/b.md", tool_uri("commerce", "shipment_track", 2))
    text = write_document(document)
    assert "canonical_url:" in text
    assert read(text, "a/b.md").uri == document.uri


def test_documents_that_state_no_relations_stay_so() -> None:
    """Having no relations and not saying are different, and both survive."""
    said = ToolDocument(make_tool(), "a.md", "urn:a", states_relations=True)
    unsaid = ToolDocument(make_tool(), "a.md", "urn:a", states_relations=False)
    assert read(write_document(said), "a.md").states_relations is True
    assert read(write_document(unsaid), "a.md").states_relations is False
    assert "graph_" not in write_document(unsaid)


@pytest.mark.parametrize(
    ("groups", "links", "keys"),
    [
        ((), (Link(EdgeKind.RELATED, "urn:x"),), ["graph_related:"]),
        ((), (Link(EdgeKind.NEXT_STEP, "urn:x"),), ["graph_next_steps:"]),
        (("g",), (), ["graph_groups:"]),
        ((), (), ["graph_groups: []"]),
    ],
)
def test_only_what_is_stated_has_a_key(
    groups: tuple[str, ...], links: tuple[Link, ...], keys: list[str]
) -> None:
    """An empty list stands only where neither a group nor a link says that relations are stated."""
    text = write_document(ToolDocument(make_tool(), "a.md", "urn:a", groups, links))
    assert [line for line in text.split("\n") if line.startswith("graph_")] == keys


@pytest.mark.parametrize("words", [20_000, 40_000])
def test_a_very_long_description_survives(words: int) -> None:
    """A description too long to stand three times is cut where people see it, and kept whole."""
    tool = make_tool(description="word\n" * words)
    document = ToolDocument(tool, "a.md", "urn:a")
    text = write_document(document)
    assert read(text, "a.md").tool == tool
    assert len(yaml.safe_load(front_of(text))["summary"]) == 1000


@wide
@given(documents())
def test_front_matter_is_bounded_by_the_record(document: ToolDocument) -> None:
    """That a record is short is enough to know that its document can be written."""
    front = front_of(write_document(document))
    assert 32 * len(encode_record(document)) >= len(front)


@pytest.mark.parametrize("sign", ["\x7f", "\n", '"', "\u2028", "a", "\U0001f600"])
def test_what_can_be_written_is_written(sign: str) -> None:
    """However long a tool, and whatever signs it is of, it is not promised a text that it lacks."""
    answers = set()
    for power in range(20):
        tags = (sign * 2**power, "x" + sign * 2**power)
        tool = make_tool(description=sign * 2**power, title=sign * 2**power, tags=tags)
        document = ToolDocument(tool, "a/b.md", tool_uri(tool.source_id, tool.name))
        answers.add(can_be_written(document))
        if can_be_written(document):
            assert len(write_document(document)) <= MAX_FRONT_MATTER
    assert answers == {True, False}


def test_what_nests_deeply_is_not_promised_a_text() -> None:
    """A tool that is short but nests too deeply for front matter is no sure one."""
    meta: JsonObject = {}
    for _ in range(99):
        meta = {"a": meta}
    tool = make_tool(meta=meta)
    document = ToolDocument(tool, "a/b.md", tool_uri(tool.source_id, tool.name))
    assert not can_be_written(document)


def test_a_tool_that_front_matter_cannot_hold_is_refused() -> None:
    """What reading would refuse is refused in writing, with the tool's name and a remedy."""
    tool = make_tool(meta={"icon": "x" * 300_000})
    with pytest.raises(DocumentError, match=r"shipment_track.*front matter.*shorten") as caught:
        write_document(ToolDocument(tool, "tools/a.md", "urn:a"))
    assert caught.value.place == "tools/a.md"


def test_a_tool_that_nests_too_deeply_is_refused() -> None:
    """Values that the front matter could not give back are refused in writing."""
    meta: JsonObject = {}
    for _ in range(99):
        meta = {"a": meta}
    with pytest.raises(DocumentError, match=r"shipment_track.*nest too deeply") as caught:
        write_document(ToolDocument(make_tool(meta=meta), "tools/a.md", "urn:a"))
    assert caught.value.place == "tools/a.md"


@pytest.mark.parametrize("number", [10**308, -(10**308), 1.5e308, 0.1])
def test_every_number_of_a_manifest_survives(number: float) -> None:
    """Whatever JSON number a manifest may hold comes back from a document as it was."""
    document = ToolDocument(make_tool(meta={"a": number}), "a.md", "urn:a")
    assert read(write_document(document), "a.md", "urn:a").tool.meta == {"a": number}


def test_a_body_with_fences_and_headings_comes_back_verbatim() -> None:
    """Whatever a person wrote is kept, even where it looks like a generated section."""
    body = "    code\n\n# Title\n\n## Tool Identity\n- Tool id: x\n\n```\n## unclosed"
    document = ToolDocument(make_tool(), "a.md", "urn:a", body=body)
    assert read(write_document(document), "a.md").body == body


def test_blank_lines_around_a_body_are_tidied() -> None:
    """A body is written without blank lines around it and with LF line ends."""
    document = ToolDocument(make_tool(), "a.md", "urn:a", body="\r\n \r\nHello\r\nyou  \r\n\r\n")
    assert read(write_document(document), "a.md").body == "Hello\nyou"


def test_control_characters_of_a_schema_are_escaped() -> None:
    """A document holds no control character that would steer a terminal, and loses none."""
    schema = {"type": "object", "properties": {"a\x9b": {"description": "\x7f\x85"}}}
    document = ToolDocument(make_tool(input_schema=schema), "a.md", "urn:a")
    text = write_document(document)

    assert text.replace("\n", "").isprintable()
    assert parse_document(SourceDocument("a.md", text))[0].tool.input_schema == schema
