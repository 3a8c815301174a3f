from __future__ import annotations

import pytest
from builders import ids, make_engine, make_tool

import mcpg
from mcpg.engine import Engine, RankingMode
from mcpg.errors import Code

SHIPMENT = make_tool(
    "shipment_status",
    description="Look up where a shipment is and when it will be delivered.",
    aliases=("де моя посилка", "Sendungsverfolgung"),
    keywords=("parcel", "courier"),
)
ORDER = make_tool("order_create", description="Place a new order for a customer.")
INVOICE = make_tool("invoice_export", description="Export invoices of an order as PDF files.")
RESET = make_tool(
    "password_reset", description="Reset the password of a user.", enabled_by_default=False
)
DASHBOARD = make_tool("dashboard_create", description="Create a dashboard with filters per user.")


@pytest.fixture(scope="module")
def engine() -> Engine:
    """Return an engine over a small shop."""
    return make_engine(SHIPMENT, ORDER, INVOICE, RESET, DASHBOARD)


def codes(result: mcpg.SearchResult) -> set[str]:
    """Return the codes of the diagnostics of *result*."""
    return {diagnostic.code for diagnostic in result.diagnostics}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("shipment status", "shipment_status"),
        ("shipmnt status", "shipment_status"),
        ("shpiment delivreed", "shipment_status"),
        ("where is my parcel?", "shipment_status"),
        ("де моя посилка", "shipment_status"),
        ("sendungsverfolgung bitte", "shipment_status"),
        ("exporting an invoice", "invoice_export"),
        ("create a dashboard with a filter", "dashboard_create"),
        ("use orderCreate", "order_create"),
        ("ORDER-CREATE", "order_create"),
        ("neworder", "order_create"),
        ("dashb creat", "dashboard_create"),
        ("ship stat", "shipment_status"),
    ],
)
def test_the_wanted_tool_comes_first(engine: Engine, query: str, expected: str) -> None:
    """Misspelt, foreign, inflected, joined and polite queries find their tool."""
    assert ids(engine.search(query).matches)[:1] == [expected]


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("เสือ", "เสือ"),
        ("ຕິດຕາມພັດສະດຸ", "ພັດສະດຸ"),
        ("តាមដានកញ្ចប់", "កញ្ចប់"),
        ("ပါဆယ်ထုပ်", "ပါဆယ်"),
        ("ཐུམ་སྒྲིལ", "སྒྲིལ"),
        ("ޕާސަލް", "ޕާސަލް"),
        ("מִשְׁלוֹחַ", "משלוח"),
        ("משלוח", "מִשְׁלוֹחַ"),
        ("شَحْنَة", "شحنة"),
        ("شحنة", "شَحْنَة"),
        ("पार्सल कहाँ", "पार्सल"),
    ],
)
def test_words_of_every_script_find_their_tool(said: str, query: str) -> None:
    """Vowel signs neither hide a tool from its own words nor lead to another's."""
    letters = " ".join(filter(str.isalpha, query))
    result = make_engine(
        make_tool("a", description=f"Sends {letters}."),
        make_tool("b", description=f"Sends and sends {letters}."),
        make_tool("c", description=f"Sends {said} anywhere."),
    ).search(query)

    assert ids(result.matches)[:1] == ["c"]
    assert result.matches[0].evidence.missing == ()


def test_plurals_of_abbreviations_are_words() -> None:
    """Abbreviations in an identifier are found in their plural."""
    engine = make_engine(make_tool("listPRs"), make_tool("list_issues"), make_tool("openUrl"))

    assert ids(engine.search("show prs").matches)[:1] == ["listprs"]


def test_credit_for_a_completion_falls_with_what_is_left_out() -> None:
    """A word that is begun counts nine tenths of the share that is there, the shortest first."""
    engine = make_engine(make_tool("dashboards_create"), make_tool("dashbord_x"))
    (word,) = engine.explain("dashb").words

    assert [(one.word, one.kind) for one in word.repairs] == [
        ("dashbord", "prefix"),
        ("dashboards", "prefix"),
    ]
    assert [one.similarity for one in word.repairs] == pytest.approx([0.9 * 5 / 8, 0.9 * 5 / 10])


