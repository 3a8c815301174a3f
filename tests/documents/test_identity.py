from __future__ import annotations

import random
import re

import pytest
from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.documents.addresses import tool_path, tool_uri, uris_for

BASE = "https://managedcode.com/mcpgateway/knowledge/tools"
SEGMENT = re.compile(r"[A-Za-z0-9_.~%-]{1,120}\Z")


def test_ordinary_names_stand_as_the_gateway_has_them() -> None:
    """The URI and path of an ordinary tool are those of the .NET gateway."""
    assert tool_uri("local", "story_item_search") == f"{BASE}/local/story_item_search/"
    assert tool_path("local", "story_item_search") == "tools/local/story_item_search.md"


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("a b/c", "a%20b%2Fc"),
        ("Az09-_.~", "Az09-_.~"),
        ("!*'()", "%21%2A%27%28%29"),
        ("名", "%E5%90%8D"),
        ("..", "%2E%2E"),
    ],
)
def test_names_are_escaped_as_data(name: str, escaped: str) -> None:
    """Everything but unreserved characters is percent-encoded; a dot alone never stands."""
    assert tool_uri("s", name) == f"{BASE}/s/{escaped}/"
    assert tool_path("s", name) == f"tools/s/{escaped}.md"


def test_no_path_is_hidden() -> None:
    """A leading dot is escaped in paths, where folders would pass it over, and stays in URIs."""
    assert tool_path(".s", ".hidden") == "tools/%2Es/%2Ehidden.md"
    assert tool_uri(".s", ".hidden") == f"{BASE}/.s/.hidden/"


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("con", "con_1143da2b"),
        ("NUL.txt", "NUL_txt_0241e4ee"),
        ("Com1", "Com1_5bb25012"),
        ("ends.", "ends__bd2c5e3f"),
        ("", "_e3b0c442"),
    ],
)
def test_names_that_windows_refuses_get_a_prefix_and_a_digest(name: str, segment: str) -> None:
    """Device names, trailing dots and emptiness are replaced in paths, and stay in URIs."""
    assert tool_path("s", name) == f"tools/s/{segment}.md"
    assert tool_path(name, "x") == f"tools/{segment}/x.md"
    assert tool_uri("s", name) == f"{BASE}/s/{name}/"


def test_long_names_are_cut_to_120_bytes_without_splitting_an_escape() -> None:
    """A long name keeps a readable prefix; different ones stay different."""
    segment = tool_path("s", "名" * 50).split("/")[-1].removesuffix(".md")
    assert len(segment) <= 120
    assert re.match(r"(?:%[0-9A-F]{2})+_[0-9a-f]{8}\Z", segment)
    assert tool_path("s", "a" * 121) != tool_path("s", "a" * 122)
    assert tool_path("s", "a" * 120) == f"tools/s/{'a' * 120}.md"


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(max_size=200))
def test_every_path_is_safe(source: str, name: str) -> None:
    """No name leaves its folder or uses a character that some file system refuses."""
    for copy in (1, 2):
        root, *segments = tool_path(source, name, copy).removesuffix(".md").split("/")
        assert root == "tools"
        assert len(segments) == copy + 1
        assert all(map(SEGMENT.match, segments))
        assert not any(segment.strip(".") == "" or segment[-1] == "." for segment in segments)


def test_tools_with_one_name_get_numbers() -> None:
    """Of tools that share source and name, the second and later have addresses of their own."""
    tools = [make_tool("get", id=id_) for id_ in ("get_b", "get_c", "get_a")]
    assert uris_for(tools) == {
        "get_a": ("tools/commerce/get.md", f"{BASE}/commerce/get/"),
        "get_b": ("tools/commerce/get/2.md", f"{BASE}/commerce/get/2/"),
        "get_c": ("tools/commerce/get/3.md", f"{BASE}/commerce/get/3/"),
    }


def test_names_that_differ_in_case_share_no_file() -> None:
    """A file system that ignores case holds both documents; each URI follows from its name."""
    found = uris_for([make_tool("get", id="b"), make_tool("Get", id="a")])
    assert found["a"] == ("tools/commerce/Get.md", f"{BASE}/commerce/Get/")
    assert found["b"] == ("tools/commerce/get/2.md", f"{BASE}/commerce/get/")


def test_sources_that_differ_in_case_share_no_file() -> None:
    """Folders that some file systems take for one hold no two documents of one name."""
    found = uris_for([make_tool(id="a", source_id="X"), make_tool(id="b", source_id="x")])
    assert [path for path, _ in found.values()] == [
        "tools/X/shipment_track.md",
        "tools/x/shipment_track/2.md",
    ]


def test_no_folder_takes_the_name_of_a_document() -> None:
    """The folder of further copies never stands where another tool's document stands."""
    assert tool_path("s", "x.md", 2) == "tools/s/x_md_398842b6/2.md"
    assert tool_path("s", "x") == "tools/s/x.md"


def test_addresses_do_not_depend_on_the_order_of_tools() -> None:
    """The same tools in any order get the same addresses, all different."""
    tools = [make_tool(name, id=f"{name}{n}") for name in ("a", "A", "b") for n in range(4)]
    expected = uris_for(tools)
    random.Random(1).shuffle(tools)
    assert uris_for(tools) == expected
    assert len({path.casefold() for path, _ in expected.values()}) == len(tools)
    assert len({uri for _, uri in expected.values()}) == len(tools)
