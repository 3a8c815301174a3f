"""Pairs of an English text and its translation: messages of programs, pages of commands, CLDR."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import polib

Pair: TypeAlias = tuple[str, str, str]
"""The source, the English text, and the text in the other language."""

# What the sources call the languages that they do not call by their code alone.
_HOME_ASSISTANT = {"zh": ("zh-Hans",), "pt": ("pt", "pt-BR")}
_AIRFLOW = {"zh": ("zh-CN",)}
_TLDR = {"pt": ("pt_BR", "pt_PT")}
_REGIONS = {
    "ar": ("SA",), "de": ("DE",), "es": ("ES",), "fr": ("FR",), "hi": ("IN",), "it": ("IT",),
    "ja": ("JP",), "ko": ("KR",), "nl": ("NL",), "pl": ("PL",), "pt": ("BR", "PT"), "ru": ("RU",),
    "tr": ("TR",), "uk": ("UA",), "zh": ("CN", "Hans", "Hans_CN"),
}  # fmt: skip
_NO_TEXT = re.compile(r"\{[^{}]*\}|%\([a-z_]*\)[sd]|%[sd]|<[^<>]*>|`[^`]*`|https?://\S+|&[a-z]*;?")
_LONGEST = 400


def pairs(code: str, cache: Path) -> list[Pair]:
    """Return the distinct pairs of a language, and keep them in the cache."""
    path = cache / "made" / f"pairs_{code}.json"
    if not path.exists():
        text = json.dumps(list(_distinct(code, cache)), ensure_ascii=False)
        path.write_text(text, encoding="utf-8")
    return [
        (source, one, other) for source, one, other in json.loads(path.read_text(encoding="utf-8"))
    ]


def _distinct(code: str, cache: Path) -> Iterator[Pair]:
    seen = set()
    for source in (_home_assistant, _airflow, _gettext, _tldr, _annotations, _names):
        for texts in source(code, cache):
            one, other = map(_cleaned, texts)
            if one and other and max(len(one), len(other)) < _LONGEST and (one, other) not in seen:
                seen.add((one, other))
                yield source.__name__[1:], one, other


def _cleaned(text: str) -> str:
    """Return *text* without placeholders, markup, code and addresses."""
    return " ".join(_NO_TEXT.sub(" ", text).replace("_", " ").split())


def _home_assistant(code: str, cache: Path) -> Iterator[tuple[str, str]]:
    folder = cache / "pypi" / "homeassistant" / "homeassistant" / "components"
    for path in sorted(folder.glob("*/translations/en.json")):
        for name in _HOME_ASSISTANT.get(code, (code,)):
            yield from _messages(path, path.with_name(f"{name}.json"))


def _airflow(code: str, cache: Path) -> Iterator[tuple[str, str]]:
    for folder in sorted((cache / "pypi" / "apache-airflow-core").rglob("locales/en")):
        for path in sorted(folder.glob("*.json")):
            for name in _AIRFLOW.get(code, (code,)):
                yield from _messages(path, folder.parent / name / path.name)


def _messages(english: Path, other: Path) -> Iterator[tuple[str, str]]:
    """Pair the texts of two JSON files that have one key."""
    if other.exists():
        texts = dict(_leaves(json.loads(english.read_text(encoding="utf-8"))))
        for key, text in _leaves(json.loads(other.read_text(encoding="utf-8"))):
            if texts.get(key, text) != text:
                yield texts[key], text


def _leaves(value: Any, key: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, (*key, name))
    elif isinstance(value, str):
        yield key, value


def _gettext(code: str, cache: Path) -> Iterator[tuple[str, str]]:
    for name in (code, *(f"{code}_{region}" for region in _REGIONS[code])):
        for path in sorted((cache / "pypi").rglob(f"{name}/LC_MESSAGES/*.po")):
            for entry in polib.pofile(str(path)):
                if entry.obsolete or "fuzzy" in entry.flags:
                    continue
                if entry.msgstr and entry.msgstr != entry.msgid:
                    yield entry.msgid, entry.msgstr
                for number, text in entry.msgstr_plural.items():
                    yield entry.msgid if number == 0 else entry.msgid_plural, text


def _tldr(code: str, cache: Path) -> Iterator[tuple[str, str]]:
    for name in _TLDR.get(code, (code,)):
        for path in sorted((cache / "tldr" / f"pages.{name}").glob("*/*.md")):
            english = cache / "tldr" / "pages" / path.parent.name / path.name
            if english.exists():
                texts = _sentences_of_page(english)
                for key, text in _sentences_of_page(path).items():
                    if texts.get(key, text) != text:
                        yield texts[key], text


def _sentences_of_page(path: Path) -> dict[str, str]:
    """Return what a page says of a command, keyed by places and examples."""
    found: dict[str, str] = {}
    text = ""
    for line in map(str.strip, path.read_text(encoding="utf-8").split("\n")):
        if line.startswith(">") and "http" not in line and "`" not in line:
            found[f"> {sum(key[0] == '>' for key in found)}"] = line[1:].strip()
        elif line.startswith("- "):
            text = line[2:].rstrip(":\uff1a")
        elif line.startswith("`") and text:
            found[re.sub(r"\{\{.*?\}\}", "{}", line)] = text
            text = ""
    return found


def _annotations(code: str, cache: Path) -> Iterator[tuple[str, str]]:
    """Pair the names of each emoji, and the sets of its keywords."""
    folder = cache / "npm" / "cldr-annotations-full" / "package" / "annotations"
    english, other = (
        json.loads((folder / name / "annotations.json").read_text(encoding="utf-8"))
        for name in ("en", code)
    )
    texts = english["annotations"]["annotations"]
    for emoji, words in other["annotations"]["annotations"].items():
        for kind in ("tts", "default"):
            yield " ".join(texts.get(emoji, {}).get(kind, ())), " ".join(words.get(kind, ()))


def _names(code: str, cache: Path) -> Iterator[tuple[str, str]]:
    """Pair the names of countries and languages."""
    folder = cache / "npm" / "cldr-localenames-full" / "package" / "main"
    for name in ("territories.json", "languages.json"):
        yield from _messages(folder / "en" / name, folder / code / name)
