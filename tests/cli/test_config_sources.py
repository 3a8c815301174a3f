"""The `[[sources]]` of a configuration file: what is accepted, refused, and made of them."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.cli.settings import Settings
from mcpg.cli.source_settings import KINDS, OAuthTable, open_entries, read_entries
from mcpg.errors import Code, McpgError, NotFoundError, SourceError, UsageError
from mcpg.gateway import FileSource, ServerSource
from mcpg.sources.client_config import HttpServer, ServerAccess, StdioServer

if TYPE_CHECKING:
    from mcpg.cli.source_settings import ConfiguredSource
    from mcpg.gateway import Source

DOCS = Path(__file__).parents[2] / "docs"
CODE = re.compile(r"`(\w+)`")
TOKEN = "marker-token-1234"
WHOLE = """\
limit = 7

[[sources]]
path = "manifests"

[[sources]]
id = "Time"
command = "uvx"
args = ["mcp-server-time", "--local-timezone=UTC", 3.10]
cwd = "work"
timeout = 90

[sources.env]
API_TOKEN = "${TOKEN}"
FAST = true

[[sources]]
url = "https://tracker.example.com:8443/mcp?key=${env:TOKEN}"
transport = "sse"
headers = { Authorization = "Bearer ${TOKEN}" }

[[sources]]
python = "shop.tools"
enabled = false
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder, below which the test runs."""
    (tmp_path / "below").mkdir()
    (tmp_path / "manifests").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return tmp_path


def entries(folder: Path, text: str) -> tuple[ConfiguredSource, ...]:
    """Read the sources of a file of *text*."""
    (folder / "mcpg.toml").write_text(text, "utf-8")
    return Settings(folder).sources() or ()


def refusal(folder: Path, text: str) -> UsageError:
    """Return the mistake that is found in a file of *text*."""
    with pytest.raises(UsageError) as caught:
        entries(folder, text)
    return caught.value


def opened(found: tuple[ConfiguredSource, ...], **environ: str) -> tuple[Source, ...]:
    """Open entries of which nothing is to be noticed."""
    sources, noticed = open_entries(found, ServerAccess(environ))
    assert noticed == ()
    return sources


def test_a_search_is_not_stopped_by_a_source(folder: Path) -> None:
    """What reads no sources does not look at them: not at mistakes in them either."""
    (folder / "mcpg.toml").write_text("limit = 3\n[[sources]]\npth = 'a'", "utf-8")
    found = Settings(folder).find("limit")
    assert found is not None
    assert found.value == 3
    with pytest.raises(UsageError):
        Settings(folder).sources()


def test_each_kind_of_source(folder: Path) -> None:
    """Every key is read; paths are relative to the file, and variables are filled in at last."""
    found = entries(folder, WHOLE)
    assert [one.entry.kind for one in found] == ["path", "command", "url", "python"]
    assert TOKEN not in repr(found)
    assert not found[3].entry.enabled
    files, time, web = opened(found[:3], TOKEN=TOKEN)
    assert files == FileSource("manifests", os.path.join("..", "manifests"))  # noqa: PTH118 - text
    assert isinstance(time, ServerSource)
    assert isinstance(web, ServerSource)
    assert isinstance(time.server, StdioServer)
    assert (time.id, time.timeout, time.server.name) == ("Time", 90, "Time")
    assert time.server.args == ("mcp-server-time", "--local-timezone=UTC", "3.10")
    assert time.server.env == {"API_TOKEN": TOKEN, "FAST": "true"}
    assert time.server.cwd == str(folder / "work")
    assert isinstance(web.server, HttpServer)
    assert (web.id, web.timeout, web.server.name) == (
        "https://tracker.example.com:8443",
        None,
        None,
    )
    assert web.server.url == f"https://tracker.example.com:8443/mcp?key={TOKEN}"
    assert (web.server.is_sse, web.server.headers) == (True, {"Authorization": f"Bearer {TOKEN}"})
    assert TOKEN in web.server.secrets
    assert TOKEN not in repr((time, web))


def test_how_a_server_lets_us_in(folder: Path) -> None:
    """The client's own secret is a variable; `false` is for servers that want no OAuth."""
    text = """
        [[sources]]
        url = "https://a.example/mcp"
        [sources.oauth]
        grant = "client_credentials"
        client_id = "me"
        client_secret = "${TOKEN}"
        scope = ["read", "list"]
        auth_method = "client_secret_post"
        issuer = "https://login.example"
        [[sources]]
        url = "https://b.example/mcp"
        oauth = false
        """
    first, second = opened(entries(folder, text), TOKEN=TOKEN)
    assert isinstance(first, ServerSource)
    assert isinstance(first.server, HttpServer)
    assert first.server.oauth is not None
    assert (first.server.oauth.client_secret, first.server.oauth.scope) == (TOKEN, "read list")
    assert TOKEN in first.server.secrets
    assert TOKEN not in repr(first)
    assert isinstance(second, ServerSource)
    assert isinstance(second.server, HttpServer)
    assert second.server.oauth is None


