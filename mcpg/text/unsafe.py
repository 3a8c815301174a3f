"""Characters in texts of strangers that hide, reorder or steer what a reader sees."""

from __future__ import annotations

import re

# Control characters, bidirectional overrides, invisible characters that hide or reorder text, tag
# characters, and halves of surrogate pairs. The joiners U+200C and U+200D stay: scripts need them.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_LAST_OF_LATIN = 0xFF


def visible_form(found: re.Match[str]) -> str:
    """Write the unsafe character that was *found* as an escape."""
    code = ord(found.group())
    return f"\\x{code:02x}" if code <= _LAST_OF_LATIN else f"\\u{{{code:x}}}"


def lines_kept(text: str) -> str:
    """Make what is unsafe in *text* visible, keeping line ends and tabs."""
    return "\n".join(
        "\t".join(UNSAFE.sub(visible_form, part) for part in line.split("\t"))
        for line in text.replace("\r\n", "\n").split("\n")
    )
