"""Changes between two states of a catalog: diffs, locks, and their impact on searches."""
