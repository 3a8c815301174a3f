"""Changes between two states of a catalogue: diffs, locks, and their impact on searches."""
