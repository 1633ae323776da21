import asyncio
import sys

from mcp import Client, StdioServerParameters

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "metier", "mcp"])


async def ask(capability: str) -> None:
    async with Client(SERVER) as client:
        answer = await client.call_tool("capability_resolve", {"requires": [capability]})
        print(answer.structured_content["selected"])


asyncio.run(ask("web-search"))
