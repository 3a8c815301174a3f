"""Output of mcpg as blocks, and its HTML reports.

Pure functions from JSON objects to blocks and text. They do not read catalogs or disks, and text of
a catalog cannot become markup or script.
"""

from __future__ import annotations

MARK = b'<!doctype html>\n<html lang="en" data-mcpg-report='
"""How every HTML report of mcpg begins."""
