"""The documentation keeps its promises."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import shlex
from pathlib import Path

import pytest
from sessions import replayed
from typer.main import get_command

from mcpg.bundle.codec import decode_bundle
from mcpg.catalog.model import SourceDocument
from mcpg.cli.app import app
from mcpg.documents.reader import parse_document
from mcpg.errors import BundleError
from mcpg.files import MAX_BYTES

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def links_in(page: Path) -> list[str]:
    """Return the targets of the links in *page*; what stands in code is shown, not linked."""
    text = re.sub(r"^(`{3,4}).*?^\1$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return LINK.findall(re.sub(r"`[^`\n]*`", "", text))


def anchors(page: Path) -> set[str]:
    """Name the places in *page* that a link can lead to."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """Every relative link names a file, and every anchor a heading in it."""
    for link in links_in(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_reached_from_the_index() -> None:
    """A reader who starts at the index finds every page of the documentation."""
    reached = {ROOT / "docs/README.md"}
    waiting = list(reached)
    while waiting:
        page = waiting.pop()
        for link in links_in(page):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.is_file() and target not in reached:
                reached.add(target)
                waiting.append(target)
    assert set(ROOT.glob("docs/**/*.md")) <= reached


def commands_in(page: Path) -> list[str]:
    """Return the calls of the program that *page* shows in blocks of code."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:console|sh|yaml)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [
        found
        for block in blocks
        for found in re.findall(
            r"^(?:\$ |.*\| |\s*(?:- run|entry): )?mcpg (.+)$", block, re.MULTILINE
        )
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_that_are_shown_exist(page: Path) -> None:
    """Every command line in a page names a command and options that the program has."""
    program = get_command(app)
    top = program.context_class(program, info_name="mcpg")
    for line in commands_in(page):
        words = shlex.split(line, comments=True)
        if words[0].startswith("-"):
            # Parsed only: an eager option would act at once.
            program.make_parser(top).parse_args(words)
        elif words[0] != "COMMAND":
            name, command, arguments = program.resolve_command(top, words)
            context = command.context_class(command, info_name=name)
            while hasattr(command, "commands") and not arguments[0].startswith("-"):
                name, command, arguments = command.resolve_command(context, arguments)
                context = command.context_class(command, info_name=name)
            command.make_parser(context).parse_args(arguments)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_shows_a_place_on_somebodys_machine(page: Path) -> None:
    """What a session printed about its own folders does not get into a page."""
    assert re.findall(r"/(?:tmp|home|Users|private)/\S+", page.read_text(encoding="utf-8")) == []


PATH = re.compile(r"`((?:benchmarks|docs|examples|mcpg|tests)/[\w./-]+)`")


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/explanation/architecture.md"])
def test_paths_that_are_named_exist(name: str) -> None:
    """Contributors find every file and folder that these pages name."""
    paths = set(PATH.findall((ROOT / name).read_text(encoding="utf-8")))
    assert len(paths) > 10
    assert {path for path in paths if not (ROOT / path).exists()} == set()


def test_files_that_are_named_exist() -> None:
    """Every script and data file of ours in a page is there."""
    script = re.compile(r"\b(?:benchmarks|mcpg|tests)/[\w/]+\.(?:py|json|jsonld|ttl)\b")
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]
    named = {path for page in pages for path in script.findall(page.read_text(encoding="utf-8"))}
    assert {path for path in named if not (ROOT / path).is_file()} == set()


