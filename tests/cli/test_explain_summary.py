"""`mcpg explain` on one screen: the reasons in words; everything else with `--verbose`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from vectorial import TopicProvider, embed_with

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "tools"
ASKED = ("explain", "were is my shipmnt, refund it for the zzqx 4711")
NUMBER = re.compile(r"\d\.0*[1-9]\d{2}")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("query", ["were is my shipmnt", "refund the order, tell the customer"])
def test_five_matches_fit_a_screen(query: str, run: Callable[..., Run]) -> None:
    """Five matches with all that is linked to them take 30 lines, one takes 15."""
    whole = run("explain", query, "-b", str(EXAMPLES))
    assert len(whole.out.splitlines()) <= 30
    assert len(run("explain", query, "-b", str(EXAMPLES), "-n1").out.splitlines()) <= 15
    assert not NUMBER.search(whole.out)


@pytest.mark.usefixtures("folder")
def test_a_long_query_fits_a_screen(run: Callable[..., Run]) -> None:
    """A page of text as the query is cut, and so are lists of its words; `-v` has all."""
    words = [f"zq{''.join(chr(97 + int(digit)) for digit in str(n))}x" for n in range(100, 300)]
    query = ("refund", *words)
    told = run("explain", *query, "-b", str(EXAMPLES)).out
    assert len(told.splitlines()) <= 35
    assert "…\n" in told
    assert words[-1] in run("explain", *query, "-b", str(EXAMPLES), "-v").out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("asked", "said", "unsaid"),
    [
        (["qqzz", "--context", "parcel"], "has no word of the query; the second", "0 of 1"),
        (["parcel", "--source", "none"], "leaves 0 of 45 tools", "ranked by"),
        (["--context-tool", "order_get"], "(none: every tool by name)", "ranked by"),
        (["--context", "parcel"], "query  (none)\n", "every tool"),
    ],
)
def test_odd_situations_are_told_in_words(
    asked: list[str], said: str, unsaid: str, run: Callable[..., Run]
) -> None:
    """No query, no match and no word in common read as such."""
    told = run("explain", *asked, "-b", str(EXAMPLES)).out
    assert said in told.replace("\n            ", " ")
    assert unsaid not in told


@pytest.mark.usefixtures("graph")
class TestSummary:
    """The summary names words, fields and reasons."""

    def test_only_words_that_changed_are_named(self, run: Callable[..., Run]) -> None:
        """Repaired, unknown and dropped words stand on a line of their kind; kept ones don't."""
        told = run(*ASKED).out
        assert "repaired  shipmnt -> shipment\n" in told
        assert "unknown   zzqx: no tool has it, nor a word like it\n" in told
        assert "literals  4711\n" in told
        assert "refund" not in told.partition("score")[0].partition("\n")[2]

    def test_words_are_placed_in_fields(self, run: Callable[..., Run]) -> None:
        """Each match says which words stand where, and what it lacks."""
        told = run(*ASKED).out
        assert "    has   shipment in its " in told
        assert "lacks " in told

    def test_a_named_tool_is_told(self, run: Callable[..., Run]) -> None:
        """A query that spells a name says so."""
        assert (
            "its name or an alias, which the query spells" in run("explain", "invoice_search").out
        )

    def test_verbose_has_every_number(self, run: Callable[..., Run]) -> None:
        """`--verbose` goes on with features, sums, calibration and the model."""
        told = run(*ASKED, "-v").out
        for part in ("bm25f", "logit", "\nwords\n", "\nchannels\n", "\nmodel\n"):
            assert part in told
            assert part not in run(*ASKED).out
        assert NUMBER.search(told)

    def test_the_answer_to_why_not_comes_first(self, run: Callable[..., Run]) -> None:
        """`--tool` has the rank, what is above and why, and the change, in words."""
        told = run("explain", "label", "--tool", "invoice_search").out
        assert "rank          none among" in told
        assert "only it matches label" in told
        assert "change  add the " in told
        assert not NUMBER.search(told)

    @pytest.mark.parametrize(
        "options", [["--route"], ["--tool", "invoice_search"], ["--compare", "tools", "tools"]]
    )
    def test_reports_are_no_lists(self, options: list[str], run: Callable[..., Run]) -> None:
        """Forms of a list are refused where an explanation is about something else."""
        result = run("explain", "label", *options, "--format", "ids")
        assert (result.code, result.out) == (2, "")
        assert "use text, json or markdown" in result.err

    def test_nothing_found_says_what_to_try(self, run: Callable[..., Run]) -> None:
        """Without matches the exit code is 1, and the words are explained all the same."""
        result = run("explain", "qqqq")
        assert result.code == 1
        assert "unknown  qqqq" in result.out
        assert "try other words" in result.err
        assert run("explain", "qqqq", "--format", "ids").out == ""


@pytest.mark.usefixtures("graph")
def test_meaning_alone_is_a_reason(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A match that vectors found has no word of the query, and says what speaks for it."""
    embed_with(monkeypatch, TopicProvider())
    told = run("explain", "courier", "--strategy", "embeddings", "--no-lexicon").out
    assert "no word of the query, but its meaning is closer" in told
