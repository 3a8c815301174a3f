"""The options that concern routing."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Preferred(StrEnum):
    """Which kind of tool to prefer."""

    READ_ONLY = "read-only"
    WRITE = "write"
    NONE = "none"


Prefer = Annotated[
    Preferred | None,
    typer.Option(
        "--prefer",
        metavar="read-only|write|none",
        show_default=False,
        help="Prefer tools that read, tools that write, or neither. Otherwise the words of the "
        "query decide, by the tools of the catalogue that they stand in.",
    ),
]
