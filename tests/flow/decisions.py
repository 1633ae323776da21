"""The log of hook decisions: its lines, and files of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metier.storage.hook_files import DECISIONS as FILE
from metier.storage.room import Room

START = 1_763_219_441.125


def decision(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A line of the log as hooks write it; one that did nothing."""
    return {
        "id": f"19a2f3c4{number:04x}-3f2a",
        "at": START + number,
        "host": "claude-code",
        "event": "UserPromptSubmit",
        "session": "9f86d081884c",
        "session_type": "main",
        "mode": "on",
        "scorer": "spec",
        "arm": "",
        "cards": [],
        "skills": [],
        "tokens": 0,
        "characters": 0,
        "injected": False,
        "milliseconds": 7.1,
        "error": "",
        **changes,
    }


def injecting(number: int = 0, tokens: int = 400, **changes: Any) -> dict[str, Any]:
    """A line of one that handed a card over."""
    cards = [["billing", 0.5, 0.25, "injected", tokens]]
    return decision(number, **{"tokens": tokens, "injected": True, "cards": cards, **changes})


def verdict(number: int, right: bool) -> dict[str, Any]:
    return {"label": decision(number)["id"], "right": right, "at": START}


def text_of(lines: Sequence[Any]) -> bytes:
    """Lines as bytes; what is not bytes already is written as JSON."""
    parts = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines]
    return b"".join(part + b"\n" for part in parts)


def room_of(root: Path) -> Room:
    return Room(str(root / "state"))


def write_log(root: Path, *lines: Any, name: str = FILE) -> Path:
    file = root / "state" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text_of(lines))
    return file
