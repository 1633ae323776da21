"""The last third of the flow: select an agent → prepare each step → run → record the outcome."""

import contextlib
import math
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from metier.boundary import powers_of
from metier.config import Config
from metier.consent import check_agent, check_files, consented
from metier.core.budget import CountTokens, fit
from metier.core.nearest import nearest
from metier.core.render import BETWEEN_REFERENCES, REFERENCE_PREAMBLE, as_reference
from metier.errors import MetierError, NotFoundError, UsageError
from metier.index.agents import stored_agents
from metier.index.store import Store
from metier.inject.sanitize import sanitize_capability_content
from metier.run.checkpoints import CheckpointStore
from metier.run.models import model_for
from metier.run.runner import Runner, cancel
from metier.run.services import Look, Prepared
from metier.run.store import FILE_NAME, RunStore
from metier.run.tool import Tool, ToolContext
from metier.run.toolbox import connected, toolbox
from metier.run.tools import ToolExecutor
from metier.run.workflow import allowed_tools, delegates
from metier.select.agents import DEFAULT_LIMIT, select_agents
from metier.storage.room import Room
from metier.values.agents import AgentMatch, AgentProfile, Execution, WorkflowStep
from metier.values.documents import Document
from metier.values.files import Kind
from metier.values.models import Model
from metier.values.rows import Row
from metier.values.runs import Failure, RunResult
from metier.values.selection import Injection
from metier.values.trust import Trust

if TYPE_CHECKING:
    from metier.resolve import Resolution

_BETWEEN = "\n\n"
LEAST_SIGNAL = 10.0
"""What an ability must say to a task to be handed to an agent at work: as much as one tag does."""


class Knowledge(Protocol):
    """What a catalogue is asked while agents run."""

    workspace: str
    config: Config
    store: Store
    trust: Trust
    room: Room | None

    def require_trust(self, what: str) -> None: ...
    @property
    def is_kept(self) -> bool: ...
    @property
    def count_tokens(self) -> CountTokens: ...
    def resolve(
        self,
        requires: Sequence[str],
        query: str,
        *,
        policy: Mapping[str, str],
        only: Collection[str] | None,
    ) -> "Resolution": ...
    def keep_report(self, resolution: "Resolution") -> str: ...
    def record_outcome(self, candidate: str, *, success: bool) -> object: ...
    def inject(
        self,
        messages: str,
        *,
        agent: str | None,
        core: Sequence[str],
        budget: int,
        min_signal: float,
        include_untrusted: bool,
    ) -> Injection: ...
    def row(self, kind: Kind, wanted: str) -> Row: ...
    def document(self, row: Row) -> Document: ...
    def left_out(self, kind: Kind, wanted: str) -> str: ...


class Agency:
    """The agents of one catalogue, and what they need to run."""

    def __init__(self, catalog: Knowledge, secret: Callable[[], bytes]) -> None:
        """`secret` makes the marks around what is handed over."""
        self._catalog = catalog
        self._secret = secret
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
        store.recover(time.time())
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
        """The MCP servers whose tools the agent, or one that it delegates to, lists."""
        wanted = {name for one in self.involved(profile) for name in allowed_tools(one)}
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

    def prepare(self, agent: AgentProfile, step: WorkflowStep, task: str) -> Prepared:
        """Providers of what the step requires, within the agent's budget, then its abilities."""
        requires = tuple(dict.fromkeys((*agent.requires, *step.requires)))
        record: dict[str, Any] = {}
        count = self._catalog.count_tokens
        skills = ""
        providers: Sequence[str] = ()
        if requires:
            policy = {"selection-mode": "cover"} if len(requires) > 1 else {}
            resolution = self._catalog.resolve(requires, task, policy=policy, only=agent.skills)
            self._catalog.keep_report(resolution)
            record["report"] = resolution.facts.run_id
            if resolution.unresolved or not resolution.selected:
                lacking = ", ".join(resolution.unresolved or requires)
                message = f"nobody provides {lacking} (report {resolution.facts.run_id})"
                failure = Failure("CAPABILITY_UNRESOLVED", message)
                return Prepared(record=record, failure=failure)
            providers = resolution.selected
            room = agent.ability_tokens - self._core_tokens(agent, task)
            skills, left = self._bodies(providers, max(0, room), count)
            record |= {"providers": list(providers), "providersLeftOut": left}
        if step.type != "prompt":
            return Prepared(record=record, providers=providers)
        injection = self._catalog.inject(
            task,
            agent=agent.agent_id if agent.path else None,
            core=agent.core_abilities,
            budget=max(0, agent.ability_tokens - (count(_BETWEEN + skills) if skills else 0)),
            min_signal=LEAST_SIGNAL,
            include_untrusted=False,
        )
        if injection.failed:
            first = next(one for one in injection.issues if one.is_error)
            return Prepared(record=record, failure=Failure(first.code, first.message))
        if injection.injected_abilities or injection.injected_cards or injection.skipped:
            record["abilities"] = list(injection.injected_abilities)
            record["cards"] = [one.item.id for one in injection.injected_cards]
            record["skipped"] = [one.to_json() for one in injection.skipped]
        text = _BETWEEN.join(part for part in (injection.text, skills) if part)
        if text:
            record["tokens"] = count(text)
        return Prepared(text, record, providers)

    def _core_tokens(self, agent: AgentProfile, task: str) -> int:
        """What the core abilities take: they come before everything else."""
        if not agent.core_abilities:
            return 0
        alone = self._catalog.inject(
            task,
            agent=agent.agent_id,
            core=agent.core_abilities,
            budget=agent.ability_tokens,
            min_signal=math.inf,
            include_untrusted=False,
        )
        return self._catalog.count_tokens(alone.text + _BETWEEN) if alone.text else 0

    def _bodies(
        self, providers: Sequence[str], limit: int, count: CountTokens
    ) -> tuple[str, list[str]]:
        """The texts of skills between marks, and those that were not handed over."""
        parts: dict[str, str] = {}
        for provider in providers:
            with contextlib.suppress(MetierError):
                row = self._catalog.row("skill", provider)
                clean = sanitize_capability_content(self._catalog.document(row).body, row.path)
                if not clean.rejected:
                    parts[provider] = as_reference(
                        clean.text, kind="skill", id=row.name, source=row.path,
                        sha256=row.sha256, secret=self._secret(),
                    )  # fmt: skip
        fitted = fit(
            list(parts.values()),
            limit,
            separator=BETWEEN_REFERENCES,
            count=count,
            overflow="skip",
            start=REFERENCE_PREAMBLE,
        )
        names = list(parts)
        taken = {names[place] for place in fitted.taken}
        return fitted.text, [one for one in providers if one not in taken]
