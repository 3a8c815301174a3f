"""Tools, the hints that authors add to them, and the catalog of both."""
