"""What mcpg shows, as blocks, and its HTML reports.

Pure functions from JSON objects to blocks and text. Nothing here reads a catalogue or a disk, and
nothing in a catalogue can become markup or script here.
"""

from __future__ import annotations

MARK = b'<!doctype html>\n<html lang="en" data-mcpg-report='
"""How every HTML report of mcpg begins."""
