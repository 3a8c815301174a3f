"""Standard error of a program that failed: the lines of it that are quoted with the reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from mcpg.sources.live.errors import MAX_STDERR, TransportErrors, redact

_MOST_LINES = 3
_LONGEST_LINE = 200
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_REASON = re.compile(r"\b\w*(?:error|exception|panic|fatal)\b[^:]{0,80}: *\S", re.IGNORECASE)
_FEWEST_LETTERS = 3


def quoted_stderr(errors: TransportErrors, secrets: Collection[str]) -> str:
    """Return the last lines of standard error as the end of a message; "" for none.

    Args:
        errors: What is known of the program, its standard error among that.
        secrets: Texts that are replaced by `***`.
    """
    text = _SEQUENCE.sub("", errors.stderr.decode("utf-8", "replace"))
    if len(errors.stderr) >= MAX_STDERR:
        text = text.partition("\n")[2]  # the first line may begin in the middle of a secret
    known = (*secrets, *errors.secrets)
    parts = (line.strip() for secret in known for line in secret.splitlines())
    # Shorter ones than in tools: a line of a log need not read well.
    text, _ = redact(text, (), [*known, *parts])
    lines = (" ".join(line.split()) for line in text.splitlines())
    chosen = _last([one for one in lines if sum(map(str.isalnum, one)) >= _FEWEST_LETTERS])
    if not chosen:
        return ""
    cut = (line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in chosen)
    return f"; last lines of its standard error: {' | '.join(cut)}"


def _last(lines: Sequence[str]) -> list[str]:
    """Return the last *lines*, with the last of all that states an error.

    A stack trace of Node.js stands below the error.
    """
    last = range(max(0, len(lines) - _MOST_LINES), len(lines))
    reasons = [number for number, line in enumerate(lines) if _REASON.search(line)]
    if reasons and reasons[-1] not in last:
        return [lines[number] for number in (reasons[-1], *last[1:])]
    return [lines[number] for number in last]
