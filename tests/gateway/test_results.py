"""What an invocation answers with."""

from __future__ import annotations

from mcpg.gateway import CallResult, Fault, FaultCode


def test_a_fault_makes_a_failure() -> None:
    """An invocation succeeded when nothing speaks against it."""
    assert CallResult("a").is_success
    assert not CallResult("a", faults=(Fault(FaultCode.TIMED_OUT, "too long"),)).is_success


def test_texts_are_joined_and_other_content_is_left() -> None:
    """The text of a result is that of its text blocks, a line each."""
    content = (
        {"type": "text", "text": "one"},
        {"type": "image", "data": "x"},
        {"type": "text", "text": "two"},
    )
    assert CallResult("a", content=content).text == "one\ntwo"
