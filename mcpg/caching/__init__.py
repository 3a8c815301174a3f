"""What builds keep for the next build, and the processes that share their work."""
