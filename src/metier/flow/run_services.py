"""The agents of a catalog, and what a run of one needs: functions, models, text for prompts."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from metier.core.arguments import wrong_argument
from metier.core.nearest import did_you_mean
from metier.errors import NotFoundError, UsageError
from metier.flow.agent import Agent
from metier.flow.run_catalog import RunCatalog
from metier.flow.skill_bodies import (
    NO_BODIES,
    SkillBodies,
    core_tokens,
    skill_bodies,
    warning,
)
from metier.index.agents import stored_agents
from metier.index.documents import (
    capabilities,
    find_documents,
    list_hint,
    no_such_document,
    unread_note,
)
from metier.run.models import ProviderModel
from metier.run.models.prices import price_hint
from metier.run.services import Prepared
from metier.run.tool import Tool, tool_of
from metier.run.tools import Consent, ToolExecutor
from metier.values.agents import AgentProfile, WorkflowStep, delegates, named_tools
from metier.values.models import Model, own_price
from metier.values.outcomes import Issue
from metier.values.runs import Failure

_BETWEEN = "\n\n"
_OWN_PRICE = "give the object a price: price = Price(input, output), from metier.run.models"


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
                f"there is already an agent '{agent.id}'", where=row.path, hint="use another id"
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

    def agent_ids(self) -> list[str]:
        return [profile.agent_id for profile in self.profiles() if profile.enabled]

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
            hint=did_you_mean(agent_id, known, list_hint(self._catalog.store, "agent")),
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


class RunServices(KnownAgents):
    """The services of one run. Agents that are added later do not change it."""

    def __init__(
        self,
        catalog: RunCatalog,
        secret: Callable[[], bytes],
        added: Mapping[str, Added],
        tools: ToolExecutor,
        consent: Consent,
        named_model: Callable[[str], Model],
        given_model: Model | None = None,
    ) -> None:
        """`tools` are those of all agents, and `named_model` finds a model by the settings.

        `given_model` replaces every other.
        """
        super().__init__(catalog, dict(added))
        self._secret = secret
        self._tools = tools
        self._consent = consent
        self._named_model = named_model
        self._given_model = given_model
        self._executors: dict[str, ToolExecutor] = {}

    def tools_of(self, agent_id: str) -> ToolExecutor:
        """The agent's own functions, then the tools of all agents."""
        if agent_id not in self._executors:
            own = self._tools.with_own(self.own_tools(agent_id), self._consent)
            self._executors[agent_id] = own
        return self._executors[agent_id]

    def model(self, name: str, agent_id: str = "") -> Model:
        """The given model, else the object of that name that the agent has, else a named one."""
        if self._given_model is not None:
            return self._given_model
        added = self.added.get(agent_id)
        own = added.agent.own_model if added is not None else None
        return own if own is not None and own.name == name else self._named_model(name)

    def check_model(self, name: str, agent_id: str) -> None:
        """Raise `UsageError` for a name that no model has. Nothing is loaded or sent."""
        self.model(name, agent_id)

    def check_price(self, name: str, agent_id: str) -> None:
        """Raise `UsageError` if nothing says what the model costs."""
        model = self.model(name, agent_id)
        if isinstance(model, ProviderModel):
            is_known, hint = model.has_price(), price_hint(model.name)
        else:
            is_known, hint = own_price(model) is not None, _OWN_PRICE
        if not is_known:
            message = f"a limit of cost needs the price of '{model.name}', which is not known"
            raise UsageError(message, hint=hint)

    def record_outcome(self, provider: str, *, success: bool) -> None:
        with contextlib.suppress(NotFoundError):  # it was deleted meanwhile
            self._catalog.record_outcome(provider, success=success)

    def prepare(self, agent: AgentProfile, step: WorkflowStep, text: str, task: str) -> Prepared:
        """Inject providers of what the step requires, then abilities for `text` and `task`."""
        requires = tuple(dict.fromkeys((*agent.requires, *step.requires)))
        record: dict[str, Any] = {}
        bodies = NO_BODIES
        providers: Sequence[str] = ()
        messages = [text] if task in text else [task, text]
        if requires:
            policy = {"selection-mode": "cover"} if len(requires) > 1 else {}
            resolution = self._catalog.resolve(
                requires, text, policy=policy, only=agent.skills, team=self._team_of(agent)
            )
            self._catalog.keep_report(resolution)
            record["report"] = resolution.facts.run_id
            if resolution.unresolved or not resolution.selected:
                lacking = ", ".join(resolution.unresolved or requires)
                message = f"no skill provides {lacking} (report {resolution.facts.run_id})"
                hint = self._hint_for(resolution.unresolved)
                failure = Failure("CAPABILITY_UNRESOLVED", message, hint=hint)
                return Prepared(record=record, failure=failure)
            providers = resolution.selected
            taken = core_tokens(self._catalog, agent, messages)
            bodies = skill_bodies(
                self._catalog, providers, agent.ability_tokens - taken, self._secret
            )
            record |= {"providers": list(providers), "providersLeftOut": list(bodies.excluded)}
        if step.type != "prompt":
            return Prepared(record=record, providers=providers)
        return self._with_abilities(agent, messages, record, bodies, providers)

    def _hint_for(self, unresolved: Sequence[str]) -> str:
        """What to do about capabilities that no skill provides."""
        known = capabilities(self._catalog.store)
        near = (did_you_mean(one, known) for one in unresolved)
        otherwise = "metier resolve -r CAPABILITY shows the candidates"
        return unread_note(self._catalog.store) or next(filter(None, near), otherwise)

    def _unknown_skills(self, agent: AgentProfile) -> list[dict[str, str]]:
        """Warnings about skills that the agent may use, but that are not here."""
        store, found = self._catalog.store, []
        for name in agent.skills or ():
            if not find_documents(store, "skill", name):
                error = no_such_document(store, "skill", name, "")
                found.append(Issue("SKILL_NOT_FOUND", error.message, agent.path, hint=error.hint))
        return [warning(one) for one in found]

    def _team_of(self, agent: AgentProfile) -> str:
        """The team whose folder has the agent's profile; empty if none."""
        with contextlib.suppress(NotFoundError):  # built in, or deleted meanwhile
            return self._catalog.row("agent", agent.agent_id).team
        return ""

    def _with_abilities(
        self,
        agent: AgentProfile,
        messages: Sequence[str],
        record: dict[str, Any],
        bodies: SkillBodies,
        providers: Sequence[str],
    ) -> Prepared:
        count, least = self._catalog.count_tokens, self._catalog.config.ability_signal
        taken = count(_BETWEEN + bodies.text) if bodies.text else 0
        injection = self._catalog.inject(
            messages,
            agent=agent.agent_id if agent.path else None,
            core=agent.core_abilities,
            budget=max(0, agent.ability_tokens - taken),
            min_signal=least,
            include_untrusted=False,
        )
        errors = [issue for issue in injection.issues if issue.is_error]
        issues = [warning(issue) for issue in injection.issues if issue.severity == "warning"]
        record |= {
            "minSignal": least,
            "warnings": [*self._unknown_skills(agent), *bodies.warnings, *issues],
        }
        if injection.failed:
            return Prepared(record=record, failure=Failure(errors[0].code, errors[0].message))
        if injection.injected_abilities or injection.injected_cards or injection.skipped:
            record["abilities"] = list(injection.injected_abilities)
            record["cards"] = [one.item.id for one in injection.injected_cards]
            record["skipped"] = [one.to_json() for one in injection.skipped]
        whole = _BETWEEN.join(part for part in (injection.text, bodies.text) if part)
        if whole:
            record["tokens"] = count(whole)
        return Prepared(whole, record, providers)
