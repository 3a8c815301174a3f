"""Words that stand in the description of any tool, and so tell none from another."""

from __future__ import annotations

from mcpg.text.words import stem

_WORDS = """
action advanced allow amazing amet any api application appropriate available base basic best call
can capability certain common complete comprehensive convenient convert custom data default
describe description desired different do dolor easily easy effective efficient efficiently enable
endpoint everything execute existing feature fixme flexible following free function functional
functionality general generic get give given great handle help helper helpful important include
information input interact interface invoke ipsum kind lorem main make manage method misc
miscellaneous module multiple na necessary need needed new none null operate operation option
optional output parameter particular perform placeholder plugin possible powerful provide purpose
quick quickly related relevant require required response result retrieve return robust seamless
seamlessly set several simple simply sit solution some specific specified specify standard stuff
support tbd test thing todo tool type unknown use used useful utility value various versatile want
way well wide wonderful work wrapper xxx
"""

EMPTY_WORDS = frozenset(map(stem, _WORDS.split()))
"""Stems of such words."""
