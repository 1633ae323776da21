"""Evaluation cases: a task and what should fire for it; what fired, and figures over cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

LIVE_AGENT = "metier eval"
"""The agent of runs that ask a model about cases; no profile in a file can have this id."""
LEAST_CHANGED = 6
"""Five changes in one direction happen by chance in more than one of twenty comparisons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCase:
    """A task and what its author expects. Names are as written in the file."""

    task: str
    skills: Sequence[str] = ()
    """Skills that are right: at least one of them should be named, or each with `every`."""
    not_skills: Sequence[str] = ()
    """Skills that must not be named."""
    agents: Sequence[str] = ()
    cards: Sequence[str] = ()
    nothing: bool = False
    """No skill at all should be named."""
    every: bool = False
    most: int | None = None
    """The most skills that may be named."""
    training: bool = False
    """The case teaches; it is not scored by a model that learnt from it."""
    file: str = ""
    number: int = 0
    """Its number in the file, from 1."""
    source: str = ""
    """Where a drafted case comes from, e.g. `fired`."""
    tags: Sequence[str] = field(default=())

    @property
    def is_positive(self) -> bool:
        """Whether something should be named."""
        return bool(self.skills)

    def to_json(self) -> dict[str, Any]:
        """The case in our own format, without what is empty."""
        found: dict[str, Any] = {"task": self.task}
        for key, value in (
            ("skills", list(self.skills)),
            ("notSkills", list(self.not_skills)),
            ("agents", list(self.agents)),
            ("cards", list(self.cards)),
            ("nothing", self.nothing),
            ("every", self.every),
            ("most", self.most),
            ("training", self.training),
            ("source", self.source),
            ("tags", list(self.tags)),
        ):
            if value:
                found[key] = value
        return found


class CaseProblem(NamedTuple):
    """Why a file, or one of its cases, is not evaluated."""

    file: str
    message: str
    number: int = 0
    """The number of the case in the file, from 1; 0 for the file itself."""

    @property
    def place(self) -> str:
        """The file, and which case of it: `evals/cases.yaml#6`."""
        return f"{self.file}#{self.number}" if self.number else self.file

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What fired for a case. Skills have the names of the catalog."""

    case: EvalCase
    right: Sequence[str] = ()
    """The expected skills."""
    wrong: Sequence[str] = ()
    """The skills that must not be named."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Expected names that mean no single document → why; the case is not scored then."""
    is_training: bool = False
    """Whether something was learnt from it; it is not scored then."""
    named: Sequence[str] = ()
    """The skills that were named, in order."""
    ranked: Sequence[str] = ()
    """The best skills in order, whether or not they are named."""
    agents: Sequence[str] = ()
    """The agents that fit, the best first."""
    cards: Sequence[str] = ()
    """The cards that would be injected."""
    faults: Sequence[str] = ()
    """What is not as expected."""
    lost_to: str = ""
    """The first skill that is named instead of the expected one; empty if none is."""
    reasons: Sequence[str] = ()
    """Why the expected skill is not named or not first."""

    @property
    def is_scored(self) -> bool:
        return not self.unknown and not self.is_training

    @property
    def passed(self) -> bool:
        return self.is_scored and not self.faults

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.case.file,
            "number": self.case.number,
            "case": self.case.to_json(),
            "passed": self.passed if self.is_scored else None,
            "scored": self.is_scored,
            "training": self.is_training,
            "unknown": dict(self.unknown),
            "named": list(self.named),
            "ranked": list(self.ranked),
            "agents": list(self.agents),
            "cards": list(self.cards),
            "faults": list(self.faults),
            "lostTo": self.lost_to,
            "reasons": list(self.reasons),
        }


