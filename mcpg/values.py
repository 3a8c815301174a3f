"""Value objects for the search path, and the decimals of numbers.

Value objects are frozen and slotted, at a fraction of the cost to import: the `dataclasses` module
takes longer to import than Python takes to start, and compiles source code for every class. What a
cold search imports therefore uses `@value`, everything else `@dataclass(frozen=True, slots=True)`;
type checkers take the one for the other.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar, TypeVar, dataclass_transform

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


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Make a class of annotated members, with or without defaults, a class of frozen values.

    Values are made from positional or named members, equal when class and members are, hashable
    when their members are, and can be copied and pickled. The class must inherit from nothing, and
    its methods must not call `super()`, because the class is made anew to have slots.
    """
    names = tuple(cls.__annotations__)
    members = {key: part for key, part in cls.__dict__.items() if key not in (*names, *_UNWANTED)}
    members["__slots__"] = members["__match_args__"] = names
    members["_defaults"] = {name: getattr(cls, name) for name in names if hasattr(cls, name)}
    made: Any = type(cls.__name__, (_Value,), {**members, "__qualname__": cls.__qualname__})
    made._setters = tuple(getattr(made, name).__set__ for name in names)  # noqa: SLF001
    return made  # type: ignore[no-any-return]


_UNWANTED = ("__dict__", "__weakref__")


def replace(old: T, **changes: object) -> T:
    """Give a copy of the value *old* with other members."""
    parts: dict[str, Any] = {name: getattr(old, name) for name in type(old).__match_args__}  # type: ignore[attr-defined]
    return type(old)(**{**parts, **changes})


class _Value:
    """What all values can do."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]
    _defaults: ClassVar[Mapping[str, object]]
    _setters: ClassVar[tuple[Callable[[object, object], None], ...]]

    def __init__(self, *given: object, **named: object) -> None:
        setters = self._setters
        if named or len(given) != len(setters):
            given = self._completed(given, named)
        for setter, part in zip(setters, given):  # noqa: B905 - they are as many; `strict` takes as long as the rest
            setter(self, part)

    def _completed(self, given: tuple[object, ...], named: dict[str, object]) -> tuple[object, ...]:
        names = self.__match_args__
        placed = dict(zip(names, given, strict=False))
        parts = {**self._defaults, **placed, **named}
        if len(given) > len(names) or placed.keys() & named or parts.keys() ^ set(names):
            raise TypeError(f"{type(self).__name__} takes {', '.join(names)}, each once")
        return tuple(parts[name] for name in names)

    def _parts(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        parts = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__qualname__}({', '.join(parts)})"

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), self._parts()

    def __setattr__(self, name: str, _part: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen")
