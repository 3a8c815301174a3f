"""Configuration files with sections: what is accepted, and where mistakes are said to be."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import with_tables
from typer.main import get_command

from mcpg import llm
from mcpg.cli.app import app
from mcpg.cli.environment import FOREIGN_URL_VARIABLE, KEYS, SECRET_VARIABLES, SECTIONS, SettingKey
from mcpg.cli.settings import Settings, find_line
from mcpg.embeddings import http
from mcpg.errors import UsageError
from mcpg.gateway import Limits
from mcpg.gateway.serve import ServingOptions
from mcpg.gateway.serve.http import AccessRules, HttpOptions
from mcpg.graph.sparql import Limits as QueryLimits
from mcpg.search.caches import ABSOLUTE, ENTRIES, KINDS, SLIDING

WHOLE = """\
bundle = "graph.mdld"
limit = 7
strategy = "auto"
fusion = "rrf"
candidates = "local"
lexicon = true
generated_hints = true

[embeddings]
provider = "openai:small"
url = "https://models.example.com/v1"
dimensions = 256
timeout = 20

[rewrite]
enabled = true
url = "https://models.example.com/v1"
model = "chat"
timeout = 2.5

[rerank]
enabled = true
model = "judge"

[enrich]
model = "writer"
url = "https://models.example.com/v1"
timeout = 90
languages = ["English", "German"]
exclude = ["*_delete"]
input_price = 0.4
output_price = 1.6

[cache]
kind = "memory"
entries = 100
max_age = 3600
idle_timeout = 60.5

[store]
kind = "sqlite"
path = "vectors.sqlite"

[graph]
base_iri = "https://graph.example/"

[postgres]
schema = "mcpg"
pool = 4
sslmode = "verify-full"
sslrootcert = "root.crt"

[limits]
invoke_timeout = 90
result_bytes = 1000
sessions_per_source = 3
sessions = 30
session_idle_timeout = 600
relist_interval = 120
query_memory_bytes = 536870912

[serve]
http = "127.0.0.1:8080"
allow_hosts = ["tools.example.com", "tools.example.com:8443"]
expose = "all"
on_change = "hide"
graph_tools = true
max_bytes = 4096
max_result_bytes = 8192
requests = 8
sessions = 9
record_calls = "logs/calls.jsonl"
answer_timeout = 60
view = "support"
pin = ["find_order"]
about = "Orders."

[learn]
output = "seen.jsonl"

[lint]
select = ["D", "P"]
ignore = ["D108"]
tools = {order_get = ["P101"]}

[ask]
strategy = "auto"
weights = [0.5, 0.5]
patterns = {"who owns {tool}" = "documentation"}

[lock]
file = "tools.lock"
enforce = true
on_change = "hide"

