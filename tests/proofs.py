"""Which tests prove which requirement, and the page that lists them."""

import os
import re
from functools import cache
from pathlib import Path

from invariants import INVARIANTS

TESTS = Path(__file__).parent
MARK = re.compile(r"""mark\.invariant\(\s*id=["']([^"']+)["']""")
PAGE = TESTS.parent / "docs" / "invariants.md"


@cache
def texts() -> dict[str, str]:
    """Every test file by its path; what npm has installed is none of ours."""
    found = {}
    for folder, folders, names in os.walk(TESTS):
        folders[:] = [one for one in folders if one != "node_modules"]
        for name in names:
            if name.startswith("test_") and name.endswith(".py"):
                file = Path(folder, name)
                found[file.relative_to(TESTS).as_posix()] = file.read_text()
    return found


def proofs() -> dict[str, set[str]]:
    """Requirement id → test files that claim to prove it."""
    found: dict[str, set[str]] = {}
    for path, text in texts().items():
        for requirement in MARK.findall(text):
            found.setdefault(requirement, set()).add(path)
    return found


def page() -> str:
    """The manifest as a page."""
    lines = [
        "# Invariants",
        "",
        "Every requirement of the five specs, where it lives, and the tests that fail without it.",
        "Generated from `tests/invariants.py` by `make docs`.",
        "",
        "| id | what must hold | home | stage | proved by |",
        "|---|---|---|---|---|",
    ]
    proved = proofs()
    for one in INVARIANTS:
        by = ", ".join(f"`{name}`" for name in sorted(proved.get(one.id, ())))
        sentence = one.sentence.replace("|", "\\|")
        lines.append(f"| {one.id} | {sentence} | `{one.home}` | {one.stage} | {by} |")
    return "\n".join(lines) + "\n"
