"""A small world in which agents run: one tool that does what a test says, a scripted model."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any

from metier.run.models import OfflineModel
from metier.run.runner import Runner
from metier.run.services import Prepared
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import RunStore
from metier.run.tool import ToolContext, ToolError, schema_tool
from metier.run.tools import ToolExecutor
from metier.values.agents import AgentProfile, WorkflowStep
from metier.values.models import Model
from metier.values.profiles import profile_flaws
from metier.values.runs import RunRecord, RunResult

Data = dict[str, Any]
Act = Callable[[Data, ToolContext], Awaitable[Any]]
RETRYABLE = ToolError("not now", retryable=True)
BROKEN = ToolError("broken")


class World:
    """What runs ask for. `calls` are the full ids of the steps whose tool was called, in order."""

    def __init__(
        self,
        *profiles: AgentProfile,
        model: Model | None = None,
        act: Act | None = None,
        store: RunStore | None = None,
    ) -> None:
        """`act` is what the tool does where `acts` says nothing; else it gives the step's id."""
        self.store: Any = store or SqliteRunStore.in_memory()
        """A `RunStore`; some tests look into that of SQLite."""
        self.tools = ToolExecutor()
        self.tools.register(schema_tool("do", {}, self._do))
        self.calls: list[str] = []
        self.given: dict[str, Data] = {}
        """The last arguments of each step."""
        self.contexts: list[ToolContext] = []
        self.acts: dict[str, Any] = {}
        """What the tool does, by the step's full or plain id: a value that it gives, an error
        that it raises, an async function of arguments and context, or an iterator of these."""
        self.profiles = {one.agent_id: one for one in profiles}
        self.prepared: Callable[[AgentProfile, WorkflowStep, str], Prepared] = (
            lambda _agent, _step, _text: Prepared()
        )
        self.tasks: list[str] = []
        """The tasks of the runs whose steps were prepared."""
        self.outcomes: list[tuple[str, bool]] = []
        self.models: list[str] = []
        """The names under which models were asked for."""
        self._model = model or OfflineModel()
        self._act = act

    async def _do(self, args: Data, context: ToolContext) -> Any:
        self.calls.append(context.step_id)
        self.given[context.step_id] = args
        self.contexts.append(context)
        plain = context.step_id.partition("[")[0]
        other = self._act or context.step_id
        act = self.acts.get(context.step_id, self.acts.get(plain, other))
        if isinstance(act, Iterator):
            act = next(act)
        if isinstance(act, BaseException):
            raise act
        return await act(args, context) if callable(act) else act

    # Services

    def __del__(self) -> None:
        self.store.close()

    def tools_of(self, _agent_id: str) -> ToolExecutor:
        return self.tools

    def profile(self, agent_id: str) -> AgentProfile | None:
        return self.profiles.get(agent_id)

    def agent_ids(self) -> list[str]:
        return list(self.profiles)

    def prepare(self, agent: AgentProfile, step: WorkflowStep, text: str, task: str) -> Prepared:
        self.tasks.append(task)
        return self.prepared(agent, step, text)

    def model(self, name: str, agent_id: str = "") -> Model:
        assert isinstance(agent_id, str)
        self.models.append(name)
        return self._model

    def check_model(self, name: str, agent_id: str) -> None:
        """Every name means the same model."""

    def check_price(self, name: str, agent_id: str) -> None:
        """Scripted replies say what they cost."""

    def record_outcome(self, provider: str, *, success: bool) -> None:
        self.outcomes.append((provider, success))

    # What tests do

    def runner(self) -> Runner:
        return Runner(self.store, self)

    def run(self, profile: AgentProfile, task: str = "do it", **more: Any) -> RunResult:
        return asyncio.run(self.runner().run(profile, task, **more))

    def resume(self, run_id: str) -> RunResult:
        return asyncio.run(self.runner().resume(run_id))

    def fork(self, run_id: str, checkpoint: str | None = None, **more: Any) -> RunResult:
        return asyncio.run(self.runner().fork(run_id, checkpoint, **more))

    @staticmethod
    async def pause() -> None:
        """Let everything that can go on do so."""
        for _ in range(20):
            await asyncio.sleep(0)

    def kept(self, run: RunRecord) -> dict[str, str]:
        """The states of the steps of a run, as the store has them."""
        return {one.id: one.state for one in self.store.steps(run.key)}


def agent(*steps: Data, agent_id: str = "worker", **more: Any) -> AgentProfile:
    """A valid profile with these steps."""
    data = {"agentId": agent_id, "description": "Works.", "workflow": list(steps), **more}
    flaws = [one.message for one in profile_flaws(data)]
    assert flaws == []
    return AgentProfile.of(data)


def hurried(profile: AgentProfile) -> AgentProfile:
    """The profile with time limits of 200 ms where it has the shortest that are legal."""
    text = json.dumps(dict(profile.data)).replace('"timeoutMs": 1000', '"timeoutMs": 200')
    return AgentProfile.of(json.loads(text))


async def forever(_args: Data, _context: ToolContext) -> None:
    """What a tool does that never answers."""
    await asyncio.Event().wait()


def do(step_id: str, *depends: str, **more: Any) -> Data:
    """A step that calls the tool of the world; `input` are its arguments."""
    config = {"tool": "do", **({"input": more.pop("input")} if "input" in more else {})}
    return _step(step_id, "tool", config, depends, more)


def prompt(step_id: str, text: str = "Say it.", /, **more: Any) -> Data:
    own = _taken(more, "tools", "outputSchema", "maxToolRounds")
    return _step(step_id, "prompt", {"prompt": text, **own}, (), more)


def delegate(step_id: str, target: str, /, **more: Any) -> Data:
    own = _taken(more, "task", "input")
    return _step(step_id, "delegate", {"targetAgent": target, **own}, (), more)


def parallel(step_id: str, *steps: Data, **more: Any) -> Data:
    own = _taken(more, "maxConcurrency", "failureStrategy")
    return _step(step_id, "parallel", {"steps": list(steps), **own}, (), more)


def loop(step_id: str, over: str | None, *steps: Data, **more: Any) -> Data:
    """A loop over an expression, or with none as long as `while_` holds."""
    own = _taken(more, "while_", "as_", "maxIterations")
    if over is not None:
        own["over"] = over
    return _step(step_id, "loop", {"steps": list(steps), **own}, (), more)


def choose(
    step_id: str, test: str, then: Iterable[Data], other: Iterable[Data] = (), **more: Any
) -> Data:
    config = {"condition": test, "then": list(then), "else": list(other)}
    return _step(step_id, "conditional", config, (), more)


def _taken(more: Data, *keys: str) -> Data:
    """What belongs to the config of a step, out of what was given for it."""
    return {key.rstrip("_"): more.pop(key) for key in keys if key in more}


def _step(
    step_id: str, kind: str, config: Data, depends: Iterable[str], more: Mapping[str, Any]
) -> Data:
    dependencies = {"dependencies": list(depends)} if depends else {}
    return {"stepId": step_id, "type": kind, "config": config, **dependencies, **more}


def states(result: RunResult) -> dict[str, str]:
    return {one.id: one.state for one in result.steps}


def outputs(result: RunResult) -> dict[str, Any]:
    return {one.id: one.output for one in result.steps if one.state == "succeeded"}
