"""Runs of agents: records of runs and steps, and events."""

from collections.abc import Callable, Mapping, Sequence
from operator import add, sub
from typing import Any, Literal, NamedTuple, get_args

from metier.core.timestamps import to_iso
from metier.values.outcomes import Issue

RunState = Literal[
    "pending", "running", "succeeded", "failed", "cancelled", "rolled_back", "rollback_incomplete"
]
STATES: tuple[RunState, ...] = get_args(RunState)
StepState = Literal[
    "pending", "running", "succeeded", "skipped", "failed", "blocked", "cancelled", "compensated"
]
DONE: tuple[StepState, ...] = ("succeeded", "skipped")
"""Steps in these states are not run again by a resume."""
RESUMABLE: tuple[RunState, ...] = ("pending", "failed", "cancelled")
ENDED: tuple[RunState, ...] = ("succeeded", "rolled_back", "rollback_incomplete")
"""Runs in these states cannot be resumed."""


class Usage(NamedTuple):
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """In US dollars."""
    requests: int = 0
    tool_calls: int = 0

    @property
    def tokens(self) -> int:
        """Of prompts and answers."""
        return self.input_tokens + self.output_tokens

    def plus(self, other: "Usage") -> "Usage":
        return Usage(*map(add, self, other)) if any(self) else other

    def minus(self, other: "Usage") -> "Usage":
        return Usage(*map(sub, self, other))

    def to_json(self) -> dict[str, Any]:
        names = ("inputTokens", "outputTokens", "cost", "requests", "toolCalls")
        return dict(zip(names, self, strict=True))


NOTHING_USED = Usage()


class Failure(NamedTuple):
    """Why a step or a run failed."""

    code: str
    """Stable; `metier explain CODE` prints its page."""
    message: str
    kind: str = ""
    """timeout · rateLimit · serverError · networkError, or empty."""
    retryable: bool = False
    step: str = ""
    """Of a run: the step that failed first."""
    hint: str = ""
    tool: str = ""
    """The tool that lacks consent, if any; not stored."""

    def may_retry(self, kinds: Sequence[str]) -> bool:
        """Whether to try again: after any of `kinds`; without kinds, if it is retryable."""
        return self.kind in kinds if kinds else self.retryable

    def to_json(self) -> dict[str, Any]:
        said = {"code": self.code, "message": self.message, "retryable": self.retryable}
        more = {"kind": self.kind, "step": self.step, "hint": self.hint}
        return {**said, **{key: value for key, value in more.items() if value}}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Failure":
        more = {name: data[name] for name in cls._fields[2:] if name in data}
        return cls(data["code"], data["message"], **more)


class StepRecord(NamedTuple):
    """The stored state of one step."""

    id: str
    """The step's id; in a loop with the iteration, as in `check[2]`."""
    state: StepState
    seq: int = 0
    """Its number in the order in which steps ended, or 0."""
    attempts: int = 0
    input: Any = None
    output: Any = None
    failure: Failure | None = None
    usage: Usage = NOTHING_USED
    started: float = 0.0
    finished: float | None = None
    generation: int = 0
    """How often it was compensated."""

    def to_json(self) -> dict[str, Any]:
        return {
            "stepId": self.id,
            "state": self.state,
            "attempts": self.attempts,
            "input": self.input,
            "output": self.output,
            "error": self.failure.to_json() if self.failure else None,
            "usage": self.usage.to_json(),
            "durationMs": self.duration_ms,
        }

    @property
    def duration_ms(self) -> float | None:
        """Never below 0, even when the clock is set back while a step runs."""
        return round(max(0.0, self.finished - self.started) * 1e3, 1) if self.finished else None


class Claim(NamedTuple):
    """The right to write to a run, until the next claim of that run."""

    key: int
    epoch: int


