"""Who makes vectors, and who rewrites queries: each is asked for one text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.checks.check import Check, Status, timed
from mcpg.cli.checks.extras import install_command

if TYPE_CHECKING:
    from mcpg.cli.equipping import Equipping
    from mcpg.cli.settings import Settings

TEXT = "track a shipment"
FOREIGN_TEXT = "wo ist meine Sendung"


def check_provider(settings: Settings, equipping: Equipping) -> Check:
    """Embed one text."""
    from mcpg.embeddings.provider import EmbeddingError, embed_query  # noqa: PLC0415 - help does without

    name = "embeddings"
    is_wanted = equipping.needs_vectors or settings.find("embeddings.with") is not None
    try:
        provider = equipping.provider()
        if provider is None:
            return Check(name, Status.OFF, "no provider is wanted")
        vector, took = timed(lambda: embed_query(provider, TEXT))
    except EmbeddingError as fault:
        if is_wanted or fault.kind != "missing":
            raise
        return Check(name, Status.OFF, fault.message, fault.remedy or install_command("embeddings"))
    details = {
        "fingerprint": provider.fingerprint,
        "dimensions": len(vector),
        "durationMs": took,
    }
    message = f"{provider.fingerprint!r} embeds: {len(vector)} dimensions, {took:g} ms"
    return Check(name, Status.OK, message, details=details)


def check_normalizer(settings: Settings, equipping: Equipping) -> Check:
    """Have one query rewritten."""
    name = "normalization"
    is_set = settings.find("normalization.model") is not None
    if not (is_set or equipping.is_normalizing):
        return Check(name, Status.OFF, "no language model is set to rewrite queries")
    normalizer = equipping.normalizer()
    if normalizer is None:
        remedy = "set MCPG_LLM_MODEL, and MCPG_LLM_URL or MCPG_LLM_API_KEY"
        return Check(name, Status.FAILED, "it is enabled, and no model is named", remedy)
    answer, took = timed(lambda: normalizer.rewrite(FOREIGN_TEXT))
    details = {"fingerprint": normalizer.fingerprint, "durationMs": took}
    if not answer.strip():
        message = f"{normalizer.fingerprint!r} answers nothing"
        return Check(name, Status.FAILED, message, "name another model", details)
    message = f"{normalizer.fingerprint!r} answers in {took:g} ms"
    if not equipping.is_normalizing:
        remedy = "ask for it with --normalize or MCPG_NORMALIZE"
        return Check(name, Status.NOTE, f"{message}, but it is not enabled", remedy, details)
    return Check(name, Status.OK, message, details=details)
