"""The subcommands, one module each: `run` is the command; `mcpg.cli.app` adds it to the program."""
