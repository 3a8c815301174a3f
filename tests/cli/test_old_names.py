"""Former names work, are in no help, and are noted once."""

from __future__ import annotations

import json
import os
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from typer.main import get_command

import mcpg
from mcpg import EngineServices
from mcpg.cli.app import app
from mcpg.cli.environment import KEYS
from mcpg.cli.old_names import (
    ARGUMENTS,
    OPTIONS,
    SETTING_VALUES,
    SETTINGS,
    VALUES,
    VARIABLES,
    replace_arguments,
    replace_variables,
)
from mcpg.cli.settings import Settings
from mcpg.errors import UsageError
from mcpg.gateway import route
from mcpg.llm import FunctionRewriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

RENAMED = [(name or "search", *pair) for name, pairs in OPTIONS.items() for pair in pairs.items()]
REVALUED = [(*where, *pair) for where, values in VALUES.items() for pair in values.items()]


def help_of(run: Callable[..., Run], command: str) -> str:
    """Return the help of a *command*, of a group that of all its commands."""
    program: Any = get_command(app)
    inner = getattr(program.commands[command], "commands", {})
    words = [(command, name) for name in inner] or [(command,)]
    return "\n".join(run(*one, "--help").out for one in words)


@pytest.mark.parametrize(("command", "old", "new"), RENAMED)
def test_a_former_option_becomes_the_present_one(
    run: Callable[..., Run], command: str, old: str, new: str
) -> None:
    """Help has only the present name; values, joined or not, stay, and so does what follows --."""
    text = help_of(run, command)
    assert re.search(rf"[ /]{new}[ /\n]", text)
    assert not re.search(rf"[ /]{old}[ /\n]", text)
    given = ["--color", "never", command, old, "1", f"{old}={old}", "--", old]
    words, notes = replace_arguments(given)
    assert words == ["--color", "never", command, new, "1", f"{new}={old}", "--", old]
    assert notes == [f"{old} is now {new}"] * 2


@pytest.mark.parametrize(
    ("command", "old", "name"),
    [(one, *pair) for one in ARGUMENTS for pair in ARGUMENTS[one].items()],
)
def test_values_of_a_former_option_become_arguments(
    run: Callable[..., Run], command: str, old: str, name: str
) -> None:
    """They follow the other arguments, joined or not; what follows -- stays."""
    text = help_of(run, command)
    assert f"[{name}]..." in text
    assert f" {old} " not in text
    words, notes = replace_arguments([command, old, "a", "tool", f"{old}=b", "-q"])
    assert words == [command, "tool", "-q", "a", "b"]
    assert notes == [f"{old} {name} is now the argument {name}"] * 2
    assert replace_arguments([command, "--", old, "a"])[0] == [command, "--", old, "a"]
    assert replace_arguments([command, "tool", old])[0] == [command, "tool"]
    assert replace_arguments(["search", old, "a"])[1] == []


@pytest.mark.parametrize(("command", "option", "old", "new"), REVALUED)
def test_a_former_value_becomes_the_present_one(
    run: Callable[..., Run], command: str, option: str, old: str, new: str
) -> None:
    """It does so as the value of its option, or as an argument, and nowhere else."""
    text = help_of(run, command)
    assert new in text
    given = [option, old] if option else [old]
    words, notes = replace_arguments([command, *given])
    assert words == [command, *([option, new] if option else [new])]
    assert notes == [f"{option} {old} is now {new}".strip()]
    assert replace_arguments(["search", command, *given])[1] == []


