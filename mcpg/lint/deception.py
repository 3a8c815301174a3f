"""Rules on texts that attack: instructions to a model, concealment, exfiltration, secrets.

They look for what an attack has to state, not for what it is about: tools that describe prompts,
links, keys or tokens are no attack, and neither is a phrase in quotation marks.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from mcpg.catalog.model import Tool
from mcpg.lint.context import make_finding
from mcpg.lint.model import Finding
from mcpg.text import lexicon
from mcpg.text.json_values import JsonValue

_MOST_TEXTS = 100_000
_VALUES = ("default", "const")
_HINTS = ("aliases", "keywords", "categories", "tags", "data_sources")


class ToolText(NamedTuple):
    """A text of a tool.

    Attributes:
        member: The way to it from the tool.
        text: The text.
        is_key: Whether it is the name of a property.
    """

    member: tuple[str | int, ...]
    text: str
    is_key: bool = False

    @property
    def holder(self) -> str:
        """The name of the property whose default or only value this is, "" for other texts."""
        is_value = self.member[-1] in _VALUES and len(self.member) > 1
        return str(self.member[-2]) if is_value else ""


def list_texts(tool: Tool) -> Iterator[ToolText]:
    """Yield the texts of *tool*: its names, descriptions, schemas, annotations and hints."""
    yield ToolText(("name",), tool.name)
    if tool.title:
        yield ToolText(("title",), tool.title)
    if tool.description:
        yield ToolText(("description",), tool.description)
    for name in _HINTS:
        for number, text in enumerate(getattr(tool.hints, name)):
            yield ToolText((name, number), text)
    wholes = (
        ("inputSchema", tool.input_schema),
        ("outputSchema", tool.output_schema),
        ("annotations", tool.annotations),
        ("_meta", tool.meta),
        *((name, part) for name, part in tool.listed.items()),
    )
    for name, whole in wholes:
        if whole:
            yield from _within(whole, name)


def _within(whole: JsonValue, name: str) -> Iterator[ToolText]:
    """Yield the texts in a JSON value, without recursion: it may be nested deeply."""
    waiting: list[tuple[tuple[str | int, ...], JsonValue]] = [((name,), whole)]
    count = 0
    while waiting and count < _MOST_TEXTS:
        member, part = waiting.pop()
        if isinstance(part, str):
            count += 1
            yield ToolText(member, part)
        elif isinstance(part, dict):
            count += len(part)
            yield from (ToolText((*member, key), key, is_key=True) for key in part if key)
            waiting += [((*member, key), one) for key, one in reversed(part.items())]
        elif isinstance(part, list):
            waiting += [((*member, at), one) for at, one in reversed([*enumerate(part)])]


_TAGS = range(0xE0020, 0xE007F)
_TAG_OFFSET = 0xE0000
_FEWEST_LETTERS = 3
# On the Zipf scale: one word of a million.
_FREQUENT = 3.0


@cache
def _letters() -> dict[str, str]:
    table = tomllib.loads((files("mcpg.lint") / "data" / "lookalikes.toml").read_text("utf-8"))
    return {sign: letter for letter, signs in table["letters"].items() for sign in signs}


@lru_cache(maxsize=8192)
def plain(sign: str) -> str:
    """Return the ASCII character that *sign* looks like, *sign* itself where there is none.

    Characters for tags, which are invisible, are taken as what they stand for.
    """
    if sign.isascii():
        return sign
    if ord(sign) in _TAGS:
        return chr(ord(sign) - _TAG_OFFSET)
    found = unicodedata.normalize("NFKC", sign)
    found = _letters().get(found, found)
    return found if len(found) == 1 and found.isascii() and found.isprintable() else sign


def plain_text(text: str) -> str:
    """Return *text* with each character as what it looks like; its length is the same."""
    return text if text.isascii() else "".join(map(plain, text))


def imitates(word: str) -> bool:
    """Return whether *word* looks like a frequent word of English, and is no word of its own."""
    if len(word) < _FEWEST_LETTERS or word.isascii():
        return False
    shown = plain_text(word)
    if not (shown.isascii() and shown.isalpha()):
        return False
    if lexicon.zipf_frequency(shown.lower(), lexicon.ENGLISH) < _FREQUENT:
        return False
    own = word.casefold()
    return not any(lexicon.zipf_frequency(own, one) for one in sorted(lexicon.FOREIGN))


_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200d\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0"
    "\u00ad\u2065\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f\U000e0100-\U000e01ef]+"
)
_SELECTORS = re.compile("[\ufe00-\ufe0f]{3,}|(?<=[A-Za-z])[\ufe00-\ufe0f]+")
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{3,6}\U000e007f")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_OVERRIDES = "\u202d\u202e"
_OPENING, _CLOSING = "\u202a\u202b\u2066\u2067\u2068", "\u202c\u2069"
_JOINERS = "\u200c\u200d"
_SPACE = "\u200b"
_CONTROL = re.compile(
    "\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|.)?|\x9b[0-9;]*[A-Za-z]"
    "|[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\x80-\x84\x86-\x9f]+",
    re.DOTALL,
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_LIKE_LATIN = {
    "CYRILLIC": frozenset("аеорсухіѕјһԁԛԝАВЕКМНОРСТУХІЅЈԌԜ"),  # noqa: RUF001
    "GREEK": frozenset("οαΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"),  # noqa: RUF001
    "ARMENIAN": frozenset("օոսհցՕՍԼ"),
    "CHEROKEE": frozenset("ᎠᎡᎢᎪᎫᎳᎷᎻᏀᏃᏚᏞᏟᏢᏦᏙᏒᏴ"),  # noqa: RUF001
    "FULLWIDTH": frozenset(map(chr, (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B)))),
}
_STYLED = re.compile("[\U0001d400-\U0001d7ff]{4,}")
# Scripts whose words hold joiners, by the first word of the names of their letters.
_JOINED = re.compile(
    "ARABIC|SYRIAC|THAANA|NKO|MANDAIC|DEVANAGARI|BENGALI|GURMUKHI|GUJARATI|ORIYA|TAMIL|TELUGU|KANNADA"
    "|MALAYALAM|SINHALA|TIBETAN|MONGOLIAN|KHMER|MYANMAR|THAI|LAO|HEBREW|JAVANESE|BALINESE"
)
_UNSPACED_SCRIPTS = re.compile("KHMER|MYANMAR|THAI|LAO|TIBETAN|CJK|HIRAGANA|KATAKANA|HANGUL")
_FEWEST_OF_SCRIPT = 3
_LATIN_SHARE = 0.7


def find_hidden_text(tool: Tool, text: ToolText) -> Iterator[Finding]:
    """Yield what is hidden in a text of *tool*."""
    # Nearly all texts are printable ASCII.
    if not (text.text.isascii() and text.text.isprintable()):
        yield from _find_hidden(tool, text)


def _find_hidden(tool: Tool, text: ToolText) -> Iterator[Finding]:
    found = _CONTROL.search(text.text)
    if found is not None:
        kind = "an escape sequence" if found[0][0] in "\x1b\x9b" else "a control character"
        yield _make_hidden_finding("H104", tool, text, found.start(), len(found[0]), f"has {kind}")
    if text.text.isascii():
        return
    at = find_invisible(text.text)
    if at is not None:
        shown = f"U+{ord(text.text[at[0]]):04X}"
        yield _make_hidden_finding("H101", tool, text, *at, f"has invisible characters ({shown})")
    at = _find_reordered(text.text)
    if at is not None:
        shown = f"U+{ord(text.text[at[0]]):04X}"
        yield _make_hidden_finding(
            "H102", tool, text, *at, f"has a character that changes direction ({shown})"
        )
    at = _find_disguised(text.text)
    if at is not None:
        word = text.text[at[0] : at[0] + at[1]]
        yield _make_hidden_finding(
            "H103", tool, text, *at, f"has letters that look like others in {word!r}"
        )


def _make_hidden_finding(
    code: str, tool: Tool, text: ToolText, start: int, size: int, what: str
) -> Finding:
    where = "name" if text.member == ("name",) else ".".join(map(str, text.member))
    return make_finding(
        code,
        tool,
        f"the {where} of {tool.id!r} {what}",
        *text.member,
        text=text.text,
        start=start,
        size=size,
        suggestion="remove them, and look at what they hide",
    )


def find_invisible(text: str) -> tuple[int, int] | None:
    """Return where *text* first has characters that nobody sees and no script needs; how many."""
    first = next(iter(_invisible(text)), None)
    return first and (first[0], first[1] - first[0])


def _invisible(text: str) -> Iterator[tuple[int, int]]:
    for found in _INVISIBLE.finditer(_FLAG.sub(lambda flag: "x" * len(flag[0]), text)):
        if not _is_needed(text, found.start(), found.end()):
            yield found.start(), found.end()
    yield from (found.span() for found in _SELECTORS.finditer(text))


def find_removable(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of *text* that can be removed without a loss to anybody who sees it."""
    yield from (found.span() for found in _CONTROL.finditer(text))
    if not text.isascii():
        yield from _invisible(text)
        if _find_reordered(text) is not None:
            yield from (found.span() for found in _BIDI.finditer(text))


