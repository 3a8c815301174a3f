"""Explanations: what a search did, why a tool is not found, and what would change it."""
