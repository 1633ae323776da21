"""Decisions in the log of a workspace, for the kill switch to count."""

import json
from typing import Any

from hook.hooks import Hooks

LEAST = 20
"""Decisions before the kill switch may act."""


def row(number: int = 0, **changes: Any) -> dict[str, Any]:
    return {"id": "", "at": 1_763_219_441.125, "number": number, "mode": "on", **changes}


def log_rows(hooks: Hooks, *rows: dict[str, Any]) -> None:
    with (hooks.state / "decisions.jsonl").open("a") as stream:
        stream.writelines(json.dumps(one) + "\n" for one in rows)


def decided(injected: bool, mode: str = "on") -> dict[str, Any]:
    return row(mode=mode, injected=injected)
