"""Tasks that several cases have: the same case again, and cases that contradict each other."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from metier.values.evals import EvalCase


class Distinct(NamedTuple):
    """Each case once, and what is said about the others."""

    cases: list[EvalCase]
    notes: list[str]


def distinct(cases: Iterable[EvalCase]) -> Distinct:
    """The cases without those that say the same of the same task as an earlier one."""
    kept: list[EvalCase] = []
    by_task: dict[str, list[EvalCase]] = {}
    again: list[tuple[EvalCase, EvalCase]] = []
    against: list[tuple[EvalCase, EvalCase]] = []
    for case in cases:
        before = by_task.setdefault(plain(case.task), [])
        same = next((one for one in before if _expected(one) == _expected(case)), None)
        if same is not None:
            again.append((case, same))
            continue
        other = next((one for one in before if _contradict(one, case)), None)
        if other is not None:
            against.append((case, other))
        before.append(case)
        kept.append(case)
    return Distinct(kept, [*_again(again), *_against(against)])


def plain(task: str) -> str:
    """Equal for tasks that differ in spaces and capitals only."""
    return " ".join(task.split()).casefold()


def _expected(case: EvalCase) -> tuple[object, ...]:
    names = (case.skills, case.not_skills, case.agents, case.cards)
    return (*map(frozenset, names), case.nothing, case.every, case.most, case.training)


def _contradict(case: EvalCase, other: EvalCase) -> bool:
    return _rules_out(case, other) or _rules_out(other, case)


def _rules_out(case: EvalCase, other: EvalCase) -> bool:
    """Whether no answer that is right for `other` is right for `one`."""
    allowed = set(other.skills) - set(case.not_skills)
    is_less = len(allowed) < len(set(other.skills)) if other.every else not allowed
    return bool(other.skills) and (case.nothing or is_less)


def _again(pairs: Sequence[tuple[EvalCase, EvalCase]]) -> list[str]:
    if not pairs:
        return []
    what = "1 case repeats another and is" if len(pairs) == 1 else (
        f"{len(pairs):,} cases repeat others and are"
    )  # fmt: skip
    return [f"{what} scored once: {_places(*pairs[0])}{_more(pairs)}"]


def _against(pairs: Sequence[tuple[EvalCase, EvalCase]]) -> list[str]:
    if not pairs:
        return []
    what = "1 case contradicts another" if len(pairs) == 1 else (
        f"{len(pairs):,} cases contradict others"
    )  # fmt: skip
    return [f"{what} with the same task: {_places(*pairs[0])}{_more(pairs)}"]


def _places(case: EvalCase, other: EvalCase) -> str:
    return f"{case.file}#{case.number} and {other.file}#{other.number}"


def _more(pairs: Sequence[object]) -> str:
    return ", and more" if len(pairs) > 1 else ""
