"""What is kept of relations from one build to the next."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from builders import make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.caching.build_cache import BuildCache, StoredBuildCache
from mcpg.catalog.catalog import Catalog, build_catalog
from mcpg.catalog.model import Hints
from mcpg.relations.infer import infer
from mcpg.text import lexicon
from mcpg.text.json_values import WrittenNumber

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.caching.build_cache import ResultKind
    from mcpg.catalog.model import Tool

WORDS = ("the", "order", "user", "refund", "created", "get_user", "der", "und", "die", "\ud800")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
VERBS = ("get", "list", "create", "delete", "search", "über")
NOUNS = ("order", "orders", "user", "refund", "order_item")
FIELDS = ("order_id", "user_id", "id", "refund")
READS: st.SearchStrategy[bool | None] = st.sampled_from((None, True, False))


@st.composite
def tools(draw: st.DrawFn) -> Tool:
    """Make a tool of one of three servers."""
    members = draw(st.dictionaries(st.sampled_from(FIELDS), TEXTS, max_size=3))
    fields: dict[str, Any] = {
        field: {"type": "string", "description": text} for field, text in members.items()
    }
    required = draw(st.lists(st.sampled_from(sorted(members)), unique=True)) if members else []
    name = f"{draw(st.sampled_from(VERBS))}_{draw(st.sampled_from(NOUNS))}"
    return replace(
        make_tool(name, source_id=draw(st.sampled_from(("shop", "desk", "alone")))),
        id="",
        description=draw(TEXTS),
        input_schema={"type": "object", "properties": fields, "required": required},
        output_schema={"type": "object", "properties": fields} if draw(st.booleans()) else None,
        hints=Hints(read_only=draw(READS), categories=tuple(draw(TEXTS).split()[:1])),
    )


CATALOGUES = st.lists(tools(), max_size=12).map(build_catalog)


@settings(max_examples=60, deadline=None)
@given(st.lists(CATALOGUES, min_size=2, max_size=3))
def test_what_is_kept_of_other_catalogues_changes_no_relation(
    catalogues: list[Catalog],
) -> None:
    """Whatever was related before, tools are related as if nothing were kept."""
    memo = StoredBuildCache()
    for catalog in catalogues:
        assert infer(catalog, memo) == infer(catalog)
        memo = memo.make_next()
        assert infer(catalog, memo) == infer(catalog)


class Counting(BuildCache):
    """Counts what has to be computed beside another cache.

    Attributes:
        computed: How many results of each kind were computed.
    """

    keeps = True

    def __init__(self, memo: BuildCache) -> None:
        self._memo = memo
        self.computed: Counter[str] = Counter()

    def recall(
        self, kind: ResultKind[Any], given: Callable[[], bytes], work: Callable[[], Any]
    ) -> Any:
        """Return the result of *work*, and count it if it is called."""

        def counted() -> Any:
            self.computed[kind.name] += 1
            return work()

        return self._memo.recall(kind, given, counted)


def shop(count: int) -> list[Tool]:
    """Make tools of *count* servers, three each."""
    return [
        make_tool(f"{verb}_order", source_id=f"shop{number}", description="Is of the shop.")
        for number in range(count)
        for verb in ("get", "list", "create")
    ]


def test_a_change_is_related_anew_where_it_is() -> None:
    """Of 200 servers, only the one that has another description is weighed again."""
    before = shop(200)
    memo = StoredBuildCache()
    infer(build_catalog(before), memo)
    after = [replace(before[0], description="Shows what was ordered."), *before[1:]]
    counting = Counting(memo.make_next())
    infer(build_catalog(after), counting)

    assert counting.computed == {"relations": 1}


def test_a_schema_with_a_number_as_it_was_written_is_known_again() -> None:
    """What is kept of a server does not depend on how values are held in memory."""
    schema = {"type": "object", "properties": {"price": {"minimum": WrittenNumber("1.10")}}}
    catalog = build_catalog([replace(one, input_schema=schema) for one in shop(1)])
    memo = StoredBuildCache()
    infer(catalog, memo)
    counting = Counting(memo.make_next())

    assert infer(catalog, counting) == infer(catalog)
    assert not counting.computed


def test_what_was_weighed_without_a_word_table_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fault of the table of operations does not outlive its repair."""
    catalog, memo = build_catalog(shop(1)), StoredBuildCache()
    monkeypatch.setattr(lexicon, "faults", {"english.operations": "gone"})
    infer(catalog, memo)
    monkeypatch.undo()
    counting = Counting(memo.make_next())
    infer(catalog, counting)

    assert counting.computed["relations"] == 1