def imports_in(page: Path) -> set[tuple[str, str]]:
    """Return the names that Python code in *page* imports from mcpg, each with its module."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    nodes = [node for block in blocks for node in ast.walk(ast.parse(block))]
    return {
        (node.module, alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "mcpg"
        for alias in node.names
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_names_that_are_imported_exist(page: Path) -> None:
    """Python code in a page imports names that mcpg has, and prose names modules that it has."""
    for module, name in imports_in(page):
        assert hasattr(importlib.import_module(module), name), f"{module}.{name}"
    folders = "|".join(path.parent.name for path in ROOT.glob("mcpg/*/__init__.py"))
    dotted = re.findall(rf"`mcpg\.((?:{folders})\.[a-z_.]+)\b", page.read_text(encoding="utf-8"))
    if page.name not in {"telemetry.md", "CHANGELOG.md"}:
        for path in dotted:
            assert pkgutil.resolve_name(f"mcpg.{path.rstrip('.')}")


def test_commands_are_found_in_pages() -> None:
    """The test above sees what a reader sees."""
    assert sum(len(commands_in(page)) for page in PAGES) > 20


def build_bundle(*documents: object, **members: object) -> str:
    """Write a bundle file as another program would."""
    return json.dumps({"version": 1, "documents": documents} | members)


def document(**members: object) -> dict[str, object]:
    """Make a document of a bundle file."""
    return {"path": "x.md", "content": "text", "canonicalUri": None} | members


REFUSED = {
    "empty": "",
    "cut short": build_bundle(document())[:-20],
    "broken bytes": b'{"version":1,"documents":[\xff]}',
    "not JSON": "nothing",
    "no number": '{"version": NaN}',
    "no object": "[]",
    "null": "null",
    "nesting": "[" * 100_000,
    "no version": "{}",
    "version of another type": '{"version": "one"}',
    "newer": build_bundle(version=2),
    "older": build_bundle(version=0),
    "no documents": '{"version": 1}',
    "null documents": build_bundle(documents=None),
    "documents of another type": build_bundle(documents={}),
    "document of another type": build_bundle(1),
    "path of another type": build_bundle(document(path=1)),
    "blank path": build_bundle(document(path=" ")),
    "climbing path": build_bundle(document(path="../x.md")),
    "drive": build_bundle(document(path="C:/x.md")),
    "control character": build_bundle(document(path="x\t.md")),
    "blank content": build_bundle(document(content=" ")),
    "relative URI": build_bundle(document(canonicalUri="tools/x")),
    "surrogate": build_bundle(document(content="\ud800")),
    "one path twice": build_bundle(document(path="a.md"), document(path="A.md")),
    "extension of another type": build_bundle(mcpg=1),
    "edited": build_bundle(mcpg={"contentHash": "sha256:0"}),
}


def test_the_table_of_refusals_is_the_programs() -> None:
    """Every message in the reference is one that the program gives, and the other way round."""
    page = (ROOT / "docs/reference/bundle-format.md").read_text(encoding="utf-8")
    table = page.partition("## Refusals")[2]
    patterns = {
        re.escape(cell).replace(r"\.\.\.", ".*")
        for cell in re.findall(r"\| `([^`]+)` \|$", table, re.MULTILINE)
    }
    used = {re.escape(f"is bigger than {MAX_BYTES // 1024**3} GB")}
    for name, content in REFUSED.items():
        with pytest.raises(BundleError) as refusal:
            decode_bundle(content, "graph.mdld")
        matching = {p for p in patterns if re.fullmatch(p, refusal.value.message)}
        assert matching, f"{name}: {refusal.value.message}"
        used |= matching
    assert patterns == used


@pytest.mark.parametrize("position", [0, 1], ids=["by hand", "generated"])
def test_the_documents_in_the_reference_are_read_without_a_remark(position: int) -> None:
    """What the reference shows as a document is one, hand-written and generated."""
    page = (ROOT / "docs/reference/document-format.md").read_text(encoding="utf-8")
    shown = re.findall(r"^(`{3,4})markdown\n(.*?)^\1$", page, re.MULTILINE | re.DOTALL)
    document, noticed = parse_document(SourceDocument("page.md", shown[position][1]))
    assert noticed == ()
    assert document.links
    assert document.body.startswith(("Follow this page", "Whatever a person wrote"))


PAGES_THAT_ARE_REPLAYED = [
    page.relative_to(ROOT).as_posix()
    for page in PAGES
    if re.search(r"^`{3,4}console$", page.read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.untraced
@pytest.mark.parametrize("name", PAGES_THAT_ARE_REPLAYED)
def test_a_session_shows_what_really_happens(name: str) -> None:
    """Every output in the page is today's; `python tests/sessions.py PAGE...` renews them."""
    page = (ROOT / name).read_text(encoding="utf-8")
    assert replayed(page) == page
