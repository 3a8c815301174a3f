"""Reading the report of an earlier evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from mcpg.catalog.json_text import parse_json_documents
from mcpg.errors import InputError
from mcpg.evaluation.metrics import JudgedMatch, QueryOutcome
from mcpg.evaluation.report import SCHEMA
from mcpg.files import MAX_BYTES, read_bytes, text_of_path
from mcpg.json_types import JsonObject, JsonValue
from mcpg.sources.model import decode

Kind = TypeVar("Kind")

_REMEDY = "make one with `mcpg eval QUERIES --format json -o FILE`"


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier evaluation.

    Attributes:
        outcomes: What it made of its queries.
        limit: The most matches that it looked at for a query.
    """

    outcomes: tuple[QueryOutcome, ...]
    limit: int


def read_baseline(path: Path | str) -> Baseline:
    """Read an earlier evaluation from its report as JSON.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read or is no such report.
    """
    place = text_of_path(path)
    text = decode(read_bytes(path, MAX_BYTES), place)
    values = parse_json_documents(text, place) if text.strip() else []
    return _ReportReader(place).baseline(values[0] if len(values) == 1 else None)


class _ReportReader:
    """Takes a report apart; whatever is not as `mcpg eval` writes it is an error."""

    def __init__(self, place: str) -> None:
        self._place = place

    def baseline(self, report: JsonValue) -> Baseline:
        if not isinstance(report, dict) or report.get("schema") != SCHEMA:
            self._refuse(f"is no report of `mcpg eval` (its schema is not {SCHEMA!r})")
        outcomes = tuple(map(self._outcome, self._list(report, "perQuery")))
        limit = self._get(report, "limit", int)
        if isinstance(limit, bool) or limit < 1:
            self._refuse("is a damaged report: a 'limit' is no number of matches")
        return Baseline(outcomes, limit)

    def _outcome(self, entry: JsonValue) -> QueryOutcome:
        members = self._object(entry)
        outcome = QueryOutcome(
            self._get(members, "id", str),
            self._get(members, "query", str),
            self._texts(members, "judged"),
            self._texts(members, "relevant"),
            self._texts(members, "unknown"),
            tuple(map(self._read_match, self._list(members, "matches"))),
        )
        if outcome.judged and not outcome.relevant_count:
            self._refuse("is a damaged report: a judged query has neither 'relevant' nor 'unknown'")
        return outcome

    def _read_match(self, entry: JsonValue) -> JudgedMatch:
        members = self._object(entry)
        score = members.get("score")
        if isinstance(score, bool) or not isinstance(score, int | float):
            self._refuse("is a damaged report: a 'score' is missing or of the wrong kind")
        if not 0 <= score <= 1:
            self._refuse("is a damaged report: a 'score' is not between 0 and 1")
        return JudgedMatch(
            self._get(members, "toolId", str), float(score), self._get(members, "isRelevant", bool)
        )

    def _object(self, entry: JsonValue) -> JsonObject:
        if not isinstance(entry, dict):
            self._refuse("is a damaged report: an entry is no object")
        return entry

    def _list(self, members: JsonObject, key: str) -> list[JsonValue]:
        found: list[JsonValue] = self._get(members, key, list)
        return found

    def _texts(self, members: JsonObject, key: str) -> tuple[str, ...]:
        return tuple(self._get({key: one}, key, str) for one in self._list(members, key))

    def _get(self, members: JsonObject, key: str, kind: type[Kind]) -> Kind:
        value = members.get(key)
        if not isinstance(value, kind):
            self._refuse(f"is a damaged report: a {key!r} is missing or of the wrong kind")
        return value

    def _refuse(self, message: str) -> NoReturn:
        raise InputError(message, place=self._place, remedy=_REMEDY)
