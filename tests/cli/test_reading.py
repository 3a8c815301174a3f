from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from shop import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run


def ids(result: Run) -> list[str]:
    """Return the ids of the primary matches in a JSON answer."""
    return [match["toolId"] for match in result.json["matches"]]


def search(run: Callable[..., Run], *arguments: str, stdin: bytes = b"") -> Run:
    """Search with a JSON answer."""
    return run("search", *arguments, "--format", "json", stdin=stdin)


@pytest.mark.usefixtures("graph")
class TestSearch:
    """`mcpg search` asks in any way and answers in two forms."""

    def test_words_need_no_quotes(self, run: Callable[..., Run]) -> None:
        """Words after one another and words in quotes are the same query."""
        assert search(run, "track", "shipment").json == search(run, "track shipment").json

    def test_a_dash_reads_standard_input(self, run: Callable[..., Run]) -> None:
        """The query can come from a pipe, even with broken bytes in it."""
        piped = search(run, "-", stdin=b"track\nshipment \xff\n")
        assert piped.json["query"] == "track\nshipment \ufffd"
        assert ids(piped)[0] == "shipment_status"

    def test_no_query_browses(self, run: Callable[..., Run]) -> None:
        """Without a query all enabled tools are listed by name."""
        result = search(run)
        assert result.json["rankingMode"] == "browse"
        assert ids(result) == ["invoice_search", "shipment_create", "shipment_status"]

    def test_disabled_tools_are_offered_on_request(self, run: Callable[..., Run]) -> None:
        """--include-disabled brings the tools that an author switched off."""
        assert "invoice_refund" not in ids(search(run, "refund invoice"))
        assert ids(search(run, "refund invoice", "--include-disabled"))[0] == "invoice_refund"

    def test_context_alone_is_a_query(self, run: Callable[..., Run]) -> None:
        """--context can stand for the query."""
        assert ids(search(run, "--context", "invoices of a customer"))[0] == "invoice_search"

    def test_limit(self, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
        """The limit comes from the flag, else from the environment; too much is capped."""
        monkeypatch.setenv("MCPG_LIMIT", "2")
        assert len(ids(search(run))) == 2
        assert len(ids(search(run, "-n", "1"))) == 1
        codes = [item["code"] for item in search(run, "-n", "51").json["diagnostics"]]
        assert codes == ["limit_capped"]

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("MCPG_LIMIT", "0", "error: MCPG_LIMIT: the limit is 0"),
            ("MCPG_STRATEGY", "magic", "error: MCPG_STRATEGY: no strategy is called 'magic'"),
        ],
    )
    def test_bad_settings_name_their_origin(
        self,
        run: Callable[..., Run],
        monkeypatch: pytest.MonkeyPatch,
        name: str,
        value: str,
        message: str,
    ) -> None:
        """A value that makes no sense is traced to who said it."""
        monkeypatch.setenv(name, value)
        result = run("search", "x")
        assert result.code == 2
        assert result.err.startswith(message)

    def test_strategy_aliases(self, run: Callable[..., Run]) -> None:
        """markdown-ld is another name for graph; auto says that vectors are absent."""
        assert search(run, "invoice", "--strategy", "markdown-ld").json["strategy"] == "graph"
        auto = search(run, "invoice", "--strategy", "auto", "--embed-with", "none").json
        assert (auto["strategy"], auto["rankingMode"]) == ("auto", "graph")
        assert "embedding_generator_missing" in [item["code"] for item in auto["diagnostics"]]

    def test_min_score_is_a_gate(self, run: Callable[..., Run]) -> None:
        """Matches below the gate go, with what their edges brought; none left is 1."""
        everything = search(run, "shipment invoice").json
        gate = str(everything["matches"][0]["score"])
        passed = search(run, "shipment invoice", "--min-score", gate)
        assert passed.code == 0
        assert 0 < len(ids(passed)) < len(everything["matches"])
        origins = {item["via"]["from"] for item in passed.json["nextStepMatches"]}
        assert origins <= set(ids(passed))
        failed = run("search", "shipment invoice", "--min-score", "1")
        assert (failed.code, failed.out) == (1, "")
        assert failed.err.endswith(
            "no tool matches with a score of 1: add detail to the query, or lower --min-score\n"
        )

    def test_min_score_needs_a_query(self, run: Callable[..., Run]) -> None:
        """Browsing has no scores."""
        assert run("search", "--min-score", "0.5").err.startswith("error: --min-score: ")

    def test_nothing_found_is_said(self, run: Callable[..., Run]) -> None:
        """An empty answer is a finding, and says what to try."""
        result = run("search", "qqqq")
        assert (result.code, result.out) == (1, "")
        assert "warning[low_confidence_results]" in result.err
        assert result.err.endswith(
            "no tool matches: try other words, or `mcpg list` for all tools\n"
        )

    def test_explain_flag(self, run: Callable[..., Run]) -> None:
        """Search --explain is explain."""
        one, other = run("search", "invoice", "--explain"), run("explain", "invoice")
        assert one == other

    def test_colour_on_request(self, run: Callable[..., Run]) -> None:
        """--color works before the command and after it, and adds nothing but colour."""
        plain = run("search", "invoice").out
        coloured = run("--color", "always", "search", "invoice").out
        assert coloured == run("search", "invoice", "--color", "always").out
        assert "\x1b[36m" in coloured
        assert "\x1b" not in plain

    def test_verbose_says_what_is_loaded(self, run: Callable[..., Run]) -> None:
        """--verbose names the bundle and how it was found."""
        told = run("search", "invoice", "-v").err
        assert told.startswith("loading ")
        assert "graph.mdld (discovered)\n" in told


