"""Usage errors of the command-line library, in the words of mcpg."""

from __future__ import annotations

import re
from typing import Any

from mcpg.cli.parameters import LIST_FORMAT
from mcpg.cli.terminal import cut, either, one_line
from mcpg.library_errors import pydantic_expected
from mcpg.suggestions import suggest

_SHOWN, _LONGEST = 60, 160
_OWN = "Value error, "
_QUOTED = re.compile(r"'([^']*)'")
_CHOICE = re.compile(r"(.*) is not one of (.*)", re.DOTALL)
_PATTERNS = tuple(
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (r"Option '(.+?)' requires an argument.*", r"\1 needs a value"),
        (r"Option '(.+?)' requires (\d+) arguments.*", r"\1 needs \2 values"),
        (r"Option '(.+?)' does not take a value.*", r"\1 takes no value"),
        (r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)\.?", r"unexpected argument '\1'"),
    )
)
_UNKNOWN_COMMAND = re.compile(r"(No such command '(.*?)')\..*", re.DOTALL)


def command_path(fault: Any) -> str:
    """Return the command that a usage error is about, such as `mcpg search`."""
    context = getattr(fault, "ctx", None)
    return context.command_path if context is not None else "mcpg"


def usage_words(fault: Any) -> tuple[str, str]:
    """Return what is wrong with a command line, and the remedy.

    Args:
        fault: A usage error of Typer.
    """
    see_help = f"see `{command_path(fault)} --help`"
    if hasattr(fault, "possibilities"):
        return _unknown_option(fault, see_help)
    if getattr(fault, "param", None) is not None:
        return _wrong_value(fault, see_help)
    message = one_line(str(fault.format_message()))
    for pattern, words in _PATTERNS:
        if (found := pattern.fullmatch(message)) is not None:
            return cut(found.expand(words), _LONGEST), see_help
    if (found := _UNKNOWN_COMMAND.fullmatch(message)) is not None:
        near = suggest(found[2], fault.ctx.command.list_commands(fault.ctx), 2)
        return _sentence(found[1]), f"did you mean {either(near)}?" if near else see_help
    return _sentence(message), see_help


def _unknown_option(fault: Any, see_help: str) -> tuple[str, str]:
    known = [one for it in fault.ctx.command.params for one in (*it.opts, *it.secondary_opts)]
    begun = [one for one in known if one.startswith(fault.option_name)]
    near = begun[:2] or suggest(fault.option_name, known, 2)
    return _sentence(fault.message), f"did you mean {either(near)}?" if near else see_help


def _wrong_value(fault: Any, see_help: str) -> tuple[str, str]:
    parameter, message = fault.param, str(fault.message or "")
    is_option = parameter.param_type_name == "option"
    name = max(parameter.opts, key=len) if is_option else parameter.metavar or parameter.name
    if not message:
        return f"missing {'option' if is_option else 'argument'} {name}", see_help
    choice = _CHOICE.fullmatch(message.removeprefix(_OWN))
    if choice is not None:
        value, known = choice[1].strip("'\""), _QUOTED.findall(choice[2])
        near = suggest(value, known)
        advice = f"did you mean {LIST_FORMAT.resolve_synonym(near[0])}?" if near else see_help
        named = [one for one in known if LIST_FORMAT.resolve_synonym(one) not in {*known} - {one}]
        return f"{name} cannot be {_quote_text(value)}: use {either(named)}", advice
    cause = fault.__cause__
    wrong = cause.errors()[0] if hasattr(cause, "errors") else {"type": ""}
    expected = pydantic_expected(wrong)
    if expected:
        return f"{name} needs {expected}, found {_quote_text(str(wrong['input']))}", see_help
    return f"{name}: {_sentence(message)}", see_help


def _quote_text(text: str) -> str:
    return repr(cut(one_line(text), _SHOWN))


def _sentence(text: str) -> str:
    text = text.replace(_OWN, "")
    return text[:1].lower() + text[1:].rstrip(".")