def _is_needed(text: str, start: int, end: int) -> bool:
    """Return whether the invisible characters from *start* to *end* have a use where they are."""
    run = text[start:end]
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if set(run) <= set(_JOINERS):
        return _is_joint(run, before, after)
    if run in ("\u00ad", "\ufeff"):  # where a word may be hyphenated; a byte order mark
        return before.isalpha() and after.isalpha() if run == "\u00ad" else not start
    if run in (_SPACE, "\u2060"):
        return _has_script(_UNSPACED_SCRIPTS, before, after)
    if len(run) == 1 and "\U000e0100" <= run <= "\U000e01ef":
        return _script(before) == "CJK"  # a variant of an ideograph
    if "\u180b" <= run[0] <= "\u180e":
        return _script(before) == "MONGOLIAN"
    return run in ("\u17b4", "\u17b5") and _script(before) == "KHMER"


def _is_joint(run: str, before: str, after: str) -> bool:
    if _is_emoji(before) and (_is_emoji(after) or run == "\u200d"):
        return True
    return len(run) <= 2 and _has_script(_JOINED, before, after)  # noqa: PLR2004 - a pair


def _has_script(scripts: re.Pattern[str], *signs: str) -> bool:
    return any(scripts.fullmatch(_script(sign)) for sign in signs)


