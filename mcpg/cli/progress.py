"""What goes on, shown on a terminal for as long as it lasts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from mcpg.cli.terminal import is_terminal

if TYPE_CHECKING:
    from rich.status import Status


def progress(what: str, *, quiet: bool, colored: bool) -> AbstractContextManager[Status | None]:
    """Show *what* goes on for as long as the block runs; only on a terminal, unless *quiet*."""
    if quiet or not is_terminal(sys.stderr):
        return nullcontext()
    from rich.console import Console  # noqa: PLC0415 - rich only where somebody looks
    from rich.text import Text  # noqa: PLC0415 - as above

    # As a text, since rich reads markup in what is a mere string.
    return Console(stderr=True, no_color=not colored).status(Text(f"{what}..."))


@contextmanager
def counting(what: str, *, quiet: bool, colored: bool) -> Iterator[Callable[[int, int], None]]:
    """Show *what* goes on as `progress` does, and give what shows how many of how many."""
    with progress(what, quiet=quiet, colored=colored) as shown:

        def tell(done: int, of: int) -> None:
            if shown is not None:
                from rich.text import Text  # noqa: PLC0415 - as above

                shown.update(Text(f"{what} {done:,} of {of:,}..."))

        yield tell
