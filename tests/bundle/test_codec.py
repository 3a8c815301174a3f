from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg import __version__
from mcpg.bundle import Bundle, content_hash, decode_bundle, encode_bundle
from mcpg.bundle.codec import path_fault
from mcpg.catalog.model import SourceDocument
from mcpg.documents.addresses import path_key
from mcpg.errors import BundleError
from mcpg.files import MAX_BYTES

ALPHA = SourceDocument(
    "tools/a/alpha.md", '# Alpha\n\n„ü“ \u2028 "q"\n', "https://example.org/alpha/"
)
BETA = SourceDocument("tools/a/beta.md", "# Beta\n")
HASH = "sha256:1b1fc0cf2176c28ff21b13f2573fd7f87555afa18303b3677dc816437ce947db"
PLACE = "graph.mdld"


def refusal(data: bytes | str) -> BundleError:
    """Return the error of decoding *data*."""
    with pytest.raises(BundleError) as caught:
        decode_bundle(data, PLACE)
    assert caught.value.remedy
    return caught.value


def bundle_text(**members: Any) -> str:
    """Make the text of a foreign bundle."""
    document = {"path": "a.md", "content": "# A", "canonicalUri": None}
    return json.dumps({"version": 1, "documents": [document]} | members)


def document_refusal(**members: Any) -> BundleError:
    """Return the error of decoding a bundle whose only document has *members*."""
    document = {"path": "a.md", "content": "# A", "canonicalUri": None} | members
    fault = refusal(bundle_text(documents=[document]))
    assert fault.place == "graph.mdld: documents[0]"
    return fault


class TestEncode:
    """Writing a bundle."""

    def test_layout(self) -> None:
        """One document a line, fixed key order, nulls written, LF, a final newline, no BOM."""
        data = encode_bundle(Bundle((BETA, ALPHA), {"calibration": {"b": 1.5, "a": None}}))
        assert data.decode().split("\n") == [
            '{"version":1,"documents":[',
            (
                '{"path":"tools/a/alpha.md","content":"# Alpha\\n\\n„ü“ \u2028 \\"q\\"\\n",'
                '"canonicalUri":"https://example.org/alpha/"},'
            ),
            '{"path":"tools/a/beta.md","content":"# Beta\\n","canonicalUri":null}',
            (
                '],"mcpg":{"calibration":{"a":null,"b":1.5},'
                f'"contentHash":"{HASH}","generatorVersion":"{__version__}"}}}}'
            ),
            "",
        ]

    def test_content_hash_is_that_of_the_documents_as_json(self) -> None:
        """The hash can be recomputed from the JSON array of the documents, in any order."""
        array = json.dumps(
            [
                {"path": item.path, "content": item.content, "canonicalUri": item.canonical_uri}
                for item in (ALPHA, BETA)
            ],
            ensure_ascii=False,
            separators=(",", ":"),
        )

        expected = f"sha256:{hashlib.sha256(array.encode()).hexdigest()}"
        assert content_hash([BETA, ALPHA]) == Bundle((ALPHA, BETA)).content_hash == expected == HASH

    def test_empty_bundle(self) -> None:
        """A bundle without documents is a bundle."""
        data = encode_bundle(Bundle())
        assert data.startswith(b'{"version":1,"documents":[],"mcpg":{')
        assert decode_bundle(data, PLACE) == Bundle()

    def test_order_does_not_show(self) -> None:
        """Equal bundles give equal bytes, whatever the order of documents and members."""
        one = Bundle((ALPHA, BETA), {"a": {"x": 1, "y": 2}, "b": []})
        other = Bundle((BETA, ALPHA), {"b": [], "a": {"y": 2, "x": 1}})
        assert encode_bundle(one) == encode_bundle(other)

    @pytest.mark.parametrize(
        ("document", "message"),
        [
            (SourceDocument("../a.md", "x"), "climbs out"),
            (SourceDocument("a.md", " \n"), "blank content"),
            (SourceDocument("a.md", "x\ud800"), "surrogate"),
            (SourceDocument("a.md", "x", "relative/uri"), "not absolute"),
        ],
        ids=["path", "content", "surrogate", "uri"],
    )
    def test_nothing_is_written_that_could_not_be_read(
        self, document: SourceDocument, message: str
    ) -> None:
        """A document that decoding would refuse is refused, with its place."""
        with pytest.raises(BundleError, match=message) as caught:
            encode_bundle(Bundle((ALPHA, document)))
        assert caught.value.place == "documents[1]"

    def test_a_fault_names_the_file(self) -> None:
        """A document that was read from a file is refused by that file's name."""
        odd = SourceDocument("x.md", "# X", "c:/x", place="docs/x.md")
        with pytest.raises(BundleError) as caught:
            encode_bundle(Bundle((ALPHA, odd)))
        assert caught.value.place == "docs/x.md"

    @pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\ud800"], ids=str)
    def test_extension_must_be_json(self, value: Any) -> None:
        """What JSON or UTF-8 cannot hold is refused in the extension."""
        with pytest.raises(BundleError, match="extension") as caught:
            encode_bundle(Bundle((), {"calibration": value}))
        assert caught.value.place == "mcpg"


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1).filter(str.strip)
SEGMENTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(
    lambda text: (
        "/" not in text
        and "\\" not in text
        and text.strip() not in {"", "."}
        and path_fault(text) is None
    )
)
DOCUMENTS = st.lists(
    st.builds(
        SourceDocument,
        st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join),
        TEXTS,
        st.sampled_from([None, "https://example.org/x/", "urn:a:b"]),
    ),
    unique_by=lambda document: path_key(document.path),
    max_size=5,
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
RESERVED = {"generatorVersion", "contentHash"}


