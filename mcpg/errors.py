"""The errors that mcpg raises.

McpgError
├── InputError        something given to mcpg cannot be used
│   ├── SourceError       a manifest, hints file or folder
│   ├── DocumentError     a Markdown-LD document
│   └── BundleError       a bundle file
├── OutputError       something cannot be written, or would overwrite what is not ours
├── UsageError        an option or a setting makes no sense
└── NotFoundError     a tool, file or bundle that was named does not exist
"""

from __future__ import annotations

from mcpg.values import value


def os_reason(fault: Exception) -> str:
    """Return why the operating system refused something, such as "permission denied"."""
    return (getattr(fault, "strerror", None) or str(fault)).lower()


class McpgError(Exception):
    """Root of every error that mcpg raises on purpose.

    Attributes:
        message: What is wrong, naming the thing at fault.
        place: Where it is wrong (a file, `file:line`, a member), or `None`.
        remedy: What the reader can do about it, or `None`.
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
    """Something cannot be written, or writing would destroy what is not ours."""


class UsageError(McpgError):
    """An option or a setting makes no sense."""


class NotFoundError(McpgError):
    """A tool, file or bundle that was named does not exist."""


# SECTION diagnostics: Diagnostics: what a run noticed without failing, each with a stable code.


class Severity:
    """How much a diagnostic matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Code:
    """The stable names of diagnostics; those of the .NET gateway where one fits."""

    SOURCE_LOAD_FAILED = "source_load_failed"
    SOURCE_SKIPPED = "source_skipped"
    SOURCE_INCOMPLETE = "source_incomplete"
    TOOL_INVALID = "tool_invalid"
    SCHEMA_INCOMPLETE = "schema_incomplete"
    TOOL_REPEATED = "tool_repeated"
    KEY_REPEATED = "key_repeated"
    TEXT_REPAIRED = "text_repaired"
    TEXT_LEFT_OUT = "text_left_out"
    DUPLICATE_TOOL_ID = "duplicate_tool_id"
    DUPLICATE_TOOL_NAME = "duplicate_tool_name"
    HINT_UNMATCHED = "hint_unmatched"
    HINT_INVALID = "hint_invalid"
    RELATION_INVALID = "relation_invalid"
    RELATION_UNRESOLVED = "relation_unresolved"
    DOCUMENT_INVALID = "document_invalid"
    DOCUMENT_SUPERSEDES = "document_supersedes"
    DOCUMENT_ATTACHED = "document_attached"
    DOCUMENT_UNMAPPED = "document_unmapped"
    GRAPH_PATH_MISSING = "markdown_ld_graph_path_missing"
    GRAPH_FACTORY_MISSING = "markdown_ld_graph_document_factory_missing"
    GRAPH_BUILD_FAILED = "graph_build_failed"
    GRAPH_DOCUMENT_UNMAPPED = "graph_document_unmapped"
    GRAPH_TOOL_UNDOCUMENTED = "graph_tool_undocumented"
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
    LOW_CONFIDENCE = "low_confidence_results"
    SEARCH_CACHE_FAILED = "search_cache_failed"
    TELEMETRY_FAILED = "telemetry_failed"
    TELEMETRY_MISSING = "telemetry_missing"
    QUERY_TRUNCATED = "query_truncated"
    QUERY_NORMALIZED = "query_normalized"
    QUERY_NORMALIZATION_FAILED = "query_normalization_failed"
    QUERY_NORMALIZATION_REFUSED = "query_normalization_refused"
    QUERY_NORMALIZER_MISSING = "query_normalizer_missing"
    QUERY_LITERALS_RESTORED = "query_literals_restored"
    LIMIT_CAPPED = "limit_capped"
    TOOL_EXPLAINED_BY_GRAPH = "tool_explained_by_graph"
    GRAPH_SCHEMA_FALLBACK = "graph_schema_fallback"
    GRAPH_SCHEMA_PROFILE_INVALID = "graph_schema_profile_invalid"
    GRAPH_SEARCH_FAILED = "graph_search_failed"
    GRAPH_ENDPOINT_BLOCKED = "graph_federation_endpoint_blocked"
    GRAPH_ENDPOINT_INVALID = "graph_federation_endpoint_invalid"
    GRAPH_RESULTS_CUT = "graph_results_cut"
    INDEX_IN_MEMORY = "index_in_memory"
    RANKING_IGNORED = "ranking_ignored"
    JUDGED_INVALID = "judged_invalid"
    JUDGED_REPEATED = "judged_repeated"
    JUDGED_TOOL_UNKNOWN = "judged_tool_unknown"
    JUDGED_TOOL_AMBIGUOUS = "judged_tool_ambiguous"
    JUDGED_TOOL_DISABLED = "judged_tool_disabled"


