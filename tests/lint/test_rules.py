"""Each rule finds its fault, and nothing in what is like it and sound."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lint.conftest import sound, tool

from mcpg.bundle import assemble
from mcpg.catalog.model import Tool
from mcpg.lint import RULES, Report
from mcpg.lint.context import stems
from mcpg.lint.findability import opening
from mcpg.lint.model import Selection
from mcpg.lint.run import lint
from mcpg.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD = "Send a message to the buyer of an article, with an attachment."


def with_schema(**members: Any) -> dict[str, Any]:
    """Make a tool with a schema of one parameter, made of *members*."""
    parameter = {"description": "Number of the article.", "type": "integer", **members}
    return tool(
        "buyer_notify", GOOD, inputSchema={"type": "object", "properties": {"article": parameter}}
    )


FAULTS = {
    "D101": [tool("buyer_notify", "")],
    "D102": [tool("buyer_notify", "Notifies buyers")],
    "D103": [
        tool("buyer_notify", "TODO"),
        tool("buyer_notify", "A powerful and easy tool that provides various useful functions."),
    ],
    "D104": [tool("buyer_notify", " ".join(f"{GOOD[:-1]} number {n}." for n in range(40)))],
    "D106": [
        tool("buyer_notify", "buyer message buyer mail buyer notify buyer buyer send buyer"),
        tool(
            "buyer_notify",
            "message, mail, notify, buyer, chat, sms, text, alert, ping, inform, contact, reach,"
            " write, letter, post",
        ),
    ],
    "D107": [tool("buyer_notify", f"<b>{GOOD}</b>")],
    "D108": [tool("buyer_notify", f"{GOOD} See https://shop.example/manual.")],
    "D109": [tool("buyer_notify", "Notify a buyer of articles", title="Notify a buyer: article")],
    "P101": [
        with_schema(description=""),
        {**with_schema(description=""), "description": "Args:\n    other: An article: its number."},
    ],
    "P102": [
        tool(
            "buyer_notify",
            GOOD,
            inputSchema={"type": "object", "properties": {"x": {"description": "An article."}}},
        )
    ],
    "P103": [with_schema(description="The article.")],
    "N101": [tool("buyer notify!", GOOD), tool("buyer_" * 12, GOOD)],
    "N102": [tool("notifyBuyer", GOOD)],
    "N104": [tool("tool_1", GOOD), tool("execute", GOOD)],
    "S101": [tool("buyer_notify", GOOD, inputSchema={"type": "string"})],
    "S102": [with_schema(type="int")],
    "S103": [
        tool(
            "buyer_notify",
            GOOD,
            inputSchema={
                "type": "object",
                "properties": {"buyer": {"type": "string", "description": "Who buys."}},
                "required": ["byer"],
            },
        )
    ],
    "S104": [with_schema(enum=[1, 2], default=3), with_schema(default="no"), with_schema(enum=[])],
    "S105": [with_schema(**{"$ref": "#/$defs/article"})],
    "S106": [with_schema(minimum=9, maximum=1), with_schema(type="string", pattern="[a-")],
    "S107": [with_schema(type="array")],
    "S108": [with_schema(default=None), with_schema(type=["string", "integer"], default=None)],
}
SOUND = {
    "D101": [tool("buyer_notify", GOOD)],
    "D102": [tool("buyer_notify", "Notify the buyer of an article by mail.")],
    "D103": [tool("buyer_notify", "A powerful tool for messages to buyers of articles.")],
    "D104": [tool("buyer_notify", GOOD * 20)],
    "D106": [
        tool(
            "picture_convert",
            "Convert a picture. Supports png, jpg, gif, webp, svg, bmp, tiff, heic, raw, ico, psd.",
        ),
        tool(
            "diet_list",
            "List all diets and what they adapt for. Includes: vegetarian, vegan, gluten-free,"
            " dairy-free, nut-free, keto, low-carb, paleo, shellfish-free, kosher, halal.",
        ),
    ],
    "D107": [tool("buyer_notify", "Notify buyers whose score is < 5 and > 3, or List<Buyer>.")],
    "P101": [
        with_schema(description="", enum=[1, 2]),
        *(
            {**with_schema(description=""), "description": f"{GOOD}\n\n{told}"}
            for told in (
                "Args:\n    article: Number of the article.\n    other: Another.",
                "Args: article (int, optional): Number of the article.",
                "Parameters\n----------\narticle : int\n    Number of the article.",
                ":param article: Number of the article.",
                "- `article` (integer): Number of the article.",
                "* **article**: Number of the article.",
            )
        ),
    ],
    "P102": [with_schema(type=["integer", "null"]), with_schema(type="string")],
    "N101": [tool("buyer_notify.v2", GOOD)],
    "N102": [tool("notify", GOOD)],
    "N104": [tool("run_tests", GOOD)],
    "S102": [with_schema(type=["integer", "null"])],
    "S104": [with_schema(enum=[1, 2], default=1), with_schema(default=None)],
    "S108": [
        with_schema(type=["integer", "null"], default=None),
        with_schema(type="null", default=None),
        with_schema(anyOf=[{"type": "null"}], type="integer"),
    ],
    "S106": [with_schema(minimum=1, maximum=1), with_schema(type="string", pattern=r"^\p{L}+$")],
}


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_is_found(code: str, found: Callable[..., set[str]]) -> None:
    """The rule finds each way to have its fault, and only rules of faults that follow from it."""
    for fault in FAULTS[code]:
        assert code in found(fault, select=[code])


@pytest.mark.parametrize("code", SOUND)
def test_what_is_like_a_fault_is_not_found(code: str, found: Callable[..., set[str]]) -> None:
    """The rule is silent about tools that are like its faults and sound."""
    for one in SOUND[code]:
        assert found(one, select=[code]) == set()


def test_sound_tools_have_no_findings(found: Callable[..., set[str]]) -> None:
    """By default nothing is found in a catalogue in order."""
    assert found() == set()


def test_a_habit_of_a_source_is_one_finding(check: Callable[..., Report]) -> None:
    """What most tools of a source lack is reported once, with all the tools."""
    tools = [*sound(), *(tool(f"thing_{n}", "") for n in "abcdef")]
    (one,) = check({"shop.json": {"tools": tools}}, ["D101"]).findings
    assert one.tool_ids == tuple(f"thing_{n}" for n in "abcdef")
    assert "6 of 12 tools" in one.message


def test_a_tool_that_hides_another_is_named(check: Callable[..., Report]) -> None:
    """A tool that its own description does not bring first is reported with the one that does."""
    hidden = tool("parcel_where", "Tell where a parcel is, with all stops.")
    hints = {"tools": {"parcel_track": {"aliases": ["tell where a parcel is with all stops"]}}}
    files = {"shop.json": {"tools": [*sound(), hidden]}, "shop.hints.json": hints}
    (one,) = check(files, ["R101"]).findings
    assert one.tool_id == "parcel_where"
    assert [other.tool_id for other in one.others] == ["parcel_track"]
    assert "stops" not in one.words  # the hider has it as well


def test_confusable_tools_are_reported_with_words_that_separate(
    check: Callable[..., Report],
) -> None:
    """Tools with the same words, or words that mean the same, are a pair; opposites are none."""
    pair = [
        tool("file_remove", "Delete a file from the disk of a server."),
        tool("disk_file", "Remove a file from the disk of a server."),
    ]
    pair[0]["inputSchema"]["properties"]["trash"] = {"type": "boolean", "description": "Keep it."}
    (one,) = check({"shop.json": {"tools": [*sound(), *pair]}}, ["C101"]).findings
    assert {one.tool_id, one.others[0].tool_id} == {"file_remove", "disk_file"}
    assert one.message.endswith("are hard to distinguish: all that differs is delete")
    opposites = [
        tool("alarm_enable", "Enable the alarm of a house."),
        tool("alarm_disable", "Disable the alarm of a house."),
    ]
    assert not check({"shop.json": {"tools": [*sound(), *opposites]}}, ["C101"]).findings


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("person_get", "Get a person by id."), ("person_fetch", "Fetch a person by id.")),
        (("people_list", "List people by team."), ("people_list_all", "List all people by team.")),
        (
            ("folder_rename", "Give a folder on a disk another name."),
            ("directory_rename", "Give a directory another name."),
        ),
        (("weather", "Weather of a city."), ("weather_data", "Return the weather of a city.")),
    ],
)
def test_names_that_mean_the_same_need_descriptions_that_differ(
    check: Callable[..., Report], one: tuple[str, str], other: tuple[str, str]
) -> None:
    """Synonyms in names, and words that mark nothing, are found where no description tells more."""
    (found,) = check({"shop.json": {"tools": [*sound(), tool(*one), tool(*other)]}}, ["C"]).findings
    assert (found.code, {found.tool_id, found.others[0].tool_id}) == ("C105", {one[0], other[0]})
    assert "mean the same: they differ by" in found.message
    told = tool(other[0], f"{other[1]} Reads the archive of former owners and their signatures.")
    first = tool(one[0], f"{one[1]} Answers from memory, for the current month.")
    assert not check({"shop.json": {"tools": [*sound(), first, told]}}, ["C"]).findings


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            ("chart_norway", "Show the chart of Norway."),
            ("chart_mexico", "Show the chart of Mexico."),
        ),
        (
            ("page_click", "Click an element on a page."),
            ("page_hover", "Hover an element on a page."),
        ),
        (("artist_top", "Show top artists."), ("artist_top_new", "Show top new artists.")),
        (("hex_to_rgb", "Convert a colour."), ("rgb_convert_to_hex", "Convert a colour code.")),
        (("page_read", "Read a page of a book."), ("pages_read", "Read pages of a book.")),
    ],
)
def test_names_of_other_meaning_are_told_apart(
    check: Callable[..., Report], one: tuple[str, str], other: tuple[str, str]
) -> None:
    """Words of one kind are no synonyms; a description may mark a word, and order tells."""
    report = check({"shop.json": {"tools": [*sound(), tool(*one), tool(*other)]}}, ["C105"])
    assert not report.findings


def test_two_directions_are_told_apart_by_their_names(found: Callable[..., set[str]]) -> None:
    """Names with one relation in two directions differ; other orders of words do not."""
    tools = {"rgb_to_hsl": "Convert a color: RGB, HSL.", "hsl_to_rgb": "Convert a color: HSL, RGB."}
    assert found(*(tool(*one) for one in tools.items()), select=["C"]) == set()
    tools = {"color_convert": "Convert a color.", "convert_color": "Convert any color."}
    assert found(*(tool(*one) for one in tools.items()), select=["C"]) != set()


def test_names_are_counted_with_the_prefix_of_clients(check: Callable[..., Report]) -> None:
    """A name is too long if `mcp__SERVER__NAME` is; where it is too long alone, N101 says so."""
    names = ["n" * 48, "n" * 49, "n" * 65]
    tools = [*sound(), *(tool(name, f"{GOOD} {len(name)}") for name in names)]
    found = check({"bookshop.json": {"server": "book-shop", "tools": tools}}, ["N101", "N105"])
    assert [(one.code, len(one.excerpt)) for one in found.findings] == [("N105", 49), ("N101", 65)]
    assert "has 65 characters with the prefix" in found.findings[0].message


def test_the_same_tool_of_two_sources_is_a_duplicate(check: Callable[..., Report]) -> None:
    """Tools of one name and one description count as one only within a source."""
    files = {
        "one.json": {"server": "one", "tools": [*sound(), tool("buyer_notify", GOOD)]},
        "two.json": {"server": "two", "tools": [tool("buyer_notify", GOOD)]},
    }
    assert [one.code for one in check(files).findings if one.code[0] == "C"] == ["C102"]


def test_aliases_belong_to_one_tool(check: Callable[..., Report]) -> None:
    """An alias of two tools, and one that is the name of another, are errors at their entries."""
    hints = """\
