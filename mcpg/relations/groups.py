"""The groups a tool belongs to, as ids that documents and people read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcpg.relations.vocabulary import PROSE
from mcpg.text import fold

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool
    from mcpg.relations.vocabulary import Vocabulary

_DOMAINS_PER_TOOL = 4
# A group id stands where a URI may stand, and a colon parts its members.
_NO_GROUP_CHARACTER = re.compile(r"[\s:/\\<>\"'{}|^`\x00-\x1f\x7f]+")


def groups_of(tool: Tool, position: int, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Name the groups of the tool at *position* of the vocabulary's tools.

    These are a `domain:` group for each of the four terms that tell most, the same within the
    tool's source, and a `category:` group for each category. A term that no other tool holds makes
    a group only where the tool has no other, and one of the description only where nothing else
    names the tool's subject.
    """
    domains = _domains(position, vocabulary)
    source = _slug(tool.source_id)
    categories = dict.fromkeys(_slug(category) for category in tool.hints.categories)
    return (
        *(f"domain:{domain}" for domain in domains),
        *(f"source-domain:{source}:{domain}" for domain in domains if source),
        *(f"category:{category}" for category in categories if category),
    )


def _domains(position: int, vocabulary: Vocabulary) -> list[str]:
    terms = vocabulary.terms[position]
    named = [term for term, weight in terms.items() if weight > PROSE]
    shared = [term for term in terms if vocabulary.holders[term] > 1]
    chosen = [term for term in named if term in shared] or named or shared
    return [vocabulary.words[term] for term in chosen[:_DOMAINS_PER_TOOL]]


def _slug(text: str) -> str:
    return _NO_GROUP_CHARACTER.sub("-", fold(text)).strip("-")
