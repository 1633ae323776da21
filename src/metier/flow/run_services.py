"""What one run needs of its catalog: agents, functions, models, and text for prompts."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metier.errors import NotFoundError
from metier.flow.known_agents import Added, KnownAgents
from metier.flow.run_catalog import RunCatalog
from metier.flow.skill_bodies import (
    NO_BODIES,
    SkillBodies,
    core_tokens,
    skill_bodies,
    warning,
)
from metier.run.services import Prepared
from metier.run.tools import Consent, ToolExecutor
from metier.values.agents import AgentProfile, WorkflowStep
from metier.values.models import Model
from metier.values.runs import Failure

_BETWEEN = "\n\n"


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
    ) -> None:
        """`tools` are those of all agents, and `named_model` finds a model by the settings."""
        super().__init__(catalog, dict(added))
        self._secret = secret
        self._tools = tools
        self._consent = consent
        self._named_model = named_model
        self._executors: dict[str, ToolExecutor] = {}

    def tools_of(self, agent_id: str) -> ToolExecutor:
        """The agent's own functions, then the tools of all agents."""
        if agent_id not in self._executors:
            own = self._tools.with_own(self.own_tools(agent_id), self._consent)
            self._executors[agent_id] = own
        return self._executors[agent_id]

    def model(self, name: str, agent_id: str = "") -> Model:
        """The object that the agent was made with, if it has that name; else a named model."""
        added = self.added.get(agent_id)
        own = added.agent.own_model if added is not None else None
        return own if own is not None and own.name == name else self._named_model(name)

    def check_model(self, name: str, agent_id: str) -> None:
        """Raise `UsageError` for a name that no model has. Nothing is loaded or sent."""
        self.model(name, agent_id)

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
                failure = Failure("CAPABILITY_UNRESOLVED", message)
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
        record |= {"minSignal": least, "warnings": [*bodies.warnings, *issues]}
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
