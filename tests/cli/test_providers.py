"""From settings to services: what is made of them, what is not, and where keys go."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from loopback import answer, serving

from mcpg.cli.providers import STORE_FILE, LazyStore, ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.embeddings.http import HttpEmbeddings
from mcpg.embeddings.provider import EmbeddingError, EmbeddingKey, StoreError, embed_query
from mcpg.errors import UsageError
from mcpg.llm import ChatRewriter
from mcpg.postgres.command import find_database
from mcpg.search.caches import RESULT, MemoryCache

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

OWN, FOREIGN = "sk-Own0123456789abcdef", "sk-Foreign0123456789abcdef"
ROWS = {"data": [{"index": 0, "embedding": [3.0, 4.0]}], "model": "small"}
ENTRY = {EmbeddingKey("tool", "hash", "mine"): np.ones(2, dtype=np.float32)}


def factory(
    folder: Path, environment: Mapping[str, str] | None = None, text: str = "", **flags: Any
) -> ServiceFactory:
    """Return what is made of *environment*, *flags* and a configuration file of *text*."""
    (folder / "mcpg.toml").write_text(text, encoding="utf-8")
    return ServiceFactory(Settings(folder, environment or {}, flags))


def test_a_graph_search_needs_nothing(tmp_path: Path) -> None:
    """Without settings there is no provider, no store, no cache, no rewriter."""
    assert factory(tmp_path).arguments() == {"embeddings": None}
    named = {"MCPG_EMBED_WITH": "openai:x", "MCPG_SEARCH_CACHE": "memory"}
    assert factory(tmp_path, named).arguments() == {"embeddings": None}
    given = factory(tmp_path, {"MCPG_SEARCH_CACHE": "memory"}, strategy="auto").arguments()
    assert isinstance(given["cache"], MemoryCache)


@pytest.mark.parametrize("spec", ["local", "openai:small"])
def test_a_provider_without_numpy_is_told_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    """Whoever makes vectors needs it, and `mcpg doctor` says so."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    told = {"MCPG_EMBED_URL": "http://localhost:1/v1"}
    with pytest.raises(EmbeddingError, match=r"needs? numpy") as caught:
        factory(tmp_path, told, embed_with=spec).provider()
    assert caught.value.kind == "missing"


@pytest.mark.parametrize("strategy", ["auto", "embeddings"])
def test_other_strategies_have_the_local_model_and_a_store(tmp_path: Path, strategy: str) -> None:
    """The model is named, not loaded; the store is a file that is not made before it is asked."""
    arguments = factory(tmp_path, strategy=strategy).arguments()
    assert arguments["embeddings"] == "local"
    assert isinstance(arguments["store"], LazyStore)
    assert factory(tmp_path, embed_with="none", strategy=strategy).embedder() is None
    found = factory(tmp_path, {"MCPG_EMBED_WITH": " local:multilingual "}).provider()
    assert found is not None
    assert "multilingual" in found.fingerprint


def test_the_usual_store_lies_in_the_cache_folder(folder: Path, tmp_path: Path) -> None:
    """It is a file there; a setting names another one, relative to the file that says so."""
    expected = folder.parent / f"{folder.name}-cache" / STORE_FILE
    assert factory(tmp_path).store_path() == str(expected)
    store = factory(tmp_path).store()
    assert store is not None
    store.close()
    assert not expected.exists()
    store.put(ENTRY)
    assert list(store.get(list(ENTRY))) == list(ENTRY)
    store.close()
    assert expected.exists()

    elsewhere = factory(tmp_path, text="[store]\npath = 'here.sqlite'").store()
    assert elsewhere is not None
    elsewhere.put(ENTRY)
    elsewhere.close()
    assert (tmp_path / "here.sqlite").exists()


def test_a_store_that_cannot_be_opened_fails_whoever_asks(tmp_path: Path) -> None:
    """To prepare a search fails at nothing; the engine is told, which can do without."""
    (tmp_path / "text").write_text("no database", encoding="utf-8")
    store = factory(tmp_path, {"MCPG_STORE_PATH": str(tmp_path / "text")}).store()
    assert store is not None
    for _ in range(2):
        with pytest.raises(StoreError):
            store.get(list(ENTRY))


