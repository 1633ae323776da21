"""What models did with evaluation cases, and how far the free answer agrees with them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

_Z = 1.959964
"""95 % of a normal distribution lie within so many deviations."""


class Judgement(NamedTuple):
    """What it means for a case that certain skills were loaded."""

    is_right: bool
    """The right skill is among them, or each that is right if each is wanted."""
    is_forbidden: bool
    """One is among them that must not be, or there are too many."""
    is_empty: bool
    passes: bool


class LiveCase(NamedTuple):
    """An evaluation case whose skills are paths in the catalog."""

    task: str
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    nothing: bool = False
    every: bool = False
    most: int | None = None
    offline: tuple[str, ...] = ()
    """What `metier which` names for the task."""
    file: str = ""
    number: int = 0

    @property
    def forbids(self) -> bool:
        return bool(self.wrong) or self.nothing or self.most is not None

    def judged(self, loaded: Iterable[str]) -> Judgement:
        seen, right = set(loaded), set(self.right)
        is_right = bool(right) and (right <= seen if self.every else not right.isdisjoint(seen))
        is_forbidden = (
            not seen.isdisjoint(self.wrong)
            or (self.nothing and bool(seen))
            or (self.most is not None and len(seen) > self.most)
        )
        passes = not is_forbidden and (is_right or not right)
        return Judgement(is_right, is_forbidden, not seen, passes)

    def to_json(self) -> dict[str, Any]:
        found = self._asdict()
        return {**found, **{key: list(found[key]) for key in ("right", "wrong", "offline")}}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "LiveCase":
        lists = {key: tuple(data[key]) for key in ("right", "wrong", "offline")}
        return cls(**{**data, **lists})


class Share(NamedTuple):
    """A share with its 95 % interval (Wilson)."""

    value: float
    low: float
    high: float
    cases: int

    def to_json(self) -> dict[str, Any]:
        return {key: round(value, 4) for key, value in self._asdict().items()}


def share_of(values: Sequence[float]) -> Share | None:
    """The mean of one share a case. Tries of a case are not independent, so cases are counted."""
    count = len(values)
    if not count:
        return None
    mean = sum(values) / count
    scale = 1 + _Z * _Z / count
    middle = (mean + _Z * _Z / (2 * count)) / scale
    half = _Z / scale * sqrt(mean * (1 - mean) / count + _Z * _Z / (4 * count * count))
    return Share(mean, max(0.0, middle - half), min(1.0, middle + half), count)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The tries of one case."""

    case: LiveCase
    right: int = 0
    forbidden: int = 0
    other: int = 0
    """Only skills were loaded that the case does not speak of."""
    nothing: int = 0
    passed: int = 0
    tries: int = 0
    """Tries that ended with an answer; errors are no misses."""
    errors: int = 0
    unfinished: int = 0
    loaded: Mapping[str, int]
    """Path of a skill → in how many tries it was loaded."""

    @classmethod
    def of(
        cls, case: LiveCase, loaded: Sequence[Sequence[str]], errors: int, unfinished: int
    ) -> "CaseResult":
        """`loaded` has, for each try that ended, the skills that it loaded."""
        found = [case.judged(one) for one in loaded]
        return cls(
            case=case,
            right=sum(one.is_right for one in found),
            forbidden=sum(one.is_forbidden for one in found),
            other=sum(not (one.is_right or one.is_forbidden or one.is_empty) for one in found),
            nothing=sum(one.is_empty for one in found),
            passed=sum(one.passes for one in found),
            tries=len(found),
            errors=errors,
            unfinished=unfinished,
            loaded=Counter(path for one in loaded for path in dict.fromkeys(one)),
        )

    @property
    def live(self) -> bool | None:
        """Whether most of the tries passed; None if none ended."""
        return 2 * self.passed > self.tries if self.tries else None

    @property
    def offline(self) -> bool:
        """Whether what `metier which` names passes."""
        return self.case.judged(self.case.offline).passes

    def to_json(self, shown: Mapping[str, str]) -> dict[str, Any]:
        case = self.case
        return {
            "task": case.task,
            "file": case.file,
            "number": case.number,
            "skills": _names(case.right, shown),
            "notSkills": _names(case.wrong, shown),
            "nothing": case.nothing,
            "right": self.right,
            "forbidden": self.forbidden,
            "other": self.other,
            "loadedNothing": self.nothing,
            "tries": self.tries,
            "errors": self.errors,
            "unfinished": self.unfinished,
            "loaded": {shown.get(path, path): count for path, count in self.loaded.items()},
            "offline": _names(case.offline, shown),
            "livePasses": self.live,
            "offlinePasses": self.offline,
        }


