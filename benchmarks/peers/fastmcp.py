"""FastMCP's skills provider: skills as resources of an MCP server."""

import asyncio
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers.protocol import Peer


def _index(skills: Path, _state: Path) -> int:
    return asyncio.run(_listed(skills))


async def _listed(skills: Path) -> int:
    fastmcp: Any = import_module("fastmcp")
    provider: Any = import_module("fastmcp.server.providers.skills").SkillsDirectoryProvider
    server = fastmcp.FastMCP("skills")
    server.add_provider(provider(roots=skills))
    async with fastmcp.Client(server) as client:
        resources = await client.list_resources()
    return sum(str(one.uri).endswith("/SKILL.md") for one in resources)


PEER = Peer(
    name="fastmcp",
    packages=("fastmcp",),
    about="skills as MCP resources; its index is the list that a client gets, made anew each start",
    strengths=(
        "A whole MCP framework: authentication, proxies, OpenAPI, middleware, clients.",
        "Serves supporting files and a manifest of hashes; clients can download whole skills.",
    ),
    index=_index,
)
