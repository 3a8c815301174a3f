"""Front matter that is rewritten, and its author's lines."""

from __future__ import annotations

import pytest
from bounded import output_of
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.model import SourceDocument
from mcpg.documents.front_matter import flow, member, split_front_matter
from mcpg.documents.front_matter_edits import (
    MAX_REWRITTEN,
    authored_text,
    is_hidden,
    rewritten_text,
)
from mcpg.documents.reader import parse_document
from mcpg.errors import DocumentError

TEXTS = {
    "block": (
        "---\n# why\ntitle: Läst 😀 # x\ngraph_related:\n"
        "  - one # why\n  - two\nlevel: 1.10\n---\nBody.\n"
    ),
    "flow": "---\ngraph_related: [one, two]\n---\n",
    "braces": "---\n{title: x, graph_related: [one, two]}\n---\nBody.\n",
    "mappings": (
        "---\ngraph_related:\n- target: one\n  weight: 0.5\n  # so\n"
        "- {id: two,\n   weight: 1}\n---\n"
    ),
    "extras": '---\ngraph_related: [one, two]\nmcpg:\n  # kept\n  meta: {"a": 1}\n---\n\n# Title\n',
    "extras in braces": '---\ngraph_related: [one, two]\nmcpg: {meta: {"a": 1}}\n---\nBody.\n',
    "text block": "---\nsummary: |\n  One.\n  ---\n  Two.\ngraph_related: [one, two]\n---\nBody.\n",
    "lines above": "\n  \n---\ngraph_related: [one, two]\n---\nBody.\n",
    "byte order mark": "\ufeff---\ngraph_related: [one, two]\n---\nBody.\n",
    "no front matter": "Body.\n\n---\n\nMore.\n",
    "empty front matter": "---\n---\nBody.",
    "no body": "---\ngraph_related:\n- one\n- two\n---",
}
ADDRESSES = ["https://x.org/one/", "https://x.org/two/"]


def front(text: str) -> dict[str, object]:
    """Return the front matter of a text, without the author's lines."""
    values = dict(split_front_matter(text.removeprefix("\ufeff"), "").values)
    extras = values.pop("mcpg", None)
    others = {key: one for key, one in extras.items() if key != "authored"} if extras else {}
    return {**values, "mcpg": others} if others else values


@pytest.mark.parametrize("name", TEXTS)
def test_other_values_and_the_lines_of_the_author(name: str) -> None:
    """Whatever the layout, readers see the new values, and the author's text can be had again."""
    text = TEXTS[name]
    values = {**front(text), "graph_related": ADDRESSES, "graph_next_steps": ["https://x.org/3/"]}
    made = rewritten_text(text, values)
    assert front(made) == values
    assert authored_text(made) == text
    assert not is_hidden(made)
    assert authored_text(text) == text


def test_lines_whose_values_stay_are_kept() -> None:
    """Comments, numbers as they are written, and the prose stay in the rewritten text."""
    values = {**front(TEXTS["block"]), "graph_related": ADDRESSES}
    assert rewritten_text(TEXTS["block"], values).partition("mcpg:")[0] == (
        "---\n# why\ntitle: Läst 😀 # x\ngraph_related:\n"
        '  - "https://x.org/one/" # why\n  - "https://x.org/two/"\nlevel: 1.10\n'
    )


def test_front_matter_that_was_changed_since_is_taken_as_it_is() -> None:
    """Whoever edits a rewritten text edits what it says."""
    made = rewritten_text(TEXTS["block"], {**front(TEXTS["block"]), "graph_related": ADDRESSES})
    for edited in (
        made.replace("https://x.org/two/", "https://x.org/three/"),
        made.replace("---\n# why\n", "---\n"),
        made.replace('"  - one # why"', '"  - three"').replace("[5, 1,", "[0, 1,"),
        made.replace("authored: [", "authored: [1, 2, "),
        made.replace("level: 1.10\n", "level: 1.10\nmore: yes\n"),
    ):
        assert edited != made
        assert authored_text(edited) == edited
    edited = made.replace("https://x.org/two/", "https://x.org/three/")
    document = parse_document(SourceDocument("one.md", edited))[0]
    assert [link.target for link in document.links] == [ADDRESSES[0], "https://x.org/three/"]
    again = rewritten_text(edited, {**front(edited), "graph_related": ADDRESSES})
    assert front(again)["graph_related"] == ADDRESSES
    assert authored_text(again) == edited


def test_the_reader_reads_the_author() -> None:
    """A rewritten text says what its author's says."""
    text = TEXTS["mappings"]
    made = rewritten_text(text, {**front(text), "graph_related": ADDRESSES, "graph_groups": ["g"]})
    assert parse_document(SourceDocument("one.md", made)) == parse_document(
        SourceDocument("one.md", text)
    )


def test_records_of_strangers_do_no_harm() -> None:
    """A damaged record, or one of another text, is passed over."""
    for record in ("[]", "[1]", '["00000000", [1]]', '["x", [1, 1, [1]]]', f'["x", {"[" * 5000}]'):
        text = f"---\ntitle: x\nmcpg:\n  authored: {record}\n---\nBody.\n"
        assert authored_text(text) == text


def test_too_long_front_matter_is_refused() -> None:
    """Longer than any that is read, it is not written."""
    with pytest.raises(DocumentError, match=f"longer than {MAX_REWRITTEN} characters"):
        rewritten_text("---\ntitle: x\n---\n", {"title": "y" * MAX_REWRITTEN})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
FRONTS = st.dictionaries(st.sampled_from("abcdef"), VALUES, max_size=4)


@given(FRONTS, FRONTS, st.booleans(), st.text(alphabet="ab-#\n \u2028é", max_size=20))
def test_any_values_can_be_replaced(
    before: dict[str, object], after: dict[str, object], is_block: bool, body: str
) -> None:
    """Any front matter takes other values, and gives its author's lines back."""
    lines = (
        [line for key, value in before.items() for line in member(key, value)]
        if is_block
        else [flow(before)]
    )
    text = "\n".join(("---", *lines, "---", body))
    values = {**before, **after}
    made = rewritten_text(text, values)
    assert front(made) == values
    assert authored_text(made) == text
    assert made.endswith(body)


def test_brackets_are_looked_through_once() -> None:
    """A text of brackets that are not closed takes no time that grows with its square."""
    program = (
        "from mcpg.documents.front_matter_edits import is_disputed\n"
        "print(is_disputed('k: |\\n  ? ' + '[' * 250_000))"
    )
    assert output_of(program) == "False\n"