tools:
  order_search:
    aliases: [look it up]
  parcel_track:
    aliases:
      - "Look it up"
      - invoice pdf
"""
    files = {"shop.json": {"tools": sound()}, "shop.hints.yaml": hints}
    findings = {one.code: one for one in check(files, ["C103", "C104"]).findings}
    assert findings.keys() == {"C103", "C104"}
    places = {code: str(one.place).rpartition("yaml:")[2] for code, one in findings.items()}
    assert places == {"C103": "3:15", "C104": "7:9"}


def test_relations_lead_to_tools_and_end(check: Callable[..., Report]) -> None:
    """Dead relations, hints without a tool and circles are reported where they stand."""
    hints = """\
tools:
  order_search:
    nextSteps: [order_cancel]
  order_cancel:
    nextSteps: [order_search]
    related: [order_cancle]
  parcel_trak:
    keywords: [box]
"""
    files = {"shop.json": {"tools": sound()}, "shop.hints.yaml": hints}
    findings = check(files, ["L101", "L102", "L104"]).findings
    places = {one.code: str(one.place).rpartition("yaml:")[2] for one in findings}
    assert places == {"L101": "6:15", "L102": "4:3", "L104": "7:3"}


def test_labels_that_differ_by_a_slip_are_reported(check: Callable[..., Report]) -> None:
    """A rare category that is spelt like a frequent one is a slip; two words are not."""
    hints = """\
