from __future__ import annotations

import pytest
from bounded import output_of

from mcpg.documents.markdown import Reference, read_markdown, retarget

URI = "https://x.org/t/"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("See [it](a.md).", f"See [it]({URI})."),
        ('[it]( <a.md> "title") ![p](b.png)', f'[it]( {URI} "title") ![p](b.png)'),
        ("> [it]: a.md\n\n[it] [b](b.md)", f"> [it]: {URI}\n\n[it] [b](b.md)"),
        ("[x](<a b(1).md>)", f"[x]({URI})"),
        ("[x](ü&amp;\\(.md)", f"[x]({URI})"),
        ("[x](a_(b).md) y", f"[x]({URI}) y"),
        ("[[a]] and [[ a |label]]", f"[[{URI}|a]] and [[{URI}|label]]"),
        ("| [[a]] | [[a\\|l]] |\n|-|-|", f"| [[{URI}\\|a]] | [[{URI}\\|l]] |\n|-|-|"),
        ("```\n[x](a.md)\n```\n\n[x](a.md)", f"```\n[x](a.md)\n```\n\n[x]({URI})"),
    ],
)
def test_only_targets_change(before: str, after: str) -> None:
    """Links lead elsewhere; labels, titles, pictures, other links and code stay as they are."""
    links = [link for link in read_markdown(before).references if link.target != "b.md"]
    assert links
    assert retarget(before, dict.fromkeys(links, URI)) == after
    assert {link.target for link in read_markdown(after).references} <= {URI, "b.md"}


def test_a_target_with_parentheses_is_bracketed() -> None:
    """Any address can be a target."""
    link = Reference("a.md", "x", is_wiki=False)
    changed = retarget("[x](a.md)", {link: "/a b/(c.md"})
    assert changed == "[x](</a b/(c.md>)"
    assert read_markdown(changed).references[0].target == "/a%20b/(c.md"


@pytest.mark.parametrize(
    "body", ["'](' + ' ' * 200_000", "'[x]:' + ' ' * 200_000", "'[[a]] ' * 40_000"]
)
def test_any_text_is_led_elsewhere_in_linear_time(body: str) -> None:
    """Neither blanks after a bracket nor wiki links of one line take the square of their number."""
    program = (
        "from mcpg.documents.markdown import Reference\n"
        "from mcpg.documents.markdown import retarget\n"
        "links = {Reference('a', 'a', is_wiki=True): 'b', Reference('c', '', is_wiki=False): 'd'}\n"
        f"print(retarget({body}, links).count('[[b|a]]'))\n"
    )
    assert output_of(program) == ("40000\n" if "[[" in body else "0\n")