def test_keys_and_assertions_are_beside_the_file(folder: Path) -> None:
    """Files of keys and assertions are found from the folder of the configuration."""
    text = """
        [[sources]]
        url = "https://a.example/mcp"
        [sources.oauth]
        grant = "client_credentials"
        client_id = "me"
        private_key_file = "keys/me.pem"
        algorithm = "ES256"
        [[sources]]
        url = "https://b.example/mcp"
        [sources.oauth]
        grant = "jwt-bearer"
        client_id = "me"
        client_secret = "${TOKEN}"
        issuer = "https://login.example"
        assertion_file = "assertion"
        """
    first, second = opened(entries(folder, text), TOKEN=TOKEN)
    assert isinstance(first, ServerSource)
    assert isinstance(first.server, HttpServer)
    assert first.server.oauth is not None
    assert first.server.oauth.private_key_file == str(folder / "keys" / "me.pem")
    assert (first.server.oauth.method, first.server.oauth.algorithm) == ("private_key_jwt", "ES256")
    assert isinstance(second, ServerSource)
    assert isinstance(second.server, HttpServer)
    assert second.server.oauth is not None
    assert second.server.oauth.grant == "jwt_bearer"
    assert second.server.oauth.assertion_file == str(folder / "assertion")


def test_a_project_file_has_sources_as_well(folder: Path) -> None:
    """In a pyproject.toml they stand under `tool.mcpg`; `mcpg.toml` goes before it."""
    text = WHOLE.replace("[[sources]]", "[[tool.mcpg.sources]]")
    text = text.replace("limit", "[tool.mcpg]\nlimit").replace(
        "[sources.env]", "[tool.mcpg.sources.env]"
    )
    (folder / "pyproject.toml").write_text(text, "utf-8")
    found = Settings(folder / "below").sources()
    assert found is not None
    assert [one.name for one in found][:2] == ["manifests", "Time"]
    assert found[0].place == "pyproject.toml: manifests"
    assert len(entries(folder, "[[sources]]\npath = 'a'")) == 1
    assert entries(folder, "sources = []") == ()
    (folder / "pyproject.toml").write_text("[tool.mcpg]\nsources = [{ pth = 'a' }]", "utf-8")
    (folder / "mcpg.toml").unlink()
    with pytest.raises(UsageError) as caught:
        Settings(folder).sources()
    assert str(caught.value.place).endswith("pyproject.toml:2: tool.mcpg.sources[0].pth")


