from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from loopback import Conversation, answer, serving

from mcpg.embeddings import EmbeddingError, embed_query, embed_texts
from mcpg.embeddings.http import MOST_CHARACTERS, HttpEmbeddings
from mcpg.errors import UsageError
from mcpg.net.http import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "sk-Marker0123456789abcdef"
QUICK = Budget(connect=5.0, read=5.0, total=10.0, retries=0)
SHORT = Budget(connect=1.0, read=5.0, total=0.2, retries=0)


def provider(url: str, **options: Any) -> HttpEmbeddings:
    """Return a provider that is soon content or tired."""
    return HttpEmbeddings(url, "small", key=KEY, **({"budget": QUICK} | options))


def vectors(*rows: Any, order: list[int] | None = None) -> dict[str, Any]:
    """Return the answer of an endpoint that made *rows*, told in another *order*."""
    data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]
    return {"data": [data[n] for n in order] if order else data, "usage": {"prompt_tokens": 4}}


def lengths(conversation: Conversation) -> None:
    """Answer each text with a vector of its length."""
    texts = conversation.asked.body["input"]
    conversation.send(vectors(*([float(len(text)), 1.0] for text in texts)))


def fault_of(script: Callable[[Conversation], None], count: int = 2, **options: Any) -> str:
    """Give the kind of fault that embedding *count* texts ends with, which never shows the key."""
    with serving(script) as server, pytest.raises(EmbeddingError) as caught:
        provider(server.url, **options).embed(["text"] * count)
    fault = caught.value
    assert KEY not in f"{fault} {fault!r} {fault.args}"
    assert fault.remedy
    return fault.kind


def test_texts_become_rows_in_their_order() -> None:
    """Vectors are placed by the index they bear, and are 32-bit floats."""
    with serving(answer(vectors([1, 2], [3, 4], [5, 6], order=[2, 0, 1]))) as server:
        mine = provider(server.url)
        assert mine.dimensions is None
        rows = mine.embed(["a", "b", "c"])
        assert rows.dtype == np.float32
        assert rows.tolist() == [[1, 2], [3, 4], [5, 6]]
        assert mine.dimensions == 2
        assert mine.usage.input_tokens == 4
        body = server.asked[0].body
        assert body == {"model": "small", "input": ["a", "b", "c"], "encoding_format": "float"}
        assert server.asked[0].path == "/v1/embeddings"
        assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"
        mine.close()


def test_items_without_an_index_stand_in_their_order() -> None:
    """Servers that leave the index out mean the order of the texts."""
    told = {"data": [{"embedding": [1.0]}, {"embedding": [2.0]}]}
    with serving(answer(told)) as server:
        assert provider(server.url).embed(["a", "b"]).tolist() == [[1.0], [2.0]]


def test_many_texts_are_several_requests() -> None:
    """No request has more texts or characters than it may; a long text goes alone."""
    with serving(lengths) as server:
        mine = provider(server.url, batch=2)
        texts = ["a", "bb", "ccc", "d" * MOST_CHARACTERS, "e" * (MOST_CHARACTERS + 1), "f"]
        assert mine.embed(texts)[:, 0].tolist() == [len(text) for text in texts]
        counts = [len(asked.body["input"]) for asked in server.asked]
        assert counts == [2, 1, 1, 1, 1]


def test_no_texts_need_no_request() -> None:
    """Nothing is asked for nothing."""
    with serving(lengths) as server:
        assert provider(server.url, dimensions=3).embed([]).shape == (0, 3)
        assert not server.asked


def test_the_house_takes_what_it_makes() -> None:
    """The checks of every provider pass what an honest endpoint makes, scaled to length one."""
    with serving(lengths) as server:
        mine = provider(server.url)
        rows = embed_texts(mine, ["abc", "d"], batch=1)
        assert np.allclose(np.linalg.norm(rows, axis=1), 1)
        assert embed_query(mine, "abc").tolist() == rows[0].tolist()


