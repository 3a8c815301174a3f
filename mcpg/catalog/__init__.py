"""Tools, the hints that authors add to them, and the catalogue that holds them together."""
