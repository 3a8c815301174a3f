"""Python modules, whose functions become tools."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from mcpg.authoring import mark_of
from mcpg.catalog.manifest import ManifestTools
from mcpg.catalog.model import Tool
from mcpg.errors import Code, Diagnostic, NotFoundError, SourceError, UsageError, warning
from mcpg.sources.model import PYTHON


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
        raise UsageError("not the name of a module", place=argument, remedy=remedy)
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


def read_python(argument: str, source_id: str | None = None) -> ManifestTools:
    """Import a module and read its functions.

    These are the functions that `mcpg.authoring.tool` marks, or, where none is marked, the public
    functions that the module defines; with an attribute, the function or the functions that it
    holds.

    Args:
        argument: `python:package.module` or `python:package.module:attribute`.
        source_id: Source id that overrides the name of the module.

    Raises:
        NotFoundError: There is no such module or attribute.
        SourceError: The module cannot be imported, or what is named is no function.
        UsageError: The argument is no name of a module, or a library is not installed.
    """
    describe = _description(argument)
    module, found = functions_of(argument)
    source = (source_id or "").strip() or module
    return _read(found, source, f"{PYTHON}{module}:", describe)


def functions_of(argument: str) -> tuple[str, Sequence[tuple[str, Callable[..., Any]]]]:
    """Import a module; give its name, and the functions that `read_python` reads.

    Raises:
        McpgError: As for `read_python`.
    """
    module, attribute = import_module_of(argument)
    found = _at(module, attribute, argument) if attribute else _of_module(module)
    return module.__name__, found


def read_functions(functions: Iterable[Callable[..., Any]], source_id: str) -> ManifestTools:
    """Read functions that are there already.

    Args:
        functions: The functions, perhaps marked with `mcpg.authoring.tool`.
        source_id: Source id of the tools.

    Raises:
        UsageError: A library is not installed.
    """
    named = [(function.__name__, function) for function in functions]
    return _read(named, source_id, f"{source_id}:", _description(source_id))


def _description(place: str) -> Callable[..., Tool]:
    try:
        from mcpg.sources.python_functions import described  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as fault:
        message = f"reading Python needs the library {fault.name!r}"
        remedy = "pip install 'mcpg-graph[python]'"
        raise UsageError(message, place=place, remedy=remedy) from fault
    return described


def _read(
    found: Iterable[tuple[str, Callable[..., Any]]],
    source: str,
    prefix: str,
    describe: Callable[..., Tool],
) -> ManifestTools:
    tools: list[Tool] = []
    noticed: list[Diagnostic] = []
    for name, function in found:
        place = f"{prefix}{name}"
        try:
            with contextlib.redirect_stdout(sys.stderr):
                tools.append(describe(function, name, source, place, noticed))
        except Exception as fault:  # noqa: BLE001 - what annotations of others raise is up to them
            message = f"its parameters cannot be described ({type(fault).__name__}); it is left out"
            noticed.append(warning(Code.TOOL_INVALID, message, place))
    return ManifestTools(tuple(tools), tuple(noticed))


def _of_module(module: ModuleType) -> Sequence[tuple[str, Callable[..., Any]]]:
    members = [
        (name, member) for name, member in vars(module).items() if inspect.isfunction(member)
    ]
    marked = [(name, member) for name, member in members if mark_of(member) is not None]
    return marked or [
        (name, member)
        for name, member in members
        if not name.startswith("_") and member.__module__ == module.__name__
    ]


def _at(
    module: ModuleType, attribute: str, argument: str
) -> Sequence[tuple[str, Callable[..., Any]]]:
    try:
        found = attrgetter(attribute)(module)
    except AttributeError:
        message = f"the module {module.__name__!r} has no {attribute!r}"
        raise NotFoundError(message, place=argument, remedy="check the name") from None
    functions: Iterable[object] = found if isinstance(found, list | tuple) else (found,)
    named = [(function.__name__, function) for function in functions if inspect.isroutine(function)]
    if not named:
        message = f"{attribute!r} is neither a function nor a list of functions"
        raise SourceError(message, place=argument, remedy="name a function, or the module alone")
    return named
