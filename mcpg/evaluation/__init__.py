"""Evaluation: judged queries, what a search makes of them, and whether that is good enough."""
