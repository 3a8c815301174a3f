"""What triples are written as, one module per format."""