class Figure(NamedTuple):
    """A share or a mean over cases, with its 95 % interval."""

    value: float | None
    """None if no case counts."""
    low: float
    high: float
    hits: float
    """The sum over the cases; for a share, how many."""
    of: int
    """How many cases count."""

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFigures:
    """The figures of the cases of one skill."""

    name: str
    figures: Mapping[str, Figure]

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "figures": figures_json(self.figures)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """A skill that lost cases to another, or to silence."""

    skill: str
    lost_to: str
    """Empty if no other skill is named."""
    cases: int
    task: str
    """One of the tasks."""
    reasons: Sequence[str]
    """Why, for that task."""
    is_silent: bool = True
    """Whether nothing at all was named, if no other skill was."""

    @property
    def instead(self) -> str:
        """What was named instead, for people."""
        return self.lost_to or f"nothing{'' if self.is_silent else ' else'} was named"

    def to_json(self) -> dict[str, Any]:
        return {
            "skill": self.skill,
            "lostTo": self.lost_to,
            "cases": self.cases,
            "task": self.task,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How well the descriptions of skills tell them apart, by cases."""

    results: Sequence[CaseResult]
    figures: Mapping[str, Figure]
    skills: Sequence[SkillFigures]
    confusions: Sequence[Confusion]
    files: Sequence[str] = ()
    problems: Sequence[CaseProblem] = ()
    ignored: Sequence[str] = ()
    """Files that were found and have no cases."""
    notes: Sequence[str] = ()
    """Remarks that are not faults."""
    host: str | None = None
    threshold: float = 0.0

    @property
    def scored(self) -> int:
        """How many cases count in the figures."""
        return sum(result.is_scored for result in self.results)

    @property
    def training(self) -> int:
        """Cases from which something was learnt; they are not scored."""
        return sum(one.is_training and not one.unknown for one in self.results)

    @property
    def learnt(self) -> int:
        """Cases in `training` that are not marked as such: their task is an example."""
        found = (one for one in self.results if one.is_training and not one.unknown)
        return sum(not one.case.training for one in found)

    @property
    def failed(self) -> Sequence[CaseResult]:
        """The cases that count and did not pass."""
        return [result for result in self.results if result.is_scored and not result.passed]

    @property
    def passed(self) -> bool:
        """Whether cases count, all of them passed, and every file and name in them was found."""
        return bool(self.scored) and not (self.failed or self.problems or self.unknown)

    @property
    def unscored(self) -> int:
        """Cases that do not count since something is wrong with them."""
        return len(self.unknown) + sum(bool(problem.number) for problem in self.problems)

    @property
    def unknown(self) -> Sequence[CaseResult]:
        """Cases that expect what is not in the catalog."""
        return [one for one in self.results if one.unknown]

    def to_json(self) -> dict[str, Any]:
        return {
            "schemaVersion": "1",
            "host": self.host,
            "threshold": self.threshold,
            "files": list(self.files),
            "ignored": list(self.ignored),
            "problems": [one.to_json() for one in self.problems],
            "notes": list(self.notes),
            "cases": len(self.results),
            "scored": self.scored,
            "training": self.training,
            "figures": figures_json(self.figures),
            "skills": [one.to_json() for one in self.skills],
            "confusions": [one.to_json() for one in self.confusions],
            "results": [one.to_json() for one in self.results],
        }


def figures_json(figures: Mapping[str, Figure]) -> dict[str, Any]:
    return {name: figure.to_json() for name, figure in figures.items()}


class Difference(NamedTuple):
    """How much a figure differs on the same cases, with the 95 % interval of the difference."""

    there: float
    here: float
    change: float
    low: float
    high: float
    of: int
    """How many cases count."""
    changed: int
    """For how many of them it differs."""

    @property
    def is_clear(self) -> bool:
        """Whether the difference is more than chance would bring."""
        return self.changed >= LEAST_CHANGED and (self.low > 0 or self.high < 0)

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "clear": self.is_clear}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """An evaluation beside that of another commit, folder or setting, on the same cases."""

    against: str
    differences: Mapping[str, Difference]
    better: Sequence[CaseResult] = ()
    """Cases that pass here and fail there."""
    worse: Sequence[CaseResult] = ()
    """Cases that fail here and pass there."""
    left_out: int = 0
    """Cases that one of the two cannot score, since it lacks a skill."""

    def to_json(self) -> dict[str, Any]:
        return {
            "against": self.against,
            "figures": {name: one.to_json() for name, one in self.differences.items()},
            "better": [_place(one) for one in self.better],
            "worse": [_place(one) for one in self.worse],
            "leftOut": self.left_out,
        }


def _place(result: CaseResult) -> dict[str, Any]:
    case = result.case
    return {"file": case.file, "number": case.number, "task": case.task}
