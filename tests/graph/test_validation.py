"""Documents against shapes."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcpg.bundle import assemble
from mcpg.catalog.model import SourceDocument
from mcpg.errors import InputError, UsageError
from mcpg.graph import validation as shacl
from mcpg.graph.shacl_worker import validate_data
from mcpg.graph.terms import node_iri
from mcpg.graph.validation import (
    Validation,
    check_shapes,
    complete_shapes,
    shipped_shapes,
    validate_documents,
)
from mcpg.sources import SourceBatch
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIXES = (
    "@prefix sh: <http://www.w3.org/ns/shacl#> .\n@prefix ex: <urn:ex:> .\n"
    "@prefix schema: <https://schema.org/> .\n"
)
OWL = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
RDFS = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
PAGE = "a sh:NodeShape ; sh:targetClass schema:Article"
FAULTY = """---
title: One
source: s
about:
  - RDF
  - {label: Gate, sameAs: not an address}
date_published: soon
graph_related:
  - nobody
  - one
graph_edges:
  - {subject: document, predicate: "ex:level", object: high}
---
"""


def validated(text: str = FAULTY, timeout: float = 60.0, **shapes: str) -> Validation:
    """Validate one document and another without faults."""
    good = "---\nname: two\nsource: s\nsummary: Fine.\ngraph_groups: [G]\n---\n"
    sources = {"docs/one.md": text, "docs/two.md": good}
    documents = tuple(SourceDocument(path, one, place=path) for path, one in sources.items())
    assembly = assemble(SourceBatch(documents=documents))
    return validate_documents(
        assembly.documents,
        originals={path: (path, one) for path, one in sources.items()},
        shapes={name: PREFIXES + shape for name, shape in shapes.items()},
        timeout=timeout,
    )


def places(validation: Validation) -> Mapping[str, str | None]:
    """Return the place of each finding by its constraint."""
    return {one.constraint: one.place for one in validation.findings}


def test_findings_name_file_and_line() -> None:
    """Each fault is found where its author wrote it, violations first."""
    validation = validated()
    assert [(one.severity, one.place) for one in validation.findings] == [
        ("violation", "docs/one.md:6"),
        ("violation", "docs/one.md:7"),
        ("warning", "docs/one.md:1"),
        ("warning", "docs/one.md:9"),
        ("warning", "docs/one.md:10"),
    ]
    assert (validation.documents, validation.count("violation")) == (2, 2)
    assert validation.triples > 50


def test_findings_in_a_document_with_a_fragment_name_its_line() -> None:
    """Parts of a document whose IRI has a fragment are found in it as others are."""
    text = "---\nname: one\nsource: s\nsummary: x\ncanonical_url: https://x.example/a#b\n"
    text += "graph_related:\n  - one\n---\n"
    (found,) = (one for one in validated(text).findings if one.constraint == "Disjoint")
    assert found.place == "docs/one.md:6"


def test_lines_of_thousands_of_links_are_found_in_linear_time() -> None:
    """The line of each of 5,000 links that lead nowhere costs no look at all the others."""
    program = (
        "from mcpg.bundle import assemble\n"
        "from mcpg.catalog.model import SourceDocument\n"
        "from mcpg.sources import SourceBatch\n"
        "from mcpg.graph.validation import SourceLocations\n"
        "from mcpg.graph.terms import node_iri\n"
        "from mcpg.graph.validation import ShaclResult\n"
        "from mcpg.graph import terms as v\n"
        "names = [f'gone{n}' for n in range(5_000)]\n"
        "head = '---\\nname: a\\nsource: s\\ngraph_related:'\n"
        "text = '\\n- '.join([head, *names]) + '\\n---\\n'\n"
        "batch = SourceBatch(documents=(SourceDocument('a.md', text),))\n"
        "documents = assemble(batch).documents\n"
        "blame = SourceLocations(documents, {documents[0].path: ('a.md', text)})\n"
        "focus = node_iri(documents[0].uri)\n"
        "ends = map(node_iri, names)\n"
        "found = [ShaclResult('warning', '', None, focus, v.kb.relatedTo, end) for end in ends]\n"
        "places = [blame.locate_result(result) for result in found]\n"
        "assert places == [f'a.md:{n + 5}' for n in range(5_000)], places\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_shapes_of_ones_own_are_added() -> None:
    """They count beside the shipped ones; a statement is found in its list."""
    validation = validated(
        house=f"ex:A {PAGE} ; sh:property [ sh:path schema:author ; sh:minCount 1 ; "
        'sh:severity sh:Info ; sh:message "Every page names an author" ] , '
        "[ sh:path <ex:level> ; sh:maxCount 0 ] ."
    )
    assert places(validation)["MaxCount"] == "docs/one.md:12"
    told = [one for one in validation.findings if one.severity == "info"]
    assert [(one.message, one.place) for one in told] == [
        ("Every page names an author", "docs/one.md:1"),
        ("Every page names an author", "docs/two.md:1"),
    ]


def test_texts_in_shapes_are_those_of_documents() -> None:
    """A list of texts, or a text that must be there, is compared with what documents say."""
    shape = (
        f'ex:A {PAGE} ; sh:property [ sh:path <https://schema.org/name> ; sh:in ("One" "Two") ] .'
        f'ex:B {PAGE} ; sh:property [ sh:path <https://schema.org/name> ; sh:hasValue "One" ] .'
    )
    found = [(one.place, one.constraint) for one in validated(house=shape).findings]
    assert ("docs/one.md:1", "In") not in found
    assert [place for place, constraint in found if constraint == "HasValue"] == ["docs/two.md:2"]


def test_constraints_in_sparql_are_run() -> None:
    """A query of a shape may look at everything in the graph."""
    shape = (
        f'ex:A {PAGE} ; sh:sparql [ sh:message "called {{?n}}" ; sh:select '
        "\"SELECT $this ?n WHERE { $this <https://schema.org/name> ?n . FILTER(?n = 'One') }\" ] ."
    )
    messages = [one.message for one in validated(house=shape).findings]
    assert "called One" in messages


def test_shapes_that_refer_to_each_other_come_to_an_end() -> None:
    """Shapes in a circle are no endless work."""
    shape = f"ex:A {PAGE} ; sh:node ex:B . ex:B a sh:NodeShape ; sh:node ex:A ."
    assert validated(house=shape).count("violation") == 2


def test_endless_work_is_stopped() -> None:
    """A query over all triples, nine times over, ends with the time that it may take."""
    patterns = " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(9))
    query = f"SELECT $this WHERE {{ {patterns} . FILTER(?a0 = $this && ?c8 = 1) }}"
    shape = f'ex:A {PAGE} ; sh:sparql [ sh:select "{query}" ] .'
    with pytest.raises(InputError, match="longer than 2 seconds") as caught:
        validated(house=shape, timeout=2.0)
    assert "--timeout" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (f'ex:A {PAGE} ; sh:sparql [ sh:select "SELECT {{" ] .', "cannot be used"),
        (f"ex:A {PAGE} ; sh:property [ sh:minCount 1 ] .", "a node without a name"),
    ],
)
def test_shapes_that_make_no_sense_are_refused(shape: str, words: str) -> None:
    """What the validator says of them is told, without names that change from run to run."""
    with pytest.raises(InputError, match=words):
        validated(house=shape)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("x <", "house.ttl:1", "invalid Turtle"),
        ("<urn:a> <urn:b> <urn:c> .", "house.ttl", "no shape"),
        (f'{PREFIXES}ex:A {PAGE} ; sh:js [ sh:jsFunctionName "f" ] .', "house.ttl", "JavaScript"),
        (f"{PREFIXES}ex:A {PAGE} ; sh:rule [] .", "house.ttl", "advanced features"),
        (f"{PREFIXES}ex:A {PAGE} ; a <<( ex:a ex:b ex:c )>> .", "house.ttl", "within a triple"),
    ],
)
def test_what_would_be_passed_over_is_refused(text: str, place: str, words: str) -> None:
    """A file that is no Turtle, holds no shape, or needs what is not run says so at once."""
    with pytest.raises(InputError, match=words) as caught:
        check_shapes(text, "house.ttl")
    assert caught.value.place == place


@pytest.mark.parametrize(
    ("shape", "line", "says"),
    [
        (f"ex:A {PAGE} ;\n sh:property [ sh:path ex:p ; sh:mincount 1 ] .", 5, "sh:minCount?"),
        (f"ex:A {PAGE} ; sh:nodeKind\n sh:IriOrLiteral .", 5, "no sh:IriOrLiteral"),
        (f"ex:A {PAGE} ; sh:Foo 1 .", 4, "SHACL has no sh:Foo, so it has no effect"),
        ("ex:A a sh:NodeShape ;\n sh:targetClass <urn:mcpg:vocab:Tol> .", 5, "mean mcpg:Tool?"),
        ("ex:A a sh:NodeShape ; sh:targetNode ex:nothing .", 4, "sh:targetNode <urn:ex:nothing>"),
        ("ex:A a sh:NodeShape ; sh:targetObjectsOf ex:p .", 4, "matches no node"),
        (
            f"{RDFS}ex:A a sh:NodeShape , rdfs:Class ; sh:nodeKind sh:IRI .",
            5,
            "sh:targetClass <urn:ex:A>",
        ),
    ],
)
def test_what_shapes_cannot_mean_is_reported(shape: str, line: int, says: str) -> None:
    """A name that SHACL lacks, and a target that the graph lacks, would check nothing unnoticed."""
    (found,) = validated(**{"house.ttl": f"\n{shape}"}).diagnostics
    assert found.place == f"house.ttl:{line + 1}"
    assert says in found.message


def test_what_shapes_cannot_mean_is_found_in_one_pass() -> None:
    """Names are suggested for the first fifty, however many a file has."""
    targets = " , ".join(f"<urn:mcpg:vocab:toolId{n}>" for n in range(51))
    terms = " ; ".join(f"sh:minCount{n} 1" for n in range(51))
    found = validated(house=f"ex:A a sh:NodeShape ; sh:targetNode {targets} ; {terms} .")
    for kind in ("matches no node", "SHACL has no"):
        told = [one.message for one in found.diagnostics if kind in one.message]
        assert [("did you mean" in one) for one in told] == [True] * 50 + [False]


def test_several_files_describe_one_shape() -> None:
    """A shape is switched off, or made a class, by another file as well."""
    found = validated(
        a="ex:A a sh:NodeShape ; sh:targetClass ex:No . ex:B a sh:NodeShape .",
        b=f"{RDFS}ex:A sh:deactivated true . ex:B a rdfs:Class ; sh:name 'b' .",
    )
    assert [one.message for one in found.diagnostics] == [
        "sh:targetClass <urn:ex:B> matches no node of the graph"
    ]


def test_targets_that_the_graph_has_are_not_reported() -> None:
    """Classes with instances of a subclass, nodes, properties; a shape may be switched off."""
    classes = '{"rdfs:subClassOf": [{id: "https://ex.test/Top"}]}'
    text = "---\nname: one\nsource: s\nrdf_types: ['https://ex.test/Sub']\nabout: [RDF]\n---\n"
    sub = f"---\ntool: false\ncanonical_url: https://ex.test/Sub\nrdf_properties: {classes}\n---\n"
    documents = [SourceDocument(f"{at}.md", one) for at, one in enumerate((text, sub))]
    assembly = assemble(SourceBatch(documents=tuple(documents)))
    node = node_iri(assembly.documents[0].uri)
    shape = (
        f"{PREFIXES}ex:A a sh:NodeShape ; sh:targetClass <https://ex.test/Top> ;"
        f" sh:targetNode <{node}> , 'a' ; sh:targetObjectsOf schema:about ."
        " ex:B a sh:NodeShape ; sh:targetClass ex:None ; sh:deactivated true ."
    )
    found = validate_documents(
        (*assembly.documents, *assembly.pages), originals={}, shapes={"house.ttl": shape}
    )
    assert found.diagnostics == ()


def test_shapes_reach_nothing_on_the_network() -> None:
    """A query that asks another server is refused, and the server hears nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        query = f"SELECT $this WHERE {{ SERVICE <{address}> {{ $this ?p ?o }} }}"
        with pytest.raises(InputError):
            validated(house=f'ex:A {PAGE} ; sh:sparql [ sh:select "{query}" ] .')
        with pytest.raises(TimeoutError):
            server.accept()


