"""Which changes of a schema break those who rely on it."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from bounded import calls_in
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcpg.catalog.schema_changes import (
    MOST_CHANGES,
    Compatibility,
    SchemaChange,
    input_changes,
    output_changes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
OPEN = Compatibility.COMPATIBLE, Compatibility.BREAKING
"""What a wider schema means to callers and to readers."""
SHUT = Compatibility.BREAKING, Compatibility.COMPATIBLE
"""What a narrower schema means to callers and to readers."""


def of(schema: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    """Return the schema of an object with *schema* as its property `a`."""
    return {"type": "object", "properties": {"a": schema}, "required": list(required), **more}


def worst(changes: Iterable[SchemaChange]) -> Compatibility | None:
    """Return the gravest verdict."""
    return min((one.verdict for one in changes), key=list(Compatibility).index, default=None)


@pytest.mark.parametrize(
    ("before", "after", "verdicts"),
    [
        (of(TEXT), of(TEXT, "a"), SHUT),
        (of(TEXT, "a"), of(TEXT), OPEN),
        (of(NUMBER), of(WHOLE), SHUT),
        (of(WHOLE), of(NUMBER), OPEN),
        (of(TEXT), of({"type": ["string", "null"]}), OPEN),
        (of(TEXT), of({"anyOf": [TEXT, {"type": "null"}]}), OPEN),
        (of({"anyOf": [TEXT, WHOLE]}), of(TEXT), SHUT),
        (of({"enum": ["x", "y"]}), of({"enum": ["x"]}), SHUT),
        (of({"enum": ["x"]}), of({"enum": ["x", "y"]}), OPEN),
        (of({"enum": ["x"]}), of(TEXT), OPEN),
        (of(TEXT), of({"const": "x"}), SHUT),
        (of({"enum": ["x"]}), of({"oneOf": [{"const": "x"}, {"const": "y"}]}), OPEN),
        (of(TEXT), of(TEXT | {"maxLength": 5}), SHUT),
        (of(WHOLE | {"minimum": 1}), of(WHOLE | {"minimum": 0}), OPEN),
        (of(TEXT), of(TEXT | {"pattern": "^a"}), SHUT),
        (of({"type": "array"}), of({"type": "array", "uniqueItems": True}), SHUT),
        (of({"type": "array", "items": NUMBER}), of({"type": "array", "items": WHOLE}), SHUT),
        (of(of(TEXT)), of(of(TEXT, "a")), SHUT),
        (of(of({"anyOf": [of(TEXT), TEXT]})), of(of({"anyOf": [of(TEXT, "a"), TEXT]})), SHUT),
        (
            of({"$ref": "#/$defs/n"}, **{"$defs": {"n": NUMBER}}),
            of({"$ref": "#/$defs/m"}, **{"$defs": {"m": {"allOf": [WHOLE]}}}),
            SHUT,
        ),
    ],
)
def test_arguments_may_widen_and_results_may_narrow(
    before: dict[str, Any], after: dict[str, Any], verdicts: tuple[Compatibility, Compatibility]
) -> None:
    """A narrower schema breaks callers, a wider one breaks readers."""
    found = worst(input_changes(before, after)), worst(output_changes(before, after))
    assert found == verdicts


@pytest.mark.parametrize(
    ("before", "after", "verdicts"),
    [
        (of(TEXT), {"type": "object"}, (Compatibility.UNDECIDED, Compatibility.BREAKING)),
        (
            of(TEXT),
            {"type": "object", "properties": {}, "additionalProperties": False},
            (Compatibility.BREAKING, Compatibility.BREAKING),
        ),
        ({"type": "object"}, of(TEXT), (Compatibility.COMPATIBLE, Compatibility.COMPATIBLE)),
        ({"type": "object"}, of(TEXT, "a"), (Compatibility.BREAKING, Compatibility.COMPATIBLE)),
        (
            of(TEXT),
            of(TEXT | {"format": "uri"}),
            (Compatibility.UNDECIDED, Compatibility.UNDECIDED),
        ),
        (
            of(TEXT),
            of(TEXT | {"default": "x"}),
            (Compatibility.COMPATIBLE, Compatibility.COMPATIBLE),
        ),
    ],
)
def test_properties_that_come_and_go(
    before: dict[str, Any], after: dict[str, Any], verdicts: tuple[Compatibility, Compatibility]
) -> None:
    """A new argument breaks if it is required, a lost one if it is refused."""
    found = worst(input_changes(before, after)), worst(output_changes(before, after))
    assert found == verdicts


def test_the_same_in_other_words_is_no_change() -> None:
    """The order of keys, references and the two ways to write a union make no difference."""
    before = {"$defs": {"x": TEXT}, **of({"$ref": "#/$defs/x"})}
    assert input_changes(before, of({"allOf": [TEXT]})) == ()
    assert (
        input_changes(of({"type": ["string", "null"]}), of({"anyOf": [{"type": "null"}, TEXT]}))
        == ()
    )
    assert input_changes({"type": "object", "properties": {}}, {}) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"enum": [1, 2]}, {"enum": [2.0, 1.0]}),
        (WHOLE | {"minimum": 1}, WHOLE | {"exclusiveMinimum": 0}),
        (TEXT | {"nullable": True}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"type": "array", "items": [TEXT]}, {"type": "array", "prefixItems": [TEXT]}),
        ({"enum": [True, False]}, {"type": "boolean"}),
        ({"const": None}, {"type": "null"}),
        ({"const": 1}, {"const": 1, "enum": [True, 1]}),
        ({"enum": [None, True, False]}, {"type": ["boolean", "null"]}),
        ({"anyOf": [{"enum": [True, False]}, TEXT]}, {"type": ["boolean", "string"]}),
        ({"anyOf": [TEXT, {"const": None}]}, {"type": ["null", "string"]}),
        ({"allOf": [TEXT, False]}, {"not": {}}),
    ],
)
def test_other_spellings_are_no_change(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Spellings of numbers, bounds, types and tuples make no difference."""
    assert input_changes(of(before), of(after)) == output_changes(of(before), of(after)) == ()


