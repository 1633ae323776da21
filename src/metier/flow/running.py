"""The last third of the flow: select an agent → prepare each step → run → record the outcome."""

import contextlib
import os
import time
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

from metier.config.consent import check_agent, check_files, consented
from metier.core.nearest import nearest
from metier.errors import NotFoundError, UsageError
from metier.flow.boundary import powers_of
from metier.flow.step_context import Knowledge, StepPreparing
from metier.index.agents import stored_agents
from metier.run.checkpoints import CheckpointStore
from metier.run.models import model_for
from metier.run.runner import Runner, cancel
from metier.run.services import Look, Prepared
from metier.run.sqlite_store import FILE_NAME, RunStore
from metier.run.tool import Tool, ToolContext
from metier.run.toolbox import connected, toolbox
from metier.run.tools import ToolExecutor
from metier.run.workflow import delegates, named_tools
from metier.select.agents import DEFAULT_LIMIT, select_agents
from metier.values.agents import AgentMatch, AgentProfile, Execution, WorkflowStep
from metier.values.models import Model
from metier.values.runs import RunResult


class Agency:
    """The agents of one catalogue, and what they need to run."""

    def __init__(self, catalog: Knowledge, secret: Callable[[], bytes]) -> None:
        """`secret` makes the marks around what is handed over."""
        self._catalog = catalog
        self._preparing = StepPreparing(catalog, secret)
        self.consent: set[str] = set()
        """Names of the tools that were allowed for this one time."""
        self._is_reviewed = True
        """Whether consent that was given before holds: not for a run whose agent has changed."""

    @cached_property
    def tools(self) -> ToolExecutor:
        """The tools that there are; register your own functions here."""
        settings, workspace = self._catalog.config.tools, self._catalog.workspace
        return toolbox(settings, workspace, self._may_call, self._check_files)

    def _may_call(self, tool: Tool, _args: object, context: ToolContext) -> bool:
        return self.is_allowed(tool.name, context.agent_id)

    def is_allowed(self, tool: str, agent_id: str) -> bool:
        """Whether the user agreed that an agent calls a tool: now, in settings, or on record."""
        if tool in self.consent:
            return True
        config, trust = self._catalog.config, self._catalog.trust
        return self._is_reviewed and consented(tool, agent_id, config, trust)

    def _check_files(self, argv: Sequence[str], folder: str) -> None:
        """Raise `TrustError` when a file that a command names is not the one that was trusted."""
        check_files(argv, folder, self._catalog.workspace, self._catalog.trust)

    @cached_property
    def store(self) -> RunStore:
        """The record of runs; runs whose process is gone are set free."""
        if not self._catalog.is_kept:
            return RunStore.in_memory()
        assert self._catalog.room is not None
        store = RunStore.open(self._catalog.room.file(FILE_NAME))
        try:
            store.recover(time.time())
        except BaseException:
            store.close()
            raise
        return store

    @cached_property
    def checkpoints(self) -> CheckpointStore:
        return CheckpointStore(self.store)

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()

    # Who

    def profiles(self) -> list[AgentProfile]:
        return stored_agents(self._catalog.store)

    def profile(self, agent_id: str) -> AgentProfile | None:
        """The profile of an agent, if there is one."""
        return next((one for one in self.profiles() if one.agent_id == agent_id), None)

    def require(self, agent_id: str) -> AgentProfile:
        """The profile of an agent. Raises `NotFoundError`."""
        found = self.profile(agent_id)
        if found is not None:
            return found
        near = nearest(agent_id, [one.agent_id for one in self.profiles()])
        broken = self._catalog.left_out("agent", agent_id)
        raise NotFoundError(
            f"agent '{agent_id}' was left out for its errors"
            if broken
            else f"no agent is called '{agent_id}'",
            where=broken or self._catalog.workspace,
            hint="metier lint"
            if broken
            else f"did you mean '{near}'?"
            if near
            else "metier list agents",
        )

    def select(
        self,
        task: str,
        limit: int = DEFAULT_LIMIT,
        *,
        team: str | None = None,
        required_capabilities: Sequence[str] = (),
        exclude: Collection[str] = (),
    ) -> list[AgentMatch]:
        return select_agents(
            self.profiles(),
            task,
            limit,
            team=team,
            required_capabilities=required_capabilities,
            exclude=exclude,
        )

    # Runs

    async def run(
        self,
        agent: str,
        task: str,
        *,
        input: Any = None,
        model: str = "",
        execution: Execution | None = None,
        look: Look | None = None,
    ) -> RunResult:
        self._catalog.require_trust("running an agent")
        profile = self.require(agent)
        if not profile.enabled:
            raise UsageError(
                f"agent '{agent}' is disabled", where=profile.path, hint="set enabled: true in it"
            )
        self._check_agents(self.involved(profile))
        async with self._servers(profile):
            runner = Runner(self.store, self, look)
            return await runner.run(profile, task, input=input, model=model, execution=execution)

    async def resume(self, run_id: str, *, look: Look | None = None) -> RunResult:
        self._catalog.require_trust("resuming a run")
        run = self.store.run(run_id)
        now = self.profile(run.agent_id)
        self.check_stored(AgentProfile.of(run.profile))
        async with self._servers(AgentProfile.of(run.profile)):
            runner = Runner(self.store, self, look)
            return await runner.resume(run_id, limits=now.limits if now is not None else None)

    async def fork(
        self,
        run_id: str,
        checkpoint_id: str | None = None,
        *,
        input: Any = None,
        look: Look | None = None,
    ) -> RunResult:
        self._catalog.require_trust("running an agent")
        profile = AgentProfile.of(self.store.run(run_id).profile)
        self.check_stored(profile)
        async with self._servers(profile):
            return await Runner(self.store, self, look).fork(run_id, checkpoint_id, input=input)

    def cancel(self, run_id: str) -> bool:
        """Stop a run, wherever it is at work; whether somebody was at work on it."""
        return cancel(self.store, run_id)

    def involved(self, profile: AgentProfile) -> list[AgentProfile]:
        """The agent, those that its steps delegate to, and theirs."""
        known = {one.agent_id: one for one in self.profiles()}
        reached = {profile.agent_id: profile}
        for one in (found := [profile]):
            for target in sorted(delegates(one)):
                if target in known and target not in reached:
                    reached[target] = known[target]
                    found.append(known[target])
        return found

    def _servers(self, profile: AgentProfile) -> contextlib.AbstractAsyncContextManager[None]:
        """The MCP servers whose tools the agent, or one that it delegates to, names."""
        wanted = {name for one in self.involved(profile) for name in named_tools(one)}
        workspace = self._catalog.workspace
        servers = [
            one._replace(folder=os.path.join(workspace, one.folder or ""))
            for one in self._catalog.config.servers
        ]
        return connected(self.tools, servers, wanted, self._check_files)

    def check_stored(self, profile: AgentProfile) -> None:
        """Let earlier consent hold only if a run's agent can do what today's agent can.

        A run keeps the profile that it began with, and runs may come from elsewhere.
        """
        now = self.profile(profile.agent_id)
        self._is_reviewed = now is not None and powers_of(now) == powers_of(profile)
        if now is not None:
            self._check_agents(self.involved(now))

    def _check_agents(self, profiles: Sequence[AgentProfile]) -> None:
        """Raise `TrustError` for an agent that is not the one that was trusted."""
        for profile in profiles:
            if profile.path:
                row = self._catalog.row("agent", profile.agent_id)
                check_agent(row, powers_of(profile), self._catalog.trust)

    # What a run asks for

    def model(self, name: str) -> Model:
        """The model of that name, or the one that the settings name, or the offline one."""
        settings = self._catalog.config.models
        return model_for(name or settings.default or "offline", settings=settings.providers)

    def record_outcome(self, provider: str, *, success: bool) -> None:
        """Add to the history of a provider; one that is gone by now has none."""
        with contextlib.suppress(NotFoundError):
            self._catalog.record_outcome(provider, success=success)

    def prepare(self, agent: AgentProfile, step: WorkflowStep, text: str, task: str) -> Prepared:
        """What the step is handed: skills that provide what it requires, abilities and cards."""
        return self._preparing.prepare(agent, step, text, task)
