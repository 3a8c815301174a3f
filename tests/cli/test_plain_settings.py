"""What a plain search goes by is what the settings find, or nothing."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.cli.environment import KEYS, SECTIONS, NotPlainError, plain_settings
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
provider = "local:multilingual"

[[sources]]
path = "manifests"
exclude = [ "a*", 'b', ]
enabled = true

[[sources]]
path = "other"\r
[serve]
http = "8080"
"""


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    """Sections and sources that a search does not read are passed over."""
    file = tmp_path / "mcpg.toml"
    file.write_text(PLAIN, "utf-8")

    found = plain_settings(str(file), {"MCPG_LIMIT": "3"})

    bundle = str(tmp_path / "tools" / "graph.mdld")
    assert found == {"bundle": bundle, "limit": 3, "strategy": "graph", "lexicon": False}


VALUES = {
    "limit": ["1", "50", "0", "51", '"5"', "true"],
    "strategy": ['"graph"', '"markdown-ld"', '"auto"', '"magic"'],
    "lexicon": ["true", "false", '"yes"'],
    "fusion": ['"rrf"', '"mine"'],
    "bundle": ['"graph.mdld"', '"../a.mdld"', '"/a.mdld"', '"postgresql://u:p@h/d"'],
    "candidates": ['"local"', '"postgres"'],
    "serve.http": ['"8080"', "8080"],
    "rewrite.enabled": ["true", "false"],
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
    for name in ("rewrite.enabled", "telemetry.enabled", "candidates"):
        assert not getattr(settings.find(name), "value", None)


@pytest.mark.parametrize(
    "text",
    [
        "strategy = 'auto'",
        "rewrite = {enabled = true}",
        "[rewrite]\nenabled = true",
        "[telemetry]\nenabled = true",
        "limit = 0",
        "limt = 1",
        "limit = '5'",
        "[nothing]",
        "bundle = 'postgresql://me:secret@host/base'",
        "candidates = 'postgres'",
        "limit = 5\n" + "# long\n" * 10_000,
    ],
)
def test_what_is_not_plain_is_left_to_the_settings(text: str, tmp_path: Path) -> None:
    """A mistake, and what takes more than a plain search, is not gone by."""
    file = tmp_path / "mcpg.toml"
    file.write_text(text, "utf-8")

    with pytest.raises(NotPlainError):
        plain_settings(str(file), {})


@pytest.mark.parametrize(
    "text", ["limit = ", "limit = 1\nlimit = 2", "a = 'b", "\x00", "[[sources]"]
)
def test_a_broken_file_is_left_to_the_settings(text: str, tmp_path: Path) -> None:
    """They say what is wrong with it."""
    file = tmp_path / "mcpg.toml"
    file.write_text(text, "utf-8")

    with pytest.raises(tomllib.TOMLDecodeError):
        plain_settings(str(file), {})


def test_every_section_may_stand_in_a_plain_file(tmp_path: Path) -> None:
    """A section that a search does not read does not slow it down."""
    file = tmp_path / "mcpg.toml"
    file.write_text("".join(f"[{section}]\n" for section in SECTIONS), "utf-8")

    assert plain_settings(str(file), {}) == {}
    assert {name.partition(".")[0] for name in KEYS if "." in name} == set(SECTIONS)
