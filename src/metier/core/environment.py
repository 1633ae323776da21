"""The small environment of the programs that metier starts: no key of the user is in it."""

import os
from collections.abc import Iterable

KEPT = ("PATH", "HOME", "LANG")
"""What a program sees of the environment unless more is named."""


def small_environment(more: Iterable[str] = ()) -> dict[str, str]:
    """What every program gets of the environment, and what `more` names; only what is set."""
    return {name: os.environ[name] for name in (*KEPT, *more) if name in os.environ}
