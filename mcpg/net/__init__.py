"""HTTP: one bounded client, addresses and header fields, and deadlines for any work."""
