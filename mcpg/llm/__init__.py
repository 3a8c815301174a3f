"""Language models behind HTTP endpoints: one bounded client, and what rewrites queries with it."""
