from __future__ import annotations

from functools import partial

import pytest
from bounded import calls_in
from builders import make_engine, make_tool
from deployment import CHAIN, DEPLOYMENT, STEPS
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.catalog.model import HintRule, Hints, Tool
from mcpg.engine import Engine, Plan
from mcpg.errors import Code, UsageError
from mcpg.plan.dependencies import acyclic, components, split_layers


def tool_ids(plan: Plan) -> list[str]:
    """Return the ids of the tools of *plan*, in order."""
    return [task.tool_id for task in plan.tasks]


def places(plan: Plan) -> dict[str, int]:
    """Return the place of each task of *plan* by its id."""
    return {task.id: place for place, task in enumerate(plan.tasks)}


def schema(**arguments: str) -> dict[str, object]:
    """Return an input schema that requires *arguments* of the types given."""
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in arguments.items()},
        "required": list(arguments),
    }


def boards() -> Engine:
    """Return an engine over the tools of a board."""
    return make_engine(
        make_tool("list_boards", description="List all boards.", source_id="kanban"),
        make_tool(
            "list_cards",
            description="List the cards of a board.",
            input_schema=schema(board_id="string"),
            source_id="kanban",
        ),
        make_tool(
            "move_card",
            description="Move a card to a list.",
            input_schema=schema(card_id="string", column="string"),
            source_id="kanban",
        ),
        make_tool(
            "delete_card",
            description="Delete a card.",
            input_schema=schema(card_id="string"),
            source_id="kanban",
        ),
        make_tool("send_mail", description="Send a letter.", source_id="mail"),
        make_tool("current_weather", description="Current weather.", source_id="weather"),
    )


@pytest.fixture(scope="module")
def kanban() -> Engine:
    """Return an engine over the tools of a board and of two other servers."""
    return boards()


def test_steps_that_share_no_word_with_the_goal_are_planned_in_order() -> None:
    """What authors put before a match comes before it, each step in its own layer."""
    plan = make_engine(*DEPLOYMENT, rules=CHAIN).plan("deploy to prod")

    assert tool_ids(plan) == list(STEPS)
    assert [len(layer) for layer in plan.layers] == [1] * 5
    assert [task.is_prerequisite for task in plan.tasks] == [True] * 4 + [False]
    assert [one.origin for task in plan.tasks[1:] for one in task.depends_on] == ["authored"] * 4


def chain_of_schemas() -> Engine:
    """Return an engine over five tools whose exact schemas alone tell their order."""

    def step(name: str, about: str, takes: tuple[str, ...], gives: str) -> Tool:
        output = {"type": "object", "properties": {gives: {"type": "string"}}}
        takes_all = schema(**dict.fromkeys(takes, "string"))
        return make_tool(
            name, description=about, input_schema=takes_all, output_schema=output, source_id="ci"
        )

    return make_engine(
        step("git_clone", "Clone a repository.", ("repository_url",), "checkout_path"),
        step("npm_install", "Install the packages.", ("checkout_path",), "modules_path"),
        step("build", "Build the project.", ("modules_path",), "artifact_id"),
        step("run_tests", "Run the tests of a build.", ("artifact_id",), "test_report"),
        step("deploy_prod", "Deploy to production.", ("artifact_id", "test_report"), "release_id"),
    )


