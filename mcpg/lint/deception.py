"""Rules on texts that attack: instructions to a model, concealment, exfiltration, secrets.

They look for the words that an attack needs, not for its topic: tools that describe prompts,
links, keys or tokens are not attacks, and neither is a phrase in quotation marks.
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
from mcpg.lint.context import list_hints, make_finding
from mcpg.lint.model import Finding
from mcpg.text import lexicon
from mcpg.text.json_values import JsonValue

_MOST_TEXTS = 100_000


class ToolText(NamedTuple):
    """A text of a tool.

    Attributes:
        member: The way to it from the tool.
    """

    member: tuple[str | int, ...]
    text: str
    is_key: bool = False

    @property
    def holder(self) -> str:
        """The name of the property with this default or only value, "" for other texts."""
        is_value = self.member[-1] in ("default", "const") and len(self.member) > 1
        return str(self.member[-2]) if is_value else ""


def list_texts(tool: Tool) -> Iterator[ToolText]:
    """Yield the texts of *tool*: its names, descriptions, schemas, annotations and hints."""
    yield ToolText(("name",), tool.name)
    if tool.title:
        yield ToolText(("title",), tool.title)
    if tool.description:
        yield ToolText(("description",), tool.description)
    yield from (ToolText((field, at), text) for field, at, text in list_hints(tool.hints))
    wholes: tuple[tuple[str, JsonValue], ...] = (
        ("inputSchema", tool.input_schema),
        ("outputSchema", tool.output_schema),
        ("annotations", tool.annotations),
        ("_meta", tool.meta),
        *tool.listed.items(),
    )
    for name, whole in wholes:
        # Without recursion: a value may be nested deeply.
        waiting: list[tuple[tuple[str | int, ...], JsonValue]]
        waiting = [((name,), whole)] if whole else []
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


def _read_data(name: str) -> Mapping[str, Any]:
    return tomllib.loads((files("mcpg.lint") / "data" / name).read_text("utf-8"))


@cache
def _read_lookalikes() -> dict[str, str]:
    letters = _read_data("lookalikes.toml")["letters"]
    return {sign: letter for letter, signs in letters.items() for sign in signs}


@lru_cache(maxsize=8192)
def _imitate_ascii(sign: str) -> str:
    """Return the ASCII character that *sign* looks like, *sign* itself if there is none.

    Invisible tag characters count as the characters that they encode.
    """
    if sign.isascii():
        return sign
    if ord(sign) in _TAGS:
        return chr(ord(sign) - _TAG_OFFSET)
    found = unicodedata.normalize("NFKC", sign)
    found = _read_lookalikes().get(found, found)
    return found if len(found) == 1 and found.isascii() and found.isprintable() else sign


def _imitates_word(word: str) -> bool:
    if len(word) < _FEWEST_LETTERS or word.isascii():
        return False
    shown, own = "".join(map(_imitate_ascii, word)), word.casefold()
    if not (shown.isascii() and shown.isalpha()):
        return False
    is_frequent = lexicon.zipf_frequency(shown.lower(), lexicon.ENGLISH) >= _FREQUENT
    return is_frequent and not any(
        lexicon.zipf_frequency(own, one) for one in sorted(lexicon.FOREIGN)
    )


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
# Scripts with joiners within words, by the first word of the names of their letters.
_JOINED = re.compile(
    "ARABIC|SYRIAC|THAANA|NKO|MANDAIC|DEVANAGARI|BENGALI|GURMUKHI|GUJARATI|ORIYA|TAMIL|TELUGU|KANNADA"
    "|MALAYALAM|SINHALA|TIBETAN|MONGOLIAN|KHMER|MYANMAR|THAI|LAO|HEBREW|JAVANESE|BALINESE"
)
_UNSPACED_SCRIPTS = re.compile("KHMER|MYANMAR|THAI|LAO|TIBETAN|CJK|HIRAGANA|KATAKANA|HANGUL")
_FEWEST_OF_SCRIPT = 3
_LATIN_SHARE = 0.7


def find_hidden_text(tool: Tool, text: ToolText) -> Iterator[Finding]:
    """Yield a finding for each hidden passage in a text of *tool*."""
    read = text.text
    if read.isascii() and read.isprintable():
        return  # as nearly all
    found: list[tuple[str, tuple[int, int], str]] = []
    control = _CONTROL.search(read)
    if control is not None:
        kind = "an escape sequence" if control[0][0] in "\x1b\x9b" else "a control character"
        found.append(("H104", control.span(), f"has {kind}"))
    if not read.isascii():
        if span := next(_find_invisible(read), None):
            sign = f"U+{ord(read[span[0]]):04X}"
            found.append(("H101", span, f"has invisible characters ({sign})"))
        if span := _find_reordered(read):
            sign = f"U+{ord(read[span[0]]):04X}"
            found.append(("H102", span, f"has a character that changes direction ({sign})"))
        if span := _find_disguised(read):
            word = read[slice(*span)]
            found.append(("H103", span, f"has letters that look like others in {word!r}"))
    for code, span, what in found:
        yield _report(code, tool, text, span, what, "remove them, and look at what they hide")


def _report(
    code: str, tool: Tool, text: ToolText, span: tuple[int, int], what: str, advice: str
) -> Finding:
    return make_finding(
        code,
        tool,
        f"the {'.'.join(map(str, text.member))} of {tool.id!r} {what}",
        *text.member,
        text=text.text,
        start=span[0],
        size=span[1] - span[0],
        suggestion=advice,
    )


def _find_invisible(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of invisible characters that no script needs."""
    for found in _INVISIBLE.finditer(_FLAG.sub(lambda flag: "x" * len(flag[0]), text)):
        if not _is_needed(text, found.start(), found.end()):
            yield found.span()
    yield from (found.span() for found in _SELECTORS.finditer(text))