class RunRecord(NamedTuple):
    """The stored state of one run."""

    run_id: str
    agent_id: str
    task: str
    state: RunState
    created: float
    request: Mapping[str, Any]
    """Input, model, execution, delegation chain and depth limit."""
    profile: Mapping[str, Any]
    """As it was when the run began."""
    finished: float | None = None
    parent_run: str = ""
    parent_step: str = ""
    forked_from: str = ""
    failure: Failure | None = None
    usage: Usage = NOTHING_USED
    output: Any = None
    key: int = 0
    epoch: int = 0
    """Raised by every claim; only the latest may write."""
    rollback: Failure | None = None
    """Why it is being rolled back."""

    @property
    def claim(self) -> Claim:
        return Claim(self.key, self.epoch)

    @property
    def is_resumable(self) -> bool:
        return self.state in RESUMABLE

    def to_json(self) -> dict[str, Any]:
        return {
            "runId": self.run_id,
            "agentId": self.agent_id,
            "task": self.task,
            "state": self.state,
            "createdAt": to_iso(self.created),
            "finishedAt": to_iso(self.finished) if self.finished else None,
            "parentRunId": self.parent_run or None,
            "parentStepId": self.parent_step or None,
            "forkedFrom": self.forked_from or None,
            "error": self.failure.to_json() if self.failure else None,
            "usage": self.usage.to_json(),
            "output": self.output,
        }


RunOrder = Literal["started", "agent", "task", "state", "seconds", "cost"]


class RunsAsked(NamedTuple):
    """Which runs a list is to show."""

    state: str = ""
    agent: str = ""
    text: str = ""
    """In the task, the agent's name or the id, in any case."""
    order: RunOrder = "started"
    descending: bool = True
    limit: int = 50
    offset: int = 0
    delegated: bool = False
    """Whether to include runs that other runs delegated."""


class RunRow(NamedTuple):
    """A run in a list."""

    run_id: str
    agent_id: str
    task: str
    """Its beginning."""
    state: RunState
    created: float
    finished: float | None
    parent_run: str
    usage: Usage
    is_abandoned: bool = False
    """Whether its process is gone, although its state is `running`, or `pending` on one machine."""


class RunResult(NamedTuple):
    """The result of a run."""

    run: RunRecord
    steps: Sequence[StepRecord]
    outputs: Mapping[str, Any]
    """Name → output of the steps that name one."""

    @property
    def run_id(self) -> str:
        """For `resume` and `run_result`."""
        return self.run.run_id

    @property
    def state(self) -> RunState:
        """`succeeded`, `failed`, `cancelled`, …"""
        return self.run.state

    @property
    def success(self) -> bool:
        """Whether the run succeeded."""
        return self.run.state == "succeeded"

    @property
    def output(self) -> Any:
        """The answer: the output of the last step."""
        return self.run.output

    @property
    def usage(self) -> Usage:
        """Tokens, cost, requests and calls of tools."""
        return self.run.usage

    @property
    def errors(self) -> list[Failure]:
        """What ended the run, if it was not a step, and the failures of steps; each once."""
        failures = [step.failure for step in self.steps if step.failure is not None]
        why = self.run.failure
        if why is not None and all((one.code, one.message) != why[:2] for one in failures):
            failures.insert(0, why)
        return list(dict.fromkeys(failures))

    @property
    def warnings(self) -> list[Issue]:
        """What the steps were warned of when they were prepared; each once."""
        given = (step.input for step in self.steps if isinstance(step.input, Mapping))
        found = [one for input in given for one in input.get("warnings") or ()]
        issues = (
            Issue(one["code"], one["message"], one["path"], hint=one["hint"]) for one in found
        )
        return list(dict.fromkeys(issues))

    def to_json(self) -> dict[str, Any]:
        """The run and its steps as a dictionary for JSON."""
        return {
            **self.run.to_json(),
            "errors": [one.to_json() for one in self.errors],
            "outputs": dict(self.outputs),
            "steps": [step.to_json() for step in self.steps],
        }


class Event(NamedTuple):
    """Something that happened in a run."""

    kind: str
    """`run.started`, `step.succeeded`, `model.text`, `tool.called`, …"""
    run_id: str
    at: float
    step_id: str = ""
    data: Mapping[str, Any] = {}  # never changed

    def to_json(self) -> dict[str, Any]:
        """The event as a dictionary for JSON."""
        head: dict[str, Any] = {"event": self.kind, "runId": self.run_id, "at": self.at}
        return {**head, **({"stepId": self.step_id} if self.step_id else {}), **self.data}


OnEvent = Callable[[Event], None]
