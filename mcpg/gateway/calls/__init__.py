"""gateway/calls/__init__.py."""
