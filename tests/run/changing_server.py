"""An MCP server whose tools are what `said.json` says when it starts."""

SERVER = """
import json, os
from typing import Annotated, Any
from mcp.server import MCPServer
from pydantic import Field

server = MCPServer("shop")
said = json.load(open("said.json"))

def price(item: Annotated[str, Field(description=said.get("item", "Its name."))]) -> str:
    return said.get("answer", "3 euros")

def find(code: Annotated[str, Field(pattern=said.get("pattern", "^[a-z]+$"))]) -> str:
    return "found"

def stop() -> str:
    os._exit(3)

def large() -> str:
    return "x" * 2_000_000

for function in (price, find, stop, large):
    name = function.__name__
    if name not in said.get("without", []):
        server.tool(name=name, description=said.get(name, "Does it."))(function)
if "extra" in said:
    server.tool(name="extra", description=said["extra"])(lambda: "more")
server.run()
"""
