"""The errors that mcpg raises, and diagnostics: problems that do not stop a run.

McpgError
├── InputError        something given to mcpg cannot be used
│   ├── SourceError       a manifest, hints file or folder
│   ├── DocumentError     a Markdown-LD document
│   └── BundleError       a bundle file
├── OutputError       something cannot be written, or would overwrite a foreign file
├── UsageError        an option or a setting makes no sense
└── NotFoundError     a tool, file or bundle that was named does not exist
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, TypeAlias

from mcpg.values import to_json

SeverityName: TypeAlias = Literal["info", "warning", "error"]


def os_reason(fault: Exception) -> str:
    """Return why the operating system refused something, such as "permission denied"."""
    return (getattr(fault, "strerror", None) or str(fault)).lower()


class McpgError(Exception):
    """Base class of all errors of mcpg.

    Attributes:
        message: The mistake, naming the thing at fault.
        place: The place of the mistake (a file, `file:line`, a member), or `None`.
        remedy: How the reader can fix it, or `None`.
    """

    def __init__(
        self, message: str, *, place: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        advice = f" ({self.remedy})" if self.remedy else ""
        return f"{where}{self.message}{advice}"


class InputError(McpgError):
    """Something given to mcpg cannot be used."""


class SourceError(InputError):
    """A manifest, hints file or folder cannot be used."""


class DocumentError(InputError):
    """A Markdown-LD document cannot be used."""


class BundleError(InputError):
    """A bundle file cannot be used."""


class OutputError(McpgError):
    """Something cannot be written, or writing would destroy a foreign file."""


class PostgresError(McpgError):
    """A PostgreSQL database cannot be reached or used; no part of the error has the password."""


class UsageError(McpgError):
    """An option or a setting makes no sense."""


class NotFoundError(McpgError):
    """A tool, file or bundle that was named does not exist."""


def wrong_type(name: str, given: object, wanted: str, verb: str = "is of") -> UsageError:
    """Return the error for an argument *name* of another type than *wanted*, such as `text`."""
    message = f"{name} {verb} type {type(given).__name__}"
    return UsageError(message, remedy=f"use {wanted}")


def check_kind(name: str, given: object, kinds: tuple[type, ...]) -> None:
    """Check that the argument *name* is of one of the *kinds*.

    Raises:
        UsageError: It is not.
    """
    if not isinstance(given, kinds):
        names = ("None" if kind is type(None) else kind.__name__ for kind in kinds)
        raise wrong_type(name, given, " or ".join(names))


class Severity:
    """How much a diagnostic matters."""

    INFO: Final = "info"
    WARNING: Final = "warning"
    ERROR: Final = "error"


class Code:
    """The stable names of diagnostics; the .NET gateway's name if one fits."""

    SOURCE_LOAD_FAILED = "source_load_failed"
    SOURCE_SKIPPED = "source_skipped"
    SOURCE_INCOMPLETE = "source_incomplete"
    LOG_DROPPED = "log_dropped"
    CODE_SKIPPED = "code_skipped"
    CODE_INDEX_STALE = "code_index_stale"
    CODE_INDEX_UNUSABLE = "code_index_unusable"
    SKILL_INVALID = "skill_invalid"
    SKILL_LEFT_OUT = "skill_left_out"
    SKILL_DIGEST_MISMATCH = "skill_digest_mismatch"
    PLUGIN_FAILED = "plugin_failed"
    TOOLS_STALE = "tools_stale"
    SERVERS_STARTING = "servers_starting"
    TOOL_INVALID = "tool_invalid"
    SCHEMA_INCOMPLETE = "schema_incomplete"
    TOOL_REPEATED = "tool_repeated"
    KEY_REPEATED = "key_repeated"
    KEY_UNKNOWN = "key_unknown"
    PREFIX_UNKNOWN = "prefix_unknown"
    VALUE_INVALID = "value_invalid"
    TEXT_REPAIRED = "text_repaired"
    TEXT_LEFT_OUT = "text_left_out"
    DUPLICATE_TOOL_ID = "duplicate_tool_id"
    DUPLICATE_TOOL_NAME = "duplicate_tool_name"
    HINT_UNMATCHED = "hint_unmatched"
    HINT_INVALID = "hint_invalid"
    HINT_UNTRUSTED = "hint_untrusted"
    GENERATED_STALE = "generated_stale"
    GENERATED_PARTLY = "generated_partly"
    QUERIES_MISSING = "queries_missing"
    RELATION_INVALID = "relation_invalid"
    RELATION_UNRESOLVED = "relation_unresolved"
    DOCUMENT_INVALID = "document_invalid"
    DOCUMENT_IGNORED = "document_ignored"
    DOCUMENT_SUPERSEDES = "document_supersedes"
    DOCUMENT_ATTACHED = "document_attached"
    DOCUMENT_UNMAPPED = "document_unmapped"
    DOCUMENT_REWRITTEN = "document_rewritten"
    GRAPH_PATH_MISSING = "markdown_ld_graph_path_missing"
    GRAPH_FACTORY_MISSING = "markdown_ld_graph_document_factory_missing"
    GRAPH_BUILD_FAILED = "graph_build_failed"
    GRAPH_DOCUMENT_UNMAPPED = "graph_document_unmapped"
    GRAPH_TOOL_UNDOCUMENTED = "graph_tool_undocumented"
    TOOL_CHANGED = "tool_changed"
    TOOL_UNREVIEWED = "tool_unreviewed"
    TOOL_MISSING = "tool_missing"
    GRAPH_UNAVAILABLE = "graph_unavailable"
    GRAPH_FALLBACK = "graph_fallback"
    EMBEDDING_GENERATOR_MISSING = "embedding_generator_missing"
    EMBEDDING_FAILED = "embedding_failed"
    EMBEDDING_COUNT_MISMATCH = "embedding_count_mismatch"
    EMBEDDING_STORE_LOAD_FAILED = "embedding_store_load_failed"
    EMBEDDING_STORE_SAVE_FAILED = "embedding_store_save_failed"
    HYBRID_VECTOR_MERGE_USED = "hybrid_vector_merge_used"
    QUERY_VECTOR_EMPTY = "query_vector_empty"
    VECTOR_SEARCH_FAILED = "vector_search_failed"
    VECTORS_IGNORED = "vectors_ignored"
    VECTORS_STALE = "vectors_stale"
    CANDIDATES_FAILED = "candidates_failed"
    LEXICON_UNAVAILABLE = "lexicon_unavailable"
    LOW_CONFIDENCE = "low_confidence_results"
    SEARCH_CACHE_FAILED = "search_cache_failed"
    TELEMETRY_FAILED = "telemetry_failed"
    TELEMETRY_MISSING = "telemetry_missing"
    CONTEXT_TOOL_UNKNOWN = "context_tool_unknown"
    FILTER_IGNORED = "filter_ignored"
    SERVED_NAME_UNKNOWN = "served_name_unknown"
    FILTER_UNKNOWN = "filter_unknown"
    FILTER_EMPTY = "filter_empty"
    QUERY_TRUNCATED = "query_truncated"
    QUERY_NORMALIZED = "query_normalized"
    QUERY_NORMALIZATION_FAILED = "query_normalization_failed"
    QUERY_NORMALIZATION_REFUSED = "query_normalization_refused"
    QUERY_NORMALIZER_MISSING = "query_normalizer_missing"
    RERANK_FAILED = "rerank_failed"
    RERANK_NONE = "rerank_none"
    RERANKER_MISSING = "reranker_missing"
    QUERY_LITERALS_RESTORED = "query_literals_restored"
    LIMIT_CAPPED = "limit_capped"
    TOOL_EXPLAINED_BY_GRAPH = "tool_explained_by_graph"
    GRAPH_SCHEMA_FALLBACK = "graph_schema_fallback"
    GRAPH_SCHEMA_PROFILE_INVALID = "graph_schema_profile_invalid"
    GRAPH_SEARCH_FAILED = "graph_search_failed"
    GRAPH_ENDPOINT_BLOCKED = "graph_federation_endpoint_blocked"
    GRAPH_ENDPOINT_INVALID = "graph_federation_endpoint_invalid"
    GRAPH_RESULTS_CUT = "graph_results_cut"
    GRAPH_NAME_UNKNOWN = "graph_name_unknown"
    SHAPE_TERM_UNKNOWN = "shape_term_unknown"
    SHAPE_TARGET_EMPTY = "shape_target_empty"
    GRAPH_STATEMENTS_LEFT_OUT = "graph_statements_left_out"
    INDEX_IN_MEMORY = "index_in_memory"
    RANKING_IGNORED = "ranking_ignored"
    OBSERVED_INVALID = "observed_invalid"
    OBSERVED_TOOL_UNKNOWN = "observed_tool_unknown"
    TRACE_SKIPPED = "trace_skipped"
    TRACE_REPAIRED = "trace_repaired"
    TRACE_KNOWN = "trace_known"
    TRACE_BOUNDED = "trace_bounded"
    CALLS_NOT_RECORDED = "calls_not_recorded"
    ANSWER_DROPPED = "answer_dropped"
    ANSWER_INCOMPLETE = "answer_incomplete"
    ASK_FALLBACK = "ask_fallback"
    ASK_NAME_UNKNOWN = "ask_name_unknown"
    JUDGED_INVALID = "judged_invalid"
    JUDGED_REPEATED = "judged_repeated"
    JUDGED_TOOL_UNKNOWN = "judged_tool_unknown"
    JUDGED_TOOL_AMBIGUOUS = "judged_tool_ambiguous"
    JUDGED_TOOL_DISABLED = "judged_tool_disabled"