def test_a_store_may_be_none_or_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are settings, and where there is no folder for files there is no store."""
    assert factory(tmp_path, {"MCPG_EMBEDDING_STORE": "none"}).store() is None
    store = factory(tmp_path, {"MCPG_EMBEDDING_STORE": "memory"}).store()
    assert store is not None
    store.put(ENTRY)
    assert list(store.get(list(ENTRY))) == list(ENTRY)
    for name in ("MCPG_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("HOME", "relative")
    assert factory(tmp_path).store() is None


def test_the_cache_in_memory_has_the_bounds_that_are_set(tmp_path: Path) -> None:
    """Kind and bounds are settings; without a kind nothing is kept."""
    cache = factory(
        tmp_path, text="[cache]\nkind = 'memory'\nentries = 1\nmax_age = 60\nidle_timeout = 1.5"
    ).cache()
    assert isinstance(cache, MemoryCache)
    cache.put(RESULT, "a", b"1")
    cache.put(RESULT, "b", b"2")
    assert len(cache) == 1
    with pytest.raises(UsageError, match="entries' is 0"):
        factory(tmp_path, text="[cache]\nkind = 'memory'\nentries = 0").cache()


def test_what_needs_a_database_says_how_to_name_one(tmp_path: Path) -> None:
    """A store or cache in PostgreSQL without MCPG_POSTGRES names the variable."""
    for text in ("[store]\nkind = 'postgres'", "[cache]\nkind = 'postgres'"):
        made = factory(tmp_path, text=text)
        with pytest.raises(UsageError) as caught:
            made.store() if "store" in text else made.cache()
        assert caught.value.place == "MCPG_POSTGRES"


def test_the_database_is_made_of_the_address_and_the_settings(tmp_path: Path) -> None:
    """One serves all; what the address itself says goes before a file."""
    text = (
        "[postgres]\nschema = 'tools'\npool = 2\nsslmode = 'require'\n"
        "[store]\nkind = 'postgres'\n[cache]\nkind = 'postgres'"
    )
    made = factory(tmp_path, {"MCPG_POSTGRES": "postgresql://me:s3cr3t@host/db"}, text)
    settings = find_database(made.request).settings
    assert (settings.schema, settings.connections, settings.sslmode) == ("tools", 2, "require")
    assert "s3cr3t" not in repr(settings)
    assert made.store() is not None
    assert made.cache() is not None
    dsn = "postgresql://host/db?sslmode=verify-full"
    request = factory(tmp_path, {"MCPG_POSTGRES": dsn}, text).request
    assert find_database(request).settings.sslmode is None


def test_an_option_is_stated_by_its_name_alone(tmp_path: Path) -> None:
    """A password or database called like an option does not switch a file's option off."""
    text = "[postgres]\nsslmode = 'verify-full'"
    for dsn in ("postgresql://me:sslmode@host/db", "postgresql://host/sslmode"):
        request = factory(tmp_path, {"MCPG_POSTGRES": dsn}, text).request
        assert find_database(request).settings.sslmode == "verify-full"


@pytest.mark.parametrize(
    ("text", "environment", "key"),
    [
        ("[embeddings]\nurl = 'URL'", {"MCPG_LLM_API_KEY": OWN, "OPENAI_API_KEY": FOREIGN}, OWN),
        ("[embeddings]\nurl = 'URL'", {"OPENAI_API_KEY": FOREIGN}, None),
        ("", {"MCPG_EMBED_URL": "URL", "OPENAI_API_KEY": FOREIGN}, FOREIGN),
        ("", {"OPENAI_BASE_URL": "URL", "OPENAI_API_KEY": FOREIGN}, FOREIGN),
        ("", {"OPENAI_BASE_URL": "URL", "MCPG_LLM_API_KEY": OWN}, OWN),
        ("", {"OPENAI_BASE_URL": "URL"}, None),
    ],
)
def test_keys_go_where_the_environment_says(
    tmp_path: Path, text: str, environment: dict[str, str], key: str | None
) -> None:
    """A key meant for others, too, is never sent to an address that a file has named."""
    with serving(answer(ROWS)) as server:
        told = {name: part.replace("URL", server.url) for name, part in environment.items()}
        provider = factory(
            tmp_path, told, text.replace("URL", server.url), embed_with="openai:small"
        ).provider()
        assert provider is not None
        assert embed_query(provider, "x").tolist() == pytest.approx([0.6, 0.8])
        (asked,) = server.asked
    assert asked.headers.get("Authorization") == (f"Bearer {key}" if key else None)
    assert asked.body["model"] == "small"


