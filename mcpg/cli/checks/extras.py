"""Which optional packages are installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from mcpg.cli.checks.check import Check, Status

DISTRIBUTION = "mcpg-graph"
EXTRAS = {
    "embeddings": ("numpy", "onnxruntime", "tokenizers"),
    "faiss": ("faiss", "numpy"),
    "llm": ("httpx",),
    "mcp": ("filelock", "jsonschema", "mcp"),
    "postgres": ("numpy", "pgvector", "psycopg", "psycopg_pool"),
    "python": ("docstring_parser", "pydantic"),
    "shacl": ("pyshacl",),
    "telemetry": ("opentelemetry",),
}
"""What must be importable for each extra to be there."""

_DISTRIBUTIONS = {"faiss": "faiss-cpu", "opentelemetry": "opentelemetry-api"}


def install_command(extra: str) -> str:
    """Give the command that installs *extra*."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def check_extra(extra: str) -> Check:
    """Look whether the packages of *extra* are installed."""
    name = f"extra {extra}"
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        message = f"not installed: {', '.join(missing)}"
        return Check(name, Status.OFF, message, install_command(extra), {"missing": [*missing]})
    found = {module: _version(module) for module in EXTRAS[extra]}
    told = ", ".join(f"{module} {number}" for module, number in found.items())
    return Check(name, Status.OK, f"installed: {told}", details=found)


def _version(module: str) -> str:
    try:
        return version(_DISTRIBUTIONS.get(module, module.replace("_", "-")))
    except PackageNotFoundError:
        return "of unknown version"
