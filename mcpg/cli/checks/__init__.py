"""What `mcpg doctor` tries out: every part that is configured, for real."""
