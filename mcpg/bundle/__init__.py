"""The bundle floor: from sources to one file, and back."""
