"""The subcommands, one module each: `register` adds it to the program."""
