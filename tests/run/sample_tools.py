"""Tools for tests of the executor."""

from collections.abc import Mapping
from typing import Any

from metier.run.tool import Tool, function_tool, schema_tool


def giving(output: Any) -> Tool:
    """A tool that gives this output."""

    async def give() -> Any:
        return output

    return function_tool(give)


class Recorder:
    """A tool that remembers what it was called with."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.calls: list[Any] = []
        self.tool = schema_tool("person", schema, self.remember)

    async def remember(self, args: dict[str, Any]) -> int:
        self.calls.append(args)
        return len(self.calls)
