"""Renderings of command results as text, Markdown, HTML and JSON."""
