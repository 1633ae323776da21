"""Figures over the results of cases, each with its 95 % interval.

`recall`, `falseFires`, `silent` and `speaksWrongly` look at the skills that are named, `hit1`,
`recall5` and `ndcg10` at their order, named or not.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import log2, sqrt
from typing import NamedTuple

from metier.values.evals import CaseResult, Confusion, Figure, SkillFigures

_Z = 1.959964
"""The standard deviations that contain 95 % of a normal distribution."""
_FIRST = 5
_CUTOFF = 10


class Kind(NamedTuple):
    """What a figure counts."""

    title: str
    value: Callable[[CaseResult], float | None]
    """What a case adds; None if it does not count."""


# What a case adds


def has_right(result: CaseResult, among: Sequence[str]) -> bool:
    """Whether a right skill is among these; with `every`, each of them."""
    wanted = set(result.right)
    return wanted <= set(among) if result.case.every else not wanted.isdisjoint(among)


def _recall(result: CaseResult) -> float | None:
    return float(has_right(result, result.named)) if result.right else None


def _false_fires(result: CaseResult) -> float | None:
    return float(not set(result.wrong).isdisjoint(result.named)) if result.wrong else None


def _hit1(result: CaseResult) -> float | None:
    return float(not set(result.right).isdisjoint(result.ranked[:1])) if result.right else None


def _recall5(result: CaseResult) -> float | None:
    return float(has_right(result, result.ranked[:_FIRST])) if result.right else None


def _ndcg10(result: CaseResult) -> float | None:
    """Each right skill counts less the lower it ranks; 1 if all of them come first."""
    if not result.right:
        return None
    places = enumerate(result.ranked[:_CUTOFF], start=2)
    gained = sum(1 / log2(place) for place, name in places if name in result.right)
    best = min(len(set(result.right)), _CUTOFF)
    return min(1.0, gained / sum(1 / log2(place) for place in range(2, best + 2)))


def _silent(result: CaseResult) -> float | None:
    return float(not result.named) if result.right else None


def _speaks_wrongly(result: CaseResult) -> float | None:
    return float(bool(result.named)) if result.case.nothing else None


def _agents(result: CaseResult) -> float | None:
    wanted = result.case.agents
    return float(not set(wanted).isdisjoint(result.agents[:1])) if wanted else None


def _cards(result: CaseResult) -> float | None:
    wanted = set(result.case.cards)
    if not wanted:
        return None
    came = set(result.cards)
    return float(wanted <= came if result.case.every else bool(wanted & came))


FIGURES: Mapping[str, Kind] = {
    "recall": Kind("recall", _recall),
    "falseFires": Kind("false fires", _false_fires),
    "hit1": Kind("hit@1", _hit1),
    "recall5": Kind("recall@5", _recall5),
    "ndcg10": Kind("nDCG@10", _ndcg10),
    "silent": Kind("silent", _silent),
    "speaksWrongly": Kind("speaks wrongly", _speaks_wrongly),
    "agents": Kind("agents", _agents),
    "cards": Kind("cards", _cards),
}
OF_A_SKILL = ("recall", "falseFires", "hit1")


def faults_of(result: CaseResult) -> list[str]:
    """What is not as the case expects."""
    case, named = result.case, result.named
    faults = []
    if result.right and not has_right(result, named):
        missing = [name for name in result.right if name not in named]
        verb = "are" if case.every and len(missing) > 1 else "is"
        faults.append(f"{_joined(missing, 'and' if case.every else 'or')} {verb} not named")
    faults += [f"'{name}' is named, but should not be" for name in result.wrong if name in named]
    if case.nothing and named:
        verb = "is" if len(named) == 1 else "are"
        faults.append(f"{_joined(named)} {verb} named, but nothing should be")
    if case.most is not None and len(named) > case.most:
        named_now = "1 skill is" if len(named) == 1 else f"{len(named)} skills are"
        limit = f"at most {case.most}" if case.most else "none"
        faults.append(f"{named_now} named, but {limit} should be")
    if _agents(result) == 0.0:
        first = f"'{result.agents[0]}' is first" if result.agents else "no agent fits"
        faults.append(f"agent {_joined(case.agents, 'or')} is not first: {first}")
    if _cards(result) == 0.0:
        faults.append(f"card {_joined(case.cards, 'and' if case.every else 'or')} is not injected")
    return faults


def _joined(names: Sequence[str], word: str = "and") -> str:
    quoted = [f"'{name}'" for name in names]
    return f" {word} ".join(quoted)


# Intervals


def wilson(hits: float, of: int) -> tuple[float, float]:
    """The 95 % interval of a share, by Wilson's score."""
    if not of:
        return 0.0, 1.0
    share, square = hits / of, _Z * _Z
    middle = share + square / (2 * of)
    spread = _Z * sqrt(share * (1 - share) / of + square / (4 * of * of))
    scale = 1 + square / of
    low, high = (middle - spread) / scale, (middle + spread) / scale
    return max(0.0, min(low, share)), min(1.0, max(high, share))


