"""Code graphs: symbols of source files, edges between them, and the pages that hold both."""
