"""Every requirement of the five specs is proved by a test."""

import re

from invariants import INVARIANTS
from proofs import MARK, TESTS, proofs, texts


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
