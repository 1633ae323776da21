"""The bodies of the skills that a step of a run uses."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from metier.core.budget import fit
from metier.core.render import BETWEEN_REFERENCES, REFERENCE_PREAMBLE, as_reference
from metier.errors import MetierError
from metier.flow.run_catalog import RunCatalog
from metier.inject.sanitize import sanitize_capability_content
from metier.values.agents import AgentProfile
from metier.values.outcomes import Issue


class SkillBodies(NamedTuple):
    text: str = ""
    excluded: Sequence[str] = ()
    """Skills that are not in the text."""
    warnings: Sequence[Mapping[str, str]] = ()


NO_BODIES = SkillBodies()


def skill_bodies(
    catalog: RunCatalog, providers: Sequence[str], limit: int, secret: Callable[[], bytes]
) -> SkillBodies:
    """The fenced bodies of skills that fit into `limit` tokens."""
    parts: dict[str, str] = {}
    warnings: list[Mapping[str, str]] = []
    for provider in providers:
        try:
            row = catalog.row("skill", provider)
            body = catalog.document(row).body
        except MetierError as error:
            warnings.append(_entry(error.code, error.message, error.where, error.hint))
            continue
        clean = sanitize_capability_content(body, row.path)
        warnings += [warning(issue) for issue in clean.issues if issue.severity != "info"]
        if not clean.rejected:
            parts[provider] = as_reference(
                clean.text, kind="skill", id=row.name, source=row.path,
                sha256=row.sha256, secret=secret(),
            )  # fmt: skip
    fitted = fit(
        list(parts.values()),
        max(0, limit),
        separator=BETWEEN_REFERENCES,
        count=catalog.count_tokens,
        overflow="skip",
        start=REFERENCE_PREAMBLE,
    )
    names = list(parts)
    warnings += [_too_long(names[number], limit) for number in fitted.left]
    injected = {names[number] for number in fitted.taken}
    return SkillBodies(fitted.text, [one for one in providers if one not in injected], warnings)


def core_tokens(catalog: RunCatalog, agent: AgentProfile, messages: Sequence[str]) -> int:
    """The tokens of the core abilities, which come before everything else."""
    if not agent.core_abilities:
        return 0
    alone = catalog.inject(
        messages,
        agent=agent.agent_id,
        core=agent.core_abilities,
        budget=agent.ability_tokens,
        min_signal=math.inf,
        include_untrusted=False,
    )
    return catalog.count_tokens(alone.text + "\n\n") if alone.text else 0


def warning(issue: Issue) -> dict[str, str]:
    """An issue as the record of a step keeps it."""
    return _entry(issue.code, issue.message, issue.path, issue.hint)


def _too_long(provider: str, limit: int) -> dict[str, str]:
    message = f"skill '{provider}' does not fit into the {max(0, limit)} tokens that are left"
    return _entry("SKILL_TRUNCATED", message, "", "raise abilities.maxTokens of the agent")


def _entry(code: str, message: str, path: str, hint: str) -> dict[str, str]:
    return {"code": code, "message": message, "path": path, "hint": hint}
