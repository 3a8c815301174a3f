"""The page of `mcpg explore`: an engine, two files and a page, behind one handler on loopback."""
