"""What models did with evaluation cases, and how far the free answer agrees with them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from metier.evals.figures import figure_of
from metier.values.evals import Figure, figures_json


class Judgement(NamedTuple):
    """What it means for a case that certain skills were loaded."""

    is_right: bool
    """The right skill is among them, or each that is right if each is wanted."""
    is_wrong: bool
    """One is among them that must not be."""
    is_forbidden: bool
    """That, or there are more than may be."""
    is_empty: bool
    passes: bool


class LiveCase(NamedTuple):
    """An evaluation case whose skills are called as the catalog calls them."""

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

    def judged(self, loaded: Iterable[str]) -> Judgement:
        seen, right = set(loaded), set(self.right)
        is_right = bool(right) and (right <= seen if self.every else not right.isdisjoint(seen))
        is_wrong = not seen.isdisjoint(self.wrong)
        is_forbidden = (
            is_wrong
            or (self.nothing and bool(seen))
            or (self.most is not None and len(seen) > self.most)
        )
        passes = not is_forbidden and (is_right or not right)
        return Judgement(is_right, is_wrong, is_forbidden, not seen, passes)

    def to_json(self) -> dict[str, Any]:
        found = self._asdict()
        return {**found, **{key: list(found[key]) for key in ("right", "wrong", "offline")}}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "LiveCase":
        lists = {key: tuple(data[key]) for key in ("right", "wrong", "offline")}
        return cls(**{**data, **lists})


def _figure(values: Sequence[float]) -> Figure:
    """The mean of one share a case. Tries of a case are not independent, so cases are counted."""
    return figure_of("recall", values)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveResult:
    """The tries of one case."""

    case: LiveCase
    right: int = 0
    wrong: int = 0
    forbidden: int = 0
    other: int = 0
    """Only skills were loaded that the case does not mention."""
    nothing: int = 0
    passed: int = 0
    tries: int = 0
    """Tries that ended with an answer; errors are not misses."""
    errors: int = 0
    unfinished: int = 0
    loaded: Mapping[str, int]
    """Skill → in how many tries it was loaded."""

    @classmethod
    def of(
        cls, case: LiveCase, loaded: Sequence[Sequence[str]], errors: int, unfinished: int
    ) -> "LiveResult":
        """`loaded` has, for each try that ended, the skills that it loaded."""
        found = [case.judged(one) for one in loaded]
        return cls(
            case=case,
            right=sum(one.is_right for one in found),
            wrong=sum(one.is_wrong for one in found),
            forbidden=sum(one.is_forbidden for one in found),
            other=sum(not (one.is_right or one.is_forbidden or one.is_empty) for one in found),
            nothing=sum(one.is_empty for one in found),
            passed=sum(one.passes for one in found),
            tries=len(found),
            errors=errors,
            unfinished=unfinished,
            loaded=Counter(name for one in loaded for name in dict.fromkeys(one)),
        )

    @property
    def live(self) -> bool | None:
        """Whether most of the tries passed; None if none ended."""
        return 2 * self.passed > self.tries if self.tries else None

    @property
    def offline(self) -> bool:
        """Whether what `metier which` names passes."""
        return self.case.judged(self.case.offline).passes

    def to_json(self) -> dict[str, Any]:
        case = self.case
        return {
            "task": case.task,
            "file": case.file,
            "number": case.number,
            "skills": list(case.right),
            "notSkills": list(case.wrong),
            "nothing": case.nothing,
            "right": self.right,
            "forbidden": self.forbidden,
            "other": self.other,
            "loadedNothing": self.nothing,
            "tries": self.tries,
            "errors": self.errors,
            "unfinished": self.unfinished,
            "loaded": dict(self.loaded),
            "offline": list(case.offline),
            "livePasses": self.live,
            "offlinePasses": self.offline,
        }


class Agreement(NamedTuple):
    """Live and offline verdicts of the same cases."""

    both_pass: int = 0
    only_live: int = 0
    only_offline: int = 0
    both_fail: int = 0

    @classmethod
    def of(cls, results: Iterable[LiveResult]) -> "Agreement":
        pairs = Counter((one.live, one.offline) for one in results if one.live is not None)
        return cls(pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False])

    @property
    def share(self) -> Figure:
        agreeing = self.both_pass + self.both_fail
        return _figure([1.0] * agreeing + [0.0] * (sum(self) - agreeing))

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
        kappa = self.kappa
        return {
            "bothPass": self.both_pass,
            "onlyLivePasses": self.only_live,
            "onlyOfflinePasses": self.only_offline,
            "bothFail": self.both_fail,
            "share": self.share.to_json(),
            "kappa": None if kappa is None else round(kappa, 4),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveReport:
    """What a live evaluation found."""

    model: str
    host: str
    results: Sequence[LiveResult]

    @property
    def figures(self) -> dict[str, Figure]:
        """By the names of the figures without a model; a try counts as a part of its case."""
        ended = [one for one in self.results if one.tries]
        return {
            "recall": _figure([one.right / one.tries for one in ended if one.case.right]),
            "falseFires": _figure([one.wrong / one.tries for one in ended if one.case.wrong]),
            "silent": _figure([one.nothing / one.tries for one in ended if one.case.right]),
            "speaksWrongly": _figure(
                [1 - one.nothing / one.tries for one in ended if one.case.nothing]
            ),
        }

    @property
    def offline(self) -> dict[str, Figure]:
        """The same figures of what `metier which` names, over the same cases."""
        cases = [one.case for one in self.results if one.tries]
        found = [LiveResult.of(one, [one.offline], 0, 0) for one in cases]
        return replace(self, results=found).figures

    @property
    def agreement(self) -> Agreement:
        return Agreement.of(self.results)

    @property
    def differing(self) -> list[LiveResult]:
        """Cases whose live and offline verdicts differ."""
        return [one for one in self.results if one.live not in (None, one.offline)]

    @property
    def errors(self) -> int:
        return sum(one.errors for one in self.results)

    @property
    def unfinished(self) -> int:
        return sum(one.unfinished for one in self.results)

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "host": self.host,
            "figures": figures_json(self.figures),
            "offlineFigures": figures_json(self.offline),
            "agreement": self.agreement.to_json(),
            "differing": [one.case.task for one in self.differing],
            "errors": self.errors,
            "unfinished": self.unfinished,
            "cases": [one.to_json() for one in self.results],
        }
