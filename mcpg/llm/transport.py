"""`Budget` and `Endpoint` under the name by which they were first documented."""

from mcpg.net.http import Budget, Endpoint

__all__ = ["Budget", "Endpoint"]
