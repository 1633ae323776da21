"""The events of runs as OpenTelemetry spans, by the conventions for generative AI."""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from metier.values.runs import Event

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

TRACER = "metier"
INVOKE_AGENT, CHAT, EXECUTE_TOOL, STEP = "invoke_agent", "chat", "execute_tool", "metier.step"

OPERATION = "gen_ai.operation.name"
AGENT_ID = "gen_ai.agent.id"
AGENT_NAME = "gen_ai.agent.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
TOOL_NAME = "gen_ai.tool.name"
ERROR_TYPE = "error.type"

RUN_ID = "metier.run.id"
RUN_STATE = "metier.run.state"
RUN_COST = "metier.run.cost"
STEP_ID = "metier.step.id"
STEP_TYPE = "metier.step.type"
STEP_STATE = "metier.step.state"
RETRIED = "metier.step.retried"
ATTEMPT = "metier.attempt"
CHECKPOINT = "metier.checkpoint.saved"
CHECKPOINT_ID = "metier.checkpoint.id"
PREPARED = "metier.step.prepared"
ABILITIES = "metier.abilities"
PROVIDERS = "metier.providers"
REPORT = "metier.report.id"

PROVIDERS_OF_MODELS = {
    "azure": "azure.ai.openai",
    "azure-responses": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "bedrock-mantle": "aws.bedrock",
    "google": "gcp.gemini",
    "google-cloud": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "xai": "x_ai",
}
"""Where the conventions have another name."""
SET_BY_ENVIRONMENT = "OTEL_PYTHON_TRACER_PROVIDER"

_Key = tuple[str, str, str]
"""Run, step, and run, step, model or tool."""


def spans() -> "Spans | None":
    """A listener that makes spans; None unless a tracer provider is set."""
    if "opentelemetry" not in sys.modules and SET_BY_ENVIRONMENT not in os.environ:
        return None  # loading the package costs more than a short run
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    provider = trace.get_tracer_provider()
    is_set = not isinstance(provider, trace.ProxyTracerProvider)
    return Spans(provider.get_tracer(TRACER)) if is_set else None


