"""The search: from a query to ranked tools with calibrated scores."""
