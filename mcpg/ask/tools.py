"""Answers that are tools: their places, signatures, cards, examples and lookalikes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from mcpg.ask.mentions import NameLookup
from mcpg.ask.model import Answer, Mention, MentionKind, RelatedItem
from mcpg.catalog.model import Tool, resolve, walk_parameters
from mcpg.documents.model import ToolDocument
from mcpg.index import Index
from mcpg.sources.listings import ENTRY_TYPE
from mcpg.text import iter_words, join_words, split_words, stem
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.words import LONGEST_WORD
from mcpg.values import to_json

_DEEPEST = 6
_MOST_ITEMS, _MOST_CHARACTERS = 16, 2_000
_GREATEST = 1e15
_FORMATS = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T09:00:00Z",
    "time": "09:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.com",
    "idn-email": "someone@example.com",
    "hostname": "example.com",
    "idn-hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "iri": "https://example.com/",
    "uri-reference": "/path",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "json-pointer": "/member",
    "regex": ".*",
}
_COMBINED = ("allOf", "anyOf", "oneOf")


def made_up_call(
    schema: JsonObject, asked: Collection[str] = ()
) -> tuple[JsonObject, tuple[str, ...]]:
    """Return arguments that are valid under *schema*, except for patterns.

    Beside them are the names of arguments with a pattern that a placeholder breaks.
    """
    maker = _CallMaker(schema)
    made = maker.object(schema, 0, frozenset(asked))
    return made, tuple(maker.unfollowed)


class _CallMaker:
    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self.unfollowed: list[str] = []

    def object(
        self, schema: JsonObject, depth: int, asked: frozenset[str] = frozenset()
    ) -> JsonObject:
        """Return an object with the required members of *schema* and those *asked* for."""
        parts = list(self._parts(schema))
        properties: dict[str, Any] = {}
        required: dict[str, None] = {}
        for part in parts:
            held, named = part.get("properties"), part.get("required")
            properties |= held if isinstance(held, dict) else {}
            names = named if isinstance(named, list) else []
            required |= dict.fromkeys(name for name in names if isinstance(name, str))
        required |= dict.fromkeys(name for name in properties if name in asked)
        made: JsonObject = {}
        for name in [*(one for one in properties if one in required), *required]:
            if name not in made:
                made[name] = self.value(properties.get(name, {}), name, depth + 1)
        return made

    def value(self, schema: JsonValue, name: str, depth: int) -> JsonValue:
        """Return a value that is valid under *schema*."""
        if not isinstance(schema, dict):
            return name
        parts = list(self._parts(schema))
        offered = next((one for part in parts for one in _iter_offered_values(part)), None)
        if offered is not None:
            return offered[0]
        kind = next((kind for part in parts if (kind := _type(part))), "")
        whole: JsonObject = {}
        for part in reversed(parts):
            whole |= part
        if depth > _DEEPEST and kind in {"object", "array"}:
            return {} if kind == "object" else []
        return self._of_type(kind, whole, schema, name, depth)

    def _of_type(
        self, kind: str, whole: JsonObject, schema: JsonObject, name: str, depth: int
    ) -> JsonValue:
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            return self._array(whole, name, depth)
        if kind in {"integer", "number"}:
            return _number(whole, kind)
        if kind == "boolean":
            return True
        if kind == "null":
            return None
        if "pattern" in whole:
            self.unfollowed.append(name)
        form = whole.get("format")
        made = _FORMATS.get(form, f"<{name}>") if isinstance(form, str) else f"<{name}>"
        least = min(_whole_number(whole.get("minLength"), 0), _MOST_CHARACTERS)
        most = _whole_number(whole.get("maxLength"), _MOST_CHARACTERS)
        return (made + "x" * (least - len(made)))[:most]

    def _array(self, schema: JsonObject, name: str, depth: int) -> list[JsonValue]:
        least = _whole_number(schema.get("minItems"), 1)
        most = _whole_number(schema.get("maxItems"), _MOST_ITEMS)
        count = min(max(1, least), most, _MOST_ITEMS)
        tuples = schema.get("prefixItems")
        if isinstance(tuples, list):
            return [self.value(one, name, depth + 1) for one in tuples[:_MOST_ITEMS]]
        items = schema.get("items", {})
        first = self.value(items, name.removesuffix("s"), depth + 1)
        if schema.get("uniqueItems") is True and count > 1:
            return [first, *(_vary_value(first, number) for number in range(2, count + 1))]
        return [first] * count

    def _parts(self, schema: JsonObject) -> Iterator[JsonObject]:
        """Return *schema* and the schemas it refers to: of alternatives, the first with a type."""
        seen: set[int] = set()
        waiting = [schema]
        while waiting and len(seen) < _MOST_ITEMS:
            part = waiting.pop(0)
            if id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            target = resolve(part.get("$ref"), self._root)
            waiting += [target] if target is not None else []
            for key in _COMBINED:
                branches = part.get(key)
                held = (
                    [one for one in branches if isinstance(one, dict)]
                    if isinstance(branches, list)
                    else []
                )
                named = [one for one in held if _type(one) != "null"]
                waiting += held if key == "allOf" else (named or held)[:1]


def _iter_offered_values(schema: JsonObject) -> Iterator[tuple[JsonValue]]:
    """Yield the values that *schema* offers itself, the most telling first."""
    if "const" in schema:
        yield (schema["const"],)
    for key in ("examples", "enum"):
        values = schema.get(key)
        if (
            isinstance(values, list)
            and values
            and (key == "enum" or _is_of_type(values[0], schema))
        ):
            yield (values[0],)
    for key in ("example", "default"):
        if schema.get(key) is not None and _is_of_type(schema[key], schema):
            yield (schema[key],)


_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def _is_of_type(found: JsonValue, schema: JsonObject) -> bool:
    """Return whether an example has the right type: authors err. Objects must be made anew."""
    kind = _type(schema)
    if kind in {"object", "array"} or "enum" in schema:
        return False
    if isinstance(found, bool):
        return kind in {"boolean", ""}
    return kind not in _TYPES or isinstance(found, _TYPES[kind])


def _type(schema: JsonObject) -> str:
    named = schema.get("type")
    kinds = named if isinstance(named, list) else [named]
    texts = [kind for kind in kinds if isinstance(kind, str)]
    kind = next((one for one in texts if one != "null"), texts[0] if texts else "")
    if not kind and isinstance(schema.get("properties"), dict):
        return "object"
    return "array" if not kind and "items" in schema else kind


def _number(schema: JsonObject, kind: str) -> float:
    least, most = _find_bound(schema, "minimum", 1), _find_bound(schema, "maximum", -1)
    step = _quantity(schema.get("multipleOf"))
    size = step if step is not None and step > 0 else 1
    made = max(1, least) if least is not None else 1
    if most is not None:
        made = min(made, most)
    # The next multiple upwards, unless that is too great.
    multiple = -(-made // size) * size
    made = multiple if most is None or multiple <= most else made // size * size
    return int(made) if kind == "integer" or made == int(made) else made


def _quantity(found: JsonValue) -> float | None:
    """Return a number that a float represents exactly, `None` for anything else."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return found if abs(found) < _GREATEST else None


