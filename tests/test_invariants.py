"""Every requirement of the five specs is proved by a test."""

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


def test_ids_are_unique() -> None:
    ids = [one.id for one in INVARIANTS]
    assert sorted(ids) == sorted(set(ids))


def test_every_requirement_is_proved_by_a_test() -> None:
    proved = proofs()
    assert [one.id for one in INVARIANTS if one.id not in proved] == []


def test_every_proof_is_part_of_an_ordinary_run() -> None:
    """Nothing that only a soak does is the proof of a requirement."""
    soaked = re.compile(r"((?:^@.*\n)*)^@pytest\.mark\.soak\n((?:^@.*\n)*)", re.MULTILINE)
    found = [
        (path, before + after)
        for path, text in texts().items()
        for before, after in soaked.findall(text)
    ]
    assert found
    assert [path for path, marks in found if MARK.findall(marks)] == []


def test_no_test_claims_an_unknown_requirement() -> None:
    assert set(proofs()) - {one.id for one in INVARIANTS} == set()


def test_the_homes_of_requirements_exist() -> None:
    source = TESTS.parent / "src"
    for one in INVARIANTS:
        module = source.joinpath(*one.home.split("."))
        assert module.with_suffix(".py").exists() or module.is_dir(), one.id
