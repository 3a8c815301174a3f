"""Blocks: output before it becomes text, Markdown or HTML.

A view is a function from a JSON object that mcpg prints to blocks. Three renderers write them:
`mcpg.cli.render` as text and as Markdown, and `mcpg.show.html` as HTML. Text of catalogs, queries
and servers is `Code`, and every renderer escapes all text in one place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = Mapping[str, Any]
"""An object as mcpg prints it as JSON."""

Inline: TypeAlias = "str | CodeSpan | Figure | Score | Styled | Bar | tuple[Inline, ...]"
Block: TypeAlias = (
    "Paragraph | FactList | Table | Bullets | Source | Notices | Chart | Details | Entries | "
    "Section"
)


class CodeSpan(NamedTuple):
    """Foreign text, shown verbatim: a tool, a word, a query.

    Attributes:
        is_quoted: Whether it is quoted if nothing else distinguishes it.
    """

    text: str
    is_quoted: bool = False


class Figure(NamedTuple):
    """A number.

    Attributes:
        form: Its format in text and Markdown; HTML has three decimals where this has six.
    """

    value: float
    form: str = ".6f"


class Score(NamedTuple):
    """A score or the strength of a link, in [0, 1].

    It has two significant digits; HTML has three decimals.
    """

    value: float


class Styled(NamedTuple):
    """Emphasized content: `bold`, `dim`, or a color: `red`, `green`, `yellow`, `cyan`."""

    content: Inline
    style: str


class Bar(NamedTuple):
    """A bar; Markdown has none.

    Attributes:
        share: Its filled part, in [0, 1].
        columns: How wide it is in text.
    """

    share: float
    columns: int = 24
    style: str = ""


class Paragraph(NamedTuple):
    """Text that is wrapped."""

    content: Inline


class FactList(NamedTuple):
    """Names and values; those without a value are left out."""

    rows: tuple[tuple[str, Inline], ...]


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        most: Its maximum width in a terminal.
        is_wide: Whether text, which has little space, leaves it out.
        is_below: Whether text puts its cells on separate lines, wrapped in a terminal.
        is_whole: Whether text never shortens it, such as ids to copy.
        least_room: Columns of a terminal below which text leaves it out.
        is_code: Whether its cells are strings, each shown as `Code`; quicker for long tables.
        style: The style of all its cells, if `is_code`.
    """

    head: str
    is_number: bool = False
    most: int = 44
    is_wide: bool = False
    is_below: bool = False
    is_whole: bool = False
    least_room: int = 0
    is_code: bool = False
    style: str = ""

    def content(self, cell: Inline) -> Inline:
        """Return what a *cell* shows."""
        if not (self.is_code and isinstance(cell, str)):
            return cell
        return Styled(CodeSpan(cell), self.style) if self.style else CodeSpan(cell)


def make_columns(
    *heads: str,
    numbers: Collection[str] = (),
    below: Collection[str] = (),
    whole: Collection[str] = (),
) -> tuple[Column, ...]:
    """Return columns with *heads*; some have *numbers*, are `is_below` or `is_whole`."""
    return tuple(
        Column(one, is_number=one in numbers, is_below=one in below, is_whole=one in whole)
        for one in heads
    )


class Table(NamedTuple):
    """Rows of cells.

    Attributes:
        title: Its title, the caption in HTML.
        columns: Its columns; the last is wrapped or shortened in a narrow terminal.
        has_heads: Whether text shows the headings; otherwise cells are clear without them.
        wraps: Whether text wraps the last column, instead of shortening it.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Inline, ...], ...]
    has_heads: bool = False
    wraps: bool = False

    @property
    def cells(self) -> Iterator[list[Inline]]:
        """What the cells of each row show."""
        for row in self.rows:
            yield [column.content(cell) for column, cell in zip(self.columns, row, strict=True)]


class Bullets(NamedTuple):
    """A list."""

    items: tuple[Inline, ...]


class Source(NamedTuple):
    """Lines of code in a language."""

    text: str
    language: str


class Notices(NamedTuple):
    """Diagnostics, as JSON has them."""

    items: tuple[Json, ...]


class Chart(NamedTuple):
    """A drawing that only HTML has: the markup that a function of `mcpg.show.html` makes.

    Attributes:
        kind: The name of the function.
        arguments: Its arguments; tables beside it have the same numbers.
    """

    kind: str
    arguments: tuple[Any, ...]


class Details(NamedTuple):
    """Blocks that Markdown and HTML fold.

    Attributes:
        short: The replacement in text; `None` for all of it.
    """

    summary: Inline
    blocks: tuple[Block, ...]
    short: tuple[Block, ...] | None = None
    is_open: bool = False


class ToolEntry(NamedTuple):
    """One of several tools in order.

    Attributes:
        score: The value of a meter in HTML, in [0, 1]; `None` for none.
        origin: Its origin, for HTML.
    """

    rank: int
    name: str
    figures: Inline = ""
    about: Inline = ""
    blocks: tuple[Block, ...] = ()
    score: float | None = None
    origin: str = ""


class Entries(NamedTuple):
    """Tools in order, under a prefix for their anchors."""

    prefix: str
    items: tuple[ToolEntry, ...]


class Section(NamedTuple):
    """Blocks under a heading.

    Attributes:
        identity: Its anchor in HTML.
        lead: One sentence on how to read it, for HTML.
        heading: Its heading in text and Markdown, if different; "" for none.
    """

    identity: str
    title: str
    blocks: tuple[Block, ...]
    lead: str = ""
    heading: str | None = None


def join_inlines(parts: list[Inline], between: str = ", ") -> Inline:
    """Return *parts* with *between* them."""
    return tuple(one for part in parts for one in (between, part))[1:]
