"""Servers that catalogs list: found before anything connects to them."""
