"""The page that every report stands on: one file, closed to the network."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpg import __version__
from mcpg.reports.assets import asset
from mcpg.reports.markup import Markup, element, embedded, joined, verbatim

if TYPE_CHECKING:
    from collections.abc import Sequence

GENERATOR = f"mcpg {__version__}"
MARK = b'<!doctype html>\n<html lang="en" data-mcpg-report='
"""How every report of mcpg begins."""

_DATA = "report-data"


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a report.

    Attributes:
        identity: Its anchor.
        title: Its heading.
        content: What is in it.
        lead: One sentence on how to read it.
    """

    identity: str
    title: str
    content: Markup
    lead: str = ""


def page(
    kind: str,
    title: str,
    head: Markup,
    sections: Sequence[Section],
    *,
    data: Any,
    scripts: Sequence[str],
) -> str:
    """Give a report as the text of an HTML file.

    Args:
        kind: The command that made it.
        title: Title of the window.
        head: What stands above the sections.
        sections: The parts, in order.
        data: What the scripts draw, a JSON value.
        scripts: Trusted JavaScript, run in order after the page's own.
    """
    style, script = asset("report.css"), "\n".join([asset("page.js"), *scripts])
    body = joined(
        element("a", "Skip to the report", class_="skip", href="#main"),
        _banner(kind, sections),
        element("main", head, map(_section, sections), id="main", tabindex="-1"),
        element("footer", element("p", f"Made by {GENERATOR}. This file needs no network.")),
        embedded(data, _DATA),
        verbatim("script", script),
    )
    top = joined(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=GENERATOR),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("link", rel="icon", href="data:,"),
        verbatim("style", style),
    )
    opening = f'{MARK.decode()}"{kind}">\n'
    return f"{opening}<head>{top}</head>\n<body>\n{body}\n</body>\n</html>\n"


def _policy(style: str, script: str) -> str:
    """Allow the two inline texts by their hashes, the empty icon, and nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _banner(kind: str, sections: Sequence[Section]) -> Markup:
    links = [element("li", element("a", one.title, href=f"#{one.identity}")) for one in sections]
    themes = [
        element("option", name, value=name.lower(), selected=name == "Auto")
        for name in ("Auto", "Light", "Dark")
    ]
    return element(
        "header",
        element("span", "mcpg ", element("b", kind), class_="brand"),
        element("nav", element("ul", links), aria_label="Sections"),
        element("label", "Theme ", element("select", themes, id="theme", autocomplete="off")),
        class_="banner",
    )


def _section(section: Section) -> Markup:
    heading = f"{section.identity}-title"
    return element(
        "section",
        element("h2", section.title, id=heading),
        element("p", section.lead, class_="lead") if section.lead else None,
        section.content,
        id=section.identity,
        aria_labelledby=heading,
    )