def test_one_known_word_does_not_stop_the_repair_of_another() -> None:
    """Each word is repaired on its own, however well the others match."""
    engine = make_engine(
        make_tool("refund_payment", description="Give a payment back."),
        make_tool("list_payments", description="Every payment of a payment account."),
    )

    assert ids(engine.search("refnud payment").matches)[0] == "refund_payment"


def test_an_exact_name_beats_every_other_evidence() -> None:
    """Who types a tool's name gets the tool, though another says the words more often."""
    engine = make_engine(
        make_tool("fetch", description="Gets things."),
        make_tool("fetch_fetcher", description="Fetch, fetch and fetch.", keywords=("fetch",)),
    )

    assert ids(engine.search("fetch").matches)[0] == "fetch"


def test_scores_are_sorted_probabilities(engine: Engine) -> None:
    """Scores lie in [0, 1] and never rise down the list."""
    scores = [match.score for match in engine.search("order status of an invoice").matches]

    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_nonsense_is_doubted(engine: Engine) -> None:
    """A query of unknown words finds nothing and says so."""
    result = engine.search("xqzv blorptik wuffle")

    assert result.matches == ()
    assert Code.LOW_CONFIDENCE in codes(result)


def test_a_clear_match_is_not_doubted(engine: Engine) -> None:
    """A query that names its tool well is answered without a warning."""
    result = engine.search("shipment status")

    assert result.matches[0].score > 0.5
    assert Code.LOW_CONFIDENCE not in codes(result)


def test_an_unknown_code_does_not_drown_the_wish(engine: Engine) -> None:
    """A tracking number that no tool holds hardly lowers the score."""
    assert engine.search("track shipmnt status 1z999").matches[0].score > 0.5


def test_disabled_tools_are_left_out_before_ranking(engine: Engine) -> None:
    """A disabled tool takes nobody's place, and is offered when asked for."""
    assert "password_reset" not in ids(engine.search("reset the password", limit=1).matches)
    shown = engine.search("reset the password", limit=1, include_disabled=True)
    assert ids(shown.matches) == ["password_reset"]


@pytest.mark.parametrize("query", [None, "", "  \n"])
def test_no_query_browses(engine: Engine, query: str | None) -> None:
    """Without a wish, enabled tools are listed by name with a score of 0."""
    result = engine.search(query)

    assert result.ranking_mode is RankingMode.BROWSE
    assert ids(result.matches) == [
        "dashboard_create",
        "invoice_export",
        "order_create",
        "shipment_status",
    ]
    assert {match.score for match in result.matches} == {0.0}


def test_no_tools_is_empty() -> None:
    """An empty catalogue answers every query with nothing."""
    assert make_engine().search("anything").ranking_mode is RankingMode.EMPTY


def test_limit_is_five_and_at_most_fifty() -> None:
    """Five matches by default, fifty at the most, and a diagnostic when more were asked for."""
    engine = make_engine(*(make_tool(f"item_get_{number}") for number in range(60)))

    assert len(engine.search("item").matches) == 5
    capped = engine.search("item", limit=1000)
    assert len(capped.matches) == 50
    assert Code.LIMIT_CAPPED in codes(capped)


def test_a_limit_below_one_is_refused(engine: Engine) -> None:
    """Asking for no match is a mistake."""
    with pytest.raises(mcpg.UsageError, match="limit"):
        engine.search("order", limit=0)


def test_the_limit_does_not_change_scores(engine: Engine) -> None:
    """The first match has the same score however many are asked for."""
    query = "order of a customer"

    first, same = (engine.search(query, limit=limit).matches[0] for limit in (1, 9))

    assert first == same
    assert not first != same  # noqa: SIM202 - what makes two unequal is said apart


def test_ties_go_to_the_smaller_id() -> None:
    """Tools that nothing tells apart come in order of id, whatever order they were given in."""
    tools = [make_tool(f"same_{letter}", description="Same.") for letter in "dbca"]

    assert ids(make_engine(*tools).search("same").matches) == [
        "same_a",
        "same_b",
        "same_c",
        "same_d",
    ]
    assert make_engine(*tools[::-1]).search("same") == make_engine(*tools).search("same")


