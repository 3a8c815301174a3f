from __future__ import annotations

from typing import Any

import pytest
from loopback import answer, chat, serving

from mcpg import llm
from mcpg.llm import LONGEST_SENT, MOST_TOKENS, ChatRewriter, FunctionRewriter, Rewriter
from mcpg.net.http import Budget, Endpoint, EndpointError

KEY = "sk-Marker0123456789abcdef"


def test_a_chat_model_is_asked_for_one_short_query() -> None:
    """The query is the user's message and nothing else, at temperature 0, with few tokens."""
    with serving(answer(chat("track a shipment"))) as server:
        rewriter = ChatRewriter(server.url, "small", key=KEY)
        assert rewriter.rewrite("де моя посилка\ud800" + "x" * 5_000) == "track a shipment"
        body = server.asked[0].body
        assert server.asked[0].path == "/v1/chat/completions"
        assert [one["role"] for one in body["messages"]] == ["system", "user"]
        assert body["messages"][1]["content"].startswith("де моя посилка?")
        assert len(body["messages"][1]["content"]) == LONGEST_SENT
        assert (body["model"], body["temperature"], body["max_tokens"]) == ("small", 0, MOST_TOKENS)
        assert rewriter.usage.output_tokens == 7
        rewriter.close()


@pytest.mark.parametrize(
    "content",
    [
        {"choices": []},
        {"choices": [{"message": {"content": None}}]},
        {"choices": [{"message": {"content": "", "refusal": "I will not"}}]},
        {"choices": "none"},
        {"error": {"message": "no such model"}},
        chat("half of a", finish="length"),
        {},
    ],
)
def test_an_answer_without_a_whole_text_is_a_fault(content: dict[str, Any]) -> None:
    """What holds no text, is cut off, or declines, rewrites nothing."""
    with serving(answer(content)) as server:
        rewriter = ChatRewriter(server.url, "small", key=KEY)
        with pytest.raises(EndpointError) as caught:
            rewriter.rewrite("que faire")
        assert caught.value.kind in {"answer", "failed"}
        rewriter.close()


def test_rewriters_say_who_they_are_and_how_long_they_take() -> None:
    """Fingerprints tell endpoint and model, and neither they nor representations tell secrets."""
    endpoint = Endpoint("https://h.example/v1?k=hidden", key=KEY, budget=Budget(total=2.5))
    chatting = ChatRewriter("", "small", endpoint=endpoint)
    calling = FunctionRewriter(str.upper, "upper", seconds=1.0)
    assert chatting.fingerprint == "chat https://h.example/v1 small 1"
    assert (chatting.seconds, calling.seconds) == (2.5, 1.0)
    assert calling.rewrite("a") == "A"
    assert isinstance(chatting, Rewriter)
    assert isinstance(calling, Rewriter)
    shown = f"{chatting!r} {vars(chatting)} {calling!r}"
    assert KEY not in shown
    assert "hidden" not in shown


def test_the_budget_has_its_first_name_still() -> None:
    """Programs that import it from where it was first documented go on to work."""
    assert llm.Budget is Budget
    assert llm.Endpoint is Endpoint
