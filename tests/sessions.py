"""Replays the sessions that pages of the documentation show.

A page works on a copy of `examples/`. Its blocks mean, in order:

- `console`: each line `$ mcpg ...`, `$ ls ...` or `$ echo $?` is run, and what follows is its
  output on a terminal of 100 columns without colors, standard error where it is printed; a last
  line `...` says that the output is cut there. Other commands are left alone.
- `yaml`, `markdown` or `turtle` after a paragraph that names a file in back-ticks and ends in a
  colon: the file is written.
- `python`, then `text`: the program is run, and the text is its output.

`python tests/sessions.py PAGE...` writes the outputs of today into the pages.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from mcpg.cli import main

ROOT = Path(__file__).parent.parent
CUT = "..."
_FILES = ("yaml", "markdown", "turtle")
_BLOCK = re.compile(
    rf"^(`{{3,4}})(console|python|text|{'|'.join(_FILES)})\n(.*?)^\1$", re.MULTILINE | re.DOTALL
)
_NAMED_FILE = re.compile(r"`([\w./-]+)`[^`]*:\n\n\Z")
_SETTINGS = ("MCPG_", "NO_COLOR", "FORCE_COLOR", "PYTHON", "COLUMNS")


class Terminal(io.TextIOWrapper):
    """A stream that somebody seems to look at."""

    def isatty(self) -> bool:
        """Return that it is a terminal."""
        return True


class Session:
    """A shell and an editor in a copy of the examples."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.code = 0
        self.printed: str | None = None
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_SETTINGS)}
        self.environment = kept | {
            "PYTHONPATH": str(ROOT),
            "PYTHONIOENCODING": "utf-8",
            "MCPG_CACHE_DIR": str(folder.with_name("cache")),
        }
        self.terminal = self.environment | {"NO_COLOR": "1", "COLUMNS": "100"}

    def replay(self, page: str) -> str:
        """Give *page* with the outputs that its commands really have."""
        return _BLOCK.sub(lambda block: self._block(block, page[: block.start()]), page)

    def _block(self, block: re.Match[str], before: str) -> str:
        fence, language, text = block.groups()
        named = _NAMED_FILE.search(before)
        if language == "console":
            text = self._console(text)
        elif language in _FILES and named:
            target = self.folder / named[1]
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")
        elif language == "python":
            self.printed = self._python(text)
        elif language == "text" and self.printed is not None:
            text, self.printed = self.printed, None
        return f"{fence}{language}\n{text}{fence}"

    def _console(self, text: str) -> str:
        entries = re.split(r"^(?=\$ )", text, flags=re.MULTILINE)
        return "".join(self._entry(entry) for entry in entries if entry)

    def _entry(self, entry: str) -> str:
        command, _, shown = entry.partition("\n")
        words = shlex.split(command.removeprefix("$ "))
        if words[0] == "mcpg":
            output = self._mcpg(words[1:])
        elif words[0] == "ls":
            output = "".join(
                f"{path.name}\n" for path in sorted(self.folder.glob(f"{words[-1]}/*"))
            )
        elif words == ["echo", "$?"]:
            output = f"{self.code}\n"
        else:
            return entry
        return f"{command}\n{_cut(output, shown)}"

    def _mcpg(self, arguments: list[str]) -> str:
        # In this process, for a page has dozens of commands and each start takes half a second.
        # Both streams go to one place, as on a terminal: each line is where it is printed.
        shown = io.BytesIO()
        kinds = (Terminal, io.TextIOWrapper)
        streams = [kind(shown, "utf-8", newline="", write_through=True) for kind in kinds]
        with (
            redirect_stdout(streams[0]),
            redirect_stderr(streams[1]),
            patch.dict(os.environ, self.terminal, clear=True),
            patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())),
            chdir(self.folder),
        ):
            self.code = main(arguments)
        return shown.getvalue().decode("utf-8")

    def _python(self, program: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        if "Traceback (most recent call last)" in done.stdout:
            raise RuntimeError(f"the program broke: {done.stdout}")
        self.code = done.returncode
        return done.stdout


def replayed(page: str) -> str:
    """Give *page* with the outputs that its commands really have, in a fresh copy of examples."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "examples")
        shutil.copytree(ROOT / "examples", copy, ignore=shutil.ignore_patterns("graph.mdld*"))
        return Session(copy).replay(page)


def _cut(output: str, shown: str) -> str:
    lines = shown.splitlines()
    if CUT not in lines[-1:]:
        return output
    return "".join(output.splitlines(keepends=True)[: len(lines) - 1]) + f"{CUT}\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(replayed(path.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
