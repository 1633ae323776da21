"""The agents that a catalog knows: those of files, and those of Python."""

from collections.abc import Mapping
from typing import NamedTuple

from metier.core.arguments import wrong_argument
from metier.core.nearest import did_you_mean
from metier.errors import NotFoundError, UsageError
from metier.flow.agent import Agent
from metier.flow.run_catalog import RunCatalog
from metier.index.agents import stored_agents
from metier.index.documents import no_such_document
from metier.run.tool import Tool, tool_of
from metier.values.agents import AgentProfile, delegates, named_tools


class Added(NamedTuple):
    """An agent of Python, ready to run."""

    agent: Agent
    profile: AgentProfile
    tools: Mapping[str, Tool]
    """Its own functions, by name: no other agent can call them."""

    @classmethod
    def of(cls, agent: Agent) -> "Added":
        tools = {
            name: one if isinstance(one, Tool) else tool_of(one)
            for name, one in agent.functions.items()
        }
        return cls(agent, AgentProfile.of(agent.to_profile()), tools)


class KnownAgents:
    """Finds agents by id; those of Python come first."""

    def __init__(self, catalog: RunCatalog, added: dict[str, Added] | None = None) -> None:
        self._catalog = catalog
        self.added: dict[str, Added] = {} if added is None else added
        """Agents of Python, by id."""

    def add(self, agent: Agent) -> None:
        """Add an agent for as long as the catalog is open, with its functions.

        Raises `UsageError` if a file has an agent of that id.
        """
        if not isinstance(agent, Agent):
            raise wrong_argument("agent", "an Agent", agent, "metier.Agent.of(profile) makes one")
        row = next((one for one in self._stored() if one.agent_id == agent.id), None)
        if row is not None and row.path:
            raise UsageError(
                f"there is an agent '{agent.id}' already", where=row.path, hint="use another id"
            )
        known = self.added.get(agent.id)
        if known is None or known.agent is not agent:
            self.added[agent.id] = Added.of(agent)

    def _stored(self) -> list[AgentProfile]:
        return stored_agents(self._catalog.store)

    def profiles(self) -> list[AgentProfile]:
        if not self.added:
            return self._stored()
        others = [one for one in self._stored() if one.agent_id not in self.added]
        return [*(one.profile for one in self.added.values()), *others]

    def profile(self, agent_id: str) -> AgentProfile | None:
        return next((one for one in self.profiles() if one.agent_id == agent_id), None)

    def require(self, agent_id: str) -> AgentProfile:
        """The profile of an agent. Raises `NotFoundError`."""
        found = self.profile(agent_id)
        if found is not None:
            return found
        if self._catalog.excluded_path("agent", agent_id):
            raise no_such_document(self._catalog.store, "agent", agent_id, self._catalog.workspace)
        known = [profile.agent_id for profile in self.profiles()]
        raise NotFoundError(
            f"no agent is called '{agent_id}'",
            where=self._catalog.workspace,
            hint=did_you_mean(agent_id, known, "metier list agents"),
        )

    def involved(self, profile: AgentProfile) -> list[AgentProfile]:
        """The agent and all that its steps delegate to, directly or not."""
        known = {one.agent_id: one for one in self.profiles()}
        reached = {profile.agent_id: profile}
        for one in (found := [profile]):
            for target in sorted(delegates(one)):
                if target in known and target not in reached:
                    reached[target] = known[target]
                    found.append(known[target])
        return found

    def own_tools(self, agent_id: str) -> Mapping[str, Tool]:
        """The functions that an agent of Python was made with."""
        return self.added[agent_id].tools if agent_id in self.added else {}

    def borrowed_tools(self, profile: AgentProfile) -> set[str]:
        """The tools that the agent and its delegates name without having such a function."""
        return {
            name
            for one in self.involved(profile)
            for name in named_tools(one)
            if name not in self.own_tools(one.agent_id)
        }