tools:
  "order_*": {categories: [Orders]}
  invoice_pdf: {categories: [Ordres], tags: [pdf]}
  parcel_track: {categories: [Shipping], tags: [PDF]}
"""
    files = {"shop.json": {"tools": sound()}, "shop.hints.yaml": hints}
    findings = check(files, ["T"]).findings
    assert [(one.code, one.excerpt) for one in findings] == [("T101", "Ordres"), ("T102", "pdf")]


def test_stuffed_hints_are_reported(check: Callable[..., Report]) -> None:
    """A tool that claims every word is reported, one with a few words is not."""
    many = ", ".join(f"word{n}" for n in range(40))
    hints = f"tools:\n  invoice_pdf:\n    keywords: [{many}]\n  order_search: {{keywords: [buy]}}\n"
    files = {"shop.json": {"tools": sound()}, "shop.hints.yaml": hints}
    assert [one.tool_id for one in check(files, ["K"]).findings] == ["invoice_pdf"]


def test_every_rule_has_a_page_of_its_own() -> None:
    """Codes, names and summaries are complete, and no two are the same."""
    assert len({rule.name for rule in RULES.values()}) == len(RULES)
    for code, rule in RULES.items():
        assert re.fullmatch("[A-Z][0-9]{3}", code)
        assert rule.summary.endswith(".")
        assert min(len(rule.why), len(rule.remedy)) >= 10
        assert rule.severity in {"error", "warning", "info"}
        assert rule.is_default == (rule.severity != "info")


def test_an_opening_is_sought_no_further_than_a_query_is_long() -> None:
    """Of thousands of sentences without words, as many are read as the longest query holds."""
    before = stems.cache_info()
    query = opening("#\n" * 5_000)
    after = stems.cache_info()
    assert len(query) == 300
    assert after.hits + after.misses - before.hits - before.misses <= len(query)


def test_references_are_percent_encoded(found: Callable[..., set[str]]) -> None:
    """The pointer of a reference is the fragment of a URI: `%20` in it is a blank."""
    one = with_schema(**{"$ref": "#/$defs/whole%20article"})
    one["inputSchema"]["$defs"] = {"whole article": {"type": "integer"}}
    assert "S105" not in found(one, select=["S105"])
    one["inputSchema"]["$defs"] = {"whole": {"article": {"type": "integer"}}}
    assert "S105" in found(one, select=["S105"])


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string", "default": True}, "the default true"),
        ({"type": "string", "default": {"a": [None]}}, 'the default {"a": [null]}'),
        ({"type": ["integer", {"a": False}]}, 'the type {"a": false}'),
        ({"type": "integer", "default": "no"}, "the default 'no'"),
    ],
)
def test_values_are_shown_as_json(
    schema: dict[str, Any], shown: str, check: Callable[..., Report]
) -> None:
    """Authors of schemas write JSON, not Python."""
    findings = check({"shop.json": {"tools": [with_schema(**schema)]}}, ["S"]).findings
    assert any(shown in one.message for one in findings)


def test_a_bound_may_be_too_great_for_a_float() -> None:
    """Hosts and modules have whole numbers of any size."""
    bounds = {"type": "integer", "minimum": 10**400, "maximum": 5}
    schema = {"type": "object", "properties": {"article": bounds}}
    given = read_sources([Tool("", "shop", "buyer_notify", description=GOOD, input_schema=schema)])
    report = lint(assemble(given, texts=False), selection=Selection.of(["S106"]))
    assert [one.code for one in report.findings] == ["S106"]


def test_names_that_differ_by_case_or_separators(found: Callable[..., set[str]]) -> None:
    """Names of one source that are written alike are reported; other names are not."""
    written = [tool(name, f"{GOOD} {name}") for name in ("pay_bill", "payBill", "pay_bills")]
    assert found(*written[:2], select=["N103"]) == {"N103"}
    assert found(written[0], written[2], select=["N103"]) == set()


@pytest.mark.parametrize(("field", "most"), [("aliases", 25), ("keywords", 12)])
def test_hints_that_claim_too_much(check: Callable[..., Report], field: str, most: int) -> None:
    """More aliases, and more keywords with one word, than a tool needs are reported."""
    for count, expected in ((most, []), (most + 1, ["K101"])):
        hints = {"tools": {"order_search": {field: [f"order {n}x" for n in range(count)]}}}
        files = {"shop.json": {"tools": sound()}, "shop.hints.json": hints}
        assert [one.code for one in check(files, ["K101"]).findings] == expected


def test_titles_and_aliases_that_find_other_tools(check: Callable[..., Report]) -> None:
    """A title and an alias with which a search finds another tool first are reported."""
    box = tool("box_open", "Show a box with what is inside, to anybody.", title="Invoice PDF")
    hints = {"box_open": {"aliases": ["parcel track", "crate"]}}
    hints["invoice_pdf"] = {"aliases": ["invoice pdf"]}
    files = {"shop.json": {"tools": [*sound(), box]}, "shop.hints.json": {"tools": hints}}
    findings = check(files, ["R102", "R103"]).findings
    hiders = {one.code: (one.tool_id, one.others[0].tool_id) for one in findings}
    assert hiders == {"R102": ("box_open", "invoice_pdf"), "R103": ("box_open", "parcel_track")}


def test_a_tool_without_relations_among_related_ones(check: Callable[..., Report]) -> None:
    """A tool is an orphan if nearly all tools of its source are related, and it is not."""
    things = [tool(f"thing_{n}", f"Do number {n}.") for n in range(9)]
    related = {one["name"]: {"related": ["order_search"]} for one in (*sound()[1:], *things)}
    tools = [*sound(), *things, tool("zebra", "Draw stripes.", inputSchema={"type": "object"})]
    for hints, expected in ((related, ["zebra"]), ({}, [])):
        files = {"shop.json": {"tools": tools}, "shop.hints.json": {"tools": hints}}
        assert [one.tool_id for one in check(files, ["L103"]).findings] == expected


def test_every_rule_has_a_test() -> None:
    """Each rule is named by a test."""
    files = Path(__file__).parents[1].rglob("test_*.py")
    tests = "".join(file.read_text("utf-8") for file in files)
    assert {*RULES} <= {*re.findall(r'"([A-Z]\d{3})"', tests)}