def _find_bound(schema: JsonObject, key: str, way: int) -> float | None:
    """Return the bound called *key*, or the first whole number inside an exclusive one."""
    strict = _quantity(schema.get(f"exclusive{key.capitalize()}"))
    if strict is None:
        return _quantity(schema.get(key))
    whole = int(strict) + way
    other = _quantity(schema.get("maximum" if way > 0 else "minimum"))
    return whole if other is None or (whole - other) * way <= 0 else (strict + other) / 2


def _whole_number(found: JsonValue, otherwise: int) -> int:
    return (
        found
        if isinstance(found, int) and not isinstance(found, bool) and found >= 0
        else otherwise
    )


def _vary_value(found: JsonValue, number: int) -> JsonValue:
    """Return a value unlike *found*, for lists of distinct items."""
    if isinstance(found, str):
        return f"{found}{number}"
    if isinstance(found, bool) or found is None:
        return not found
    if isinstance(found, int | float):
        return found + number - 1
    return {**found, "number": number} if isinstance(found, dict) else [*found, number]


Found = Callable[[str, int], Sequence[tuple[int, float]]]
"""Searches: the numbers of the best tools for a text, with their scores."""

_MOST_ARGUMENTS = 8
_MOST_RELATED = 6
_MOST_WHY = 3
# Most descriptions that are read for the name of a tool; the words of some names are in many.
_MOST_READ = 512
_DESCRIPTION = "description"
_SUMMARY = 300
_PAGE_DOCS = 400
# The `entry_type` of pages that are records of items, not prose.
_ITEM_PAGES = frozenset({"source-code", ENTRY_TYPE})
_MOST_SIMILAR = 10
_LEAST_LIKENESS = 0.08
# How alike two tools are: by their names, by the rank of a tool in a search with the text of
# its peer, by an author's relation, by a name in the description.
_OF_NAMES, _OF_TEXTS, _OF_EDGES, _OF_DESCRIPTION = 0.35, 0.35, 0.2, 0.3
_OF_TERMS = 0.5
_SHARED = 0.5