@pytest.mark.parametrize(
    "goal",
    [
        "deploy to production",
        "clone the repository, install the packages, build it, run the tests and deploy",
        "get the project built, tested and deployed",
    ],
)
def test_exact_schemas_are_believed_whatever_the_verb(goal: str) -> None:
    """The only tool that provides a required argument is a task; what nothing gives is missing."""
    plan = chain_of_schemas().plan(goal)

    assert tool_ids(plan) == ["git_clone", "npm_install", "build", "run_tests", "deploy_prod"]
    assert [one.argument for one in plan.missing] == ["repository_url"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_plan_has_no_more_tasks_than_its_limit(limit: int) -> None:
    """Prerequisites count as well, and what the goal asks for has its place."""
    plan = chain_of_schemas().plan("deploy to production", limit=limit)

    assert len(plan.tasks) == limit
    assert tool_ids(plan)[-1] == "deploy_prod"


def test_a_writer_is_not_needed_where_readers_provide_the_same() -> None:
    """An order that exists is found rather than created, whatever an author lets follow."""
    order = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    tools = (
        make_tool("search_orders", description="Find orders.", output_schema=order),
        make_tool("create_order", description="Create an order.", output_schema=order),
        make_tool(
            "ship_order", description="Ship an order.", input_schema=schema(order_id="string")
        ),
    )
    rules = (HintRule("create_order", next_steps=("ship_order",)),)
    plan = make_engine(*tools, rules=rules).plan("ship an order")

    assert tool_ids(plan) == ["search_orders", "ship_order"]


def test_a_text_that_a_caller_composes_proves_nothing() -> None:
    """That a list returns titles does not put it before what takes a title."""
    titles = {"type": "object", "properties": {"title": {"type": "string"}}}
    tools = (
        make_tool("archive_report", description="Archived reports.", output_schema=titles),
        make_tool(
            "invite_people", description="Invite people.", input_schema=schema(title="string")
        ),
    )
    plan = make_engine(*tools).plan("invite people")

    assert tool_ids(plan) == ["invite_people"]
    assert [one.argument for one in plan.missing] == ["title"]


def test_each_part_has_a_task_or_a_reason(kanban: Engine) -> None:
    """The first match of each part of a goal is a task, or the part tells why it is none."""
    plan = kanban.plan("send a letter to the team, and list the boards, then paint the fence green")
    parts = {one.text: one for one in plan.intents}
    by_task = {task.id: task.tool_id for task in plan.tasks}

    assert len(parts) == 3
    assert [by_task[name] for name in parts["list the boards"].tasks] == ["list_boards"]
    assert "send_mail" in tool_ids(plan)
    assert parts["paint the fence green"].reason


def test_a_part_beyond_the_limit_is_answered_by_no_task(kanban: Engine) -> None:
    """A task does not answer a part that most likely means another tool."""
    plan = kanban.plan("list the boards, and send a letter to the team", limit=1)
    tasks = [one.tasks for one in plan.intents]

    assert sorted(tasks) == [(), ("t1",)]
    assert "the limit is 1 task" in plan.intents[tasks.index(())].reason


def test_a_prerequisite_tells_whether_what_needs_it_is_planned(kanban: Engine) -> None:
    """The reason of a prerequisite names what needs it, and whether that is in the plan."""
    plans = [
        kanban.plan(goal, limit=limit) for goal in ("card", "move", "list") for limit in (1, 8)
    ]
    needed = [(one, tool_ids(plan)) for plan in plans for one in plan.tasks if one.is_prerequisite]

    assert needed
    for task, planned in needed:
        needs = task.rationale.removeprefix("needed by ").partition(":")[0]
        name, absent, _ = needs.partition(", which is not in the plan")
        assert (name in planned) is not bool(absent)


def test_a_part_that_points_back_follows_the_server_before_it() -> None:
    """Of two tools with one name the one of the server that has the thing is planned."""
    tools = [
        make_tool(name, description=f"{name.replace('_', ' ')}.", source_id=source)
        for source, names in (
            ("wiki", ("read_page", "archive_item")),
            ("shop", ("read_basket", "archive_item")),
        )
        for name in names
    ]
    for thing, source in (("page", "wiki"), ("basket", "shop")):
        plan = make_engine(*tools).plan(f"read the {thing} and archive it")
        assert {task.source_id for task in plan.tasks if task.tool_name == "archive_item"} == {
            source
        }


@pytest.mark.parametrize(
    ("goal", "source"),
    [("read the report https://example.com/a", "web"), ("read the report ~/notes/a.txt", "disk")],
)
def test_a_source_that_takes_the_literals_of_a_goal_serves_it(goal: str, source: str) -> None:
    """Of two tools with one name the one of the server that takes what the goal gives is first."""
    tools = [
        make_tool(
            "read_report",
            description="Read a report.",
            input_schema=schema(**{argument: "string"}),
            source_id=name,
        )
        for name, argument in (("web", "url"), ("disk", "path"))
    ]
    assert make_engine(*tools).plan(goal, limit=1).tasks[0].source_id == source


def test_parts_of_a_goal_share_a_server() -> None:
    """Of two tools with one name the one of the server that serves the other part is planned."""
    tools = [
        make_tool(name, description=f"{name.replace('_', ' ')}.", source_id=source)
        for source, names in (
            ("wiki", ("read_page", "archive_item")),
            ("shop", ("read_basket", "archive_item")),
        )
        for name in names
    ]
    for thing, source in (("page", "wiki"), ("basket", "shop")):
        plan = make_engine(*tools).plan(f"archive some item, then read the {thing}")
        assert {one.source_id for one in plan.tasks if one.tool_name == "archive_item"} == {source}


def test_a_goal_that_no_search_matches_well_is_in_doubt(kanban: Engine) -> None:
    """A plan of poor matches is neither surely complete nor surely clean."""
    doubtful, sure = kanban.plan("bake a card for the garden"), kanban.plan("move a card")

    assert doubtful.complete < sure.complete
    assert doubtful.clean < sure.clean
    assert Code.LOW_CONFIDENCE in [one.code for one in doubtful.diagnostics]


def test_a_doubtful_plan_names_what_is_in_doubt(kanban: Engine) -> None:
    """Where something is likely missing, a diagnostic has the part that no tool answers well."""
    plan = kanban.plan("list the boards, and paint the fence of the garden green")
    doubts = [one.message for one in plan.diagnostics if "missing" in one.message]

    assert plan.complete < 0.25
    assert "paint the fence" in doubts[0]


def test_asking_for_what_is_there_makes_nothing() -> None:
    """What an author lets follow a tool that creates is read without creating it first."""
    tools = (
        make_tool("create_parcel", description="Create a parcel."),
        make_tool("get_parcel", description="Get a parcel."),
    )
    rules = (HintRule("create_parcel", next_steps=("get_parcel",)),)
    plan = make_engine(*tools, rules=rules).plan("get my parcel", limit=1)

    assert tool_ids(plan) == ["get_parcel"]


def test_what_nothing_leads_to_is_no_step() -> None:
    """Without edges, tools that share nothing with the goal are left out."""
    plan = make_engine(*DEPLOYMENT).plan("deploy to prod")

    assert "npm_install" not in tool_ids(plan)


def test_a_plan_reads_before_it_changes(kanban: Engine) -> None:
    """What gives an argument runs before what takes it, and says which."""
    plan = kanban.plan("move the login card to the column Done")
    by_name = {task.tool_id: task for task in plan.tasks}

    assert tool_ids(plan)[-1] == "move_card"
    assert "list_cards" in by_name
    assert any(
        mapping.argument == "card_id"
        for one in by_name["move_card"].depends_on
        for mapping in one.mappings
    )


def test_arguments_that_nothing_gives_are_missing(kanban: Engine) -> None:
    """What neither the goal nor an earlier task gives is asked of the user, once."""
    plan = kanban.plan("move the login card to the column Done")

    assert "column" in [one.argument for one in plan.missing]
    assert "card_id" not in [one.argument for one in plan.missing]


def test_literals_of_the_goal_fill_arguments() -> None:
    """An argument that is called after the kind of a literal is given by the goal."""
    tool = make_tool(
        "fetch_page", description="Fetch a web page.", input_schema=schema(url="string")
    )
    plan = make_engine(tool).plan("fetch the page https://example.org/about")

    assert [(one.argument, one.value) for one in plan.filled] == [
        ("url", "https://example.org/about")
    ]
    assert not plan.missing


def test_a_statement_fills_an_argument_as_it_stands() -> None:
    """What a statement of the goal quotes is part of the argument."""
    tool = make_tool("run_query", description="Run SQL.", input_schema=schema(sql="string"))
    statement = "select * from users where email = 'jane@x.org' and day = '2026-01-02'"
    plan = make_engine(tool).plan(f"run the query {statement}")

    assert [one.value for one in plan.filled] == [statement]


def test_what_deletes_is_planned_only_where_the_goal_asks_for_it(kanban: Engine) -> None:
    """A tool that deletes is no step and no alternative of a goal that asks for something else."""
    spared = kanban.plan("move the login card to the column Done")
    asked = kanban.plan("delete the login card")
    others = [one.tool_id for task in spared.tasks for one in task.alternatives]

    assert "delete_card" not in (*tool_ids(spared), *others)
    assert "delete_card" in tool_ids(asked)
    (deleting,) = [task for task in asked.tasks if task.tool_id == "delete_card"]
    assert deleting.is_destructive


def test_what_deletes_never_comes_first(kanban: Engine) -> None:
    """Whatever reads on the same server runs before."""
    plan = kanban.plan("delete the login card")

    assert len(plan.tasks) > 1
    assert not plan.tasks[0].is_destructive
    assert plan.tasks[-1].tool_id == "delete_card"


@pytest.mark.parametrize("goal", ["move the login card to the column Done", "list all boards"])
def test_the_limit_leaves_what_the_goal_asks_for(kanban: Engine, goal: str) -> None:
    """However few tasks are asked for, the first match of a search is among them."""
    (first,) = kanban.search(goal, limit=1).matches
    assert first.tool_id in tool_ids(kanban.plan(goal, limit=1))


def test_nothing_destructive_is_added_unasked() -> None:
    """A tool that destroys is no prerequisite of a goal that does not ask for it."""
    tools = (
        make_tool("wipe_database", description="Wipe the database.", hints=Hints(destructive=True)),
        make_tool("import_backup", description="Import a backup."),
    )
    rules = (HintRule("wipe_database", next_steps=("import_backup",)),)
    engine = make_engine(*tools, rules=rules)

    assert tool_ids(engine.plan("import a backup")) == ["import_backup"]


def test_a_tool_that_is_called_destructive_is_marked() -> None:
    """A hint of the author counts where the name says nothing."""
    tool = make_tool("rotate_logs", description="Rotate logs.", hints=Hints(destructive=True))

    assert make_engine(tool).plan("rotate logs").tasks[0].is_destructive


def test_steps_stay_on_the_server_of_the_goal(kanban: Engine) -> None:
    """Tools of servers that the goal is not about are left out."""
    plan = kanban.plan("move the login card to the column Done")

    assert {task.source_id for task in plan.tasks} == {"kanban"}


def test_a_goal_that_nothing_fits_has_no_plan(kanban: Engine) -> None:
    """There are no tasks, and a diagnostic says why."""
    plan = kanban.plan("zzyzx qwrtp")

    assert (plan.tasks, plan.layers, plan.confidence) == ((), (), 0.0)
    assert [one.code for one in plan.diagnostics] == [Code.LOW_CONFIDENCE]


def test_a_goal_that_only_deleting_tools_match_has_no_plan() -> None:
    """Nothing is planned that the goal does not ask for, and a diagnostic says so."""
    plan = make_engine(make_tool("delete_card", description="Delete a card.")).plan("make a card")

    assert not plan.tasks
    assert "delete" in plan.diagnostics[0].message


@pytest.mark.parametrize("goal", ["", "  \n"])
def test_there_must_be_a_goal(kanban: Engine, goal: str) -> None:
    """A plan for nothing is refused."""
    with pytest.raises(UsageError):
        kanban.plan(goal)


@pytest.mark.parametrize(
    "goal",
    [
        "mueve la tarjeta a otra lista",
        "把卡片移到完成",
        "🃏 ➡ ✅",
        "move card " * 5000,
        "\x1b[31mmove card\x00",
    ],
)
def test_hostile_goals_have_plans_of_a_few_tasks(kanban: Engine, goal: str) -> None:
    """Goals in other languages, of 50 kB and with control characters are planned like any."""
    assert len(kanban.plan(goal).tasks) <= 8


def test_disabled_tools_are_planned_only_where_asked() -> None:
    """A tool that is off by default is a step only with `include_disabled`."""
    tool = make_tool(
        "ship_order", description="Ship an order.", hints=Hints(enabled_by_default=False)
    )
    engine = make_engine(tool, make_tool("list_orders", description="List orders."))

    assert "ship_order" not in tool_ids(engine.plan("ship an order"))
    assert "ship_order" in tool_ids(engine.plan("ship an order", include_disabled=True))


SHAPES = {
    "cycle": lambda names: [(names[i], (names[(i + 1) % len(names)],)) for i in range(len(names))],
    "star": lambda names: [(name, (names[0],)) for name in names[1:]],
    "full": lambda names: [(name, tuple(one for one in names if one != name)) for name in names],
}


@pytest.mark.parametrize(("shape", "count"), [("cycle", 300), ("star", 300), ("full", 60)])
def test_graphs_of_any_shape_give_bounded_acyclic_plans(shape: str, count: int) -> None:
    """One cycle, one star and all to all are planned; no task comes before what it depends on."""
    names = [f"step_{place:04}" for place in range(count)]
    tools = [make_tool(name, description=f"Do part {name}.", source_id="s") for name in names]
    rules = [HintRule(name, next_steps=then) for name, then in SHAPES[shape](names)]
    plan = make_engine(*tools, rules=rules).plan("do part step_0000")
    at = places(plan)

    assert 0 < len(plan.tasks) <= 5
    assert all(at[one.task] < at[task.id] for task in plan.tasks for one in task.depends_on)


def test_plans_do_not_depend_on_the_order_of_the_tools() -> None:
    """The same tools in another order give an equal plan."""
    forth = make_engine(*DEPLOYMENT, rules=CHAIN)
    back = make_engine(*DEPLOYMENT[::-1], rules=CHAIN[::-1])

    assert forth.plan("deploy to prod") == back.plan("deploy to prod")
    assert forth.plan("compile and deploy") == forth.plan("compile and deploy")


NAMES = st.sampled_from(
    [f"{verb}_{noun}" for verb in ("list", "get", "create", "delete") for noun in ("card", "board")]
)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(NAMES, min_size=1, max_size=6, unique=True),
    st.lists(st.tuples(NAMES, NAMES), max_size=12),
    st.sampled_from(["create a card", "delete the board", "show boards and cards"]),
)
def test_every_plan_is_acyclic_and_in_order(
    names: list[str], edges: list[tuple[str, str]], goal: str
) -> None:
    """Each task stands after all it depends on, and layers and tasks have the same order."""
    tools = [make_tool(name, description=f"{name.replace('_', ' ')}.") for name in names]
    rules = [
        HintRule(first, next_steps=(then,))
        for first, then in edges
        if first != then and {first, then} <= set(names)
    ]
    plan = make_engine(*tools, rules=rules).plan(goal)
    at = places(plan)

    assert [name for layer in plan.layers for name in layer] == [task.id for task in plan.tasks]
    for task in plan.tasks:
        for one in task.depends_on:
            assert at[one.task] < at[task.id]
            assert plan.tasks[at[one.task]].layer < task.layer


