"""Code graphs: symbols of source files, edges between them, and the pages with both."""
