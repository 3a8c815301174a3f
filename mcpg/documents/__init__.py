"""Tools and their relations as Markdown-LD documents, and back."""
