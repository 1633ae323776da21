"""The page of security promises names tests that exist."""

import re
from pathlib import Path

from conftest import REPOSITORY

PAGE = REPOSITORY / "docs" / "security-promises.md"
_NAMED = re.compile(r"`(tests/[\w/]+\.py)?(?:::(\w+))?`")


def test_every_promise_names_a_test_that_exists() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    promises = [row for row in rows if "tests/" in row]
    assert len(promises) >= 15
    for row in promises:
        file: Path | None = None
        for path, name in _NAMED.findall(row.rpartition(" | ")[2]):
            file = REPOSITORY / path if path else file
            assert file is not None
            assert file.is_file(), path
            assert not name or f"def {name}(" in file.read_text(), name