class ToolAnswers:
    """Makes answers of the tools of an index."""

    def __init__(self, index: Index, names: NameLookup, disabled: frozenset[int]) -> None:
        self.index = index
        self.names = names
        self.disabled = disabled

    def answer(
        self,
        tool: int,
        kind: str,
        score: float,
        why: Iterable[str] = (),
        related: Iterable[RelatedItem] = (),
    ) -> Answer:
        """Return *tool* as an answer of a *kind*."""
        document = self.index.record(tool)
        return Answer(
            document.path,
            "",
            min(1.0, max(0.0, score)),
            kind,
            document.tool.id,
            "tool",
            signature(document.tool),
            self.index.summary(tool)[:_SUMMARY],
            tuple(related)[:_MOST_RELATED],
            tuple(why)[:_MOST_WHY],
        )

    def select_mentioned_tools(
        self, mentions: Sequence[Mention], spoken_sources: Iterable[str]
    ) -> list[int]:
        """Return the tools that are mentioned, in order; a source in the question narrows them."""
        sources = frozenset(map(join_words, spoken_sources))
        found: dict[int, None] = {}
        for one in mentions:
            if one.kind == MentionKind.TOOL:
                ours = [tool for tool in one.tools if self.source_key(tool) in sources]
                found |= dict.fromkeys(ours or one.tools)
        return list(found)

    def source_key(self, tool: int) -> str:
        return join_words(self.index.source_id(tool))

    def locate_tools(self, tools: Sequence[int], mentions: Sequence[Mention]) -> list[Answer]:
        """Return the places of *tools*."""
        spelt = {tool: one for one in reversed(mentions) for tool in one.tools}
        answers = []
        for tool in tools:
            mention = spelt.get(tool)
            name = self.index.tool_name(tool)
            is_exact = mention is None or join_words(mention.text) in {
                join_words(name),
                join_words(self.index.tool_id(tool)),
            }
            why = f"is called {name!r} on {self.index.source_id(tool)!r}"
            answers.append(self.answer(tool, "tool", 1.0 if is_exact else 0.9, (why,)))
        return answers

    def document_tools(self, tools: Sequence[int], fields: Sequence[str]) -> list[Answer]:
        """Return the cards of *tools*, with their documentation of *fields*, and pages on them."""
        answers = []
        for tool in tools:
            document = self.index.record(tool)
            why = list(_described_fields(document.tool, fields))
            edges = sorted(self.index.edges(tool), key=lambda edge: (-edge[3], edge[1]))
            reached = ((self.index.record(target), kind) for _, target, kind, _ in edges)
            near = (RelatedItem(to.tool.id, "tool", str(kind), to.path) for to, kind in reached)
            answer = self.answer(tool, "documentation", 1.0, why, near)
            described = document.tool
            card: JsonObject = {
                "toolId": described.id,
                "sourceId": described.source_id,
                "toolName": described.name,
                "displayName": described.display_name,
                "description": described.description,
                "requiredArguments": list(described.required_arguments),
                "inputSchema": described.input_schema,
                "outputSchema": described.output_schema,
                "annotations": described.annotations,
                "notes": document.body or None,
            }
            answers.append(replace(answer, card=card))
        names = [self.index.tool_name(tool) for tool in tools]
        for page in self.index.pages():
            held = [name for name in names if name in page.body]
            if held and page.further.get("entry_type") not in _ITEM_PAGES:
                mentions = (f"mentions {', '.join(map(repr, held))}",)
                docs = " ".join(page.tool.description.split())[:_PAGE_DOCS]
                title = page.tool.title or page.tool.name
                one = Answer(page.path, "", 0.5, "page", title, "page", "", docs, (), mentions)
                answers.append(one)
        return answers

    def examples(self, tools: Sequence[int], fields: Sequence[str]) -> list[Answer]:
        """Return example requests of *tools* that authors give, and calls made up for them."""
        answers = []
        for tool in tools:
            document = self.index.record(tool)
            for example in document.tool.hints.examples:
                why = ("is an example of its author",)
                one = self.answer(tool, "example", 1.0, why)
                answers.append(replace(one, docs=example.input, call=to_json(example)))
            made, unfollowed = made_up_call(document.tool.input_schema, fields)
            reasons = ["is synthesised from the input schema"]
            if unfollowed:
                reasons.append(f"does not follow the pattern of {', '.join(map(repr, unfollowed))}")
            call = {"name": document.tool.name, "arguments": made, "synthesised": True}
            answers.append(replace(self.answer(tool, "example", 0.8, reasons), call=call))
        return answers

    def similar(self, tools: Sequence[int], search: Found, terms: str = "") -> list[Answer]:
        """Return tools like *tools*: these first if there are several, then others with reasons.

        *terms* are words on further work of the others.
        """
        likeness: dict[int, float] = {}
        reasons: dict[int, dict[str, None]] = {}
        for tool in tools:
            for other, amount, why in self._alike(tool, search):
                if other not in tools and other not in self.disabled:
                    likeness[other] = likeness.get(other, 0.0) + amount
                    reasons.setdefault(other, {})[why] = None
        if terms:
            found = search(terms, _MOST_SIMILAR * 2)
            for rank, (other, _) in enumerate(found):
                if other in likeness:
                    likeness[other] += _OF_TERMS / (1 + rank)
                    reasons[other][f"fits {terms!r}"] = None
        kept = [one for one in likeness if likeness[one] >= _LEAST_LIKENESS]
        ranked = sorted(kept, key=lambda one: (-round(likeness[one], 9), one))[:_MOST_SIMILAR]
        compared = [self.answer(one, "compared", 1.0, ("is named",)) for one in tools]
        return [
            *(compared if len(tools) > 1 else ()),
            *(self.answer(one, "similar", likeness[one], reasons[one]) for one in ranked),
        ]

    def _alike(self, tool: int, search: Found) -> Iterator[tuple[int, float, str]]:
        index = self.index
        document = index.record(tool)
        holders = (
            index.find_holders(one, "name")
            for one in self._find_terms(split_words(document.tool.name))
        )
        for other in sorted({*chain.from_iterable(holders)}):
            names = index.tool_name(tool), index.tool_name(other)
            first, second = ({stem(word) for word in split_words(one)} for one in names)
            # Jaccard
            share = len(first & second) / len(first | second) if first and second else 0.0
            if other != tool and share >= _SHARED:
                is_same = join_words(names[0]) == join_words(names[1])
                why = "has the same name" if is_same else "has a name that is easily confused"
                yield other, _OF_NAMES * share, why
        name = " ".join(split_words(document.tool.name))
        text = f"{name}. {index.summary(tool)}"
        for rank, (other, score) in enumerate(search(text, 2 * _MOST_SIMILAR)):
            if other != tool:
                amount = _OF_TEXTS * (0.5 / (1 + rank) + 0.5 * score)
                yield other, amount, "is found by the other tool's description"
        for link, other, kind, weight in index.edges(tool):
            if str(kind) == "related":
                yield other, _OF_EDGES * weight, index.reason(link) or "is related by its author"
        for other in self.mentioned_in(tool, document):
            yield other, _OF_DESCRIPTION, "the description names it"

    def mentioned_in(self, tool: int, document: ToolDocument) -> Iterator[int]:
        """Yield the tools of the same source that the description of *tool* names."""
        words = document.tool.description.replace("`", " ").replace("(", " ").split()
        source = self.index.source_id(tool)
        for word in dict.fromkeys(word.strip(".,;:!?)'\"") for word in words):
            if "_" in word or "-" in word or word != word.lower():
                for other in self.names.tools(word):
                    if other != tool and self.index.source_id(other) == source:
                        yield other

    def find_mentions(self, tool: int) -> Iterator[int]:
        """Yield the tools of the same source that name *tool* in their descriptions."""
        index = self.index
        source = index.source_id(tool)
        found = [
            other for other in self._find_likely_mentions(tool) if index.source_id(other) == source
        ]
        for other in found[:_MOST_READ]:
            if other != tool and tool in self.mentioned_in(other, index.record(other)):
                yield other

    def _find_likely_mentions(self, tool: int) -> list[int]:
        """Return the tools that may name *tool* in their descriptions, the likeliest first.

        Their descriptions have its name or id in one piece, or else all words of its name.
        """
        name, tool_id = self.index.tool_name(tool), self.index.tool_id(tool)
        texts = (name, tool_id, f"{self.index.source_id(tool)}.{name}")
        keys = {join_words(text)[:LONGEST_WORD] for text in texts}
        # A name with as many numbers as words is a word as it is spelt.
        forms = [form for one in texts for form in (one.replace("-", "_"), one.replace("_", "-"))]
        words = {word.text for form in forms for word in [*iter_words(form)][-1:]}
        terms = (*map(self.index.find_identifier, keys), *self._find_terms(keys | words))
        whole = {*chain.from_iterable(self.index.find_holders(one, _DESCRIPTION) for one in terms)}
        parts = [
            {*self.index.find_holders(one, _DESCRIPTION)}
            for one in self._find_terms(split_words(name))
        ]
        spelt = set.intersection(*parts) - whole if parts else ()
        return [*sorted(whole), *sorted(spelt)]

    def _find_terms(self, words: Iterable[str]) -> list[int]:
        return [self.index.find_stem(stem(word)) for word in words]


