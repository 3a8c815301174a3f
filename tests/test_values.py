from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from dataclasses import replace as dataclass_replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.values import DECIMALS, compared_members, format_below, round_score, to_json


@dataclass(frozen=True, slots=True)
class Point:
    """A place on a sheet."""

    x: int
    y: int = 2
    names: tuple[str, ...] = ()

    def shifted(self) -> Point:
        """Return the point one to the right."""
        return replace(self, x=self.x + 1)


def test_members_are_given_in_order_or_by_name() -> None:
    """Positional, named and default members make equal values."""
    assert Point(1) == Point(1, 2, ()) == Point(x=1, y=2) == Point(1, names=())
    assert Point(1, 3) != Point(1)


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), ((1, 2, (), 4), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((), {"y": 1})],
)
def test_missing_repeated_and_unknown_members_are_refused(
    given: tuple[object, ...], named: dict[str, object]
) -> None:
    """A value has exactly the members of its class."""
    with pytest.raises(TypeError, match="Point takes x, y, names, each once"):
        Point(*given, **named)


def test_values_are_frozen_and_slotted() -> None:
    """Nothing can be assigned, deleted or added."""
    point = Point(1)

    with pytest.raises(AttributeError):
        point.x = 2
    with pytest.raises(AttributeError):
        del point.x
    with pytest.raises(AttributeError):
        point.z = 2
    assert not hasattr(point, "__dict__")


def test_equal_values_hash_alike_and_others_differ() -> None:
    """Equality asks for the same class and the same members."""
    assert len({Point(1), Point(1), Point(2)}) == 2
    assert Point(1) != (1, 2, ())


def test_values_say_what_they_are() -> None:
    """The representation names class and members."""
    assert repr(Point(1)) == "Point(x=1, y=2, names=())"
    assert Point.__doc__ == "A place on a sheet."


def test_values_are_copied_pickled_and_matched() -> None:
    """Values work wherever Python's own do."""
    point = Point(1, names=("a",))

    assert copy.copy(point) == copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point
    match point:
        case Point(x, _, names):
            assert (x, names) == (1, ("a",))


def test_values_are_taken_for_dataclasses() -> None:
    """The functions of `dataclasses` work on values, and on values within them."""
    pair: object = Point(1, 3, (Point(2),))  # type: ignore[arg-type]
    within = {"x": 2, "y": 2, "names": ()}

    assert is_dataclass(Point)
    assert is_dataclass(pair)
    assert not isinstance(pair, type)
    assert asdict(pair) == {"x": 1, "y": 3, "names": (within,)}
    assert dataclass_replace(pair, x=5) == Point(5, 3, (Point(2),))  # type: ignore[arg-type]
    found = {one.name: (one.type, one.default) for one in fields(Point)}
    assert found == {"x": ("int", MISSING), "y": ("int", 2), "names": ("tuple[str, ...]", ())}


@dataclass(frozen=True, slots=True)
class Described:
    """A value whose members are declared."""

    name: str
    marks: dict[str, int] = field(default_factory=dict)
    place: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Placed:
    """A hashable value with a member that is not compared."""

    name: str
    place: str = field(default="", compare=False)


def test_declared_members_are_those_of_a_dataclass() -> None:
    """A factory makes a default for each value; what is not compared is no part of the identity."""
    one, other = Described("a", place="here"), Described("a", place="there")
    one.marks["x"] = 1

    assert other.marks == {}
    assert one != other
    assert other == Described("a", {})
    assert hash(Placed("a")) == hash(Placed("a", "there"))
    assert [slot.compare for slot in fields(Described)] == [True, True, False]
    assert asdict(other) == {"name": "a", "marks": {}, "place": "there"}
    assert compared_members(Described) == ("name", "marks")


def test_fields_are_made_once() -> None:
    """What `dataclasses` reads of a class is compiled at its first use only."""
    assert Leaf.__dataclass_fields__ is Leaf.__dataclass_fields__  # type: ignore[attr-defined]
    assert Leaf.__dataclass_fields__ is not Point.__dataclass_fields__  # type: ignore[attr-defined]


def test_methods_stay() -> None:
    """A class keeps its methods, and replaced members leave the old value alone."""
    point = Point(1)

    assert (point.shifted(), point) == (Point(2), Point(1))


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value within another."""

    source: str
    is_long: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """A dataclass with every kind of member that is written."""

    tool_id: str
    first_leaf: Leaf
    more: tuple[Leaf, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    remark: str | None = None


def test_values_become_json_in_the_order_of_their_members() -> None:
    """Names are in camelCase, values within are objects, tuples lists, keys of mappings kept."""
    written = to_json(Branch("a", Leaf("b"), (Leaf("c", is_long=True),), {"a_b": 0.5}))
    assert json.dumps(written) == (
        '{"toolId": "a", "firstLeaf": {"source": "b", "isLong": false}, '
        '"more": [{"source": "c", "isLong": true}], "weights": {"a_b": 0.5}, "remark": null}'
    )


def test_members_are_renamed_everywhere_and_left_out_at_the_top() -> None:
    """A JSON name counts for values within, too; what is left out is a member of the value."""
    written = to_json(Branch("a", Leaf("b")), {"source": "from"}, ("more", "weights", "is_long"))
    assert written == {"toolId": "a", "firstLeaf": {"from": "b", "isLong": False}, "remark": None}


ties = st.integers(0, 10**14).map(lambda number: (number + 0.5) / 10**DECIMALS)


@given(st.floats(0, 40) | st.floats(allow_nan=False) | ties)
def test_scores_are_rounded_as_python_rounds(score: float) -> None:
    """A score is rounded as by `round`, and so is a tie or a number that is no score."""
    assert repr(round_score(score)) == repr(round(score, DECIMALS))


@pytest.mark.parametrize(
    ("score", "shown"),
    [(0.3, "0.30"), (0.349, "0.349"), (0.346, "0.346"), (0.344, "0.34"), (0.0001, "<0.001")],
)
def test_a_score_has_the_digits_that_show_it_below(score: float, shown: str) -> None:
    """A score just below a threshold does not look like it."""
    assert format_below(score, 0.35) == f"{shown}, below 0.35"


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_score_below_another_is_shown_below_it(one: float, other: float) -> None:
    """No score is said to be below one that looks the same."""
    score, least = round_score(one), round(other, 2)
    if score < least:
        shown, _, bound = format_below(score, least).partition(", below ")
        assert float(shown.removeprefix("<")) <= float(bound)
        assert shown != bound
