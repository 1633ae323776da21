"""Shell commands that read a SKILL.md, or run a script of a skill."""

import os
import shlex
from collections.abc import Iterator
from itertools import groupby
from typing import Any

_READERS = frozenset(["cat", "head", "tail", "less", "more", "bat", "nl", "sed"])
_RUNNERS = frozenset(
    ["python", "python3", "bash", "zsh", "sh", "node", "deno", "ruby", "perl", "pwsh", "uv"]
)
_SHELLS = frozenset(["bash", "sh", "zsh"])
_LONGEST = 20_000
_SCRIPTS = "/scripts/"
_SEPARATORS = frozenset("();<>|&\n")


def skill_files(command: Any, folder: str) -> Iterator[str]:
    """The SKILL.md of each skill that a command, run in `folder`, reads or runs a script of."""
    for words in _commands(command):
        program, given = os.path.basename(words[0]), words[1:]
        if program in _READERS and (program != "sed" or "-n" in given):
            named = [word for word in given if os.path.basename(word) == "SKILL.md"]
            yield from (_absolute(word, folder) for word in named)
        elif script := _script(program, words):
            skill, _, inside = _absolute(script, folder).rpartition(_SCRIPTS)
            if skill and inside:
                yield f"{skill}/SKILL.md"


def _script(program: str, words: list[str]) -> str:
    """The script that is run: the program itself, or the first argument of an interpreter."""
    if program not in _RUNNERS:
        return words[0] if "/" in words[0] else ""
    given = (word for word in words[1:] if not word.startswith("-") and word != "run")
    return next(given, "")


def _absolute(path: str, folder: str) -> str:
    known = os.path.expanduser(path) if path.startswith("~/") else path
    return os.path.normpath(os.path.join(folder, known))


def _commands(command: Any) -> Iterator[list[str]]:
    """The words of each simple command in a text, or in the arguments of a shell."""
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        is_shell = len(words) > 2 and os.path.basename(words[0]) in _SHELLS
        if not (is_shell and words[1].startswith("-")):
            yield from [words] if words else []
            return
        command = words[2]
    if isinstance(command, str):
        for is_separator, some in groupby(_words(command[:_LONGEST]), _is_separator):
            if not is_separator:
                yield list(some)


def _words(command: str) -> list[str]:
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an open quote
        return command.split()


def _is_separator(word: str) -> bool:
    return word == ";" or _SEPARATORS.issuperset(word)
