"""From a query to a rewrite that may stand beside it, or the reason why there is none.

A rewrite may be trusted as far as the query itself cannot be read, for then there is little to
lose; and as far as it is the same text, spelt better.
"""

from __future__ import annotations

from mcpg.caches import SearchCache
from mcpg.engine.circuit_breaker import GuardedNormalizer
from mcpg.engine.rewrite.answers import (
    LanguageTest,
    Literal,
    judge,
    literals_of,
    lost,
    read_language,
    restored,
    without,
)
from mcpg.engine.vectors import cached_rewrite
from mcpg.errors import Code, Diagnostic, McpgError, info, warning
from mcpg.index import Index
from mcpg.json_types import JsonObject
from mcpg.text import fold, stem
from mcpg.text.words import is_mark
from mcpg.values import value

MOST = 0.95
"""No rewrite is trusted more: translations go wrong, and what the query finds may be right."""

_GRAM = 3


def trust_in(query: str, rewrite: str, foreign: float, agreement: float = 1.0) -> float:
    """Return the probability, at most `MOST`, that *rewrite* asks for what *query* asks for.

    Args:
        query: The query as it was given.
        rewrite: What it was rewritten as.
        foreign: The share of the query's words that neither English nor the catalogue knows.
        agreement: The cosine of both texts, in [0, 1], where they are searched by vectors.
    """
    return round(min(MOST, max((foreign * agreement) ** 2, kept(query, rewrite) ** 3)), 6)


def kept(query: str, rewrite: str) -> float:
    """Return the share of the distinct 3-grams of *query* that *rewrite* holds, in [0, 1]."""
    asked = _grams(query)
    return len(asked & _grams(rewrite)) / len(asked) if asked else 0.0


def _grams(text: str) -> set[str]:
    folded = "".join(sign if sign.isalnum() or is_mark(sign) else " " for sign in fold(text))
    padded = f" {' '.join(folded.split())} "
    return {padded[start : start + _GRAM] for start in range(len(padded) - _GRAM + 1)}


_LONGEST_SHOWN = 200


class RewriteStatus:
    """The names of what may become of a query."""

    REWRITTEN = "rewritten"
    UNCHANGED = "unchanged"
    PLAIN = "plain English"
    REFUSED = "refused"
    FAILED = "failed"
    MISSING = "no normaliser"


@value
class Rewrite:
    """What became of a query.

    Attributes:
        query: The query as it was given.
        status: One of the names in `RewriteStatus`.
        text: What it was rewritten as; "" unless it was.
        trust: The probability, in [0, 1], that the rewrite asks for what the query asks for.
        reason: Why there is no rewrite, where there should be one.
        language: What the words of the query say about its language; `None` when nobody looked.
        literals: The parts of the query that a rewrite must keep.
        restored: Those of them that were put back.
        agreement: The cosine of both texts where they are searched by vectors, else `None`.
    """

    query: str
    status: str
    text: str = ""
    trust: float = 0.0
    reason: str = ""
    language: LanguageTest | None = None
    literals: tuple[Literal, ...] = ()
    restored: tuple[Literal, ...] = ()
    agreement: float | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        if self.status == RewriteStatus.REWRITTEN:
            return self._rewritten()
        if self.status == RewriteStatus.FAILED:
            message = f"the query was searched as it is: {self.reason}"
            return (warning(Code.QUERY_NORMALIZATION_FAILED, message),)
        if self.status == RewriteStatus.REFUSED:
            message = f"the rewritten query is not used: {self.reason}"
            return (warning(Code.QUERY_NORMALIZATION_REFUSED, message),)
        if self.status == RewriteStatus.MISSING:
            message = "the query was searched as it is: nothing is set up to rewrite it"
            return (info(Code.QUERY_NORMALIZER_MISSING, message),)
        return ()

    def details(self) -> JsonObject:
        details: JsonObject = {"outcome": self.status}
        if self.language is not None:
            details |= {
                "englishShare": round(self.language.english, 6),
                "otherShare": round(self.language.other, 6),
                "foreignShare": round(self.language.foreign, 6),
            }
        if self.reason:
            details["reason"] = self.reason
        if self.text:
            details |= {
                "rewrite": self.text,
                "trust": self.trust,
                "agreement": self.agreement,
                "literals": [one.text for one in self.literals],
                "restored": [one.text for one in self.restored],
            }
        return details

    def _rewritten(self) -> tuple[Diagnostic, ...]:
        message = f"searched as {_quoted(self.text)} as well, trusted {self.trust:.2f}"
        found = (info(Code.QUERY_NORMALIZED, message),)
        if not self.restored:
            return found
        names = ", ".join(_quoted(one.text) for one in self.restored)
        return *found, info(Code.QUERY_LITERALS_RESTORED, f"the rewritten query had lost {names}")


def rewrite_of(
    query: str, index: Index, normalizer: GuardedNormalizer | None, cache: SearchCache | None
) -> Rewrite:
    """Have *query* rewritten for a search of *index*, where that is possible and worth while.

    Nothing that the normaliser does is raised; only whoever interrupts the waiting is heard.
    """
    if normalizer is None:
        return Rewrite(query, RewriteStatus.MISSING)
    literals = literals_of(query)
    language = language_in(query, literals, index)
    if language.is_plain_english:
        return Rewrite(query, RewriteStatus.PLAIN, language=language)
    try:
        answer = cached_rewrite(cache, normalizer, query)
    except McpgError as fault:
        return Rewrite(query, RewriteStatus.FAILED, reason=str(fault), language=language)
    return _read(query, answer, literals, language)


def language_in(query: str, literals: tuple[Literal, ...], index: Index) -> LanguageTest:
    """Return in which language *query* is, without its *literals*, beside the words of *index*."""

    def is_known(word: str) -> bool:
        return index.find_word(word) >= 0 or index.find_stem(stem(word)) >= 0

    return read_language(without(query, literals), is_known)


def _read(
    query: str, answer: str, literals: tuple[Literal, ...], language: LanguageTest
) -> Rewrite:
    verdict = judge(query, answer, literals)
    if verdict.reason:
        return Rewrite(query, RewriteStatus.REFUSED, reason=verdict.reason, language=language)
    missing = lost(literals, verdict.text)
    text = restored(verdict.text, missing) if verdict.text else ""
    if not text or fold(text) == fold(query):
        return Rewrite(query, RewriteStatus.UNCHANGED, language=language)
    trust = trust_in(query, text, language.foreign)
    return Rewrite(query, RewriteStatus.REWRITTEN, text, trust, "", language, literals, missing)


def _quoted(text: str) -> str:
    cut = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "\u2026"
    return f"\u201c{cut}\u201d"
