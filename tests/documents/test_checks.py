"""What is reported of documents that can be read, but that their authors hardly meant so."""

from __future__ import annotations

import pytest
from bounded import output_of
from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.model import SourceDocument, ToolExample
from mcpg.documents.facts import DATATYPES, XSD, is_date, is_of_datatype
from mcpg.documents.model import document_for
from mcpg.documents.reader import check_document, parse_document
from mcpg.documents.writer import write_document
from mcpg.errors import Code, DocumentError, Severity
from mcpg.relations.edges import ToolRelations


def told(text: str) -> list[tuple[int, str]]:
    """Return line and message of whatever is told of a document with *text*."""
    _, found = parse_document(SourceDocument("a.md", text), is_checked=True)
    return [(int((one.place or ":0").rpartition(":")[2]), one.message) for one in found]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("sumary: x", "did you mean 'summary'?"),
        ("Title: x", "did you mean 'title'?"),
        ("graph-related: x", "did you mean 'graph_related'?"),
        ("next_steps: [x]", "did you mean 'graph_next_steps'?"),
        ("prefixes: {a: b}", "did you mean 'rdf_prefixes'?"),
        ("title:", "`title` has no value"),
        ("title: [x]", "`title` is not a text"),
        ("date_modified: 2026-13-01", "not a date: '2026-13-01'"),
        ("date_modified: 20260101", "not a date: '20260101'"),
        ("input_schema: object", "`input_schema` is not a mapping"),
        ("tool: [a, b]", "`tool` names no tool"),
        ("tool:", "`tool` has no value"),
        ("tool: true", "`tool` names no tool"),
        ('rdf_types: ["{0} {}"]', "'{0} {}' has no prefix"),
        ("aliases: pay back, refund", "write a list, [pay back, refund]"),
        ("graph_related: one; two", "write a list, [one, two]"),
        ("graph_related: [{target: a, wieght: 1}]", "did you mean 'weight'?"),
        ("graph_related: [{target: a, note: 1}]", "'note' of graph_related[0] is unknown"),
        ("examples: [{input: a, ouput: b}]", "did you mean 'output'?"),
        ("mcpg: {aliasses: [a]}", "did you mean 'aliases'?"),
        ('rdf_types: ["schma:Thing"]', "did you mean 'schema'?"),
        ("rdf_types: [Thing]", "write an IRI, or a name such as schema:Thing"),
        ("rdf_properties: {level: 1}", "'level' has no prefix"),
        ("rdf_types: ['{0} {x}']", "a name such as schema:0x"),
        (
            'rdf_properties: {"schema:x": {id: "x:y"}}',
            "'x:y' is unknown; declare it in `rdf_prefixes`",
        ),
        (
            'rdf_properties: {"schema:x": {value: 1.5, datatype: xsd:int}}',
            "is not an xsd:int",
        ),
        ('rdf_properties: {"schema:x": {value: 1, datatype: xsd:integr}}', "mean 'integer'?"),
        ('rdf_properties: {"schema:x": {value: a, lang: d e}}', "'d e' is not a language tag"),
        ('rdf_properties: {"schema:x": {vlaue: a}}', "did you mean 'value'?"),
        ("rdf_properties: [{predicat: schema:x, value: a}]", "did you mean 'predicate'?"),
        (
            """rdf_properties: {"schema:x": '"2026"^^xsd:gYear'}""",
            'write {value: "2026", datatype: xsd:gYear}',
        ),
        ('rdf_properties: {"schema:x": "5^^xsd:int"}', 'write {value: "5", datatype: xsd:int}'),
        (
            """rdf_properties: {"schema:x": {value: '"drei"@de_DE'}}""",
            'write {value: "drei", lang: de-DE}',
        ),
        ('rdf_properties: {"schema:x": "<urn:x:a>"}', 'write {id: "urn:x:a"}'),
        ('graph_edges: [{subject: " ", predicate: about, object: b}]', "has an empty `subject`"),
        ('about: [{label: a, sameAs: "https://a.example/x y"}]', "is not an IRI: it has a blank"),
        ('about: ["https://a.example/<x>"]', "is not an IRI: it has '<'"),
        ("about: [{label: a, sameAs: elsewhere}]", "'elsewhere' has no prefix"),
        ('rdf_prefixes: {ex: "https://a b/"}', "is not an IRI: it has a blank"),
        ("graph_edges: [{subject: a, predicate: nextStpe, object: b}]", "mean 'nextStep'?"),
        ('graph_edges: [{subject: a, predicate: "e:x", object: b}]', "the prefix 'e' of 'e:x'"),
        ('graph_edges: [{subject: "e:x", predicate: about, object: b}]', "the prefix 'e'"),
        ("graph_edges: [{subject: a, predicate: about, object: b, reson: c}]", "mean 'reason'?"),
        ("entry_type: tech_artcle", "did you mean 'tech_article'?"),
        ("tags: ['enabled:flase']", "'enabled:flase' has an unknown value; did you mean 'false'?"),
        ("tags: destructive:ture", "'destructive:ture' has an unknown value; did you mean 'true'?"),
        ("Tags: [a, 'cost-tier:cheap']", "an unknown value; write Low, Medium, High"),
        ("tags: ['kind:Lokal']", "did you mean 'Local'?"),
        ("hints: {read_only: maybe}", "the value of 'read_only' has the wrong type"),
        ("annotations: {readOnlyHint: maybe}", "the value of 'readOnlyHint' has the wrong type"),
        ("source_kind: remote", "write Local, HttpMcp"),
    ],
)
def test_front_matter_that_is_hardly_meant_is_told_with_its_line(line: str, says: str) -> None:
    """The line is that of the value; one that is of no use is told to be ignored as well."""
    (first, *more) = told(f"---\nname: a\n# comment\n{line}\n---\nText.\n")
    assert {first[0], *(number for number, _ in more)} == {4}
    assert says in first[1]
    assert all(message.endswith("ignored") for _, message in more)


