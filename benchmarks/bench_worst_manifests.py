"""Loading the worst manifests of a size: texts that are made to be read slowly.

    python benchmarks/bench_worst_manifests.py [--kilobytes 256] [--bar 2] [--times 3]

Each is loaded by a process of its own and searched once. One that is refused with an error of mcpg
counts as loaded, and is marked. Some are Markdown documents or a client configuration, for these
are read as manifests are.

Columns: kB of the manifest, seconds of processor time that loading it takes, the least of several
times, which other work on the machine disturbs less than the clock, x plain the ratio to a manifest
of plain English. The exit code is 1 when one takes longer than the bar.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import HERE, environment, row

sys.path.insert(0, str(HERE.parent / "tests"))
from hostile import words_of_one_crc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

PLAIN = "plain English"
LOAD = """
import sys, time, mcpg
start = time.process_time()
try:
    mcpg.load(sys.argv[1]).search("shipment status")
    how = "loaded"
except mcpg.McpgError:
    how = "refused"
print(time.process_time() - start, how)
"""
_LONGEST = 600.0


def described(*descriptions: str) -> list[Any]:
    """Make a tool of each description."""
    return [tool(f"tool_{number}", text) for number, text in enumerate(descriptions)]


def tool(name: str, description: str = "A tool.", **members: Any) -> dict[str, Any]:
    """Make one tool of a manifest."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}} | members