def _names(paths: Iterable[str], shown: Mapping[str, str]) -> list[str]:
    return [shown.get(path, path) for path in paths]


class Agreement(NamedTuple):
    """Live and offline verdicts of the same cases."""

    both_pass: int = 0
    only_live: int = 0
    only_offline: int = 0
    both_fail: int = 0

    @classmethod
    def of(cls, results: Iterable[CaseResult]) -> "Agreement":
        pairs = Counter((one.live, one.offline) for one in results if one.live is not None)
        return cls(pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False])

    @property
    def share(self) -> Share | None:
        agreeing = self.both_pass + self.both_fail
        return share_of([1.0] * agreeing + [0.0] * (sum(self) - agreeing))

    @property
    def kappa(self) -> float | None:
        """Cohen's: how much more they agree than by chance; None if chance alone explains all."""
        total = sum(self)
        if not total:
            return None
        live, offline = self.both_pass + self.only_live, self.both_pass + self.only_offline
        by_chance = (live * offline + (total - live) * (total - offline)) / total**2
        observed = (self.both_pass + self.both_fail) / total
        return (observed - by_chance) / (1 - by_chance) if by_chance < 1 else None

    def to_json(self) -> dict[str, Any]:
        share, kappa = self.share, self.kappa
        return {
            "bothPass": self.both_pass,
            "onlyLivePasses": self.only_live,
            "onlyOfflinePasses": self.only_offline,
            "bothFail": self.both_fail,
            "share": share.to_json() if share else None,
            "kappa": None if kappa is None else round(kappa, 4),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveReport:
    """What a live evaluation found."""

    model: str
    host: str
    results: Sequence[CaseResult]
    shown: Mapping[str, str]
    """Path of a skill → its name."""

    @property
    def recall(self) -> Share | None:
        """How often the right skill was loaded, among cases that have one."""
        found = [one for one in self.results if one.case.right and one.tries]
        return share_of([one.right / one.tries for one in found])

    @property
    def false_fires(self) -> Share | None:
        """How often a forbidden skill was loaded, among cases that forbid one."""
        found = [one for one in self.results if one.case.forbids and one.tries]
        return share_of([one.forbidden / one.tries for one in found])

    @property
    def offline_recall(self) -> Share | None:
        cases = [one.case for one in self.results if one.case.right and one.tries]
        return share_of([float(one.judged(one.offline).is_right) for one in cases])

    @property
    def offline_false_fires(self) -> Share | None:
        cases = [one.case for one in self.results if one.case.forbids and one.tries]
        return share_of([float(one.judged(one.offline).is_forbidden) for one in cases])

    @property
    def agreement(self) -> Agreement:
        return Agreement.of(self.results)

    @property
    def differing(self) -> list[CaseResult]:
        """Cases whose live and offline verdicts differ."""
        return [one for one in self.results if one.live not in (None, one.offline)]

    @property
    def errors(self) -> int:
        return sum(one.errors for one in self.results)

    @property
    def unfinished(self) -> int:
        return sum(one.unfinished for one in self.results)

    def to_json(self) -> dict[str, Any]:
        shares = {
            "recall": self.recall,
            "falseFires": self.false_fires,
            "offlineRecall": self.offline_recall,
            "offlineFalseFires": self.offline_false_fires,
        }
        return {
            "model": self.model,
            "host": self.host,
            **{key: one.to_json() if one else None for key, one in shares.items()},
            "agreement": self.agreement.to_json(),
            "differing": [one.case.task for one in self.differing],
            "errors": self.errors,
            "unfinished": self.unfinished,
            "cases": [one.to_json(self.shown) for one in self.results],
        }
