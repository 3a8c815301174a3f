"""The options of commands that ask the engine something: declared once, and gathered once."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from mcpg.cli import options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcpg.cli.output import Output
    from mcpg.cli.querying import Question
    from mcpg.cli.settings import Settings

QueryWords = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUERY",
        show_default=False,
        help="What is wanted, in any words, quoted or not; - reads it from standard input. "
        "Without it, all tools are listed by name.",
    ),
]
MinScore = Annotated[
    float | None,
    typer.Option(
        "--min-score",
        metavar="SCORE",
        min=0.0,
        max=1.0,
        help="Leave out matches below this score, in [0, 1]; exit 1 when none is left.",
    ),
]
Abstain = Annotated[
    bool,
    typer.Option(
        "--abstain",
        help="Offer nothing rather than something wrong: no match when the best one is doubtful "
        "(a score below 0.35); exit 1 then.",
    ),
]

_SETTINGS = {
    "bundle": options.BundlePaths,
    "limit": options.Limit,
    "strategy": options.StrategyName,
    "fusion": options.Fusion,
    "embed_with": options.EmbedWith,
    "candidates": options.CandidateSource,
    "normalize": options.Normalize,
}
_SWITCHES = ("include_disabled", "abstain")
# In the order in which help shows them.
_ALL = {
    "query": QueryWords,
    **_SETTINGS,
    "context": options.Context,
    "context_summary": options.ContextSummary,
    "include_disabled": options.IncludeDisabled,
    "min_score": MinScore,
    "abstain": Abstain,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks the engine, as it was given.

    Attributes:
        given: The value of each option, by its name; a name that the command lacks is missing.
    """

    given: Mapping[str, Any]

    @property
    def question(self) -> Question:
        """What is asked."""
        from mcpg.cli.querying import Question, context_of  # noqa: PLC0415 - help needs no engine

        given = self.given
        return Question(
            tuple(given["query"] or ()),
            context_of(given["context"], given["context_summary"]),
            given["include_disabled"],
            given["min_score"],
            given.get("abstain", False),
        )

    @property
    def settings(self) -> Settings:
        """How it is to be answered: what was given first, then environment and files."""
        named = {name: self.given[name] for name in _SETTINGS if name in self.given}
        return options.settings_of(**named)


def command(
    app: typer.Typer, name: str, *, examples: str, without: tuple[str, ...] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as the command *name* and give it the options of a question.

    The function takes an `Output` and an `Asked` first and returns an exit code; its docstring is
    the help. Its own options come after those of the question, of which it has none in *without*.
    """
    shared = {name: kind for name, kind in _ALL.items() if name not in without}

    def register(function: Callable[..., int]) -> Callable[..., int]:
        options.command(app, name, examples=examples)(_with_question(function, shared))
        return function

    return register


def _with_question(function: Callable[..., int], shared: Mapping[str, Any]) -> Callable[..., int]:
    @wraps(function)
    def run(output: Output, **values: Any) -> int:
        asked = Asked({name: values.pop(name) for name in shared})
        return function(output, asked, **values)

    hints = get_type_hints(function, include_extras=True)
    output, _asked, *own = inspect.signature(function).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        output.replace(annotation=hints[output.name]),
        *(
            inspect.Parameter(
                key, keyword, annotation=kind, default=False if key in _SWITCHES else None
            )
            for key, kind in shared.items()
        ),
        *(one.replace(annotation=hints[one.name]) for one in own),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
