"""gateway/sessions/__init__.py."""
