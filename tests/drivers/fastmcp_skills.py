"""FastMCP's server and client of skills, in an environment that has FastMCP 4.2 or later.

    python fastmcp_skills.py serve FOLDER [PORT]
    python fastmcp_skills.py read COUNT < SERVERS

The first serves the skills in a folder. The second waits until a server, the value of `mcpServers`
with one entry, lists so many skills, and reads all. It prints the entries of the list, those that
it got one by one, and the bytes of all files, by the addresses of the skills.
"""

import asyncio
import base64
import json
import sys
from typing import Any

import fastmcp
from fastmcp.skills import SkillsClientExtension
from fastmcp.skills.provider import SkillsDirectoryProvider


def serve(folder: str, port: str = "") -> None:
    """Serve the skills in *folder*."""
    server: Any = fastmcp.FastMCP("skills", providers=[SkillsDirectoryProvider(folder)])
    if port:
        server.run(transport="http", port=int(port), show_banner=False, log_level="CRITICAL")
    else:
        server.run(show_banner=False, log_level="CRITICAL")


async def read(count: int, servers: Any) -> dict[str, Any]:
    """Return all that FastMCP's client gets of skills; `read_skill` verifies every file."""
    found: dict[str, Any] = {"list": {}, "get": {}, "files": {}}
    config: Any = {"mcpServers": servers}
    listed: Any = []
    async with fastmcp.Client(config, extensions=[SkillsClientExtension()]) as client:
        # A gateway lists what it knows before slow servers have started, and announces the rest.
        for _ in range(120):
            listed = await client.list_skills(cache_mode="bypass")
            if len(listed) >= count:
                break
            await asyncio.sleep(1)
        for one in listed:
            found["list"][one.uri] = one.model_dump(mode="json", by_alias=True)
            got = await client.get_skill(one.uri)
            found["get"][one.uri] = got.model_dump(mode="json", by_alias=True)
            skill = await client.read_skill(one.uri)
            files = {path: base64.b64encode(data).decode() for path, data in skill.files.items()}
            found["files"][one.uri] = files
    return found


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(*sys.argv[2:])
    else:
        print(json.dumps(asyncio.run(read(int(sys.argv[2]), json.load(sys.stdin)))))
