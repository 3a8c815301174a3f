"""Bundles: sources merged into one file, and read back."""

from __future__ import annotations

from mcpg.bundle.assemble import Assembly, assemble, bundle_of
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
    "bundle_of",
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