CODES = tuple(code for name, code in vars(Code).items() if name.isupper())


@value
class Diagnostic:
    """One thing a run noticed.

    Attributes:
        code: Stable name, for programs: one of `CODES`.
        severity: How much it matters: one of `Severity`.
        message: One sentence for people: what, and what to do about it.
        place: Where (a file, a member, a tool), or `None`.
    """

    code: str
    severity: str
    message: str
    place: str | None = None


def info(code: str, message: str, place: str | None = None) -> Diagnostic:
    """Make a diagnostic that only informs."""
    return Diagnostic(code, Severity.INFO, message, place)


def warning(code: str, message: str, place: str | None = None) -> Diagnostic:
    """Make a diagnostic that a careful reader acts on."""
    return Diagnostic(code, Severity.WARNING, message, place)


def error(code: str, message: str, place: str | None = None) -> Diagnostic:
    """Make a diagnostic for something that was asked for and did not happen."""
    return Diagnostic(code, Severity.ERROR, message, place)


# SECTION remedies: What to do about each diagnostic; the same words stand in
# docs/reference/diagnostics.md.


REMEDIES = {
    Code.GRAPH_PATH_MISSING: "Correct the path, or leave it out.",
    Code.SOURCE_LOAD_FAILED: "The message says what is wrong with it.",
    Code.SOURCE_SKIPPED: "Copy it into the folder under a plain name, or name it itself.",
    Code.SOURCE_INCOMPLETE: "Fetch the other pages and put them beside it.",
    Code.KEY_REPEATED: "Keep one of them.",
    Code.TEXT_REPAIRED: "Correct the text where it was made.",
    Code.TEXT_LEFT_OUT: (
        "Join the texts in one document, or name the tool by the key `tool` alone."
    ),
    Code.TOOL_INVALID: "Give it a `name`, or remove it.",
    Code.SCHEMA_INCOMPLETE: "Write that part into the document, or give its type.",
    Code.TOOL_REPEATED: "Nothing.",
    Code.DUPLICATE_TOOL_NAME: "Rename one, or say which server it comes from.",
    Code.DUPLICATE_TOOL_ID: "Use the longer ids.",
    Code.HINT_UNMATCHED: "Correct the name; near ones are suggested.",
    Code.HINT_INVALID: "See the keys of hints files.",
    Code.RELATION_UNRESOLVED: "Correct the name; near ones are suggested.",
    Code.RELATION_INVALID: "See the front matter.",
    Code.DOCUMENT_INVALID: "The message names the file and the line or part: correct it there.",
    Code.DOCUMENT_SUPERSEDES: "Nothing, or remove one of them.",
    Code.DOCUMENT_ATTACHED: "Nothing, or give the document a `name` of its own.",
    Code.DOCUMENT_UNMAPPED: "Correct the key `tool`, or say `tool: false`.",
    Code.GRAPH_FACTORY_MISSING: "Give the gateway a function that makes documents.",
    Code.GRAPH_BUILD_FAILED: "Mend what the message names; the gateway tries again by itself.",
    Code.GRAPH_DOCUMENT_UNMAPPED: "Make the graph anew, or add the source that has the tool.",
    Code.GRAPH_TOOL_UNDOCUMENTED: "Make the graph anew with the sources of the gateway.",
    Code.GRAPH_UNAVAILABLE: "Mend or remove the file that the message names.",
    Code.GRAPH_SCHEMA_FALLBACK: "Nothing.",
    Code.GRAPH_SCHEMA_PROFILE_INVALID: "Correct the profile, or leave the predicate out.",
    Code.GRAPH_SEARCH_FAILED: "The message says what the endpoint did; leave it out, or try again.",
    Code.GRAPH_ENDPOINT_BLOCKED: "Put it on the list of allowed endpoints, or leave it out.",
    Code.GRAPH_ENDPOINT_INVALID: "Give a whole address with https, or with http on this machine.",
    Code.GRAPH_RESULTS_CUT: "Ask for less, or raise `--limit`.",
    Code.CANDIDATES_FAILED: "The message says what is wrong; `mcpg publish` publishes a bundle.",
    Code.LOW_CONFIDENCE: "Say more, or take the answer with care.",
    Code.INDEX_IN_MEMORY: "Let mcpg write beside the bundle, or copy the bundle where it can.",
    Code.RANKING_IGNORED: "Fit it anew with `mcpg tune`, or drop it with `mcpg bundle --untuned`.",
    Code.LIMIT_CAPPED: "Ask for fewer.",
    Code.TOOL_EXPLAINED_BY_GRAPH: "Nothing, or ask with `--strategy graph`.",
    Code.QUERY_TRUNCATED: "Say it in fewer words.",
    Code.QUERY_NORMALIZED: "Nothing.",
    Code.QUERY_NORMALIZATION_FAILED: "See that the endpoint answers, or allow it more time.",
    Code.QUERY_NORMALIZATION_REFUSED: "Use a model that follows instructions better.",
    Code.QUERY_NORMALIZER_MISSING: "Set up a normaliser, or do not ask for one.",
    Code.QUERY_LITERALS_RESTORED: "Nothing.",
    Code.SEARCH_CACHE_FAILED: "See that the cache can be reached, or do without it.",
    Code.TELEMETRY_FAILED: "Mend the observer, or do without it.",
    Code.TELEMETRY_MISSING: "Install the extra `telemetry`, or do not ask for it.",
    Code.EMBEDDING_GENERATOR_MISSING: "Use `--strategy graph`.",
    Code.EMBEDDING_FAILED: "See that the provider works; what it made is kept, so go on later.",
    Code.EMBEDDING_COUNT_MISMATCH: "Use a provider that returns one vector for each text.",
    Code.EMBEDDING_STORE_LOAD_FAILED: "See that the store can be reached, or do without it.",
    Code.EMBEDDING_STORE_SAVE_FAILED: "See that the store can be written, or do without it.",
    Code.VECTORS_IGNORED: "Make it anew with `mcpg bundle --embed`, or remove it.",
    Code.VECTORS_STALE: "Make it anew with `mcpg bundle --embed`.",
    Code.HYBRID_VECTOR_MERGE_USED: "Nothing.",
    Code.QUERY_VECTOR_EMPTY: "Say more, or use a provider that knows the language of the query.",
    Code.VECTOR_SEARCH_FAILED: "The message says what the provider did; try again, or use another.",
    Code.GRAPH_FALLBACK: "Nothing.",
    Code.JUDGED_INVALID: "The message says what is wrong; see the layouts.",
    Code.JUDGED_REPEATED: "Remove one, or give it its own id.",
    Code.JUDGED_TOOL_AMBIGUOUS: "Use the id, or `source::name`.",
    Code.JUDGED_TOOL_DISABLED: "Measure with `--include-disabled`, or leave it out.",
    Code.JUDGED_TOOL_UNKNOWN: "Correct the name; near ones are suggested.",
}


def remedy_of(code: str) -> str | None:
    """Give what to do about a diagnostic with *code*, `None` for a code of somebody else's."""
    return REMEDIES.get(code)
