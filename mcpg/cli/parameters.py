"""Options and arguments that commands share, each declared once.

Nothing here imports a command-line library: `mcpg.cli.quick` parses frequent commands by these
declarations, and `mcpg.cli.options` makes Typer parameters of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcpg.cli.output import Output


@value
class Parameter:
    """An option or an argument.

    Attributes:
        name: Name of its value among those that a command receives.
        flags: Names on the command line, such as `--limit` and `-n`, or `--yes/--no` for a switch
            that can be turned off; none for an argument.
        help: What help says about it.
        metavar: Name of its value in help; empty for a switch.
        kind: Type of its value, or of each of its values.
        default: Value where it is not given.
        choices: The texts that it accepts; empty for any.
        least: Smallest number that it accepts, or `None`.
        most: Largest number that it accepts, or `None`.
        repeats: Whether it may be given several times; its value is a list then.
        arity: How many values follow its flag; with 2 its value is a pair.
        is_required: Whether a command cannot do without it.
        is_common: Whether it is an option of every command.
        completion: What a shell completes its value from, a key of `COMPLETIONS` in
            `mcpg.cli.options`; empty for nothing but its choices.
    """

    name: str
    flags: tuple[str, ...]
    help: str
    metavar: str = ""
    kind: type = str
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    repeats: bool = False
    arity: int = 1
    is_required: bool = False
    is_common: bool = False
    completion: str = ""


def switch(name: str, *flags: str, text: str, is_common: bool = False) -> Parameter:
    """Return an option without a value, which is off unless it is given."""
    return Parameter(name, flags, text, kind=bool, default=False, is_common=is_common)


QUERY = Parameter(
    "query",
    (),
    "What is wanted, in any words, quoted or not; - reads it from standard input. "
    "Without it, all tools are listed by name.",
    "QUERY",
    repeats=True,
)
BUNDLE = Parameter(
    "bundle",
    ("--bundle", "-b"),
    "Bundle, folder or manifest to work on; give it again to join several, of which some "
    "may be missing. Otherwise MCPG_BUNDLE, mcpg.toml, [tool.mcpg] in pyproject.toml, or "
    "graph.mdld here or in the nearest parent folder.",
    "PATH",
    repeats=True,
)
LIMIT = Parameter(
    "limit",
    ("--limit", "-n"),
    "Maximum number of matches, from 1 to 50. Otherwise MCPG_LIMIT, the configuration file, or 5.",
    "N",
    kind=int,
)
STRATEGY = Parameter(
    "strategy",
    ("--strategy",),
    "How to rank: graph (or markdown-ld), without a model; embeddings, by vectors alone; "
    "auto, by vectors with what the graph adds. Otherwise MCPG_STRATEGY, the configuration "
    "file, or graph.",
    "NAME",
    completion="strategy",
)
FUSION = Parameter(
    "fusion",
    ("--fusion",),
    "With --strategy auto, make one list of what the graph and the vectors find: learned, "
    "or rrf (reciprocal ranks). Otherwise MCPG_FUSION, the configuration file, or the order of "
    "the vectors.",
    "NAME",
    completion="fusion",
)
EMBED_WITH = Parameter(
    "embed_with",
    ("--embed-with",),
    "Embedding provider: local, local:multilingual, fastembed:NAME, "
    "sentence-transformers:NAME, openai:MODEL at an endpoint, or none. Otherwise "
    "MCPG_EMBED_WITH, the configuration file, or local.",
    "SPEC",
    completion="provider",
)
CANDIDATES = Parameter(
    "candidates",
    ("--candidates",),
    "Candidate source: the index, or the database in MCPG_POSTGRES, to which `mcpg publish` "
    "wrote the bundle. Otherwise MCPG_CANDIDATES, the "
    "configuration file, or local.",
    "local|postgres",
    choices=("local", "postgres"),
)
NORMALIZE = Parameter(
    "normalize",
    ("--normalize/--no-normalize",),
    "Rewrite the query in English with a language model, and search for that as well. "
    "Otherwise MCPG_NORMALIZE, the configuration file, or no.",
    kind=bool,
)
LEXICON = Parameter(
    "lexicon",
    ("--lexicon/--no-lexicon",),
    "Match related words and translations from 15 languages as well. Otherwise MCPG_LEXICON, "
    "the configuration file, or yes.",
    kind=bool,
)
CONTEXT = Parameter(
    "context",
    ("--context",),
    "What else is known, as text or as a JSON object; it counts less than the query. Ids of "
    "tools alone count as --context-tool.",
    "TEXT",
)
CONTEXT_SUMMARY = Parameter(
    "context_summary",
    ("--context-summary",),
    "What the conversation is about, beside --context; it counts less than the query.",
    "TEXT",
)
CONTEXT_TOOLS = Parameter(
    "context_tools",
    ("--context-tool",),
    "Id of a tool that is already in use, or SOURCE::NAME: what the graph joins to it ranks "
    "higher. Repeatable.",
    "TOOL",
    repeats=True,
    completion="tool",
)
INCLUDE_DISABLED = switch(
    "include_disabled",
    "--include-disabled",
    text="Include tools that are disabled by default.",
)
MIN_SCORE = Parameter(
    "min_score",
    ("--min-score",),
    "Leave out matches below this score, in [0, 1]; exit 1 when none is left.",
    "SCORE",
    kind=float,
    least=0.0,
    most=1.0,
)
ABSTAIN = switch(
    "abstain",
    "--abstain",
    text="Return no match when the best one has a low score (below 0.35); exit 1 then.",
)
WATCH = switch(
    "watch",
    "--watch",
    text="Run again whenever a file that is read changes, until Ctrl-C.",
)
FORMAT = Parameter(
    "form",
    ("--format",),
    "What to write to standard output.",
    "text|json",
    default="text",
    choices=("text", "json"),
)
REPORT = Parameter(
    "form",
    ("--format",),
    "What to write to standard output; md is Markdown for a comment on an issue.",
    "text|json|md",
    default="text",
    choices=("text", "json", "md"),
)
HTML = Parameter(
    "html",
    ("--html",),
    "Write an HTML report as well: one file that needs no network.",
    "FILE",
)
PREFER = Parameter(
    "prefer",
    ("--prefer",),
    "Prefer tools that read, tools that write, or neither. Otherwise the words of the "
    "query decide, by the tools of the catalogue that they stand in.",
    "read-only|write|none",
    choices=("read-only", "write", "none"),
)

SETTINGS = (BUNDLE, LIMIT, STRATEGY, FUSION, EMBED_WITH, CANDIDATES, NORMALIZE, LEXICON)
"""Options that are settings, too: the environment and configuration files may give them."""

QUESTION = (QUERY, *SETTINGS, CONTEXT, CONTEXT_SUMMARY, INCLUDE_DISABLED, MIN_SCORE, ABSTAIN)
"""What `search`, `explain` and `route` take, in the order of help."""

COMMON = (
    switch("quiet", "--quiet", "-q", text="Write only data and errors.", is_common=True),
    switch("verbose", "--verbose", "-v", text="Report progress and all warnings.", is_common=True),
    Parameter(
        "color",
        ("--color",),
        "When to use colour; auto respects NO_COLOR and FORCE_COLOR.",
        "auto|always|never",
        choices=("auto", "always", "never"),
        is_common=True,
    ),
    switch("debug", "--debug", text="Show the traceback of an error.", is_common=True),
)
"""The options that every command has."""

SEARCH = (
    *QUESTION,
    CONTEXT_TOOLS,
    switch("explain", "--explain", text="Explain the result, as `mcpg explain` does."),
    WATCH,
    FORMAT,
)

LIST = (
    BUNDLE,
    Parameter("source", ("--source",), "Only tools of this source, in any case.", "NAME"),
    Parameter("category", ("--category",), "Only tools of this category, in any case.", "NAME"),
    FORMAT,
)

SHOW = (
    Parameter(
        "tool",
        (),
        "Id of a tool, SOURCE::NAME, or a name that only one tool has.",
        "TOOL",
        is_required=True,
        completion="tool",
    ),
    BUNDLE,
    switch("document", "--document", text="Print the tool's Markdown-LD document instead."),
    FORMAT,
)

EXPLAIN = (
    *QUESTION,
    CONTEXT_TOOLS,
    Parameter(
        "tool",
        ("--tool",),
        "Explain why this tool is not first by the strategy graph, and find a change "
        "to its hints that would make it first. TOOL is its id, source::name, or a name that "
        "only it has.",
        "TOOL",
    ),
    Parameter(
        "judged",
        ("--judged",),
        "With --tool: judged queries, as for `mcpg eval`, on which to measure the change; - "
        "reads standard input.",
        "FILE",
    ),
    Parameter(
        "compare",
        ("--compare",),
        "Search two bundles, folders or manifests, and compare the rankings.",
        "THEN NOW",
        arity=2,
    ),
    switch(
        "routes",
        "--route",
        text="Show how `mcpg route` would arrange the tools: the categories, what each score was "
        "adjusted for, and what is preferred and why.",
    ),
    PREFER,
    HTML,
    switch("shows_times", "--timings", text="Show how long each stage took; JSON always does."),
    REPORT,
)

ASK = (
    Parameter(
        "question",
        (),
        "The question, in any words, quoted or not; similar:TOOL asks for what is like a tool, - "
        "reads the question from standard input.",
        "QUESTION",
        repeats=True,
        is_required=True,
    ),
    BUNDLE,
    Parameter(
        "intent",
        ("--intent",),
        "What the question wants, where mcpg shall not decide it: navigation, relations, "
        "documentation, examples, similar or search.",
        "INTENT",
        choices=("navigation", "relations", "documentation", "examples", "similar", "search"),
    ),
    Parameter(
        "limit",
        ("--limit", "-n"),
        "Maximum number of results, from 1 to 200; 50 by default.",
        "N",
        kind=int,
    ),
    Parameter(
        "patterns",
        ("--pattern",),
        "A wording that always has an intent, such as 'documentation=who owns {tool}'; {tool}, "
        "{field} and {symbol} stand for what is named, * for any words. Repeatable.",
        "INTENT=TEMPLATE",
        repeats=True,
    ),
    Parameter(
        "max_bytes",
        ("--max-bytes",),
        "Write at most this many bytes: details are left out first, then results from the end.",
        "N",
        kind=int,
        least=1,
    ),
    Parameter(
        "languages",
        ("--language",),
        "Only source code in this language. Repeatable.",
        "NAME",
        repeats=True,
    ),
    Parameter(
        "branches",
        ("--branch",),
        "Only source code of this branch. Repeatable.",
        "NAME",
        repeats=True,
    ),
    Parameter(
        "repositories",
        ("--repository",),
        "Only source code of this repository. Repeatable.",
        "NAME",
        repeats=True,
    ),
    Parameter(
        "paths",
        ("--path",),
        "Only source code at this path: a file, a folder or a glob pattern. Repeatable.",
        "PATH",
        repeats=True,
    ),
    INCLUDE_DISABLED,
    FORMAT,
)

FREQUENT = {"search": SEARCH, "list": LIST, "show": SHOW, "explain": EXPLAIN}
"""The commands that `mcpg.cli.quick` parses."""


def output_of(*given: Mapping[str, Any]) -> Output:
    """Return the output for the common options; of several values of one the first counts."""
    from mcpg.cli.output import Color, Output  # noqa: PLC0415 - a plain search does without

    chosen = {
        one.name: next((g[one.name] for g in given if g.get(one.name)), None) for one in COMMON
    }
    return Output(
        quiet=bool(chosen["quiet"]),
        verbose=bool(chosen["verbose"]),
        debug=bool(chosen["debug"]),
        color=Color(chosen["color"] or Color.AUTO),
    )