MISTAKES = [
    ("sources = 'tools'", 1, "", "'sources' is a string", "[[sources]]"),
    ("[sources]\npath = 'a'", 1, "", "'sources' is a table", "[[sources]]"),
    ("sources = [\n'tools']", 1, "[0]", "a source is a string", "[[sources]]"),
    ("[[source]]\npath = 'a'", 1, None, "unknown key 'source'", "'sources'"),
    (
        "[[sources]]\npath = 'a'\n[[sources]]\ncomand = 'b'",
        4,
        "[1].comand",
        "unknown key",
        "'command'",
    ),
    ("\n[[sources]]\nid = 'a'", 2, "[0]", "this source names nothing", "one of path, command"),
    ("[[sources]]", 1, "[0]", "this source names nothing", "url, python"),
    (
        "[[sources]]\npath = 'a'\nid = 'Mine'\n\n[[sources]]\nid = 'mINE'\npath = 'b'",
        6,
        "[1].id",
        "another source has the id 'mINE'",
        "its own",
    ),
]

# In the only entry: its keys, the line below `[[sources]]`, the key, what is wrong, the remedy.
MISTAKES_OF_ONE = [
    ("id = 'a'\ncolour = 'b'", 2, "colour", "unknown key", "use one of path, command"),
    ("args = []", 0, "", "has no 'command'", "add 'command'"),
    ("headers = {}", 0, "", "has no 'url'", "add 'url'"),
    ("path = 'a'\nurl = 'http://b'", 2, "url", "both 'path' and 'url'", "each"),
    ("path = 'a'\n\nargs = []", 3, "args", "goes with 'command'", "remove 'args'"),
    ("command = 'a'\nheaders = {}", 2, "headers", "goes with 'path' or 'url'", "remove"),
    ("path = 'a'\nheaders = {}", 2, "headers", "no 'base_url'", "add 'base_url'"),
    ("path = 'a'\nbase_url = 'b'", 2, "base_url", "not the address", "https://HOST"),
    ("path = 'a'\nbase_url = 'https://${A}@b'", 2, "base_url", "contains a user", "Authorization"),
    ("url = 'http://a'\ncwd = '.'", 2, "cwd", "goes with 'command'", "remove"),
    ("path = 3", 1, "path", "'path' is a number", "string"),
    ("path = ''", 1, "path", "'path' is empty", "string"),
    ("path = '${HOME}/a'", 1, "path", "not expanded in paths", "~/"),
    ('path = "a\\u0000"', 1, "path", "null character", "remove"),
    ("command = ['a', 'b']", 1, "command", "is a list", "'args'"),
    ("command = true", 1, "command", "is a boolean", "string"),
    ("command = 'a'\nargs = 'b'", 2, "args", "'args' is a string", "use a list"),
    ("command = 'a'\nargs = ['b', []]", 2, "args[1]", "'args[1]' has the wrong type", "string"),
    ("command = 'a'\nargs = ['${input:x}']", 2, "args[0]", "${input:x}", "${NAME}"),
    ("command = 'a'\nenv = []", 2, "env", "'env' is a list", "use a table"),
    (
        "command = 'a'\n[sources.env]\nA = 1\nB = []",
        4,
        "env.B",
        "'env.B' has the wrong type",
        "string",
    ),
    ("command = 'a'\nenv = {'A=B' = 'c'}", 2, "env.A=B", "not the name", "correct"),
    ("command = 'a'\ncwd = 1979-05-27", 2, "cwd", "a date", "string"),
    ("url = 'ftp://a'", 1, "url", "not the address of a server", "https://HOST"),
    ("url = 'https://'", 1, "url", "not the address of a server", "https://HOST"),
    ("url = 'https://a:port/'", 1, "url", "not the address of a server", "https://HOST"),
    ("url = 'http://a'\ntransport = 'see'", 2, "transport", "an unknown value", "mean 'sse'"),
    ("url = 'http://a'\nheaders = 'b'", 2, "headers", "is a string", "use a table"),
    ("url = 'http://a'\nheaders = {'a b' = ''}", 2, "headers.a b", "not the name", ""),
    ("url = 'http://a'\nheaders = {a = \"b\\n\"}", 2, "headers.a", "line break", ""),
    ("python = 'a/b.py'", 1, "python", "not the name of a module", "package.module"),
    ("path = 'a'\nid = ''", 2, "id", "'id' is empty", "string"),
    ("path = 'a'\nid = ' a'", 2, "id", "not the name of a source", "blanks"),
    ("path = 'a'\nid = \"a\\u001b[1m\"", 2, "id", "not the name of a source", "visible"),
    ("path = 'a'\ntimeout = '3'", 2, "timeout", "'timeout' is a string", "use a number"),
    ("path = 'a'\ntimeout = true", 2, "timeout", "a boolean", "use a number"),
    ("path = 'a'\ntimeout = 0", 2, "timeout", "'timeout' is 0", "greater than 0"),
    ("path = 'a'\ntimeout = nan", 2, "timeout", "'timeout' is nan", "finite number"),
    ("path = 'a'\ntimeout = inf", 2, "timeout", "'timeout' is inf", "finite number"),
    ("path = 'a'\nenabled = 1", 2, "enabled", "is a number", "use true or false"),
    (
        "url = 'http://a'\n[sources.oauth]\nclient_id = 'a'\nclientid = 'a'",
        4,
        "oauth.clientid",
        "'oauth.clientid' is an unknown key",
        "did you mean 'client_id'?",
    ),
    ("url = 'http://a'\noauth = true", 2, "oauth", "a boolean", "use a table"),
    (
        "url = 'http://a'\noauth = {grant = 'client_credentials'}",
        2,
        "oauth",
        "'oauth' has no 'client_id' and 'client_secret'",
        "needs both, or 'private_key' instead of the secret",
    ),
    (
        "url = 'http://a'\noauth = {grant = 'jwt_bearer', client_id = 'a', assertion_file = 'b'}",
        2,
        "oauth",
        "'oauth' has no 'client_secret' and 'issuer'",
        "the grant jwt_bearer needs",
    ),
    (
        "url = 'http://a'\noauth = {auth_method = 3}",
        2,
        "oauth.auth_method",
        "an unknown value",
        "use one of client_secret_basic",
    ),
    (
        "url = 'http://a'\noauth = {callback_port = 0}",
        2,
        "oauth.callback_port",
        "'oauth.callback_port' is 0",
        "at least 1",
    ),
    ("url = 'http://a'\noauth = {grant = 'x'}", 2, "oauth.grant", "an unknown value", "use one of"),
    ("url = 'http://a'\noauth = {scope = 3}", 2, "oauth.scope", "is a number", "string"),
]