def repeated(part: str, size: int) -> str:
    """Repeat *part* up to *size* bytes."""
    return part * (size // len(part.encode()))


def numbered(pattern: str, size: int) -> str:
    """Fill *size* bytes with forms of *pattern*, each with a number of its own."""
    length = len(pattern.format(10**6).encode()) + 1
    return " ".join(map(pattern.format, range(10**6, 10**6 + size // length)))


def case_variants(size: int) -> list[Any]:
    """Name tools alike but for case."""
    made = [tool(f"{number:013b}".translate(_CASES), "") for number in range(size // 75)]
    return made[: size // 75]


_CASES = str.maketrans("01", "aA")


def large_tool(size: int) -> list[Any]:
    """Make one tool of a schema of many properties, each referring to a definition."""
    field = {"$ref": "#/$defs/one", "description": "A field of it."}
    properties = {f"field_{number}": field for number in range(size // 75)}
    definition = {"type": "object", "properties": {"id": {"type": "string"}}}
    schema = {"type": "object", "properties": properties, "$defs": {"one": definition}}
    return [tool("large", inputSchema=schema)]


def nested_tool(size: int) -> list[Any]:
    """Make one tool whose definitions refer to the next, twice each."""
    count = size // 110
    definitions = {
        f"d{number}": {
            "type": "object",
            "properties": {name: {"$ref": f"#/$defs/d{number + 1}"} for name in "ab"},
        }
        for number in range(count)
    }
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}
    return [tool("nested", inputSchema=schema)]


def flowing_tools(size: int) -> list[Any]:
    """Make tools that all give what all others need."""
    fields = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    needed = fields | {"required": ["order_id"]}
    return [
        tool(f"order_{number}", inputSchema=needed, outputSchema=fields)
        for number in range(size // 260)
    ]


_PLAIN_WORDS = (
    "list",
    "every",
    "open",
    "order",
    "of",
    "a",
    "customer",
    "by",
    "status",
    "and",
    "city",
)


def plain(size: int) -> list[Any]:
    """Describe tools in plain English."""
    text = " ".join(islice(cycle(_PLAIN_WORDS), 40))
    return [tool(f"tool_{number}", text) for number in range(size // 350)]


def named(unit: str, size: int) -> list[Any]:
    """Name one tool by *unit* repeated."""
    return [tool(repeated(unit, size))]


def one_text(unit: str, size: int) -> list[Any]:
    """Describe one tool by *unit* repeated."""
    return described(f"a{repeated(unit, size)}")


def page(text: str) -> dict[str, str]:
    """Make a folder of one document."""
    return {"page.md": text}


def linked_pages(size: int) -> dict[str, str]:
    """Make documents of tools that link to three others each."""
    count = size // 130
    return {
        f"t{number}.md": f"---\nmcp_tool: t{number}\n---\n# T{number}\n\n"
        + " ".join(f"[[t{(number + step) % count}]]" for step in (1, 7, 31))
        for number in range(count)
    }


CASES: Mapping[str, Callable[[int], list[Any] | dict[str, str]]] = {
    PLAIN: plain,
    "combining marks": partial(one_text, "\u0301\u0316"),
    "combining marks in a name": partial(named, "\u0301\u0316"),
    "letters that become marks": partial(one_text, "\uff9e\u093c"),
    "U+FDFA": partial(one_text, "\ufdfa"),
    "U+FDFA in a name": partial(named, "\ufdfa"),
    "U+FDFA, numbered": lambda size: described(numbered("\ufdfa{:x}", size)),
    "Hebrew without a break": partial(one_text, "של"),
    "Thai without a break": partial(one_text, "เสือ"),
    "camelCase without a break": partial(one_text, "aB"),
    "words of one CRC-32": lambda size: described(" ".join(words_of_one_crc(size // 19))),
    "distinct short words": lambda size: described(numbered("{:x}q", size)),
    "distinct words of 64": lambda size: described(numbered("{:x}".rjust(61, "q"), size)),
    "heading with many spaces": lambda size: page(f"# a{' ' * size}b"),
    "headings with many spaces": lambda size: page(repeated(f"# a{' ' * 1000}b\n", size)),
    "front matter that nests": lambda size: page(f"---\nmcpg: {'[' * size}\n---\n# A\n"),
    "comments without an end": lambda size: {
        "mcp.json": '{"mcpServers": {}}' + "/* " * (size // 3)
    },
    "documents with links": linked_pages,
    "case variants of a name": case_variants,
    "one large tool": large_tool,
    "definitions that refer on": nested_tool,
    "tools that feed each other": flowing_tools,
}


def files(made: list[Any] | dict[str, str], size: int) -> dict[str, str]:
    """Write a manifest of at most *size* bytes, fewer tools where they are too many."""
    if isinstance(made, dict):
        return made
    while True:
        text = json.dumps({"tools": made}, ensure_ascii=False)
        if len(text.encode()) <= size:
            return {"manifest.json": text}
        made = made[: len(made) * 9 // 10]


def measure(texts: Mapping[str, str]) -> tuple[float, str]:
    """Return the processor time that loading files takes by itself, and what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        source = Path(folder) / next(iter(texts)) if len(texts) == 1 else Path(folder)
        command = [sys.executable, "-c", LOAD, str(source)]
        settings: Any = {"capture_output": True, "text": True, "cwd": HERE, "env": environment()}
        try:
            done = subprocess.run(command, check=True, timeout=_LONGEST, **settings)
        except subprocess.TimeoutExpired:
            return _LONGEST, "timed out"
        except subprocess.CalledProcessError as fault:
            return _LONGEST, f"crashed: {fault.stderr.strip().splitlines()[-1][:60]}"
    seconds, how = done.stdout.split()
    return float(seconds), how


def rows(size: int, times: int) -> Iterator[tuple[str, float]]:
    """Print a row for each manifest, and give its name and seconds."""
    least = 0.0
    for name, make in CASES.items():
        texts = files(make(size - 512), size)
        seconds, how = min(measure(texts) for _ in range(times))
        least = least or seconds
        line = row(
            name,
            sum(len(text.encode()) for text in texts.values()) / 1024,
            seconds,
            seconds / least,
        )
        print(line if how == "loaded" else f"{line}  {how}", flush=True)
        yield name, seconds


def main() -> int:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kilobytes", type=int, default=256)
    parser.add_argument("--bar", type=float, default=2.0)
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    print(row("manifest", "kB", "seconds", "x plain"))
    loaded = rows(arguments.kilobytes * 1024, arguments.times)
    slow = [name for name, took in loaded if took > arguments.bar]
    if slow:
        print(f"slower than {arguments.bar:g} s: {', '.join(slow)}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
