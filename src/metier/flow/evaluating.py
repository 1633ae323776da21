"""Evaluate cases: ask the catalog which skills would be named, and compare with what should be."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from metier.core.nearest import Nearest
from metier.evals.bars import BARS as BARS
from metier.evals.bars import FailedBar as FailedBar
from metier.evals.bars import failed_bars as failed_bars
from metier.evals.figures import FIGURES as FIGURES
from metier.evals.figures import confusions_of, faults_of, figures_of, has_right, skill_figures
from metier.evals.repeated import plain
from metier.flow.ambiguous_names import why_ambiguous
from metier.flow.eval_cases import Cases, cases_of
from metier.flow.examples import Examples
from metier.flow.hook_hosts import check_host
from metier.index.documents import skills_in
from metier.index.store import Store
from metier.values.agents import STANDARD
from metier.values.evals import CaseResult, EvalCase, Evaluation
from metier.values.files import Kind
from metier.values.outcomes import Issue
from metier.values.rows import Row
from metier.values.which import Which

_LOOKED_AT = 10
"""Skills of a ranking that figures look at."""
_MOST_EXPLAINED = 50
"""Cases whose loss is explained, which costs several rankings each."""

OnProgress = Callable[[int, int], None]
"""Called with the number of cases done and to do."""


class EvaluatedCatalog(Protocol):
    """A catalog, as far as evaluations ask it."""

    store: Store
    workspace: str

    @property
    def examples(self) -> Examples: ...

    def which(
        self,
        task: str,
        *,
        host: str | None = None,
        expect: str | None = None,
        limit: int = 10,
        everything: bool = True,
    ) -> Which: ...

    def find(self, kind: Kind, wanted: str) -> Sequence[Row]: ...

    def skills_by_name(self, name: str) -> list[Row]: ...

    def documents(
        self, kind: Kind, *, search: str | None = None, shadowed: bool = False
    ) -> list[Row]: ...

    def names(self, kind: Kind, *, excluded: bool = False) -> list[str]: ...

    def issues_of(self, row: Row) -> list[Issue]: ...


def read_cases(catalog: EvaluatedCatalog, files: Sequence[str], *, finds: bool = True) -> Cases:
    """The cases in these files and folders, or in the workspace if none are given."""
    return cases_of(files, catalog.workspace, _SkillsByFolder(catalog).name, finds=finds)


def evaluate(
    catalog: EvaluatedCatalog,
    read: Cases,
    *,
    host: str | None = None,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Score the cases, but none that was learnt. Raises `UsageError` for an unknown host."""
    check_host(host)
    scorer = _Scorer(catalog, host)
    results = []
    for number, case in enumerate(read.cases, start=1):
        results.append(scorer.result(case))
        if on_progress is not None:
            on_progress(number, len(read.cases))
    return evaluation_of(results, read, host=host, threshold=scorer.threshold)


def evaluation_of(
    results: Sequence[CaseResult],
    read: Cases,
    *,
    host: str | None = None,
    threshold: float = 0.0,
) -> Evaluation:
    """All figures over results."""
    return Evaluation(
        results=results,
        figures=figures_of(results),
        skills=skill_figures(results),
        confusions=confusions_of(results),
        files=read.files,
        problems=read.problems,
        ignored=read.ignored,
        notes=read.notes,
        host=host,
        threshold=threshold,
    )


class _SkillsByFolder:
    """The names of skills by their folders; read once, when a file is beside a skill."""

    def __init__(self, catalog: EvaluatedCatalog) -> None:
        self._catalog = catalog
        self._known: dict[str, str] | None = None

    def name(self, folder: str) -> str:
        """The name of the skill in a folder; the folder's if the catalog has none there."""
        if self._known is None:
            rows = self._catalog.documents("skill", shadowed=True)
            self._known = {os.path.dirname(row.file): row.handle for row in rows}
        return self._known.get(os.path.realpath(folder)) or os.path.basename(folder)