def _find_reordered(text: str) -> tuple[int, int] | None:
    """Return where *text* has a mark of direction that it has no use for, and how many."""
    signs = [*_BIDI.finditer(text)]
    if not signs:
        return None
    bad = next((sign for sign in signs if sign[0] in _OVERRIDES), None)
    if bad is None:
        is_balanced = sum(sign[0] in _OPENING for sign in signs) == sum(
            sign[0] in _CLOSING for sign in signs
        )
        runs_left = any(
            sign.isalpha() and unicodedata.bidirectional(sign) in ("R", "AL") for sign in text
        )
        bad = None if runs_left and is_balanced else signs[0]
    return (bad.start(), 1) if bad else None


def _find_disguised(text: str) -> tuple[int, int] | None:
    """Return where *text* has a word with letters of another script that look like its own."""
    styled = _STYLED.search(text)
    if styled is not None:
        return styled.start(), len(styled[0])
    for script, like in _LIKE_LATIN.items():
        letters = [sign for sign in text if _script(sign) == script]
        if not letters:
            continue
        # Text of that script has letters that look like no other.
        own = sum(sign not in like for sign in letters)
        is_own = own >= _FEWEST_OF_SCRIPT
        is_latin = not own and _is_mostly_latin(text)
        for word in _WORD.finditer(text):
            if _is_disguised(word[0], script, like, is_own=is_own, is_latin=is_latin):
                return word.start(), len(word[0])
    # A text in another script has letters of it that look like no other.
    is_own = any(_is_of_other_script(sign) and plain(sign) == sign for sign in text)
    words = _WORD.finditer(text)
    others = (word for word in words if imitates(word[0]) and not (is_own and _is_foreign(word[0])))
    return next(((word.start(), len(word[0])) for word in others), None)