def test_the_shipped_shapes_can_be_used() -> None:
    """They pass their own checks, and an empty graph meets them."""
    check_shapes(shipped_shapes(), "shapes.ttl")
    assert validate_data(b"", [shipped_shapes()]) == []


def test_the_work_itself_tells_what_is_wrong() -> None:
    """A result has node, property, value, constraint and the shape's name."""
    data = b'<urn:a> a <https://schema.org/Article> ; <https://schema.org/name> " " .'
    results = sorted(validate_data(data, [shipped_shapes()]))
    assert ("violation", "urn:a", "https://schema.org/name", " ", "Pattern") in [
        (one[0], *one[2:6]) for one in results
    ]
    assert all(one[6].startswith("urn:mcpg:vocab:") for one in results)


@pytest.mark.skipif(sys.platform == "win32", reason="nothing bounds memory there")
def test_memory_is_bounded() -> None:
    """A validation that takes more than its memory, by default 4 GiB, is an error."""
    assert shacl.MEMORY == 4 << 30
    subjects = "".join(f'<urn:x:{n}> <urn:p> "{n:09}" .' for n in range(400_000))
    with pytest.raises(InputError, match=r"more than 0\.0625 GiB of memory"):
        shacl.validate(subjects.encode(), [shipped_shapes()], timeout=60, memory=64 << 20)