@pytest.mark.parametrize(
    ("before", "after", "verdicts"),
    [
        (of(NUMBER | {"minimum": 0}), of(NUMBER | {"minimum": 0, "exclusiveMinimum": True}), SHUT),
        (of({"const": 1}), of({"const": 1, "type": "string"}), SHUT),
        (of({"const": "x"}), of({"const": "x", "enum": ["y"]}), SHUT),
        (of({"anyOf": [{"enum": [1, 2]}]}), of({"anyOf": [{"enum": [1, 2]}], "enum": [1]}), SHUT),
        (of({"type": "array"}), of({"type": "array", "items": False}), SHUT),
        (of(TEXT), of({"allOf": [False]}), SHUT),
        (of(TEXT), of(TEXT | {"allOf": [False]}), SHUT),
        (of(TEXT), of(TEXT | {"not": NUMBER, "allOf": [{"allOf": [False]}]}), SHUT),
        (
            of(TEXT, additionalProperties=TEXT),
            {"type": "object", "additionalProperties": TEXT, "required": ["a"]},
            (Compatibility.BREAKING, Compatibility.BREAKING),
        ),
        (
            {"type": "object", "additionalProperties": TEXT, "required": ["a"]},
            of(TEXT, additionalProperties=TEXT),
            (Compatibility.COMPATIBLE, Compatibility.BREAKING),
        ),
        (of({"anyOf": [{"const": 1, "type": "string"}]}), of({"anyOf": [TEXT]}), OPEN),
        (
            {"type": "object", "additionalProperties": TEXT},
            of(WHOLE, additionalProperties=TEXT),
            (Compatibility.BREAKING, Compatibility.BREAKING),
        ),
        (
            of({"$ref": "#n"}, **{"$defs": {"n": NUMBER | {"$anchor": "n"}}}),
            of({"$ref": "#n"}, **{"$defs": {"n": WHOLE | {"$anchor": "n"}}}),
            SHUT,
        ),
        (
            of({"oneOf": [TEXT]}),
            of({"oneOf": [TEXT, {"minLength": 3}]}),
            (Compatibility.UNDECIDED, Compatibility.BREAKING),
        ),
    ],
)
def test_changes_that_no_single_keyword_shows(
    before: dict[str, Any], after: dict[str, Any], verdicts: tuple[Compatibility, Compatibility]
) -> None:
    """Flags of draft 4, anchors, further properties and exclusive branches are followed."""
    found = worst(input_changes(before, after)), worst(output_changes(before, after))
    assert found == verdicts


