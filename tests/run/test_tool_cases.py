"""The binding cases about tools, each through the public functions."""

import asyncio
import dataclasses
from collections.abc import Callable
from contextlib import suppress
from typing import Any, get_args

import pytest

from cases import binding_rows
from metier.run.tool import ToolCode, schema_tool
from metier.run.tools import ToolExecutor
from metier.values.agents import ToolResult

Given = dict[str, Any]
ROWS = binding_rows("abilities-and-agents.json", "INV-TOOL", "TOOL-")


@pytest.mark.parametrize("row", ROWS)
def test_a_binding_case_holds(row: dict[str, Any]) -> None:
    given, expect = row["given"], row["expect"]
    for shape, answer in ANSWERS:
        if shape <= given.keys():
            found = answer(given)
            assert {key: agrees(found, key, value) for key, value in expect.items()} == expect
            return
    pytest.fail(f"no reading for a case with {sorted(given)}")


def agrees(found: Given, key: str, value: Any) -> Any:
    """What was found under a key; a part of a text counts as found when it is there."""
    if key == "errorContains":
        return value if value in found["error"] else found["error"]
    return found[key]


def executed(name: str, args: Any, boom: str = "") -> Given:
    def handler(args: dict[str, Any]) -> str:
        if boom:
            raise RuntimeError(boom)
        return "done"

    executor = ToolExecutor()
    executor.register(schema_tool("known", {"additionalProperties": False}, handler))
    return {**asyncio.run(executor.execute(name, args)).to_json(), "raises": False}


def mutated(given: Given) -> Given:
    result = ToolResult(success=True, output=given["result"]["output"])
    with suppress(dataclasses.FrozenInstanceError):
        setattr(result, given["mutate"], "changed")
    return {"raisesOrIgnored": True, "valueAfter": getattr(result, given["mutate"])}


def mutated_inside(given: Given) -> Given:
    result = ToolResult(success=True, output=given["output"])
    with suppress(TypeError):
        result.output["a"].append(2)
    return {"outputAfter": result.output}


def failed(given: Given) -> Given:
    result = ToolResult.failed(given["errorCode"], given["error"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.error = "other"  # type: ignore[misc]  # what is tried
    return {**result.to_json(), "immutable": True}


ANSWERS: list[tuple[set[str], Callable[[Given], Given]]] = [
    ({"execute"}, lambda given: executed(given["execute"], given["args"])),
    ({"toolRaises"}, lambda given: executed("known", {}, given["toolRaises"])),
    ({"result", "mutate"}, mutated),
    ({"output", "mutate"}, mutated_inside),
    ({"error", "errorCode"}, failed),
    ({"args"}, lambda given: executed("known", given["args"])),
    (set(), lambda _given: {"codes": list(get_args(ToolCode))}),
]