def test_context_decides_between_equals_and_does_not_drown() -> None:
    """Context breaks a tie; it never outweighs what the query itself says."""
    engine = make_engine(
        make_tool("github_search", description="Search issues."),
        make_tool("weather_search", description="Search forecasts."),
    )

    assert ids(engine.search("search", context="weather").matches)[0] == "weather_search"
    assert ids(engine.search("issues", context="weather forecasts").matches)[0] == "github_search"
    assert ids(engine.search(None, context="weather").matches)[0] == "weather_search"


@pytest.mark.parametrize("strategy", ["auto", "embeddings"])
def test_absent_vectors_are_said(engine: Engine, strategy: str) -> None:
    """Strategies that want vectors fall back to the graph and say why."""
    result = engine.search("shipment", strategy=strategy)

    assert result.ranking_mode is RankingMode.GRAPH
    assert {Code.EMBEDDING_GENERATOR_MISSING, Code.GRAPH_FALLBACK} <= codes(result)
    assert result.matches == engine.search("shipment").matches


def test_strategies_have_names(engine: Engine) -> None:
    """`markdown-ld` is the graph; an unknown name is refused with the known ones."""
    assert engine.search("order", strategy="markdown-ld").strategy == "graph"
    with pytest.raises(mcpg.UsageError, match="use graph, embeddings or auto"):
        engine.search("order", strategy="tokens")


def test_function_words_alone_are_still_a_query() -> None:
    """When only function words are asked, they are all there is to go by."""
    engine = make_engine(make_tool("who_am_i", description="Tell who is asking."), ORDER)

    assert ids(engine.search("who am I").matches)[0] == "who_am_i"


@pytest.mark.parametrize("word", ["thier", "wher", "whats"])
def test_misspelt_function_words_are_dropped(engine: Engine, word: str) -> None:
    """A slip in a small word, or an ending, does not turn it into a word of the catalogue."""
    words = engine.explain(f"is {word} shipment at the door").words

    assert {one.text: one.role for one in words}[word] == "function word"


def test_evidence_names_what_matched(engine: Engine) -> None:
    """Each match says which words it answers, which it does not, and in which fields."""
    evidence = engine.search("parcel shipment refund").matches[0].evidence

    assert evidence.terms == ("parcel", "shipment")
    assert evidence.missing == ("refund",)
    assert {"name", "keywords"} <= set(evidence.fields)


HOSTILE = [
    "a" * 100_000,
    "shipment " * 20_000,
    "\ud800 shipment \udfff",
    "\x00\x1b[31mshipment\x07",
    "\u202eshipment\u202c",
    "the of and to",
    "🧨📦🚚",
    "0123456789 42 7",
    "' OR 1=1 --",
    "%s%n{0}$(x)`y`",
]


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_queries_are_answered(engine: Engine, query: str) -> None:
    """Any string is answered with a well-formed result."""
    result = engine.search(query)

    assert len(result.matches) <= 5
    assert result.ranking_mode is RankingMode.GRAPH


def test_a_long_query_is_cut_and_said(engine: Engine) -> None:
    """What is not read is reported."""
    assert Code.QUERY_TRUNCATED in codes(engine.search("shipment " * 2_000))


@pytest.mark.untraced
@pytest.mark.untraced
def test_thousands_of_identical_tools_are_searched() -> None:
    """A catalogue without any difference is answered in order of id."""
    engine = make_engine(
        *(make_tool("ping", id="", source_id=f"s{number:04}") for number in range(2_000))
    )

    assert ids(engine.search("ping").matches)[:2] == ["s0000_ping", "s0001_ping"]


def test_a_query_that_opens_with_a_name_means_that_tool() -> None:
    """Opening words that are a tool's whole name, its source's left out, name the tool."""
    engine = make_engine(
        make_tool("git_commit", source_id="git", description="Records changes to the repository"),
        make_tool("git_diff", source_id="git", description="Shows changes staged for a commit"),
        make_tool("git_log", source_id="git", description="Shows the history"),
    )

    assert ids(engine.search("comit my stagd changes").matches)[0] == "git_commit"


