"""Diagnostics: what a run noticed without failing, each with a stable code."""

from __future__ import annotations

from mcpg.values import value


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
