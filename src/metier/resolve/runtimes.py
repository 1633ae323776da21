"""Which host runtimes a skill says to work in."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from metier.core.arrays import Arrays, Floats

KNOWN = frozenset(
    {
        *("copilot", "cli", "opencode", "claude-code", "codex"),
        *("gemini", "cursor", "openclaw", "vscode"),
    }
)
_ANY = "all"


class Compatibility(NamedTuple):
    """The runtimes of one skill; with none it works anywhere."""

    runtimes: frozenset[str] = frozenset()
    unknown: tuple[str, ...] = ()
    """Tokens that nobody knows; they do not count."""


def compatibility(field: str | Sequence[str], host: str | None = None) -> Compatibility:
    """What a `compatibility` field says. Prose, or nothing that is known, binds to no runtime."""
    parts = field.split(",") if isinstance(field, str) else field
    tokens = [token for token in (part.strip().lower() for part in parts) if token]
    if any(" " in token or "." in token for token in tokens):
        return Compatibility()
    known = KNOWN | {_ANY, host or _ANY}
    unknown = tuple(token for token in dict.fromkeys(tokens) if token not in known)
    if _ANY in tokens:
        return Compatibility(unknown=unknown)
    return Compatibility(frozenset(tokens).intersection(known), unknown)


def runtime_scores(
    arrays: Arrays,
    count: int,
    fields: Iterable[tuple[int, str | Sequence[str]]],
    host: str | None,
) -> Floats:
    """S_runtime: 1.0 where the host is listed or nothing is, or no host is given; else 0.0.

    `fields` are the `compatibility` fields of those of `count` candidates that have one.
    """
    scores: Floats = arrays.ones(count)
    if host is None:
        return scores
    for place, field in fields:
        runtimes = compatibility(field, host).runtimes
        if runtimes and host not in runtimes:
            scores[place] = 0.0
    return scores
