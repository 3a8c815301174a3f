"""Plugins of other packages: what they add, and that a broken one harms nothing."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcpg.plugins.hooks import HOOKS, Plugin
from mcpg.plugins.registry import ROOMS

if TYPE_CHECKING:
    from conftest import Site

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/plugins.md").read_text("utf-8")


def block(language: str) -> str:
    """Return the block of code in a *language* that the page shows."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture
def shop(site: Site) -> Site:
    """Install the plugin of the page."""
    project = tomllib.loads(block("toml"))["project"]
    ((name, value),) = project["entry-points"]["mcpg.plugins"].items()
    site.install("shop_plugin", block("python"), value)
    assert name == "shop"
    return site


def test_the_example_of_the_page_works(shop: Site) -> None:
    """What the page shows of its plugin is what the commands print."""
    commands = re.split(r"^\$ mcpg ", block("text"), flags=re.MULTILINE)[1:]
    assert len(commands) > 2
    for command in commands:
        line, _, shown = command.partition("\n")
        words = [one.strip('"') for one in re.findall(r'"[^"]*"|\S+', line)]
        done = shop.run(*words)
        assert (done.stderr, done.stdout, done.returncode) == ("", shown, 0)


def test_help_lists_commands_of_packages_without_importing_them(shop: Site) -> None:
    """They stand below our own, whose order is as it was."""
    lines = shop.run("--help").stdout.splitlines()
    listed = [line.split()[0] for line in lines if re.match(r"  [a-z]+ +\S", line)]
    own = ["search", "explain", "explore", "ask", "show", "validate"]
    own += ["learn", "publish", "invoke", "serve", "login", "graph"]
    assert [one for one in listed if one in own] == own
    assert listed[listed.index("graph") + 1] == "count"
    assert "Count the tools of a bundle." in shop.run("count", "--help").stdout


def test_tools_of_a_plugin_are_bundled_like_others(shop: Site) -> None:
    """The name of the source is what follows the colon, and equal tools give equal bundles."""
    shop.run("bundle", "shop:bakery", "-o", "shop.mdld")
    listed = shop.run("list", "-b", "shop.mdld", "--format", "ids").stdout.split()
    found = json.loads(shop.run("list", "-b", "shop.mdld", "--format", "json").stdout)["tools"]
    assert {one["sourceId"] for one in found} == {"bakery"}
    assert listed == ["place_order", "show_order"]
    assert shop.run("bundle", "shop:bakery", "-o", "shop.mdld", "--check").returncode == 0


BROKEN = {
    "missing_import": ("import no_such_module", "ModuleNotFoundError"),
    "not_python": ("PLUGIN = (", "SyntaxError"),
    "no_plugin": ("PLUGIN = 3", "TypeError"),
    "no_attribute": ("", "AttributeError"),
    "exiting": ("raise SystemExit(3)", "SystemExit"),
    "raising": ("def PLUGIN():\n    raise LookupError('what')", "LookupError: what"),
    "wrong_item": (
        "from mcpg.plugins.hooks import Plugin\nPLUGIN = Plugin(commands=('count',))",
        "TypeError",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_is_reported_and_skipped(shop: Site, name: str) -> None:
    """It fails no command, and a plugin beside it works."""
    code, says = BROKEN[name]
    shop.install(name, code)

    made = shop.run("bundle", "shop:bakery", "-o", "shop.mdld")
    shown = shop.run("--help")
    counted = shop.run("count", "shop.mdld")

    for done in (made, shown, counted):
        assert done.returncode == 0
        assert f"warning[plugin_failed]: the plugin {name!r} failed" in done.stderr
        assert says in done.stderr
        assert "Traceback" not in done.stderr
    assert counted.stdout == "2 tools\n"
    assert shop.run("search", "order", "-b", "shop.mdld").stderr.count("plugin_failed") == 0


FAILING = """
from mcpg.errors import SourceError
from mcpg.plugins.hooks import Answerer, Command, DoctorCheck, Plugin, SourceKind

def fails(*_):
    raise ZeroDivisionError("by nought")

def refuses(request):
    raise SourceError("the shop is closed", place=request.argument, remedy="come back")

PLUGIN = Plugin(
    commands=(Command("crash", "Crash.", "no_such_module"),),
    source_kinds=(
        SourceKind("odd", fails, "failing:fails"),
        SourceKind("bad", lambda one: one.startswith("bad:"), "failing:fails"),
        SourceKind("none", lambda one: one.startswith("none:"), "failing:nothing"),
        SourceKind("shut", lambda one: one.startswith("shut:"), "failing:refuses"),
    ),
    answerers=(Answerer("odd", "failing:fails"),),
    checks=(DoctorCheck("odd", "failing:fails"),),
)
"""


def test_what_fails_at_work_is_reported(shop: Site) -> None:
    """An error of any part of a plugin is told, whatever it is."""
    shop.install("failing", FAILING)
    read = shop.run("bundle", "shop:bakery", "bad:one", "none:one", "-o", "shop.mdld")
    assert read.returncode == 0
    assert "ZeroDivisionError: by nought" in read.stderr
    assert "error[source_load_failed]: the plugin 'failing' cannot read it (bad:one)" in read.stderr
    assert "(none:one)" in read.stderr

    refused = shop.run("bundle", "shut:one", "-o", "none.mdld")
    assert refused.returncode == 2
    assert "error: shut:one: the shop is closed" in refused.stderr

    unknown = shop.run("crash")
    assert unknown.returncode == 2
    assert "no such command 'crash'" in unknown.stderr
    assert "plugin_failed" in unknown.stderr

    asked = shop.run("ask", "an order", "-b", "shop.mdld", "--format", "json")
    assert asked.returncode == 0
    codes = [one["code"] for one in json.loads(asked.stdout)["diagnostics"]]
    assert "plugin_failed" in codes

    checks = {
        one["name"]: one["status"]
        for one in json.loads(shop.run("doctor", "--format", "json").stdout)["checks"]
    }
    assert checks["odd"] == "failed"


def test_doctor_names_a_broken_plugin(site: Site) -> None:
    """Its check fails."""
    site.install("broken", "import no_such_module")
    done = site.run("doctor", "--format", "json")
    found = [one for one in json.loads(done.stdout)["checks"] if one["name"] == "plugins"]
    assert [one["status"] for one in found] == ["failed"]


@pytest.mark.parametrize("module", ROOMS)
def test_the_table_of_rooms_says_what_they_register(module: str) -> None:
    """Its hooks are those of which a room registers something."""
    plugin = import_module(module).PLUGIN
    assert isinstance(plugin, Plugin)
    filled = {hook for hook in HOOKS.values() if getattr(plugin, hook)}
    assert filled == set(ROOMS[module])
    assert all(
        isinstance(one, kind) for kind, hook in HOOKS.items() for one in getattr(plugin, hook)
    )
