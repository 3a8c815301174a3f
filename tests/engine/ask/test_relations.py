"""Questions about relations between tools, in both directions."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from bounded import calls_in
from builders import make_engine, make_tool

from mcpg.catalog.model import HintRule

if TYPE_CHECKING:
    from mcpg.engine import Engine


def schema(*names: str, required: int = 1) -> dict[str, Any]:
    """Return a schema of texts, of which the first are required."""
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": [*names[:required]]}


@pytest.fixture(scope="module")
def pipeline() -> Engine:
    """Return an engine over four steps that authors put in order, and a tool apart."""
    names = ("clone_source", "npm_install", "run_build", "deploy_prod", "paint_fence")
    following = pairwise(names[:4])
    rules = tuple(HintRule(name, next_steps=(after,)) for name, after in following)
    return make_engine(*(make_tool(name) for name in names), rules=rules)


@pytest.fixture(scope="module")
def shop() -> Engine:
    """Return an engine over tools whose fields feed each other."""
    orders = make_tool(
        "find_orders",
        description="Find orders of a customer.",
        input_schema=schema("customer_email"),
        output_schema=schema("order_ref"),
    )
    return make_engine(
        orders,
        make_tool("ship_order", description="Ship.", input_schema=schema("order_ref", "carrier")),
        make_tool("refund_order", description="Refund.", input_schema=schema("order_ref")),
        make_tool("list_stores", description="List stores."),
        make_tool("close_store", description="Close.", input_schema=schema("store_id")),
        make_tool(
            "start_audit",
            description="Fails while a store is open: run close_store first.",
            input_schema=schema("year"),
        ),
    )


def symbols(engine: Engine, question: str) -> list[str]:
    """Return the results of *question*, and hold that it is taken for one about relations."""
    answer = engine.ask(question)
    assert answer.decision.intent == "relations", answer.decision
    return [one.symbol for one in answer.results]


def test_before(pipeline: Engine) -> None:
    """All that leads to a tool comes before it, the nearest first."""
    assert symbols(pipeline, "what comes before deploy_prod")[:3] == [
        "run_build",
        "npm_install",
        "clone_source",
    ]


def test_after(pipeline: Engine) -> None:
    """What a tool leads to comes after it."""
    assert symbols(pipeline, "what should I run after clone_source?") == ["npm_install"]


def test_reasons_are_given(pipeline: Engine) -> None:
    """Every relation has its reason."""
    answer = pipeline.ask("what comes before deploy_prod")
    assert all(one.why for one in answer.results)


@pytest.mark.parametrize(
    "question",
    [
        "how do I get from clone_source to deploy_prod",
        "show the steps between clone_source and deploy_prod",
    ],
)
def test_a_path(pipeline: Engine, question: str) -> None:
    """A path leads from the first tool to the last, in order."""
    assert symbols(pipeline, question) == [
        "clone_source",
        "npm_install",
        "run_build",
        "deploy_prod",
    ]


@pytest.mark.parametrize(
    "question",
    [
        "what comes after run_build and runBuild",
        "what comes after run_build, that is commerce::run_build?",
        "what should I run after run-build or after `Run_Build`",
    ],
)
def test_one_tool_in_two_spellings_is_no_path(pipeline: Engine, question: str) -> None:
    """A question that names one tool twice is about that tool."""
    answer = pipeline.ask(question)
    assert answer.decision.direction == "after"
    assert answer.results[0].symbol == "deploy_prod"


def test_a_tool_beside_a_word_that_is_a_name_is_no_path() -> None:
    """A common word that a tool is called by as well is no end of a path."""
    engine = make_engine(make_tool("ship"), make_tool("refund_order"))
    answer = engine.ask("should we ship before refund_order", intent="relations")
    assert answer.decision.direction == "before"


def test_what_uses_a_field(shop: Engine) -> None:
    """All tools that take a field are its users."""
    assert symbols(shop, "which tools need an order_ref") == ["refund_order", "ship_order"]


def test_what_returns_a_field(shop: Engine) -> None:
    """Tools whose result holds a field produce it."""
    assert symbols(shop, "where does order_ref come from") == ["find_orders"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("which tools are needed by npm_install", "before"),
        ("what is npm_install required by", "after"),
        ("what needs npm_install", "after"),
        ("what could I do with the folder that npm_install returns", "after"),
    ],
)
def test_the_voice_of_a_verb_tells_the_direction(
    pipeline: Engine, question: str, expected: str
) -> None:
    """What is needed by a tool comes before it, what it returns goes to what comes after."""
    assert pipeline.ask(question, intent="relations").decision.direction == expected


def test_what_feeds_an_argument(shop: Engine) -> None:
    """The source of an argument is the tool that returns it."""
    assert symbols(shop, "where do I get the order_ref for ship_order")[0] == "find_orders"


def test_what_consumes_a_result(shop: Engine) -> None:
    """A field that a tool returns is consumed by those that take it."""
    answer = shop.ask("what can take the order_ref that find_orders returns")
    assert answer.decision.direction == "consumes"
    assert [one.symbol for one in answer.results] == ["refund_order", "ship_order"]


def test_a_reader_stands_in_for_missing_schemas(shop: Engine) -> None:
    """Where no schema tells who returns an id, tools that read such things are offered."""
    answer = shop.ask("which tool supplies store_id for close_store")
    assert answer.results[0].symbol == "list_stores"
    assert "no schema names" in answer.results[0].why[0]


def test_a_description_that_names_a_tool(shop: Engine) -> None:
    """A tool that the description names is evidence, too."""
    assert symbols(shop, "what must run before start_audit") == ["close_store"]


def test_nothing_related_is_searched_for(pipeline: Engine) -> None:
    """Where no relation is known, a search answers, and a diagnostic says so."""
    answer = pipeline.ask("what comes before paint_fence")
    assert "ask_fallback" in [one.code for one in answer.diagnostics]
    assert {one.type for one in answer.results} == {"match"}


def test_circles_end() -> None:
    """Paths in a circle of tools are found and end."""
    names = [f"turn_{letter}" for letter in "abcdef"]
    rules = tuple(
        HintRule(name, next_steps=(names[(place + 1) % 6],)) for place, name in enumerate(names)
    )
    engine = make_engine(*map(make_tool, names), rules=rules)
    assert symbols(engine, "how do I get from turn_b to turn_a") == [*names[1:], names[0]]


@pytest.mark.parametrize(
    ("name", "mention"),
    [
        ("close_store", "close_store"),
        ("close_store", "`close-store`(...)"),
        ("close_store", "closeStore"),
        ("close_store", "commerce.close_store"),
        ("close_store", "commerce::close_store"),
        ("step_1", "Step-1"),
        ("close_store", "/close/store-"),
        ("Closestore", "CloseStore"),
        ("schließe_laden", "schließe-laden"),
    ],
)
def test_a_description_that_names_a_tool_comes_after_it(name: str, mention: str) -> None:
    """A tool that another one names, however its words are joined, comes before that one."""
    described = make_tool("start_audit", description=f"Audit. Run {mention} first.")
    engine = make_engine(make_tool(name), described, make_tool("paint_fence"))
    assert symbols(engine, f"what comes after `{name}`") == ["start_audit"]


@pytest.mark.parametrize(
    "question",
    ["what comes after close_store", "what comes before close_store", "similar:close_store"],
)
def test_a_question_reads_no_more_in_a_large_catalogue(question: str) -> None:
    """The work of a question about a tool does not grow with tools that are unlike it."""
    calls = {}
    for size in (100, 400):
        others = [make_tool(f"paint_{number}", description="Paint.") for number in range(size)]
        naming = make_tool("start_audit", description="Run close_store first.")
        closing = make_tool("close_store", input_schema=schema("audit_id"))
        engine = make_engine(closing, naming, *others)
        engine.ask(question)
        calls[size] = calls_in(partial(engine.ask, question))

    assert calls[400] < 1.2 * calls[100]
