"""Looks up the hooks of plugins: optional packages at once, other packages only on demand.

A plugin of another package that cannot be imported, is something else, or raises anything is
reported and skipped: it never fails a command, and never makes another plugin unavailable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Generic, TypeVar

from mcpg.errors import Code, Diagnostic, McpgError, warning
from mcpg.plugins.hooks import HOOKS, ItemContent, ItemKind, Plugin, Reference

ROOMS: dict[str, tuple[str, ...]] = {
    "mcpg.code.plugin": ("source_kinds", "item_kinds", "answerers"),
    "mcpg.graph.plugin": ("commands", "graph_readers", "caches"),
    "mcpg.gateway.plugin": ("commands",),
    "mcpg.postgres.plugin": ("commands", "services", "checks"),
    "mcpg.explore.plugin": ("commands",),
    "mcpg.servers.plugin": ("commands", "item_kinds"),
    "mcpg.skills.plugin": ("source_kinds", "item_kinds"),
    "mcpg.telemetry.plugin": ("services", "checks"),
}
"""The optional packages: the module in which each registers its parts, and its hooks.

A module is only imported when one of its hooks is used. `tests/plugins` checks the hooks against
the modules.
"""

GROUP = "mcpg.plugins"
"""The group of entry points in which packages name their plugins."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")

# Exceptions that foreign code may raise, except interruptions.
_ANYTHING = (Exception, SystemExit)
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Registered(Generic[Item]):
    """Something that a plugin of another package, its *owner*, registers."""

    owner: str
    item: Item

    def attempt(self, work: Callable[[], Answer]) -> Answer | Diagnostic:
        """Return the result of *work*, or the diagnostic of an exception that is not of mcpg."""
        try:
            return work()
        except McpgError:
            raise
        except _ANYTHING as fault:
            return report_plugin(self.owner, fault)


@dataclass(frozen=True, slots=True)
class PackagePlugins:
    """The plugins of other packages.

    Attributes:
        plugins: Those that can be used, by the names of their entry points, sorted.
        diagnostics: One for each that cannot.
    """

    plugins: tuple[tuple[str, Plugin], ...]
    diagnostics: tuple[Diagnostic, ...]

    def items(self, kind: type[Item]) -> list[Registered[Item]]:
        """Return what these plugins register of a *kind*, such as `Command`."""
        found = ((name, getattr(plugin, HOOKS[kind])) for name, plugin in self.plugins)
        return [Registered(name, one) for name, items in found for one in items]


def load_reference(reference: str) -> Any:
    """Return what `module:name` names."""
    module, _, name = reference.partition(":")
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def own_items(kind: type[Item]) -> Iterator[Item]:
    """Yield what our rooms register of a *kind*, such as `Command`; others are not imported."""
    hook = HOOKS[kind]
    for module, hooks in ROOMS.items():
        if hook in hooks:
            yield from getattr(import_module(module).PLUGIN, hook)


@cache
def package_plugins() -> PackagePlugins:
    """Return the plugins of other packages; each is imported, once in a process."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, and rarely needed

    plugins: list[tuple[str, Plugin]] = []
    diagnostics: list[Diagnostic] = []
    try:
        points = sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value))
    except _ANYTHING as fault:  # broken metadata of some package
        return PackagePlugins((), (report_plugin("", fault),))
    for point in points:
        try:
            plugins.append((point.name, _open_plugin(point)))
        except _ANYTHING as fault:
            diagnostics.append(report_plugin(point.name, fault))
    return PackagePlugins(tuple(plugins), tuple(diagnostics))


def _open_plugin(point: Any) -> Plugin:
    found = point.load()
    plugin = found() if callable(found) else found
    if not isinstance(plugin, Plugin):
        raise TypeError(f"{point.value} is of type {type(plugin).__name__}, not Plugin")
    for kind, hook in HOOKS.items():
        for one in getattr(plugin, hook):
            if not isinstance(one, kind):
                message = f"{hook} has an item of type {type(one).__name__}, not {kind.__name__}"
                raise TypeError(message)
    return plugin


def report_plugin(name: str, fault: BaseException) -> Diagnostic:
    """Return the diagnostic of a plugin that is skipped because of *fault*."""
    detail = " ".join(f"{type(fault).__name__}: {fault}".split()).removesuffix(":")
    shown = "".join(sign if sign.isprintable() else "?" for sign in detail[:_LONGEST])
    what = f"the plugin {name!r}" if name else "looking for plugins"
    return warning(Code.PLUGIN_FAILED, f"{what} failed and is skipped: {shown}")


@cache
def _own_item_kinds() -> tuple[ItemKind, ...]:
    return tuple(own_items(ItemKind))


def is_item(document: Any, name: str = "") -> bool:
    """Return whether a `SourceDocument` is an item of a plugin, without parsing it.

    With a *name*, only items of that kind of ours count.
    """
    is_ours = any(one.test(document) for one in _own_item_kinds() if name in {"", one.name})
    if is_ours or name:
        return is_ours
    found = (
        one.attempt(lambda one=one: one.item.test(document))  # type: ignore[misc]
        for one in package_plugins().items(ItemKind)
    )
    return any(one is True for one in found)


def call_item_kinds(hook: str, pages: Sequence[Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the results of a *hook*, such as `documents`, of each kind of items for *pages*.

    Kinds without that hook, and those that fail, are left out.
    """
    kinds = [Registered("", one) for one in _own_item_kinds()] if pages else []
    kinds += package_plugins().items(ItemKind) if pages else ()
    for one in kinds:
        reference = getattr(one.item, hook)
        if reference:

            def make(reference: Reference = reference) -> tuple[Any, ...]:
                return tuple(load_reference(reference)(pages))

            found = one.attempt(make) if one.owner else make()
            if not isinstance(found, Diagnostic):
                yield one.item.name, found


def list_item_contents(pages: Sequence[Any]) -> Iterator[ItemContent]:
    """Yield the contents of the items among *pages*, of kinds that are locked and compared."""
    for _, found in call_item_kinds("contents", pages):
        yield from found


def list_item_kinds() -> tuple[ItemKind, ...]:
    """Return the kinds of items of all plugins."""
    others = (one.item for one in package_plugins().items(ItemKind))
    return (*_own_item_kinds(), *others)


def open_items(name: str, pages: Iterable[Any]) -> Any:
    """Return what searches the items *name* among the *pages* of a bundle."""
    own = next((one for one in _own_item_kinds() if one.name == name), None)
    found = own or next((one for one in list_item_kinds() if one.name == name), None)
    if found is None:
        raise LookupError(name)
    return load_reference(found.open)(pages)