def test_packed_vectors_are_unpacked() -> None:
    """Vectors in base64 are what they are as numbers, asked for or not."""
    packed = base64.b64encode(struct.pack("<3f", 0.5, -1.5, 2.0)).decode()
    with serving(answer(vectors(packed))) as server:
        rows = provider(server.url, packed=True, dimensions=3).embed(["a"])
        assert rows.tolist() == [[0.5, -1.5, 2.0]]
        assert server.asked[0].body["encoding_format"] == "base64"
        assert server.asked[0].body["dimensions"] == 3


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (vectors([1.0]), "count"),
        (vectors([1.0], [2.0], [3.0]), "count"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}, "count"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": True, "embedding": [2]}]}, "count"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 7, "embedding": [2]}]}, "count"),
        (vectors([1.0], [float("nan")]), "nonfinite"),
        (vectors([1.0], [float("inf")]), "nonfinite"),
        (vectors([1.0], [1e300]), "nonfinite"),
        (vectors([1.0], [10**400]), "nonfinite"),
        (vectors([1.0], [0.0]), "empty"),
        (vectors([1.0], []), "empty"),
        (vectors([1.0], [1.0, 2.0]), "dimensions"),
        (vectors([1.0], "AA"), "failed"),
        (vectors([1.0], "not base64!"), "failed"),
        (vectors([1.0], ["1"]), "failed"),
        (vectors([1.0], [True]), "failed"),
        (vectors([1.0], None), "failed"),
        ({"data": [1, 2]}, "failed"),
        ({"data": "none"}, "failed"),
        ({"error": "no such model"}, "failed"),
        ("<html>Welcome</html>", "failed"),
        ("", "failed"),
    ],
)
def test_an_endpoint_that_lies_is_found_out(content: Any, kind: str) -> None:
    """A wrong count, numbers that are none, zeros, other lengths, a page: each has its kind."""
    assert fault_of(answer(content)) == kind


def test_other_dimensions_than_asked_for_are_refused() -> None:
    """A model that cannot shorten its vectors is found out."""
    assert fault_of(answer(vectors([1, 2], [3, 4])), dimensions=3) == "dimensions"


def test_the_dimensions_of_one_model_never_change() -> None:
    """Vectors of another length than those before are refused."""
    with serving(answer(vectors([1, 2])), answer(vectors([1, 2, 3]))) as server:
        mine = provider(server.url)
        mine.embed(["a"])
        with pytest.raises(EmbeddingError, match="2 and 3 dimensions"):
            mine.embed(["b"])
    with serving(answer(vectors([1, 2])), answer(vectors([1, 2, 3]))) as server:
        mine = provider(server.url, batch=1)  # also within one list of texts
        with pytest.raises(EmbeddingError, match="2 and 3 dimensions"):
            mine.embed(["a", "b"])


def test_an_endpoint_that_hangs_is_a_timeout() -> None:
    """The time budget holds."""
    assert fault_of(lambda conversation: conversation.wait(30) and None, budget=SHORT) == "timeout"


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_an_endpoint_that_refuses_is_a_failure(status: int) -> None:
    """Whatever the server says, the key is not quoted."""
    assert fault_of(answer({"error": {"message": f"bad key {KEY}"}}, status)) == "failed"


def test_the_fingerprint_tells_the_model_and_no_secret() -> None:
    """Endpoint, model and dimensions make a fingerprint; a query of the address does not."""
    mine = HttpEmbeddings("https://h.example/v1?k=hidden", "small", key=KEY, dimensions=256)
    other = HttpEmbeddings("https://h.example/v1", "small", dimensions=512)
    assert mine.fingerprint == "openai https://h.example/v1 small 256 dimensions"
    assert mine.fingerprint != other.fingerprint
    assert "hidden" not in f"{mine!r} {vars(mine)}"
    assert KEY not in f"{mine!r} {vars(mine)}"


@pytest.mark.parametrize("members", [{"batch": 0}, {"dimensions": 0}, {"dimensions": 1_000_000}])
def test_a_provider_makes_sense(members: dict[str, Any]) -> None:
    """A batch of nothing, or vectors without length, is a mistake."""
    with pytest.raises(UsageError):
        HttpEmbeddings("http://localhost", "small", **members)
