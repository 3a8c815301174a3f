"""The graph floor: documents as linked data, for those who ask for it.

Nothing here stands on the path of a search.
"""
