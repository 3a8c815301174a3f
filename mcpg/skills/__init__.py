"""Agent Skills: folders with a `SKILL.md`, searched beside tools, read and never run."""
