"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# In CI the same examples are tried every time, so that a run can be repeated; at a desk new ones
# are, so that more is found.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
