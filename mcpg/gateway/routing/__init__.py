"""gateway/routing/__init__.py."""