def test_without_the_validator_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is an extra, and whoever lacks it learns its name."""
    monkeypatch.setitem(sys.modules, "pyshacl", None)
    with pytest.raises(UsageError, match="not installed") as caught:
        shacl.validate(b"", [shipped_shapes()], timeout=1)
    assert caught.value.remedy == install_command("shacl")


def test_a_severity_of_ones_own_fails() -> None:
    """What is no severity of SHACL counts as a violation, and is not played down."""
    severity = "sh:severity ex:Blocker"
    validation = validated(house=f"ex:A {PAGE} ; {severity} ; sh:closed true .")
    told = [one for one in validation.findings if one.constraint == "Closed"]
    assert told
    assert {one.severity for one in told} == {"violation"}


OWN = "ex:A a sh:NodeShape ; sh:targetClass schema:Article ; sh:closed true .\n"


def imported(folder: Path, **texts: str) -> dict[str, str]:
    """Write files of shapes to *folder*, and return the first with what it imports."""
    for name, text in texts.items():
        (folder / f"{name}.ttl").write_text(PREFIXES + OWL + text, encoding="utf-8")
    first = folder / f"{next(iter(texts))}.ttl"
    return complete_shapes({str(first): first.read_text(encoding="utf-8")})


def test_imports_are_read_from_files(tmp_path: Path) -> None:
    """A file may import another by its address, beside it or in full, and that one further ones."""
    address = (tmp_path / "c.ttl").as_uri()
    found = imported(
        tmp_path,
        a=f"<> owl:imports <b.ttl> .\n{OWN}",
        b=f"<> owl:imports <{address}>, <a.ttl> .",
        c=OWN.replace("ex:A", "ex:C"),
    )
    assert [Path(place).name for place in found] == ["a.ttl", "b.ttl", "c.ttl"]
    assembly = assemble(SourceBatch(documents=(SourceDocument("a.md", FAULTY, place="a.md"),)))
    validation = validate_documents(
        assembly.documents, originals={}, shapes={next(iter(found)): next(iter(found.values()))}
    )
    shapes = {one.shape for one in validation.findings}
    assert shapes >= {"urn:ex:A", "urn:ex:C"}
    assert validation.shapes == tuple(found)


def test_an_import_of_what_is_given_is_met(tmp_path: Path) -> None:
    """The address of an ontology that one of the files holds, or the package, needs no file."""
    (tmp_path / "b.ttl").write_text(
        f"{PREFIXES}{OWL}<https://x.example/b> a owl:Ontology .\n{OWN}", encoding="utf-8"
    )
    second = str(tmp_path / "b.ttl")
    text = f"{PREFIXES}{OWL}<urn:a> owl:imports <https://x.example/b>, <urn:mcpg:vocab:> .\n{OWN}"
    given = {"a.ttl": text, second: (tmp_path / "b.ttl").read_text(encoding="utf-8")}
    assert complete_shapes(given) == given


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("<https://x.example/shapes>", "reads nothing from the network"),
        ("<file://host.example/shapes.ttl>", "reads nothing from the network"),
        ("<urn:other>", "reads nothing from the network"),
        ("<gone.ttl>", "no such file"),
        ("<.>", "is a folder"),
        ("<a%00b.ttl>", "not the address of a file"),
        ('"b.ttl"', "names no address"),
    ],
)
def test_an_import_that_cannot_be_had_is_refused(tmp_path: Path, address: str, reason: str) -> None:
    """Shapes that rest on others are not checked without these in silence."""
    with pytest.raises(InputError, match=reason) as caught:
        imported(tmp_path, a=f"<> owl:imports {address} .\n{OWN}")
    assert caught.value.place == str(tmp_path / "a.ttl")


def test_what_is_imported_is_checked_too(tmp_path: Path) -> None:
    """A file that is imported may need nothing that is not supported, and must be Turtle."""
    for text, reason in (("ex:A sh:rule ex:R .", "advanced features"), ("ex:A", "invalid Turtle")):
        with pytest.raises(InputError, match=reason) as caught:
            imported(tmp_path, a=f"<> owl:imports <b.ttl> .\n{OWN}", b=text)
        assert str(caught.value.place).startswith(str(tmp_path / "b.ttl"))
