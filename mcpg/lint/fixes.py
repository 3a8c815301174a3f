"""Safe fixes: edits of files that change no word of what they say.

What nobody sees is removed from any file, for nothing is lost by that. Bundles are never edited:
they are built again.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from mcpg.errors import OutputError
from mcpg.files import MAX_BYTES, atomic_write, read_bytes
from mcpg.lint.hidden import unseen
from mcpg.lint.locate import Locator, split_place
from mcpg.lint.model import Finding
from mcpg.values import replace, value

_BUNDLED = re.compile(r"documents\[\d+\]")


@value
class FileFix:
    """The fixed text of a file.

    Attributes:
        path: The file.
        before: Its text as it is.
        after: Its text after the fix.
        count: How many places are fixed.
    """

    path: str
    before: str
    after: str
    count: int

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            f"{self.path} (now)",
            f"{self.path} (fixed)",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def write(self) -> None:
        """Write the file, if it is still what it was.

        Raises:
            OutputError: It has changed, or cannot be written.
        """
        data = read_bytes(self.path, MAX_BYTES)
        mark = data[:3] if data.startswith(b"\xef\xbb\xbf") else b""
        if data != mark + self.before.encode("utf-8"):
            raise OutputError(
                "the file has changed since it was read, or is not UTF-8",
                place=self.path,
                remedy="run the command again",
            )
        atomic_write(Path(self.path), mark + self.after.encode("utf-8"), special=False)


def fixes(findings: Iterable[Finding], locator: Locator) -> list[FileFix]:
    """Return the fixed files of those *findings* that can be fixed."""
    edits: defaultdict[str, dict[tuple[int, int], str]] = defaultdict(dict)
    for one in findings:
        if one.is_fixable:
            for path, span, text in _edits(one, locator):
                edits[path][span] = text
    return [fix for path, spans in sorted(edits.items()) if (fix := _fixed(path, spans, locator))]


def _edits(one: Finding, locator: Locator) -> Iterable[tuple[str, tuple[int, int], str]]:
    """Yield the file, the range and the new text of each edit that fixes a finding."""
    _, inner = split_place(one.spot.place)
    if _BUNDLED.fullmatch(inner):
        return
    for start, end in unseen(one.spot.text):
        spot = replace(one.spot, start=start, size=end - start)
        found = locator.range_of(spot)
        if found is None:
            continue
        path, *span = found
        text = locator.text(path)
        wanted = one.spot.text[start:end]
        raw = text.text[span[0] : span[1]] if text else ""
        if raw == wanted or (raw.startswith("\\") and _unescaped(raw) == wanted):
            yield path, (span[0], span[1]), ""


def _unescaped(raw: str) -> str:
    try:
        return (
            raw.encode("ascii")
            .decode("unicode-escape")
            .encode("utf-16", "surrogatepass")
            .decode("utf-16")
        )
    except UnicodeError:
        return ""


def _fixed(path: str, spans: Mapping[tuple[int, int], str], locator: Locator) -> FileFix | None:
    text = locator.text(path)
    if text is None:
        return None
    parts: list[str] = []
    end = 0
    for (start, stop), new in sorted(spans.items()):
        if start >= end:
            parts += (text.text[end:start], new)
            end = stop
    return FileFix(path, text.text, "".join((*parts, text.text[end:])), len(spans))