def normal(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean between 0 and 1, by the normal approximation."""
    count = len(values)
    if count < 2:
        return 0.0, 1.0
    mean = sum(values) / count
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    spread = _Z * sqrt(variance / count)
    return max(0.0, mean - spread), min(1.0, mean + spread)


def figure_of(name: str, values: Sequence[float]) -> Figure:
    """The figure of what cases add to it."""
    if not values:
        return Figure(None, 0.0, 1.0, 0.0, 0)
    hits = sum(values)
    low, high = normal(values) if name == "ndcg10" else wilson(hits, len(values))
    return Figure(hits / len(values), low, high, hits, len(values))


def figures_of(
    results: Sequence[CaseResult], names: Sequence[str] = tuple(FIGURES)
) -> dict[str, Figure]:
    """Figures over the cases that are scored."""
    scored = [result for result in results if result.is_scored]
    found = {}
    for name in names:
        added = map(FIGURES[name].value, scored)
        found[name] = figure_of(name, [value for value in added if value is not None])
    return found


def skill_figures(results: Sequence[CaseResult]) -> list[SkillFigures]:
    """The figures of each skill, the worst recall first."""
    by_skill: dict[str, list[CaseResult]] = {}
    for result in results:
        for name in _skills_in(result) if result.is_scored else ():
            by_skill.setdefault(name, []).append(_about(result, name))
    found = [
        SkillFigures(name=name, figures=figures_of(own, OF_A_SKILL))
        for name, own in by_skill.items()
    ]
    return sorted(found, key=_worst_first)


def _skills_in(result: CaseResult) -> list[str]:
    """The skills that a case says something about: not those for which another was as good."""
    right: Sequence[str] = result.right
    if not result.case.every and has_right(result, result.named):
        right = [name for name in right if name in result.named]
    return list(dict.fromkeys((*right, *result.wrong)))


def _about(result: CaseResult, name: str) -> CaseResult:
    """The result with one of its skills alone."""
    right = [name] if name in result.right else []
    return replace(result, right=right, wrong=[name] if name in result.wrong else [])


def _worst_first(figures: SkillFigures) -> tuple[float, float, str]:
    recall, fires = figures.figures["recall"].value, figures.figures["falseFires"].value
    return (1.0 if recall is None else recall, -(fires or 0.0), figures.name)


def confusions_of(results: Sequence[CaseResult]) -> list[Confusion]:
    """Which skill lost cases to which other, the most frequent first."""
    found: dict[tuple[str, str, bool], list[CaseResult]] = {}
    for result in results:
        if result.is_scored and result.right and not has_right(result, result.named):
            skill = next(name for name in result.right if name not in result.named)
            key = (skill, result.lost_to, not result.named)
            found.setdefault(key, []).append(result)
    made = [
        Confusion(
            skill=skill,
            lost_to=lost_to,
            is_silent=is_silent,
            cases=len(lost),
            task=told.case.task,
            reasons=told.reasons,
        )
        for (skill, lost_to, is_silent), lost in found.items()
        for told in [next((one for one in lost if one.reasons), lost[0])]
    ]
    return sorted(made, key=lambda one: (-one.cases, one.skill, one.lost_to))
