"""Runs agents: select an agent, inject what each step needs, run it, record the outcome."""

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from metier.config.consent import consented
from metier.config.mcp_pins import McpPins
from metier.core.arguments import wrong_argument
from metier.core.nearest import did_you_mean
from metier.errors import NotFoundError, UsageError
from metier.flow.agent import Agent
from metier.flow.agent_powers import check_agent, check_resume, check_run, powers_of
from metier.flow.live_tries import TRY, live_try
from metier.flow.redacted_events import redacted_events
from metier.flow.run_catalog import RunCatalog
from metier.flow.skill_bodies import (
    NO_BODIES,
    SkillBodies,
    core_tokens,
    skill_bodies,
    warning,
)
from metier.flow.state_settings import StateSettings, state_settings
from metier.index.agents import stored_agents
from metier.index.documents import no_such_document
from metier.run.checkpoints import CheckpointStore
from metier.run.leases import Leases
from metier.run.models import Price, model_for, price_of, using
from metier.run.runner import Runner
from metier.run.services import Prepared
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import RunStore
from metier.run.telemetry import spans
from metier.run.tool import Function, Tool, ToolContext
from metier.run.tools import ToolExecutor, connected, toolbox
from metier.storage.database import IN_MEMORY
from metier.storage.workspace import RUNS_FILE
from metier.values.agents import (
    AgentProfile,
    Execution,
    WorkflowStep,
    allowed_tools,
    delegates,
    named_tools,
)
from metier.values.models import Model
from metier.values.runs import Failure, OnEvent, RunResult
from metier.values.settings import QueueSetting

_BETWEEN = "\n\n"