def find_removable(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of *text* that can be removed without a loss to anybody who sees it."""
    yield from (found.span() for found in _CONTROL.finditer(text))
    if not text.isascii():
        yield from _find_invisible(text)
        if _find_reordered(text) is not None:
            yield from (found.span() for found in _BIDI.finditer(text))


# Invisible characters that belong to a letter before them, and the script of that.
_BELONGING = (
    (re.compile("[\U000e0100-\U000e01ef]"), "CJK"),  # a variant of an ideograph
    (re.compile("[\u180b-\u180e].*", re.DOTALL), "MONGOLIAN"),
    (re.compile("[\u17b4\u17b5]"), "KHMER"),
)


def _is_needed(text: str, start: int, end: int) -> bool:
    """Return whether the invisible characters from *start* to *end* have a use there."""
    run, after = text[start:end], text[end : end + 1]
    before = text[start - 1 : start] if start else ""
    scripts = _script(before), _script(after)
    if set(run) <= set(_JOINERS):
        if _is_emoji(before) and (_is_emoji(after) or run == "\u200d"):
            return True
        return len(run) <= 2 and any(map(_JOINED.fullmatch, scripts))  # noqa: PLR2004 - a pair
    if run in ("\u00ad", "\ufeff"):  # where a word may be hyphenated; a byte order mark
        return before.isalpha() and after.isalpha() if run == "\u00ad" else not start
    if run in (_SPACE, "\u2060"):
        return any(map(_UNSPACED_SCRIPTS.fullmatch, scripts))
    return any(form.fullmatch(run) and scripts[0] == script for form, script in _BELONGING)


def _find_reordered(text: str) -> tuple[int, int] | None:
    """Return the place of a mark of direction that *text* does not need."""
    signs = [*_BIDI.finditer(text)]
    override = next((sign for sign in signs if sign[0] in _OVERRIDES), None)
    if override is not None or not signs:
        return override and override.span()
    opened = sum(sign[0] in _OPENING for sign in signs)
    is_balanced = opened == sum(sign[0] in _CLOSING for sign in signs)
    runs_left = any(one.isalpha() and unicodedata.bidirectional(one) in ("R", "AL") for one in text)
    return None if runs_left and is_balanced else signs[0].span()


def _find_disguised(text: str) -> tuple[int, int] | None:
    """Return the place of a word with letters of another script that look like its own."""
    styled = _STYLED.search(text)
    if styled is not None:
        return styled.span()
    letters = [sign for sign in text if sign.isalpha()]
    latin = sum(_script(sign) == "LATIN" for sign in letters)
    for script, like in _LIKE_LATIN.items():
        # Text of that script has letters that look like no other.
        own = [sign not in like for sign in text if _script(sign) == script]
        is_own = sum(own) >= _FEWEST_OF_SCRIPT
        is_latin = not any(own) and latin >= _LATIN_SHARE * len(letters)
        for word in _WORD.finditer(text) if own else ():
            if _is_disguised(word[0], script, like, is_own=is_own, is_latin=is_latin):
                return word.span()
    # A text in another script has letters of it that look like no other.
    is_own = any(_is_of_other_script(one) and _imitate_ascii(one) == one for one in text)
    for word in _WORD.finditer(text):
        if _imitates_word(word[0]) and not (is_own and all(map(_is_of_other_script, word[0]))):
            return word.span()
    return None


def _is_of_other_script(sign: str) -> bool:
    return not sign.isascii() and _script(sign) not in ("", "LATIN", "MATHEMATICAL")


def _is_disguised(
    word: str, script: str, like: frozenset[str], *, is_own: bool, is_latin: bool
) -> bool:
    foreign = [sign for sign in word if _script(sign) == script]
    if not foreign or not like.issuperset(foreign):
        return False
    if not {_script(sign) for sign in word} <= {script, "LATIN"}:
        return False  # a word of three scripts deceives no reader
    if len(foreign) == len(word):
        return is_latin and len(word) > 2  # noqa: PLR2004 - a symbol
    if not any(_script(sign) == "LATIN" for sign in word):
        return False
    switches = sum(_script(one) != _script(other) for one, other in pairwise(word))
    # An inflected word, such as "JSONa" in Russian text with a Cyrillic ending; or a
    # quantity, such as a Greek letter and an x.
    is_quantity = len(word) <= 2 and len(foreign) == 1  # noqa: PLR2004 - two letters
    return not (is_own and switches == 1) and not is_quantity


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
    for _ in _NESTED:
        for name, part in parts.items():
            pattern = pattern.replace(f"@{name}@", part.strip())
    return re.compile(_BREAK.sub("", pattern.strip()).replace(" ", r"\s+"), flags)


_NESTED = range(3)  # a part may contain others


class _Pattern(NamedTuple):
    """The signs of an attack.

    Attributes:
        signs: Lists of signs; an attack has one of each, in lower case.
    """

    code: str
    signs: tuple[tuple[str, ...], ...]
    regex: re.Pattern[str]


def _compile_language(words: Mapping[str, Any]) -> Iterator[_Pattern]:
    """Yield the orders to dismiss earlier ones and to conceal something in a language."""
    is_spaced = max(words["ignore"]) < _FIRST_UNSPACED
    alone, end = (r"(?<!\w)", r"(?!\w)") if is_spaced else ("", "")
    ignore, previous, orders, silent, user = (
        f"{alone}(?:{_BREAK.sub('', words[name].strip())}){end}"
        for name in ("ignore", "previous", "orders", "silent", "user")
    )
    earlier = f"(?:{previous}{_NEAR}{orders}|{orders}{_NEAR}{previous})"
    ordered = (earlier, ignore) if words.get("has_verb_last") else (ignore, earlier)
    # In some languages the words for "hide it" contain the user.
    condition = rf"(?!,?\s+{_DATA['parts']['CONDITION'].strip()}(?!\w))"
    concealed = f"(?:(?={_NEAR}{user}{condition}){silent}|{user}{_NEAR}{silent})"
    for code, name, pattern in (
        ("X101", "orders", _NEAR.join(ordered)),
        ("X102", "user", concealed),
    ):
        # The literal text that each alternative has.
        literals = (_LITERAL.search(_OPTIONAL.sub("", one)) for one in _TOP.findall(words[name]))
        signs = tuple({one[0].lower() for one in literals if one})
        yield _Pattern(code, (signs,), _compile_pattern(pattern, {}))


# Letters from here on are of scripts in which `\b` finds no ends of words.
_FIRST_UNSPACED = "\u0590"
_NEAR = r"[^.!?\n。！？।]{0,60}?"  # noqa: RUF001 - full stops of CJK and Hindi

_OPTIONAL = re.compile(r"\(\?:[^()]*\)\?")
_LITERAL = re.compile(r"(?:[^\W\d_](?![?*])|[ \u0300-\u0a00])+")
_TOP = re.compile(r"(?:[^|()]|\([^()]*\))+")

_DATA = _read_data("poisoning.toml")
_PATTERNS: Sequence[_Pattern] = (
    *(
        _Pattern(
            one["code"],
            tuple(map(tuple, one["signs"])),
            _compile_pattern(one["pattern"], _DATA["parts"]),
        )
        for one in _DATA["patterns"]
    ),
    *(pattern for words in _DATA["languages"].values() for pattern in _compile_language(words)),
)

_NUMBERS_BY_SIGN: defaultdict[str, list[int]] = defaultdict(list)
for _number, _pattern in enumerate(_PATTERNS):
    for _sign in _pattern.signs[0]:
        _NUMBERS_BY_SIGN[_sign].append(_number)
# Each text is searched for all signs of the first lists: one search a sign, for all patterns.
_SIGNS = [*_NUMBERS_BY_SIGN.items()]
_ASCII_SIGNS = [(sign, numbers) for sign, numbers in _SIGNS if sign.isascii()]
_MARKS: Sequence[str] = _DATA["secrets"]["marks"]
_SECRETS = _compile_pattern("|".join(_DATA["secrets"]["patterns"]), {}, 0)
_NAMED = _compile_pattern(_DATA["secrets"]["named"], {})
_NAMES: Sequence[str] = _DATA["secrets"]["names"]
_PLACEHOLDER = _compile_pattern(_DATA["secrets"]["placeholder"], {})
_WHAT = {
    "X101": "gives instructions to the model",
    "X102": "asks the model to hide something from the user",
    "X103": "asks the model to reveal private data",
    "X104": "has a link that can carry data away",
    "X105": "has a secret",
    "X106": "has hidden or active HTML",
}
_REMEDY = {
    "X105": "revoke it, then remove it: whoever read the tool has it",
    "X106": "remove it: models read hidden text",
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
    """Yield the attacks in a text of *tool*, and in its visible form."""
    read = text.text
    if text.is_key or len(read) < _FEWEST_SIGNS:
        return
    found = [*_match_attacks(read)]
    secret = _find_secret(read, text.holder)
    if secret is not None:
        found.insert(0, ("X105", *secret))
    if not (found or read.isascii()):
        # Its visible characters, as the ASCII characters that they look like.
        signs = [(place, sign, _imitate_ascii(sign)) for place, sign in enumerate(read)]
        kept = [one for one in signs if unicodedata.category(one[1]) != "Cf" or one[1] != one[2]]
        shown = "".join(sign for _, _, sign in kept)
        for code, start, end in _match_attacks(shown) if shown != read else ():
            found.append((code, kept[start][0], kept[max(start, end - 1)][0] + 1))
    for code, start, end in found:
        advice = _REMEDY.get(code, "do not use the tool before a person has reviewed it")
        yield _report(code, tool, text, (start, max(start + 1, end)), _WHAT[code], advice)


def _match_attacks(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the code and the range of the first attack of each kind in *text*."""
    lower = text.lower()
    signs = _ASCII_SIGNS if lower.isascii() else _SIGNS
    numbers = {number for sign, some in signs if sign in lower for number in some}
    seen: set[str] = set()
    for code, (_, *others), regex in map(_PATTERNS.__getitem__, sorted(numbers)):
        if code in seen or not all(any(sign in lower for sign in one) for one in others):
            continue
        # Windows bound the time that a text made for it can take.
        starts = range(0, len(text), _WINDOW - _OVERLAP)
        matches = (found for at in starts for found in regex.finditer(text, at, at + _WINDOW))
        for found in matches:
            if not (code in _QUOTED_CODES and _is_quoted(text, found)):
                seen.add(code)
                yield code, found.start(), found.end()
                break


def _find_secret(text: str, name: str) -> tuple[int, int] | None:
    if any(mark in text for mark in _MARKS):
        found = next((one for one in _SECRETS.finditer(text) if _is_no_example(one[0])), None)
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
    seams = max(len(_SEAM.findall(part)) for part in re.split(r"[-_./]", value))
    has_sign = _SIGN.search(value.strip("!@#$%^&*")) is not None
    return _is_no_example(value) and (seams >= _FEWEST_SEAMS or (has_sign and seams > 0))


def _is_no_example(text: str) -> bool:
    """Return whether *text*, which has the form of a secret, is none of an example."""
    return _PLACEHOLDER.search(text) is None and len(set(text)) >= _FEWEST_SIGNS


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    before = text[max(0, found.start() - _NEARBY) : found.start()].rstrip()
    if found[0][:1] == "\n" and _EXAMPLE.search(before):
        return True
    after = text[found.end() : found.end() + _NEARBY].lstrip(" .!,")
    return before[-1:] in _QUOTES and bool(before) and any(sign in after[:80] for sign in _QUOTES)
