"""Tools from the functions of Python modules: type hints by pydantic, docstrings parsed."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError

from mcpg.catalog.hints import HINT_KEYS, hints_from, unusable_keys
from mcpg.catalog.json_text import repair_surrogates
from mcpg.catalog.manifest import ManifestTools
from mcpg.catalog.model import Hints, Tool
from mcpg.errors import Code, Diagnostic, NotFoundError, SourceError, UsageError, warning
from mcpg.sources.authoring import read_mark
from mcpg.sources.model import PYTHON
from mcpg.text.json_values import JsonObject
from mcpg.text.library_errors import install_command


def import_named_module(argument: str) -> tuple[ModuleType, str]:
    """Import the module that `python:module:attribute` names; give it and the attribute's name.

    The current folder counts, as it does for `python -m`. What the module prints goes to standard
    error.
    """
    _, _, named = argument.partition(":")
    name, _, attribute = named.partition(":")
    parts = [*name.split("."), *(attribute.split(".") if attribute else ())]
    if not all(part.isidentifier() for part in parts) or named.endswith(":"):
        remedy = "write python:package.module or python:package.module:attribute"
        raise UsageError("not the name of a module", place=argument, remedy=remedy)
    try:
        folder = str(Path.cwd())
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            with contextlib.redirect_stdout(sys.stderr):
                return importlib.import_module(name), attribute
        finally:
            with contextlib.suppress(ValueError):
                sys.path.remove(folder)
    except (Exception, SystemExit) as fault:
        missing = fault.name if isinstance(fault, ModuleNotFoundError) else None
        if missing and (name == missing or name.startswith(f"{missing}.")):
            message = f"no module named {missing!r}"
            remedy = "check the name, install it, or run where it is"
            raise NotFoundError(message, place=argument, remedy=remedy) from fault
        said = ""
        with contextlib.suppress(Exception):  # even the error's text comes from the module
            said = str(fault)
        what = f"{type(fault).__name__}: {said}" if said else type(fault).__name__
        message = f"importing this module failed: {what}"
        remedy = "check that `python -c 'import ...'` works for it"
        raise SourceError(message, place=argument, remedy=remedy) from fault


def read_python(argument: str, source_id: str | None = None) -> ManifestTools:
    """Import a module and read its functions.

    These are the functions that `mcpg.sources.authoring.tool` marks, or, if none is marked, the
    public functions that the module defines; with an attribute, as `python:package.module:name`,
    the function or the functions in that. *source_id* overrides the name of the module.

    Raises:
        NotFoundError: The module or attribute does not exist.
        SourceError: The module cannot be imported, or the named attribute is not a function.
        UsageError: The argument is not the name of a module, or a library is not installed.
    """
    _check_installed(argument)
    module, found = find_functions(argument)
    source = (source_id or "").strip() or module
    return _read(found, source, f"{PYTHON}{module}:")


def find_functions(argument: str) -> tuple[str, Sequence[tuple[str, Callable[..., Any]]]]:
    """Import a module; give its name, and the functions that `read_python` reads."""
    module, attribute = import_named_module(argument)
    if attribute:
        return module.__name__, _find_at(module, attribute, argument)
    members = [(name, member) for name, member in vars(module).items() if _is_function(member)]
    marked = [(name, member) for name, member in members if read_mark(member) is not None]
    own = (
        (name, member)
        for name, member in members
        if not name.startswith("_") and member.__module__ == module.__name__
    )
    return module.__name__, marked or [*own]


def read_functions(functions: Iterable[Callable[..., Any]], source_id: str) -> ManifestTools:
    """Read *functions* that are there already, perhaps marked as tools."""
    _check_installed(source_id)
    named = [(plain_name(function), function) for function in functions]
    return _read(named, source_id, f"{source_id}:")


def _check_installed(place: str) -> None:
    try:
        import docstring_parser  # noqa: F401, PLC0415 - an extra
    except ModuleNotFoundError as fault:
        message = f"reading Python needs the library {fault.name!r}"
        remedy = install_command("python")
        raise UsageError(message, place=place, remedy=remedy) from fault


def _read(
    found: Iterable[tuple[str, Callable[..., Any]]], source: str, prefix: str
) -> ManifestTools:
    tools: list[Tool] = []
    noticed: list[Diagnostic] = []
    for name, function in found:
        place = f"{prefix}{name}"
        try:
            with contextlib.redirect_stdout(sys.stderr):
                tools.append(_describe(function, name, source, place, noticed))
        except Exception as fault:  # noqa: BLE001 - what annotations of others raise is up to them
            message = f"its parameters cannot be described ({type(fault).__name__}); it is left out"
            noticed.append(warning(Code.TOOL_INVALID, message, place))
    return ManifestTools(tuple(tools), tuple(noticed))


def plain_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that *function* wraps if it is an object, such as one of `lru_cache`."""
    found: Callable[..., Any]
    found = inspect.unwrap(function, stop=lambda one: isinstance(one, FunctionType | MethodType))
    return found


def _is_function(member: object) -> bool:
    """Return whether *member* is a function, wraps one, or is marked as a tool."""
    try:
        return callable(member) and (
            read_mark(member) is not None or inspect.isfunction(plain_function(member))
        )
    except Exception:  # noqa: BLE001 - attributes of lazy objects raise anything
        return False


