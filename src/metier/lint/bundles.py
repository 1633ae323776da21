"""Rules for a skill and the files beside it: what is named and missing, what nothing names."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from metier.core.fences import NO_FENCES, fences_in, is_inline_code
from metier.values.outcomes import Issue

_LINK = r"\]\(\s*<?([^()<>\s\n]{1,300})"
_IN_CODE = r"`([^`\s\n]{1,300})`"
_PLACEHOLDER = r"[<>{}*$|\[\]]|\.\.|path/to|YYYY|XX|your[-_]|foo|my[-_]"
_FILE = r"[\w.-]+\.[A-Za-z]\w{0,5}$"
_NEEDS_NO_MENTION = (
    r"(?i)(?:^|/)(?:readme|license|licence|copying|notice|changelog|contributing|authors|security"
    r"|agents|claude|package|package-lock|tsconfig|requirements|pyproject|uv|makefile|dockerfile"
    r"|__init__|__main__|conftest|_meta|metadata|skill|index)(?:[.-][^/]*)?$"
    r"|(?:^|/)(?:tests?|evals?|__tests__|fixtures|agents)/|(?:^|/)test_|[._]test\.|\.lock$"
)
"""Files that programs and people look for by their names."""
_MOST_NAMED = 5


class Bundle(NamedTuple):
    """The files in a skill's folder, relative to it, without SKILL.md."""

    files: frozenset[str]
    folders: frozenset[str]
    """Of those files: `scripts`, `references/en`."""
    is_whole: bool
    """False if there are more files than were listed."""


def lint_bundle(
    path: str,
    body: str,
    body_line: int,
    bundle: Bundle,
    *,
    is_there: Callable[[str], bool],
    read: Callable[[str], str],
) -> Iterator[Issue]:
    """Findings about the files of one skill; `read` gives the text of one of them, or nothing."""
    links, paths = _links(body), _paths_in_code(body, bundle.folders)
    for code, found in (("SK327", links), ("SK330", paths)):
        missing = {
            target: at
            for target, at in _outside_fences(body, found)
            if target not in bundle.files and not is_there(target)
        }
        if missing:
            at = min(missing.values())
            line, column = body_line + body.count("\n", 0, at), at - body.rfind("\n", 0, at)
            message = f"{_named(list(missing))} {'does' if len(missing) == 1 else 'do'} not exist"
            hint = "add the file, or correct the path, which is relative to the skill's folder"
            yield Issue(code, message, path, line, column, hint)
    unnamed = sorted(_unnamed(body, bundle.files, read)) if bundle.is_whole else []
    if unnamed:
        verb, them = ("is", "it") if len(unnamed) == 1 else ("are", "them")
        message = f"{_named(unnamed)} {verb} in the folder, and nothing mentions {them}"
        hint = f"say in SKILL.md when to read or run {them}, or remove {them}"
        yield Issue("SK328", message, path, body_line, 1, hint)


def _named(names: list[str]) -> str:
    shown = ", ".join(f"'{name[:80]}'" for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _outside_fences(body: str, found: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    places = list(found)
    code = fences_in(body) if places else NO_FENCES
    return ((target, at) for target, at in places if not code.holds(at))


def _links(body: str) -> Iterator[tuple[str, int]]:
    """The files that links lead to, with the positions of the links."""
    for match in re.finditer(_LINK, body) if "](" in body else ():
        target = _unquoted(match[1].partition("#")[0].partition("?")[0]).removeprefix("./")
        if _is_file(target) and not is_inline_code(body, match.start()):
            yield target, match.start(1)


def _unquoted(target: str) -> str:
    if "%" not in target:
        return target
    from urllib.parse import unquote  # takes long to load, and few links need it

    return unquote(target)


def _paths_in_code(body: str, folders: Collection[str]) -> Iterator[tuple[str, int]]:
    """Paths within a line whose folder is there; others may be paths of the user's project."""
    for match in re.finditer(_IN_CODE, body) if folders else ():
        target = match[1].removeprefix("./")
        if target.rpartition("/")[0] in folders and _is_file(target):
            yield target, match.start(1)


def _is_file(target: str) -> bool:
    name = target.rpartition("/")[2]
    if ":" in target or target.startswith(("/", "~", "#", "@")) or not re.fullmatch(_FILE, name):
        return False
    return "/" in target or name.endswith(".md") if not re.search(_PLACEHOLDER, target) else False


def _unnamed(body: str, files: Collection[str], read: Callable[[str], str]) -> set[str]:
    """The files that neither the skill nor a named file names."""
    left = {name for name in files if not re.search(_NEEDS_NO_MENTION, name)}
    texts = [body]
    waiting = sorted(files)
    while texts and left:
        named = {name for name in left if any(_mentions(text, name) for text in texts)}
        left -= named
        reached = [name for name in waiting if name in named or name not in left]
        waiting = [name for name in waiting if name not in reached]
        texts = [text for name in reached if (text := read(name))]
    return left


def _mentions(text: str, name: str) -> bool:
    """Whether a text names a file: by its name, as a module, or by a folder around it."""
    folder, _, file = name.rpartition("/")
    stem = file.rpartition(".")[0] or file
    if file in text or (len(stem) > 2 and stem in text):
        return True
    parts = folder.split("/") if folder else []
    return any(f"{part}/" in text or f"`{part}`" in text for part in parts)
