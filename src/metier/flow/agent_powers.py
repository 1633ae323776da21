"""What an agent can do, with its tools, models, delegates and steps; and whether it may."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from metier.core.arguments import check_listener, wrong_argument
from metier.errors import TrustError
from metier.flow.agent import Agent
from metier.values.agents import AgentProfile, allowed_tools, delegates, inner_steps
from metier.values.models import A_NAME, check_model
from metier.values.rows import Row
from metier.values.runs import OnEvent
from metier.values.trust import Trust


def check_agent(row: Row, profile: AgentProfile, trust: Trust) -> None:
    """Raise `TrustError` unless an agent is the user's own, or has its trusted powers."""
    if row.origin == "user" or trust.agents.get(row.path) == powers_of(profile):
        return
    why = "it is not part of the workspace that you trusted"
    if row.path in trust.agents:
        why = "what it can do has changed since you trusted it"
    message = f"agent '{row.handle}' does not run: {why}"
    raise TrustError(message, where=row.path, hint="metier trust")


def powers_of(document: Any) -> dict[str, Any]:
    """What an agent can do, without its prose."""
    steps = list(_steps(document.data.get("workflow") or ()))
    named = [tool for step, _ in steps for tool in (step.get("config") or {}).get("tools") or ()]
    delegation = document.data.get("delegation") or {}
    return {
        "id": document.id,
        "tools": sorted({*allowed_tools(document), *named}),
        "models": [document.data["model"]] if document.data.get("model") else [],
        "delegates": sorted({*delegates(document), *(delegation.get("to") or ())}),
        "steps": [
            _acting(step, within)
            for step, within in steps
            if step.get("type") in ("tool", "delegate")
        ],
    }


def _acting(step: Mapping[str, Any], within: Sequence[str]) -> dict[str, Any]:
    config = step["config"]
    return {
        "step": step["stepId"],
        "tool": config.get("tool") or "",
        "agent": config.get("targetAgent") or "",
        "input": config.get("input") or {},
        "condition": f"if {step['condition']}" if step.get("condition") else "",
        "within": list(within),
    }


def _steps(
    steps: Iterable[Mapping[str, Any]], within: tuple[str, ...] = ()
) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """All steps, nested steps too, each with the conditions and loops around it."""
    for step in steps:
        yield step, within
        for key, inner in inner_steps(step):
            yield from _steps([inner], (*within, _around(step, key)))


def _around(step: Mapping[str, Any], key: str) -> str:
    if key == "compensate":
        return f"to take back {step['stepId']}"
    config = step["config"]
    if step["type"] == "conditional":
        return f"{'if' if key == 'then' else 'unless'} {config.get('condition')}"
    over = config.get("over") or config.get("while")
    return f"for each of {over}" if over else f"in {step['stepId']}"


def check_run(agent: object, task: object, model: object, on_event: OnEvent | None = None) -> None:
    """Raise `UsageError` unless a run can be started with arguments of these types."""
    if not isinstance(agent, str | Agent):
        raise wrong_argument("agent", "the id of an agent, or an Agent", agent)
    if not isinstance(task, str):
        raise wrong_argument("task", "a string", task)
    if not isinstance(model, str):
        check_model(model, A_NAME)
    if on_event is not None:
        check_listener("on_event", on_event)


def check_resume(run_id: object, model: object, on_event: OnEvent | None = None) -> None:
    """Raise `UsageError` unless a run can be resumed with arguments of these types."""
    if not isinstance(run_id, str):
        raise wrong_argument("run_id", "a string", run_id)
    if not isinstance(model, str):
        check_model(model, A_NAME)
    if on_event is not None:
        check_listener("on_event", on_event)
