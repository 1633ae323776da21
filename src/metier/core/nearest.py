"""Did you mean …?"""

from collections.abc import Iterable


def nearest(wanted: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """The known word most like `wanted`; empty when none is near: `likeness` is from 0 to 1."""
    from difflib import get_close_matches  # only what goes wrong pays for it

    return next(iter(get_close_matches(wanted, list(known), n=1, cutoff=likeness)), "")
