"""Agents: who would be selected for a task, and why; all agents without one."""

from collections.abc import Sequence
from typing import Any

from metier.values.agents import STANDARD, AgentMatch, AgentProfile
from metier.values.selection import LEAST_CONFIDENCE
from metier.web.page import Data, Page, View
from metier.web.query import address
from metier.web.table import Column, Row, table_of

LONGEST_TASK = 10_000
_LIMIT = 6
_TITLES = {
    "learned": "learned from examples",
    "exampleTasks": "example tasks",
    "primaryIntent": "intent",
    "requiredCapabilities": "required capabilities",
    "notForTasks": "not for such tasks",
    "negativeIntent": "negative intent",
    "antiKeyword": "anti-keyword",
}


def build(view: View) -> Data:
    catalog, task = view.catalog, view.query.text("task")[:LONGEST_TASK]
    team = view.query.text("team")
    profiles = {one.agent_id: one for one in catalog.agency.profiles()}
    asked = {"task": task, "team": team, "scorer": catalog.config.agent_scorer or "spec"}
    agents = table_of(
        view, COLUMNS, [_row(one) for one in profiles.values()], sort="agentId", noun="agent",
        empty="no agent is here",
    )  # fmt: skip
    if not task:
        return {**asked, "matches": [], "isFallback": False, "agents": agents}
    limit = view.query.number("limit", _LIMIT, least=1, most=100)
    matches = catalog.select_agents(task, limit, team=team or None)
    is_fallback = not matches[0].parts and matches[0].agent_id == STANDARD
    shown = [_match(one, profiles.get(one.agent_id)) for one in matches]
    most = max([1.0, *(_positive(one) for one in matches)])
    found = {"matches": shown, "most": most, "least": LEAST_CONFIDENCE, "isFallback": is_fallback}
    return {**asked, **found, "agents": agents}


def _positive(match: AgentMatch) -> float:
    return sum(points for points in match.parts.values() if points > 0)


def _match(match: AgentMatch, profile: AgentProfile | None) -> dict[str, Any]:
    names = list(match.parts)
    return {
        **match.to_json(),
        "description": profile.description if profile else "",
        "isKnown": bool(profile and profile.path),
        "speaksFor": _parts(match, [one for one in names if match.parts[one] > 0]),
        "speaksAgainst": _parts(match, [one for one in names if match.parts[one] < 0]),
    }


def _parts(match: AgentMatch, names: Sequence[str]) -> list[dict[str, Any]]:
    return [{"name": _TITLES.get(one, one), "points": match.parts[one]} for one in names]


def _row(profile: AgentProfile) -> dict[str, Any]:
    return {
        "agentId": profile.agent_id,
        "description": profile.description[:240],
        "team": profile.team,
        "steps": len(profile.workflow),
        "execution": profile.execution,
        "model": profile.model,
        "enabled": "enabled" if profile.enabled else "disabled",
        "isKnown": bool(profile.path),
    }


def _document(row: Row) -> str:
    return address("document", kind="agent", id=row["agentId"]) if row["isKnown"] else ""


COLUMNS = (
    Column("agentId", "Agent", "id", href=_document),
    Column("description", "Description", "long"),
    Column("team", "Team"),
    Column("steps", "Steps", "number"),
    Column("execution", "Execution"),
    Column("model", "Model"),
    Column("enabled", "State", "badge"),
)


def _command(data: Data) -> list[str]:
    if not data["task"]:
        return ["list", "agents"]
    team = [f"--team={data['team']}"] if data["team"] else []
    return ["select", "--explain", *team, "--", data["task"]]


PAGES = [
    Page(
        name="agents",
        title="Agents",
        build=build,
        command=_command,
        group="Run",
        order=80,
        is_cached=True,
        computes=True,
    )
]