@pytest.mark.parametrize(
    ("markdown", "line", "says"),
    [
        ("### Tool Identity\n- Tool id: a", 4, "at level 3: write `## Tool Identity`"),
        ("x\n\nTool Identity\n---\n- Tool id: a", 6, "with an underline"),
        ("**Tool identity:**\n\nTool id: a", 4, "as strong text"),
        ("##Tool Identity\n- Tool id: a", 4, "without a blank after its marks"),
        ("## Tool Idenity\n- Tool id: a", 4, "write `## Tool Identity`"),
        ("## Tool identitiy\n\nWhat it is called.", 4, "write `## Tool Identity`"),
        ("# Execution Contract\nDescription: a", 4, "write `## Execution Contract`"),
        ("### Input Schema\n```json\n{}\n```", 4, "write `## Input Schema`"),
        ("## Tool Identity\nTool id a", 4, "no line such as `- Tool id: NAME`"),
        ("## Tool Identity\n- Tool idd: a\n- Source id: b", 5, "did you mean 'Tool id'?"),
        ("## Tool Identity\n- Tool id: a\n- Source kind: Lokal", 6, "did you mean 'Local'?"),
        ("## Tool Identity\n- Tool id: a\n## X\n## Tool Identity\n- Tool id: b", 7, "of one tool"),
        ('## Input Schema\n{"type": "object"}', 4, "no JSON in a code fence"),
        ("## Input Schema\n```json\n{}\n{\n```", 7, "the schema in this section"),
        ("## Execution Contract\nTool name: a\nRead only: ture", 6, "did you mean 'True'?"),
        ("## Execution Contract\nCost tier: cheap", 5, "write Low, Medium, High"),
        ("a\n```\nb", 5, "this code fence is not closed"),
        ("```\na\n```json\nb\n```", 4, "this code fence is not closed before the next one"),
        ("a\n\n<!-- b", 6, "this comment is not closed"),
        ('```json\n{"type": "object",\n "properties": {,}}\n```', 6, "JSON Schema in this fence"),
    ],
)
def test_markdown_that_is_hardly_meant_is_told_with_its_line(
    markdown: str, line: int, says: str
) -> None:
    """Headings that only look like those of a section, fences and comments without an end."""
    found = told(f"---\nname: a\n---\n{markdown}\n")
    assert [number for number, _ in found] == [line]
    assert says in found[0][1]


@pytest.mark.parametrize(
    "text",
    [
        "---\ntool: false\n---\n### Tool Identity\n- Tool id: a\n",
        "---\nname: a\nnotes: x\nlevels: 3\nteam: y\nversion: 1.10\n---\nText.\n",
        "---\nname: a\ntags: [enabled, 'enabled:False', 'cost-tier:low', 'x:y']\n---\nText.\n",
        "---\nname: a\n---\nTool identity is a topic.\n\n### Input schema\n\nWords.\n",
        "---\nname: a\n---\n```md\n### Tool Identity\n- Tool id: a\n```\n`<!--` is code.\n",
        "---\nname: a\nabout: ['mailto:a@b.example', 'urn:x:y', 'A: b']\n---\n<!-- a\n-->\n",
        "---\nname: a\ngraph_groups: ['domain:x', 'team:y']\n---\n~~~json\n{\n~~~\n",
        "---\nname: a\n---\n````md\n```json\n{}\n```\n````\nText <!-- goes on.\n",
    ],
)
def test_what_may_be_meant_is_not_told(text: str) -> None:
    """Keys of the author's own, prose about sections, groups with colons, code that shows marks."""
    assert told(text) == []


