"""The trail of a walk: what it looks at again."""

import os
from pathlib import Path
from typing import Any

import pytest

from metier.discover.trail import Steps, is_unchanged


def test_paths_that_share_only_the_root_are_looked_at_without_opening_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("a")
    steps = Steps()
    steps.paths = [str(tmp_path / "file"), "/usr"]
    opened: list[Any] = []
    monkeypatch.setattr(os, "open", lambda path, *_: opened.append(path))
    trail = steps.trail("key", 1, started=2**62)
    assert trail is not None
    assert is_unchanged(trail)
    assert opened == []
    monkeypatch.undo()
    (tmp_path / "file").chmod(0o600)
    (tmp_path / "file").write_text("b")
    assert not is_unchanged(trail)