def _is_foreign(word: str) -> bool:
    return all(map(_is_of_other_script, word))


def _is_of_other_script(sign: str) -> bool:
    return not sign.isascii() and _script(sign) not in ("", "LATIN", "MATHEMATICAL")


def _is_mostly_latin(text: str) -> bool:
    letters = [sign for sign in text if sign.isalpha()]
    return sum(_script(sign) == "LATIN" for sign in letters) >= _LATIN_SHARE * len(letters)


def _is_disguised(
    word: str, script: str, like: frozenset[str], *, is_own: bool, is_latin: bool
) -> bool:
    foreign = [sign for sign in word if _script(sign) == script]
    if not foreign or not like.issuperset(foreign):
        return False
    if not {_script(sign) for sign in word} <= {script, "LATIN"}:
        return False  # a word of three scripts deceives nobody
    if len(foreign) == len(word):
        return is_latin and len(word) > 2  # noqa: PLR2004 - a symbol
    if not any(_script(sign) == "LATIN" for sign in word):
        return False
    switches = sum(_script(one) != _script(other) for one, other in pairwise(word))
    # "JSONa" in Russian text, where the ending is Cyrillic, is an inflected word.
    return not (is_own and switches == 1) and not _is_symbol(word, foreign)


def _is_symbol(word: str, foreign: list[str]) -> bool:
    """Return whether a *word* is a quantity, such as `αx` or `ΝH`."""  # noqa: RUF002
    return len(word) <= 2 and len(foreign) == 1  # noqa: PLR2004 - as above


def _is_emoji(sign: str) -> bool:
    return bool(sign) and (
        unicodedata.category(sign) in ("So", "Sk", "Mn", "Me") or sign in "\u200d\ufe0f\u2640\u2642"
    )


@lru_cache(maxsize=8192)
def _script(sign: str) -> str:
    """Return the first word of the name of a letter or mark, "" for other characters."""
    if not sign or unicodedata.category(sign)[0] not in "LM":
        return ""
    return unicodedata.name(sign, "").split(" ", 1)[0]


_BREAK = re.compile(r"\s*\n\s*")


def _compile_pattern(
    pattern: str, parts: Mapping[str, str], flags: int = re.IGNORECASE
) -> re.Pattern[str]:
    """Return the regular expression that *pattern*, as the data file has it, stands for."""
    for _ in _NESTED:
        for name, part in parts.items():
            pattern = pattern.replace(f"@{name}@", part.strip())
    return re.compile(_BREAK.sub("", pattern.strip()).replace(" ", r"\s+"), flags)


_NESTED = range(3)  # a part may hold others


class _Pattern(NamedTuple):
    """What an attack looks like.

    Attributes:
        code: The rule that it is of.
        signs: Lists of signs; a text has one of each, in lower case, or is no such attack.
        regex: The pattern.
    """

    code: str
    signs: tuple[tuple[str, ...], ...]
    regex: re.Pattern[str]

    def may_match(self, lower: str) -> bool:
        """Return whether a text, in lower case, with a sign of the first list has the others."""
        return all(any(sign in lower for sign in one) for one in self.signs[1:])


def _of_language(words: Mapping[str, Any]) -> Iterator[_Pattern]:
    """Yield the orders to dismiss earlier ones and to conceal something in a language."""
    is_spaced = max(words["ignore"]) < _FIRST_UNSPACED
    alone, end = (r"(?<!\w)", r"(?!\w)") if is_spaced else ("", "")
    part = {
        name: f"{alone}(?:{_BREAK.sub('', words[name].strip())}){end}"
        for name in ("ignore", "previous", "orders", "silent", "user")
    }
    earlier = _in_any_order(part["previous"], part["orders"])
    ordered = (earlier, part["ignore"]) if words.get("has_verb_last") else (part["ignore"], earlier)
    silent, user = part["silent"], part["user"]
    # Some languages have the user within what they have for "do not tell".
    condition = rf"(?!,?\s+{_DATA['parts']['CONDITION'].strip()}(?!\w))"
    concealed = f"(?:(?={_NEAR}{user}{condition}){silent}|{user}{_NEAR}{silent})"
    orders, users = (_beginnings(words[name]) for name in ("orders", "user"))
    yield _Pattern("X101", (orders,), _compile_pattern(_NEAR.join(ordered), {}))
    yield _Pattern("X102", (users,), _compile_pattern(concealed, {}))


