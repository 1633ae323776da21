"""Tools that an agent names and nobody provides: found before anything is sent."""

from collections.abc import Iterator, Sequence

from metier.core.nearest import nearest
from metier.run.services import Services
from metier.run.workflow import Workflow, delegates, named_tools
from metier.values.agents import AgentProfile
from metier.values.runs import Failure


def missing_tools(profile: AgentProfile, plan: Workflow, services: Services) -> Failure | None:
    """Why a run cannot begin: a tool of the agent, or of one that it delegates to, is not there."""
    for agent_id, names in _named(profile, plan, services):
        missing = [one for one in names if not services.tools.is_tool_available(one)]
        if missing:
            return _failure(agent_id, missing, services)
    return None


def _named(
    profile: AgentProfile, plan: Workflow, services: Services
) -> Iterator[tuple[str, Sequence[str]]]:
    """The agent, those that its steps delegate to and theirs, with the tools that each names."""
    yield profile.agent_id, plan.named
    waiting, met = list(plan.delegates), {profile.agent_id}
    for target in waiting:
        if target in met:
            continue
        met.add(target)
        other = services.profile(target)
        if other is not None and other.enabled:
            yield target, named_tools(other)
            waiting += delegates(other)


def _failure(agent_id: str, missing: Sequence[str], services: Services) -> Failure:
    quoted = [f"'{one}'" for one in missing]
    told = " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))
    what = "tool" if len(missing) == 1 else "tools"
    message = f"agent '{agent_id}' names the {what} {told}, which nobody provides"
    near = nearest(missing[0], [one.name for one in services.tools.specs()])
    set_up = f"set it up as [tools.{missing[0]}] in metier.toml, or register such a function"
    return Failure("TOOL_NOT_FOUND", message, hint=f"did you mean '{near}'?" if near else set_up)