class Spans:
    """A listener: one span for each run, step, model request and tool call."""

    def __init__(self, tracer: "Tracer") -> None:
        self._tracer = tracer
        self._open: dict[_Key, Span] = {}

    def __call__(self, event: Event) -> None:
        with suppress(Exception):  # a listener cannot stop a run
            self._take(event)

    def _take(self, event: Event) -> None:
        topic, _, what = event.kind.partition(".")
        key = event.run_id, event.step_id, topic
        if topic == "run" and what == "started":
            self._run(key, event)
        elif topic == "run":
            self._end_run(key, event)
        elif topic == "step":
            self._step(key, event, what)
        elif topic == "model" and what == "asked":
            self._model(key, event)
        elif topic == "model" and what != "text":
            self._answered(key, event)
        elif topic == "tool" and what == "called":
            name = event.data["tool"]
            attributes = {OPERATION: EXECUTE_TOOL, TOOL_NAME: name}
            self._begin(key, f"{EXECUTE_TOOL} {name}", event, attributes)
        elif topic == "tool":
            self._end(key, event, {}, event.data.get("errorCode"), event.data.get("error"))
        elif topic == "checkpoint":
            self._note(event, CHECKPOINT, {CHECKPOINT_ID: event.data.get("checkpointId", "")})

    # Runs

    def _run(self, key: _Key, event: Event) -> None:
        agent = event.data["agent"]
        attributes = {
            OPERATION: INVOKE_AGENT,
            AGENT_ID: agent,
            AGENT_NAME: agent,
            RUN_ID: event.run_id,
        }
        above = event.data.get("parentRunId") or "", event.data.get("parentStepId") or ""
        parent = self._open.get((*above, "step"))
        self._begin(key, f"{INVOKE_AGENT} {agent}", event, attributes, parent)

    def _end_run(self, key: _Key, event: Event) -> None:
        for other in [one for one in self._open if one[0] == key[0] and one != key]:
            self._end(other, event, {})
        usage = event.data["usage"]
        attributes = {
            RUN_STATE: event.data["state"],
            RUN_COST: usage["cost"],
            INPUT_TOKENS: usage["inputTokens"],
            OUTPUT_TOKENS: usage["outputTokens"],
        }
        self._end(key, event, attributes, *_failure(event))

    # Steps

    def _step(self, key: _Key, event: Event, what: str) -> None:
        if what == "started":
            attributes = {STEP_ID: event.step_id, STEP_TYPE: event.data["type"]}
            self._begin(key, f"{STEP} {event.step_id}", event, attributes)
        elif what == "retried":
            attributes = {ATTEMPT: event.data["attempt"], ERROR_TYPE: _failure(event)[0]}
            self._note(event, RETRIED, attributes)
        elif what == "prepared":
            names = {"abilities": ABILITIES, "providers": PROVIDERS, "report": REPORT}
            given = {ours: event.data.get(name) for name, ours in names.items()}
            self._note(event, PREPARED, {name: value for name, value in given.items() if value})
        else:
            for inner in ("model", "tool"):
                self._end((key[0], key[1], inner), event, {})
            self._end(key, event, {STEP_STATE: what}, *_failure(event))

    def _note(self, event: Event, name: str, attributes: dict[str, Any]) -> None:
        span = self._open.get((event.run_id, event.step_id, "step"))
        if span is not None:
            span.add_event(name, attributes, _nanoseconds(event))

    # Models

    def _model(self, key: _Key, event: Event) -> None:
        provider, _, model = event.data["model"].partition(":")
        attributes = {
            OPERATION: CHAT,
            PROVIDER: PROVIDERS_OF_MODELS.get(provider, provider),
            REQUEST_MODEL: model or provider,
        }
        self._begin(key, f"{CHAT} {model or provider}", event, attributes, is_client=True)

    def _answered(self, key: _Key, event: Event) -> None:
        usage = event.data.get("usage") or {}
        names = {INPUT_TOKENS: "inputTokens", OUTPUT_TOKENS: "outputTokens"}
        attributes = {ours: usage[theirs] for ours, theirs in names.items() if theirs in usage}
        if event.kind == "model.failed":
            self._end(
                key, event, attributes, event.data["errorKind"] or "_OTHER", event.data["error"]
            )
        else:
            self._end(key, event, attributes)

    # Spans

    def _begin(
        self,
        key: _Key,
        name: str,
        event: Event,
        attributes: dict[str, Any],
        parent: "Span | None" = None,
        *,
        is_client: bool = False,
    ) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        self._end(key, event, {})
        if parent is None and key[2] != "run":
            run, step, kind = key
            parent = self._open.get((run, step, "step")) if kind != "step" else None
            parent = parent or self._open.get((run, "", "run"))
        self._open[key] = self._tracer.start_span(
            name,
            context=set_span_in_context(parent) if parent is not None else None,
            kind=SpanKind.CLIENT if is_client else SpanKind.INTERNAL,
            attributes=attributes,
            start_time=_nanoseconds(event),
        )

    def _end(
        self,
        key: _Key,
        event: Event,
        attributes: dict[str, Any],
        code: str | None = None,
        message: str | None = None,
    ) -> None:
        from opentelemetry.trace import Status, StatusCode

        span = self._open.pop(key, None)
        if span is None:
            return
        if code:
            attributes = {**attributes, ERROR_TYPE: code}
            span.set_status(Status(StatusCode.ERROR, message))
        span.set_attributes(attributes)
        span.end(_nanoseconds(event))


def _failure(event: Event) -> tuple[str, str]:
    failure = event.data.get("error") or {}
    return failure.get("code", ""), failure.get("message", "")


def _nanoseconds(event: Event) -> int:
    return int(event.at * 1e9)
