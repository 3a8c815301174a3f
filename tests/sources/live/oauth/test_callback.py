"""The page to which a browser comes back takes whatever an authorisation server sends along."""

from __future__ import annotations

import anyio
import httpx
import pytest

from mcpg.sources.live.login import listening


@pytest.mark.parametrize(
    ("more", "code"),
    [("", "marker"), ("".join(f"x{n}={n}&" for n in range(30)), "marker"), ("", "c" * 20_000)],
    ids=["few", "many members", "long code"],
)
def test_an_answer_is_taken_whole(more: str, code: str) -> None:
    """However many members it has and however long they are, the code comes through uncut."""
    with listening() as callback:
        answer = httpx.get(f"{callback.address}?{more}state=s&code={code}")
        assert (answer.status_code, code in answer.text) == (200, False)
        assert anyio.run(callback.wait) == {"state": "s", "code": code}


@pytest.mark.parametrize("target", ["//[", "/callback", "/callback?code=1", "/callback?state"])
def test_what_is_no_answer_gets_a_page_too(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A visit that brings nothing is answered, and neither ends the login nor prints anything."""
    with listening() as callback:
        host = httpx.URL(callback.address).copy_with(path="/")
        raw = httpx.URL(callback.address).copy_with(raw_path=target.encode())
        assert httpx.get(raw).status_code in {400, 404}
        assert httpx.get(host).status_code == 404
        assert httpx.get(f"{callback.address}?state=s").status_code == 200
    assert capfd.readouterr() == ("", "")
