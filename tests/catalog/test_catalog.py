from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.catalog import Assertion, Catalog, build_catalog
from mcpg.catalog.model import HintRule, Hints, Tool
from mcpg.errors import Code, NotFoundError, Severity

if TYPE_CHECKING:
    import random


@pytest.fixture
def catalog() -> Catalog:
    """A catalogue of two sources with one shared name."""
    return build_catalog(
        [
            make_tool("Git.Status", source_id="VCS"),
            make_tool("git_diff", source_id="VCS"),
            make_tool("search", source_id="VCS"),
            make_tool("search", source_id="shop"),
            make_tool("odd[1]", source_id="shop"),
        ]
    )


def _ids(tools: tuple[Tool, ...]) -> list[str]:
    return [tool.id for tool in tools]


def test_tools_are_sorted_by_id(catalog: Catalog) -> None:
    """The catalogue lists its tools by id."""
    assert _ids(catalog.tools) == ["git_diff", "git_status", "odd_1", "shop_search", "vcs_search"]


def test_get_ignores_case(catalog: Catalog) -> None:
    """An id is found in any case, and nothing else is."""
    found = catalog.get(" GIT_Status ")
    assert found is not None
    assert found.name == "Git.Status"
    assert catalog.get("Git.Status") is None


@pytest.mark.parametrize(
    ("pattern", "ids"),
    [
        ("Git_Status", ["git_status"]),
        ("git.status", ["git_status"]),
        ("vcs::GIT.status", ["git_status"]),
        ("search", ["shop_search", "vcs_search"]),
        ("shop_search", ["shop_search"]),
        ("shop::*", ["odd_1", "shop_search"]),
        ("git?*", ["git_diff", "git_status"]),
        ("*SEARCH", ["shop_search", "vcs_search"]),
        ("odd[1]", ["odd_1"]),
        ("[gx]it_diff", ["git_diff"]),
        ("shop", []),
        ("nothing*", []),
    ],
)
def test_matching(catalog: Catalog, pattern: str, ids: list[str]) -> None:
    """A pattern is an id, `source::name`, a raw name, or a glob over any; case does not count."""
    assert _ids(catalog.matching(pattern)) == ids


def test_suggestions(catalog: Catalog) -> None:
    """A slip leads to the ids that were likely meant, the likeliest first."""
    assert catalog.suggest("git_staus")[0] == "git_status"
    assert catalog.suggest("shop::serch")[0] == "shop_search"
    assert catalog.suggest("VCS::git_dif")[0] == "git_diff"
    assert catalog.suggest("status_git")[0] == "git_status"
    assert catalog.suggest("elsewhere::status_git")[0] == "git_status"
    assert catalog.suggest("zzzzzzz") == ()
    assert catalog.suggest("") == ()
    assert Catalog().suggest("git") == ()


def test_identical_repeats_are_kept_once() -> None:
    """The same tool in two files is one tool, whatever the order of its members."""
    first = make_tool("a", meta={"x": 1, "y": 2}, place="1.json: tools[0]")
    again = make_tool("a", meta={"y": 2, "x": 1}, place="2.json: tools[0]")
    catalog = build_catalog([first, again])
    assert _ids(catalog.tools) == ["a"]
    (item,) = catalog.diagnostics
    assert (item.code, item.severity, item.place) == (
        Code.TOOL_REPEATED,
        Severity.INFO,
        "2.json: tools[0]",
    )
    assert "first at 1.json: tools[0]" in item.message


def test_values_that_only_compare_equal_are_no_repeat() -> None:
    """`1` and `true` are different content."""
    assert len(build_catalog([make_tool("a", meta={"x": v}) for v in (1, True)]).tools) == 2


def test_namesakes_that_differ_are_both_kept() -> None:
    """Two tools of one source and name get two ids and a warning that names both places."""
    catalog = build_catalog(
        [make_tool("a", place="1.json"), make_tool("a", description="other", place="2.json")]
    )
    assert len(set(_ids(catalog.tools))) == 2
    warnings = [item for item in catalog.diagnostics if item.code is Code.DUPLICATE_TOOL_NAME]
    (item,) = warnings
    assert (item.severity, item.place) == (Severity.WARNING, "2.json")
    assert "first at 1.json" in item.message


def test_rules_come_before_what_tools_say() -> None:
    """Named rules come first, then globs, then the tool; lists are joined."""
    tool = make_tool("a", aliases=("own",), read_only=True, open_world=True)
    catalog = build_catalog(
        [tool],
        [
            HintRule("*", Hints(aliases=("glob",), read_only=False, idempotent=False)),
            HintRule("a", Hints(aliases=("first",), idempotent=True)),
            HintRule("commerce::a", Hints(aliases=("second", "OWN"), idempotent=False)),
        ],
    )
    hints = catalog.tools[0].hints
    assert hints.aliases == ("first", "second", "OWN", "glob")
    assert (hints.read_only, hints.idempotent, hints.open_world) == (False, True, True)