GENERATED = write_document(
    document_for(
        make_tool("find", description="End with <!-- or ```.", output_schema={"type": "object"}),
        ToolRelations(),
        {"find": ("tools/commerce/find.md", "urn:x:find")},
    )
)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("## Input Schema", "### Input Schema", "write `## Input Schema`"),
        ("## Tool Identity", "```\n## Tool Identity", "this code fence is not closed"),
        ("## Execution Contract", "<!--\n## Execution Contract", "this comment is not closed"),
        ("- Source id", "- Source ID", "did you mean 'Source id'?"),
    ],
)
def test_a_mistake_in_a_generated_document_is_told(old: str, new: str, says: str) -> None:
    """A generated document is checked as any other is, and its own text is no mistake."""
    assert told(GENERATED) == []
    line = GENERATED[: GENERATED.index(old)].count("\n") + 1
    (found,) = told(GENERATED.replace(old, new))
    assert found[0] == line
    assert says in found[1]


@pytest.mark.parametrize(
    ("old", "new", "severity"),
    [
        ("Categories: mail", "Categories: mail, post", Severity.WARNING),
        ("Read only: True", "Read only: False", Severity.WARNING),
        ("Enabled by default: True", "Enabled by default: False", Severity.WARNING),
        ("Categories: mail\n", "", Severity.INFO),
        ('  - "category:mail"\n', '  - "category:mail"\n  - "category:post"\n', Severity.INFO),
    ],
)
def test_an_edited_contract_is_told(old: str, new: str, severity: Severity) -> None:
    """Only the tags of a generated document count; a line may just be older than a new tag."""
    tool = make_tool("find", categories=("mail",), read_only=True, keywords=("a, b",))
    relations, addresses = ToolRelations(), {"find": ("tools/commerce/find.md", "urn:x:find")}
    text = write_document(document_for(tool, relations, addresses))
    assert told(text) == []
    source = SourceDocument("a.md", text.replace(old, new))
    (found,) = parse_document(source, is_checked=True)[1]
    assert (found.severity, found.code) == (severity, Code.DOCUMENT_INVALID)
    assert "differs from the tags" in found.message
    assert check_document(source) == [found]


@pytest.mark.parametrize(
    ("old", "new", "stated"),
    [
        ("Description: Find.", "Description: Find all.", "front matter"),
        ("Description: Find.", "Description: Find.\nDisplay name: Finder", "front matter"),
        ("Required arguments: a", "Required arguments: a, b", "input schema"),
        ("Parameter a: A name.", "Parameter a: Any name.", "input schema"),
        ("Parameter a: A name.", "Parameter b: A name.", "input schema"),
    ],
)
def test_a_line_that_is_not_of_the_tool_is_told(old: str, new: str, stated: str) -> None:
    """Lines of the contract that state what stands elsewhere have no effect, in any document."""
    argument = {"type": "string", "description": "A name."}
    schema = {"type": "object", "properties": {"a": argument}, "required": ["a"]}
    example = ToolExample("x", description="Find x.")
    tool = make_tool("find", description="Find.", input_schema=schema, examples=(example,))
    relations, addresses = ToolRelations(), {"find": ("tools/commerce/find.md", "urn:x:find")}
    text = write_document(document_for(tool, relations, addresses))
    for whole in (text, text.replace('  - "mcp-gateway-tool"\n', "")):
        assert told(whole) == []
        source = SourceDocument("a.md", whole.replace(old, new))
        (found,) = parse_document(source, is_checked=True)[1]
        assert (found.severity, found.code) == (Severity.INFO, Code.DOCUMENT_INVALID)
        assert f"differs from the {stated}" in found.message
        line = source.content[: source.content.index(new) + len(new)].count("\n") + 1
        assert found.place == f"a.md:{line}"


