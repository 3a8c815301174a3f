"""Texts that strangers may put into a catalogue, and reports full of them."""

from __future__ import annotations

import copy
from typing import Any
from zlib import crc32

TEXTS = (
    "</script><script>window.pwned=1;alert(1)</script>",
    '<img src="http://127.0.0.1:9/x.png" onerror="window.pwned=2;alert(2)">',
    "x' onmouseover='window.pwned=3' \" onfocus=\"window.pwned=3",
    "<!--<script>",
    "]]><svg/onload=window.pwned=4>",
    "javascript:alert(5)",
    "${alert(6)}",
    "</title></style><iframe src=http://127.0.0.1:9/></iframe>",
    "&lt;b&gt;&amp;",
    "\u202eevitceles\u202c",
    "a\u2028b\u2029c",
    "\x1b[31mred\x1b[0m\x00",
    "\ud800lone",
    "__proto__",
    "constructor",
    "very_long_" + "x" * 400,
    "مرحبا بالعالم",
)
_NAMES = ("toolId", "toolName", "sourceId", "displayName", "description")


def hostile(explained: dict[str, Any]) -> dict[str, Any]:
    """Put the texts into every place of *explained* that a catalogue or a query can fill."""
    data = copy.deepcopy(explained)
    model = data["matches"][0]
    data |= {"query": " ".join(TEXTS), "normalizedQuery": TEXTS[0], "language": TEXTS[1]}
    data["matches"] = [_match(model, rank, text) for rank, text in enumerate(TEXTS, start=1)]
    for kind in ("relatedMatches", "nextStepMatches", "prerequisites"):
        reached = data[kind]
        for place, one in enumerate(reached):
            text = TEXTS[-1 - place]
            one.update(dict.fromkeys(_NAMES, f"{text}{kind}"))
            one["via"].update({"from": TEXTS[place], "reason": f"{text} {TEXTS[place]}"})
    for word, text in zip(data["words"], TEXTS, strict=False):
        word.update({"text": text, "origin": text})
        for repair in word["repairs"]:
            repair["word"] = text
    data["diagnostics"] = [
        {"code": "low_confidence_results", "severity": "warning", "message": text, "place": text}
        for text in TEXTS
    ]
    data["advice"] = list(TEXTS)
    data["model"].update({"name": TEXTS[0], "provenance": TEXTS[1]})
    data["stages"][1]["details"] = {text: [{text: text}] for text in TEXTS}
    data["stages"][0]["details"] = {text: [text, {text: text}] for text in TEXTS}
    return data


def hostile_evaluation(evaluated: dict[str, Any]) -> dict[str, Any]:
    """Put the texts into every place of *evaluated* that a catalogue or a query can fill."""
    data = copy.deepcopy(evaluated)
    model = data["perQuery"][0]
    data["perQuery"] = [
        model
        | {
            "id": f"{place} {text}",
            "query": text,
            "judged": [text],
            "relevant": [text],
            "unknown": [text],
            "matches": [{"toolId": text, "score": 0.5, "isRelevant": place % 2 == 0}] * 2,
        }
        for place, text in enumerate(TEXTS)
    ]
    data["diagnostics"] = [
        {"code": "judged_invalid", "severity": "warning", "message": text, "place": text}
        for text in TEXTS
    ]
    changes = data["baseline"]["better"] + data["baseline"]["worse"]
    data["baseline"]["better"] = [
        changes[0] | {"id": f"{place} {text}", "query": text} for place, text in enumerate(TEXTS)
    ]
    return data


def _match(model: dict[str, Any], rank: int, text: str) -> dict[str, Any]:
    match = copy.deepcopy(model)
    match |= dict.fromkeys(_NAMES, text)
    match["rank"] = rank
    match["calibration"].update({"cappedBy": text})
    match["calibration"]["inputs"][0]["input"] = text
    match["evidence"] = {"terms": [text], "missing": [text], "fields": [text]}
    match["contributions"][0] |= {"feature": text, "stage": text}
    for term in match["terms"]:
        term.update({"query": text, "matched": f"{text}!", "field": text})
    return match


def words_of_one_crc(count: int) -> list[str]:
    """Return *count* distinct words of 18 small letters that all have one CRC-32.

    The letters h to o are closed under exclusive or, under which the CRC-32 of texts of one length
    is linear up to a constant: what changes it by nothing is found by elimination.
    """
    length = 18
    start = crc32(b"h" * length)
    steps = [bit << 8 * place for place in range(length) for bit in (1, 2, 4)]
    base = int.from_bytes(b"h" * length, "little")
    rows: dict[int, tuple[int, int]] = {}
    nothing = [0]
    for first in steps:
        step, change = first, crc32((base ^ first).to_bytes(length, "little")) ^ start
        while change and (row := rows.get(change.bit_length())):
            step, change = step ^ row[0], change ^ row[1]
        if change:
            rows[change.bit_length()] = step, change
        else:
            nothing += [one ^ step for one in nothing[:count]]
    return [(base ^ one).to_bytes(length, "little").decode() for one in nothing[:count]]