DOCUMENT = """
[[sources]]
id = "parcels"
path = "api.json"
base_url = "https://api.example.com/v1?key=${TOKEN}"
headers = { Authorization = "Bearer ${TOKEN}", X-Fast = true }
"""


def test_where_a_document_is_called(folder: Path) -> None:
    """Address and headers of a document are filled in when it is called, and never shown."""
    (folder / "api.json").write_text('{"openapi": "3.1.0", "paths": {}}', "utf-8")
    found = entries(folder, DOCUMENT)
    (source,) = opened(found, TOKEN=TOKEN)
    assert isinstance(source, FileSource)
    assert (source.id, source.source_id) == ("parcels", "parcels")
    assert source.base_url == f"https://api.example.com/v1?key={TOKEN}"
    assert source.headers == {"Authorization": f"Bearer {TOKEN}", "X-Fast": "true"}
    assert TOKEN in source.secrets
    assert TOKEN not in repr(source)


@pytest.mark.parametrize("environ", [{}, {"TOKEN": "two\nlines"}])
def test_a_document_without_its_token(folder: Path, environ: dict[str, str]) -> None:
    """Where a variable is not set or makes no sense, the others go on; reading needs none."""
    (folder / "api.json").write_text('{"openapi": "3.1.0", "paths": {}}', "utf-8")
    found = entries(folder, DOCUMENT)
    sources, (noticed,) = open_entries(found, ServerAccess(environ))
    assert (sources, noticed.code) == ((), Code.SOURCE_LOAD_FAILED)
    assert "two" not in noticed.message
    (source,) = opened(tuple(one.as_read() for one in found))
    assert source == FileSource("parcels", os.path.join("..", "api.json"), "parcels")  # noqa: PTH118 - text