# Letters from here on are of scripts whose words have no ends that `\b` finds.
_FIRST_UNSPACED = "\u0590"
_NEAR = r"[^.!?\n。！？।]{0,60}?"  # noqa: RUF001 - full stops of CJK and Hindi


def _in_any_order(one: str, other: str) -> str:
    return f"(?:{one}{_NEAR}{other}|{other}{_NEAR}{one})"


def _beginnings(alternatives: str) -> tuple[str, ...]:
    """Return the literal text that each of *alternatives* has."""
    found = (_LITERAL.search(_OPTIONAL.sub("", one)) for one in _TOP.findall(alternatives))
    return tuple({one[0].lower() for one in found if one})


_OPTIONAL = re.compile(r"\(\?:[^()]*\)\?")
_LITERAL = re.compile(r"(?:[^\W\d_](?![?*])|[ \u0300-\u0a00])+")
_TOP = re.compile(r"(?:[^|()]|\([^()]*\))+")


def _read() -> Mapping[str, Any]:
    return tomllib.loads((files("mcpg.lint") / "data" / "poisoning.toml").read_text("utf-8"))


_DATA = _read()
_PATTERNS: Sequence[_Pattern] = (
    *(
        _Pattern(
            one["code"],
            tuple(map(tuple, one["signs"])),
            _compile_pattern(one["pattern"], _DATA["parts"]),
        )
        for one in _DATA["patterns"]
    ),
    *(pattern for words in _DATA["languages"].values() for pattern in _of_language(words)),
)


def _by_sign(patterns: Sequence[_Pattern]) -> Sequence[tuple[str, tuple[int, ...]]]:
    """Return the signs of the first lists, each with the numbers of the patterns that have it."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number, pattern in enumerate(patterns):
        for sign in pattern.signs[0]:
            found[sign].append(number)
    return [(sign, tuple(numbers)) for sign, numbers in found.items()]


# Each text is looked at for all signs: one look for each, whatever has it.
_SIGNS = _by_sign(_PATTERNS)
_ASCII_SIGNS = [(sign, numbers) for sign, numbers in _SIGNS if sign.isascii()]
_MARKS: Sequence[str] = _DATA["secrets"]["marks"]
_SECRETS = _compile_pattern("|".join(_DATA["secrets"]["patterns"]), {}, 0)
_NAMED = _compile_pattern(_DATA["secrets"]["named"], {})
_NAMES: Sequence[str] = _DATA["secrets"]["names"]
_PLACEHOLDER = _compile_pattern(_DATA["secrets"]["placeholder"], {})
_WHAT = {
    "X101": "gives instructions to the model",
    "X102": "asks the model to hide something from the user",
    "X103": "asks the model to hand over what is private",
    "X104": "has a link that can carry data away",
    "X105": "has a secret",
    "X106": "has hidden or active HTML",
}
_REMEDY = {
    "X105": "revoke it, then remove it: whoever read the tool has it",
    "X106": "remove it: models read what pages do not show",
}
_FEWEST_SIGNS = 8
_WINDOW, _OVERLAP = 4_096, 512
_QUOTES = "\"'`“”‘’«»"  # noqa: RUF001
_QUOTED_CODES = ("X101", "X102", "X103")
_EXAMPLE = re.compile(r"\b(?:examples?|e\.g\.|such as)\b[^\n]{0,80}\n?\s*\Z", re.IGNORECASE)
_FEWEST_SEAMS = 3
_NEARBY = 120
_SEAM = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_SIGN = re.compile(r"[!@#$%^&*]")


def find_poisoning(tool: Tool, text: ToolText) -> Iterator[Finding]:
    """Yield the attacks in a text of *tool*, and in what it looks like."""
    if text.is_key or len(text.text) < _FEWEST_SIGNS:
        return
    found = [*_attacks(tool, text, text.text)]
    yield from found
    if not text.text.isascii() and not found:
        shown, places = _strip_invisible(text.text)
        if shown != text.text:
            for code, start, end in _match_attacks(shown):
                first, last = places[start], places[max(start, end - 1)] + 1
                yield _make_poisoning_finding(code, tool, text, first, last)


def _strip_invisible(text: str) -> tuple[str, Sequence[int]]:
    """Return what *text* looks like, less what is invisible, and where each character stands."""
    kept = [place for place, sign in enumerate(text) if not _is_unseen(sign)]
    return "".join(plain(text[place]) for place in kept), kept


def _is_unseen(sign: str) -> bool:
    return unicodedata.category(sign) == "Cf" and plain(sign) == sign


def _attacks(tool: Tool, text: ToolText, read: str) -> Iterator[Finding]:
    secret = _secret(read, text.holder)
    if secret is not None:
        yield _make_poisoning_finding("X105", tool, text, *secret)
    for code, start, end in _match_attacks(read):
        yield _make_poisoning_finding(code, tool, text, start, end)


def _match_attacks(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the code and the range of the first attack of each kind in *text*."""
    lower = text.lower()
    signs = _ASCII_SIGNS if lower.isascii() else _SIGNS
    numbers = {number for sign, some in signs if sign in lower for number in some}
    seen: set[str] = set()
    for pattern in map(_PATTERNS.__getitem__, sorted(numbers)):
        if pattern.code in seen or not pattern.may_match(lower):
            continue
        found = _first(pattern, text)
        if found is not None:
            seen.add(pattern.code)
            yield pattern.code, found.start(), found.end()


