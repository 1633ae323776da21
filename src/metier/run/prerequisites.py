"""What must be there before a step of a run begins: the tools and the models of all its steps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metier.core.nearest import did_you_mean
from metier.errors import MetierError
from metier.run.plan import Workflow
from metier.run.services import Services
from metier.run.tools import ToolExecutor
from metier.values.agents import AgentProfile, delegates, named_tools, walk_steps
from metier.values.runs import DONE, Failure, RunRecord, StepRecord


def missing_tools(profile: AgentProfile, plan: Workflow, services: Services) -> Failure | None:
    """Why a run cannot begin: the agent, or a delegate, names an unknown tool."""
    named = {profile.agent_id: plan.named}
    waiting = list(plan.delegates)
    for target in waiting:
        other = services.profile(target) if target not in named else None
        if other is not None and other.enabled:
            named[target] = named_tools(other)
            waiting += delegates(other)
    for agent_id, names in named.items():
        tools = services.tools_of(agent_id)
        missing = [name for name in names if not tools.is_tool_available(name)]
        if missing:
            return _missing(agent_id, missing, tools)
    return None


def _missing(agent_id: str, missing: Sequence[str], tools: ToolExecutor) -> Failure:
    quoted = [f"'{one}'" for one in missing]
    listed = " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))
    what = "tool" if len(missing) == 1 else "tools"
    verb = "does" if len(missing) == 1 else "do"
    message = f"agent '{agent_id}' names the {what} {listed}, which {verb} not exist"
    known = [spec.name for spec in tools.specs()]
    set_up = f"set it up as [tools.{missing[0]}] in metier.toml, or give the agent such a function"
    return Failure("TOOL_NOT_FOUND", message, hint=did_you_mean(missing[0], known, set_up))


_PASS_AGAIN = "if it was an object, pass it again: resume(run_id, model=…)"


def unknown_model(
    run: RunRecord,
    profile: AgentProfile,
    records: Mapping[str, StepRecord],
    services: Services,
) -> Failure | None:
    """Why a run cannot go on: a prompt, of the agent or a delegate, is for an unknown model."""
    asked = run.request.get("model") or ""
    for one in _asking(profile, records, services):
        try:
            services.check_model(asked or one.model, one.agent_id)
        except MetierError as error:
            origin = f"agent '{one.agent_id}': " if one.model else "[models] default: "
            message = error.message if asked else origin + error.message
            hint = _PASS_AGAIN if run.epoch > 1 else error.hint
            return Failure(error.code, message, hint=hint)
    return None


def _asking(
    profile: AgentProfile, records: Mapping[str, StepRecord], services: Services
) -> Iterator[AgentProfile]:
    """The agent and its delegates, if they have prompts left.

    A delegate whose step has begun is left out: its own run is checked when it goes on.
    """
    steps = [one for one in _steps(profile) if _is_left(one, records)]
    begun = {key.partition("[")[0] for key in records}
    reached = {profile.agent_id}
    waiting = [(profile, steps)]
    for one, steps in waiting:
        walked = list(walk_steps(steps))
        if any(step["type"] == "prompt" for step in walked):
            yield one
        for step in walked:
            target = step["config"]["targetAgent"] if step["type"] == "delegate" else ""
            if not target or target in reached or (one is profile and step["stepId"] in begun):
                continue
            other = services.profile(target)
            if other is not None and other.enabled:
                reached.add(target)
                waiting.append((other, _steps(other)))


def _steps(profile: AgentProfile) -> list[Mapping[str, Any]]:
    """The workflow, or the one prompt of a profile without any."""
    return list(profile.data.get("workflow") or [_ONLY_A_PROMPT])


_ONLY_A_PROMPT: Mapping[str, Any] = {"stepId": "answer", "type": "prompt", "config": {}}


def _is_left(step: Mapping[str, Any], records: Mapping[str, StepRecord]) -> bool:
    record = records.get(step["stepId"])
    return record is None or record.state not in DONE
