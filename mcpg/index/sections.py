"""The sections of an index file, and the numbers that stand for something in them.

A table of rows or texts called *x* is two sections: *x* and *x*`.at`. Tools are numbered in the
order of their ids; sources, groups, reasons, keys, terms and words in the order of their texts.
"""

from __future__ import annotations

TABLES = {
    # one text for each tool
    "ids": "B",
    "names": "B",
    "titles": "B",
    "summaries": "B",
    # texts with numbers of their own
    "sources": "B",
    "groups": "B",
    "reasons": "B",
    "keys": "B",
    "terms": "B",
    "words": "B",
    # for each key or group its tools, for each tool its groups, links and the terms of its name
    "keys.tools": "I",
    "members": "I",
    "groups_of": "I",
    "links": "I",
    "names.terms": "I",
    # for each term the tools that hold it, for each pair of characters the words
    "postings": "I",
    "pairs": "I",
    # for each tool the 3-grams of its name and description
    "grams_of": "I",
    # for each tool its whole document
    "records": "B",
}

KEYS = ("ids", "keys", "terms", "words")
"""The tables of texts that are looked up: a third section, *x*`.slots`, finds their numbers."""

SECTIONS = {
    **TABLES,
    **{f"{name}.at": "I" for name in TABLES},
    **{f"{name}.slots": "I" for name in KEYS},
    "records.at": "Q",
    # for each record its CRC-32
    "records.crc": "I",
    # for each tool; the norm is that of its vector of impacts times rarities
    "source_of": "I",
    "enabled": "B",
    "tools.norm": "d",
    # for each link
    "links.kind": "B",
    "links.weight": "d",
    "links.reason": "I",
    # for each term: what it is, its first word, its highest impact
    "terms.kind": "B",
    "terms.word": "I",
    "terms.impact": "H",
    # for each word its term
    "words.term": "I",
    # for each posting: impact, and a bit for each field
    "postings.impact": "H",
    "postings.fields": "H",
    # for each field its mean number of words
    "fields.mean": "d",
    # hashes of words less one character, sorted, and the word of each
    "deletions": "I",
    "deletions.word": "I",
    # pairs of characters in words of one length, sorted
    "pairs.key": "Q",
    # character 3-grams, sorted, and how many tools hold each; for each tool their norm
    "grams": "Q",
    "grams.tools": "I",
    "grams.norm": "d",
    # the language of the descriptions, "" when none is told
    "language": "B",
    # weights for whoever ranks; JSON for people
    "model": "d",
    "meta": "B",
}

STEM, IDENTIFIER = 1, 2
"""What a term is, as bits: the stem of words, a whole identifier, or both."""

KINDS = ("related", "nextStep")
"""What links say of their targets."""

NONE = 0xFFFF_FFFF
"""No tool, or no word."""

IMPACT_SCALE = 0xFFFF
"""The impact of a term that would saturate wholly."""

SUMMARY_LENGTH = 300
"""The most characters of a description that are kept outside its record."""