[telemetry]
enabled = true
queries = false
"""


PATHS = {
    *("bundle", "store.path", "postgres.sslrootcert", "learn.output"),
    *("lock.file", "serve.record_calls"),
}


def refusal(folder: Path, text: str, name: str = "mcpg.toml") -> UsageError:
    """Return the mistake that is found in a file of *text*."""
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        Settings(folder).find("limit")
    return caught.value


def test_every_setting_can_stand_in_a_file(tmp_path: Path) -> None:
    """Each key is read from its section, in either file, and says where it stood."""
    table = tomllib.loads(WHOLE)
    flat = {key: value for key, value in table.items() if key not in SECTIONS}
    flat |= {f"{name}.{key}": value for name in SECTIONS for key, value in table[name].items()}
    assert set(flat) == set(KEYS)
    project = WHOLE.replace("\n[", "\n[tool.mcpg.")
    for name, text in (("mcpg.toml", WHOLE), ("pyproject.toml", f"[tool.mcpg]\n{project}")):
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / name).write_text(text, encoding="utf-8")
        for key, value in flat.items():
            found = Settings(folder).find(key)
            assert found is not None
            is_path = key in PATHS
            assert found.value == (str(folder / value) if is_path else value)
            assert found.origin == f"{folder / name}: {key}"


@pytest.mark.parametrize("key", [key for key in KEYS.values() if key.variable])
def test_every_variable_goes_before_files(tmp_path: Path, key: SettingKey) -> None:
    """A variable takes precedence over a file, and an option over both."""
    (tmp_path / "mcpg.toml").write_text(WHOLE, encoding="utf-8")
    section, _, name = f".{key.name}".rpartition(".")
    table = tomllib.loads(WHOLE)
    written = table[section[1:]][name] if section else table[name]
    text, value = {bool: ("no", False), int: ("3", 3), float: ("3", 3)}.get(
        type(written), ("postgres", "postgres")
    )
    found = Settings(tmp_path, {key.variable: text}).find(key.name)
    assert found is not None
    assert (found.value, found.origin) == (value, key.variable)
    if key.option:
        found = Settings(tmp_path, {key.variable: text}, {key.parameter: "mine"}).find(key.name)
        assert found is not None
        assert (found.value, found.origin) == ("mine", key.option)


@pytest.mark.parametrize(
    ("text", "line", "message", "remedy"),
    [
        (
            "# a\n\n[embeddings]\nprovder = 'local'\n",
            4,
            "'embeddings.provder'",
            "'embeddings.provider'",
        ),
        ("limit = 1\n[embedings]\nprovider = 'x'", 2, "'embedings'", "'embeddings'"),
        ("\n\ncache = 'memory'", 3, "'cache' is a section", "[cache]"),
        ("[cache]\nkind = 'memry'", 2, "'cache.kind' is 'memry'", "did you mean 'memory'?"),
        ("[cache]\n\nentries = 1.5", 3, "'cache.entries' is 1.5", "a whole number"),
        ("[cache]\nmax_age = 0", 2, "'cache.max_age' is 0", "greater than 0"),
        ("[cache]\nmax_age = nan", 2, "'cache.max_age' is nan", "finite number"),
        ("[cache]\nmax_age = inf", 2, "'cache.max_age' is inf", "finite number"),
        ("[rewrite]\nenabled = 'yes'", 2, "is 'yes'", "true or false"),
        ("[rewrite]\nenabled = 1", 2, "is 1", "true or false"),
        ("limit = [\n1,\n2,\n]", 1, "'limit' is [1, 2]", "a whole number"),
        ("bundle = '''\na\nb'''\nx.y = 1", 4, "unknown key 'x'", "use one of"),
        ("[postgres]\npool = true", 2, "'postgres.pool' is True", "a whole number"),
        ("[store]\ncolour = 'red'", 2, "'store.colour'", "store.kind, store.path"),
        ("[limits]\nresult_bytes = 0", 2, "'limits.result_bytes' is 0", "a number of at least 1"),
        ("[serve]\nallow_hosts = 'a'", 2, "'serve.allow_hosts' is 'a'", "use a list"),
        ("[serve]\nallow_hosts = ['a', 1]", 2, "'serve.allow_hosts[1]' is 1", "use a string"),
        ("[serve]\nexpose = 'al'", 2, "'serve.expose' is 'al'", "did you mean 'all'?"),
        (
            "[serve]\nmax_bytes = 100",
            2,
            "'serve.max_bytes' is 100",
            "at least 2048",
        ),
        ("[limits]\ninvoke_timeout = 0.0", 2, "'limits.invoke_timeout' is 0", "greater than 0"),
    ],
)
def test_a_mistake_names_its_line(
    tmp_path: Path, text: str, line: int, message: str, remedy: str
) -> None:
    """A mistake is found by file, line and key, and says what to write instead."""
    fault = refusal(tmp_path, text)
    assert str(fault.place).startswith(f"{tmp_path / 'mcpg.toml'}:{line}: ")
    assert message in fault.message
    assert remedy in str(fault.remedy)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("[postgres]\ndsn = 'postgres://me:s3cr3t@host/db'", "MCPG_POSTGRES"),
        ("[postgres]\npassword = 's3cr3t'", "MCPG_POSTGRES"),
        ("[postgres]\nschema = 'postgres://me:s3cr3t@host/db'", "MCPG_POSTGRES"),
        ("[postgres]\nschema = 'host=a password = s3cr3t'", "MCPG_POSTGRES"),
        ("[embeddings]\napi_key = 's3cr3t'", "MCPG_LLM_API_KEY"),
        ("[embeddings]\nurl = 'https://me:s3cr3t@host/v1'", "MCPG_LLM_API_KEY"),
        ("[store]\nkind = 'postgresql://me:s3cr3t@host'", "MCPG_POSTGRES"),
        ("[serve]\ntoken = 's3cr3t'", "MCPG_SERVE_TOKEN"),
        ("[serve]\nallow_hosts = ['http://me:s3cr3t@host']", "MCPG_POSTGRES"),
    ],
)
def test_no_file_holds_a_secret(tmp_path: Path, text: str, remedy: str) -> None:
    """A password or key in a file is refused with the variable for it, and is never shown."""
    fault = refusal(tmp_path, text)
    assert remedy in str(fault.remedy)
    assert "s3cr3t" not in str(fault)
    assert ":2: " in str(fault.place)


def test_a_variable_that_makes_no_sense_does_not_show_a_password(tmp_path: Path) -> None:
    """A connection string in the wrong variable is not repeated."""
    with pytest.raises(UsageError) as caught:
        Settings(tmp_path, {"MCPG_EMBEDDING_STORE": "postgres://me:s3cr3t@host"}).find("store.kind")
    assert "s3cr3t" not in str(caught.value)
    for name, text in (("MCPG_REWRITE", "maybe"), ("MCPG_LLM_TIMEOUT", "-1")):
        with pytest.raises(UsageError) as caught:
            Settings(tmp_path, {name: text}).find(
                next(key.name for key in KEYS.values() if key.variable == name)
            )
        assert caught.value.place == name


NAMES = st.sampled_from(("a", "b", "c d", "limit"))
VALUES = st.sampled_from(
    (
        "1",
        '"x # y"',
        "[\n  1,\n  2,\n]",
        '"""\na = 1\n[t]\n"""',
        "{ q = 1 }",
        "'''\n\n'''",
        "1979-05-27",
    )
)


@given(st.data())
def test_lines_are_found_in_any_document(data: st.DataObject) -> None:
    """Whatever stands before and between, the line is that of the statement with the key."""
    written: list[str] = []
    wanted: list[tuple[tuple[str, ...], int]] = []
    for table in data.draw(st.lists(st.sampled_from(("", "t", "u")), unique=True, max_size=3)):
        above = (table,) if table else ()
        if above and written:
            written += ["", f"[{table}]  # keys"]
        elif above:
            written += [f"[{table}]"]
        if not above and written:
            continue
        for name in data.draw(st.lists(NAMES, unique=True, max_size=3)):
            written += data.draw(st.sampled_from(([], ["# limit = 1"], ["", " "])))
            wanted.append(((*above, name), len(written) + 1))
            written += f'"{name}" = {data.draw(VALUES)}'.split("\n")
    text = data.draw(st.sampled_from(("\n", "\r\n"))).join(written)
    tomllib.loads(text)
    for path, line in wanted:
        assert find_line(text, path) == line


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.booleans(), st.lists(NAMES, unique=True, max_size=3)), max_size=5),
    st.data(),
)
def test_lines_are_found_in_arrays_of_tables(
    entries: list[tuple[bool, list[str]]], data: st.DataObject
) -> None:
    """The line of a key is that of its own entry, however many entries have such a key."""
    written: list[str] = []
    wanted: list[tuple[tuple[str | int, ...], int]] = []
    for number, (is_nested, names) in enumerate(entries):
        written += data.draw(st.sampled_from(([], ["# [[t]]"], ["", " "])))
        wanted.append((("t", number), len(written) + 1))
        written += ["[[t]]"]
        above: tuple[str | int, ...] = ("t", number)
        if is_nested:
            above = (*above, "env")
            wanted.append((above, len(written) + 1))
            written += ["[t.env]"]
        for name in names:
            written += data.draw(st.sampled_from(([], ["# limit = 1"], [""])))
            wanted.append(((*above, name), len(written) + 1))
            written += f'"{name}" = {data.draw(VALUES)}'.split("\n")
    text = "\n".join(written)
    tomllib.loads(text)
    for path, line in wanted:
        assert find_line(text, path) == line


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(VALUES, max_size=3), min_size=1, max_size=3))
def test_lines_of_entries_in_one_statement(entries: list[list[str]]) -> None:
    """Of entries that are written as one list, the line is that of the list."""
    inner = ",\n".join(f"{{ a = [{', '.join(values)}] }}" for values in entries)
    text = f"b = 1\n\nt = [\n{inner}\n]\nc = 1"
    tomllib.loads(text)
    for number, values in enumerate(entries):
        assert find_line(text, ("t", number, "a")) == 3
        assert all(find_line(text, ("t", number, "a", one)) == 3 for one in range(len(values)))


def test_a_statement_that_goes_on_and_on_has_no_line() -> None:
    """To say the line is not worth reading a huge file over and over."""
    text = "limit = [\n" + "\n" * 2_000 + "]"
    assert find_line(text, ("limit",)) is None


PAGE = Path(__file__).parents[2] / "docs/reference/configuration.md"


def test_the_reference_is_up_to_date() -> None:
    """The tables are those of the models: run `python tests/reference.py` on the page."""
    text = PAGE.read_text(encoding="utf-8")
    assert with_tables(text) == text
    assert all(f"\n| `{name}` | " in text for name in KEYS)
    assert all(f"| `{name}` |" in text for name in (*SECRET_VARIABLES, FOREIGN_URL_VARIABLE))


def test_plain_files_need_no_models(tmp_path: Path) -> None:
    """A run without a file, or with plain values, does not pay for the import of pydantic."""
    code = (
        "import sys; from pathlib import Path; from mcpg.cli.settings import Settings;"
        "found = Settings(Path(sys.argv[1]), {'MCPG_LIMIT': '3', 'MCPG_STRATEGY': 'auto'});"
        "found.find('store.path');"
        "print(*(found.find(name).value for name in ('limit', 'strategy')));"
        "print('pydantic' in sys.modules)"
    )
    for text in ("", "limit = 7\n[rewrite]\nmodel = 'a'\n[[sources]]\npath = 'b'"):
        (tmp_path / "mcpg.toml").write_text(text, encoding="utf-8")
        command = [sys.executable, "-c", code, str(tmp_path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert done.stdout.split() == ["3", "auto", "False"]


def test_every_option_of_a_setting_exists() -> None:
    """What a setting calls its option is one of a command, under the parameter it names."""
    commands = get_command(app).commands  # type: ignore[attr-defined]
    commands = {**commands, **commands["graph"].commands}
    names = "bundle", "serve", "sparql", "enrich"
    params = [one for name in names for one in commands[name].params]
    params += get_command(app).commands["search"].params  # type: ignore[attr-defined]
    options = {option: one.name for one in params for option in one.opts}
    for key in KEYS.values():
        if key.option:
            assert options[key.option] == key.parameter


def test_the_reference_has_the_defaults_of_the_code() -> None:
    """Numbers in the tables are those that hold."""
    text = PAGE.read_text(encoding="utf-8")
    for name, default in (
        ("embeddings.timeout", f"{http.BUDGET.total:g}"),
        ("rewrite.timeout", f"{llm.BUDGET.total:g}"),
        ("cache.max_age", f"{ABSOLUTE:,.0f}"),
        ("cache.entries", f"{ENTRIES:,}"),
        ("serve.max_bytes", f"{ServingOptions().answer_bytes:,}"),
        ("serve.max_result_bytes", f"{ServingOptions().result_bytes:,}"),
        ("serve.requests", f"{AccessRules().requests}"),
        ("serve.sessions", f"{HttpOptions().sessions}"),
        ("limits.invoke_timeout", f"{Limits().invoke_seconds:g}"),
        ("limits.result_bytes", f"{Limits().result_bytes:,}"),
        ("limits.query_memory_bytes", f"{QueryLimits().memory:,}"),
        ("cache.idle_timeout", " ".join(f"{SLIDING[kind]:,.0f}" for kind in KINDS)),
    ):
        (row,) = re.findall(rf"^\| `{name}` .*$", text, re.MULTILINE)
        found = re.findall(r"[\d,]*\d", row.split("|")[-2])
        assert " ".join(found) == default


def test_the_example_of_the_reference_is_read(tmp_path: Path) -> None:
    """What the page shows can be written as it stands."""
    (example,) = re.findall(
        r"^```toml\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "mcpg.toml").write_text(example, encoding="utf-8")
    found = Settings(tmp_path).find("postgres.sslmode")
    assert found is not None
    assert found.value == "verify-full"
