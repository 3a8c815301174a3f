"""The options of a gateway, and the gateway of a client's configuration."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias, TypedDict

from mcpg.errors import Diagnostic, UsageError, check_kind, wrong_type
from mcpg.gateway.calls import CallRecorder, Limits
from mcpg.gateway.registry import GraphSource
from mcpg.review.live_tools import ToolLock
from mcpg.search.observer import Observer
from mcpg.search.results import EngineServices
from mcpg.sources.arguments import SourceCollector
from mcpg.sources.client_config import Live
from mcpg.sources.model import read_text
from mcpg.sources.registry import Source

ConfigurationLike: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""A client's configuration: its path, or the object that it holds."""


class GatewayOptions(TypedDict, total=False):
    """The keyword arguments of `Gateway`, all of them optional."""

    graph: GraphSource | str | os.PathLike[str]
    lock: ToolLock | str | os.PathLike[str] | None
    live: Live | None
    reserved: Collection[str]
    limit: int
    services: EngineServices
    observer: Observer | None
    limits: Limits | None
    cache_dir: str | None
    diagnostics: Iterable[Diagnostic]
    record_calls: str | os.PathLike[str] | CallRecorder | None


_GIVEN = "the configuration"


def read_configuration(
    configuration: ConfigurationLike, options: GatewayOptions
) -> tuple[tuple[Source, ...], GatewayOptions]:
    """Return the sources and the options of a gateway for a client's *configuration*.

    Args:
        configuration: Its path, or the object that it holds.
        options: Options, to which the diagnostics of the configuration are added.

    Raises:
        NotFoundError: There is no such file.
        SourceError: It is no configuration of a client.
        UsageError: It is neither a path nor a JSON object, or an option has the wrong type.
    """
    noticed, live = options.get("diagnostics", ()), options.get("live")
    check_kind("diagnostics", noticed, (Iterable,))
    check_kind("live", live, (Live, NoneType))
    if isinstance(configuration, Mapping):
        try:
            text, place = json.dumps(dict(configuration)), _GIVEN
        except (TypeError, ValueError, RecursionError) as fault:
            remedy = 'pass {"mcpServers": {...}} or a path'
            raise UsageError("is no JSON", place=_GIVEN, remedy=remedy) from fault
    elif isinstance(configuration, str | os.PathLike):
        place = os.fspath(configuration)
        text = read_text(Path(place), place)
    else:
        raise wrong_type("configuration", configuration, "a path or a JSON object")
    opening = SourceCollector(live or Live(os.environ))
    opening.configuration(text, place)
    return opening.sources, {**options, "diagnostics": (*noticed, *opening.diagnostics)}
