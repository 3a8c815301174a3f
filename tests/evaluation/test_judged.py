"""Files of judged queries, good and broken."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.errors import Code, InputError, NotFoundError
from mcpg.evaluation.judged import JudgedQuery, Judgements, parse_judged, read_judged

if TYPE_CHECKING:
    from pathlib import Path

GOOD = '{"query": "where is my parcel", "relevant": ["status"]}'


def parse(text: str, place: str = "q.jsonl") -> Judgements:
    """Read *text* as the file at *place*."""
    return parse_judged(text.encode("utf-8", "surrogatepass"), place)


def codes(judgements: Judgements) -> list[tuple[str, str | None]]:
    """Give code and place of every diagnostic."""
    return [(one.code, one.place) for one in judgements.diagnostics]


class TestLines:
    """JSON lines."""

    def test_members_are_read(self) -> None:
        """Id, query and tools are kept, other members passed over, lines counted."""
        text = f'\n{{"id": 7, "query": " a b ", "relevant": ["x", "y", "x"], "lang": "en"}}\n{GOOD}'
        first, second = parse(text).queries
        assert first == JudgedQuery("7", "a b", ("x", "y"), 2)
        assert (second.relevant, second.line) == (("status",), 3)

    def test_tools_in_use_are_read(self) -> None:
        """One name or a list; what is no name makes the entry unusable."""
        rows = ('["a", "b", "a"]', '"c"', "null", "[]", "[{}]")
        lines = [GOOD.replace("parcel", str(at))[:-1] for at in range(len(rows))]
        read = parse(
            "\n".join(
                f'{one}, "contextTools": {row}}}' for one, row in zip(lines, rows, strict=True)
            )
        )
        assert [one.context_tools for one in read.queries] == [("a", "b"), ("c",), (), ()]
        assert codes(read) == [("judged_invalid", "q.jsonl:5")]

    def test_other_tools_in_use_make_another_query(self) -> None:
        """A query is repeated only if the same tools are in use."""
        in_use = [f'{GOOD[:-1]}, "contextTools": {row}}}' for row in ('["a", "b"]', '["b", "a"]')]
        counted = [
            [one for one in parse(text).diagnostics if "counts twice" in one.message]
            for text in (f"{GOOD}\n{in_use[0]}", "\n".join(in_use))
        ]
        assert [len(one) for one in counted] == [0, 1]
        assert parse(f"{GOOD}\n{in_use[0]}").diagnostics == ()

    def test_numbers_name_queries_and_tools(self) -> None:
        """A name that YAML or JSON takes for a number is a name all the same."""
        text = "- {id: 7.5, query: a, relevant: [404, x]}\n- {id: 8, query: b, relevant: 500}\n"
        read = parse_judged(text.encode(), "j.yaml")
        assert [one.id for one in read.queries] == ["7.5", "8"]
        assert [one.relevant for one in read.queries] == [("404", "x"), ("500",)]
        assert read.diagnostics == ()

    def test_an_id_is_made_from_the_text(self) -> None:
        """Without an id, the same query has the same one in every file."""
        one, other = parse(GOOD).queries[0], parse(f"\n\n{GOOD}").queries[0]
        assert one.id == other.id
        assert one.id.startswith("q-")

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\r\n\r\n"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    def test_any_line_end_and_mark(self, end: str, encoding: str) -> None:
        """Windows line ends, blank lines and byte order marks change nothing."""
        data = (GOOD + end + GOOD.replace("my", "деʼ") + end).encode(encoding)
        assert [one.query for one in parse_judged(data, "q.jsonl").queries] == [
            "where is my parcel",
            "where is деʼ parcel",
        ]

    def test_separators_within_a_text_end_no_line(self) -> None:
        """U+2028 and its like may stand in a JSON text."""
        text = json.dumps({"query": "a\u2028b\x85c", "relevant": []}, ensure_ascii=False)
        assert [one.query for one in parse(text).queries] == ["a\u2028b\x85c"]

    @given(
        st.lists(
            st.tuples(
                st.text(st.characters(codec="utf-8"), min_size=1),
                st.lists(st.text(st.characters(codec="utf-8"), min_size=1)),
            ).filter(lambda pair: pair[0].strip() and all(name.strip() for name in pair[1])),
            min_size=1,
        )
    )
    def test_what_json_writes_is_read(self, pairs: list[tuple[str, list[str]]]) -> None:
        """Any text survives the way through a file."""
        lines = [json.dumps({"query": query, "relevant": names}) for query, names in pairs]
        read = parse("\n".join(lines)).queries
        assert [one.query for one in read] == [query.strip() for query, _ in pairs]
        assert [set(one.relevant) for one in read] == [
            {name.strip() for name in names} for _, names in pairs
        ]
        assert len({one.id for one in read}) == len(pairs)


class TestYaml:
    """YAML as a person writes it."""

    @pytest.mark.parametrize(
        "text",
        [
            "- query: where is it\n  relevant: [a, b]\n- {query: none, relevant: []}\n",
            "where is it: [a, b]\nnone: []\n",
            "where is it:\n  - a\n  - b\nnone: []\n",
            '[{"query": "where is it", "relevant": ["a", "b"]},\n {"query":"none","relevant":[]}]',
        ],
        ids=["list", "mapping", "blocks", "JSON array"],
    )
    def test_layouts(self, text: str) -> None:
        """A list, a mapping and a JSON array say the same."""
        read = parse(text, "q.yaml")
        assert [(one.query, one.relevant) for one in read.queries] == [
            ("where is it", ("a", "b")),
            ("none", ()),
        ]
        assert read.diagnostics == ()

    def test_a_single_tool_needs_no_list(self) -> None:
        """A name stands for a list of one."""
        assert parse("where: a", "q.yml").queries[0].relevant == ("a",)

    def test_a_mapping_with_both_members_is_one_query(self) -> None:
        """One judged query needs no list around it."""
        (only,) = parse("query: where\nrelevant: a\n", "q.yaml").queries
        assert (only.query, only.relevant) == ("where", ("a",))

    def test_lines_are_counted(self) -> None:
        """Entries and faults know their line."""
        read = parse("# mine\na: x\n\nb:\nc: [y]\n", "q.yaml")
        assert [one.line for one in read.queries] == [2, 5]
        assert codes(read) == [(Code.JUDGED_INVALID, "q.yaml:4")]
        assert "write [] when no tool answers" in read.diagnostics[0].message

    def test_characters_that_escapes_cut_in_halves(self) -> None:
        """In a JSON array a pair of escapes is a character, and half of one is U+FFFD."""
        text = r'[{"query": "\ud83d\ude00 \ud83d \\ud83d", "relevant": []}]'
        (one,) = parse(text, "q.json").queries
        assert one.query == "\U0001f600 \ufffd \\ud83d"

    def test_broken_yaml_is_refused(self) -> None:
        """The error names the line."""
        with pytest.raises(InputError) as fault:
            parse("a: [x\nb: y\n", "q.yaml")
        assert (fault.value.place or "").startswith("q.yaml:")


class TestWithoutSuffix:
    """Where the name says nothing, the content decides."""

    def test_braces_begin_lines(self) -> None:
        """JSON lines and YAML are told apart."""
        assert parse(GOOD, "-").queries[0].relevant == ("status",)
        assert parse("where: status", "-").queries[0].relevant == ("status",)


BROKEN = {
    "not JSON": ("my diary", "invalid JSON"),
    "cut": ('{"query": "a", "relevant": ["x"', "at column"),
    "NaN": ('{"query": NaN, "relevant": []}', "must be finite"),
    "deep": ("[" * 500 + "]" * 500, "deeper"),
    "two": (GOOD + GOOD, "has 2 JSON values"),
    "a text": ('"a"', "is a text where a judged query is needed"),
    "a list": ("[1]", "is a list"),
    "null": ("null", "is null"),
    "no query": ('{"relevant": ["a"]}', "has no 'query'"),
    "query of another kind": ('{"query": 5, "relevant": ["a"]}', "is a number where a text"),
    "boolean": ('{"query": true, "relevant": ["a"]}', "true or false"),
    "blank query": ('{"query": " ", "relevant": ["a"]}', "'query' is empty"),
    "no relevant": ('{"query": "a"}', "has no 'relevant'; write []"),
    "null relevant": ('{"query": "a", "relevant": null}', "write [] when no tool"),
    "mapping of tools": ('{"query": "a", "relevant": {"x": 1}}', "is a mapping where tools"),
    "no name": ('{"query": "a", "relevant": ["x", true]}', "not the name of a tool"),
    "blank name": ('{"query": "a", "relevant": [" "]}', "not the name of a tool"),
    "id of another kind": ('{"id": [], "query": "a", "relevant": []}', "'id' is a list"),
    "blank id": ('{"id": "", "query": "a", "relevant": []}', "'id' is a text"),
}


class TestBroken:
    """What cannot be used is told with its line, and what can be is used."""

    @pytest.mark.parametrize(("line", "said"), BROKEN.values(), ids=BROKEN)
    def test_a_broken_line_costs_only_itself(self, line: str, said: str) -> None:
        """The line and the cause are told; the lines around it count."""
        read = parse(f"{GOOD}\n{line}\n{GOOD.replace('my', 'her')}\n")
        assert [one.line for one in read.queries] == [1, 3]
        assert codes(read) == [(Code.JUDGED_INVALID, "q.jsonl:2")]
        assert said in read.diagnostics[0].message

    @pytest.mark.parametrize("text", ["", "\n \n", "# nothing\n", "[]", "{}"])
    @pytest.mark.parametrize("place", ["q.jsonl", "q.yaml", "-"])
    def test_nothing_to_use_is_an_error(self, text: str, place: str) -> None:
        """A file without a query is refused, and the layout is shown."""
        with pytest.raises(InputError, match="judged query") as fault:
            parse(text, place)
        assert '"relevant"' in (fault.value.remedy or "")

    def test_only_broken_lines_is_an_error(self) -> None:
        """The first cause is told, and how many there are."""
        with pytest.raises(InputError, match=r"invalid JSON.*and 1 more") as fault:
            parse("my\ndiary\n")
        assert fault.value.place == "q.jsonl:1"

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        """A picture is refused."""
        (tmp_path / "q.jsonl").write_bytes(bytes(range(256)))
        with pytest.raises(InputError, match="UTF-8"):
            read_judged(tmp_path / "q.jsonl")

    def test_no_file(self, tmp_path: Path) -> None:
        """A missing file and a folder are errors."""
        with pytest.raises(NotFoundError):
            read_judged(tmp_path / "none.jsonl")
        with pytest.raises(InputError):
            read_judged(tmp_path)


class TestRepeated:
    """What stands twice is told, and counts twice."""

    def test_ids(self) -> None:
        """The second query gets an id of its own."""
        lines = [f'{{"id": "a", "query": "q{n}", "relevant": ["x"]}}' for n in range(3)]
        read = parse("\n".join(lines))
        assert [one.id for one in read.queries] == ["a", "a#2", "a#3"]
        assert codes(read) == [
            (Code.JUDGED_REPEATED, "q.jsonl:2"),
            (Code.JUDGED_REPEATED, "q.jsonl:3"),
        ]

    def test_an_id_that_stands_very_often(self) -> None:
        """Each repeat is named at once, not after a look at all names before it."""
        line = '{"id": "a", "query": "q", "relevant": ["x"]}'
        program = (
            "from mcpg.evaluation.judged import parse_judged\n"
            f"data = {line!r}.encode() + b'\\n'\n"
            "print(parse_judged(data * 60_000, 'q.jsonl').queries[-1].id)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
        )
        assert done.stdout == "a#60000\n"

    def test_queries(self) -> None:
        """A judgement that contradicts another is told as such."""
        other = GOOD.replace("status", "create").replace("{", '{"id": "b", ')
        read = parse(f"{GOOD}\n{other}")
        assert len(read.queries) == 2
        assert "is also on line 1, with other tools" in read.diagnostics[0].message

    def test_keys(self) -> None:
        """A key that stands twice in one object is told."""
        read = parse('{"query": "a", "query": "b", "relevant": ["x"]}')
        assert read.queries[0].query == "b"
        assert codes(read) == [(Code.KEY_REPEATED, "q.jsonl:1")]


def test_half_characters_are_repaired() -> None:
    """A lone surrogate becomes U+FFFD, with a diagnostic; a pair is a character."""
    read = parse(r'{"query": "a\ud800 \ud83d\ude00", "relevant": ["x\udfff"]}')
    assert (read.queries[0].query, read.queries[0].relevant) == ("a\ufffd \U0001f600", ("x\ufffd",))
    assert codes(read) == [(Code.TEXT_REPAIRED, "q.jsonl:1")]