NODES = st.integers(0, 12)
GRAPHS = st.dictionaries(st.tuples(NODES, NODES), st.integers(1, 5).map(float))


@given(GRAPHS)
def test_cycles_are_broken_at_their_weakest_edges(edges: dict[tuple[int, int], float]) -> None:
    """What is kept has no cycle; of every cycle something as weak as its weakest edge is gone."""
    nodes = sorted({node for pair in edges for node in pair})
    kept, broken = acyclic(nodes, edges, int)

    assert all(len(one) == 1 for one in components(nodes, kept))
    assert {*kept, *broken} == {pair for pair in edges if pair[0] != pair[1]}
    layers = split_layers(nodes, kept, int)
    at = {node: place for place, layer in enumerate(layers) for node in layer}
    assert all(at[first] < at[then] for first, then in kept)
    assert sorted(node for layer in layers for node in layer) == nodes


@given(GRAPHS, st.randoms())
def test_the_order_of_edges_changes_nothing(
    edges: dict[tuple[int, int], float], random: object
) -> None:
    """Cycles are broken alike however the edges are given."""
    nodes = sorted({node for pair in edges for node in pair})
    mixed = list(edges.items())
    random.shuffle(mixed)  # type: ignore[attr-defined]

    assert acyclic(nodes, edges, int)[1] == acyclic(nodes, dict(mixed), int)[1]