def test_an_endpoint_is_asked_as_the_settings_say(tmp_path: Path) -> None:
    """Dimensions and time come from the settings; the usual address needs a key alone."""
    text = "[embeddings]\nprovider = 'openai:small'\ndimensions = 2\ntimeout = 0.5"
    provider = factory(tmp_path, {"MCPG_LLM_API_KEY": OWN}, text).embedder()
    assert isinstance(provider, HttpEmbeddings)
    assert provider.dimensions == 2
    assert provider.fingerprint.startswith("openai https://api.openai.com/v1 small 2")
    assert OWN not in repr(provider) + provider.fingerprint


@pytest.mark.parametrize(
    ("environment", "text", "place", "message"),
    [
        ({}, "[embeddings]\nprovider = 'openai:small'", "MCPG_EMBED_URL", "no address"),
        ({}, "[embeddings]\nprovider = 'openai:'", "embeddings.provider", "names no model"),
        ({"MCPG_EMBED_WITH": "openai"}, "", "MCPG_EMBED_WITH", "names no model"),
        (
            {"MCPG_EMBED_WITH": "openai:a", "MCPG_EMBED_URL": "https://me:s3cr3t@host"},
            *("", "MCPG_EMBED_URL", "a user name or a password"),
        ),
        (
            {"MCPG_EMBED_WITH": "openai:a", "MCPG_EMBED_URL": "here"},
            "",
            "MCPG_EMBED_URL",
            "invalid",
        ),
    ],
)
def test_an_endpoint_that_cannot_be_asked_is_refused(
    tmp_path: Path, environment: dict[str, str], text: str, place: str, message: str
) -> None:
    """What is missing or wrong is named with the setting for it, and no secret is repeated."""
    with pytest.raises(UsageError, match=message) as caught:
        factory(tmp_path, environment, text).embedder()
    assert str(caught.value.place).endswith(place)
    assert "s3cr3t" not in str(caught.value)


def test_queries_are_rewritten_only_where_that_is_set(tmp_path: Path) -> None:
    """It takes a model; the option goes before the environment, and that before files."""
    url = "[rewrite]\nmodel = 'chat'\nurl = 'http://127.0.0.1:9/v1'\ntimeout = 1.5\n"
    assert "rewriter" not in factory(tmp_path, text=url).arguments()
    made = factory(tmp_path, {"MCPG_REWRITE": "yes"}, url).arguments()["rewriter"]
    assert isinstance(made, ChatRewriter)
    assert made.seconds == 1.5
    assert factory(tmp_path, rewrite=True).arguments()["rewriter"] is None
    off = factory(tmp_path, {"MCPG_REWRITE": "1"}, url, rewrite=False)
    assert not off.is_rewriting


NEW = (
    "mcpg.search.caches",
    "mcpg.embeddings",
    "mcpg.llm",
    "mcpg.net",
    "mcpg.postgres",
    "mcpg.vectors",
    "numpy",
)


def test_a_plain_search_of_the_whole_program_imports_nothing_new(graph: Path) -> None:
    """Even where a configuration file names providers, a graph search loads none of their code."""
    import subprocess  # noqa: PLC0415 - one test runs a process

    (graph.parent / "mcpg.toml").write_text(
        "[embeddings]\nprovider = 'openai:x'\n[store]\nkind = 'postgres'\n[rewrite]\nmodel = 'm'",
        encoding="utf-8",
    )
    code = (
        "import sys; from mcpg.cli import main; main(sys.argv[1:]); "
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "search", "shipment", "--min-score", "0"],
        cwd=graph.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "shipment_status" in done.stdout
    assert not [name for name in done.stderr.split() if name.startswith(NEW)]