def _secret(text: str, name: str) -> tuple[int, int] | None:
    """Return where *text*, the value of a member called *name*, has a key, token or password."""
    if any(mark in text for mark in _MARKS):
        found = next((one for one in _SECRETS.finditer(text) if is_secret(one[0])), None)
        if found is not None:
            return found.span()
    lower = text.lower()
    if any(one in lower for one in _NAMES):
        for one in _NAMED.finditer(text):
            group = 1 if one[1] else 2
            if _is_random(one[group]):
                return one.span(group)
    is_value = " " not in text and any(one in name.lower() for one in _NAMES)
    return (0, len(text)) if is_value and _is_random(text) else None


def _is_random(value: str) -> bool:
    """Return whether *value* looks as if drawn by chance rather than written as words are."""
    if not is_secret(value):
        return False
    parts = re.split(r"[-_./]", value)
    seams = max(len(_SEAM.findall(part)) for part in parts)
    has_sign = _SIGN.search(value.strip("!@#$%^&*")) is not None
    return seams >= _FEWEST_SEAMS or (has_sign and seams > 0)


def _first(pattern: _Pattern, text: str) -> re.Match[str] | None:
    # Windows bound the time that a text made for it can take.
    for start in range(0, len(text), _WINDOW - _OVERLAP):
        for found in pattern.regex.finditer(text, start, start + _WINDOW):
            is_told = pattern.code in _QUOTED_CODES and _is_quoted(text, found)
            if not is_told:
                return found
    return None


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    """Return whether a phrase stands in quotation marks, as one that is spoken about does."""
    before = text[max(0, found.start() - _NEARBY) : found.start()].rstrip()
    if found[0][:1] == "\n" and _EXAMPLE.search(before):
        return True
    after = text[found.end() : found.end() + _NEARBY].lstrip(" .!,")
    return before[-1:] in _QUOTES and bool(before) and any(sign in after[:80] for sign in _QUOTES)


def is_secret(text: str) -> bool:
    """Return whether *text*, which has the form of a secret, is none of an example."""
    return _PLACEHOLDER.search(text) is None and len(set(text)) >= _FEWEST_SIGNS


def _make_poisoning_finding(code: str, tool: Tool, text: ToolText, start: int, end: int) -> Finding:
    where = ".".join(map(str, text.member))
    return make_finding(
        code,
        tool,
        f"the {where} of {tool.id!r} {_WHAT[code]}",
        *text.member,
        text=text.text,
        start=start,
        size=max(1, end - start),
        suggestion=_REMEDY.get(code, "do not use the tool before a person has reviewed it"),
    )