def test_the_weakest_edge_of_a_cycle_goes() -> None:
    """Of three edges in a circle the faintest is left out."""
    edges = {("a", "b"): 0.9, ("b", "c"): 0.2, ("c", "a"): 0.5}

    assert acyclic("abc", edges, str)[1] == [("b", "c")]


def test_a_long_chain_is_walked_without_recursion() -> None:
    """Components of thousands of nodes in a row are found."""
    nodes = list(range(5000))
    edges = {(one, one + 1): 1.0 for one in nodes[:-1]}

    assert len(components(nodes, edges)) == len(nodes)


def test_like_work_is_an_alternative_and_no_second_step() -> None:
    """Of two tools that do the same, the likelier is a step and names the other."""
    tools: list[Tool] = [
        make_tool("list_orders", description="List orders.", source_id="shop"),
        make_tool("list_order", description="List all orders of a shop.", source_id="shop"),
    ]
    plan = make_engine(*tools).plan("list orders")

    assert len(plan.tasks) == 1
    assert [one.tool_id for one in plan.tasks[0].alternatives] == [
        name for name in ("list_order", "list_orders") if name not in tool_ids(plan)
    ]


def test_tools_in_use_are_no_tasks(kanban: Engine) -> None:
    """What has run is not planned again, and its result provides arguments."""
    goal = "move the login card to the column Done"
    plan = kanban.plan(goal, context_tools=["kanban::list_cards"])
    (move,) = [task for task in plan.tasks if task.tool_id == "move_card"]

    assert "list_cards" in tool_ids(kanban.plan(goal))
    assert "list_cards" not in tool_ids(plan)
    assert [(one.tool_id, one.argument) for one in move.provided] == [("list_cards", "card_id")]
    assert "card_id" not in [one.argument for one in plan.missing]


