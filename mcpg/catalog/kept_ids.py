"""Ids that tools had before, so that a tool that joins a catalogue renames no other.

Ids depend on all tools of a catalogue: two that share a name are called by their sources as well. A
client that has seen an id must find the same tool under it later. So tools keep the ids that they
had, and others get what is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from mcpg.catalog.definitions import definition_text
from mcpg.catalog.model import Tool


class KeptIds:
    """Ids that tools had.

    Attributes:
        taken: All of them; no other tool gets one, also where its tool is gone.
    """

    def __init__(self, earlier: Iterable[Tool], reserved: Collection[str] = ()) -> None:
        """Take the ids of *earlier* tools; of two tools with one id, the first keeps it.

        Args:
            earlier: Tools with the ids that they had; of two ids of one tool, the first counts.
            reserved: Ids that no tool may get, in lower case.
        """
        self.taken: set[str] = set()
        self._by_key: defaultdict[tuple[str, str], list[Tool]] = defaultdict(list)
        texts: dict[tuple[str, str], set[str | None]] = {}
        for tool in earlier:
            key = tool.source_id, tool.name
            known = self._by_key[key]
            if tool.id in self.taken or tool.id in reserved:
                continue
            if known:
                # A server may list thousands of tools under one name: none is compared with all.
                if key not in texts:
                    texts[key] = {definition_text(one) for one in known}
                text = definition_text(tool)
                if text is not None and text in texts[key]:
                    continue
                texts[key].add(text)
            self.taken.add(tool.id)
            known.append(tool)

    def of(self, tools: Sequence[Tool]) -> list[str]:
        """Return the id that each of *tools* keeps, "" for none.

        Of several tools with one source and name, those whose definition is the same as before
        keep their ids; then the others take those that are left, in order.
        """
        groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for number, tool in enumerate(tools):
            groups[tool.source_id, tool.name].append(number)
        kept = [""] * len(tools)
        for key, numbers in groups.items():
            known = {one.id: one for one in self._by_key.get(key, ())}
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
        return kept
