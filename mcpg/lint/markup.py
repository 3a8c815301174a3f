"""Rules on markup in descriptions: HTML and links, which models read as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcpg.lint.catalogue import LintContext, make_finding, outliers
from mcpg.lint.model import Finding

_TAG = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|br|center|code|dd|div|dl|dt|em|font|h[1-6]|hr|i|img|li|ol|p|pre|"
    r"small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s+[a-z-]+\s*=[^<>]*)?\s*/?>",
    re.IGNORECASE,
)
_LINK = re.compile(r"\bhttps?://[^\s<>\"'`)\]]+", re.IGNORECASE)
_KINDS = (
    ("D107", _TAG, "HTML", "write plain text or Markdown"),
    ("D108", _LINK, "a link", "say what the page says; a model does not open it, or should not"),
)


def check_markup(catalogue: LintContext) -> Iterator[Finding]:
    """Yield descriptions with HTML or links."""
    for code, pattern, what, remedy in _KINDS:
        found: dict[str, Finding] = {}
        for tool in catalogue.tools:
            match = pattern.search(tool.description)
            if match is not None:
                found[tool.id] = make_finding(
                    code,
                    tool,
                    f"the description of {tool.id!r} has {what}",
                    "description",
                    text=tool.description,
                    start=match.start(),
                    size=match.end() - match.start(),
                    suggestion=remedy,
                )
        yield from outliers(catalogue, found, f"have descriptions with {what}")
