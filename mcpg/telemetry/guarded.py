"""An observer that cannot hurt: what it raises is remembered, and told as a diagnostic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from mcpg.diagnostics import Code, Diagnostic, warning

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import TracebackType

    from mcpg.telemetry.facts import (
        BuildFacts,
        InvokeFacts,
        RouteFacts,
        SearchFacts,
        VectorFacts,
    )
    from mcpg.telemetry.observer import Observer, Tell

Facts = TypeVar("Facts")


class Watch(Generic[Facts]):
    """Stands around one thing that is watched, and takes what came of it.

    Attributes:
        diagnostics: What the observer raised, once the thing has ended.
    """

    def __init__(
        self, observer: Observer, begin: Callable[[Observer], AbstractContextManager[Tell[Facts]]]
    ) -> None:
        """Prepare to stand around what *begin* tells the *observer* of."""
        self._observer = observer
        self._begin = begin
        self._inner: AbstractContextManager[Tell[Facts]] | None = None
        self._tell: Tell[Facts] | None = None
        self.diagnostics: tuple[Diagnostic, ...] = ()

    def __enter__(self) -> Watch[Facts]:
        try:
            inner = self._begin(self._observer)
            self._tell = inner.__enter__()
            self._inner = inner
        except Exception as fault:  # noqa: BLE001 - an observer may raise whatever it likes
            self._failed(fault)
        return self

    def __call__(self, facts: Facts) -> None:
        """Tell the observer what came of it."""
        if self._tell is None:
            return
        try:
            self._tell(facts)
        except Exception as fault:  # noqa: BLE001 - as above
            self._failed(fault)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What the observer's own `__exit__` gives does not count: nothing is ever swallowed.
        if self._inner is None:
            return
        try:
            self._inner.__exit__(kind, raised, trace)
        except Exception as fault:  # noqa: BLE001 - as above
            if fault is not raised:
                self._failed(fault)

    def _failed(self, fault: Exception) -> None:
        # The text of a stranger's error may hold anything, so only its type is told.
        message = f"the observer failed with {type(fault).__name__}; nothing depends on it"
        self.diagnostics = (warning(Code.TELEMETRY_FAILED, message),)


class GuardedObserver:
    """Stands before a host's observer; may be shared between threads."""

    def __init__(self, observer: Observer) -> None:
        """Stand before *observer*."""
        self._observer = observer

    @classmethod
    def of(cls, observer: Observer) -> GuardedObserver:
        """Give *observer* guarded, once."""
        return observer if isinstance(observer, cls) else cls(observer)

    def search(self, query: str, strategy: str) -> Watch[SearchFacts]:
        """See `Observer.search`."""
        return Watch(self._observer, lambda watching: watching.search(query, strategy))

    def build(self) -> Watch[BuildFacts]:
        """See `Observer.build`."""
        return Watch(self._observer, lambda watching: watching.build())

    def vectors(self) -> Watch[VectorFacts]:
        """See `Observer.vectors`."""
        return Watch(self._observer, lambda watching: watching.vectors())

    def route(self, query: str) -> Watch[RouteFacts]:
        """See `Observer.route`."""
        return Watch(self._observer, lambda watching: watching.route(query))

    def invoke(self) -> Watch[InvokeFacts]:
        """See `Observer.invoke`."""
        return Watch(self._observer, lambda watching: watching.invoke())
