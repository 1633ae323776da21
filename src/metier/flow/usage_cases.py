"""Drafts of evaluation cases, from the prompts of sessions."""

from collections.abc import Iterable
from typing import Any

import yaml

from metier.flow.usage import Case
from metier.safety.redact import redacted

LONGEST_TASK = 2_000
_HEAD = """\
# Evaluation cases, drafted by `metier usage --export-cases` from your prompts.
# Known forms of secrets, e-mail addresses and home folders are removed. Read every task before
# you share this file, and check the skills: with `source: suggested` none fired, these look right.
"""


def drafted(cases: Iterable[Case], home: str) -> list[dict[str, Any]]:
    """A case for each task, redacted; the latest if a task was given twice."""
    found: dict[str, dict[str, Any]] = {}
    for case in cases:
        prompt = case.prompt.encode(errors="replace").decode()
        task = redacted(prompt, home).strip()[:LONGEST_TASK]
        source = "suggested" if case.is_missed else "fired"
        found[task] = {"task": task, "skills": list(case.skills), "source": source}
    return list(found.values())


def as_yaml(cases: list[dict[str, Any]]) -> str:
    text: str = yaml.safe_dump({"cases": cases}, allow_unicode=True, sort_keys=False, width=100)
    return _HEAD + text