def signature(tool: Tool) -> str:
    """Return *tool* as a call with its arguments, optional ones with a question mark."""
    found = walk_parameters(tool.input_schema, max_depth=1, max_parameters=_MOST_ARGUMENTS + 1)
    parts = [
        f"{one.path}{'' if one.required else '?'}: {one.type or 'any'}"
        for one in found[:_MOST_ARGUMENTS]
    ]
    more = [", ..."] if len(found) > _MOST_ARGUMENTS else []
    return f"{tool.name}({', '.join(parts)}{''.join(more)})"


def _described_fields(tool: Tool, fields: Sequence[str]) -> Iterator[str]:
    wanted = {join_words(field) for field in fields}
    for schema, what in ((tool.input_schema, "argument"), (tool.output_schema or {}, "result")):
        for one in walk_parameters(schema) if wanted else ():
            if join_words(one.path.rpartition(".")[2].replace("[]", "")) in wanted:
                required = " (required)" if one.required and what == "argument" else ""
                about = [" ".join(one.description.split())[:_SUMMARY]]
                about += [f"values: {', '.join(one.values)}"[:_SUMMARY]] if one.values else []
                said = "; ".join(filter(None, about))
                kind = f"{what} {one.path!r}: {one.type or 'any'}{required}"
                yield f"{kind}. {said}" if said else kind
