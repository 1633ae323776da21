"""Commands in hosts' settings: which of them run metier, and which of these are unsafe."""

import json
import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from metier.core.paths import is_inside
from metier.core.toml import toml_of
from metier.hosts.known import HOOKS, SERVERS
from metier.storage.room import read_regular

_LARGEST = 1 << 20


def shell_words(command: object) -> list[str]:
    try:
        return shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return []


def around(words: Sequence[str], *called: str) -> tuple[list[str], list[str]] | None:
    """The words up to `metier`, and those after `called`; None if it is not called."""
    for end, word in enumerate(words, start=1):
        if os.path.basename(word) == "metier" and tuple(words[end:][: len(called)]) == called:
            return list(words[:end]), list(words[end + len(called) :])
    return None


def is_as_installed(words: Sequence[str], *called: str) -> bool:
    """Whether a command has the form that install writes: an absolute path, and no more."""
    before, after = around(words, *called) or ([], [])
    is_form = len(before) == 1 or before[1:] == ["-P", "-m", "metier"]
    return is_form and os.path.isabs(before[0]) and not after


def is_by_hand(command: object, host: str) -> bool:
    """Whether a hook's command has another form that works, and is safe."""
    words = shell_words(command)
    before, after = around(words, "hook", host) or ([], ["-"])
    has_options = bool(after) and after[0].startswith("-")
    is_written = is_as_installed(words, "hook", host)
    return not has_options and not is_unsafe(before) and not is_written


def is_unsafe(words: Sequence[str]) -> bool:
    """Whether a command runs `python -m metier` with the current folder on Python's path."""
    for at in range(1, len(words)):
        flags, module = words[at - 1], words[at]
        if module == "metier" and flags.startswith("-") and flags.endswith("m"):
            return not any(map(_is_safe_flag, words[:at]))
    return False


def _is_safe_flag(word: str) -> bool:
    if word.startswith("PYTHONSAFEPATH="):
        return word != "PYTHONSAFEPATH="
    return word.startswith("-") and not word.startswith("--") and bool(set(word) & {"P", "I"})


def unsafe_entries(workspace: str, home: str) -> list[tuple[str, str]]:
    """Each settings file of a host with a command that imports from the current folder."""
    files = dict.fromkeys(
        os.path.join(folder, file)
        for host in (*HOOKS.values(), *SERVERS.values())
        for folder, file in ((workspace, host.project), (home, host.user))
        if file and (folder == home or _is_within(os.path.join(folder, file), folder))
    )
    found = ((file, words) for file in files for words in _commands(_parsed(file)))
    return [(file, shlex.join(words)) for file, words in found if is_unsafe(words)]


def _is_within(file: str, workspace: str) -> bool:
    return is_inside(os.path.realpath(file), workspace)


def _parsed(file: str) -> Any:
    try:
        text = read_regular(file, _LARGEST).decode()
        return toml_of(text) if file.endswith(".toml") else json.loads(text)
    except (OSError, ValueError, RecursionError):
        return None


def _commands(data: Any) -> Iterator[list[str]]:
    if isinstance(data, dict):
        for key in ("command", "bash"):
            words = words_of({"command": data.get(key)})
            first = (shell_words(words[0]) or words) if len(words) == 1 else words
            if first:
                yield [*first, *words_of({"command": data.get("args")})]
        data = list(data.values())
    for value in data if isinstance(data, list) else ():
        yield from _commands(value)


def words_of(entry: object) -> list[str]:
    """The command of an entry and its arguments, as one list."""
    if not isinstance(entry, dict):
        return []
    command, args = entry.get("command"), entry.get("args", [])
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, list) or not isinstance(args, list):
        return []
    return [str(word) for word in (*words, *args)]
