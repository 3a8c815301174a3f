"""Sources of a gateway, and its connections to servers."""
