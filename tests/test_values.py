from __future__ import annotations

import copy
import pickle

import pytest

from mcpg.values import replace, value


@value
class Point:
    """A place on a sheet."""

    x: int
    y: int = 2
    names: tuple[str, ...] = ()

    def shifted(self) -> Point:
        """Give the point one to the right."""
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


def test_methods_stay() -> None:
    """A class keeps its methods, and replaced members leave the old value alone."""
    point = Point(1)

    assert (point.shifted(), point) == (Point(2), Point(1))
