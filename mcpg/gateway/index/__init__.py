"""The index of a gateway: snapshots, rebuilds, configured graphs and hints."""
