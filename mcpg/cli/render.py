"""Lists as every command prints them: as a table for people, and one record a line for programs."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mcpg.cli.output import Output, glyphs_of_standard_output, hanging
from mcpg.cli.terminal import (
    UNLIMITED,
    Screen,
    diagnostic_text,
    is_terminal,
    json_safe,
    lines_kept,
    one_line,
    one_lines,
    width,
    widths,
)
from mcpg.show import blocks as model
from mcpg.text.json_values import write_json
from mcpg.values import score_text

if TYPE_CHECKING:
    from mcpg.show.blocks import Table


# Characters that end a code span or a cell of a table, or begin an escape within one.
_UNSAFE_IN_CODE = re.compile(r"[`|\\]")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
# Characters in our own words that Markdown would read as something else.
_STRUCTURE = re.compile(r"[\\`*_\[\]<>|]")
_LONGEST = 1_000


def code(text: str) -> str:
    """Return *text* on one line as code, in which nothing is a link, a mention or a tag.

    It may be in a cell of a table. A plain code span is written if it can contain the text, and
    references to characters in an HTML element otherwise.
    """
    line = one_line(text)
    if not line:
        return ""
    if _UNSAFE_IN_CODE.search(line) is None:
        return f"`{line}`"
    return element(line)


def element(text: str) -> str:
    """Return *text* on one line as an HTML element, for places without Markdown."""
    escaped = _PUNCTUATION.sub(lambda found: f"&#{ord(found.group())};", one_line(text))
    return f"<code>{escaped}</code>"


def markdown(blocks: Iterable[model.Block], title: str = "", about: str = "") -> str:
    """Return *blocks* as Markdown for a comment or the summary of a job.

    The *title* is a heading, Markdown already; *about* is text of others that ends it.
    """
    heading = f"{title} {code(about[:_LONGEST])}".rstrip()
    return "\n\n".join(part for part in (heading, *_parts(blocks)) if part)


def _parts(blocks: Iterable[model.Block]) -> list[str]:
    return [part for block in blocks for part in _write_block(block) if part]


def _write_block(block: model.Block) -> Iterator[str]:
    """Return the Markdown of *block* in parts that blank lines separate; a chart has none."""
    match block:
        case model.Details():
            yield f"<details><summary>{_summary(block.summary)}</summary>"
            yield from _parts(block.blocks)
            yield "</details>"
        case model.Section():
            title = block.title if block.heading is None else block.heading.capitalize()
            if within := _parts(block.blocks):
                yield f"**{inline(title)}**" if title else ""
                yield from within
        case model.Entries():
            for entry in block.items:
                parts = (code(entry.name), inline(entry.figures), inline(entry.about))
                yield f"**{entry.rank}.** {'  '.join(filter(None, parts))}"
                yield from _parts(entry.blocks)
        case model.Table():
            yield "\n".join(_table_lines(block))
        case _:
            yield _write_leaf(block)


def _write_leaf(block: model.Block) -> str:
    match block:
        case model.Paragraph():
            return inline(block.content)
        case model.FactList():
            facts = ((name, inline(value)) for name, value in block.rows)
            return "\n".join(f"- {inline(name)}: {shown}" for name, shown in facts if shown)
        case model.Bullets():
            return "\n".join(f"- {inline(item)}" for item in block.items)
        case model.Notices():
            rows = (
                (code(diagnostic_text(item)), code(item["place"] or "")) for item in block.items
            )
            return "\n".join(f"- {text} {place}".rstrip() for text, place in rows)
        case model.Source():
            from mcpg.documents.page import fence_for  # noqa: PLC0415 - few reports show a source

            fence = fence_for(block.text)
            return f"{fence}{block.language}\n{block.text}\n{fence}"
        case _:
            return ""


def _table_lines(block: model.Table) -> Iterator[str]:
    drawn = [[inline(cell).strip() for cell in row] for row in block.cells]
    # A column of bars is empty here.
    kept = [place for place in range(len(block.columns)) if any(row[place] for row in drawn)]
    if not kept:
        return
    columns = [block.columns[place] for place in kept]
    rules = ["---:" if column.is_number else "---" for column in columns]
    rows = [[row[place] for place in kept] for row in drawn]
    for cells in ([inline(column.head) for column in columns], rules, *rows):
        yield f"| {' | '.join(cells)} |"


def inline(content: model.Inline) -> str:
    """Return *content* on one line, safe in a paragraph and in a cell of a table."""
    match content:
        case str():
            text = _STRUCTURE.sub(r"\\\g<0>", content)
        case model.CodeSpan():
            text = code(content.text[:_LONGEST])
        case model.Figure():
            text = format(content.value, content.form)
        case model.Score():
            text = score_text(content.value)
        case model.Styled():
            text = inline(content.content)
            text = f"**{text}**" if content.style == "bold" and text else text
        case model.Bar():
            text = ""
        case _:
            text = "".join(map(inline, content))
    return text


def _summary(content: model.Inline) -> str:
    """Return *content* for an HTML element, in which no Markdown is read."""
    match content:
        case model.CodeSpan():
            return element(content.text)
        case str() | model.Figure() | model.Score() | model.Styled() | model.Bar():
            return inline(content)
        case _:
            return "".join(map(_summary, content))


Span: TypeAlias = tuple[str, str]

INDENT = "    "
_GAP = "  "
_NARROWEST, _LAST = 12, 40
# Text wrapped to fewer columns than these is a column of single words.
_WRAPPABLE = 20


def text(blocks: Iterable[model.Block], view: Screen) -> str:
    """Return *blocks* as text, a blank line between them, laid out for *view*."""
    layout = TextLayout(view)
    parts = (part for block in blocks for part in layout.parts(block))
    return "\n\n".join("\n".join(part) for part in parts if part)


class TextLayout:
    """Lays blocks out in lines. All text passes through `spans`, which makes it safe."""

    def __init__(self, view: Screen) -> None:
        self._view = view
        self._glyphs = glyphs_of_standard_output()
        # A table of a whole catalog asks for these thousands of times.
        self._columns, self._row_columns = view.columns, view.row_columns
        self._is_colored = view.is_colored(sys.stdout)

    def parts(self, block: model.Block) -> Iterator[list[str]]:
        """Return the lines of *block* in the parts that blank lines separate."""
        if isinstance(block, model.Entries):
            yield from (list(self._entry(one)) for one in block.items)
        elif isinstance(block, model.Section) and block.heading == "":
            yield from chain.from_iterable(map(self.parts, block.blocks))
        else:
            yield list(self.lines(block))

    def lines(self, block: model.Block, indent: str = "") -> Iterator[str]:
        """Return the lines of *block*, each after *indent*; a chart has none."""
        match block:
            case model.Paragraph():
                others = f"{indent}  " if indent else ""
                yield from hanging(self._plain(block.content), self._columns, indent, others)
            case model.Bullets():
                yield from self._all(map(model.Paragraph, block.items), indent or "  ")
            case model.Source():
                yield from block.text.split("\n")
            case model.Notices():
                texts = (model.CodeSpan(diagnostic_text(item)) for item in block.items)
                yield from self._all(map(model.Paragraph, texts), indent)
            case model.Details():
                yield from self._all(block.blocks if block.short is None else block.short, indent)
            case model.Section():
                yield from self._section(block, indent)
            case model.Entries():
                yield from chain.from_iterable(map(self._entry, block.items))
            case model.FactList():
                yield from self._facts(block, indent)
            case model.Table():
                yield from self._table(block, indent)

    def _section(self, block: model.Section, indent: str) -> Iterator[str]:
        title = block.title.lower() if block.heading is None else block.heading
        within = list(self._all(block.blocks, indent + INDENT))
        if within:
            for line in hanging(one_line(title), self._columns, "", ""):
                yield self._paint_spans([(line, "bold")])
            yield from within

    def _all(self, blocks: Iterable[model.Block], indent: str) -> Iterator[str]:
        for block in blocks:
            yield from self.lines(block, indent)

    def _entry(self, entry: model.ToolEntry) -> Iterator[str]:
        name = one_line(entry.name)
        spans = [(f"{entry.rank:>2}{_GAP}", ""), (name, "cyan")]
        figures = self._plain(entry.figures)
        if figures:
            spans += [(_GAP, ""), (figures, "bold")]
        about = self._plain(entry.about)
        if about:
            room = self._row_columns - _width(spans) - len(_GAP)
            if room >= min(_WRAPPABLE, width(about)):
                spans += [(_GAP, ""), (self._glyphs.cut(about, room), "")]
                about = ""
        yield self._paint_spans(spans).rstrip()
        if about:
            yield INDENT + self._glyphs.cut(about, self._row_columns - len(INDENT))
        yield from self._all(entry.blocks, INDENT)

    def _facts(self, facts: model.FactList, indent: str) -> Iterator[str]:
        rows = [(name, shown) for name, value in facts.rows if (shown := self._plain(value))]
        columns = max((len(name) for name, _ in rows), default=0) + 2
        for name, shown in rows:
            first = f"{indent}{name:<{columns}}"
            yield from hanging(shown, self._columns, first, " " * len(first))

    def _table(self, table: model.Table, indent: str) -> Iterator[str]:
        columns, places = self.select_columns(table)
        if not columns:
            return iter(())
        is_below = any(column.is_below for column in table.columns)
        if self._row_columns >= UNLIMITED and not (table.wraps or is_below):
            return self._whole(table, places, indent)
        return self._fitting(table, columns, places, indent)

    def _whole(self, table: model.Table, places: list[int], indent: str) -> Iterator[str]:
        drawn = []
        for place in places:
            column, cells = table.columns[place], list[Any](row[place] for row in table.rows)
            if column.is_code:
                texts = one_lines(cells)
                taken = widths(texts)
                if column.style and self._is_colored:
                    texts = [self._view.paint(text, column.style) for text in texts]
            else:
                spans = [*map(self.spans, cells)]
                texts, taken = [*map(self._paint_spans, spans)], [*map(_width, spans)]
            if table.has_heads:
                head = self.spans(column.head, "bold")
                texts, taken = [self._paint_spans(head), *texts], [_width(head), *taken]
            size = max(taken)
            if column.is_number:
                texts = [" " * (size - one) + text for text, one in zip(texts, taken, strict=True)]
            elif place != places[-1]:
                texts = [text + " " * (size - one) for text, one in zip(texts, taken, strict=True)]
            drawn.append(texts)
        return ((indent + _GAP.join(row)).rstrip() for row in zip(*drawn, strict=True))

    def _fitting(
        self, table: model.Table, columns: list[model.Column], places: list[int], indent: str
    ) -> Iterator[str]:
        """Return the lines of *table*, with cells cut or wrapped if there is not enough room."""
        cells = [*table.cells]
        rows = [[row[place] for place in places] for row in cells]
        below = [(place, one.head) for place, one in enumerate(table.columns) if one.is_below]
        widest = max((len(head) for _, head in below), default=0)
        if table.has_heads:
            rows = [[model.Styled(one.head, "bold") for one in columns], *rows]
        drawn = [[(cell, self.spans(cell)) for cell in row] for row in rows]
        shown = [[spans for _, spans in row] for row in drawn]
        sizes = self.sizes(columns, shown, len(indent))
        if table.has_heads:
            yield from islice(self._row(drawn.pop(0), columns, sizes, indent, wraps=False), 1)
        for row, whole in zip(drawn, cells, strict=True):
            yield from self._row(row, columns, sizes, indent, wraps=table.wraps)
            for place, head in below:
                if not self.spans(whole[place]):
                    continue
                lead = f"{indent}{INDENT}{head:<{widest}} "
                others = " " * len(lead)
                yield from hanging(self._plain(whole[place]), self._row_columns, lead, others)

    def select_columns(self, table: model.Table) -> tuple[list[model.Column], list[int]]:
        """Return the columns of *table* that are side by side, and their places."""
        places = [
            place
            for place, column in enumerate(table.columns)
            if not (column.is_wide or column.is_below)
            and column.least_room <= self._row_columns
            and any(self.spans(column.content(row[place])) for row in table.rows)
        ]
        return [table.columns[place] for place in places], places

    def sizes(
        self, columns: Sequence[model.Column], rows: Sequence[Sequence[list[Span]]], indent: int = 0
    ) -> list[int]:
        """Return the width of each column; the last column gets its need or the rest."""
        widest = [max(_width(row[place]) for row in rows) for place in range(len(columns))]
        if self._row_columns >= UNLIMITED:
            return widest
        *sizes, last = (
            size if one.is_whole else min(one.most, size)
            for one, size in zip(columns, widest, strict=True)
        )
        excess = sum(sizes) + len(_GAP) * len(sizes) + indent + min(_LAST, last)
        excess -= self._row_columns
        cut = [0 if one.is_whole else size for one, size in zip(columns[:-1], sizes, strict=True)]
        if excess > 0 and any(cut):
            largest = cut.index(max(cut))
            sizes[largest] = max(min(_NARROWEST, sizes[largest]), sizes[largest] - excess)
        room = self._row_columns - indent - sum(sizes) - len(_GAP) * len(sizes)
        return [*sizes, min(widest[-1], max(_NARROWEST, room))]

    def _row(
        self,
        row: Sequence[tuple[model.Inline, list[Span]]],
        columns: Sequence[model.Column],
        sizes: Sequence[int],
        indent: str,
        *,
        wraps: bool,
    ) -> Iterator[str]:
        cells = []
        for (cell, whole_spans), column, size in zip(row, columns, sizes, strict=True):
            if isinstance(cell, model.Bar) and size < cell.columns:  # it is drawn to scale
                bar = model.Bar(cell.share, max(0, size), cell.style)
                shown = self._cut(self.spans(bar), size)
            else:
                shown = self._cut(whole_spans, size)
            gap, painted = " " * (size - _width(shown)), self._paint_spans(shown)
            cells.append(f"{gap}{painted}" if column.is_number else f"{painted}{gap}")
        lead = indent + "".join(f"{cell}{_GAP}" for cell in cells[:-1])
        start = len(indent) + sum(sizes[:-1]) + len(_GAP) * (len(sizes) - 1)
        _, spans = row[-1]
        whole = "".join(text for text, _ in spans)
        most = self._columns if wraps else self._row_columns
        if len(row) > 1 and most - start < min(_WRAPPABLE, width(whole)):
            yield lead.rstrip()
            start, lead = len(indent + INDENT), indent + INDENT
            cells[-1] = self._paint_spans(self._cut(spans, most - start))
        if not wraps:
            yield f"{lead}{cells[-1]}".rstrip()
        elif whole:
            yield from hanging(whole, self._columns, lead, " " * start)
        else:
            yield lead.rstrip()

    def spans(self, inline: model.Inline, style: str = "") -> list[Span]:
        """Return *inline* as texts on one line, each with its style and nothing unsafe in it."""
        match inline:
            case str():
                # The spaces at its ends are kept.
                start, end = len(inline) - len(inline.lstrip(" ")), len(inline.rstrip(" "))
                shown = f"{inline[:start]}{one_line(inline)}{inline[end:] if start < end else ''}"
                shown = shown.replace("→", self._glyphs.arrow)
            case model.CodeSpan():
                shown = one_line(repr(inline.text) if inline.is_quoted else inline.text)
            case model.Figure():
                shown = format(inline.value, inline.form)
            case model.Score():
                shown = score_text(inline.value)
            case model.Bar():
                shown = self._glyphs.bar(inline.share, inline.columns)
                style = inline.style or style
            case model.Styled():
                return self.spans(inline.content, inline.style)
            case _:
                return [span for part in inline for span in self.spans(part, style)]
        return [(shown, style)] if shown else []

    def _plain(self, inline: model.Inline) -> str:
        return "".join(text for text, _ in self.spans(inline)).strip()

    def _cut(self, spans: list[Span], columns: int) -> list[Span]:
        if _width(spans) <= columns:
            return spans
        shown: list[Span] = []
        for text, style in spans:
            room = columns - _width(shown)
            if width(text) > room:
                return [*shown, (self._glyphs.cut(text, room), style)] if room > 0 else shown
            shown.append((text, style))
        return shown

    def _paint_spans(self, spans: Iterable[Span]) -> str:
        if not self._is_colored:
            return "".join([text for text, _ in spans])
        return "".join(self._view.paint(text, style) if style else text for text, style in spans)


def _width(spans: Iterable[Span]) -> int:
    return sum([width(text) for text, _ in spans])


_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


class RecordListing(NamedTuple):
    """A list that a command prints.

    Attributes:
        records: The members of the list in the JSON of the command, in order.
        members: Names of the members of a record that are columns of CSV; a dotted name leads
            into an object.
        table: The list for people, or its maker.
    """

    records: Sequence[Mapping[str, Any]]
    members: tuple[str, ...]
    identity: str
    table: Table | Callable[[], Table]


def write_listing(listing: RecordListing, form: str, output: Output) -> None:
    """Write *listing* in the *form* `text`, `jsonl`, `csv`, `ids` or `markdown`."""
    output.text(listing_text(listing, form, output))


def listing_text(listing: RecordListing, form: str, output: Screen) -> str:
    """Return *listing* in the *form* `text`, `jsonl`, `csv`, `ids` or `markdown`."""
    match form:
        case "jsonl":
            return "\n".join(json_safe(write_json(record)) for record in listing.records)
        case "csv":
            import csv  # noqa: PLC0415 - only for this format

            written = io.StringIO()
            writer = csv.writer(written, lineterminator="\n")
            writer.writerow(listing.members)
            for record in listing.records:
                members = [_member(record, name) for name in listing.members]
                cells = [(lines_kept(_cell(one)), isinstance(one, int | float)) for one in members]
                # A spreadsheet reads a quoted cell as text. Source: OWASP, "CSV Injection".
                writer.writerow(
                    cell if is_number or not cell.startswith(_FORMULA_SIGNS) else f"'{cell}"
                    for cell, is_number in cells
                )
            return written.getvalue().rstrip("\n")
        case "ids":
            found = (_cell(_member(record, listing.identity)) for record in listing.records)
            return "\n".join(map(one_line, found))
        case "markdown":
            return markdown([make_table(listing)])
        case _:
            return table_text(make_table(listing), output)


def make_table(listing: RecordListing) -> Table:
    """Return the list for people."""
    return listing.table() if callable(listing.table) else listing.table


def table_text(table: Table, output: Screen) -> str:
    """Return *table* as text: drawn by rich on a terminal, in whole aligned rows in a pipe."""
    if not is_terminal(sys.stdout):
        return text([table], output)
    from rich import box  # noqa: PLC0415 - slow to import, and only to be looked at
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as Drawn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    layout = TextLayout(output)
    columns, places = layout.select_columns(table)
    cells = [[layout.spans(row[place]) for place in places] for row in table.cells]
    heads = [layout.spans(column.head) for column in columns]
    drawn = Drawn(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column, size in zip(columns, layout.sizes(columns, [heads, *cells]), strict=True):
        drawn.add_column(
            column.head,
            justify="right" if column.is_number else "left",
            no_wrap=not (column.is_whole or table.wraps),
            overflow="fold" if column.is_whole else "ellipsis",
            width=None if table.wraps else size,
        )
    for row in cells:
        drawn.add_row(*(Text.assemble(*cell) for cell in row))
    console = Console(
        file=io.StringIO(),
        width=output.columns,
        force_terminal=output.is_colored(sys.stdout),
        color_system="standard" if output.is_colored(sys.stdout) else None,
        highlight=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _member(record: Mapping[str, Any], name: str) -> Any:
    """Return the member of *record* at the dotted *name*, `None` for none."""
    found: Any = record
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _cell(member: Any) -> str:
    """Return *member* as text: a list by its members, a structure as JSON."""
    match member:
        case None:
            return ""
        case str():
            return member
        case bool():
            return "true" if member else "false"
        case list() if not any(isinstance(one, dict | list) for one in member):
            return "; ".join(map(_cell, member))
        case _:
            return write_json(member)
