"""Runs of agents: what is known of a run and of its steps."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from metier.core.timestamps import to_iso
from metier.values.models import Usage

RunState = Literal[
    "pending",
    "running",
    "succeeded",
    "failed",
    "cancelled",
    "rolled_back",
    "rollback_incomplete",
]
StepState = Literal[
    "pending",
    "running",
    "succeeded",
    "skipped",
    "failed",
    "blocked",
    "cancelled",
    "compensated",
]
DONE: tuple[StepState, ...] = ("succeeded", "skipped")
"""What a resumed run does not do again."""
RESUMABLE: tuple[RunState, ...] = ("pending", "failed", "cancelled")
NOTHING_USED = Usage()


class Failure(NamedTuple):
    """Why a step or a run failed."""

    code: str
    """Stable; `metier explain CODE` prints its page."""
    message: str
    kind: str = ""
    """timeout · rateLimit · serverError · networkError, when it is one of these."""
    retryable: bool = False
    step: str = ""
    """Of a run: the step that failed first."""
    hint: str = ""
    """What to do about it, if that is known."""

    def may_retry(self, kinds: Sequence[str]) -> bool:
        """Whether to try again: after these kinds of failures, or after what may pass by itself."""
        return self.kind in kinds if kinds else self.retryable

    def to_json(self) -> dict[str, Any]:
        said = {"code": self.code, "message": self.message, "retryable": self.retryable}
        more = {"kind": self.kind, "step": self.step, "hint": self.hint}
        return {**said, **{key: value for key, value in more.items() if value}}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Failure":
        return cls(
            data["code"],
            data["message"],
            data.get("kind", ""),
            data.get("retryable", False),
            data.get("step", ""),
            data.get("hint", ""),
        )


class StepRecord(NamedTuple):
    """What is kept of one step."""

    id: str
    """The step's id; in a loop with the number of the turn, as in `check[2]`."""
    state: StepState
    seq: int = 0
    """The how-manieth step of the run to end."""
    attempts: int = 0
    input: Any = None
    """What was prepared for it: what it was handed, by which resolution."""
    output: Any = None
    failure: Failure | None = None
    usage: Usage = NOTHING_USED
    started: float = 0.0
    finished: float | None = None
    generation: int = 0
    """How often it was undone before: work that was undone is new work when it is done again."""

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

    def using(self, more: Usage) -> "StepRecord":
        """This record with what the step has used since."""
        return StepRecord(
            self.id, self.state, self.seq, self.attempts, self.input, self.output, self.failure,
            self.usage.plus(more), self.started, self.finished, self.generation,
        )  # fmt: skip

    def ended(
        self,
        state: StepState,
        attempts: int = 0,
        *,
        output: Any = None,
        failure: Failure | None = None,
    ) -> "StepRecord":
        """This record of a step that came to an end."""
        return StepRecord(
            self.id, state, self.seq, attempts, self.input, output, failure, self.usage,
            self.started, self.finished, self.generation,
        )  # fmt: skip

    def at(self, seq: int, started: float, finished: float) -> "StepRecord":
        """This record with its place among those that ended, and when it began and ended."""
        return StepRecord(
            self.id, self.state, seq, self.attempts, self.input, self.output, self.failure,
            self.usage, started, finished, self.generation,
        )  # fmt: skip

    @property
    def duration_ms(self) -> float | None:
        """Never below 0, though the clock may be set back while a step runs."""
        return round(max(0.0, self.finished - self.started) * 1e3, 1) if self.finished else None


class RunRecord(NamedTuple):
    """What is kept of one run."""

    run_id: str
    agent_id: str
    task: str
    state: RunState
    created: float
    request: Mapping[str, Any]
    """What was asked for: input, model, execution, chain, who delegated."""
    profile: Mapping[str, Any]
    """The profile as it was then."""
    finished: float | None = None
    parent_run: str = ""
    parent_step: str = ""
    forked_from: str = ""
    failure: Failure | None = None
    usage: Usage = NOTHING_USED
    output: Any = None
    """What the last step gave."""
    key: int = 0
    epoch: int = 0
    """How often somebody has claimed it; whoever did so last may write."""
    undoing: Failure | None = None
    """Why it is being undone, once it is: from then on it is only undone."""

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


class RunResult(NamedTuple):
    """What a run came to."""

    run: RunRecord
    steps: Sequence[StepRecord]
    outputs: Mapping[str, Any]
    """What steps were told to remember, by name."""

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def state(self) -> RunState:
        return self.run.state

    @property
    def success(self) -> bool:
        return self.run.state == "succeeded"

    @property
    def output(self) -> Any:
        return self.run.output

    @property
    def usage(self) -> Usage:
        return self.run.usage

    @property
    def errors(self) -> list[Failure]:
        """Every failure of a step, in the order in which they came, each once."""
        failures = [one.failure for one in self.steps if one.failure is not None]
        return list(dict.fromkeys(failures))

    def to_json(self) -> dict[str, Any]:
        return {
            **self.run.to_json(),
            "errors": [one.to_json() for one in self.errors],
            "outputs": dict(self.outputs),
            "steps": [one.to_json() for one in self.steps],
        }


class Event(NamedTuple):
    """One thing that happened in a run, for whoever looks on."""

    kind: str
    """`run.started`, `step.finished`, `model.answered`, `tool.called`, …"""
    run_id: str
    at: float
    step_id: str = ""
    data: Mapping[str, Any] = {}  # nobody changes it

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"event": self.kind, "runId": self.run_id, "at": self.at}
        return {**said, **({"stepId": self.step_id} if self.step_id else {}), **self.data}
