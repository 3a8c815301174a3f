"""Blocks as Markdown, as GitHub reads it; text of others is made safe within it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import singledispatch

from mcpg.cli.terminal import diagnostic_text, one_line
from mcpg.reports import blocks as model
from mcpg.values import score_text

# What ends a code span or a cell of a table, or begins an escape within one.
_UNSAFE_IN_CODE = re.compile(r"[`|\\]")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
# What our own words may hold that Markdown would read as something else.
_STRUCTURE = re.compile(r"[\\`*_\[\]<>|]")
_LONGEST = 1_000


def code(text: str) -> str:
    """Return *text* on one line as code, in which nothing is a link, a mention or a tag.

    It may stand in a cell of a table. A plain code span is written where it holds the text, and
    references to characters in an HTML element otherwise.
    """
    line = one_line(text)
    if not line:
        return ""
    if _UNSAFE_IN_CODE.search(line) is None:
        return f"`{line}`"
    return element(line)


def element(text: str) -> str:
    """Return *text* on one line as an HTML element, for places where no Markdown is read."""
    escaped = _PUNCTUATION.sub(lambda found: f"&#{ord(found.group())};", one_line(text))
    return f"<code>{escaped}</code>"


def markdown(blocks: Iterable[model.Block], title: str = "", about: str = "") -> str:
    """Return *blocks* as Markdown for a comment or the summary of a job.

    Args:
        blocks: The blocks.
        title: A heading above them, Markdown already.
        about: Text of others that ends the heading, such as a query.
    """
    heading = f"{title} {code(about[:_LONGEST])}".rstrip()
    return "\n\n".join(part for part in (heading, *_parts(blocks)) if part)


def _parts(blocks: Iterable[model.Block]) -> list[str]:
    return [part for block in blocks for part in _write_block(block) if part]


@singledispatch
def _write_block(block: model.Block) -> Iterator[str]:
    """Return the Markdown of *block* in parts that blank lines separate."""
    raise TypeError(block)


@_write_block.register(model.Chart)
def _chart(_block: model.Chart) -> Iterator[str]:
    return iter(())


@_write_block.register(model.Paragraph)
def _paragraph(block: model.Paragraph) -> Iterator[str]:
    yield inline(block.content)


@_write_block.register(model.FactList)
def _facts(block: model.FactList) -> Iterator[str]:
    rows = ((name, inline(value)) for name, value in block.rows)
    yield "\n".join(f"- {inline(name)}: {shown}" for name, shown in rows if shown)


@_write_block.register(model.Table)
def _table(block: model.Table) -> Iterator[str]:
    drawn = [[inline(cell).strip() for cell in row] for row in block.cells]
    # A column of bars is empty here.
    kept = [place for place in range(len(block.columns)) if any(row[place] for row in drawn)]
    if not kept:
        return
    columns = [block.columns[place] for place in kept]
    rules = ["---:" if column.is_number else "---" for column in columns]
    rows = [[row[place] for place in kept] for row in drawn]
    lines = ([inline(column.head) for column in columns], rules, *rows)
    yield "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


@_write_block.register(model.Bullets)
def _bullets(block: model.Bullets) -> Iterator[str]:
    yield "\n".join(f"- {inline(item)}" for item in block.items)


@_write_block.register(model.Source)
def _source(block: model.Source) -> Iterator[str]:
    from mcpg.documents.page import fence_for  # noqa: PLC0415 - few reports show a source

    fence = fence_for(block.text)
    yield f"{fence}{block.language}\n{block.text}\n{fence}"


@_write_block.register(model.Notices)
def _notices(block: model.Notices) -> Iterator[str]:
    rows = ((code(diagnostic_text(item)), code(item["place"] or "")) for item in block.items)
    yield "\n".join(f"- {text} {place}".rstrip() for text, place in rows)


@_write_block.register(model.Details)
def _details(block: model.Details) -> Iterator[str]:
    yield f"<details><summary>{_summary(block.summary)}</summary>"
    yield from _parts(block.blocks)
    yield "</details>"


@_write_block.register(model.Section)
def _section(block: model.Section) -> Iterator[str]:
    title = block.title if block.heading is None else block.heading.capitalize()
    within = _parts(block.blocks)
    if within:
        yield f"**{inline(title)}**" if title else ""
        yield from within


@_write_block.register(model.Entries)
def _entries(block: model.Entries) -> Iterator[str]:
    for entry in block.items:
        parts = (code(entry.name), inline(entry.figures), inline(entry.about))
        yield f"**{entry.rank}.** {'  '.join(filter(None, parts))}"
        yield from _parts(entry.blocks)


def inline(content: model.Inline) -> str:
    """Return *content* on one line, safe in a paragraph and in a cell of a table."""
    match content:
        case str():
            return _STRUCTURE.sub(r"\\\g<0>", content)
        case model.CodeSpan():
            return code(content.text[:_LONGEST])
        case model.Figure() | model.Score():
            return _number(content)
        case model.Styled():
            text = inline(content.content)
            return f"**{text}**" if content.style == "bold" and text else text
        case tuple():
            return "".join(map(inline, content))
        case _:  # a bar
            return ""


def _number(content: model.Figure | model.Score) -> str:
    """Return *content* with the decimals that text and Markdown have."""
    if isinstance(content, model.Score):
        return score_text(content.value)
    return format(content.value, content.form)


def _summary(content: model.Inline) -> str:
    """Return *content* for an HTML element, in which no Markdown is read."""
    if isinstance(content, tuple):
        return "".join(map(_summary, content))
    return element(content.text) if isinstance(content, model.CodeSpan) else inline(content)