def test_what_only_tools_in_use_need_is_no_task(kanban: Engine) -> None:
    """A list that would only give what a tool in use was called with is not planned."""
    goal = "move the login card to the column Done"

    assert "list_boards" in tool_ids(kanban.plan(goal))
    assert "list_boards" not in tool_ids(kanban.plan(goal, context_tools=["list_cards"]))


def test_what_is_stated_goes_on_behind_a_tool_in_use() -> None:
    """Of a chain that authors state, what stands before the tool in use is done."""
    plan = make_engine(*DEPLOYMENT, rules=CHAIN).plan("deploy to prod", context_tools=["build"])

    assert tool_ids(plan) == ["run_tests", "deploy_prod"]


def test_plans_with_many_tools_in_use_take_time_by_their_number() -> None:
    """What an argument of one tool in use asks for is not looked for in each of the others."""
    calls = {}
    for size in (64, 256):
        used = [f"get_order_{at}" for at in range(size)]
        needs_order = {"input_schema": schema(order_id="string")}
        engine = make_engine(*(make_tool(one, **needs_order) for one in ("list_orders", *used)))
        plan = partial(engine.plan, "list the orders", context_tools=used)
        assert tool_ids(plan()) == ["list_orders"]
        calls[size] = calls_in(plan)

    assert calls[256] < 5 * calls[64]


def test_no_tools_in_use_leave_a_plan_as_it_is(kanban: Engine) -> None:
    """Without tools in use, and with names of none, the tasks are the same."""
    goal = "move the login card to the column Done"
    unknown = kanban.plan(goal, context_tools=["move_crad"])

    assert unknown.tasks == kanban.plan(goal).tasks == kanban.plan(goal, context_tools=()).tasks
    assert [one.code for one in unknown.diagnostics][:1] == [Code.CONTEXT_TOOL_UNKNOWN]


def test_nothing_is_left_when_every_match_is_in_use() -> None:
    """A goal that only tools in use match has an empty plan that says so."""
    plan = make_engine(*DEPLOYMENT).plan("deploy to prod", context_tools=list(STEPS))

    assert plan.tasks == ()
    assert "in use" in plan.diagnostics[0].message