def test_texts_of_branches_are_compared() -> None:
    """A description that changes within a union is a change, for models read it."""
    before, after = (
        of({"anyOf": [TEXT | {"description": text}, {"type": "null"}]}) for text in ("a", "b")
    )
    assert [str(one) for one in input_changes(before, after)] == [
        "a has another description: [-a-]{+b+}"
    ]


def test_values_that_differ_by_type_are_told_apart() -> None:
    """A text that reads as a number is quoted in a message."""
    found = [str(one) for one in input_changes(of({"enum": ["1"]}), of({"enum": [1]}))]
    assert found == ['a no longer accepts "1"', "a also accepts 1"]


def test_a_change_names_its_place_and_its_values() -> None:
    """A change is described by path, words and values."""
    lines = {"type": "array", "items": of({"enum": ["x", "y"]})}
    found = input_changes(of(lines), of({"type": "array", "items": of({"enum": ["y"]})}))
    assert [str(one) for one in found] == ["a[].a no longer accepts x"]


def test_no_output_schema_promises_nothing() -> None:
    """An output schema may be added, and not be taken away."""
    assert worst(output_changes(None, of(TEXT))) is Compatibility.COMPATIBLE
    assert worst(output_changes(of(TEXT), None)) is Compatibility.BREAKING
    assert output_changes(None, None) == ()


def test_recursive_schemas_end() -> None:
    """A schema that holds itself is compared once, and its changes are found."""
    node = {"properties": {"next": {"$ref": "#/$defs/n"}, "name": TEXT}}
    other = {"properties": {"next": {"$ref": "#/$defs/n"}, "name": WHOLE}}
    endless = {"anyOf": [{"$ref": "#/$defs/n"}, TEXT]}
    roots = [of({"$ref": "#/$defs/n"}, **{"$defs": {"n": one}}) for one in (node, other, endless)]
    assert "a.name no longer accepts string" in map(str, input_changes(roots[0], roots[1]))
    assert input_changes(roots[2], roots[2] | {"required": ["a"]})
    assert input_changes(roots[2], of({"$ref": "#"}))


def test_large_schemas_are_bounded() -> None:
    """A schema with more changes than fit lists the first; one too large is undecided."""
    many = {"type": "object", "properties": {f"p{n}": TEXT for n in range(3_000)}}
    none = {"type": "object", "additionalProperties": False}
    assert len(input_changes(many, none)) == MOST_CHANGES
    deep: dict[str, Any] = TEXT
    for _ in range(90):
        deep = of(deep)
    assert worst(input_changes(of(deep), of(of(deep)))) is not None
    wide = {"type": "object", "properties": {f"p{n}": of(TEXT) for n in range(6_000)}}
    assert worst(input_changes(wide, wide | {"title": "x"})) is Compatibility.UNDECIDED


@pytest.mark.parametrize(
    "repeated",
    [
        {"type": "string", "description": " ".join(["a", "b", ".", ",", "b"] * 60)},
        {"enum": [f"v{number}" for number in range(300)]},
        {"anyOf": [TEXT | {"minLength": n, "description": f"{n}. " * 9} for n in range(24)]},
        {"anyOf": [{"required": [f"v{n}{m}" for m in range(12)]} for n in range(24)]},
    ],
    ids=["text", "values", "alternatives", "properties"],
)
def test_the_work_is_bounded_by_the_size_of_the_schemas(repeated: dict[str, Any]) -> None:
    """References to one schema, and alternatives, cost no more steps than the text allows."""
    text = json.dumps(repeated)
    for other in (text.replace(", b", "; a"), text.replace('"v', '"w'), text.replace("min", "max")):
        before, after = (
            {"properties": {f"p{n}": {"$ref": "#/d"} for n in range(99)}, "d": json.loads(one)}
            for one in (text, other)
        )
        assert calls_in(partial(input_changes, before, after)) < MOST_CALLS


