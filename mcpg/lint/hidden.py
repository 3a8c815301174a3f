"""Rules on text that people do not see: invisible characters, overrides, look-alikes, escapes.

What scripts and emoji need is no fault: joiners within words of scripts that join, marks of
direction in text that runs from right to left, sequences of emoji.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from mcpg.catalog.model import Tool
from mcpg.lint.catalogue import make_finding
from mcpg.lint.lookalikes import imitates, plain
from mcpg.lint.model import Finding
from mcpg.lint.strings import ToolText

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
