"""Evaluation: judged queries, their search results, metrics and thresholds."""