def test_what_a_change_shows_is_cut_short() -> None:
    """Paths and changed texts of a message are cut short, however long those of the schema are."""
    before, after = (
        of(of(TEXT | {"description": " ".join(f"{sign}{n}" for n in range(9_999))}))
        for sign in "ab"
    )
    before["properties"]["n" * 9_999], after["properties"]["n" * 9_999] = TEXT, WHOLE
    assert max(len(str(one)) for one in input_changes(before, after)) < 1_500


@pytest.mark.parametrize(
    "broken",
    [
        *({"type": 5}, {"properties": []}, {"enum": 3}, {"items": 1, "type": "array"}),
        *({"allOf": "x"}, {"required": {}}, {"anyOf": [None]}, {"$ref": 7}, {"minimum": "a"}),
        {"$ref": "https://x.example/y"},
    ],
)
def test_broken_schemas_do_no_harm(broken: dict[str, Any]) -> None:
    """What is no valid schema is compared as far as it goes."""
    for one, other in ((of(broken), of(TEXT)), (of(TEXT), of(broken)), (broken, of(TEXT))):
        input_changes(one, other)
        output_changes(one, other)


MOST_CALLS = 1_000_000
"""Twice the calls that the largest of some schemas of a few kilobytes needs."""

SCHEMAS = st.recursive(
    st.sampled_from(
        [
            *({"type": kind} for kind in ("string", "integer", "number", "null", "boolean")),
            *({"enum": ["x", 1]}, {"const": 1}, {}, {"type": ["string", "integer"]}),
            *({"type": "integer", "minimum": 1}, {"type": "string", "maxLength": 1}),
            *({"enum": [True, False]}, {"const": None}, {"enum": [None, False, True, "x"]}, False),
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda one: {"type": "array", "items": one}, inner),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(of, inner),
        st.builds(lambda one: of(one, "a"), inner),
        st.builds(lambda one: of(one, additionalProperties=False), inner),
        st.builds(lambda one: {"allOf": [one, {"title": "x"}]}, inner),
        st.builds(
            lambda one, names: {"additionalProperties": one, "required": names},
            inner,
            st.lists(st.sampled_from(["a", "b"]), max_size=1),
        ),
    ),
    max_leaves=4,
)
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, 2, 1.5, "", "x", "xyz"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["a", "b"]), inner)
    ),
    max_leaves=4,
)


@given(SCHEMAS, SCHEMAS, VALUES)
def test_a_compatible_change_refuses_nothing(
    before: dict[str, Any], after: dict[str, Any], argument: object
) -> None:
    """What the old schema accepts, and the new one refuses, is called breaking or undecided."""
    old, new = of(before), of(after)
    call = {"a": argument}
    accepts_less = Draft202012Validator(old).is_valid(call) and not Draft202012Validator(
        new
    ).is_valid(call)
    if accepts_less:
        assert worst(input_changes(old, new)) in (Compatibility.BREAKING, Compatibility.UNDECIDED)
        assert worst(output_changes(new, old)) in (Compatibility.BREAKING, Compatibility.UNDECIDED)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            of({"not": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": WHOLE}}),
            of({"not": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": TEXT}}),
        ),
        (
            of({"contains": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": of({"$ref": "#/$defs/m"})}}),
            of(
                {"contains": {"$ref": "#/$defs/n"}},
                **{"$defs": {"n": of({"$ref": "#/$defs/m"}), "m": TEXT}},
            ),
        ),
        (
            of({"oneOf": [{"type": "object"}, of(TEXT)]}),
            of({"oneOf": [{"type": "object", "properties": {"b": WHOLE}}, of(TEXT)]}),
        ),
    ],
)
def test_what_is_not_followed_is_undecided(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Schemas that a negation refers to, and properties of exclusive branches, may change all."""
    for one, other in ((before, after), (after, before)):
        assert Compatibility.UNDECIDED in {change.verdict for change in input_changes(one, other)}
        assert Compatibility.UNDECIDED in {change.verdict for change in output_changes(one, other)}
