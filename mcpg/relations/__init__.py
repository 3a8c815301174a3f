"""Relations between tools: groups, related tools, next steps, each edge with its reason."""