class Agency:
    """The agents of one catalog, and what they need to run."""

    def __init__(
        self,
        catalog: RunCatalog,
        secret: Callable[[], bytes],
        open_store: Callable[[], RunStore] | None = None,
    ) -> None:
        """`secret` makes the fences around injected text; `open_store` opens the store of runs,
        by default a file in the state of the workspace."""
        self._catalog = catalog
        self._secret = secret
        self._open_store = open_store or self.local_store
        self._is_shared = open_store is not None
        self.consent: set[str] = set()
        """Tools that were allowed in this process."""
        self._is_reviewed = True
        """Whether recorded consent counts: not for a run whose agent has changed."""
        self.added: dict[str, Agent] = {}
        """Agents of Python, by id."""
        self._functions: dict[str, Tool | Function] = {}
        """Those of added agents, by name."""

    def for_one_run(self) -> "Agency":
        """An agency with the same store, leases, consent and registered functions; do not close it.

        Servers are connected and consent is reviewed for each run.
        """
        made = Agency(self._catalog, self._secret)
        made.store, made.leases = self.store, self.leases
        made.consent, made._is_shared = self.consent, self._is_shared
        made.added, made._functions = self.added, self._functions
        for tool in self.tools.registered():
            if not made.tools.is_tool_available(tool.name):
                made.tools.register(tool)
        return made

    @cached_property
    def tools(self) -> ToolExecutor:
        """All tools; register your own functions here."""
        settings, workspace = self._catalog.config.tools, self._catalog.workspace

        def consent(tool: Tool, _args: object, context: ToolContext) -> bool:
            return self.is_allowed(tool.name, context.agent_id)

        return toolbox(settings, workspace, consent, self._catalog.check_files)

    def is_allowed(self, tool: str, agent_id: str) -> bool:
        """Whether the user consented: in this process, in the settings, or on record."""
        if tool in self.consent:
            return True
        config, trust = self._catalog.config, self._catalog.trust
        return self._is_reviewed and consented(tool, agent_id, config, trust)

    @cached_property
    def store(self) -> RunStore:
        """The store of runs; runs whose process is gone become pending, unless it is read-only."""
        store = self._open_store()
        if self._catalog.store.is_read_only:
            return store
        try:
            store.recover(time.time())
        except BaseException:
            store.close()
            raise
        return store

    def current_store(self) -> RunStore:
        """The store; for reading, opened again once there is a file of runs."""
        if self.store.path == IN_MEMORY and self._catalog.is_kept and self.has_local_runs:
            self.close()
            del self.store
        return self.store

    def require_trust(self, what: str) -> None:
        self._catalog.require_trust(what)

    def local_store(self) -> SqliteRunStore:
        """A new connection to the runs on this machine, whatever the settings."""
        is_read_only = self._catalog.store.is_read_only
        if not self._catalog.is_kept or (is_read_only and not self.has_local_runs):
            return SqliteRunStore.in_memory()
        assert self._catalog.room is not None
        file = self._catalog.room.file(RUNS_FILE)
        return SqliteRunStore.read_only(file) if is_read_only else SqliteRunStore.open(file)

    @property
    def has_local_runs(self) -> bool:
        """Whether there is a file of runs on this machine."""
        room = self._catalog.room
        return room is not None and room.info(RUNS_FILE) is not None

    @cached_property
    def state(self) -> StateSettings | None:
        """Where shared state lives, if it is configured."""
        return state_settings(self._catalog.config, self._catalog.workspace)

    @property
    def queues(self) -> Mapping[str, QueueSetting]:
        """The queues that the settings limit."""
        return self._catalog.config.queues

    @cached_property
    def checkpoints(self) -> CheckpointStore:
        return CheckpointStore(self.store)

    @cached_property
    def leases(self) -> Leases:
        return Leases(self.store)

    @cached_property
    def runner(self) -> Runner:
        return Runner(self.store, self, self.leases, {TRY: partial(live_try, self._catalog)})

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()

    # Agents

    def add(self, agent: Agent) -> None:
        """Add an agent for as long as the catalog is open, with its functions.

        Raises `UsageError` if a file, or another function, has its name.
        """
        if not isinstance(agent, Agent):
            raise wrong_argument("agent", "an Agent", agent, "metier.Agent.of(profile) makes one")
        known = self.added.get(agent.id)
        row = next((one for one in self._stored() if one.agent_id == agent.id), None)
        if row is not None and row.path:
            raise UsageError(
                f"there is an agent '{agent.id}' already", where=row.path, hint="use another id"
            )
        replaced = known.functions if known is not None else {}
        for name, function in agent.functions.items():
            if self._functions.get(name) is not function:
                if name in replaced:
                    self.tools.remove(name)
                self.tools.register(function)
                self._functions[name] = function
        self.added[agent.id] = agent

    def _stored(self) -> list[AgentProfile]:
        return stored_agents(self._catalog.store)

    def profiles(self) -> list[AgentProfile]:
        if not self.added:
            return self._stored()
        others = [one for one in self._stored() if one.agent_id not in self.added]
        return [*(AgentProfile.of(one.to_profile()) for one in self.added.values()), *others]

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

    # Runs

    async def run(
        self,
        agent: str | Agent,
        task: str,
        *,
        input: Any = None,
        model: str | Model = "",
        execution: Execution | None = None,
        on_event: OnEvent | None = None,
    ) -> RunResult:
        check_run(agent, task, model, on_event)
        if isinstance(agent, Agent):
            self.add(agent)
        profile = self.startable(agent if isinstance(agent, str) else agent.id)
        with contextlib.nullcontext(model) if isinstance(model, str) else using(model) as name:
            async with self._servers(profile):
                return await self.runner.run(
                    profile, task, input=input, model=name, execution=execution,
                    documents=self.documents(), on_event=self.redacted(on_event),
                )  # fmt: skip

    def startable(self, agent: str) -> AgentProfile:
        """The profile of an agent that may run. Raises `TrustError`, among others."""
        self._catalog.require_trust("running an agent")
        profile = self.require(agent)
        if not profile.enabled:
            raise UsageError(
                f"agent '{agent}' is disabled", where=profile.path, hint="set enabled: true in it"
            )
        self._check_agents(self.involved(profile))
        return profile

    def documents(self) -> str:
        """The digest of the workspace's documents, which a run on shared state records."""
        return self._catalog.documents_digest() if self._is_shared else ""

    async def resume(
        self, run_id: str, *, model: Model | None = None, on_event: OnEvent | None = None
    ) -> RunResult:
        check_resume(run_id, on_event)
        self._catalog.require_trust("resuming a run")
        run = self.store.run(run_id)
        now = self.profile(run.agent_id)
        self.check_stored(AgentProfile.of(run.profile))
        with using(model) if model is not None else contextlib.nullcontext():
            async with self._servers(AgentProfile.of(run.profile)):
                limits = now.limits if now is not None else None
                shown = self.redacted(on_event)
                return await self.runner.resume(run_id, limits=limits, on_event=shown)

    async def fork(
        self,
        run_id: str,
        checkpoint_id: str | None = None,
        *,
        input: Any = None,
        on_event: OnEvent | None = None,
    ) -> RunResult:
        self._catalog.require_trust("running an agent")
        profile = AgentProfile.of(self.store.run(run_id).profile)
        self.check_stored(profile)
        async with self._servers(profile):
            shown = self.redacted(on_event)
            return await self.runner.fork(run_id, checkpoint_id, input=input, on_event=shown)

    def redacted(self, on_event: OnEvent | None) -> OnEvent | None:
        """A listener to events without the values of secrets."""
        return on_event and redacted_events(self._catalog.redactor, on_event)

    def result(self, run_id: str) -> RunResult:
        """The stored state of a run. Raises `NotFoundError`."""
        return self.runner.result(run_id)

    def spans(self) -> OnEvent | None:
        """A listener that makes OpenTelemetry spans, if tracing is set up."""
        return spans()

    def cancel(self, run_id: str) -> bool:
        """Cancel a run in this or another process; whether any process was executing it."""
        return self.runner.cancel(run_id)

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

    def tools_without_consent(self, profile: AgentProfile) -> list[str]:
        """The tools that the agent or its delegates may not call yet."""
        return list(
            dict.fromkeys(
                name
                for one in self.involved(profile)
                for name in allowed_tools(one)
                if self.needs_consent(name) and not self.is_allowed(name, one.agent_id)
            )
        )

    def needs_consent(self, tool: str) -> bool:
        """Whether it is a command of the settings, or a tool of an MCP server."""
        config = self._catalog.config
        is_command = any(command.name == tool for command in config.tools.commands)
        return is_command or any(tool.startswith(f"{one.name}__") for one in config.servers)

    def _servers(self, profile: AgentProfile) -> contextlib.AbstractAsyncContextManager[None]:
        """The MCP servers whose tools the agent or its delegates name."""
        wanted = {name for one in self.involved(profile) for name in named_tools(one)}
        workspace = self._catalog.workspace
        servers = [
            server._replace(folder=os.path.join(workspace, server.folder or ""))
            for server in self._catalog.config.servers
        ]
        pins, secret = (McpPins(workspace), self._secret()) if servers else (None, b"")
        check = self._catalog.check_files
        return connected(self.tools, servers, wanted, check, pins=pins, secret=secret)

    def check_stored(self, profile: AgentProfile) -> None:
        """Ignore recorded consent when a run's stored agent has other powers than today's."""
        now = self.profile(profile.agent_id)
        self._is_reviewed = now is not None and powers_of(now) == powers_of(profile)
        if now is not None:
            self._check_agents(self.involved(now))

    def _check_agents(self, profiles: Sequence[AgentProfile]) -> None:
        """Raise `TrustError` for an agent that has changed since it was trusted."""
        for profile in profiles:
            if profile.path:
                row = self._catalog.row("agent", profile.agent_id)
                check_agent(row, profile, self._catalog.trust)

    # What a run needs

    def model(self, name: str, agent_id: str = "") -> Model:
        """The model of that name, else the default of the settings, else the offline model.

        The object that an agent was made with comes before a model of the settings.
        """
        added = self.added.get(agent_id)
        if added is not None and added.own_model is not None and added.own_model.name == name:
            return added.own_model
        settings = self._catalog.config.models
        return model_for(name or settings.default or "offline", settings=settings.providers)

    def price(self, name: str) -> Price | None:
        """What a model costs, if that is known."""
        return price_of(name, self._catalog.config.models.providers)

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
