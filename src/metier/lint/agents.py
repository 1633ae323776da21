"""Rules for agent profiles (spec 2): the whole schema, every error at once."""

from collections.abc import Mapping
from typing import Any

from metier.values.agents import STANDARD, AgentProfile
from metier.values.files import Matter
from metier.values.outcomes import Issue
from metier.values.profiles import profile_flaws

_CODES = {
    "missing": "AG701",
    "invalid": "AG702",
    "unknown": "AG703",
    "repeated": "AG704",
    "dangling": "AG705",
    "circular": "AG706",
    "expression": "AG707",
}


def lint_agent(profile: AgentProfile, matter: Matter) -> list[Issue]:
    """Every finding in one profile; an error excludes it."""
    issues = []
    for flaw in profile_flaws(matter.data):
        line, column = matter.position(flaw.at)
        issues.append(
            Issue(_CODES[flaw.problem], flaw.message, profile.path, line, column, flaw.hint)
        )
    if profile.agent_id == STANDARD and matter.data.get("enabled") is False:
        issues.append(_disabled_standard(profile.path, *matter.position(("enabled",))))
    return issues


def _disabled_standard(path: str, line: int, column: int) -> Issue:
    message = f"'{STANDARD}' cannot be disabled: the built-in one is used in place of this file"
    return Issue("AG708", message, path, line, column, "enable it, or remove the file")


def validate_agent(data: Mapping[str, Any]) -> list[Issue]:
    """The findings in a profile given as data, in the spec's spelling."""
    return [
        Issue(_CODES[flaw.problem], flaw.message, "", hint=flaw.hint)
        for flaw in profile_flaws(data)
    ]
