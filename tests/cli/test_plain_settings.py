"""What is read without libraries is what `tomllib` and the settings read, or nothing."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpg.cli.environment import KEYS, SECTIONS, NotPlainError, plain_settings, read_plain_toml
from mcpg.cli.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = """\
# What this project searches.
bundle = "tools/graph.mdld"  # made by `mcpg bundle`
limit=7
strategy = 'graph'
lexicon = false

[embeddings]
with = "local:multilingual"

[[sources]]
path = "manifests"
exclude = [ "a*", 'b', ]
enabled = true

[[sources]]
path = "other"\r
[serve]
http = "8080"
"""


def flat(table: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a parsed document by name, without its sources."""
    values = {name: one for name, one in table.items() if name != "sources"}
    return {
        name: one
        for key, held in values.items()
        for name, one in (
            {f"{key}.{inner}": part for inner, part in held.items()}
            if isinstance(held, dict)
            else {key: held}
        ).items()
    }


def test_a_plain_file_is_read() -> None:
    """Settings, sections, sources, comments and either end of a line need no library."""
    assert read_plain_toml(PLAIN) == flat(tomllib.loads(PLAIN)) != {}


PIECES = st.sampled_from(
    [
        *("limit", "bundle", "lexicon", "path", "a-b", '"limit"', "embeddings.with", "x y", ""),
        *(" = ", "=", "\t=\t", " ", "\n", "\r\n", "\r", "#", "# note", "\x07", ",", "\ufeff"),
        *("1", "7", "01", "-1", "1_0", "1.5", "0x1", "true", "false", "True", "inf", "nan"),
        *('"a"', "'a'", '""', '"""a"""', '"\\n"', "'\\n'", '"a#b"', '"é"', '"', "'", "1979-05-27"),
        *("[1, 2]", "[ 'a', ]", "[]", "[,]", "[", "]", "{}", "{a = 1}", "[['a']]"),
        *(
            "[serve]",
            "[[sources]]",
            "[sources]",
            "[[serve]]",
            "[cache] # x",
            "[tool.x]",
            "[ learn ]",
        ),
    ]
)
LINES = st.lists(PIECES, max_size=5).map("".join)
STATEMENTS = st.builds(
    "{} = {}".format,
    st.sampled_from(["limit", "bundle", "lexicon", "strategy", "path", "http"]),
    PIECES,
)


@given(st.lists(LINES | STATEMENTS, max_size=6).map("\n".join))
@example("limit = 1\nlimit = 2")
@example("serve = 1\n[serve]")
@example("[serve]\n[serve]")
@example("[[sources]]\npath = 1\npath = 2")
@example("a = 1 2")
@example("a = [1 2]")
@example('a = "x" y')
def test_what_is_read_is_what_tomllib_reads(text: str) -> None:
    """A document that is read plainly is TOML, and has the same values."""
    with suppress(NotPlainError):
        values = read_plain_toml(text)
        assert repr(values) == repr(flat(tomllib.loads(text)))


VALUES = {
    "limit": ["1", "50", "0", "51", '"5"', "true"],
    "strategy": ['"graph"', '"markdown-ld"', '"auto"', '"magic"'],
    "lexicon": ["true", "false", '"yes"'],
    "fusion": ['"rrf"', '"mine"'],
    "bundle": ['"graph.mdld"', '"../a.mdld"', '"/a.mdld"', '"postgresql://u:p@h/d"'],
    "candidates": ['"local"', '"postgres"'],
    "serve.http": ['"8080"', "8080"],
    "normalization.enabled": ["true", "false"],
    "cache.kind": ['"memory"'],
    "nothing": ["1"],
}
VARIABLES = {
    "MCPG_LIMIT": ["3", "0", "many", "\u0663"],
    "MCPG_STRATEGY": ["graph", "auto", "magic"],
    "MCPG_BUNDLE": ["b.mdld"],
    "MCPG_LEXICON": ["no"],
    "MCPG_FUSION": ["rrf"],
}


@st.composite
def chosen(draw: st.DrawFn, among: dict[str, list[str]]) -> dict[str, str]:
    """Return a few names with a value of each."""
    names = draw(st.lists(st.sampled_from(list(among)), max_size=3, unique=True))
    return {name: draw(st.sampled_from(among[name])) for name in names}


@given(chosen(VALUES), chosen(VARIABLES))
def test_plain_settings_are_those_of_the_settings(
    tmp_path_factory: pytest.TempPathFactory, stated: dict[str, str], environment: dict[str, str]
) -> None:
    """What a plain search goes by is what the settings find, and they find no mistake."""
    folder = tmp_path_factory.mktemp("project")
    file = folder / "mcpg.toml"
    top = "".join(f"{name} = {text}\n" for name, text in stated.items() if "." not in name)
    below = "".join(
        f"[{name.partition('.')[0]}]\n{name.partition('.')[2]} = {text}\n"
        for name, text in stated.items()
        if "." in name
    )
    file.write_text(top + below, "utf-8")
    settings = Settings(folder, environment)
    try:
        found = plain_settings(str(file), environment)
    except NotPlainError:
        return
    for name in ("limit", "strategy", "lexicon", "bundle"):
        known = settings.find(name)
        assert found.get(name) == (known.value if known else None)
    for name in ("normalization.enabled", "telemetry.enabled", "candidates"):
        assert not getattr(settings.find(name), "value", None)


@pytest.mark.parametrize(
    "text",
    [
        "strategy = 'auto'",
        "normalization = {enabled = true}",
        "[normalization]\nenabled = true",
        "[telemetry]\nenabled = true",
        "limit = 0",
        "limt = 1",
        "limit = '5'",
        "[nothing]",
        "bundle = 'postgresql://me:secret@host/base'",
        "candidates = 'postgres'",
    ],
)
def test_what_is_not_plain_is_left_to_the_settings(text: str, tmp_path: Path) -> None:
    """A mistake, and what takes more than a plain search, is not gone by."""
    file = tmp_path / "mcpg.toml"
    file.write_text(text, "utf-8")

    with pytest.raises(NotPlainError):
        plain_settings(str(file), {})


def test_every_section_may_stand_in_a_plain_file() -> None:
    """A section that a search does not read does not slow it down."""
    text = "".join(f"[{section}]\n" for section in SECTIONS)

    assert read_plain_toml(text) == {}
    assert {name.partition(".")[0] for name in KEYS if "." in name} == set(SECTIONS)