@pytest.mark.usefixtures("graph")
class TestExplain:
    """`mcpg explain` accounts for every score."""

    @pytest.fixture
    def answer(self, run: Callable[..., Run]) -> Any:
        """Return the JSON answer to one question."""
        return run("explain", "the shipmnt of an invoice", "--format", "json").json

    def test_contributions_sum_to_the_fused_score(self, answer: Any) -> None:
        """The printed summands add up."""
        assert answer["matches"]
        for match in answer["matches"]:
            total = sum(part["contribution"] for part in match["contributions"])
            assert total == pytest.approx(match["fusedScore"], abs=1e-9)

    def test_words_say_what_they_became(self, answer: Any) -> None:
        """Kept, repaired and dropped words are told apart."""
        words = {word["text"]: word for word in answer["words"]}
        assert words["the"]["role"] == "function word"
        assert [one["kind"] for one in words["shipmnt"]["repairs"]] == ["typo"]

    def test_stages_are_in_pipeline_order(self, answer: Any) -> None:
        """Every stage has a name and a time."""
        names = [stage["name"] for stage in answer["stages"]]
        assert names[:2] == ["analyse", "retrieve"]
        assert all(stage["durationMs"] >= 0 for stage in answer["stages"])

    def test_the_result_is_that_of_search(self, answer: Any, run: Callable[..., Run]) -> None:
        """Explaining does not change the answer."""
        found = search(run, "the shipmnt of an invoice").json
        for key in found.keys() - {"schema", "matches"}:
            assert answer[key] == found[key]
        for explained, match in zip(answer["matches"], found["matches"], strict=True):
            assert explained | match == explained

    def test_min_score(self, run: Callable[..., Run]) -> None:
        """The gate holds for explain, too."""
        assert run("explain", "invoice", "--min-score", "1").code == 1

    def test_every_fate_of_a_word_is_told(self, run: Callable[..., Run]) -> None:
        """The text says of each word whether it was kept, repaired, dropped or unknown."""
        told = run("explain", "the shipmnt zzqx X-4711 track", "--context", "invoices", "-v").out
        words = told.partition("\nwords\n")[2].partition("\n\n")[0]
        fates = {line.split()[0]: line for line in words.splitlines()}
        assert "dropped: a stop word" in fates["the"]
        assert "-> shipment (typo, 1 edit" in told
        assert "unknown: a word that no tool has, nor one near it" in fates["zzqx"]
        assert "a literal: code" in fates["X-4711"]
        assert fates["invoices"].endswith("(context)")

    def test_ties_are_told(self, folder: Path, run: Callable[..., Run]) -> None:
        """Two matches with one score say why one goes first."""
        twins = [{"name": name, "description": "Ring the bell."} for name in ("bell_b", "bell_a")]
        (folder / "twins.json").write_text(json.dumps({"tools": twins}), "utf-8")
        asked = ("explain", "ring the bell", "-b", "twins.json")
        assert "ahead of bell_b by its smaller id" in run(*asked).out
        assert "level with bell_b: the smaller tool id goes first" in run(*asked, "-v").out