@pytest.mark.parametrize(
    ("text", "name", "fits"),
    [
        ("12", "integer", True),
        ("+1", "integer", True),
        ("1.0", "integer", False),
        ("-1", "nonNegativeInteger", False),
        ("128", "byte", False),
        ("-128", "byte", True),
        ("9" * 5000, "integer", True),
        ("9" * 5000, "long", False),
        ("1e3", "decimal", False),
        ("1e3", "double", True),
        ("INF", "float", True),
        ("True", "boolean", False),
        ("1", "boolean", True),
        ("2024-02-29", "date", True),
        ("2023-02-29", "date", False),
        ("2024-02-29Z", "date", True),
        ("12024-02-29", "date", True),
        ("2024-01-01T25:00:00", "dateTime", False),
        ("2024-01-01T23:59:59.5+01:00", "dateTime", True),
        ("P1DT2H", "duration", True),
        ("P", "duration", False),
        ("a b", "anyURI", False),
        ("whatever", "string", True),
        ("whatever", "unheardOf", True),
    ],
)
def test_literals_fit_their_datatype_or_not(text: str, name: str, fits: bool) -> None:
    """The lexical forms of XML Schema."""
    assert is_of_datatype(text, f"{XSD}{name}") is fits


@given(st.text(max_size=40), st.sampled_from([*DATATYPES, "other"]))
def test_any_text_is_judged(text: str, name: str) -> None:
    """Whatever an author writes, there is an answer; what is a date is one for both."""
    assert is_of_datatype(text, f"{XSD}{name}") in {True, False}
    assert is_date(text.strip()) == is_of_datatype(text, f"{XSD}date")


@pytest.mark.parametrize(
    "text",
    [
        "'---\\nname: a\\n---\\n' + '# x\\n' * 60_000",
        "'---\\nname: a\\n---\\n' + '** ' * 80_000",
        "'---\\nname: a\\n---\\n' + '```\\n' * 60_001",
        "'---\\nname: a\\n---\\n' + '## Tool Identity\\n\\n- Tool id: a\\n' * 8_000",
        "'---\\nname: a\\n---\\n' + '<!-- ' * 50_000",
        "'---\\nname: a\\nkeywords: \\'' + 'a, ' * 50_000 + '\\'\\n---\\nx'",
        "'---\\nname: a\\nabout: [' + 'x:y, ' * 20_000 + ']\\n---\\nx'",
    ],
    ids=["headings", "strong", "fences", "sections", "comments", "commas", "names"],
)
def test_checks_take_time_in_proportion_to_the_text(text: str) -> None:
    """A document of 250 kB is checked in one pass."""
    program = (
        "from mcpg.catalog.model import SourceDocument\n"
        "from mcpg.documents.reader import parse_document\n"
        f"print(parse_document(SourceDocument('a.md', {text}), is_checked=True)[0].tool.name)\n"
    )
    assert output_of(program) == "a\n"


@pytest.mark.parametrize(
    ("line", "is_cut"),
    [
        ("summary: Fix #12 and more", True),
        ("summary: #12 x", True),
        ("summary: Fix it # why", False),
        ('summary: "Fix #12"', False),
        ("summary: |\n  Fix #12", False),
    ],
)
def test_a_value_that_yaml_cuts_at_a_number_sign_is_told(line: str, is_cut: bool) -> None:
    """A plain value is told of when it is cut before `#` and no blank follows."""
    found = told(f"---\ntitle: a\n{line}\n---\n\n# a\n")
    assert any(at == 3 and "quote the value" in message for at, message in found) == is_cut


def test_a_misspelt_hint_is_told() -> None:
    """A member of `hints` that is like a hint is told of with that hint."""
    found = told("---\ntitle: a\nhints: {categry: x}\n---\n\n# a\n")
    assert any("did you mean 'category'" in message for _, message in found)


def test_every_unknown_member_is_told() -> None:
    """Members beyond the names that are compared are reported without a suggestion."""
    items = "\n".join(f"  - {{target: a, weigh{place:03}: 1}}" for place in range(150))
    found = told(f"---\ntitle: a\ngraph_related:\n{items}\n  - {{target: a, wieght: 1}}\n---\nx\n")
    assert len(found) == 151
    assert (found[-1][0], "'wieght'" in found[-1][1]) == (154, True)
    assert "did you mean" not in found[-1][1]


@pytest.mark.parametrize(
    ("lines", "number"), [("name:x", 2), ("name:x\ntitle: y", 2), ("title: y\n\nname:x", 4)]
)
def test_a_key_without_a_blank_is_told_on_its_line(lines: str, number: int) -> None:
    """YAML notices it in the next line only, where there is nothing to correct."""
    with pytest.raises(DocumentError, match="no blank behind the colon of 'name'") as fault:
        parse_document(SourceDocument("a.md", f"---\n{lines}\nid: z\n---\nx\n"))
    assert fault.value.place == f"a.md:{number}"


def test_only_so_many_unknown_keys_are_compared() -> None:
    """A document with any number of unknown keys has a bounded number of findings."""
    keys = "\n".join(f"summar{place}: 1" for place in range(300))
    assert 0 < len(told(f"---\ntitle: a\n{keys}\n---\n\n# a\n")) <= 101
