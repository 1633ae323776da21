"""Runs agents: select an agent, inject what each step needs, run it, record the outcome."""

import contextlib
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from metier.config.consent import consented
from metier.config.mcp_pins import McpPins
from metier.core.arguments import check_listener, wrong_argument
from metier.core.nearest import did_you_mean
from metier.errors import UsageError
from metier.flow.agent import Agent
from metier.flow.agent_powers import check_agent, powers_of
from metier.flow.live_tries import TRY, live_try
from metier.flow.redacted_events import redacted_events
from metier.flow.run_catalog import RunCatalog
from metier.flow.run_services import KnownAgents, RunServices
from metier.flow.state_settings import StateSettings, ignored_state, state_settings
from metier.index.documents import require_document
from metier.run.checkpoints import CheckpointStore
from metier.run.leases import Leases
from metier.run.models import Price, model_for, price_of, using
from metier.run.runner import Runner
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import RunStore
from metier.run.telemetry import spans
from metier.run.tool import Tool, ToolContext
from metier.run.tools import ToolExecutor, connected, toolbox
from metier.storage.database import IN_MEMORY
from metier.storage.workspace import RUNS_FILE
from metier.values.agents import (
    AgentProfile,
    Execution,
    allowed_tools,
)
from metier.values.models import A_NAME, Model, check_model
from metier.values.runs import OnEvent, RunResult
from metier.values.settings import QueueSetting

_BETWEEN = "\n\n"


