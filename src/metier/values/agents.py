"""Agents (spec 2): profiles, workflow steps, checkpoints and tool results."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

from metier.core.coerce import integer_of, text_of, texts_of
from metier.core.json_values import freeze

Execution = Literal["sequential", "parallel"]
FailureStrategy = Literal["failFast", "continueOnError", "rollback"]
StepType = Literal["prompt", "tool", "delegate", "conditional", "loop", "parallel"]

STANDARD = "standard"
"""The built-in agent."""
DEFAULT_CONCURRENCY = 5
DEFAULT_DEPTH = 5
DEFAULT_ABILITY_TOKENS = 10_000
NESTED_STEPS = ("then", "else", "steps")

_PROMPT_ONLY = "{{ task }}{% if input %}\n\nInput: {{ input }}{% endif %}"

S = TypeVar("S")


class RetryPolicy(NamedTuple):
    """How often a step is tried, and after which failures."""

    max_attempts: int = 1
    backoff_ms: int = 1_000
    backoff_multiplier: float = 2.0
    retry_on: tuple[str, ...] = ()
    """Empty: after every retryable failure."""


ONCE = RetryPolicy()


class CheckpointSettings(NamedTuple):
    """When checkpoints are saved, how many are kept and how long."""

    enabled: bool = True
    interval: int = 1
    """After every n-th success; 0 and 1: after each."""
    retention_hours: int = 24
    maximum: int = 10


class DelegationSettings(NamedTuple):
    """To which agents an agent may delegate, and how deep."""

    max_depth: int = DEFAULT_DEPTH
    states_depth: bool = False
    to: tuple[str, ...] | None = None
    """None: any agent."""
    timeout_ms: int | None = None


class Limits(NamedTuple):
    """What one run may use; None: no limit."""

    tokens: int | None = None
    cost: float | None = None
    steps: int | None = None
    seconds: float | None = None


def _settings(kind: Callable[..., S], data: Mapping[str, Any], **more: Any) -> S:
    """Settings from data in camelCase; lists become tuples."""
    given = {_snake(key): tuple(v) if isinstance(v, list) else v for key, v in data.items()}
    known = {name: given[name] for name in getattr(kind, "_fields", ()) if name in given}
    return kind(**known, **more)


def _snake(key: str) -> str:
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in key)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowStep:
    step_id: str
    type: StepType
    config: Mapping[str, Any]
    name: str = ""
    description: str = ""
    dependencies: tuple[str, ...] = ()
    condition: str | None = None
    timeout_ms: int | None = None
    retry: RetryPolicy = ONCE
    outputs: tuple[str, ...] = ()
    """Names under which the run remembers the output."""
    requires: tuple[str, ...] = ()
    compensate: "WorkflowStep | None" = None
    checkpoint: bool | None = None
    """None: as the interval says."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "WorkflowStep":
        """A valid step in the spec's spelling."""
        undo = data.get("compensate")
        return cls(
            step_id=data["stepId"],
            type=data["type"],
            config=data["config"],
            name=text_of(data.get("name")),
            description=text_of(data.get("description")),
            dependencies=texts_of(data.get("dependencies")),
            condition=data.get("condition"),
            timeout_ms=data.get("timeoutMs"),
            retry=_settings(RetryPolicy, data.get("retryPolicy") or {}),
            outputs=texts_of(data.get("outputs")),
            requires=texts_of(data.get("requires")),
            compensate=cls.of(undo) if undo else None,
            checkpoint=data.get("checkpoint"),
        )

    def nested(self, key: str = "steps") -> tuple["WorkflowStep", ...]:
        return tuple(WorkflowStep.of(one) for one in self.config.get(key) or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    """An agent's profile. Less common fields are read from `data`."""

    agent_id: str
    description: str
    display_name: str = ""
    role: str = ""
    team: str = ""
    tags: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    priority: int = 50
    enabled: bool = True
    system_prompt: str = ""
    path: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any], path: str = "") -> "AgentProfile":
        """A profile from data in the spec's spelling, whatever types its values have."""
        return cls(
            agent_id=text_of(data.get("agentId")),
            description=text_of(data.get("description")),
            display_name=text_of(data.get("displayName")),
            role=text_of(data.get("role")),
            team=text_of(data.get("team")),
            tags=texts_of(data.get("tags")),
            capabilities=texts_of(data.get("capabilities")),
            priority=integer_of(data.get("priority"), 50),
            enabled=data.get("enabled") is not False,
            system_prompt=text_of(data.get("systemPrompt")),
            path=path,
            data=data,
        )

    @property
    def id(self) -> str:
        return self.agent_id

    @property
    def name(self) -> str:
        return self.display_name or self.agent_id

    @property
    def body(self) -> str:
        return self.system_prompt

    @property
    def expertise(self) -> tuple[str, ...]:
        return texts_of(self.data.get("expertise"))

    @property
    def selection(self) -> Mapping[str, Any]:
        return self._part("selectionMetadata")

    @property
    def core_abilities(self) -> tuple[str, ...]:
        return texts_of(self._part("abilities").get("core"))

    @property
    def ability_tokens(self) -> int:
        return integer_of(self._part("abilities").get("maxTokens"), DEFAULT_ABILITY_TOKENS)

    @property
    def tools(self) -> tuple[str, ...]:
        return texts_of(self.data.get("tools"))

    @property
    def skills(self) -> tuple[str, ...] | None:
        """None: any."""
        return texts_of(self.data["skills"]) if self.data.get("skills") is not None else None

    @property
    def requires(self) -> tuple[str, ...]:
        return texts_of(self.data.get("requires"))

    @property
    def model(self) -> str:
        return text_of(self.data.get("model"))

    @property
    def execution(self) -> Execution:
        return "parallel" if self.data.get("execution") == "parallel" else "sequential"

    @property
    def max_concurrency(self) -> int:
        return integer_of(self.data.get("maxConcurrency"), DEFAULT_CONCURRENCY)

    @property
    def failure_strategy(self) -> FailureStrategy:
        found: FailureStrategy = self.data.get("failureStrategy") or "failFast"
        return found

    @property
    def checkpoint(self) -> CheckpointSettings:
        return _settings(CheckpointSettings, self._part("checkpoint"))

    @property
    def delegation(self) -> DelegationSettings:
        data = self._part("delegation")
        return _settings(DelegationSettings, data, states_depth="maxDepth" in data)

    @property
    def limits(self) -> Limits:
        return _settings(Limits, self._part("limits"))

    @property
    def workflow(self) -> tuple[WorkflowStep, ...]:
        """Its steps; without any, one prompt with the task and the input."""
        steps: Sequence[Mapping[str, Any]] = self.data.get("workflow") or ()
        if not steps:
            return (WorkflowStep(step_id="answer", type="prompt", config={"prompt": _PROMPT_ONLY}),)
        return tuple(WorkflowStep.of(step) for step in steps)

    def _part(self, key: str) -> Mapping[str, Any]:
        value = self.data.get(key)
        return value if isinstance(value, dict) else {}


