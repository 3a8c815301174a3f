"""Texts that a language model writes once for each tool, so that people's own words find it."""
