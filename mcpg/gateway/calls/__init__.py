"""Calls of tools: checked arguments, and servers, OpenAPI operations and functions behind them."""