CODES = tuple(code for name, code in vars(Code).items() if name.isupper())


class Diagnostic(NamedTuple):
    """A problem that does not stop the run.

    Attributes:
        code: Stable name, for programs: one of `CODES`.
        severity: How much it matters: one of `Severity`.
        message: One sentence for people.
        place: The file, member or tool, or `None`.
    """

    code: str
    severity: SeverityName
    message: str
    place: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostic as a JSON object, with its remedy."""
        return to_json(self) | {"remedy": find_remedy(self.code)}


def info(code: str, message: str, place: str | None = None) -> Diagnostic:
    """Return a diagnostic for information."""
    return Diagnostic(code, Severity.INFO, message, place)


def warning(code: str, message: str, place: str | None = None) -> Diagnostic:
    """Return a diagnostic for something that should be fixed."""
    return Diagnostic(code, Severity.WARNING, message, place)


def error(code: str, message: str, place: str | None = None) -> Diagnostic:
    """Return a diagnostic for a part of the request that failed."""
    return Diagnostic(code, Severity.ERROR, message, place)


# The column "remedy" of docs/reference/diagnostics.md repeats these.
REMEDIES = {
    Code.GRAPH_PATH_MISSING: "Correct the path, or leave it out.",
    Code.SOURCE_LOAD_FAILED: "Fix the issue that the message names.",
    Code.PLUGIN_FAILED: "Update or uninstall the package of the plugin.",
    Code.SOURCE_SKIPPED: "Copy it into the folder under a plain name, or pass its path.",
    Code.SOURCE_INCOMPLETE: "Add the missing pages, end the list, or name a smaller folder.",
    Code.LOG_DROPPED: 'Set `sessions = "client"` for a server whose log messages clients need.',
    Code.CODE_SKIPPED: "No action needed; exclude generated files by `.gitignore`.",
    Code.CODE_INDEX_STALE: "Run the indexer again.",
    Code.CODE_INDEX_UNUSABLE: "Run the indexer again; its index belongs beside the code.",
    Code.SKILL_INVALID: "Correct what the message names; the rest of the skill is used.",
    Code.SKILL_LEFT_OUT: "Correct it on the server; its other skills are served.",
    Code.SKILL_DIGEST_MISMATCH: "Have the server list the digests of what it serves.",
    Code.TOOLS_STALE: "Fix the source, or remove its tools with `--allow-missing`.",
    Code.SERVERS_STARTING: "Search again if the right tool is missing.",
    Code.KEY_REPEATED: "Keep one of them.",
    Code.KEY_UNKNOWN: "Correct the key; near ones are suggested.",
    Code.PREFIX_UNKNOWN: "Correct the prefix, or declare it in `rdf_prefixes`.",
    Code.VALUE_INVALID: "Write the value as the message shows.",
    Code.TEXT_REPAIRED: "Correct the text at its origin.",
    Code.TEXT_LEFT_OUT: "Join the texts, or name the tool only by the key `tool`.",
    Code.TOOL_INVALID: "Give it a `name`, or remove it.",
    Code.SCHEMA_INCOMPLETE: "Add that part to the document, or annotate its type.",
    Code.TOOL_REPEATED: "No action needed.",
    Code.DUPLICATE_TOOL_NAME: "Rename one, or set the source of each.",
    Code.DUPLICATE_TOOL_ID: "Use the longer ids.",
    Code.HINT_UNMATCHED: "Correct the name; near ones are suggested.",
    Code.HINT_INVALID: "See the keys of hints files.",
    Code.HINT_UNTRUSTED: "Set `trust_hints` for a source that is yours, or use a hints file.",
    Code.GENERATED_STALE: "Run `mcpg enrich`.",
    Code.QUERIES_MISSING: "Add at least two examples to the hints of its tools.",
    Code.GENERATED_PARTLY: "Run `mcpg enrich` for the whole server, or remove its file.",
    Code.RELATION_UNRESOLVED: "Correct the name; near ones are suggested.",
    Code.RELATION_INVALID: "See the front matter.",
    Code.DOCUMENT_IGNORED: "Begin it with front matter; with `tool: false` it is a page.",
    Code.DOCUMENT_INVALID: "Correct it at the place that the message names.",
    Code.DOCUMENT_SUPERSEDES: "No action needed; to silence it, remove one of them.",
    Code.DOCUMENT_ATTACHED: "No action needed; to make it a tool, give the document a `name`.",
    Code.DOCUMENT_UNMAPPED: "Correct the key `tool`, or set `tool: false`.",
    Code.DOCUMENT_REWRITTEN: "Correct it in the document; no search of mcpg changes.",
    Code.GRAPH_FACTORY_MISSING: "Pass the gateway a function that generates documents.",
    Code.GRAPH_BUILD_FAILED: "Fix what the message names; the gateway retries by itself.",
    Code.GRAPH_DOCUMENT_UNMAPPED: "Rebuild the graph, or add the source that has the tool.",
    Code.GRAPH_TOOL_UNDOCUMENTED: "Rebuild the graph from the sources of the gateway.",
    Code.TOOL_CHANGED: "Review the change, then build the bundle or `mcpg lock --approve`.",
    Code.TOOL_UNREVIEWED: "Review the tools, then build the bundle or `mcpg lock --approve`.",
    Code.TOOL_MISSING: "Restore its source, or `mcpg lock --approve` that it is gone.",
    Code.GRAPH_UNAVAILABLE: "Fix or remove the file that the message names.",
    Code.GRAPH_SCHEMA_FALLBACK: "No action needed.",
    Code.GRAPH_SCHEMA_PROFILE_INVALID: "Correct the profile, or omit the predicate.",
    Code.GRAPH_SEARCH_FAILED: "Retry, or omit the endpoint; the message has its error.",
    Code.GRAPH_ENDPOINT_BLOCKED: "Add it to the list of allowed endpoints, or omit it.",
    Code.GRAPH_ENDPOINT_INVALID: "Use an absolute https address, or http on this machine.",
    Code.GRAPH_RESULTS_CUT: "Narrow the query, or raise `--limit`.",
    Code.GRAPH_NAME_UNKNOWN: "Correct the name; `mcpg graph schema` lists its names.",
    Code.SHAPE_TERM_UNKNOWN: "Correct the name; near ones are suggested.",
    Code.SHAPE_TARGET_EMPTY: "Correct the target; `mcpg graph schema` lists its names.",
    Code.GRAPH_STATEMENTS_LEFT_OUT: "None if the tools are complete; else make them about a tool.",
    Code.CANDIDATES_FAILED: "Fix what the message names; `mcpg publish` publishes a bundle.",
    Code.LEXICON_UNAVAILABLE: "Reinstall mcpg, or turn the lexicon off with `--no-lexicon`.",
    Code.LOW_CONFIDENCE: "Use other words, or add detail to the query.",
    Code.INDEX_IN_MEMORY: "Make the bundle's folder writable, or copy the bundle elsewhere.",
    Code.RANKING_IGNORED: "Refit it with `mcpg tune`, or use `mcpg bundle --reset-ranking`.",
    Code.LIMIT_CAPPED: "Lower the limit.",
    Code.TOOL_EXPLAINED_BY_GRAPH: "No action needed, or use `--strategy graph`.",
    Code.CONTEXT_TOOL_UNKNOWN: "Correct the name; near ones are suggested.",
    Code.FILTER_IGNORED: "Name those tools in `excludeTools` of their server.",
    Code.SERVED_NAME_UNKNOWN: "Correct the name; `mcpg list` shows all.",
    Code.FILTER_UNKNOWN: "Correct the name; `mcpg list` shows the sources and categories.",
    Code.FILTER_EMPTY: "Drop a condition of the filter.",
    Code.QUERY_TRUNCATED: "Shorten the query.",
    Code.QUERY_NORMALIZED: "No action needed.",
    Code.QUERY_NORMALIZATION_FAILED: "Check that the endpoint responds, or raise its timeout.",
    Code.QUERY_NORMALIZATION_REFUSED: "Use a model that follows instructions better.",
    Code.QUERY_NORMALIZER_MISSING: "Configure a rewriter, or turn query rewriting off.",
    Code.RERANK_FAILED: "Check the model and its endpoint.",
    Code.RERANK_NONE: "Use other words, or search without reranking.",
    Code.RERANKER_MISSING: "Configure a reranker, or turn reranking off.",
    Code.QUERY_LITERALS_RESTORED: "No action needed.",
    Code.SEARCH_CACHE_FAILED: "Check that the cache is reachable, or turn it off.",
    Code.TELEMETRY_FAILED: "Fix the observer, or remove it.",
    Code.TELEMETRY_MISSING: "Install the extra `telemetry`, or turn telemetry off.",
    Code.EMBEDDING_GENERATOR_MISSING: "Use `--strategy graph`.",
    Code.EMBEDDING_FAILED: "Fix the provider and run the command again; finished vectors are kept.",
    Code.EMBEDDING_COUNT_MISMATCH: "Use a provider that returns one vector for each text.",
    Code.EMBEDDING_STORE_LOAD_FAILED: "Check that the store is readable, or turn it off.",
    Code.EMBEDDING_STORE_SAVE_FAILED: "Check that the store is writable, or turn it off.",
    Code.VECTORS_IGNORED: "Rebuild it with `mcpg bundle --embed`, or remove it.",
    Code.VECTORS_STALE: "Rebuild it with `mcpg bundle --embed`.",
    Code.HYBRID_VECTOR_MERGE_USED: "No action needed.",
    Code.QUERY_VECTOR_EMPTY: "Add detail, or use a provider that supports the query's language.",
    Code.VECTOR_SEARCH_FAILED: "Retry, or use another provider; the message has its error.",
    Code.GRAPH_FALLBACK: "No action needed.",
    Code.OBSERVED_INVALID: "Learn it again from the traces, or remove it.",
    Code.OBSERVED_TOOL_UNKNOWN: "Correct the names, or forget them with `mcpg learn --forget`.",
    Code.TRACE_SKIPPED: "Correct the program that writes the traces.",
    Code.TRACE_REPAIRED: "No action needed.",
    Code.TRACE_KNOWN: "No action needed; `--reset` recounts everything.",
    Code.TRACE_BOUNDED: "Split the traces by time, and learn from each in turn.",
    Code.CALLS_NOT_RECORDED: "Check the path and its disk space; calls are not affected.",
    Code.ANSWER_DROPPED: "No action needed; review the tool's definition.",
    Code.ANSWER_INCOMPLETE: "Run `mcpg enrich` again, or use a better model.",
    Code.ASK_FALLBACK: "Set the intent with `--intent`, or add the relation to a document.",
    Code.ASK_NAME_UNKNOWN: "Correct the name; `mcpg list` lists the tools.",
    Code.JUDGED_INVALID: "Fix the issue that the message names; see the layouts.",
    Code.JUDGED_REPEATED: "Remove one, or give it an id of its own.",
    Code.JUDGED_TOOL_AMBIGUOUS: "Use the id, or `source::name`.",
    Code.JUDGED_TOOL_DISABLED: "Evaluate with `--include-disabled`, or remove it.",
    Code.JUDGED_TOOL_UNKNOWN: "Correct the name; near ones are suggested.",
}


def find_remedy(code: str) -> str | None:
    """Return the remedy for a diagnostic with *code*, `None` for a code of others."""
    return REMEDIES.get(code)