def test_a_document_whose_servers_may_be_private(folder: Path) -> None:
    """`allow_private` needs no address; other sources have no servers of their own to permit."""
    (folder / "api.json").write_text('{"openapi": "3.1.0", "paths": {}}', "utf-8")
    (folder / "tools.json").write_text('{"tools": []}', "utf-8")
    text = "[[sources]]\npath = '{}'\nallow_private = true"
    (source,) = opened(entries(folder, text.format("api.json")))
    assert isinstance(source, FileSource)
    assert (source.base_url, source.allow_private) == (None, True)
    with pytest.raises(SourceError, match="only OpenAPI documents name servers") as caught:
        open_entries(entries(folder, text.format("tools.json")), ServerAccess())
    assert "allow_private" in str(caught.value.remedy)


@pytest.mark.parametrize("path", ["manifests", "tools.json"])
def test_only_a_document_has_a_base_address(folder: Path, path: str) -> None:
    """An address for something that is not called there is refused."""
    (folder / "tools.json").write_text('{"tools": []}', "utf-8")
    text = f"[[sources]]\npath = '{path}'\nbase_url = 'https://a'"
    with pytest.raises(SourceError, match="only OpenAPI documents have a base address"):
        open_entries(entries(folder, text), ServerAccess())


MISTAKES_OF_ALL = [
    *MISTAKES,
    *(
        (f"[[sources]]\n{entry}", line + 1, f"[0].{key}" if key else "[0]", message, remedy)
        for entry, line, key, message, remedy in MISTAKES_OF_ONE
    ),
]


@pytest.mark.parametrize(("text", "line", "key", "message", "remedy"), MISTAKES_OF_ALL)
def test_a_mistake_names_its_line(
    folder: Path, text: str, line: int, key: str | None, message: str, remedy: str
) -> None:
    """A mistake is found by file, line and key, and says what to write instead."""
    tomllib.loads(text)
    fault = refusal(folder, f"limit = 1\n{text}")
    where = "source" if key is None else f"sources{key}"
    assert str(fault.place) == f"{folder / 'mcpg.toml'}:{line + 1}: {where}"
    assert message in fault.message
    assert remedy in str(fault.remedy)


@pytest.mark.parametrize(
    "text",
    [
        "url = 'https://me:s3cr3t@host/mcp'",
        "url = 'https://me:${X}s3cr3t@host/mcp'",
        "url = 'https://host/'\nheaders = {Authorization = 'Bearer s3cr3t'}",
        "url = 'https://host/'\nheaders = {COOKIE = 's3cr3t'}",
        "path = 'a'\nbase_url = 'https://b'\nheaders = {Authorization = 'Bearer s3cr3t'}",
        "path = 'a'\nbase_url = 'https://me:s3cr3t@b'",
        "command = 'a'\nargs = ['--password=s3cr3t']",
        "command = 'a'\nenv = {DSN = 'postgres://me:s3cr3t@host'}",
        "command = 'a'\nargs = ['${s3cr3t']\nheaders = ['s3cr3t']",
        "command = 'a'\nenv = {X = ['s3cr3t']}",
        "url = 'https://host/'\noauth = {client_id = 'a', client_secret = 's3cr3t'}",
        "url = 'https://host/'\noauth = {client_secret = ['s3cr3t']}",
        "url = 'https://host/'\noauth = {private_key = 's3cr3t'}",
        "url = 'https://host/'\noauth = {assertion = 's3cr3t'}",
    ],
)
def test_no_file_holds_a_secret(folder: Path, text: str) -> None:
    """A literal password is refused, and what a mistake holds is never shown."""
    assert "s3cr3t" not in str(refusal(folder, f"[[sources]]\n{text}"))


