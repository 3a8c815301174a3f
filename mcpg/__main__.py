"""`python -m mcpg`."""

from __future__ import annotations

import sys

from mcpg.cli import main

if __name__ == "__main__":
    sys.exit(main())
