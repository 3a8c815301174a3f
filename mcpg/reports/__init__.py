"""Reports: what `explain` and `eval` found, and the graph, as one HTML file that needs no network.

Pure functions from values to text. Nothing here reads a catalogue or a disk, and
nothing in a catalogue can become markup or script here.
"""

from __future__ import annotations

from mcpg.reports.evaluation import eval_page
from mcpg.reports.explain import explain_page
from mcpg.reports.graph import graph_page
from mcpg.reports.page import MARK

__all__ = ["MARK", "eval_page", "explain_page", "graph_page"]