class Agency(KnownAgents):
    """The agents of one catalog, and what they need to run."""

    def __init__(
        self,
        catalog: RunCatalog,
        secret: Callable[[], bytes],
        open_store: Callable[[], RunStore] | None = None,
    ) -> None:
        """`secret` makes the fences around injected text; `open_store` opens the store of runs,
        by default a file in the state of the workspace."""
        super().__init__(catalog)
        self._secret = secret
        self._open_store = open_store or self.local_store
        self._is_shared = open_store is not None
        self.consent: set[str] = set()
        """Tools that were allowed in this process."""
        self._is_reviewed = True
        """Whether recorded consent counts: not for a run whose agent has changed."""

    def for_one_run(self) -> "Agency":
        """An agency with the same store, leases, consent, tools and agents; do not close it.

        Servers are connected and consent is reviewed for each run.
        """
        made = Agency(self._catalog, self._secret)
        made.store, made.leases = self.store, self.leases
        made.consent, made._is_shared = self.consent, self._is_shared
        made.added = self.added
        for tool in self.tools.registered():
            if not made.tools.is_tool_available(tool.name):
                made.tools.register(tool)
        return made

    @cached_property
    def tools(self) -> ToolExecutor:
        """The tools of all agents; register your own functions here."""
        settings, workspace = self._catalog.config.tools, self._catalog.workspace

        def consent(tool: Tool, _args: object, context: ToolContext) -> bool:
            return self.is_allowed(tool.name, context.agent_id)

        return toolbox(settings, workspace, consent, self._catalog.check_files)

    def allow(self, names: Collection[str], otherwise: str) -> None:
        """Consent to tools in this process. Raises `UsageError` for an unknown one.

        `otherwise` is the hint if no known tool has a similar name.
        """
        known = self.tools.names()
        known += [name for one in self.added.values() for name in one.tools]
        for name in names:
            if name not in known and not self.needs_consent(name):
                hint = did_you_mean(name, known, otherwise)
                raise UsageError(f"there is no tool '{name}'", hint=hint)
        self.consent.update(names)

    def is_allowed(self, tool: str, agent_id: str, *, is_reviewed: bool | None = None) -> bool:
        """Whether the user consented: in this process, in the settings, or on record.

        `is_reviewed` says whether the record counts, by default for the run that was checked last.
        """
        if tool in self.consent:
            return True
        config, trust = self._catalog.config, self._catalog.trust
        counts = self._is_reviewed if is_reviewed is None else is_reviewed
        return counts and consented(tool, agent_id, config, trust)

    def services(
        self, *, is_reviewed: bool = True, given_model: Model | None = None
    ) -> RunServices:
        """What a run needs that starts now, with the agents that are known now.

        `given_model` replaces every other.
        """

        def consent(tool: Tool, _args: object, context: ToolContext) -> bool:
            return self.is_allowed(tool.name, context.agent_id, is_reviewed=is_reviewed)

        def named_model(name: str) -> Model:
            return self.model(name)

        return RunServices(
            self._catalog, self._secret, self.added, self.tools, consent, named_model, given_model
        )

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
    def ignored_state(self) -> str:
        """Why the shared state of the workspace does not count, if so."""
        return ignored_state(self._catalog.config)

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
        kinds = {TRY: partial(live_try, self._catalog)}
        return Runner(self.store, self.services(), self.leases, kinds)

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()

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
        services = self.services()
        with contextlib.nullcontext(model) if isinstance(model, str) else using(model) as name:
            if name:
                services.check_model(name, profile.agent_id)
            async with self._servers(services, profile):
                return await self.runner.run(
                    profile, task, input=input, model=name, execution=execution,
                    documents=self.documents(), on_event=self.redacted(on_event),
                    services=services,
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
        self, run_id: str, *, model: str | Model = "", on_event: OnEvent | None = None
    ) -> RunResult:
        check_resume(run_id, model, on_event)
        self._catalog.require_trust("resuming a run")
        run = self.store.run(run_id)
        now = self.profile(run.agent_id)
        profile = AgentProfile.of(run.profile)
        self.check_stored(profile)
        given = self._named(model) if isinstance(model, str) else model
        services = self.services(is_reviewed=self._is_reviewed, given_model=given)
        async with self._servers(services, profile):
            return await self.runner.resume(
                run_id,
                limits=now.limits if now is not None else None,
                on_event=self.redacted(on_event),
                services=services,
            )

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
        services = self.services(is_reviewed=self._is_reviewed)
        async with self._servers(services, profile):
            shown = self.redacted(on_event)
            return await self.runner.fork(
                run_id, checkpoint_id, input=input, on_event=shown, services=services
            )

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

    def tools_without_consent(self, profile: AgentProfile) -> list[str]:
        """The tools that the agent or its delegates may not call yet."""
        return list(
            dict.fromkeys(
                name
                for one in self.involved(profile)
                for name in allowed_tools(one)
                if name not in self.own_tools(one.agent_id)
                and self.needs_consent(name)
                and not self.is_allowed(name, one.agent_id)
            )
        )

    def needs_consent(self, tool: str) -> bool:
        """Whether it is a command of the settings, or a tool of an MCP server."""
        config = self._catalog.config
        is_command = any(command.name == tool for command in config.tools.commands)
        return is_command or any(tool.startswith(f"{one.name}__") for one in config.servers)

    def _servers(
        self, agents: KnownAgents, profile: AgentProfile
    ) -> contextlib.AbstractAsyncContextManager[None]:
        """The MCP servers whose tools the agent or its delegates name."""
        wanted = agents.borrowed_tools(profile)
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
                catalog, agent = self._catalog, profile.agent_id
                row = require_document(catalog.store, "agent", agent, catalog.workspace)
                check_agent(row, profile, catalog.trust)

    # What a run needs

    def model(self, name: str) -> Model:
        """The model of that name, else the default of the settings, else the offline model."""
        settings = self._catalog.config.models
        return model_for(name or settings.default or "offline", settings=settings.providers)

    def _named(self, name: str) -> Model | None:
        return self.model(name) if name else None

    def price(self, name: str) -> Price | None:
        """What a model costs, if that is known."""
        return price_of(name, self._catalog.config.models.providers)


def check_run(agent: object, task: object, model: object, on_event: OnEvent | None = None) -> None:
    """Raise `UsageError` unless a run can be started with arguments of these types."""
    if not isinstance(agent, str | Agent):
        raise wrong_argument("agent", "the id of an agent, or an Agent", agent)
    if not isinstance(task, str):
        raise wrong_argument("task", "a string", task)
    _check_options(model, on_event)


def check_resume(run_id: object, model: object, on_event: OnEvent | None = None) -> None:
    """Raise `UsageError` unless a run can be resumed with arguments of these types."""
    if not isinstance(run_id, str):
        raise wrong_argument("run_id", "a string", run_id)
    _check_options(model, on_event)


def _check_options(model: object, on_event: OnEvent | None) -> None:
    if not isinstance(model, str):
        check_model(model, A_NAME)
    if on_event is not None:
        check_listener("on_event", on_event)
