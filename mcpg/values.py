"""Value objects for the search path, and how numbers are written.

Value objects are frozen and slotted, at a fraction of the cost to import: the `dataclasses` module
takes longer to import than Python takes to start, and compiles source code for every class. What a
cold search imports therefore uses `@value`, everything else `@dataclass(frozen=True, slots=True)`;
type checkers take the one for the other.

`to_json` writes both kinds as JSON.
"""

from __future__ import annotations

from itertools import repeat, takewhile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any, ClassVar, TypeVar, dataclass_transform

    from mcpg.json_types import JsonValue

    T = TypeVar("T")
else:

    def dataclass_transform(**_: bool) -> Callable[[T], T]:
        """Stand in for what only type checkers read."""
        return lambda decorator: decorator


DECIMALS = 9
"""Scores are compared with so many decimals, so that the order of their sums changes no rank."""

SHOWN_DECIMALS = 6
"""Decimals of scores, cosines and metrics in answers and reports."""

TIME_DECIMALS = 3
"""Decimals of times in milliseconds."""

_SCALE = 10.0**DECIMALS
# Beside this number, floats have no digits after the point: adding it rounds to a whole number.
_WITHOUT_FRACTIONS = 1.5 * 2.0**52
# Below it, a scaled score is off by less than a thousandth.
_GREATEST_SCALED = 2.0**43
# Nearer to the middle of two whole numbers, what it is off by could decide.
_CLEAR = 0.499


def counted(number: int, one: str, many: str = "") -> str:
    """Return *number* and its noun: `1 tool`, `2 tools`; *many* where it takes more than an `s`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


class _Member:
    """What a class says of a member."""

    __slots__ = ("compare", "default", "make")

    def __init__(
        self, default: object, make: Callable[[], object] | None, *, compare: bool
    ) -> None:
        self.default, self.make, self.compare = default, make, compare


def member(
    default: Any = None, default_factory: Callable[[], Any] | None = None, *, compare: bool = True
) -> Any:
    """Declare a member of a value, as `dataclasses.field` does.

    Args:
        default: What it is where it is not given.
        default_factory: Makes that anew for each value; takes precedence.
        compare: Whether it counts when values are compared and hashed.
    """
    return _Member(default, default_factory, compare=compare)


@dataclass_transform(frozen_default=True, field_specifiers=(member,))
def value(cls: type[T]) -> type[T]:
    """Make a class of annotated members, with or without defaults, a class of frozen values.

    Values are made from positional or named members, equal when class and members are, hashable
    when their members are, and can be copied and pickled; `asdict`, `fields` and `replace` of
    `dataclasses` take them. The class must inherit from nothing, and
    its methods must not call `super()`, because the class is made anew to have slots.
    """
    members = dict(cls.__dict__)
    names = members["__slots__"] = members["__match_args__"] = tuple(cls.__annotations__)
    # The class that is made gets its own of both.
    del members["__dict__"], members["__weakref__"]
    defaults = {name: members.pop(name) for name in names if name in members}
    factories, ignored = {}, []
    for name, one in defaults.items():
        if type(one) is _Member:
            defaults[name] = one.default
            if one.make:
                factories[name] = one.make
            if not one.compare:
                ignored.append(name)
    if factories:
        defaults = {name: one for name, one in defaults.items() if name not in factories}
    with_defaults = takewhile(defaults.__contains__, reversed(names))
    members["_defaults"], members["_factories"] = defaults, factories
    members["_last"] = tuple([defaults[name] for name in with_defaults])[::-1]
    members["_compared"] = tuple([name for name in names if name not in ignored])
    members["__qualname__"] = cls.__qualname__
    made: Any = type(cls.__name__, (_Value,), members)
    slots = made.__dict__
    made._setters = tuple([slots[name].__set__ for name in names])  # noqa: SLF001
    return made  # type: ignore[no-any-return]


def replace(old: T, **changes: object) -> T:
    """Return a copy of the value *old* with other members."""
    kind: Any = type(old)
    names = kind.__match_args__
    parts = [*map(getattr, repeat(old), names)]
    for name in changes.keys() & names:
        parts[names.index(name)] = changes.pop(name)
    changed: T = kind(*parts, **changes)
    return changed


def default_of(kind: type, name: str) -> object:
    """Return the default of the member *name* of the class of values *kind*, `None` without one."""
    made: Any = kind
    return made._defaults.get(name)  # noqa: SLF001 - of this module


def compared_members(kind: type) -> tuple[str, ...]:
    """Return the names of those members of the class of values *kind* that are compared."""
    made: Any = kind
    return made._compared  # type: ignore[no-any-return]  # noqa: SLF001 - as above


def round_score(score: float) -> float:
    """Return `round(score, DECIMALS)`, in a quarter of the time for most scores.

    Where the scaled score is clearly nearest to one whole number, the quotient of that and the
    scale is the float that is nearest to the decimal number, which is what `round` returns.
    """
    scaled = score * _SCALE
    whole = scaled + _WITHOUT_FRACTIONS - _WITHOUT_FRACTIONS
    if 0.0 < scaled < _GREATEST_SCALED and -_CLEAR < scaled - whole < _CLEAR:
        return whole / _SCALE
    return round(score, DECIMALS)


def rounded(score: float) -> float:
    """Return *score* with the six decimals that are shown."""
    return round(score, SHOWN_DECIMALS)


def score_text(score: float) -> str:
    """Return *score*, in [0, 1], with two significant digits; only what is certain is `1.00`."""
    if score in (0.0, 1.0):
        return f"{score:.2f}"
    if score < 0.001:  # noqa: PLR2004 - the third decimal is the last that people compare
        return "<0.001"
    decimals = 2 if score >= 0.0995 else 3 if score >= 0.00995 else 4  # noqa: PLR2004 - as above
    return f"{min(score, 0.99):.{decimals}f}"


def format_below(score: float, least: float) -> str:
    """Return *score*, which is below *least*, with the digits that show it: "0.349, below 0.35"."""
    digits = next((one for one in range(2, DECIMALS) if round(score, one) < least), DECIMALS)
    shown = score_text(score) if digits == 2 else f"{score:.{digits}f}"  # noqa: PLR2004 - as above
    return f"{shown}, below {least:.2f}"


def to_json(
    thing: Any, names: Mapping[str, str] | None = None, without: Collection[str] = ()
) -> dict[str, Any]:
    """Return a value object as a JSON object: its members in the order of the class, in camelCase.

    Values within it are written likewise, tuples as lists, and keys of mappings as they are. What
    differs from this is merged in by the caller: `to_json(thing) | {"score": round(...)}` keeps the
    place of a member, and `{"schema": ...} | to_json(thing)` puts one first.

    Args:
        thing: An object of a class made with `@value` or `@dataclass`.
        names: JSON names of members that are called otherwise, here and in values within.
        without: Members of *thing* that are left out.
    """
    known = names or {}
    return {
        known.get(name) or _camel_case[name]: _json_value(getattr(thing, name), known)
        for name in type(thing).__match_args__
        if name not in without
    }


def empty_as_null(members: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return *members* with `None` for those of *names* that are empty: JSON says so by `null`."""
    return members | {name: members[name] or None for name in names}


