"""What `login` and `logout` are told."""

from __future__ import annotations

from typing import Annotated

import typer

LoginServer = Annotated[
    str,
    typer.Argument(
        metavar="SERVER",
        help="Its address, or what it is called in CONFIG or in [[sources]] of mcpg.toml.",
    ),
]
LoginConfiguration = Annotated[
    str | None,
    typer.Argument(
        metavar="CONFIG",
        show_default=False,
        help="The configuration file of a client that names the server.",
    ),
]
