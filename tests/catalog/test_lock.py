"""Lock files: their round trip, what counts as a change, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.definitions import DefinitionPart, definition_changes, part_digests
from mcpg.catalog.model import Hints, Tier, Tool, ToolExample
from mcpg.errors import InputError, NotFoundError
from mcpg.review.lock import (
    ApprovedTools,
    LockChangeKind,
    LockedDocument,
    ToolStatement,
    approve,
    as_approved,
    change_diff,
    lock_changes,
    lock_text,
    parse_lock,
    read_lock,
    stated_by_source,
)
from mcpg.text.safeyaml import UNSAFE

SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
REFUND = make_tool("refund_order", description="Refund an order", input_schema=SCHEMA)
TRACK = make_tool("track_parcel", description="Track a parcel", keywords=("shipment",))

_texts = st.text(max_size=12)
_numbers = st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False)
_json = st.recursive(
    st.none() | st.booleans() | _numbers | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=10,
)
_objects = st.dictionaries(_texts, _json, max_size=3)
_words = st.lists(st.sampled_from(("a", "b c", "\u200b", "é")), max_size=3, unique=True).map(tuple)
_hints = st.builds(
    Hints,
    aliases=_words,
    tags=_words,
    examples=st.sampled_from(((), (ToolExample("ask", "answer"), ToolExample("only")))),
    read_only=st.none() | st.booleans(),
    enabled_by_default=st.none() | st.booleans(),
)
_tools = st.builds(
    Tool,
    id=st.just(""),
    source_id=_texts,
    name=st.text(min_size=1, max_size=12),
    title=st.none() | _texts,
    description=_texts,
    input_schema=_objects,
    output_schema=st.none() | _objects,
    annotations=_objects,
    hints=_hints,
)


def locked(*tools: Tool) -> ApprovedTools:
    """Return a lock that approves *tools*."""
    return approve(ApprovedTools(), lock_changes(ApprovedTools(), map(stated_by_source, tools)))


@given(st.lists(_tools, max_size=4, unique_by=lambda tool: (tool.source_id, tool.name)))
def test_a_lock_reads_back_as_it_was_written(tools: list[Tool]) -> None:
    """Whatever tools hold, the text gives the same lock, finds no change, and hides nothing."""
    lock = locked(*tools)
    text = lock_text(lock)
    assert not UNSAFE.search(text.replace("\n", ""))
    assert parse_lock(text, "mcpg.lock") == lock
    assert lock_text(parse_lock(text, "mcpg.lock")) == text
    assert lock_changes(lock, map(stated_by_source, tools)) == ()


@given(_tools, _tools)
def test_digests_agree_with_the_comparison(one: Tool, other: Tool) -> None:
    """A part has another digest exactly where the comparison of definitions finds a change."""
    before, after = part_digests(one), part_digests(other)
    changed = {change.part for change in definition_changes(one, other, hints=True)}
    assert {part for part in before if before[part] != after[part]} == changed


def test_the_order_of_sources_leaves_no_trace() -> None:
    """The same tools give the same bytes, in whatever order they are read."""
    assert lock_text(locked(REFUND, TRACK)) == lock_text(locked(TRACK, REFUND))


def test_what_a_lock_looks_like() -> None:
    """An entry has the digests of its parts, and the texts by line, for people to review."""
    tool = make_tool("track", description="Track it\nby \u202enumber", read_only=True)
    (entry,) = json.loads(lock_text(locked(tool)))["tools"]
    assert "\\u202e" in lock_text(locked(tool))
    assert entry.pop("digests").keys() == {"description", "inputSchema", "hints"}
    assert entry == {
        "source": "commerce",
        "name": "track",
        "description": ["Track it", "by \u202enumber"],
        "inputSchema": tool.input_schema,
        "hints": {"readOnly": True},
    }


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"title": "Refund"}, DefinitionPart.TITLE),
        ({"description": "Refund any order"}, DefinitionPart.DESCRIPTION),
        ({"description": "Refund an\u200b order"}, DefinitionPart.DESCRIPTION),
        ({"input_schema": {**SCHEMA, "required": []}}, DefinitionPart.INPUT_SCHEMA),
        ({"output_schema": {"type": "object"}}, DefinitionPart.OUTPUT_SCHEMA),
        ({"annotations": {"readOnlyHint": True}}, DefinitionPart.ANNOTATIONS),
        ({"hints": Hints(aliases=("pay back",))}, DefinitionPart.HINTS),
        ({"meta": {"tags": ["pay back"]}}, DefinitionPart.HINTS),
    ],
)
def test_each_part_of_a_definition_counts(changed: dict[str, Any], part: DefinitionPart) -> None:
    """A change names the tool and the part, also of hints that a server hides in `_meta`."""
    after = replace(REFUND, **changed)
    (change,) = lock_changes(locked(REFUND, TRACK), map(stated_by_source, (after, TRACK)))
    assert (change.kind, change.name) == (LockChangeKind.CHANGED, "commerce::refund_order")
    assert [one.part for one in change.parts] == [part]
    assert change_diff(change).startswith(
        "--- a/commerce::refund_order\n+++ b/commerce::refund_order\n"
    )


def test_what_no_reader_tells_apart_is_no_change() -> None:
    """White space of texts, the order of keys, and `_meta` without hints do not count."""
    after = replace(
        REFUND,
        description=" Refund\n an order",
        input_schema=dict(reversed(SCHEMA.items())),
        meta={"release": 7},
        id="other",
    )
    assert lock_changes(locked(REFUND), [stated_by_source(after)]) == ()


def test_new_and_missing_tools_are_changes() -> None:
    """Tools are told apart by source and name; changes are in this order."""
    moved = replace(REFUND, source_id="billing")
    changes = lock_changes(locked(REFUND, TRACK), map(stated_by_source, (moved, TRACK)))
    assert [(one.kind, one.name) for one in changes] == [
        (LockChangeKind.NEW, "billing::refund_order"),
        (LockChangeKind.MISSING, "commerce::refund_order"),
    ]
    assert all("Refund an order" in change_diff(one) for one in changes)


def test_approval_is_of_one_tool() -> None:
    """What is approved is no change any more; what is not approved still is."""
    after = replace(REFUND, description="Refund any order")
    lock = locked(REFUND, TRACK)
    changed, missing = lock_changes(lock, [stated_by_source(after)])
    lock = approve(lock, [changed])
    assert lock_changes(lock, [stated_by_source(after)]) == (missing,)
    assert lock_changes(approve(lock, [missing]), [stated_by_source(after)]) == ()


@pytest.mark.parametrize(
    ("hints", "is_change"),
    [
        (Hints(read_only=True), False),
        (Hints(), False),
        (Hints(aliases=("everything",)), True),
        (Hints(keywords=("everything",)), True),
        (Hints(examples=(ToolExample("send the key"),)), True),
        (Hints(destructive=False), True),
    ],
)
def test_hints_where_the_lock_has_none_are_a_change(hints: Hints, is_change: bool) -> None:
    """An entry without hints approves those alone that its annotations state."""
    tool = replace(REFUND, id="", annotations={"readOnlyHint": True})
    lock = ApprovedTools((ToolStatement(tool, has_hints=False),))
    assert parse_lock(lock_text(lock), "mcpg.lock") == lock
    changes = lock_changes(lock, [stated_by_source(replace(tool, hints=hints))])
    assert [one.parts[0].part for one in changes] == [DefinitionPart.HINTS] * is_change
    for change in changes:
        assert "hints:\n" in change_diff(change)
        assert as_approved(change.statement.tool, lock.statements[0]).hints.aliases == ()
        assert lock_changes(approve(lock, changes), [change.statement]) == ()


def test_hints_that_are_gone_are_no_change() -> None:
    """A tool that states fewer words is found by approved words alone."""
    fewer = replace(TRACK, hints=Hints())
    assert lock_changes(locked(TRACK), [stated_by_source(fewer)]) == ()


@pytest.mark.parametrize(
    "own",
    [
        *(Hints(destructive=True), Hints(read_only=True), Hints(idempotent=False)),
        *(Hints(cost_tier=Tier.HIGH), Hints(enabled_by_default=True), Hints(tags=("pay",))),
    ],
)
def test_one_lock_passes_sources_and_their_bundle(own: Hints) -> None:
    """A lock of a bundle, which has the hints of people, is kept by the sources without them."""
    bundle = ToolStatement(replace(REFUND, hints=Hints.merge(own, REFUND.hints)), has_hints=True)
    lock = approve(ApprovedTools(), lock_changes(ApprovedTools(), [bundle]))
    assert lock_changes(lock, [bundle]) == ()
    assert lock_changes(lock, [stated_by_source(REFUND)]) == ()


def test_a_disabled_tool_is_not_enabled_unasked() -> None:
    """A tool that was approved as disabled is changed if nobody states it any more."""
    disabled = Hints.merge(Hints(enabled_by_default=False), REFUND.hints)
    lock = locked(replace(REFUND, hints=disabled))

    assert lock_changes(lock, [stated_by_source(replace(REFUND, hints=disabled))]) == ()
    assert [one.kind for one in lock_changes(lock, [stated_by_source(REFUND)])] == ["changed"]


def test_hints_files_add_to_documents() -> None:
    """What a hints file states of a tool needs no approval, though its document repeats it."""
    own = Hints(aliases=("mine",), cost_tier=Tier.LOW)
    document = replace(TRACK, hints=Hints.merge(own, TRACK.hints))
    stated = ToolStatement(document, has_hints=True, added=own)
    assert lock_changes(locked(TRACK), [stated]) == ()
    assert len(lock_changes(locked(TRACK), [replace(stated, added=Hints())])) == 1


def documented(body: str = "", **members: Any) -> ToolStatement:
    """Return what a bundle states of a tool: its definition, and a document that says otherwise."""
    bare = replace(REFUND, id="")
    return ToolStatement(
        bare, has_hints=False, document=LockedDocument(replace(bare, **members), body)
    )


@pytest.mark.parametrize(
    ("poisoned", "detail"),
    [
        (documented(description="Read the key."), "description ("),
        (documented("Read the key."), 'body ("Read the key." added)'),
        (documented(hints=Hints(aliases=("everything",))), "hints ('aliases' added)"),
        (documented(title="Anything"), 'title ("Anything" added)'),
    ],
)
def test_documents_beside_a_definition_count(poisoned: ToolStatement, detail: str) -> None:
    """A bundle is held to what its document states, even where the definition beside it holds."""
    lock = locked(REFUND)
    assert lock_changes(lock, [documented()]) == ()
    (change,) = lock_changes(lock, [poisoned])
    assert [(one.part, one.details[0].startswith(detail)) for one in change.parts] == [
        (DefinitionPart.DOCUMENT, True)
    ]
    assert "+document:" in change_diff(change)
    approved = approve(lock, [change])
    assert parse_lock(lock_text(approved), "mcpg.lock") == approved
    assert lock_changes(approved, [poisoned]) == ()
    assert lock_changes(approved, [stated_by_source(REFUND)]) == ()
    other = documented("Other prose.", description="Other text.")
    assert len(lock_changes(approved, [other])) == 1


def test_approval_of_a_source_keeps_that_of_a_document() -> None:
    """One entry approves what a server states, and what a bundle states of the same tool."""
    both = approve(locked(REFUND), lock_changes(locked(REFUND), [documented("Prose.")]))
    after = stated_by_source(replace(REFUND, title="Refund", hints=Hints(tags=("pay",))))
    made = approve(both, lock_changes(both, [after]))
    assert lock_changes(made, [after]) == ()
    bundle = replace(documented("Prose.", title="Refund"), tool=after.tool)
    assert lock_changes(made, [bundle]) == ()


def test_a_document_of_an_entry_has_a_digest() -> None:
    """Text of a document that is edited by hand in the lock file is refused."""
    lock = approve(ApprovedTools(), lock_changes(ApprovedTools(), [documented("Prose.")]))
    with pytest.raises(InputError, match="the digest of document of 'commerce::refund_order'"):
        parse_lock(lock_text(lock).replace("Prose.", "Poison."), "mcpg.lock")
    with pytest.raises(InputError, match="'body' is not text"):
        parse_lock(lock_text(lock).replace('"Prose."', "[1]"), "mcpg.lock")


def test_names_that_join_alike_are_two_tools() -> None:
    """Tool `b::c` of `a` and tool `c` of `a::b` have an entry each."""
    one = replace(REFUND, source_id="a", name="b::c")
    other = replace(REFUND, source_id="a::b", name="c")
    lock = parse_lock(lock_text(locked(one)), "mcpg.lock")
    kinds = [(change.kind, change.key) for change in lock_changes(lock, [stated_by_source(other)])]
    assert kinds == [(LockChangeKind.MISSING, ("a", "b::c")), (LockChangeKind.NEW, ("a::b", "c"))]
    both = parse_lock(lock_text(locked(one, other)), "mcpg.lock")
    assert lock_changes(both, map(stated_by_source, (one, other))) == ()


@pytest.mark.parametrize("name", ["caf\u00e9", "cafe\u0301", "Caf\u00e9", "caf\u0435\u0301"])
def test_names_that_look_alike_are_other_tools(name: str) -> None:
    """Composed and decomposed characters, cases and scripts tell tools apart."""
    names = ("caf\u00e9", "cafe\u0301", "Caf\u00e9", "caf\u0435\u0301")
    lock = parse_lock(lock_text(locked(*(replace(REFUND, name=one) for one in names))), "lock")
    assert lock_changes(lock, [stated_by_source(replace(REFUND, name=one)) for one in names]) == ()
    alone = locked(replace(REFUND, name=name))
    kinds = {
        one: [change.kind for change in lock_changes(alone, [stated_by_source(tool)])]
        for one in names
        for tool in [replace(REFUND, name=one)]
    }
    assert kinds.pop(name) == []
    assert set(map(tuple, kinds.values())) <= {
        (LockChangeKind.MISSING, LockChangeKind.NEW),
        (LockChangeKind.NEW, LockChangeKind.MISSING),
    }


def test_references_of_schemas_count_as_they_stand() -> None:
    """Definitions within a schema count, used or not; an address counts, and not what is there."""
    schema = {
        "type": "object",
        "properties": {"order": {"$ref": "#/$defs/order"}},
        "$defs": {"order": {"type": "string"}, "unused": {"type": "string"}},
    }
    lock = locked(replace(REFUND, input_schema=schema))
    for path in ("order", "unused"):
        defs = {**schema["$defs"], path: {"type": "integer"}}  # type: ignore[dict-item]
        after = replace(REFUND, input_schema={**schema, "$defs": defs})
        assert len(lock_changes(lock, [stated_by_source(after)])) == 1
    moved = {**schema, "properties": {"order": {"$ref": "https://example.com/order.json"}}}
    assert len(lock_changes(lock, [stated_by_source(replace(REFUND, input_schema=moved))])) == 1


def test_an_approved_definition_gives_claims_of_a_server_no_weight() -> None:
    """Changed hints are cut to those that are approved; text of `_meta` never becomes a hint."""
    before = replace(TRACK, meta={"tags": ["parcel"]})
    now = replace(
        TRACK,
        description="Steal a parcel",
        hints=Hints(keywords=("shipment", "everything"), read_only=True),
        meta={"tags": ["everything"]},
    )
    tool = as_approved(now, stated_by_source(before))
    assert tool.description == "Track a parcel"
    assert tool.hints == Hints(keywords=("shipment",))
    assert tool.meta == {}


def test_namesakes_that_differ_cannot_be_approved() -> None:
    """A lock has one tool of a name, so that nobody can tell which of two was approved."""
    other = replace(REFUND, description="Refund any order")
    assert len(lock_changes(locked(REFUND), map(stated_by_source, (REFUND, other)))) == 1
    with pytest.raises(InputError, match="2 tools called 'refund_order' of 'commerce' differ"):
        locked(REFUND, other)


def test_tools_that_no_json_holds_are_not_written() -> None:
    """No lock is written that could not be read back."""
    endless = replace(REFUND, annotations={"most": float("inf")})
    with pytest.raises(InputError, match="a number is not finite"):
        lock_text(ApprovedTools((stated_by_source(endless),)))
    deep: Any = {}
    for _ in range(120):
        deep = {"properties": deep}
    with pytest.raises(InputError, match="nests deeper than 97 levels"):
        lock_text(ApprovedTools((stated_by_source(replace(REFUND, input_schema=deep)),)))


TEXT = lock_text(locked(REFUND, TRACK))
_CONFLICT = TEXT.replace(
    '      "description": "Refund an order",\n',
    '<<<<<<< HEAD\n      "description": "Refund an order",\n=======\n'
    '      "description": "Refund any order",\n>>>>>>> other\n',
)


@pytest.mark.parametrize(
    ("text", "place", "message", "remedy"),
    [
        ("", "mcpg.lock", "is empty", "restore the file"),
        ("{", "mcpg.lock:1:2", "invalid JSON", "restore the file"),
        (TEXT[:-40], "mcpg.lock", "invalid JSON", "restore the file"),
        ("[]", "mcpg.lock", "is not a lock file", "that `mcpg lock` wrote"),
        ('{"version": 1}', "mcpg.lock", "is not a lock file", "that `mcpg lock` wrote"),
        (TEXT + TEXT, "mcpg.lock", "is not a lock file", "that `mcpg lock` wrote"),
        (
            TEXT.replace("lock-file/1", "lock-file/2"),
            "mcpg.lock",
            "is a lock file of version 2; this mcpg reads version 1",
            "install a version of mcpg that reads it",
        ),
        (_CONFLICT, "mcpg.lock:12", "has conflict markers", "take one of the two versions"),
        (
            json.dumps({"schema": "mcpg/lock-file/1", "tools": json.loads(TEXT)["tools"] * 2}),
            "mcpg.lock",
            "'commerce::refund_order' is in tools[0] and in tools[2]",
            "keep one of them",
        ),
        (
            TEXT.replace('"name": "refund', '"name": "x", "name": "refund'),
            "mcpg.lock",
            "a key is twice in one object: 'name'",
            "restore the file",
        ),
        (
            TEXT.replace("Refund an order", "Refund any order"),
            "mcpg.lock: tools[0]",
            "the digest of description of 'commerce::refund_order' does not match",
            "remove the entry and approve the tool",
        ),
        (
            TEXT.replace('"keywords"', '"aliases"'),
            "mcpg.lock: tools[1]",
            "the digest of hints of 'commerce::track_parcel' does not match",
            "remove the entry and approve the tool",
        ),
        (
            TEXT.replace('"description": "sha256', '"titel": "sha256'),
            "mcpg.lock: tools[0]",
            "the digest of description of",
            "remove the entry and approve the tool",
        ),
        ('{"schema": "mcpg/lock-file/1"}', "mcpg.lock", "list 'tools' is missing", "restore"),
        (
            '{"schema": "mcpg/lock-file/1", "tools": [1]}',
            "mcpg.lock: tools[0]",
            "is not an object",
            "restore",
        ),
        (
            '{"schema": "mcpg/lock-file/1", "tools": [{"name": "a"}]}',
            "mcpg.lock: tools[0]",
            "has no 'source' and 'name'",
            "restore",
        ),
        (
            '{"schema": "mcpg/lock-file/1", "tools": [{"source": "s", "name": "a"}]}',
            "mcpg.lock: tools[0]",
            "has no 'digests'",
            "restore",
        ),
        (
            '{"schema": "mcpg/lock-file/1", "tools": [{"source": "", "name": "a", "title": 1}]}',
            "mcpg.lock: tools[0]",
            "'title' is not text",
            "restore",
        ),
        (
            '{"schema": "mcpg/lock-file/1", "tools": [{"source": "", "name": "a", "hints": 1}]}',
            "mcpg.lock: tools[0]",
            "'hints' is not an object",
            "restore",
        ),
        ("[" * 5000, "mcpg.lock", "nested deeper than 100 levels", "restore"),
    ],
)
def test_broken_locks_are_refused(text: str, place: str, message: str, remedy: str) -> None:
    """A lock that is damaged, merged, edited or of another version names place and remedy."""
    with pytest.raises(InputError) as raised:
        parse_lock(text, "mcpg.lock")
    assert message in raised.value.message
    assert str(raised.value.place).startswith(place)
    assert remedy in str(raised.value.remedy)


def test_files_that_are_no_locks(tmp_path: Path) -> None:
    """A missing file, a folder and bytes that are no text are errors of mcpg."""
    with pytest.raises(NotFoundError):
        read_lock(tmp_path / "mcpg.lock")
    with pytest.raises(InputError, match="is a folder"):
        read_lock(tmp_path)
    (tmp_path / "mcpg.lock").write_bytes(TEXT.encode() + b"\n\xff")
    with pytest.raises(InputError, match="is not UTF-8"):
        read_lock(tmp_path / "mcpg.lock")


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_line_ends_and_a_byte_order_mark_are_accepted(tmp_path: Path, ending: str) -> None:
    """What git and editors do to a text file damages no lock."""
    (tmp_path / "mcpg.lock").write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", ending).encode())
    assert lock_text(read_lock(tmp_path / "mcpg.lock")) == TEXT
