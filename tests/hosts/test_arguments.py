"""Arguments that are not what they should be, in every face of the engine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import anyio
import pytest
from builders import make_engine, make_tool

import mcpg
from mcpg.engine import Engine
from mcpg.errors import UsageError
from mcpg.gateway import FunctionSource, Gateway, SyncGateway

TOOLS = [
    make_tool(name, description=f"{name} orders by number and day, with all their lines.")
    for name in ("list", "cancel", "export", "print", "merge", "close", "count", "split", "send")
]
NUMBERS: list[Any] = ["3", True, 2.5, None, [3], 0, -1]
NO_TEXTS: list[Any] = [42, b"orders", ["orders"], 4.2, True, object()]
SHARED: list[tuple[str, Any]] = [
    *(("limit", given) for given in NUMBERS if given is not None),
    *(("query", given) for given in NO_TEXTS),
    *(("strategy", given) for given in (None, 3, ["graph"], "grahp")),
    *(("fusion", given) for given in (3, ["rrf"])),
    *(("min_score", given) for given in ("high", None, True, 1.5, float("nan"), [0.5])),
    *(("context", given) for given in (b"x", {1, 2}, object(), dt.date(2026, 1, 1), iter("ab"))),
    *(("context_tools", given) for given in ("list", b"list", 7, [7], [None])),
    *(("sources", given) for given in ("shop", 7, [7])),
    *(("categories", given) for given in ("shop", 7, [None])),
    *(
        (name, given)
        for name in ("include_disabled", "abstain", "rewrite", "lexicon", "read_only")
        for given in ("yes", 1, None)
    ),
]
OWN: dict[str, list[tuple[str, Any]]] = {
    "search": SHARED,
    "explain": [*SHARED, ("tool", 42), ("tool", ["list"])],
    "plan": [
        (name, given) for name, given in SHARED if name not in {"min_score", "abstain", "rewrite"}
    ],
    "route": [
        *((name, given) for name in ("max_categories", "max_tools") for given in NUMBERS),
        *(
            (name, given)
            for name, given in SHARED
            if name not in {"limit", "abstain", "context_tools", "categories"}
        ),
        ("categories", "shop"),
        ("categories", [None]),
        ("prefer_read_only", "yes"),
        ("derives_preference", None),
    ],
    "ask": [
        *(("limit", given) for given in NUMBERS),
        *(("question", given) for given in NO_TEXTS),
        *(("intent", given) for given in (3, ["search"], "find")),
        ("include_disabled", "yes"),
        ("sources", "shop"),
        ("categories", [7]),
        ("read_only", "yes"),
    ],
}
CASES = [
    pytest.param(method, name, given, id=f"{method}-{name}-{type(given).__name__}-{number}")
    for method, cases in OWN.items()
    for number, (name, given) in enumerate(cases)
]
ENGINE = make_engine(*TOOLS)


def list_orders(day: str) -> str:
    """List the orders of a day."""
    return day


@pytest.fixture(scope="module")
def gateway() -> Iterator[SyncGateway]:
    """Open a gateway of one function."""
    with SyncGateway([FunctionSource("shop", (list_orders,))]) as opened:
        yield opened


def first(method: str) -> str:
    """Return the name of the first argument of *method*."""
    return {"ask": "question", "plan": "goal"}.get(method, "query")


def refusal(call: Callable[..., Any], name: str, given: Any) -> str:
    """Return the message with which *call* refuses an argument."""
    words, options = "list orders", {name: given}
    if name in {"query", "question", "goal"}:
        words, options = given, {}
    if name == "fusion":
        options["strategy"] = "auto"
    with pytest.raises(UsageError) as caught:
        call(words, **options)
    assert caught.value.remedy
    return str(caught.value)


@pytest.mark.parametrize(("method", "name", "given"), CASES)
def test_an_engine_names_the_argument_that_is_wrong(method: str, name: str, given: Any) -> None:
    """An argument of a wrong type or value is a usage error that names it."""
    message = refusal(getattr(ENGINE, method), name, given)
    shown = first(method) if name == "query" and method == "plan" else name
    assert shown in message


@pytest.mark.parametrize(
    ("method", "name", "given"),
    [
        (method, name, given)
        for method in OWN
        for name, given in [
            ("max_categories" if method == "route" else "limit", "3"),
            (first(method), 42),
        ]
    ],
)
def test_gateways_refuse_what_an_engine_refuses(
    gateway: SyncGateway, method: str, name: str, given: Any
) -> None:
    """A gateway, synchronous or not, raises the error of the engine."""

    async def ask(*words: Any, **options: Any) -> None:
        async with Gateway([FunctionSource("shop", (list_orders,))]) as opened:
            await getattr(opened, method)(*words, **options)

    message = refusal(getattr(ENGINE, method), name, given)
    assert refusal(getattr(gateway, method), name, given) == message

    def asked(*words: Any, **options: Any) -> None:
        anyio.run(partial(ask, *words, **options))

    assert refusal(asked, name, given) == message


@pytest.mark.parametrize("path", [42, None, b"tools", [42], 4.2])
def test_what_is_loaded_is_a_path(path: Any) -> None:
    """What is no path is a usage error."""
    with pytest.raises(UsageError, match="path"):
        mcpg.load(path)


@pytest.mark.parametrize("name", ["source_id", "cache_dir"])
def test_names_and_folders_are_texts(name: str) -> None:
    """What should be a text and is none is a usage error that names the argument."""
    options: dict[str, Any] = {name: 42}
    with pytest.raises(UsageError, match=name):
        mcpg.load("nothing", **options)


@pytest.mark.parametrize("limit", ["3", True, 2.5, 0, None])
def test_a_default_limit_is_a_number(limit: Any) -> None:
    """A default limit is checked where it is set."""
    with pytest.raises(UsageError, match="limit"):
        mcpg.load("nothing", limit=limit)
    with pytest.raises(UsageError, match="limit"):
        SyncGateway(limit=limit)


def test_a_default_limit_holds_where_a_search_sets_none() -> None:
    """Searches, explanations and engines made from an engine have its limit; 5 is the default."""
    limited = Engine(ENGINE.index, limit=2)

    assert len(ENGINE.search("orders").matches) == 5
    assert len(limited.search("orders").matches) == 2
    assert len(limited.explain("orders").result.matches) == 2
    assert len(limited.search("orders", limit=7).matches) == 7
    changed = limited.with_hints(TOOLS[0].name, mcpg.Hints(aliases=("enumerate",)))
    assert len(changed.search("orders").matches) == 2


def test_a_gateway_has_a_default_limit() -> None:
    """The limit of a gateway holds for every index that it builds."""

    def named(name: str) -> Callable[[str], str]:
        def function(day: str) -> str:
            return day

        function.__name__, function.__doc__ = name, f"{name} the orders of a day."
        return function

    functions = tuple(named(name) for name in ("list", "cancel", "export", "merge"))
    with SyncGateway([FunctionSource("shop", functions)], limit=3) as gateway:
        assert len(gateway.search("orders").matches) == 3
        assert len(gateway.search("orders", limit=1).matches) == 1
