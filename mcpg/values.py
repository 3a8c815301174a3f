"""How values are written: as JSON, as text, and how scores are rounded."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, wraps
from types import MappingProxyType
from typing import Any, ParamSpec, TypeAlias, TypeVar

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"
Given = ParamSpec("Given")
Answer = TypeVar("Answer")

DECIMALS = 9
"""Scores are compared with so many decimals, so that the order of their sums changes no rank."""

SHOWN_DECIMALS = 6
"""Decimals of scores, cosines and metrics in answers and reports."""

TIME_DECIMALS = 3
"""Decimals of times in milliseconds."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n")  # noqa: RUF001 - the signs are Chinese
_FULL_WIDTH = ("。", "！", "？")  # noqa: RUF001 - as above
# Single letters with stops, such as e.g., and short words without a vowel, such as vs.
_ABBREVIATION = (
    r"\b(?:(?:[^\W\d_]\.){2,}|[^\W\d_aeiouyAEIOUY][b-df-hj-np-tv-xz]{1,2}\.)\Z"  # compiled late
)
_SHORTEST = 3

_SCALE = 10.0**DECIMALS
# Beside this number, floats have no digits after the point: adding it rounds to a whole number.
_WITHOUT_FRACTIONS = 1.5 * 2.0**52
# Below it, a scaled score is off by less than a thousandth.
_GREATEST_SCALED = 2.0**43
# Closer to the middle of two whole numbers, the rounding error of the product could decide.
_CLEAR = 0.499


def rename_arguments(
    names: Mapping[str, str], numbers: Mapping[str, str] = MappingProxyType({})
) -> Callable[[Callable[Given, Answer]], Callable[Given, Answer]]:
    """Have a function accept the former *names* of arguments, with a warning.

    Names in *numbers* are former only with a whole number as value.
    """

    def decorate(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
        @wraps(function)
        def call(*given: Given.args, **named: Given.kwargs) -> Answer:
            for old, new in (*numbers.items(), *names.items()):
                if old in named and (old in names or isinstance(named[old], int)):
                    message = f"the argument {old} is now {new}"
                    warnings.warn(message, DeprecationWarning, stacklevel=2)
                    named[new] = named.pop(old)
            return function(*given, **named)

        return call

    return decorate


def find_former(module: str, names: Mapping[str, str], name: str) -> Any:
    """Return the value of a *module* with the former *name*, with a warning."""
    if name not in names:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    message = f"{module}.{name} is now {names[name]}"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return getattr(sys.modules[module], names[name])


def former_name(old: str, new: str) -> property:
    """Return a property that reads the attribute *new* by its former name *old*, with a warning."""

    def read(self: object) -> Any:
        message = f"{type(self).__name__}.{old} is now {new}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(read)


def format_count(number: int, one: str, many: str = "") -> str:
    """Return *number* and its noun: `1 tool`, `2 tools`; *many* if it takes more than an `s`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def list_some(names: Sequence[str], most: int) -> str:
    """Return the first *most* of *names*, and how many more there are: `a, b and 3 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of *text*, which end at a sign or a blank line."""
    return [*filter(None, map(str.strip, _SENTENCE_END.split(text)))]


def first_sentence(text: str) -> str:
    """Return the opening of *text* up to a sentence end, of three words or more.

    A sign that ends a sentence is in the opening; one in code or in an abbreviation is not an end.
    """
    for end in _SENTENCE_END.finditer(text):
        found = text[: end.start()].strip()
        is_ended = end[0].count("\n") > 1 or _ends_sentence(found, text[end.end() : end.end() + 1])
        if is_ended and (len(found.split()) >= _SHORTEST or found.endswith(_FULL_WIDTH)):
            return found
    return text.strip()


def _ends_sentence(found: str, following: str) -> bool:
    if found.endswith(_FULL_WIDTH):
        return True
    is_abbreviated = re.search(_ABBREVIATION, found) is not None
    return not (following.islower() or is_abbreviated or found.count("`") % 2)


def join_choices(names: Iterable[str]) -> str:
    """Return *names*, at least one, as a choice: `a, b or c`."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def round_score(score: float) -> float:
    """Return `round(score, DECIMALS)`, in a quarter of the time for most scores.

    If the scaled score is clearly closest to one whole number, the quotient of that and the
    scale is the float closest to the decimal number, as `round` returns.
    """
    scaled = score * _SCALE
    whole = scaled + _WITHOUT_FRACTIONS - _WITHOUT_FRACTIONS
    if 0.0 < scaled < _GREATEST_SCALED and -_CLEAR < scaled - whole < _CLEAR:
        return whole / _SCALE
    return round(score, DECIMALS)


def round_shown_score(score: float) -> float:
    """Return *score* with the six decimals that are shown."""
    return round(score, SHOWN_DECIMALS)


def score_text(score: float) -> str:
    """Return *score*, in [0, 1], with two significant digits; only exactly 1 is `1.00`."""
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
    thing: Any,
    names: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    *,
    rounded: Collection[str] = (),
    nulls: Collection[str] = (),
) -> dict[str, Any]:
    """Return a value object as a JSON object: its members in the order of the class, in camelCase.

    Values within it are converted in the same way, tuples to lists, and keys of mappings stay. What
    differs from this is merged in by the caller: `to_json(thing) | {"score": round(...)}` keeps the
    place of a member, and `{"schema": ...} | to_json(thing)` puts one first.

    Here and in values within, *names* are JSON names of members that are called otherwise, those
    *rounded* have the six decimals that are shown, and *nulls* are `null` when they are empty.
    Members *without* are left out of *thing* itself.
    """
    known = names or {}

    def convert(part: Any, name: str = "") -> Any:
        if name in nulls and not part:
            return None
        if isinstance(part, float) and name in rounded:
            return round_shown_score(part)
        if part is None or isinstance(part, (str, int, float)):
            return part
        if hasattr(part, "__match_args__"):
            return to_json(part, names, rounded=rounded, nulls=nulls)
        if isinstance(part, (tuple, list)):
            return [convert(one) for one in part]
        return {key: convert(one) for key, one in part.items()}

    return {
        known.get(name) or _camel_case(name): convert(getattr(thing, name), name)
        for name in type(thing).__match_args__
        if name not in without
    }


@cache
def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
