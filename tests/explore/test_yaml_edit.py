"""Edits of YAML text: what is added is meant, and everything else stays."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mcpg.errors import InputError, OutputError
from mcpg.review.authored import YamlText

TEXT = """\
# What the manifest cannot say.
tools:
  a:   # about a
    aliases:
      - one  # first
      - 'two'
      # nothing more
    keywords: [x, y,   # why
      z]  # end

  # before b
  b: {aliases: q}
  c:
# foot
"""


def test_a_list_grows_at_its_end() -> None:
    """A further item is a further line of a block, and stands before the bracket of a flow."""
    document = YamlText(TEXT, "h").with_items(("tools", "a", "aliases"), ["drei: ja"])
    document = document.with_items(("tools", "a", "keywords"), ["w"])
    assert document.text == TEXT.replace(
        "      - 'two'\n", "      - 'two'\n      - \"drei: ja\"\n"
    ).replace("z]", 'z, "w"]')


def test_one_value_becomes_a_list() -> None:
    """A list that is written as one value is a list of two afterwards."""
    document = YamlText(TEXT, "h").with_items(("tools", "b", "aliases"), ["r"])
    assert document.text == TEXT.replace("aliases: q", 'aliases: ["q", "r"]')


def test_members_follow_the_last_one() -> None:
    """A further key goes below the last line of its mapping, before comments about what follows."""
    document = YamlText(TEXT, "h").with_member(("tools", "a"), "enabledByDefault", value=True)
    assert document.text == TEXT.replace("# end\n", "# end\n    enabledByDefault: true\n")


def test_an_empty_mapping_gets_lines() -> None:
    """A key without a value gets its members below itself, a new one behind all others."""
    document = YamlText(TEXT, "h").with_member(("tools", "c"), "keywords", ["k"])
    document = document.with_member(("tools",), "yes", {"aliases": ["é"]})
    assert document.text == TEXT.replace(
        "  c:\n", '  c:\n    keywords: ["k"]\n  "yes":\n    aliases: ["é"]\n'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'tools:\n  i:\n    aliases: ["a"]\n'),
        ("# only\n", '# only\ntools:\n  i:\n    aliases: ["a"]\n'),
        ("# only", '# only\ntools:\n  i:\n    aliases: ["a"]\n'),
        ("---\n", '---\ntools:\n  i:\n    aliases: ["a"]\n'),
    ],
)
def test_an_empty_text_gets_a_first_member(before: str, after: str) -> None:
    """A file without a value keeps its comments and gets one."""
    assert YamlText(before, "h").with_member((), "tools", {"i": {"aliases": ["a"]}}).text == after


@pytest.mark.parametrize("empty", ["tools:\n", "tools: {}\n", "tools: ~", "tools: null # none\n"])
def test_every_way_to_write_nothing_can_be_added_to(empty: str) -> None:
    """However an empty mapping is written, a member of it is one afterwards."""
    document = YamlText(empty, "h").with_member(("tools",), "i", {"aliases": ["a"]})
    assert document.value == {"tools": {"i": {"aliases": ["a"]}}}


def test_windows_line_ends_stay() -> None:
    """New lines end as the lines of the file do."""
    document = YamlText("tools:\r\n  a:\r\n    tags: [x]\r\n", "h")
    added = document.with_member(("tools",), "b", {"tags": ["y"]})
    assert added.text == 'tools:\r\n  a:\r\n    tags: [x]\r\n  b:\r\n    tags: ["y"]\r\n'


def test_what_is_taken_out_leaves_the_rest() -> None:
    """An entry goes with its lines; the last one leaves an empty list."""
    document = YamlText("# c\n- query: a # 1\n  relevant: [x]\n- {query: b}\n", "q")
    assert document.without((0,)).text == "# c\n- {query: b}\n"
    assert document.without((0,)).without((0,)).value == []


def test_what_cannot_be_read_cannot_be_edited() -> None:
    """Anchors and broken YAML are refused before anything is written."""
    for broken in ("a: &x 1\nb: *x\n", "a: [", "a: 1\na: 2\n"):
        with pytest.raises(InputError):
            YamlText(broken, "h")


def test_an_edit_that_would_mean_something_else_is_refused() -> None:
    """Where the position of an edit is not what it seems, nothing is written."""
    document = YamlText("? a\n:\n", "h")
    with pytest.raises(OutputError, match="layout") as fault:
        document.with_member(("a",), "k", ["v"])
    assert fault.value.remedy is not None


texts = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=12)
keys = st.text(st.sampled_from("abcyno #:-'\"é"), min_size=1, max_size=6)
scalars = st.one_of(texts, st.integers(-99, 99), st.booleans(), st.none())
entries = st.dictionaries(keys, st.one_of(scalars, st.lists(texts, max_size=3)), max_size=4)
files = st.dictionaries(keys, entries, min_size=1, max_size=4)


@given(
    files, st.booleans(), st.sampled_from([None, True, False]), keys, st.lists(texts, min_size=1)
)
def test_an_edit_means_what_it_says_and_keeps_every_comment(
    value: dict[str, Any], has_comments: bool, style: bool | None, key: str, items: list[str]
) -> None:
    """For any file in any style: the new value is right, and no comment is lost."""
    text = yaml.safe_dump(value, allow_unicode=True, default_flow_style=style, width=40)
    if has_comments:
        text = "# top\n" + text + "# foot\n"
    document = YamlText(text, "h")
    expected = copy.deepcopy(document.value)
    name = next(iter(value))
    assert isinstance(expected, dict)
    entry: Any = expected[name]
    before = entry.get(key)
    if isinstance(before, dict) or not isinstance(entry, dict):
        return
    try:
        if key in entry:
            edited = document.with_items((name, key), items)
            known = before if isinstance(before, list) else [] if before is None else [before]
            entry[key] = [*known, *items]
        else:
            edited = document.with_member((name,), key, items)
            entry[key] = items
    except OutputError:
        return  # refused, and nothing lost
    assert edited.value == expected
    if has_comments:
        assert edited.text.startswith("# top\n")
        assert "# foot" in edited.text