@pytest.mark.parametrize(
    "text",
    [
        "url = 'https://me:${PASS}@host/mcp'",
        "url = '${BASE}/mcp'",
        "url = 'http://${HOST}:8080/mcp'",
        "url = 'https://host/'\nheaders = {authorization = 'Bearer ${env:T:-none}', 'X-A' = 'b'}",
        "command = 'a'\nargs = ['--password=${PASS}']",
        "python = 'a.b_c:ünter.d'",
    ],
)
def test_variables_stand_for_secrets(folder: Path, text: str) -> None:
    """What is filled in at run time may stand wherever a secret is needed."""
    (found,) = entries(folder, f"[[sources]]\n{text}")
    assert found.name


def test_names_are_told_from_what_there_is(folder: Path) -> None:
    """An entry without an id is called after its program, host, module or file; each differs."""
    text = "".join(
        f"[[sources]]\n{entry}\n"
        for entry in (
            "command = '/opt/uvx'",
            "command = 'uvx'\nid = 'uvx'",
            "url = 'http://${HOST}/'",
            "url = 'http://a.example/b?c=d'",
            "python = 'shop.tools:a'",
            "path = '~/tools.json'",
            "path = '..'",
            "code = 'src/shop'",
        )
    )
    assert [one.name for one in entries(folder, text)] == [
        "uvx-2",
        "uvx",
        "url",
        "http://a.example",
        "shop.tools:a",
        "tools",
        "..",
        "shop",
    ]


def test_servers_that_cannot_be_used_are_noticed(folder: Path) -> None:
    """A missing variable or a bad address becomes a diagnostic, and the others are opened."""
    found = entries(
        folder,
        """
        [[sources]]
        command = "a"
        args = ["${MISSING}"]
        [[sources]]
        url = "${TOKEN}"
        [[sources]]
        command = "b"
        [[sources]]
        path = "nowhere"
        enabled = false
        """,
    )
    sources, noticed = open_entries(found, ServerAccess({"TOKEN": TOKEN}))
    assert [source.id for source in sources] == ["b"]
    assert [(one.code, one.place) for one in noticed] == [
        (Code.SOURCE_LOAD_FAILED, "mcpg.toml: a"),
        (Code.SOURCE_LOAD_FAILED, "mcpg.toml: url"),
        (Code.SOURCE_SKIPPED, "mcpg.toml: nowhere"),
    ]
    assert "`MISSING` is not set" in noticed[0].message
    assert TOKEN not in str(noticed)


def test_a_configuration_of_a_client_among_the_sources(folder: Path) -> None:
    """Its servers are sources, with the time of the entry; a name that is taken is not asked."""
    servers = {"time": {"command": "uvx"}, "Web": {"url": "https://a.example/"}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    found = entries(
        folder,
        """
        [[sources]]
        id = "web"
        command = "b"
        [[sources]]
        path = "mcp.json"
        timeout = 5
        [[sources]]
        id = "time"
        command = "c"
        """,
    )
    sources, noticed = open_entries(found, ServerAccess())
    assert [source.id for source in sources] == ["web", "time", "Web-2"]
    assert [one.timeout for one in sources if isinstance(one, ServerSource)] == [None, 5, 5]
    assert [one.place for one in noticed] == ["mcpg.toml: time"]
    sources, _ = open_entries(found, ServerAccess(), source_id="mine", timeout=2)
    assert {one.timeout for one in sources if isinstance(one, ServerSource)} == {2}
    assert {one.server.name for one in sources if isinstance(one, ServerSource)} == {"mine"}


def test_the_id_of_a_path_is_the_source_of_its_tools(folder: Path) -> None:
    """What a manifest is said to be of, its tools are of."""
    (source,) = opened(entries(folder, "[[sources]]\npath = 'manifests'\nid = 'mine'"))
    assert source == FileSource("mine", os.path.join("..", "manifests"), "mine")  # noqa: PTH118


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [("nowhere.json", NotFoundError, "no such file"), ("empty.json", SourceError, "is empty")],
)
def test_a_path_that_cannot_be_used(
    folder: Path, name: str, kind: type[McpgError], says: str
) -> None:
    """A file that is not there, or holds no tools, is an error that names entry and file."""
    (folder / "empty.json").touch()
    with pytest.raises(kind, match=says) as caught:
        opened(entries(folder, f"[[sources]]\npath = '{name}'"))
    path = os.path.join("..", name)  # noqa: PTH118 - as text
    assert caught.value.place == f"mcpg.toml: {Path(name).stem}: {path}"


