"""Takes the picture of `mcpg explore` that the README shows.

    python benchmarks/picture_explore.py docs/images/explore.png

Needs Chromium (Debian: chromium).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
MCPG = [sys.executable, "-m", "mcpg"]
QUERY = "give the clinet his cash back"
CHROMIUM = [
    *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-sync", "--hide-scrollbars"),
    *("--window-size=1000,620", "--virtual-time-budget=5000"),
]


def main() -> None:
    """Bundle the examples in a folder of their own, open the page, and write the picture."""
    picture = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        bundle = [*MCPG, "bundle", str(EXAMPLES / "tools"), "-o", "graph.mdld", "--quiet"]
        subprocess.run(bundle, cwd=folder, check=True)
        page = subprocess.Popen(
            [*MCPG, "explore", "--no-browser", QUERY], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        try:
            address = page.stdout.readline().strip() if page.stdout else ""
            profile = f"--user-data-dir={folder}/profile"
            subprocess.run([*CHROMIUM, profile, f"--screenshot={picture}", address], check=True)
        finally:
            page.terminate()
            page.wait()


if __name__ == "__main__":
    main()