@pytest.mark.usefixtures("graph")
class TestList:
    """`mcpg list` shows what there is."""

    @pytest.mark.parametrize(
        ("arguments", "count"),
        [
            ([], 4),
            (["--source", "SHOP"], 4),
            (["--source", "x"], 0),
            (["--category", "Billing"], 2),
        ],
    )
    def test_filters(self, run: Callable[..., Run], arguments: list[str], count: int) -> None:
        """Source and category are compared without regard to case."""
        assert len(run("list", *arguments, "--format", "json").json["tools"]) == count
        text = run("list", *arguments)
        assert text.code == (0 if count else 1)
        assert len(text.out.splitlines()) == (count + 1 if count else 0)
        unknown = "warning[filter_unknown]: no source is called 'x'; the sources are 'shop'\n"
        assert text.err == ("" if count else f"{unknown}no tool is listed\n")

    def test_verbose_counts(self, run: Callable[..., Run]) -> None:
        """--verbose says how many of how many."""
        assert "2 of 4 tools" in run("list", "--category", "billing", "-v").err

    def test_a_folder_or_manifest_will_do(self, run: Callable[..., Run]) -> None:
        """Reading commands take sources in place of a bundle."""
        for source in ("tools", "tools/shop.json"):
            assert len(run("list", "-b", source, "--format", "ids").out.splitlines()) == 4
            assert run("search", "shipment", "-b", source).out

    def test_several_are_joined(self, folder: Path, run: Callable[..., Run]) -> None:
        """-b again joins a bundle and a manifest."""
        more = {"tools": [{"name": "pager_ring", "description": "Ring the pager."}]}
        (folder / "more.json").write_text(json.dumps(more), "utf-8")
        both = ["-b", "graph.mdld", "-b", "more.json"]
        assert len(run("list", *both, "--format", "ids").out.splitlines()) == 5
        assert run("show", "pager_ring", *both).code == 0
        assert ids(search(run, "ring the pager", *both))[0] == "pager_ring"
        assert "pager_ring" in run("explain", "ring the pager", *both).out

    def test_one_of_several_may_be_missing(self, run: Callable[..., Run]) -> None:
        """A missing graph is told, and every command works with what is there."""
        paths = ["-b", "absent.mdld", "-b", "tools/shop.json"]
        for command in (["list"], ["show", "invoice_refund"], ["search", "invoice"]):
            result = run(*command, *paths)
            assert result.code == 0
            assert "error[markdown_ld_graph_path_missing]: " in result.err
            assert result.err.splitlines()[0].endswith("(absent.mdld)")
            found = run(*command, *paths, "--format", "json").json["diagnostics"]
            assert found[0]["code"] == "markdown_ld_graph_path_missing"

    def test_all_of_several_missing_is_an_error(self, run: Callable[..., Run]) -> None:
        """When nothing is there, every path is named."""
        result = run("list", "-b", "a.mdld", "-b", "b.mdld")
        assert result.code == 2
        assert "called 'a.mdld' or 'b.mdld'" in result.err

    def test_tools_are_listed_without_a_graph(self, folder: Path, run: Callable[..., Run]) -> None:
        """A damaged bundle among the sources costs the graph, not the tools."""
        (folder / "tools" / "old.json").write_text(
            '{"version": 1, "documents": [{"path": "../x.md", "content": "x"}]}', "utf-8"
        )
        listed = run("list", "-b", "tools", "--format", "ids")
        assert listed.code == 0
        assert len(listed.out.splitlines()) == 4
        assert "error[graph_unavailable]: the graph cannot be made: " in listed.err
        shown = run("show", "shipment_status", "-b", "tools", "--format", "json")
        assert (shown.code, shown.json["document"]) == (0, None)
        assert run("show", "shipment_status", "-b", "tools").out.startswith("shipment_status")
        refused = run("show", "shipment_status", "-b", "tools", "--document")
        assert refused.code == 2
        assert "has no document" in refused.err
        (folder / "tools" / "shop.json").unlink()
        assert run("list", "-b", "tools").code == 2