# What a workflow names


def inner_steps(step: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The steps inside a step, each with its key: `then`, `steps`, `compensate`.

    Values that are not steps are skipped.
    """
    config = step.get("config")
    for key in NESTED_STEPS:
        nested = config.get(key) if isinstance(config, Mapping) else None
        for inner in nested if isinstance(nested, list | tuple) else ():
            if isinstance(inner, Mapping):
                yield key, inner
    if isinstance(step.get("compensate"), Mapping):
        yield "compensate", step["compensate"]


def walk_steps(steps: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """These steps, then the nested and compensating steps, level by level."""
    waiting = [step for step in steps if isinstance(step, Mapping)]
    for step in waiting:
        yield step
        waiting += (inner for _, inner in inner_steps(step))


def _steps_of(profile: AgentProfile) -> Iterator[Mapping[str, Any]]:
    return walk_steps(profile.data.get("workflow") or ())


def named_tools(profile: AgentProfile) -> list[str]:
    """Every tool that the profile or one of its steps names, once."""
    names = list(profile.tools)
    for step in _steps_of(profile):
        config = step["config"]
        names += [config["tool"]] if step["type"] == "tool" else config.get("tools") or ()
    return list(dict.fromkeys(names))


def allowed_tools(profile: AgentProfile) -> Collection[str]:
    """The tools that the profile lists; without a list, those that its steps name."""
    return named_tools(profile) if profile.data.get("tools") is None else profile.tools


def offered_tools(profile: AgentProfile) -> Collection[str]:
    """The tools for prompts that list none: the profile's, else those of its tool steps."""
    if profile.data.get("tools") is not None:
        return profile.tools
    return [one["config"]["tool"] for one in _steps_of(profile) if one["type"] == "tool"]


def delegates(profile: AgentProfile) -> set[str]:
    steps = _steps_of(profile)
    return {step["config"]["targetAgent"] for step in steps if step["type"] == "delegate"}


class AgentMatch(NamedTuple):
    agent_id: str
    confidence: float
    """From 0 to 1."""
    raw: float
    parts: Mapping[str, float]
    reasons: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """The match as a dictionary for JSON."""
        return {
            "agentId": self.agent_id,
            "confidence": self.confidence,
            "raw": self.raw,
            "parts": dict(self.parts),
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A saved state from which a run can be forked."""

    checkpoint_id: str
    run_id: str
    agent_id: str
    step_index: int
    """The last step up to which all are done, or -1."""
    completed_step_id: str
    step_outputs: Mapping[str, Any]
    context: Mapping[str, Any]
    memory_snapshot: Sequence[Mapping[str, Any]]
    created_at: str
    skipped_step_ids: tuple[str, ...] = ()
    expires_at: str | None = None
    schema_version: str = "1"

    def to_json(self) -> dict[str, Any]:
        return {
            "checkpointId": self.checkpoint_id,
            "runId": self.run_id,
            "agentId": self.agent_id,
            "stepIndex": self.step_index,
            "completedStepId": self.completed_step_id,
            "stepOutputs": dict(self.step_outputs),
            "skippedStepIds": list(self.skipped_step_ids),
            "context": dict(self.context),
            "memorySnapshot": list(self.memory_snapshot),
            "createdAt": self.created_at,
            "expiresAt": self.expires_at,
            "schemaVersion": self.schema_version,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The output or the error of a tool call; deeply immutable."""

    success: bool
    output: Any = None
    error: str | None = None
    error_code: str | None = None
    retryable: bool = False
    duration_ms: float = 0.0

    def __post_init__(self) -> None:
        frozen = freeze(self.output)
        if frozen is not self.output:
            object.__setattr__(self, "output", frozen)

    @classmethod
    def failed(
        cls, code: str, error: str, *, retryable: bool = False, duration_ms: float = 0.0
    ) -> "ToolResult":
        return cls(
            success=False, error=error, error_code=code, retryable=retryable,
            duration_ms=duration_ms,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        head: dict[str, Any] = {"success": self.success, "durationMs": self.duration_ms}
        if self.success:
            return {**head, "output": self.output}
        more = {"error": self.error, "errorCode": self.error_code, "retryable": self.retryable}
        return {**head, **more}
