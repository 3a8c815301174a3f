"""PostgreSQL with pgvector, shared by many replicas: catalogs, vectors, caches, candidates, locks.

Needs the extra `postgres`; without it, every import from here raises a `PostgresError` that
names the missing package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mcpg.errors import PostgresError
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from typing import Any

    from mcpg.postgres.catalog_engine import PublishedEngine
    from mcpg.postgres.catalogs import Publication, publish_catalog
    from mcpg.postgres.connection import Database, PostgresSettings, building, parse_option_names
    from mcpg.postgres.stores import PostgresCache, PostgresCandidates, PostgresStore, PublishedTool

__all__ = [
    "Database",
    "PostgresCache",
    "PostgresCandidates",
    "PostgresError",
    "PostgresSettings",
    "PostgresStore",
    "Publication",
    "PublishedEngine",
    "PublishedTool",
    "building",
    "parse_option_names",
    "publish_catalog",
]

_MODULES = (
    "mcpg.postgres.connection",
    "mcpg.postgres.stores",
    "mcpg.postgres.catalogs",
    "mcpg.postgres.catalog_engine",
)


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that commands are known without the extra."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        modules = [import_module(module) for module in _MODULES]
    except ModuleNotFoundError as missing:
        raise PostgresError(
            f"PostgreSQL needs the package {missing.name!r}, which is not installed",
            remedy=install_command("postgres"),
        ) from missing
    return next(vars(module)[name] for module in modules if name in vars(module))
