"""gateway/index/__init__.py."""
