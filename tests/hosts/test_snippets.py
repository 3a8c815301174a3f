"""Every Python program in the documentation runs, and a type checker has nothing to say of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md"])
BLOCK = re.compile(r"^```python\n(.*?)^```(?:\n\n```output\n(.*?)^```)?", re.MULTILINE | re.DOTALL)

# What the programs of a page take from the reader.
GIVEN = {
    "docs/explanation/related-words.md": "import mcpg\nengine = mcpg.load('graph.mdld')\n",
    "docs/how-to/rewrite.md": "def my_function(query: str) -> str:\n    return query\n",
    "docs/how-to/postgres.md": "dsn = 'postgresql://127.0.0.1:1/none'\n",
}
# Short examples have few types of their own, and know what they find.
UNTYPED = (
    "disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False, "
    "disable-error-code=union-attr"
)
CONTINUED = {"docs/reference/embedding-models.md"}


def name_of(page: Path) -> str:
    """Return the path of *page* in the tree."""
    return page.relative_to(ROOT).as_posix()


BLOCKS = {name_of(page): BLOCK.findall(page.read_text("utf-8")) for page in PAGES}
PROGRAMS = {
    name: [GIVEN.get(name, ""), *(program for program, _ in blocks)]
    for name, blocks in BLOCKS.items()
    if blocks
}
RUN = [name for name, blocks in BLOCKS.items() if not all(output for _, output in blocks)]
SHOWN = [(name, *block) for name, blocks in BLOCKS.items() for block in blocks if block[1]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples, with the bundles that the pages name."""
    copy = tmp_path_factory.mktemp("pages")
    shutil.copytree(ROOT / "examples", copy, dirs_exist_ok=True)
    (copy / "src").mkdir()
    (copy / "src/users.py").write_text("class UserService:\n    pass\n", "utf-8")
    (copy / "api").mkdir()
    page = (ROOT / "docs/how-to/openapi.md").read_text("utf-8")
    document = page.partition("```yaml\n")[2].partition("```\n")[0]
    (copy / "api/parcels.yaml").write_text(document, "utf-8")
    parts = [[f"tools/{part}.json", "-o", f"{part}.mdld"] for part in ("commerce", "workspace")]
    for words in (["tools", "-o", "graph.mdld"], ["code:src", "-o", "app.mdld"], *parts):
        command = [sys.executable, "-m", "mcpg", "bundle", *words]
        subprocess.run(command, cwd=copy, check=True, capture_output=True)
    return copy


def ran(program: str, folder: Path) -> tuple[str, str]:
    """Run *program* in a copy of *folder*, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stderr, done.stdout


@pytest.mark.untraced
@pytest.mark.parametrize("name", RUN)
def test_the_programs_of_a_page_run(name: str, folder: Path) -> None:
    """The blocks of a page run one after the other."""
    errors, _ = ran("\n".join(PROGRAMS[name]), folder)
    assert errors == ""


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("name", "program", "output"),
    SHOWN,
    ids=[f"{name}-{place}" for place, (name, *_) in enumerate(SHOWN)],
)
def test_a_program_prints_what_its_page_says(
    name: str, program: str, output: str, folder: Path
) -> None:
    """A program with an output below it runs by itself, and prints just that."""
    assert ran(program, folder) == ("", output), name


@pytest.mark.untraced
def test_a_type_checker_finds_nothing(tmp_path: Path) -> None:
    """Names, arguments and values in the pages are those that the types declare."""
    files = []
    for name, blocks in PROGRAMS.items():
        page = re.sub(r"\W", "_", name)
        for place, block in enumerate(blocks[1:]):
            # The second block of a page may go on from the first.
            before = "".join(blocks[: place + 1]) if name in CONTINUED else blocks[0]
            path = tmp_path / f"{page}_{place}.py"
            path.write_text(f"# mypy: {UNTYPED}\n{before}{block}", "utf-8")
            files.append(path)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("Success"), done.stdout