def _json_value(part: Any, names: Mapping[str, str]) -> JsonValue:
    if part is None or isinstance(part, (str, int, float)):
        return part
    if isinstance(part, (tuple, list)):
        return [_json_value(one, names) for one in part]
    if hasattr(part, "__match_args__"):
        return to_json(part, names)
    return {key: _json_value(one, names) for key, one in part.items()}


class _CamelCase(dict[str, str]):
    """The names of members in camelCase; classes have few of them, and objects many."""

    def __missing__(self, name: str) -> str:
        first, *others = name.split("_")
        found = self[name] = first + "".join(word.capitalize() for word in others)
        return found


_camel_case = _CamelCase()


class _Fields:
    """`__dataclass_fields__`, made when `dataclasses` first needs it."""

    def __get__(self, _: object, cls: type[_Value]) -> Mapping[str, object]:
        from dataclasses import MISSING, field, make_dataclass  # noqa: PLC0415 - a search does without

        def described(name: str) -> Any:
            compare = name in cls._compared
            make = cls._factories.get(name)
            if make:
                return field(default_factory=make, compare=compare)
            return field(default=cls._defaults.get(name, MISSING), compare=compare)

        parts = [
            (name, annotation, described(name)) for name, annotation in cls.__annotations__.items()
        ]
        made: Any = make_dataclass(cls.__name__, parts, kw_only=True)
        found: Mapping[str, object] = made.__dataclass_fields__
        # Compiling a class takes long: from now on the class has them itself.
        type.__setattr__(cls, "__dataclass_fields__", found)
        return found


class _Value:
    """What all values can do."""

    __slots__ = ()
    __dataclass_fields__ = _Fields()
    __match_args__: ClassVar[tuple[str, ...]]
    _defaults: ClassVar[Mapping[str, object]]
    _last: ClassVar[tuple[object, ...]]
    _factories: ClassVar[Mapping[str, Callable[[], object]]]
    _compared: ClassVar[tuple[str, ...]]
    _setters: ClassVar[tuple[Callable[[object, object], None], ...]]

    def __init__(self, *given: object, **named: object) -> None:
        setters = self._setters
        if named or len(given) != len(setters):
            given = self._completed(given, named)
        for setter, part in zip(setters, given):  # noqa: B905 - they are as many; `strict` takes as long as the rest
            setter(self, part)

    def _completed(self, given: tuple[object, ...], named: dict[str, object]) -> tuple[object, ...]:
        names, defaults, last = self.__match_args__, self._defaults, self._last
        missing = len(names) - len(given)
        if not named and 0 < missing <= len(last):  # most values are made so
            return (*given, *last[len(last) - missing :])
        left = names[len(given) :]
        if self._factories:
            made = {name: make() for name, make in self._factories.items() if name not in named}
            defaults = {**defaults, **made}
        try:
            others = [named.pop(name) if name in named else defaults[name] for name in left]
        except KeyError:
            others = []
        if named or len(given) + len(others) != len(names):
            raise TypeError(f"{type(self).__name__} takes {', '.join(names)}, each once")
        return (*given, *others)

    def _parts(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._compared)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self._compared))

    def __repr__(self) -> str:
        parts = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__qualname__}({', '.join(parts)})"

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), self._parts()

    def __setattr__(self, name: str, _part: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen")
