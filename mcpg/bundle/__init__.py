"""Bundles: sources merged into one file, and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.bundle.assemble import Assembly, assemble, build_bundle
from mcpg.bundle.codec import (
    RANKING,
    STALE,
    Bundle,
    Encoding,
    content_hash,
    decode_bundle,
    encode_bundle,
    mistakes_in,
)
from mcpg.bundle.folder import (
    LOCK_NAME,
    FolderPlan,
    apply_plan,
    generated_documents,
    plan_folder,
    read_bundle,
    write_bundle,
    write_encoded,
)
from mcpg.values import find_former

__all__ = [
    "LOCK_NAME",
    "RANKING",
    "STALE",
    "Assembly",
    "Bundle",
    "Encoding",
    "FolderPlan",
    "apply_plan",
    "assemble",
    "build_bundle",
    "content_hash",
    "decode_bundle",
    "encode_bundle",
    "generated_documents",
    "mistakes_in",
    "plan_folder",
    "read_bundle",
    "write_bundle",
    "write_encoded",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        return find_former(__name__, {"bundle_of": "build_bundle"}, name)
