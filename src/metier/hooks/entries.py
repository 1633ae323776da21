"""Entries in hosts' settings that run metier in a way that a folder can hijack."""

import json
import os
import shlex
import tomllib
from collections.abc import Iterator
from typing import Any

from metier.hooks.hosts import HOSTS
from metier.mcp.hosts import HOSTS as SERVER_HOSTS
from metier.storage.room import read_regular

_LARGEST = 1 << 20
_SAFE_FLAGS = ("-P", "-I")


def unsafe_entries(workspace: str, home: str) -> list[tuple[str, str]]:
    """Each file of a host's settings with a command that imports from the current folder."""
    files = dict.fromkeys(
        os.path.join(folder, place)
        for host in (*HOSTS.values(), *SERVER_HOSTS.values())
        for folder, place in ((workspace, host.project), (home, host.user))
        if place
    )
    return [(file, shlex.join(words)) for file in files for words in _commands(_parsed(file)) if
            is_unsafe(words)]  # fmt: skip


def is_unsafe(words: list[str]) -> bool:
    """Whether a command runs `python -m metier` with the current folder on Python's path."""
    for place in range(1, len(words)):
        if words[place - 1 : place + 1] == ["-m", "metier"]:
            return not any(word in _SAFE_FLAGS for word in words[: place - 1])
    return False


def _parsed(file: str) -> Any:
    try:
        text = read_regular(file, _LARGEST).decode()
        return tomllib.loads(text) if file.endswith(".toml") else json.loads(text)
    except (OSError, ValueError, RecursionError):
        return None


def _commands(data: Any) -> Iterator[list[str]]:
    """The words of every command in settings, wherever they stand."""
    if isinstance(data, dict):
        for key in ("command", "bash"):
            command, more = data.get(key), data.get("args")
            words = [command] if isinstance(command, str) else command
            if isinstance(words, list) and all(isinstance(word, str) for word in words):
                yield _split(words, more if isinstance(more, list) else [])
        for value in data.values():
            yield from _commands(value)
    elif isinstance(data, list):
        for value in data:
            yield from _commands(value)


def _split(words: list[str], more: list[Any]) -> list[str]:
    try:
        first = shlex.split(words[0]) if len(words) == 1 else words
    except ValueError:
        first = words
    return [*first, *(word for word in more if isinstance(word, str))]