class Names:
    """What the names in cases mean in a catalog."""

    def __init__(self, catalog: EvaluatedCatalog) -> None:
        self._catalog = catalog
        self._skills: dict[str, tuple[str, str]] = {}
        self._others: dict[Kind, set[str]] = {}
        self._nearest: dict[Kind, Nearest] = {}

    def resolved(self, case: EvalCase) -> CaseResult:
        """The case with its skills as the catalog calls them, and the names that mean none."""
        unknown: dict[str, str] = {}
        right, wrong = (
            [self._skill(name, unknown) for name in names]
            for names in (case.skills, case.not_skills)
        )
        self._check("agent", case.agents, unknown)
        self._check("card", case.cards, unknown)
        return CaseResult(
            case=case,
            right=list(dict.fromkeys(filter(None, right))),
            wrong=[name for name in dict.fromkeys(filter(None, wrong)) if name not in right],
            unknown=unknown,
        )

    def _skill(self, name: str, unknown: dict[str, str]) -> str:
        if name not in self._skills:
            self._skills[name] = self._resolved(name)
        handle, why = self._skills[name]
        if why:
            unknown[name] = why
        return handle

    def _resolved(self, name: str) -> tuple[str, str]:
        """The skill that a name means, or why it means none."""
        asked = self._catalog
        rows = asked.find("skill", name) or asked.skills_by_name(name)
        rows = rows or skills_in(asked.store, name)
        active = list(dict.fromkeys(row.handle for row in rows if row.state == "active"))
        if why_ambiguous(name, active):
            return "", why_ambiguous(name, active)
        if not rows:
            return "", self._not_there("skill", name)
        if not active and not rows[0].handle:  # it could not be read
            why = rows[0].why_excluded(self._catalog.issues_of(rows[0]))
            return "", f"{rows[0].path} is excluded: {why}"
        return name if name in active else (active or [rows[0].handle])[0], ""

    def _check(self, kind: Kind, names: Sequence[str], unknown: dict[str, str]) -> None:
        if names and kind not in self._others:
            self._others[kind] = {*self._catalog.names(kind), *([STANDARD] * (kind == "agent"))}
        for name in names:
            if name not in self._others[kind]:
                unknown[name] = self._not_there(kind, name)

    def _not_there(self, kind: Kind, name: str) -> str:
        if kind not in self._nearest:
            self._nearest[kind] = Nearest(self._catalog.names(kind))
        meant = self._nearest[kind].did_you_mean(name)
        return f"{kind} not in the catalog{f'; {meant}' if meant else ''}"


class _Scorer:
    """Asks the catalog about one case after another."""

    def __init__(self, catalog: EvaluatedCatalog, host: str | None) -> None:
        self._catalog = catalog
        self._host = host
        self._names = Names(catalog)
        self._learnt = {(one.kind, plain(one.task)) for one in catalog.examples.all()}
        self._explained = 0
        self.threshold = 0.0

    def result(self, case: EvalCase) -> CaseResult:
        result = self._names.resolved(case)
        if case.training or self._is_learnt(case):
            return replace(result, is_training=True)
        if not result.is_scored:
            return result
        answer = self._catalog.which(
            case.task,
            host=self._host,
            limit=_LOOKED_AT,
            everything=bool(case.agents or case.cards),
        )
        self.threshold = answer.threshold
        result = replace(
            result,
            named=[one.name for one in answer.named],
            ranked=[one.name for one in answer.skills],
            agents=[one.agent_id for one in answer.agents],
            cards=[one.id for one in answer.cards if one.is_injected],
        )
        result = replace(result, faults=faults_of(result))
        return self._with_reasons(result) if result.faults else result

    def _is_learnt(self, case: EvalCase) -> bool:
        """Whether the task is an example of a skill, or of an agent that it is about."""
        kinds = ("skill", "agent") if case.agents else ("skill",)
        task = plain(case.task)
        return any((kind, task) in self._learnt for kind in kinds)

    def _with_reasons(self, result: CaseResult) -> CaseResult:
        """Why an expected skill is not named, and which is instead."""
        if has_right(result, result.named) or not result.right:
            return result
        missed = next(name for name in result.right if name not in result.named)
        others = (name for name in result.named if name not in result.right)
        result = replace(result, lost_to=next(others, ""))
        self._explained += 1
        if self._explained > _MOST_EXPLAINED:
            return result
        answer = self._catalog.which(
            result.case.task, host=self._host, expect=missed, limit=1, everything=False
        )
        found = answer.expectation
        assert found is not None
        return replace(result, reasons=list(found.reasons))
