"""What is suppressed is not reported; what suppresses nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lint.conftest import sound, tool

from mcpg.errors import NotFoundError, UsageError
from mcpg.lint import RULES, Selection, find_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.lint import Report

BARE = [*sound(), tool("buyer_notify", ""), tool("buyer_find", "")]


def test_hints_suppress_for_a_tool(check: Callable[..., Report]) -> None:
    """The entry of a hints file suppresses codes for its tool, and for no other."""
    hints = "tools:\n  buyer_notify: {lintIgnore: [D1]}\n"
    report = check({"shop.json": {"tools": BARE}, "shop.hints.yaml": hints})
    assert [one.tool_id for one in report.findings] == ["buyer_find"]
    assert report.suppressed == 1


def test_documents_suppress_for_their_tool(check: Callable[..., Report]) -> None:
    """The front matter of a document suppresses codes, in either spelling of the key."""
    for key in ("lintIgnore", "lint_ignore"):
        text = (
            f"---\nname: buyer_notify\nsource: shop\ndescription: Notifies it\n{key}: D102\n---\n"
        )
        assert not check({"shop.json": {"tools": sound()}, "notify.md": text}).findings


def test_codes_that_do_not_exist_are_findings(check: Callable[..., Report]) -> None:
    """A suppression of no rule is an error at its entry; one of nothing is for information."""
    hints = "tools:\n  order_search:\n    lintIgnore: [D999, P102]\n"
    files = {"shop.json": {"tools": sound()}, "shop.hints.yaml": hints}
    (one,) = check(files).findings
    assert (one.code, str(one.place).rpartition("yaml:")[2]) == ("M101", "3:18")
    assert [one.code for one in check(files, ["M"]).findings] == ["M101", "M102"]


def test_a_selection_is_of_codes_beginnings_and_names() -> None:
    """The longer pattern decides; without a selection the default rules are checked."""
    assert Selection.of().codes == {code for code, rule in RULES.items() if rule.is_default}
    assert Selection.of(["ALL"]).codes == set(RULES)
    assert Selection.of(["D101,missing-description"]).codes == {"D101"}
    assert "D101" not in Selection.of(["D"], ["D101"])
    assert Selection.of(["D101"], ["D"]).codes == {"D101"}
    assert "P103" in Selection.of(["P", "X"], ["X101"])


def test_unknown_codes_are_refused_with_advice() -> None:
    """A slip in a code or a name names the nearest rule."""
    with pytest.raises(UsageError, match="no rule is called 'D99'"):
        Selection.of(["D99"])
    with pytest.raises(NotFoundError) as fault:
        find_rule("mising-description")
    assert fault.value.remedy == "did you mean missing-description?"
    assert find_rule("d101") is RULES["D101"]
