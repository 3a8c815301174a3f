"""The graph room: documents as linked data.

Nothing here is on the path of a search.
"""
