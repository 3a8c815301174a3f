"""Ids that tools had before, so that a tool that joins a catalogue renames no other.

Ids depend on all tools of a catalogue: two that share a name are called by their sources as well. A
client that has seen an id must find the same tool under it later. So tools keep the ids that they
had, and others get what is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from mcpg.catalog.definitions import is_same_definition
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
        for tool in earlier:
            known = self._by_key[tool.source_id, tool.name]
            is_free = tool.id not in self.taken and tool.id not in reserved
            if is_free and not any(is_same_definition(one, tool) for one in known):
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
            known = list(self._by_key.get(key, ()))
            if len(known) > 1 or len(numbers) > 1:
                for number in numbers:
                    same = next(
                        (one for one in known if is_same_definition(one, tools[number])), None
                    )
                    if same is not None:
                        known.remove(same)
                        kept[number] = same.id
            rest = (number for number in numbers if not kept[number])
            for number, one in zip(rest, known, strict=False):
                kept[number] = one.id
        return kept
