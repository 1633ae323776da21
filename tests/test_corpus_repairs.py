"""Repairs of real skills: how much is gone, that nothing is lost, and that once is enough."""

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.printed import run_here
from metier.core.text import words
from metier.flow.linting import lint_files
from metier.load import read_skills
from metier.values.outcomes import Issue

pytestmark = pytest.mark.corpus

SAMPLE = 250
LEAST_GONE = 0.4
"""The share of errors and warnings that --fix --unsafe must remove."""
RANK = {"info": 0, "warning": 1, "error": 2}
SHARED = {"XF901", "XF902"}
"""Which of two skills has it depends on the order of their folders."""
UNUSABLE = {"FM101", "FM102", "FM117"}


class Mended(NamedTuple):
    before: Path
    after: Path


def mended(skills: list[Path], corpus: Path, into: Path) -> Mended:
    """A copy of skills, and one that was repaired; each file ends with a mark of its own."""
    before, after = into / "before", into / "after"
    for number, file in enumerate(skills):
        copied = before / file.relative_to(corpus)
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_bytes(file.read_bytes() + b"\nmark%dmark\n" % number)
    shutil.copytree(before, after)
    (after / "metier.toml").touch()
    assert run_here(after, "lint", "--fix", "--unsafe").returncode == 1
    return Mended(before, after)


def real_skills(corpus: Path) -> list[Path]:
    return sorted(file for file in corpus.rglob("*") if file.name in ("SKILL.md", "skill.md"))


@pytest.fixture(
    scope="module",
    params=[SAMPLE, pytest.param(10_000, marks=pytest.mark.soak)],
    ids=["sample", "all"],
)
def both(
    corpus: Path,
    homes: Path,  # nobody's own skills
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Mended:
    skills = real_skills(corpus)
    chosen = random.Random(7).sample(skills, min(request.param, len(skills)))
    return mended(sorted(chosen), corpus, tmp_path_factory.mktemp("repairs"))


def mark_of(raw: bytes) -> bytes:
    """The mark of a skill; a repair may have closed a fence after it."""
    return raw[raw.rindex(b"\nmark") :].split()[0]


def texts(root: Path) -> dict[bytes, bytes]:
    """The bytes of each skill, by its mark."""
    found = (file.read_bytes() for file in real_skills(root))
    return {mark_of(raw): raw for raw in found}


def findings(root: Path) -> dict[bytes, list[Issue]]:
    """The findings in each skill, by its mark."""
    issues: dict[bytes, list[Issue]] = {}
    for issue in lint_files(read_skills([root])).issues:
        issues.setdefault(mark_of((root / issue.path).read_bytes()), []).append(issue)
    return issues


def bad(issues: dict[bytes, list[Issue]]) -> int:
    return sum(one.severity != "info" for found in issues.values() for one in found)


def count(issues: dict[bytes, list[Issue]], codes: set[str]) -> int:
    return sum(one.code in codes for found in issues.values() for one in found)


def test_most_errors_and_warnings_are_gone(both: Mended) -> None:
    before, after = bad(findings(both.before)), bad(findings(both.after))
    assert after <= (1 - LEAST_GONE) * before, (before, after)


def test_no_skill_and_no_word_is_lost(both: Mended) -> None:
    before, after = texts(both.before), texts(both.after)
    assert before.keys() == after.keys()
    for mark, raw in before.items():
        old, new = (Counter(words(one.decode(errors="replace"))) for one in (raw, after[mark]))
        assert not old - new


def test_what_needs_no_repair_is_not_touched_but_for_paths(both: Mended) -> None:
    issues, after = findings(both.before), texts(both.after)
    sound = [
        (mark, raw)
        for mark, raw in texts(both.before).items()
        if not any(one.fixable and one.severity != "info" for one in issues.get(mark, []))
    ]
    assert sound
    for mark, raw in sound:
        pairs = zip(raw.split(b"\n"), after[mark].split(b"\n"), strict=True)
        assert all(b"/" in old and b"/" in new for old, new in pairs if old != new)


def test_no_skill_gets_a_finding_as_bad_as_those_it_loses(both: Mended) -> None:
    before, after = findings(both.before), findings(both.after)
    for mark in after:
        old, new = (Counter(one.code for one in found.get(mark, [])) for found in (before, after))
        severities = {one.code: one.severity for one in (*before.get(mark, []), *after[mark])}
        gone = [RANK[severities[code]] for code in old - new]
        added = {code for code in new - old if RANK[severities[code]] >= max(gone, default=0)}
        assert not added - SHARED, (mark, old, new)
    shared = [count(found, SHARED) for found in (before, after)]
    usable = count(before, UNUSABLE) - count(after, UNUSABLE)
    assert shared[1] <= shared[0] + usable


def test_a_second_run_repairs_nothing(both: Mended) -> None:
    before = texts(both.after)
    again = run_here(both.after, "lint", "--fix", "--unsafe")
    assert again.stderr.startswith("nothing to repair\n")
    assert texts(both.after) == before
