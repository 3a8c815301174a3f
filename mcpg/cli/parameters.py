"""Options and arguments that commands share, each declared once.

Nothing here imports a command-line library: `mcpg.cli.fast_path` parses frequent commands by these
declarations, and `mcpg.cli.options` makes Typer parameters of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mcpg.cli.output import Color, Output


class CommandParameter(NamedTuple):
    """An option or an argument.

    Attributes:
        name: Name of its value among those that a command receives.
        flags: Names on the command line, such as `--limit` and `-n`, or `--yes/--no` for a switch
            that can be turned off; none for an argument.
        help: Its text in help.
        metavar: Name of its value in help; empty for a switch.
        kind: Type of its value, or of each of its values.
        default: Value where it is not given.
        choices: The texts that it accepts; empty for any.
        synonyms: Other texts that it accepts, by what they mean among `choices`.
        least: Smallest number that it accepts, or `None`.
        most: Largest number that it accepts, or `None`.
        repeats: Whether it may be given several times; its value is a list then.
        arity: How many values follow its flag; with 2 its value is a pair.
        is_required: Whether a command cannot do without it.
        is_common: Whether it is an option of every command.
        completion: What a shell completes its value from, a key of `COMPLETIONS` in
            `mcpg.cli.options`; empty for only its choices.
    """

    name: str
    flags: tuple[str, ...]
    help: str
    metavar: str = ""
    kind: type = str
    default: Any = None
    choices: tuple[str, ...] = ()
    synonyms: tuple[tuple[str, str], ...] = ()
    least: float | None = None
    most: float | None = None
    repeats: bool = False
    arity: int = 1
    is_required: bool = False
    is_common: bool = False
    completion: str = ""

    @property
    def accepted_texts(self) -> tuple[str, ...]:
        """All texts that it accepts; empty for any."""
        return (*self.choices, *(text for text, meant in self.synonyms if meant in self.choices))

    def resolve_synonym(self, given: Any) -> Any:
        """Return what *given* means, which is itself unless it is a synonym."""
        return dict(self.synonyms).get(given, given) if self.synonyms else given


def flag(flags: str, text: str, metavar: str = "", name: str = "", **more: Any) -> CommandParameter:
    """Return an option with the names *flags*, which blanks separate; its value has the longest.

    `--yes/--no` is a switch that can be turned off. A *metavar* such as `text|json` lists choices.
    """
    names = tuple(flags.split())
    longest = max(names, key=len).partition("/")[0].removeprefix("--").replace("-", "_")
    if "|" in metavar:
        more.setdefault("choices", tuple(metavar.split("|")))
    return CommandParameter(name or longest, names, text, metavar, **more)


def switch(flags: str, text: str, name: str = "", *, is_common: bool = False) -> CommandParameter:
    """Return an option without a value, which is off unless it is given."""
    return flag(flags, text, name=name, kind=bool, default=False, is_common=is_common)


QUERY = CommandParameter(
    "query",
    (),
    "The request, in any words; - reads standard input. Without it, tools are listed.",
    "QUERY",
    repeats=True,
)
BUNDLE = flag(
    "--bundle -b",
    "Bundle, folder or manifest; repeat it to join several. [default: the nearest graph.mdld] "
    "[env: MCPG_BUNDLE]",
    "PATH",
    repeats=True,
)
LIMIT = flag(
    "--limit -n",
    "Maximum number of matches, 1 to 50. [default: 5] [env: MCPG_LIMIT]",
    "N",
    kind=int,
)
STRATEGY = flag(
    "--strategy",
    "How to rank: graph, embeddings, or auto for both. [default: graph] [env: MCPG_STRATEGY]",
    "NAME",
    completion="strategy",
)
FUSION = flag(
    "--fusion",
    "With --strategy auto, how to merge the two rankings: learned, rrf, or cosine for that by "
    "vectors. [default: learned] [env: MCPG_FUSION]",
    "NAME",
    completion="fusion",
)
EMBED_WITH = flag(
    "--embed-with",
    "Embedding provider: local, local:multilingual, fastembed:NAME, sentence-transformers:NAME, "
    "openai:MODEL or none. [default: local] [env: MCPG_EMBED_WITH]",
    "SPEC",
    completion="provider",
)
CANDIDATES = flag(
    "--candidates",
    "Candidate source: the index, or a bundle published to PostgreSQL. [default: local] [env: "
    "MCPG_CANDIDATES]",
    "local|postgres",
)
REWRITE = flag(
    "--rewrite/--no-rewrite",
    "Also search for the query rewritten in English by a language model. [default: no] [env: "
    "MCPG_REWRITE]",
    kind=bool,
)
RERANK = flag(
    "--rerank/--no-rerank",
    "Let a language model rank the first 20 matches, or reject all. [default: no] [env: "
    "MCPG_RERANK]",
    kind=bool,
)
LEXICON = flag(
    "--lexicon/--no-lexicon",
    "Also match related words, and translations from 15 languages. [default: yes] [env: "
    "MCPG_LEXICON]",
    kind=bool,
)
CONTEXT = flag(
    "--context",
    "Context of the request, as text or a JSON object; counts less than the query.",
    "TEXT",
)
CONTEXT_SUMMARY = flag(
    "--context-summary", "Summary of the conversation; counts less than the query.", "TEXT"
)
CONTEXT_TOOLS = flag(
    "--context-tool",
    "A tool in use; tools linked to it rank higher. Repeatable.",
    "TOOL",
    name="context_tools",
    repeats=True,
    completion="tool",
)
SOURCES = flag(
    "--source",
    "Only tools of this source. Repeatable.",
    "NAME",
    name="sources",
    repeats=True,
    completion="source",
)
IN_CATEGORIES = flag(
    "--category",
    "Only tools of this category. Repeatable.",
    "NAME",
    name="in_categories",
    repeats=True,
    completion="category",
)
READ_ONLY = switch("--read-only", "Only tools that are marked read-only.")
INCLUDE_DISABLED = switch("--include-disabled", "Include tools that are disabled by default.")
MIN_SCORE = flag(
    "--min-score",
    "Leave out matches below this score, 0 to 1; exit 1 when none is left.",
    "SCORE",
    kind=float,
    least=0.0,
    most=1.0,
)
ABSTAIN = switch("--abstain", "Return no match, and exit 1, when the best score is below 0.35.")
WATCH = switch("--watch", "Run again when a file changes, until Ctrl-C.")
_FORMAT_SYNONYMS = (("md", "markdown"), ("table", "text"), ("ttl", "turtle"))
FORMAT = flag(
    "--format", "Output format.", "text|json", name="form", default="text", choices=("text", "json")
)
LIST_FORMAT = flag(
    "--format",
    "Output format: text; json, the whole answer; or only the list, as jsonl (one object per "
    "line), csv, ids or a markdown table.",
    "text|json|jsonl|csv|ids|markdown",
    name="form",
    default="text",
    synonyms=_FORMAT_SYNONYMS,
)
SPARQL_FORMAT = flag(
    "--format",
    "Output format; json and csv as the W3C defines them. [default: text; turtle for CONSTRUCT "
    "and DESCRIBE]",
    "text|json|jsonl|csv|ids|markdown|turtle",
    name="form",
    synonyms=_FORMAT_SYNONYMS,
)
REPORT = flag(
    "--format",
    "Output format; markdown suits a comment on an issue.",
    "text|json|markdown",
    name="form",
    default="text",
    synonyms=_FORMAT_SYNONYMS,
)
EXPLANATION_FORMAT = flag(
    "--format",
    "Output format: text; json, the whole explanation; markdown, for a comment on an issue; or "
    "only the matches, as jsonl (one object per line), csv or ids.",
    LIST_FORMAT.metavar,
    name="form",
    default="text",
    synonyms=_FORMAT_SYNONYMS,
)
HTML = flag("--html", "Also write an HTML report.", "FILE")
PREFER = flag(
    "--prefer",
    "Prefer tools that read, or tools that write. [default: by the words of the query]",
    "read-only|write|none",
)

KIND = flag(
    "--kind",
    "Kind of item: tool, symbol of source code, server of a catalog, or skill. [default: tool]",
    "KIND",
)

SETTINGS = (BUNDLE, LIMIT, STRATEGY, FUSION, EMBED_WITH, CANDIDATES, REWRITE, LEXICON)
"""Options that are settings, too: the environment and configuration files may give them."""

FILTERS = (SOURCES, IN_CATEGORIES, READ_ONLY)
"""Options that choose among the tools."""

QUESTION = (
    QUERY,
    *SETTINGS,
    *(CONTEXT, CONTEXT_SUMMARY),
    *(*FILTERS, INCLUDE_DISABLED, MIN_SCORE, ABSTAIN),
)
"""What `search`, `explain` and `route` take, in the order of help."""

COMMON = (
    switch("--quiet -q", "Write only data, warnings and errors.", is_common=True),
    switch("--verbose -v", "Report progress and more diagnostics.", is_common=True),
    flag(
        "--color",
        "When to use color. [default: auto]",
        "auto|always|never",
        is_common=True,
    ),
    switch("--debug", "Show the traceback of an error.", is_common=True),
)
"""The options that every command has."""

INPUT_SCHEMA = switch(
    "--input-schema", "With --format json or jsonl, also write the input schema of each tool."
)

FULL = switch("--full", "Show whole descriptions; in a pipe they end with a sentence.")

SEARCH = (
    *QUESTION,
    KIND,
    RERANK,
    CONTEXT_TOOLS,
    flag(
        "--related/--no-related",
        "Show prerequisites, related tools and next steps. [default: yes; with --as, no]",
        kind=bool,
    ),
    INPUT_SCHEMA,
    flag(
        "--as",
        "Write the found tools as JSON: the functions in the format of this model API, and the "
        "tool behind each name.",
        "openai|openai-responses|anthropic|gemini|mcp",
        name="api",
    ),
    switch(
        "--deferred",
        "With --as openai-responses or anthropic, add all other tools as deferred tools, for the "
        "tool search of the API.",
    ),
    switch(
        "--strict-schemas",
        "With --as openai or openai-responses, write strict definitions of tools whose schemas "
        "keep their meaning in strict mode.",
    ),
    switch("--explain", "Explain the result, like `mcpg explain`."),
    WATCH,
    FULL,
    LIST_FORMAT,
)

LIST = (
    BUNDLE,
    KIND,
    *FILTERS,
    flag("--limit -n", "Maximum number of tools. [default: all]", "N", kind=int, least=1),
    INPUT_SCHEMA,
    FULL,
    LIST_FORMAT,
)

SHOW = (
    CommandParameter(
        "tool",
        (),
        "Id of the tool, SOURCE::NAME, or its name if only one tool has it.",
        "TOOL",
        is_required=True,
        completion="tool",
    ),
    BUNDLE,
    flag("--kind", "What to show: tool or skill. [default: tool]", "KIND"),
    switch("--document", "Print the tool's Markdown-LD document."),
    REPORT,
)

EXPLAIN = (
    *QUESTION,
    KIND,
    RERANK,
    CONTEXT_TOOLS,
    flag("--tool", "Explain why this tool is not first, and suggest hints.", "TOOL"),
    flag(
        "--queries",
        "With --tool, file of judged queries to measure the hints; - reads standard input.",
        "FILE",
    ),
    flag(
        "--compare",
        "Compare the rankings of two bundles, folders or manifests.",
        "BEFORE AFTER",
        arity=2,
    ),
    switch("--route", "Explain the categories and adjusted scores of `mcpg route`.", name="routes"),
    PREFER,
    HTML,
    switch("--timings", "Show how long each stage took.", name="shows_times"),
    EXPLANATION_FORMAT,
)

ASK = (
    CommandParameter(
        "question",
        (),
        "The question, in any words, or similar:TOOL; - reads standard input.",
        "QUESTION",
        repeats=True,
        is_required=True,
    ),
    BUNDLE,
    flag(
        "--intent",
        "Intent of the question: navigation, relations, documentation, examples, similar, search "
        "or catalog. [default: by its words]",
        "INTENT",
        choices=(
            *("navigation", "relations", "documentation", "examples"),
            *("similar", "search", "catalog"),
        ),
    ),
    flag(
        "--limit -n",
        "Maximum number of results, 1 to 200. [default: 50; 5 for a search]",
        "N",
        kind=int,
    ),
    flag(
        "--pattern",
        "Intent of a wording, such as 'documentation=who owns {tool}'. Repeatable.",
        "INTENT=TEMPLATE",
        name="patterns",
        repeats=True,
    ),
    STRATEGY,
    EMBED_WITH,
    flag("--max-bytes", "Maximum size of the answer in bytes.", "N", kind=int, least=1),
    flag(
        "--language",
        "Only source code in this language. Repeatable.",
        "NAME",
        name="languages",
        repeats=True,
    ),
    flag(
        "--branch",
        "Only source code of this branch. Repeatable.",
        "NAME",
        name="branches",
        repeats=True,
    ),
    flag(
        "--repository",
        "Only source code of this repository. Repeatable.",
        "NAME",
        name="repositories",
        repeats=True,
    ),
    flag(
        "--path",
        "Only source code in this file, folder or glob. Repeatable.",
        "PATH",
        name="paths",
        repeats=True,
    ),
    INCLUDE_DISABLED,
    LIST_FORMAT,
)

FREQUENT = {"search": SEARCH, "list": LIST, "show": SHOW, "explain": EXPLAIN}
"""The commands that `mcpg.cli.fast_path` parses."""


def select_filters(given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return those of the values *given* of `FILTERS` that are set, as arguments of a search."""
    names = {"sources": "sources", "in_categories": "categories", "read_only": "read_only"}
    return tuple((names[one.name], given[one.name]) for one in FILTERS if given.get(one.name))


def make_output(*given: Mapping[str, Any]) -> Output:
    """Return the output for the common options; of several values of one the first counts."""
    chosen = {
        one.name: next((g[one.name] for g in given if g.get(one.name)), None) for one in COMMON
    }
    return Output(
        quiet=bool(chosen["quiet"]),
        verbose=bool(chosen["verbose"]),
        debug=bool(chosen["debug"]),
        color=chosen["color"] or Color.AUTO,
    )
