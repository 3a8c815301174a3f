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

import json
from functools import cache
from pathlib import Path
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
    """Raise a `UsageError` unless the argument *name* is of one of the *kinds*."""
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


@cache
def _read_remedies() -> dict[str, str]:
    # The column "remedy" of docs/reference/diagnostics.md repeats these.
    remedies: dict[str, str] = json.loads(
        Path(__file__).with_name("remedies.json").read_text("utf-8")
    )
    return remedies


def find_remedy(code: str) -> str | None:
    """Return the remedy for a diagnostic with *code*, `None` for a code of others."""
    return _read_remedies().get(code)
