"""Counts what the resolver does, for tests that bound its work."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from metier.resolve import chooser


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often candidates were scored, and how often some were selected."""
    counts: Counter[str] = Counter()

    def counting(name: str, original: Callable[..., Any], *args: Any, **more: Any) -> Any:
        counts[name] += 1
        return original(*args, **more)

    for name in ("Scores", "select"):
        monkeypatch.setattr(chooser, name, partial(counting, name, getattr(chooser, name)))
    return counts
