"""The intent of a question: a multinomial logistic regression over its shape.

Its features are the kinds of mentions, words of closed classes, their places beside the
mentions, and the number of other words. No word that a catalog could be about is a
feature: tools are called *get*, *find* and *call*. The coefficients are fitted by
`benchmarks/fit_intents.py`.

Source: Li & Roth, "Learning question classifiers", COLING 2002.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import exp, log1p

from mcpg.ask.mentions import Token, is_content, is_pointed_at, language
from mcpg.ask.model import (
    INTENTS,
    MODELLED_INTENTS,
    Decision,
    Intent,
    Mention,
    MentionKind,
    Spelling,
)
from mcpg.errors import UsageError
from mcpg.text import fold, split_words, stem, strip_accents

ANYTHING = "*"
"""The placeholder for any words, also none."""

PLACEHOLDERS = {
    "{tool}": MentionKind.TOOL,
    "{field}": MentionKind.FIELD,
    "{symbol}": MentionKind.SYMBOL,
}
"""The placeholder for a mention, with its kind."""

MOST_PATTERNS, MOST_WORDS = 256, 64
"""The most patterns, and the most words of one."""


@dataclass(frozen=True, slots=True)
class IntentPattern:
    """A wording of questions.

    Attributes:
        template: Words, with `{tool}`, `{field}` and `{symbol}`, and `*` for any words.
    """

    template: str
    intent: str


def check_patterns(patterns: Iterable[IntentPattern]) -> tuple[IntentPattern, ...]:
    """Return *patterns*."""
    known = tuple(patterns)
    if len(known) > MOST_PATTERNS:
        message = f"there are {len(known)} patterns of questions; {MOST_PATTERNS} is the most"
        raise UsageError(message, remedy="remove some")
    for pattern in known:
        words = pattern.template.split()
        if pattern.intent not in INTENTS:
            message = f"no intent is called {pattern.intent[:40]!r}"
            raise UsageError(message, remedy=f"use {', '.join(INTENTS)}")
        if not words or len(words) > MOST_WORDS:
            message = f"a pattern of a question has {len(words)} words"
            raise UsageError(message, remedy=f"use from 1 to {MOST_WORDS}")
        for word in words:
            if word.startswith("{") and word not in PLACEHOLDERS:
                message = f"no placeholder is called {word[:40]!r}"
                raise UsageError(message, remedy=f"use {', '.join((*PLACEHOLDERS, ANYTHING))}")
    return known


def matching(
    patterns: Iterable[IntentPattern], tokens: Sequence[Token], mentions: Sequence[Mention]
) -> Decision | None:
    """Return the decision of the first of *patterns* that a question is worded as, if any."""
    # The words of the question, each with the kind of its mention, "" for others.
    starts = {one.start: one for one in mentions}
    units: list[tuple[str, str]] = []
    place = 0
    while place < len(tokens):
        mention = starts.get(place)
        units.append((tokens[place].folded, mention.kind if mention else ""))
        place = mention.end if mention else place + 1
    for one in patterns:
        if _matches([strip_accents(fold(word)) for word in one.template.split()], units):
            return Decision(one.intent, 1.0, "pattern", (f"is worded as {one.template!r}",))
    return None


def _matches(words: Sequence[str], units: Sequence[tuple[str, str]]) -> bool:
    """Return whether *units* read as *words*: wildcard matching that goes back to one `*` only."""
    word = unit = 0
    star, resumed = -1, 0
    while unit < len(units):
        wanted, (text, kind) = words[word] if word < len(words) else None, units[unit]
        if wanted == ANYTHING:
            star, resumed = word, unit
            word += 1
        elif wanted is not None and (
            kind == PLACEHOLDERS[wanted] if wanted in PLACEHOLDERS else wanted.strip("?!.,") == text
        ):
            word += 1
            unit += 1
        elif star >= 0:
            resumed += 1
            word, unit = star + 1, resumed
        else:
            return False
    return all(one == ANYTHING for one in words[word:])


Features = dict[str, float]

OF_CODE = "code: "
"""The prefix of features that only questions about source code have."""

KINDS = (
    *("before", "after", "way", "give", "take", "call", "inherit", "import", "reference", "depend"),
    *("similar", "other", "than", "like", "example", "artefact", "want", "docs"),
    *("parameter", "locate", "where", "how", "what", "why", "thing", "home", "all", "aux"),
    *("of", "for", "from", "to", "with", "or", "and", "you", "we"),
)
"""The kinds of cues, in `data/cues.txt`."""

_ALWAYS = "any"
_NEAR = 2
_FEW, _SOME, _MANY, _LONG = 1, 3, 7, 20
_SEVERAL = 3
_SHOWN_EVIDENCE = 4
_LEAST_EVIDENCE = 0.3


def residue(tokens: Sequence[Token], mentions: Sequence[Mention]) -> tuple[Token, ...]:
    """Return the words that carry content beside the *mentions* and their words."""
    held = {place for one in mentions for place in range(one.start, one.end)}
    own = {stem(word) for one in mentions for word in split_words(one.text)}
    spoken = language(tuple(tokens))
    return tuple(
        token
        for place, token in enumerate(tokens)
        if place not in held and stem(token.folded) not in own and is_content(token, spoken)
    )


def extract_question_features(
    tokens: Sequence[Token], mentions: Sequence[Mention], literals: int = 0
) -> Features:
    """Return the features of a question, those that are 0 left out."""
    found: Features = {_ALWAYS: 1.0}
    found |= _mention_features(tokens, mentions)
    found |= _shape(tokens, mentions, literals)
    found |= _cue_features(tokens, mentions, found)
    if any(one.kind != MentionKind.SYMBOL for one in mentions):
        return found
    # The same words can request other things about code, such as `the usage of X`.
    return {f"{OF_CODE}{name}": amount for name, amount in found.items()}


def _mention_features(tokens: Sequence[Token], mentions: Sequence[Mention]) -> Features:
    tools = [one for one in mentions if one.kind == MentionKind.TOOL]
    sure = {one.kind for one in mentions if one.is_sure}
    words = [one for one in tools if one.spelling == Spelling.WORD]
    has_field = any(one.kind == MentionKind.FIELD for one in mentions)
    names = len({one.name for one in tools if one.is_sure})
    holds = {
        "nothing sure": not sure,
        "tool named": MentionKind.TOOL in sure,
        "field named": MentionKind.FIELD in sure,
        "symbol named": MentionKind.SYMBOL in sure,
        "field alone": MentionKind.FIELD in sure and not tools,
        "field and tool": has_field and bool(tools),
        "tool spoken": any(one.spelling == Spelling.SPOKEN for one in mentions),
        "tool is a word": bool(words),
        "word pointed at": any(is_pointed_at(tokens, one.start) for one in words),
        "two tools": names == _SEVERAL - 1,
        "several tools": names >= _SEVERAL,
    }
    return {name: 1.0 for name, is_so in holds.items() if is_so}


def _shape(tokens: Sequence[Token], mentions: Sequence[Mention], literals: int) -> Features:
    found: Features = {}
    rest = len(residue(tokens, mentions))
    most = next((most for most in (0, _FEW, _SOME, _MANY) if rest <= most), None)
    size = f"rest > {_MANY}" if most is None else f"rest <= {most}"
    found[size] = 1.0
    if not any(one.is_sure for one in mentions):
        found[f"unsure, {size}"] = 1.0
    found["words"] = log1p(len(tokens))
    if len(tokens) > _LONG:
        found["long"] = 1.0
    if literals:
        found["literals"] = log1p(literals)
    first = min((one.start for one in mentions), default=-1)
    last = max((one.end for one in mentions), default=-1)
    if first == 0:
        found["starts with the name"] = 1.0
    # Which kinds of mentions follow each other, and the words between them.
    for one, other in pairwise(mentions):
        found[f"{one.kind}, then {other.kind}"] = 1.0
        between = tokens[one.end : other.start]
        if len(between) <= _NEAR:
            for kind in sorted({kind for token in between for kind in token.cues}):
                found[f"{one.kind} {kind} {other.kind}"] = 1.0
    if last == len(tokens):
        found["ends with the name"] = 1.0
    if mentions and last - first == len(tokens):
        found["only the name"] = 1.0
    return found


def _cue_features(
    tokens: Sequence[Token], mentions: Sequence[Mention], known: Features
) -> Features:
    held = {place for one in mentions if one.is_sure for place in range(one.start, one.end)}
    asking = _asking(tokens, held)
    found: Features = {}
    asked: Features = {}
    for place, token in enumerate(tokens):
        if place not in held:
            found |= dict.fromkeys(_iter_placed_cues(place, token, mentions), 1.0)
            asked |= dict.fromkeys(token.cues if place in asking else (), 1.0)
    named = dict.fromkeys((kind for kind in (*KINDS, "a call") if f"cue {kind}" in found), 1.0)
    calls = [n for n, token in enumerate(tokens) if "call" in token.cues and n not in held]
    if any(one.folded in _ARTICLES for n in calls for one in tokens[max(0, n - _REACH) : n]):
        # A call is requested as a noun: `a git_add call`.
        named["a call"] = found["cue a call"] = 1.0
    found |= {f"cue {kind} in the asking part": 1.0 for kind in asked}
    held_kinds = {**known, **named}
    for pair in _PAIRS:
        if held_kinds.keys() >= {*pair}:
            found[f"cues {', '.join(pair)}"] = 1.0
        if asked.keys() >= {*pair}:
            found[f"cues {', '.join(pair)} in the asking part"] = 1.0
    return found


def _iter_placed_cues(place: int, token: Token, mentions: Sequence[Mention]) -> Iterator[str]:
    """Yield the features of the cues that the *token* at a *place* is."""
    is_before = any(0 < one.start - place <= _NEAR for one in mentions)
    is_after = any(0 <= place - one.end < _NEAR for one in mentions)
    for kind in token.cues:
        yield f"cue {kind}"
        if place == 0:
            yield f"cue {kind} first"
        if is_before:
            yield f"cue {kind} before the name"
        if is_after:
            yield f"cue {kind} after the name"


_PAIRS = (
    *(("where", "give"), ("what", "thing"), ("how", "want"), ("artefact", "want")),
    *(("a call", "want"), ("other", "thing"), ("all", "than"), ("what", "give"), ("what", "take")),
    *(("all", "take"), ("how", "give"), ("what", "before"), ("what", "after"), ("aux", "docs")),
    *(("what", "artefact"), ("what", "home"), ("similar", "or"), ("aux", "or"), ("from", "to")),
    *(("what", "other"), ("other", "locate"), ("what", "docs"), ("what", "like"), ("aux", "take")),
    *(("aux", "you"), ("we", "want"), ("with", "you"), ("long", "aux", "you"), ("long", "we")),
    *(("long", "what"), ("long", "how"), ("long", "docs"), ("long", "example")),
    *(("long", "similar"), ("long", "field alone"), ("long", "with"), ("long", "you")),
)
_ARTICLES = frozenset(("a", "an", "one", "un", "una", "ein", "einen", "une", "um", "uma"))
_REACH = 4


def _asking(tokens: Sequence[Token], held: set[int]) -> range:
    """Return the places of the last part of a question in which a word asks."""
    end = len(tokens)
    for place in range(len(tokens) - 1, -1, -1):
        is_start = place == 0 or tokens[place - 1].ends
        if is_start:
            part = range(place, end)
            if any(_ASKING & tokens[one].cues for one in part if one not in held):
                return part
            end = place
    return range(len(tokens))


_ASKING = frozenset(("what", "where", "how", "why", "aux"))


@cache
def _weights() -> dict[str, dict[str, float]]:
    text = (files("mcpg.ask") / "data" / "intents.json").read_text(encoding="utf-8")
    weights: dict[str, dict[str, float]] = json.loads(text)["weights"]
    return weights


def probabilities(features: Features) -> dict[str, float]:
    """Return the probability of each of `MODELLED_INTENTS`."""
    weights = _weights()
    logits = {
        intent: sum(weights[intent].get(name, 0.0) * amount for name, amount in features.items())
        for intent in MODELLED_INTENTS
    }
    greatest = max(logits.values())
    odds = {intent: exp(logit - greatest) for intent, logit in logits.items()}
    total = sum(odds.values())
    return {intent: one / total for intent, one in odds.items()}


NOTHING_NAMED = ("no tool, field or symbol is named",)
"""The evidence for a search if a question names nothing."""

_MOST_BESIDE_A_POINTED_WORD = 2
_DOUBTFUL = 0.6
_SURE_TOPIC = 0.85
_EXPLAINING = frozenset(("how", "docs"))
# A question about a topic has one of these cues; a search can have any other.
_OF_TOPICS = {
    Intent.DOCUMENTATION: frozenset(("docs", "how", "what", "why")),
    Intent.EXAMPLES: frozenset(("example", "how")),
}


def decide(tokens: Sequence[Token], mentions: Sequence[Mention], literals: int = 0) -> Decision:
    """Return the intent of a question.

    A question that names nothing is a search, whatever its words; so is a question with a
    possible name among other content, and a long question with a doubtful intent.
    """
    if not mentions:
        return Decision(Intent.SEARCH, 1.0, "default", NOTHING_NAMED)
    # Words that may be a name count as a name if there are few other words.
    beside = len(residue(tokens, mentions))
    is_pointed = any(is_pointed_at(tokens, one.start) for one in mentions)
    is_meant = beside == 0 or (is_pointed and beside <= _MOST_BESIDE_A_POINTED_WORD)
    if not is_meant and not any(one.is_sure for one in mentions):
        words = ", ".join(dict.fromkeys(repr(one.text) for one in mentions[:_SEVERAL]))
        return Decision(Intent.SEARCH, 1.0, "default", (f"{words} may not be a name here",))
    features = extract_question_features(tokens, mentions, literals)
    found = probabilities(features)
    intent = max(MODELLED_INTENTS, key=lambda one: found[one])
    if intent != Intent.SEARCH and len(tokens) > _LONG and found[intent] < _DOUBTFUL:
        return Decision(Intent.SEARCH, found[Intent.SEARCH], "default", ("no intent is clear",))
    return Decision(intent, found[intent], "model", tuple(_evidence(intent, features, mentions)))


def find_topic(tokens: Sequence[Token]) -> Mention | None:
    """Return the topic of a question that names nothing: its content words and the rest."""
    if not tokens:
        return None
    content = set(residue(tokens, ()))
    places = [place for place, token in enumerate(tokens) if token in content]
    start, end = (places[0], places[-1] + 1) if places else (len(tokens) - 1, len(tokens))
    text = " ".join(token.text for token in tokens[start:])
    return Mention(MentionKind.SYMBOL, text, text, Spelling.NAME, (), start, end)


def decide_topic(tokens: Sequence[Token], topic: Mention) -> Decision:
    """Return the intent of a question that names nothing, if source code is indexed.

    It is a search unless, with the topic as a name, it reads as one for documentation or examples.
    """
    features = extract_question_features(tokens, (topic,))
    found = probabilities(features)
    intent = max(MODELLED_INTENTS, key=lambda one: found[one])
    cues = frozenset[str]().union(*(token.cues for token in tokens))
    needed = _DOUBTFUL if cues >= _EXPLAINING else _SURE_TOPIC
    if cues.isdisjoint(_OF_TOPICS.get(intent, ())) or found[intent] < needed:
        return Decision(Intent.SEARCH, 1.0, "default", NOTHING_NAMED)
    return Decision(intent, found[intent], "model", (f"is about {topic.text!r}",))


def _evidence(intent: str, features: Features, mentions: Sequence[Mention]) -> Iterable[str]:
    """Return the features that favor *intent*, by how much more than other intents."""
    weights = _weights()
    named = ", ".join(dict.fromkeys(f"{one.kind} {one.text!r}" for one in mentions))
    yield f"mentions {named}"
    margins = {
        name: amount
        * (
            weights[intent].get(name, 0.0)
            - max(weights[other].get(name, 0.0) for other in MODELLED_INTENTS if other != intent)
        )
        for name, amount in features.items()
    }
    ranked = sorted(margins, key=lambda name: (-margins[name], name))
    for name in [one for one in ranked if not one.endswith(_ALWAYS)][: _SHOWN_EVIDENCE - 1]:
        if margins[name] >= _LEAST_EVIDENCE:
            yield f"{name.removeprefix(OF_CODE)} (+{margins[name]:.1f})"
