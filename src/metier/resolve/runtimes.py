"""Which host runtimes a skill says to work in."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from metier.resolve.pool import Pool
from metier.resolve.words import Floats

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


def runtime_scores(pool: Pool, host: str | None) -> Floats:
    """S_runtime: 1.0 where the host is listed or nothing is, or no host is given; else 0.0."""
    scores = np.ones(len(pool))
    if host is None:
        return scores
    wanted = host.strip().lower()
    for place in pool.restricted:
        runtimes = compatibility(pool.candidates[place].compatibility, wanted).runtimes
        if runtimes and wanted not in runtimes:
            scores[place] = 0.0
    return scores