@pytest.mark.usefixtures("graph")
class TestShow:
    """`mcpg show` shows one tool."""

    @pytest.mark.parametrize("name", ["invoice_refund", "INVOICE_REFUND", "shop::invoice_refund"])
    def test_names(self, run: Callable[..., Run], name: str) -> None:
        """A tool goes by its id or by source and name, in any case."""
        assert run("show", name).out.startswith("invoice_refund  (disabled by default)\n")

    def test_an_unknown_name_suggests(self, run: Callable[..., Run]) -> None:
        """A slip is answered with the nearest ids, anything else with the way to the list."""
        assert run("show", "invoice_refnd").err == (
            "error: no tool is called 'invoice_refnd'\n  hint: did you mean invoice_refund?\n"
        )
        assert "did you mean invoice_refund?" in run("show", "refund_invoice").err
        assert "did you mean invoice_refund?" in run("show", "RefundInvoice").err
        assert run("show", "qq").err.endswith("  hint: see `mcpg list`\n")

    def test_an_ambiguous_name_lists_the_ids(self, run: Callable[..., Run]) -> None:
        """A name that fits several tools is not guessed at."""
        result = run("show", "invoice_*")
        assert result.code == 2
        assert "'invoice_*' is the name of 2 tools" in result.err
        assert "use invoice_refund or invoice_search" in result.err

    def test_document_is_that_of_the_bundle(self, folder: Path, run: Callable[..., Run]) -> None:
        """--document prints the text as it stands in the bundle."""
        bundle = json.loads((folder / "graph.mdld").read_text("utf-8"))
        texts = {one["path"]: one["content"] for one in bundle["documents"]}
        shown = run("show", "shipment_create", "--document").out
        assert shown == texts["tools/shop/shipment_create.md"]

    def test_edges_out_of_the_bundle_keep_their_uri(
        self, folder: Path, run: Callable[..., Run]
    ) -> None:
        """A neighbour that the bundle does not hold is named by its URI."""
        run("generate", "tools", "-o", "docs", "-q")
        page = folder / "docs" / "tools" / "shop" / "shipment_create.md"
        text = page.read_text("utf-8").replace("/shipment_status/", "/elsewhere/")
        page.write_text(text, "utf-8")
        related = run("show", "shipment_create", "-b", "docs", "--format", "json").json["related"]
        outside = [one["uri"] for one in related if one["toolId"] is None]
        assert outside
        assert all(uri.endswith("/elsewhere/") for uri in outside)


class TestStrangers:
    """Catalogues are written by strangers."""

    @pytest.fixture
    def hostile(self, folder: Path) -> Path:
        """A manifest that tries to steer the terminal and to fake lines."""
        text = "Wipe \x1b[2J\x07 \u202edaeh\u202c\n 1  0.999999  fake_tool\x9b"
        tool = {
            "name": "evil",
            "title": f"T {text}",
            "description": text,
            "inputSchema": {
                "type": "object",
                "properties": {"a\x1b": {"type": "string", "description": text, "enum": [text]}},
            },
            "_meta": {"x": text},
        }
        tools = [tool, *MANIFEST["tools"]]
        path = folder / "evil.json"
        path.write_text(json.dumps({"server": f"s {text}", "tools": tools}), "utf-8")
        return path

    @pytest.mark.parametrize(
        "command",
        [
            ["list"],
            ["show", "evil"],
            ["search", "wipe"],
            ["explain", "wipe \x1b[2J"],
            ["bundle", "evil.json", "--diff"],
        ],
    )
    @pytest.mark.parametrize("form", ["text", "json"])
    def test_nothing_steers_the_terminal(
        self, hostile: Path, run: Callable[..., Run], command: list[str], form: str
    ) -> None:
        """No output carries a control character or an override from a catalogue."""
        source = [] if command[0] == "bundle" else ["-b", str(hostile)]
        result = run(*command, *source, "--format", form)
        assert result.code in {0, 1}
        harmful = set("\x00\x07\x1b\x9b\u202e\u202c")
        assert not harmful & set(result.out + result.err)
        if command[0] == "list" and form == "text":
            assert len(result.out.splitlines()) == 6
