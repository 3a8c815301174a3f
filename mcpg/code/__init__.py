"""Code graphs: the symbols of source files, the edges between them, and the pages that hold both."""
