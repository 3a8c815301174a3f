from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

pytestmark = pytest.mark.usefixtures("graph")

RULE = """@prefix sh: <http://www.w3.org/ns/shacl#> .
<urn:a> a sh:NodeShape ; sh:targetClass <urn:mcpg:vocab:Tool> ;
    sh:property [ sh:path <https://schema.org/author> ; sh:minCount 1 ; sh:severity sh:Warning ] .
"""
PAGE = "---\nsource: s\nsummary: A page.\ndate_published: soon\ngraph_groups: []\n---\n"


def test_good_tools_have_no_findings(run: Callable[..., Run]) -> None:
    """The tools of the example meet the shapes that come with mcpg."""
    done = run("graph", "validate")

    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("triples: 0 violations, 0 warnings\n")


def test_a_violation_fails_with_file_and_line(run: Callable[..., Run], folder: Path) -> None:
    """A violation exits 1; text and JSON name the line, from a folder and from a bundle."""
    (folder / "pages").mkdir()
    (folder / "pages/x\x1b[2J.md").write_text(PAGE, encoding="utf-8")
    done = run("graph", "validate", "-b", "pages")
    assert done.code == 1
    assert ".md:4: violation[Datatype]: `date_published` is not a date" in done.out
    assert "\x1b" not in done.out

    (folder / "pages/x\x1b[2J.md").rename(folder / "pages/x.md")
    report = run("graph", "validate", "-b", "pages", "--format", "json").json
    assert report["schema"] == "mcpg/graph-validate/1"
    assert (report["conforms"], report["violations"], report["documents"]) == (False, 1, 1)
    (finding,) = report["findings"]
    assert (finding["place"], finding["value"]) == ("pages/x.md:4", "soon")
    assert finding["path"] == "https://schema.org/datePublished"

    assert run("bundle", "pages", "-o", "pages.mdld").code == 0
    report = run("graph", "validate", "-b", "pages.mdld", "--format", "json").json
    assert report["findings"][0]["place"].endswith(":4")


def test_warnings_fail_where_it_is_strict(run: Callable[..., Run], folder: Path) -> None:
    """Rules of one's own count as well; a warning is no failure without --strict."""
    (folder / "rule.ttl").write_text(RULE, encoding="utf-8")
    assert run("graph", "validate", "--shapes", "rule.ttl").code == 0
    done = run("graph", "validate", "--shapes", "rule.ttl", "--strict")
    assert done.code == 1
    assert "0 violations, 4 warnings" in done.out


@pytest.mark.parametrize(
    ("stated", "code"),
    [
        (
            "sh:targetClass mcpg:Tool ; sh:property [ sh:path mcpg:x ; sh:maxcount 1 ]",
            "term_unknown",
        ),
        ("sh:targetClass mcpg:Tol", "target_empty"),
    ],
)
def test_slips_in_shapes_fail_under_strict(
    graph: Path, run: Callable[..., Run], stated: str, code: str
) -> None:
    """What would check nothing is a warning with its line, for which --strict exits 1."""
    prefixes = "@prefix sh: <http://www.w3.org/ns/shacl#> .\n@prefix mcpg: <urn:mcpg:vocab:> .\n"
    graph.with_name("rule.ttl").write_text(
        f"{prefixes}<urn:S> a sh:NodeShape ; {stated} .", "utf-8"
    )
    done = run("graph", "validate", "--shapes", "rule.ttl")
    assert done.code == 0
    assert f"warning[shape_{code}]" in done.err
    assert "(rule.ttl:3)" in done.err
    assert run("graph", "validate", "--shapes", "rule.ttl", "--strict").code == 1


def test_rules_that_cannot_be_used_are_named(run: Callable[..., Run], folder: Path) -> None:
    """The message names the file and the line."""
    (folder / "rule.ttl").write_text("\n\nno turtle <", encoding="utf-8")
    done = run("graph", "validate", "--shapes", "rule.ttl")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: rule.ttl:3: invalid Turtle")
    assert run("graph", "validate", "--shapes", "gone.ttl").code == 2


def test_the_graph_is_counted(run: Callable[..., Run]) -> None:
    """Text and JSON give the same figures, from a bundle as from its sources."""
    found = run("graph", "stats", "--format", "json").json
    assert found["schema"] == "mcpg/graph-stats/1"
    assert (found["tools"], found["danglingEdges"], found["orphans"]) == (4, 0, [])
    assert [edges["kind"] for edges in found["edges"]] == ["related", "nextStep"]
    assert sum(found["components"]["sizes"]) == 4
    assert 0 < len(found["hubs"]) <= 4
    text = run("graph", "stats").out
    assert " ".join(text.split()).startswith("tools 4 of ")
    assert found["hubs"][0]["toolId"] in text
    assert run("graph", "stats", "-b", "tools").out == text


def test_a_graph_of_loose_ends_is_shown(run: Callable[..., Run], folder: Path) -> None:
    """Tools without an edge are named, the first ten of many, and edges that lead nowhere told."""
    (folder / "loose").mkdir()
    for number in range(12):
        page = f"---\nname: t{number:02}\nsource: s\ngraph_related: [gone]\n---\nText.\n"
        (folder / f"loose/{number:02}.md").write_text(page, encoding="utf-8")
    text = " ".join(run("graph", "stats", "-b", "loose", "--quiet").out.split())
    assert "tools without an edge 12: t00, t01," in text
    assert "t09 and 2 more" in text
    assert "dangling 12 to tools that are not here" in text
    assert "connected components 0 " in text
    assert "hubs" not in text


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e300", "0"])
def test_a_time_limit_makes_sense(run: Callable[..., Run], seconds: str) -> None:
    """A number of seconds that no clock counts is refused with the name of the option."""
    done = run("graph", "validate", "--timeout", seconds)
    assert done.code == 2
    assert "--timeout needs a number" in done.err
