"""Importing a module that somebody else wrote."""

from __future__ import annotations

import contextlib
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mcpg.errors import NotFoundError, SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def import_module_of(argument: str) -> tuple[ModuleType, str]:
    """Import the module that `python:module:attribute` names; give it and the attribute's name.

    The current folder counts, as it does for `python -m`. What the module prints goes to standard
    error.

    Raises:
        NotFoundError: There is no such module.
        SourceError: It cannot be imported.
        UsageError: The argument is no name of a module.
    """
    _, _, named = argument.partition(":")
    name, _, attribute = named.partition(":")
    parts = [*name.split("."), *(attribute.split(".") if attribute else ())]
    if not all(part.isidentifier() for part in parts) or named.endswith(":"):
        remedy = "write python:package.module or python:package.module:attribute"
        raise UsageError("this names no module", place=argument, remedy=remedy)
    try:
        with _current_folder_first(), contextlib.redirect_stdout(sys.stderr):
            return importlib.import_module(name), attribute
    except ModuleNotFoundError as fault:
        if fault.name and (name == fault.name or name.startswith(f"{fault.name}.")):
            message = f"there is no module {fault.name!r}"
            remedy = "check the name, install it, or run where it is"
            raise NotFoundError(message, place=argument, remedy=remedy) from fault
        raise _failed(fault, argument) from fault
    except (Exception, SystemExit) as fault:
        raise _failed(fault, argument) from fault


def _failed(fault: BaseException, argument: str) -> SourceError:
    try:
        said = str(fault)
    except Exception:  # noqa: BLE001 - even saying what is wrong is up to the module
        said = ""
    what = f"{type(fault).__name__}: {said}" if said else type(fault).__name__
    message = f"importing this module fails with {what}"
    remedy = "see that `python -c 'import ...'` works for it"
    return SourceError(message, place=argument, remedy=remedy)


@contextlib.contextmanager
def _current_folder_first() -> Iterator[None]:
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)
