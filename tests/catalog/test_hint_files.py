from __future__ import annotations

import pytest

from mcpg.catalog.hints import read_hint_rules
from mcpg.catalog.model import HintRule, Hints, ToolExample
from mcpg.errors import Code, SourceError

_YAML = """\
tools:
  git_status:
    aliases: ["стан робочого дерева"]
    keywords: [dirty, staged]
    categories: version-control
    related: git_diff
    nextSteps: [git_add, "git_*"]
    examples: [{input: "what did I change", description: "before a commit"}]
    enabledByDefault: true

  "shop::*":
    tags: [shop]
    next_steps: [pay]
"""


def test_rules_of_a_yaml_file() -> None:
    """Each entry is a rule with its hints, relations and line."""
    rules, noticed = read_hint_rules(_YAML, "a.hints.yaml")
    assert noticed == ()
    assert rules == (
        HintRule(
            pattern="git_status",
            hints=Hints(
                aliases=("стан робочого дерева",),
                keywords=("dirty", "staged"),
                categories=("version-control",),
                examples=(ToolExample("what did I change", None, "before a commit"),),
                enabled_by_default=True,
            ),
            related=("git_diff",),
            next_steps=("git_add", "git_*"),
            place="a.hints.yaml:2",
        ),
        HintRule("shop::*", Hints(tags=("shop",)), (), ("pay",), "a.hints.yaml:11"),
    )


def test_rules_of_a_json_file() -> None:
    """JSON is read as JSON, escapes of any character included, with the lines of its keys."""
    text = '{"tools": {\n "a": {"aliases": "\\ud83d\\ude00"},\n "\\u00e9": {"tags": ["t"]}}}'
    rules, noticed = read_hint_rules(text, "a.hints.json")
    assert [(r.pattern, r.hints.aliases, r.place) for r in rules] == [
        ("a", ("😀",), "a.hints.json:2"),
        ("é", (), "a.hints.json:3"),
    ]
    assert noticed == ()


def test_flow_yaml_is_yaml() -> None:
    """A YAML file may be written in braces."""
    rules, _ = read_hint_rules("{tools: {a: {tags: [t]}}}", "a.hints.yaml")
    assert [rule.pattern for rule in rules] == ["a"]


def test_what_says_nothing_is_named() -> None:
    """Unknown keys, values of a wrong kind and entries without hints are left out with a place."""
    text = """\
tool: 1
tools:
  a:
    keyword: [x]
    zzzz: 1
    costTier: huge
    related: {}
    tags: [a, true]
    nextSteps: [a, {}]
  b: 7
  "": {}
  c:
"""
    rules, noticed = read_hint_rules(text, "h.yaml")
    assert [rule.pattern for rule in rules] == ["a"]
    assert {item.code for item in noticed} == {Code.HINT_INVALID}
    assert [(item.place, item.message) for item in noticed] == [
        ("h.yaml", "'tool' is not a known hint; did you mean 'tools'?"),
        (
            "h.yaml:3",
            "an item of 'tags' has the wrong type for this hint and is ignored",
        ),
        (
            "h.yaml:3",
            "the value of 'costTier' has the wrong type for this hint and is ignored",
        ),
        (
            "h.yaml:3",
            "the value of 'related' has the wrong type for this hint and is ignored",
        ),
        (
            "h.yaml:3",
            "an item of 'nextSteps' has the wrong type for this hint and is ignored",
        ),
        ("h.yaml:3", "'keyword' is not a known hint; did you mean 'keywords'?"),
        ("h.yaml:3", "'zzzz' is not a known hint"),
        ("h.yaml:10", "the entry 'b' is not a mapping of hints and is ignored"),
        ("h.yaml:11", "the entry '' is not a mapping of hints and is ignored"),
        ("h.yaml:12", "the entry 'c' is not a mapping of hints and is ignored"),
    ]


def test_an_empty_file_is_noticed() -> None:
    """A file that holds nothing is no error."""
    (noticed,) = read_hint_rules("# later\n", "h.yaml")[1]
    assert (noticed.code, noticed.place) == (Code.HINT_INVALID, "h.yaml")
    assert read_hint_rules("tools:\n", "h.yaml") == ((), ())


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        ("tools:\n  a: &x {tags: [t]}\n  b: *x\n", "h.yaml", "h.yaml:2"),
        ("tools:\n  a: !!python/name:os.system\n", "h.yaml", "h.yaml:2"),
        ("tools:\n  a: {}\n  a: {}\n", "h.yaml", "h.yaml:3"),
        ("tools: [a]\n", "h.yaml", "h.yaml"),
        ("aliases: [a]\n", "h.yaml", "h.yaml"),
        ("- a\n", "h.yaml", "h.yaml"),
        ('{"tools": {}} {"tools": {}}', "h.json", "h.json"),
        ('{"tools": {}, "tools": {}}', "h.json", "h.json"),
        ('{"tools": {}', "h.json", "h.json:1:13"),
    ],
)
def test_broken_files_are_refused(text: str, name: str, place: str) -> None:
    """A file that cannot be read as hints is an error with its place."""
    with pytest.raises(SourceError) as caught:
        read_hint_rules(text, name)
    assert caught.value.place == place
