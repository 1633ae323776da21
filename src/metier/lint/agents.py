"""Rules for agent profiles (spec 2): the whole schema, every error at once."""

from collections.abc import Mapping
from typing import Any

from metier.values.agents import STANDARD, AgentProfile
from metier.values.checks import Flaw, dotted
from metier.values.files import Matter
from metier.values.outcomes import Issue
from metier.values.profiles import profile_flaws

UNKNOWN_KEY = "AG703"
_CODES = {
    "missing": "AG701",
    "invalid": "AG702",
    "unknown": UNKNOWN_KEY,
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
        line, column = matter.position(("enabled",))
        message = f"'{STANDARD}' cannot be disabled: the built-in agent is used instead"
        hint = "enable it, or remove the file"
        issues.append(Issue("AG708", message, profile.path, line, column, hint))
    return issues


def validate_agent(data: Mapping[str, Any]) -> list[Issue]:
    """The findings in a profile given as data, in the spec's spelling."""
    return [
        Issue(_CODES[flaw.problem], _with_place(flaw), "", hint=flaw.hint)
        for flaw in profile_flaws(data)
    ]


def _with_place(flaw: Flaw) -> str:
    """The message; those about templates do not say by themselves where they are."""
    is_expression = flaw.problem == "expression"
    return f"'{dotted(flaw.at)}': {flaw.message}" if is_expression else flaw.message