@pytest.mark.parametrize(("old", "new"), SETTINGS.items())
def test_a_former_setting_is_read_as_the_present_one(
    folder: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    """The present name counts where both are set; mistakes are reported at the former one."""
    assert old not in KEYS
    section, _, key = old.partition(".")
    value = '"local"' if section == "embeddings" else "7"
    value = {"enabled": "true", "model": '"m"', "url": '"http://127.0.0.1"'}.get(key, value)
    (folder / "mcpg.toml").write_text(f"limit = 3\n[{section}]\n{key} = {value}\n", "utf-8")
    found = Settings(folder).find(new)
    assert found is not None
    assert found.value == json.loads(value)
    assert found.origin == f"{folder / 'mcpg.toml'}: {old}"
    assert Settings(folder).find(new)
    assert capsys.readouterr().err == f"{folder / 'mcpg.toml'}: {old} is now {new}\n"
    there, _, now = new.partition(".")
    both = (
        f"[{section}]\n{key} = 0.5\n{'' if there == section else f'[{there}]'}\n{now} = {value}\n"
    )
    (folder / "mcpg.toml").write_text(both, "utf-8")
    found = Settings(folder).find(new)
    assert found is not None
    assert (found.value, found.origin) == (json.loads(value), f"{folder / 'mcpg.toml'}: {new}")
    (folder / "mcpg.toml").write_text(f"limit = 3\n[{section}]\n{key} = []\n", "utf-8")
    with pytest.raises(UsageError) as caught:
        Settings(folder).find(new)
    assert f"mcpg.toml:3: {old}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [(name, *one) for name, v in SETTING_VALUES.items() for one in v.items()],
)
def test_a_former_value_of_a_setting_is_read_as_the_present_one(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, old: str, new: str
) -> None:
    """It is noted with its file."""
    section, _, key = name.partition(".")
    (folder / "mcpg.toml").write_text(f'[{section}]\n{key} = "{old}"\n', "utf-8")
    found = Settings(folder).find(name)
    assert found is not None
    assert found.value == new
    assert capsys.readouterr().err == f"{folder / 'mcpg.toml'}: {name} {old} is now {new}\n"


@pytest.mark.parametrize(("old", "new"), VARIABLES.items())
def test_a_former_variable_sets_the_present_one(old: str, new: str) -> None:
    """The present one counts where both are set."""
    environment = {old: "x"}
    assert replace_variables(environment) == [f"{old} is now {new}"]
    assert environment[new] == "x"
    environment = {old: "x", new: "y"}
    replace_variables(environment)
    assert environment[new] == "y"
    assert new not in os.environ or os.environ[new] != "x"


def test_a_note_is_written_unless_quiet(run: Callable[..., Run], graph: Path) -> None:
    """The answer is that of the present name."""
    present = run("route", "parcel", "--max-tools", "1")
    former = run("route", "parcel", "--tools", "1")
    assert former.out == present.out
    assert former.err == f"--tools is now --max-tools\n{present.err}"
    assert "--tools" not in run("route", "parcel", "--tools", "1", "-q").err
    assert graph.exists()


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("mcpg.bundle", "bundle_of", "build_bundle"),
        ("mcpg.gateway", "Live", "ServerAccess"),
        ("mcpg.gateway", "Invoked", "CallResult"),
        ("mcpg.gateway", "FileGraph", "ReviewedDocuments"),
        ("mcpg.llm", "FunctionNormalizer", "FunctionRewriter"),
    ],
)
def test_modules_have_values_by_former_names(module: str, old: str, new: str) -> None:
    """Unknown names are unknown as ever."""
    home = import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{module}.{old} is now {new}"):
        assert getattr(home, old) is getattr(home, new)
    with pytest.raises(AttributeError, match="no attribute 'Lively'"):
        home.Lively  # noqa: B018 - reading it is the test


def test_python_warns_of_former_names(graph: Path) -> None:
    """A former function, argument or attribute works, with a warning."""
    engine = mcpg.load(graph)
    right = engine.route("parcel", max_categories=1)
    with pytest.warns(DeprecationWarning, match="categories is now max_categories"):
        former: Any = route(engine, "parcel", categories=1)  # type: ignore[arg-type]
    assert former == right
    with pytest.warns(DeprecationWarning, match="RouteResult.suggested is now suggested_matches"):
        assert former.suggested == right.suggested_matches
    options: Any = {"normalize": True}
    with pytest.warns(DeprecationWarning, match="normalize is now rewrite"):
        found = engine.search("parcel", **options)
    assert found == engine.search("parcel", rewrite=True)
    given: Any = {"normalizer": FunctionRewriter(lambda _: "parcel", "a test")}
    with pytest.warns(DeprecationWarning, match="normalizer is now rewriter"):
        assert EngineServices(**given) == EngineServices(rewriter=given["normalizer"])
    with pytest.warns(DeprecationWarning, match="normalizer is now rewriter"):
        assert mcpg.load(graph, **given).search("де посилка", rewrite=True).normalized_query