class TestRoundTrip:
    """Writing and reading."""

    @given(
        DOCUMENTS, st.dictionaries(TEXTS.filter(lambda key: key not in RESERVED), JSON, max_size=3)
    )
    def test_reading_gives_what_was_written(
        self, documents: list[SourceDocument], extension: dict[str, Any]
    ) -> None:
        """Decoding an encoded bundle gives an equal one, and encoding that the same bytes."""
        bundle = Bundle(tuple(sorted(documents, key=lambda item: item.path)), extension)
        data = encode_bundle(bundle)
        found = decode_bundle(data, PLACE)
        assert found == bundle
        assert found.generator == __version__
        assert encode_bundle(found) == data

    @given(DOCUMENTS, st.integers(0, 10_000))
    def test_any_cut_is_noticed(self, documents: list[SourceDocument], at: int) -> None:
        """A bundle that is cut short anywhere is refused."""
        data = encode_bundle(Bundle(tuple(documents)))
        part = data[: at % (len(data) - 1)]
        with pytest.raises(BundleError):
            decode_bundle(part, PLACE)


class TestDecode:
    """Reading a bundle of the .NET gateway, of a person, or a damaged one."""

    def test_foreign_bundle(self) -> None:
        """Names match in any case, unknown members are ignored, paths are brought to order."""
        text = json.dumps(
            {
                "Version": "1",
                "Note": 1,
                "DOCUMENTS": [
                    {
                        "Path": "\\tools\\.\\b//x.md",
                        "Content": "# X\r\ny\r",
                        "CanonicalUri": " https://example.org/x ",
                        "Extra": {},
                    },
                    {"path": "/tools/a.md", "content": "# A", "canonicalUri": "  "},
                ],
            }
        )
        found = decode_bundle(f"\ufeff{text}".encode(), PLACE)
        assert found.documents == (
            SourceDocument("tools/a.md", "# A"),
            SourceDocument("tools/b/x.md", "# X\ny\n", "https://example.org/x"),
        )
        assert [item.place for item in found.documents] == [
            "graph.mdld: documents[1]",
            "graph.mdld: documents[0]",
        ]
        assert found.generator is None
        assert found.extension == {}

    @pytest.mark.parametrize("mcpg", [None, {}, {"generatorVersion": 3}])
    def test_extension_may_say_nothing(self, mcpg: Any) -> None:
        """A bundle whose `mcpg` member says nothing is read all the same."""
        found = decode_bundle(bundle_text(mcpg=mcpg), PLACE)
        assert (found.extension, found.generator) == ({}, None)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "is empty"),
            (" \n", "is empty"),
            ("null", "is JSON null, not a bundle"),
            ("[]", "is JSON, but not an object"),
            ("{}", "has no 'version', so it is not a bundle"),
            (bundle_text(version=None), "has no 'version', so it is not a bundle"),
            (bundle_text(version=True), "has a 'version' that is not an integer"),
            (bundle_text(version=1.0), "has a 'version' that is not an integer"),
            (bundle_text(version="one"), "has a 'version' that is not an integer"),
            (bundle_text(version=0), "is a bundle of version 0, which was never used"),
            (bundle_text(version=7), "is a bundle of version 7; this mcpg reads version 1"),
            ('{"version":1}', "has no 'documents'"),
            (bundle_text(documents=None), "has 'documents' that are null"),
            (bundle_text(documents={}), "has 'documents' that are not an array"),
            (bundle_text(mcpg=[]), "has an 'mcpg' member that is not an object"),
            ("[" * 100_000, "is nested too deeply"),
            ('{"version":NaN}', "invalid JSON: a number is not finite, or too long"),
        ],
    )
    def test_each_failure_has_its_message(self, text: str, message: str) -> None:
        """Whatever is wrong with the whole file is said in its own words."""
        fault = refusal(text)
        assert (fault.message, fault.place) == (message, PLACE)

    def test_future_version_says_to_update(self) -> None:
        """The remedy for a newer bundle is a newer mcpg."""
        assert "update mcpg" in (refusal(bundle_text(version=2)).remedy or "")

    @pytest.mark.parametrize(
        ("members", "message"),
        [
            ({"path": None}, "has a blank path"),
            ({"path": " "}, "has a blank path"),
            ({"path": "/"}, "has a blank path"),
            ({"path": 3}, "is a document with a 'path' that is not a string"),
            ({"path": "a/../../b.md"}, "has a path that climbs out of its folder: 'a/../../b.md'"),
            ({"path": "..\\b.md"}, "has a path that climbs out of its folder: '../b.md'"),
            ({"path": "a/.. /b.md"}, "has a path that climbs out of its folder: 'a/.. /b.md'"),
            ({"path": "C:\\b.md"}, "has a path that names a drive: 'C:/b.md'"),
            ({"path": "a/d:x.md"}, "has a path that names a drive: 'a/d:x.md'"),
            ({"path": "a\0.md"}, "has a path with a control character"),
            ({"content": None}, "has a blank content: 'a.md'"),
            ({"content": "\n\t"}, "has a blank content: 'a.md'"),
            ({"content": ["x"]}, "is a document with a 'content' that is not a string"),
            (
                {"content": "\udc00"},
                "contains a lone surrogate, which is not valid Unicode: 'a.md'",
            ),
            ({"canonicalUri": "tools/a"}, "has a canonical URI that is not absolute: 'tools/a'"),
            ({"canonicalUri": "c:/a"}, "has a canonical URI that is not absolute: 'c:/a'"),
            (
                {"canonicalUri": "https://a b"},
                "has a canonical URI that is not absolute: 'https://a b'",
            ),
            ({"canonicalUri": 1}, "is a document with a 'canonicalUri' that is not a string"),
        ],
    )
    def test_each_document_failure_has_its_message(
        self, members: dict[str, Any], message: str
    ) -> None:
        """Whatever is wrong with a document is said with its place."""
        assert document_refusal(**members).message == message

    def test_document_must_be_an_object(self) -> None:
        """An entry that is no object is no document."""
        fault = refusal(bundle_text(documents=["x"]))
        assert fault.message == "is a document that is not an object"
        assert fault.place == "graph.mdld: documents[0]"

    def test_paths_must_differ_in_more_than_case(self) -> None:
        """Two documents that one file system could not tell apart are refused."""
        documents = [{"path": path, "content": "x"} for path in ("Tools/É.md", "tools/e\u0301.md")]
        assert "two documents with one path" in refusal(bundle_text(documents=documents)).message

    def test_edited_bundle_is_refused(self) -> None:
        """Documents that do not match the content hash are damaged, and rebuilding helps."""
        data = encode_bundle(Bundle((ALPHA, BETA))).replace(b"# Beta", b"# Gamma")
        fault = refusal(data)
        assert (
            fault.message == "is damaged or was edited: its documents do not match its content hash"
        )
        assert "rebuild it with `mcpg bundle`" in (fault.remedy or "")

    def test_syntax_error_has_its_place(self) -> None:
        """A file that is no JSON is refused with line and column."""
        fault = refusal('{\n  "version": 1,\n  documents: []\n}')
        assert fault.place == "graph.mdld:3:3"
        assert fault.message.startswith("invalid JSON: ")
        assert refusal("tools:\n  - x").message.startswith("invalid JSON: ")

    @pytest.mark.parametrize("cut", [1, 20, -1, -20, -60])
    def test_truncated_file_is_called_so(self, cut: int) -> None:
        """A file that stops in the middle is told from one that never was JSON."""
        data = encode_bundle(Bundle((BETA,))).rstrip()
        assert refusal(data[:cut]).message == "ends early: the file is truncated"

    def test_cut_within_a_character_is_called_so(self) -> None:
        """A file that stops within a character was cut short too."""
        data = encode_bundle(Bundle((ALPHA,)))
        assert "truncated" in refusal(data[: data.index("ü".encode()) + 1]).message

    def test_broken_utf8_has_its_place(self) -> None:
        """A byte that is no UTF-8 is told with its offset and line."""
        data = encode_bundle(Bundle((BETA,))).replace(b"Beta", b"B\xffta")
        assert refusal(data).message == "is not UTF-8 text: byte 67 (in line 2) is broken"

    def test_giant_number_is_no_json(self) -> None:
        """A number of thousands of digits is refused without a traceback."""
        assert refusal('{"version":1' + "0" * 5_000 + "}").message.startswith("invalid JSON: ")

    def test_size_is_bounded(self) -> None:
        """A file beyond the limit is refused unread."""
        assert refusal(bytes(MAX_BYTES + 1)).message == "is bigger than 2 GB"
