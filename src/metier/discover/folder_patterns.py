"""Folders as settings name them: a path, or a pattern such as `teams/*/agents`."""

import os
from collections.abc import Iterable


def is_pattern(folder: str, base: str) -> bool:
    """Whether it has wildcards and no folder has that very name."""
    has_magic = any(char in folder for char in "*?[")
    return has_magic and not os.path.isdir(os.path.join(base, folder))


def matching(folders: Iterable[str], base: str) -> list[str]:
    """The named folders, each once; matches of a pattern are sorted."""
    found: list[str] = []
    for folder in folders:
        found += _matches(folder, base) if is_pattern(folder, base) else [folder]
    return list(dict.fromkeys(filter(None, found)))


def watched(folders: Iterable[str], base: str) -> list[str]:
    """The named folders, and for patterns those in which new matches may appear."""
    found: list[str] = []
    for folder in folders:
        if not is_pattern(folder, base):
            found.append(folder)
            continue
        parts = folder.split("/")
        for end in range(1, len(parts) + 1):
            found += matching(["/".join(parts[:end]) or "/"], base)
    return list(dict.fromkeys(filter(None, found)))


def fixed_part(pattern: str) -> str:
    """The folder above all that a pattern can match: `../teams` of `../teams/*/skills`."""
    parts = pattern.split("/")
    first = next(number for number, part in enumerate(parts) if any(one in part for one in "*?["))
    return "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")


def _matches(pattern: str, base: str) -> list[str]:
    from glob import glob  # most settings have no pattern

    found = (one.rstrip("/") for one in glob(pattern, root_dir=base or None, recursive=True))
    return sorted(one for one in found if os.path.isdir(os.path.join(base, one)))
