"""What answers questions about items beside tools, such as symbols of source code.

Answerers are registered as plugins: `mcpg.plugins.hooks.Answerer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from mcpg.ask.mentions import SymbolNames, Token
from mcpg.ask.model import Answer, CodeScope, Mention
from mcpg.errors import Diagnostic
from mcpg.index import Index
from mcpg.plugins.hooks import Answerer
from mcpg.plugins.registry import Registered, load_reference, own_items, package_plugins

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class SymbolQuestion:
    """A question, as an answerer sees it.

    Attributes:
        intent: What it wants, one of `mcpg.ask.INTENTS`.
        symbols: The names among these that answerers know.
        scope: The source code that is meant; `None` for all.
    """

    intent: str
    text: str
    tokens: tuple[Token, ...]
    mentions: tuple[Mention, ...]
    symbols: tuple[str, ...]
    scope: CodeScope | None
    limit: int


@dataclass(frozen=True, slots=True)
class SymbolAnswers:
    """The answers to a question.

    Attributes:
        direction: Of relations, the direction that was looked at, one of `mcpg.ask.Direction`.
    """

    answers: tuple[Answer, ...] = ()
    direction: str = ""


class SymbolAnswerer(SymbolNames, Protocol):
    """Answers questions about symbols of one index."""

    def answer(self, question: SymbolQuestion) -> SymbolAnswers:
        """Answer a question: one that names symbols, or a search."""

    def leads(self, direction: str, name: str, scope: CodeScope | None) -> bool:
        """Return whether anything is related in a *direction* to the symbol *name*."""

    def homes(self) -> set[tuple[str, str]]:
        """Return the repositories and branches that the symbols are from."""


def _make(answerer: Answerer, index: Index) -> SymbolAnswerer:
    made: SymbolAnswerer = load_reference(answerer.make)(index)
    return made


class SymbolAnswerers:
    """All answerers of our rooms and of other packages, as one; packages that fail are left out.

    Each reads the index on demand. `diagnostics` has what failed.
    """

    def __init__(self, index: Index) -> None:
        own = [Registered("", _make(one, index)) for one in own_items(Answerer)]
        self._answerers: list[Registered[SymbolAnswerer]] = own
        packages = package_plugins()
        self.diagnostics = packages.diagnostics
        for one in packages.items(Answerer):
            made = one.attempt(partial(_make, one.item, index))
            if isinstance(made, Diagnostic):
                self.diagnostics = (*self.diagnostics, made)
            else:
                self._answerers.append(Registered(one.owner, made))

    def has(self, name: str) -> bool:
        return any(self._ask(lambda one: one.has(name)))

    def near(self, name: str) -> str:
        return next(filter(None, self._ask(lambda one: one.near(name))), "")

    def imports(self, name: str) -> bool:
        return any(self._ask(lambda one: one.imports(name)))

    def answer(self, question: SymbolQuestion) -> SymbolAnswers:
        found = list(self._ask(lambda one: one.answer(question)))
        answers = tuple(answer for one in found for answer in one.answers)
        return SymbolAnswers(answers, next((one.direction for one in found if one.direction), ""))

    def leads(self, direction: str, name: str, scope: CodeScope | None) -> bool:
        return any(self._ask(lambda one: one.leads(direction, name, scope)))

    def homes(self) -> set[tuple[str, str]]:
        return set().union(*self._ask(lambda one: one.homes()))

    def _ask(self, ask: Callable[[SymbolAnswerer], Value]) -> Iterable[Value]:
        for one in [*self._answerers]:
            if not one.owner:
                yield ask(one.item)
                continue
            answer = one.attempt(partial(ask, one.item))
            if isinstance(answer, Diagnostic):
                self._answerers.remove(one)
                self.diagnostics = (*self.diagnostics, answer)
            else:
                yield answer
