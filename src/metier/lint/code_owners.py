"""Who owns a file, by the rules of a CODEOWNERS file. The last rule that matches counts."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

MOST_RULES = 5_000


class OwnerRule(NamedTuple):
    parts: Sequence[str]
    """The pattern by its folders; `**` is any number of them."""
    owners: tuple[str, ...]


def owner_rules(text: str) -> list[OwnerRule]:
    """The rules of a file; sections, comments and negated patterns are skipped."""
    rules: list[OwnerRule] = []
    default: tuple[str, ...] = ()
    for line in text.splitlines():
        pattern, *words = line.partition(" #")[0].replace("\\ ", "\0").split() or [""]
        if not pattern or pattern[0] in "#!":
            continue
        if pattern[0] in "[^":
            default = tuple(word for word in words if "@" in word)
            continue
        owners = tuple(word for word in words if "@" in word)
        rules.append(OwnerRule(_parts(pattern.replace("\0", " ")), owners or default))
    return rules[-MOST_RULES:]


def _parts(pattern: str) -> list[str]:
    is_anchored = "/" in pattern.rstrip("/")
    is_folder = pattern.endswith("/")
    parts = [part for part in pattern.split("/") if part]
    if not is_anchored:
        parts = ["**", *parts]
    is_below = not is_folder and parts[-1:] not in (["*"], ["**"])
    return [*parts, "**"] if is_folder or is_below else parts


def owners_of(path: str, rules: Sequence[OwnerRule]) -> tuple[str, ...]:
    """The owners of a path of the workspace; none if no rule matches."""
    parts = path.split("/")
    return next((rule.owners for rule in reversed(rules) if _matches(rule.parts, parts)), ())


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Compare folder by folder; `ends` are the numbers of parts that the pattern can take."""
    ends = {0}
    for one in pattern:
        if one == "**":
            ends = set(range(min(ends), len(parts) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(parts) and fnmatchcase(parts[end], one)}
        if not ends:
            return False
    return len(parts) in ends
