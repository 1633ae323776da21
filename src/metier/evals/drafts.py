"""Drafts of evaluation cases, from what skills say of themselves, for a person to correct."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import yaml

from metier.core.text import printable
from metier.core.triggers import Triggers
from metier.values.evals import EvalCase

MOST_WANTED = 6
"""Cases in which a skill should fire."""
MOST_UNWANTED = 4
"""Near misses from its own text."""
MOST_OF_A_RIVAL = 2
"""Near misses from the text of the skill that overlaps most."""
SOURCE = "suggested"
_HEAD = """\
# Evaluation cases, drafted by `metier eval suggest` from the texts of skills.
# Read and correct each of them: a description has its author's words, not those of people who ask.
# Near misses look like the job of a skill in `notSkills` and are not.
"""

Named = Callable[[str], Sequence[str]]
"""The names of the skills that fire for a task, the best first."""


class Subject(NamedTuple):
    """A skill to draft cases for."""

    name: str
    triggers: Triggers
    rival: "Subject | None" = None
    """The skill that overlaps with it most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A case, and what to look at before it is kept."""

    case: EvalCase
    notes: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        return {**self.case.to_json(), "notes": list(self.notes)}


def drafted(subjects: Iterable[Subject], named: Named) -> list[Draft]:
    """The cases of skills, each task once: of tasks that several name, any of them is right."""
    found: dict[str, Draft] = {}
    for subject in subjects:
        for draft in _drafts(subject, named):
            key = draft.case.task.casefold()
            known = found.get(key)
            found[key] = _joined(known, draft) if known else draft
    return list(found.values())


def _drafts(subject: Subject, named: Named) -> Iterable[Draft]:
    described = f"{subject.name} names no task: write what people ask for instead"
    for task in subject.triggers.wanted[:MOST_WANTED]:
        note = "" if subject.triggers.names_tasks else described
        yield _draft(task, skills=[subject.name], note=note)
    for task in subject.triggers.unwanted[:MOST_UNWANTED]:
        others = [name for name in named(task) if name != subject.name]
        note = f"near miss: {subject.name} says that it is not for this"
        if others:
            note += f"; {others[0]} fires now, check that it is right"
        yield _draft(task, skills=others[:1], not_skills=[subject.name], note=note)
    rival = subject.rival
    for task in rival.triggers.wanted[:MOST_OF_A_RIVAL] if rival else ():
        assert rival is not None
        note = f"near miss: the job of {rival.name}, which overlaps with {subject.name}"
        yield _draft(task, skills=[rival.name], not_skills=[subject.name], note=note)


def _draft(
    task: str, *, skills: Sequence[str], not_skills: Sequence[str] = (), note: str = ""
) -> Draft:
    case = EvalCase(task=task, skills=skills, not_skills=not_skills, source=SOURCE)
    return Draft(case=case, notes=[note] if note else [])


def _joined(first: Draft, second: Draft) -> Draft:
    """Both cases of one task: a skill that one wants is not unwanted."""
    skills = _distinct(first.case.skills, second.case.skills)
    against = _distinct(first.case.not_skills, second.case.not_skills)
    case = replace(
        first.case, skills=skills, not_skills=[one for one in against if one not in skills]
    )
    return Draft(case=case, notes=_distinct(first.notes, second.notes))


def _distinct(*parts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part))


def as_yaml(drafts: Iterable[Draft]) -> str:
    """A file of cases in metier's own format, with what to look at as comments."""
    parts = [_HEAD, "cases:\n"]
    for draft in drafts:
        parts += [f"# {printable(' '.join(note.split()))}\n" for note in draft.notes]
        case = [draft.case.to_json()]
        parts.append(
            yaml.safe_dump(
                case, allow_unicode=True, sort_keys=False, width=100, default_flow_style=None
            )
        )
    return "".join(parts)
