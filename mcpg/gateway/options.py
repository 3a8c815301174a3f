"""The options of a gateway, and what a client's configuration states of them."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias, TypedDict

from mcpg.errors import Diagnostic, UsageError, check_kind, wrong_type
from mcpg.gateway.calls import CallRecorder, Limits
from mcpg.gateway.registry import (
    CustomDocuments,
    DocumentSource,
    GeneratedDocuments,
    ReviewedDocuments,
)
from mcpg.review.lock_sources import ToolLock
from mcpg.search.observer import Observer
from mcpg.search.results import EngineServices
from mcpg.sources.client_config import ServerAccess
from mcpg.sources.model import read_text
from mcpg.sources.registry import Source, SourceCollector

ConfigurationLike: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""A client's configuration: its path, or its object."""


class GatewayOptions(TypedDict, total=False):
    """The keyword arguments of `Gateway`, all of them optional."""

    graph: DocumentSource | str | os.PathLike[str]
    lock: ToolLock | str | os.PathLike[str] | None
    live: ServerAccess | None
    reserved: Collection[str]
    limit: int
    services: EngineServices
    observer: Observer | None
    limits: Limits | None
    cache_dir: str | None
    diagnostics: Iterable[Diagnostic]
    left_out: Collection[str]
    record_calls: str | os.PathLike[str] | CallRecorder | None


_GIVEN = "the configuration"


def read_configuration(
    configuration: ConfigurationLike, options: GatewayOptions
) -> tuple[tuple[Source, ...], GatewayOptions]:
    """Return the sources and the options of a gateway for a client's *configuration*.

    The diagnostics of the configuration are added to the *options*.

    Raises:
        NotFoundError: The file does not exist.
        SourceError: It is not a configuration of a client.
        UsageError: It is neither a path nor a JSON object, or an option has the wrong type.
    """
    noticed, live = options.get("diagnostics", ()), options.get("live")
    check_kind("diagnostics", noticed, (Iterable,))
    check_kind("live", live, (ServerAccess, NoneType))
    if isinstance(configuration, Mapping):
        try:
            text, place = json.dumps(dict(configuration)), _GIVEN
        except (TypeError, ValueError, RecursionError) as fault:
            remedy = 'pass {"mcpServers": {...}} or a path'
            raise UsageError("is not JSON", place=_GIVEN, remedy=remedy) from fault
    elif isinstance(configuration, str | os.PathLike):
        place = os.fspath(configuration)
        text = read_text(Path(place), place)
    else:
        raise wrong_type("configuration", configuration, "a path or a JSON object")
    opening = SourceCollector(live or ServerAccess(os.environ))
    opening.configuration(text, place)
    return opening.sources, {**options, "diagnostics": (*noticed, *opening.diagnostics)}


_KINDS: dict[str, tuple[type, ...]] = {
    "graph": (GeneratedDocuments, ReviewedDocuments, CustomDocuments),
    "lock": (ToolLock, NoneType),
    "live": (ServerAccess, NoneType),
    "services": (EngineServices,),
    "limits": (Limits, NoneType),
    "cache_dir": (str, NoneType),
    "diagnostics": (Iterable,),
    "record_calls": (str, PathLike, CallRecorder, NoneType),
}


def check_options(**options: object) -> None:
    """Check the kinds of *options*, by name; raises `UsageError`."""
    for name, given in options.items():
        check_kind(name, given, _KINDS[name])
