"""Which lines of a program's standard error are quoted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcpg.sources.live.client import quote_stderr
from mcpg.sources.live.requests import MAX_STDERR, TransportErrors

LEAD = "; last lines of its standard error: "


def quoted(text: str | bytes, *secrets: str) -> str:
    """Quote what a program wrote."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return quote_stderr(TransportErrors(stderr=data[-MAX_STDERR:]), secrets)


def test_silence_is_not_mentioned() -> None:
    """Without a line that holds words nothing is added."""
    assert quoted("") == quoted(" \n}\n--\n") == ""


def test_the_last_lines_are_quoted() -> None:
    """Three lines are enough, without colours and runs of blanks."""
    text = "zero\none\n\x1b[31;1mtwo\x1b[0m\r\n\n  three   and \tmore  \n}\n"
    assert quoted(text) == f"{LEAD}one | two | three and more"


def test_the_error_above_a_stack_trace_is_among_them() -> None:
    """The last line that states an error stands first, where it is none of the last lines."""
    trace = "".join(f"    at step{number} (app.js:{number})\n" for number in range(9))
    text = f"TypeError: early\nError: Cannot find module 'x'\n{trace}"
    assert quoted(text).startswith(f"{LEAD}Error: Cannot find module 'x' | at step7")


def test_secrets_are_replaced() -> None:
    """Values of the configuration do not appear, even over several lines or between colours."""
    key = "-----BEGIN KEY-----\nabcdefgh\n-----END KEY-----"
    assert "abcdefgh" not in quoted(f"Error: bad key\n{key}\nabcdefgh", key)
    assert quoted("login hun\x1b[1mter2 failed", "hunter2") == f"{LEAD}login *** failed"
    assert quoted("login hunter%2f2 failed", "hunter/2") == f"{LEAD}login *** failed"


def test_a_line_that_is_cut_shows_no_part_of_a_secret() -> None:
    """Where the beginning is lost, the first line is left out, since it may begin in a secret."""
    secret = "s" * 30
    for shift in range(40):
        text = f"{secret}{'x' * (MAX_STDERR - 20 + shift)}\nend of it"
        assert quoted(text, secret) == f"{LEAD}end of it"
    assert quoted("x" * (2 * MAX_STDERR)) == ""


def test_long_lines_are_cut() -> None:
    """A line has 200 characters at most."""
    assert quoted(f"{'word ' * 100}\n") == f"{LEAD}{'word ' * 40}…"


@given(
    st.binary(max_size=2000),
    st.text("abcdef0123456789-_", min_size=8, max_size=40),
    st.binary(max_size=200),
)
def test_no_secret_in_any_output(before: bytes, secret: str, after: bytes) -> None:
    """Whatever a program writes around a secret, the quote is one line without it."""
    told = quoted(before + b" " + secret.encode() + b" " + after, secret)
    assert secret not in told
    assert "\n" not in told