def test_a_rule_that_names_a_tool_is_no_glob() -> None:
    """A name with a bracket, a star or a question mark counts as the name that it is."""
    for name in ("get[items]", "find*", "why?"):
        rules = [
            HintRule("*", Hints(idempotent=False)),
            HintRule(name, Hints(idempotent=True)),
            HintRule(f"commerce::{name}", Hints(read_only=True)),
        ]
        hints = build_catalog([make_tool(name)], rules).tools[0].hints
        assert (hints.idempotent, hints.read_only) == (True, True), name


def test_rules_without_a_tool_are_noticed(catalog: Catalog) -> None:
    """A rule that means no tool says where it stands and what was likely meant."""
    again = build_catalog(catalog.tools, [HintRule("git_staus", place="h.yaml:2"), HintRule("q*")])
    unmatched = [item for item in again.diagnostics if item.code is Code.HINT_UNMATCHED]
    assert [(item.place, item.severity) for item in unmatched] == [
        ("h.yaml:2", Severity.WARNING),
        (None, Severity.WARNING),
    ]
    assert "did you mean 'git_status'" in unmatched[0].message
    assert "did you mean" not in unmatched[1].message


def test_guesses_are_bounded(catalog: Catalog) -> None:
    """A hints file for another catalogue is told so without guessing at every entry."""
    again = build_catalog(catalog.tools, [HintRule(f"git_statu{i}") for i in range(60)])
    unmatched = [item for item in again.diagnostics if item.code is Code.HINT_UNMATCHED]
    assert len(unmatched) == 60
    assert sum("did you mean" in item.message for item in unmatched) == 50


def test_relations_become_assertions(catalog: Catalog) -> None:
    """Each matched tool is related to each tool meant, never to itself, each pair once."""
    again = build_catalog(
        catalog.tools,
        [
            HintRule("git*", related=("git*", "nowhere"), next_steps=("search",), place="h:1"),
            HintRule("git_diff", related=("git_status",), place="h:2"),
        ],
    )
    assert again.assertions == (
        Assertion("related", "git_diff", "git_status", "h:1"),
        Assertion("related", "git_status", "git_diff", "h:1"),
        Assertion("nextStep", "git_diff", "shop_search", "h:1"),
        Assertion("nextStep", "git_diff", "vcs_search", "h:1"),
        Assertion("nextStep", "git_status", "shop_search", "h:1"),
        Assertion("nextStep", "git_status", "vcs_search", "h:1"),
    )
    unresolved = [item for item in again.diagnostics if item.code is Code.RELATION_UNRESOLVED]
    assert [(item.place, "'nowhere'" in item.message) for item in unresolved] == [("h:1", True)]


def test_a_relation_to_everything_is_bounded() -> None:
    """A rule relates a tool to fifty others at most, and says so when it asked for more."""
    tools = [make_tool(f"t{i:03}") for i in range(80)]
    catalog = build_catalog(tools, [HintRule("*", related=("*",), place="h:1")])
    assert len(catalog.assertions) == 80 * 50
    assert all(said.source != said.target for said in catalog.assertions)
    (noticed,) = catalog.diagnostics
    assert (noticed.code, noticed.place) == (Code.RELATION_INVALID, "h:1")
    allowed = build_catalog(tools[:51], [HintRule("*", related=("*",))])
    assert len(allowed.assertions) == 51 * 50
    assert allowed.diagnostics == ()


def test_reserved_ids_reach_the_tools() -> None:
    """No tool of a catalogue gets a reserved id."""
    assert _ids(build_catalog([make_tool("a")], reserved=["A"]).tools) == ["commerce_a"]


def test_a_name_means_one_tool_or_is_refused() -> None:
    """An id, `source::name` or unique name gives its tool; any other name says what to use."""
    catalog = build_catalog([make_tool("a"), make_tool("a", source_id="s"), make_tool("only")])

    assert catalog.find_named("ONLY").id == catalog.find_named("commerce::only").id == "only"
    with pytest.raises(NotFoundError, match=r"'\*a' is the name of 2 tools"):
        catalog.find_named("*a")
    with pytest.raises(NotFoundError) as fault:
        catalog.find_named("onlly")
    assert fault.value.remedy == "did you mean only?"
    with pytest.raises(NotFoundError) as fault:
        catalog.find_named("\x1b" * 500)
    assert fault.value.remedy == "see `mcpg list`"
    assert len(fault.value.message) < 600


_tools = st.lists(
    st.builds(
        lambda name, source, text: make_tool(name, source_id=source, description=text, id=""),
        st.sampled_from(["a", "A", "b c", "b_c", "s_a"]),
        st.sampled_from(["s", "S", "t"]),
        st.sampled_from(["", "x"]),
    ),
    max_size=12,
)


@given(_tools, st.randoms())
def test_order_of_tools_does_not_count(tools: list[Tool], chance: random.Random) -> None:
    """Tools, ids and hints are the same in whatever order the tools were read."""
    rules = [HintRule("a", Hints(tags=("t",))), HintRule("s::*", related=("b*",))]
    catalog = build_catalog(tools, rules)
    again = build_catalog(chance.sample(tools, len(tools)), rules)
    assert (catalog.tools, catalog.assertions) == (again.tools, again.assertions)
    assert _ids(catalog.tools) == sorted(set(_ids(catalog.tools)))
