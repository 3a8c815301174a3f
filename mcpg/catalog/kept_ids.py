"""Ids that tools had before, so that a tool that joins a catalogue renames no other.

Ids depend on all tools of a catalogue: two that share a name are called by their sources as well. A
client that has seen an id must find the same tool under it later. So tools keep the ids that they
had, and others get what is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from mcpg.catalog.definitions import definition_text
from mcpg.catalog.model import Tool


def keep_ids(
    tools: Sequence[Tool], earlier: Iterable[Tool], reserved: Collection[str]
) -> tuple[list[str], set[str]]:
    """Find the id that each of *tools* had, and keeps.

    Of several tools with one source and name, those whose definition is the same as before keep
    their ids; then the others take those that are left, in order.

    Args:
        tools: The tools.
        earlier: Tools with the ids that they had; of two ids of one tool, the first counts, and
            of two tools with one id, the first keeps it.
        reserved: Ids that no tool may get, in lower case.

    Returns:
        The id of each tool, "" for none, and all ids that there were: no other tool gets one, also
        where its tool is gone.
    """
    by_key, taken = _group_earlier(earlier, reserved)
    groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, tool in enumerate(tools):
        groups[tool.key].append(number)
    kept = [""] * len(tools)
    for key, numbers in groups.items():
        known = {one.id: one for one in by_key.get(key, ())}
        if len(known) > 1 or len(numbers) > 1:
            same = {definition_text(one): one.id for one in known.values()}
            for number in numbers:
                text = definition_text(tools[number])
                tool_id = same.pop(text, "") if text is not None else ""
                if tool_id:
                    del known[tool_id]
                    kept[number] = tool_id
        rest = (number for number in numbers if not kept[number])
        for number, tool_id in zip(rest, known, strict=False):
            kept[number] = tool_id
    return kept, taken


def _group_earlier(
    earlier: Iterable[Tool], reserved: Collection[str]
) -> tuple[Mapping[tuple[str, str], list[Tool]], set[str]]:
    """Return the tools that keep an id, by source and name, and these ids."""
    taken: set[str] = set()
    by_key: defaultdict[tuple[str, str], list[Tool]] = defaultdict(list)
    texts: dict[tuple[str, str], set[str | None]] = {}
    for tool in earlier:
        key = tool.key
        known = by_key[key]
        if tool.id in taken or tool.id in reserved:
            continue
        if known:
            # A server may list thousands of tools under one name: none is compared with all.
            if key not in texts:
                texts[key] = {definition_text(one) for one in known}
            text = definition_text(tool)
            if text is not None and text in texts[key]:
                continue
            texts[key].add(text)
        taken.add(tool.id)
        known.append(tool)
    return by_key, taken