def test_many_words_of_context_weigh_no_more_than_few() -> None:
    """However long the context, together it stays lighter than the query."""
    engine = make_engine(
        make_tool("issue_search", description="Search issues."),
        make_tool("weather_search", description="Search the weather forecast: rain, wind, sun."),
    )
    context = "weather forecast rain wind sun " * 3

    assert ids(engine.search("issue", context=context).matches)[0] == "issue_search"


def test_a_number_in_the_context_may_be_of_any_length() -> None:
    """An integer of more digits than Python writes is left out."""
    engine = make_engine(make_tool("issue_search"), make_tool("weather_search"))

    for context in (10**5_000, {"id": -(10**5_000)}, {10**5_000: "weather"}):
        assert ids(engine.search("issue", context=context).matches)[0] == "issue_search"


@pytest.mark.parametrize("rewrite", [False, True])
def test_no_tools_tell_what_was_cut_all_the_same(rewrite: bool) -> None:
    """What was asked too much of is told whether or not there is anything to find."""
    result = make_engine().search("x" * 10_000, limit=99, rewrite=rewrite)

    assert {one.code for one in result.diagnostics} == {"limit_capped", "query_truncated"}


def test_context_may_be_structured() -> None:
    """An object counts by its keys and values, however nested; what is no JSON is left out."""
    engine = make_engine(
        make_tool("github_search", description="Search issues."),
        make_tool("weather_search", description="Search forecasts."),
    )
    context: dict[str, object] = {"page": {"topics": ["weather", 3, None, True, object()]}}
    context["itself"] = context

    assert ids(engine.search("search", context=context).matches)[0] == "weather_search"
    assert engine.search("search", context={"odd": object()}).matches[0].score > 0


def test_a_number_does_not_drown_what_is_asked() -> None:
    """A number is an argument even where some tool happens to mention it; alone it is the wish."""
    engine = make_engine(
        make_tool("invoice_refund", description="Refund an invoice."),
        make_tool("report_page", description="Print 30 rows of a report."),
        make_tool("invoice_list", description="List every invoice."),
    )

    words = engine.explain("refund 30").words
    refund, number = words[0], words[-1]

    assert number.document_frequency == refund.document_frequency == 1
    assert (number.text, number.origin) == ("30", "literal")
    assert number.weight < refund.weight / 2
    assert ids(engine.search("refund 30").matches)[0] == "invoice_refund"
    assert ids(engine.search("30").matches)[0] == "report_page"


@pytest.mark.parametrize("query", ["where is a shipment", "shipmnt", "parcel"])
def test_a_tool_whose_name_has_no_words_is_found_by_its_text(query: str) -> None:
    """A name of signs alone takes nothing from what the description of the tool matches."""
    nameless = make_tool("..", source_id="", description="Look up where a parcel or shipment is.")
    engine = make_engine(nameless, ORDER, INVOICE)
    assert engine.search(query).matches[0].tool_name == ".."


@pytest.mark.parametrize(
    "query",
    ["search gmail", "tools of gmail", "list the gmail tools", "what can gmail do", "gmail"],
)
def test_a_request_that_names_a_server_lists_it(query: str) -> None:
    """The tools of the server come first, whatever other tools have of the other words."""
    gmail = ("send_message", "draft_reply", "label_thread")
    engine = make_engine(
        *[make_tool(name, source_id="gmail", description=f"{name} of mail.") for name in gmail],
        make_tool("search_tools", source_id="files", description="Search and list tools."),
        make_tool("list_files", source_id="files", description="List what tools can do."),
    )

    assert set(ids(engine.search(query, limit=3).matches)) == {*gmail}


def test_an_ordinary_word_lists_no_server() -> None:
    """A server that is called like a frequent word is listed by no request that has the word."""
    engine = make_engine(
        make_tool("add_numbers", source_id="everything", description="Add up."),
        make_tool("board_show", source_id="trello", description="Show a board."),
    )

    assert ids(engine.search("show everything of a board").matches)[0] == "board_show"