@pytest.mark.parametrize("page", ["reference/configuration.md", "how-to/live-servers.md"])
def test_the_examples_of_the_docs_are_read(folder: Path, page: str) -> None:
    """What the pages show can be written as it stands."""
    first, *others = re.findall(
        r"^```toml\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    found = entries(folder, first)
    assert [one.name for one in found] == ["manifests", "time", "tracker"]
    assert len(opened(found, TRACKER_TOKEN=TOKEN)) == 3
    for example in others:
        assert opened(entries(folder, example), TRACKER_SECRET=TOKEN)


TEXTS = st.text(max_size=8) | st.sampled_from(
    ("", "http://a", "https://[", "http://a:b", "${X}", "${X:-http://c}", "${", "a.b:c", "~", "\0")
)
LEAVES = TEXTS | st.integers() | st.floats() | st.booleans() | st.dates()
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from((*OAuthTable.model_fields, "A", "a b", "cookie")), inner, max_size=3
        )
    ),
    max_leaves=4,
)
KEYS = st.sampled_from((*(key for model in KINDS.values() for key in model.model_fields), "x"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files away")
def test_a_file_of_a_stranger_starts_nothing(folder: Path) -> None:
    """What another user left in a folder above is refused; in a folder of theirs it is not."""
    file, below, stranger = folder / "mcpg.toml", folder / "below", 54_321
    file.write_text("limit = 3\n[[sources]]\ncommand = 'a'", "utf-8")
    os.chown(file, stranger, -1)
    with pytest.raises(UsageError, match="another user") as caught:
        Settings(below).sources()
    assert str(caught.value.place) == f"{file}: sources"
    assert Settings(below).find("limit") is not None
    os.chown(below, stranger, -1)
    assert len(Settings(below).sources() or ()) == 1


BASES = st.sampled_from(({"command": "a"}, {"url": "http://a"}, {"python": "a"}, {}))
ENTRIES = st.builds(
    lambda base, more: {**base, **more}, BASES, st.dictionaries(KEYS, ANYTHING, max_size=3)
)


class RefusedError(McpgError):
    """What is wrong, and where."""

    def __init__(self, message: str, remedy: str, *path: str | int) -> None:
        super().__init__(message, remedy=remedy)
        self.path = path


def read(value: Any) -> tuple[ConfiguredSource, ...] | RefusedError:
    """Return the entries, or what is wrong with them."""
    try:
        return read_entries(value, Path("mcpg.toml"), RefusedError)
    except RefusedError as fault:
        return fault


@settings(deadline=None)
@given(st.lists(ENTRIES | ANYTHING, max_size=3) | ANYTHING)
def test_whatever_stands_there_is_read_or_told(value: Any) -> None:
    """No value of whatever kind does anything else than being read, or told with its place."""
    found = read(value)
    if isinstance(found, RefusedError):
        assert found.message
        assert found.remedy
        place = value
        for part in found.path:
            place = place[part]
        return
    names = [one.name.casefold() for one in found]
    assert len(set(names)) == len(names)
    servers = [one for one in found if one.is_server]
    sources, noticed = open_entries(servers, ServerAccess({"X": "marker-token-1234\0"}))
    enabled = [one for one in servers if one.entry.enabled]
    assert len(sources) <= len(enabled)
    assert len(sources) + len(noticed) == len(servers)
    assert "marker-token" not in f"{sources!r} {noticed!r} {found!r}"
