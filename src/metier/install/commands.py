"""Entries in hosts' settings that run metier in a way that a folder can hijack."""

import json
import os
import shlex
from collections.abc import Iterator
from typing import Any

from metier.core.paths import is_inside
from metier.core.toml import toml_of
from metier.hosts.servers import HOSTS as SERVER_HOSTS
from metier.hosts.settings import HOSTS, is_unsafe
from metier.storage.room import read_regular

_LARGEST = 1 << 20


def unsafe_entries(workspace: str, home: str) -> list[tuple[str, str]]:
    """Each file of a host's settings with a command that imports from the current folder."""
    files = dict.fromkeys(
        os.path.join(folder, place)
        for host in (*HOSTS.values(), *SERVER_HOSTS.values())
        for folder, place in ((workspace, host.project), (home, host.user))
        if place and (folder == home or _is_within(os.path.join(folder, place), folder))
    )
    return [(file, shlex.join(words)) for file in files for words in _commands(_parsed(file)) if
            is_unsafe(words)]  # fmt: skip


def _is_within(file: str, workspace: str) -> bool:
    """Whether a file of a workspace is really inside it, wherever links lead."""
    return is_inside(os.path.realpath(file), workspace)


def _parsed(file: str) -> Any:
    try:
        text = read_regular(file, _LARGEST).decode()
        return toml_of(text) if file.endswith(".toml") else json.loads(text)
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
