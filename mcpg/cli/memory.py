"""What building remembers from one run to the next, in the user's cache folder."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mcpg.cli.cachefolder import cache_folder
from mcpg.errors import OutputError
from mcpg.index.file import cached_path
from mcpg.memo import KeptMemo, Memo, load_memo, save_memo

if TYPE_CHECKING:
    from mcpg.catalog.sources import SourceBatch

SUFFIX = ".memo"
MOST_FILES = 16
"""How many outputs are remembered, those that were built last."""

# Fewer tools are put together in the time that it takes to remember them.
_FEWEST_TOOLS = 200


class Memory:
    """What is remembered of the way to one output, a bundle or a folder of documents.

    Attributes:
        memo: What is known; nothing until `open` has found that it pays, and where there is no
            cache folder.
    """

    def __init__(self, target: str | None) -> None:
        """Remember for the output at *target*, `None` for one that has no name."""
        folder = cache_folder() if target else None
        self._path = Path(cached_path(target, folder, SUFFIX)) if target and folder else None
        self.memo = Memo()

    def open(self, batch: SourceBatch) -> Memo:
        """Look up what is known, if what the sources hold is much."""
        many = len(batch.tools) + len(batch.documents) >= _FEWEST_TOOLS
        if self._path and (many or batch.bundles):
            self.memo = load_memo(self._path)
        return self.memo

    def keep(self) -> None:
        """Write down what is known now; where that cannot be done it is forgotten."""
        if self._path and isinstance(self.memo, KeptMemo):
            with suppress(OutputError, OSError):
                save_memo(self._path, self.memo)
                _drop_oldest(self._path.parent)


def _drop_oldest(folder: Path) -> None:
    files = sorted(folder.glob(f"*{SUFFIX}"), key=lambda file: file.stat().st_mtime_ns)
    for file in files[:-MOST_FILES]:
        file.unlink(missing_ok=True)
