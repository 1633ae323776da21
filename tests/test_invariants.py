"""Every requirement of the five specs is proved by a test."""

import re
from pathlib import Path

from invariants import INVARIANTS

TESTS = Path(__file__).parent
MARK = re.compile(r"""mark\.invariant\(\s*id=["']([^"']+)["']""")
PAGE = TESTS.parent / "docs" / "invariants.md"


def proofs() -> dict[str, set[str]]:
    """Requirement id → test files that claim to prove it."""
    found: dict[str, set[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        for requirement in MARK.findall(file.read_text()):
            found.setdefault(requirement, set()).add(str(file.relative_to(TESTS)))
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


def test_no_test_claims_an_unknown_requirement() -> None:
    assert set(proofs()) - {one.id for one in INVARIANTS} == set()


def test_the_homes_of_requirements_exist() -> None:
    source = TESTS.parent / "src"
    for one in INVARIANTS:
        module = source.joinpath(*one.home.split("."))
        assert module.with_suffix(".py").exists() or module.is_dir(), one.id
