"""cli/views/__init__.py."""
