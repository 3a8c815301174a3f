"""`route`, the former function for `Engine.route`, and the former names of its arguments."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from mcpg.engine import Engine

_ARGUMENTS = {"tools": "max_tools", "in_categories": "categories"}

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def accept_former_arguments(method: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Return *method* with the former names of its arguments, each with a warning."""

    @wraps(method)
    def call(*given: Given.args, **named: Given.kwargs) -> Answer:
        number = (
            {"categories": "max_categories"} if isinstance(named.get("categories"), int) else {}
        )
        for old, new in (number | _ARGUMENTS).items():
            if old in named:
                warnings.warn(f"the argument {old} is now {new}", DeprecationWarning, stacklevel=3)
                named[new] = named.pop(old)
        return method(*given, **named)

    return call


route = accept_former_arguments(Engine.route)
