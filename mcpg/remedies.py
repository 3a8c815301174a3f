"""What to do about each diagnostic; the same words stand in docs/reference/diagnostics.md."""

from __future__ import annotations

from mcpg.diagnostics import Code

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
