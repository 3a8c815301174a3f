"""The errors that mcpg raises.

McpgError
├── InputError        something given to mcpg cannot be used
│   ├── SourceError       a manifest, hints file or folder
│   ├── DocumentError     a Markdown-LD document
│   └── BundleError       a bundle file
├── OutputError       something cannot be written, or would overwrite what is not ours
├── UsageError        an option or a setting makes no sense
└── NotFoundError     a tool, file or bundle that was named does not exist
"""

from __future__ import annotations


def os_reason(fault: Exception) -> str:
    """Return why the operating system refused something, such as "permission denied"."""
    return (getattr(fault, "strerror", None) or str(fault)).lower()


class McpgError(Exception):
    """Root of every error that mcpg raises on purpose.

    Attributes:
        message: What is wrong, naming the thing at fault.
        place: Where it is wrong (a file, `file:line`, a member), or `None`.
        remedy: What the reader can do about it, or `None`.
    """

    def __init__(
        self, message: str, *, place: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        advice = f" ({self.remedy})" if self.remedy else ""
        return f"{where}{self.message}{advice}"


class InputError(McpgError):
    """Something given to mcpg cannot be used."""


class SourceError(InputError):
    """A manifest, hints file or folder cannot be used."""


class DocumentError(InputError):
    """A Markdown-LD document cannot be used."""


class BundleError(InputError):
    """A bundle file cannot be used."""


class OutputError(McpgError):
    """Something cannot be written, or writing would destroy what is not ours."""


class UsageError(McpgError):
    """An option or a setting makes no sense."""


class NotFoundError(McpgError):
    """A tool, file or bundle that was named does not exist."""
