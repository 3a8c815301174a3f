"""Language models that rewrite queries."""