def _find_at(
    module: ModuleType, attribute: str, argument: str
) -> Sequence[tuple[str, Callable[..., Any]]]:
    try:
        found = attrgetter(attribute)(module)
    except AttributeError:
        message = f"the module {module.__name__!r} has no {attribute!r}"
        raise NotFoundError(message, place=argument, remedy="check the name") from None
    functions: Iterable[Any] = found if isinstance(found, list | tuple) else (found,)
    named = [
        (plain_name(function), function)
        for function in functions
        if inspect.isroutine(function) or _is_function(function)
    ]
    if not named:
        message = f"{attribute!r} is neither a function nor a list of functions"
        raise SourceError(message, place=argument, remedy="name a function, or only the module")
    return named


_OWN = ("name", "title", "description")


class _Generator(GenerateJsonSchema):
    """JSON Schema without made-up titles, the same on every run and every machine."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's
        return False

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Emit no warning: a default that JSON cannot express is left out."""

    def encode_default(self, dft: Any) -> Any:
        value = super().encode_default(_in_order(dft, super().encode_default))
        try:
            json.dumps(value, allow_nan=False)
        except ValueError as fault:
            raise PydanticSerializationError(str(fault)) from fault
        return value


def _describe(
    function: Callable[..., Any], name: str, source_id: str, place: str, noticed: list[Diagnostic]
) -> Tool:
    mark = read_mark(function) or {}
    text, about, answer = _read_docstring(function)
    form: Any = plain_function(function)  # its type does not allow a function as a form
    schema = TypeAdapter(form).json_schema(schema_generator=_Generator)
    if schema.get("type") != "object":
        raise TypeError(name)
    for argument, member in schema.get("properties", {}).items():
        if about.get(argument):
            member.setdefault("description", about[argument])
    returned = _return_schema(function, place, noticed)
    if returned is not None and answer:
        returned.setdefault("description", answer)
    return Tool(
        id="",
        source_id=source_id,
        name=tool_name(function, name),
        title=_whole(str(mark.get("title", "")).strip()) or None,
        description=_whole(str(mark.get("description", text))),
        input_schema=_whole({"properties": {}, **schema}),
        output_schema=_whole(returned) if returned else None,
        hints=_hints(function, mark, place, noticed),
        place=place,
    )


def plain_name(function: Callable[..., Any]) -> str:
    """Return the name of *function*, or of its type, since an object may have none."""
    return getattr(function, "__name__", type(function).__name__)


def tool_name(function: Callable[..., Any], name: str) -> str:
    """Return the tool name of *function*, which is called *name* in its module."""
    mark = read_mark(function) or {}
    name = str(mark.get("name", "")).strip() or name
    return str(_whole(name))


def _read_docstring(function: Callable[..., Any]) -> tuple[str, Mapping[str, str], str]:
    """Return the docstring's descriptions of the function, each parameter, and the answer."""
    from docstring_parser import ParseError, parse  # noqa: PLC0415 - an extra

    text = inspect.getdoc(function) or ""
    try:
        parsed = parse(text)
    except ParseError:
        return text, {}, ""
    parts = (parsed.short_description, parsed.long_description)
    about = {one.arg_name: one.description or "" for one in parsed.params}
    answer = parsed.returns.description if parsed.returns else None
    return "\n\n".join(part for part in parts if part), about, answer or ""


def _return_schema(
    function: Callable[..., Any], place: str, noticed: list[Diagnostic]
) -> JsonObject | None:
    try:
        hints = get_type_hints(plain_function(function), include_extras=True)
        annotation = hints.get("return", Any)
        if annotation in (Any, type(None)):
            return None
        adapter = TypeAdapter(annotation)
        return adapter.json_schema(mode="serialization", schema_generator=_Generator) or None
    except Exception as fault:  # noqa: BLE001 - what annotations of others raise is up to them
        message = f"the type that it returns cannot be described ({type(fault).__name__})"
        noticed.append(warning(Code.SCHEMA_INCOMPLETE, message, place))
        return None


def _hints(
    function: Callable[..., Any], mark: Mapping[str, Any], place: str, noticed: list[Diagnostic]
) -> Hints:
    given: JsonObject = {
        key: _in_order(value, str) for key, value in mark.items() if key not in _OWN
    }
    noticed.extend(
        warning(Code.HINT_INVALID, f"{key[:80]!r} is not a known hint", place)
        for key in given
        if key not in HINT_KEYS
    )
    for key in unusable_keys(given):
        part = "an item" if isinstance(given[key], list) else "the value"
        message = f"{part} of {key!r} has the wrong type for this hint and is ignored"
        noticed.append(warning(Code.HINT_INVALID, message, place))
    deprecated = isinstance(getattr(function, "__deprecated__", None), str)
    off = Hints(enabled_by_default=False if deprecated else None)
    known = {key: value for key, value in given.items() if key in HINT_KEYS}
    return Hints.merge(hints_from(_whole(known)), off)


def _in_order(value: Any, plain: Callable[[Any], Any]) -> Any:
    """Make lists of sets, sorted by their members as JSON: Python's own order is by chance."""
    if isinstance(value, set | frozenset):
        return sorted((plain(one) for one in value), key=lambda one: json.dumps(one, default=str))
    if type(value) in (list, tuple):
        return [_in_order(one, plain) for one in value]
    if type(value) is dict:
        return {key: _in_order(one, plain) for key, one in value.items()}
    return value


def _whole(value: Any) -> Any:
    return repair_surrogates(value, "", [])
