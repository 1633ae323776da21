"""Events become spans, through OpenTelemetry's API alone; without it nothing happens."""

# the signatures are those of the API

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from conftest import trust
from metier.run import telemetry
from metier.run.telemetry import Spans
from metier.values.runs import Event
from run.recorded_spans import Recorded, Recorder

pytestmark = pytest.mark.slow

START = 1_700_000_000
TESTS = Path(__file__).parents[1]
USAGE = {"inputTokens": 10, "outputTokens": 5, "cost": 0.25, "requests": 1, "toolCalls": 0}
FAILURE = {"code": "TOOL_TIMEOUT", "message": "stopped after 1 s", "retryable": True}


def told(*events: tuple[Any, ...], tracer: Recorder | None = None) -> Recorder:
    """The tracer after these events: kind, step, data and perhaps run, one second apart."""
    tracer = tracer or Recorder()
    look = Spans(tracer)
    for number, (kind, step, data, *run) in enumerate(events):
        look(Event(kind, run[0] if run else "r", float(START + number), step, data))
    return tracer


BEGIN = ("run.started", "", {"agent": "reviewer", "task": "x"})
FINISH = ("run.finished", "", {"state": "succeeded", "error": None, "usage": USAGE})


def test_a_run_is_an_invocation_of_an_agent_with_its_usage() -> None:
    (span,) = told(BEGIN, FINISH).spans
    assert span.name == "invoke_agent reviewer"
    assert span.kind is SpanKind.INTERNAL
    assert (span.start, span.ended) == (START * 10**9, (START + 1) * 10**9)
    assert span.status is None
    assert span.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": "reviewer",
        "gen_ai.agent.name": "reviewer",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "metier.run.id": "r",
        "metier.run.state": "succeeded",
        "metier.run.cost": 0.25,
    }


def test_a_question_to_a_model_is_a_client_span_below_its_step() -> None:
    tracer = told(
        BEGIN,
        ("step.started", "ask", {"type": "prompt"}),
        ("model.asked", "ask", {"model": "mistral:large", "messages": 1}),
        ("model.text", "ask", {"text": "secret"}),
        ("model.answered", "ask", {"model": "mistral:large", "usage": USAGE}),
        ("step.succeeded", "ask", {"durationMs": 1.0, "error": None}),
        FINISH,
    )
    run, step, model = tracer.spans
    assert (step.name, step.parent) == ("metier.step ask", run)
    assert (model.name, model.parent, model.kind) == ("chat large", step, SpanKind.CLIENT)
    assert model.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "mistral_ai",
        "gen_ai.request.model": "large",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
    }
    assert step.attributes["metier.step.state"] == "succeeded"
    assert "secret" not in str([one.__dict__ for one in tracer.spans])


def test_a_tool_that_fails_and_a_step_that_is_retried_are_marked() -> None:
    late = {"tool": "fetch", "success": False, "error": "late", "errorCode": "TOOL_TIMEOUT"}
    tracer = told(
        BEGIN,
        ("step.started", "t", {"type": "tool"}),
        ("tool.called", "t", {"tool": "fetch"}),
        ("tool.returned", "t", late),
        ("step.retried", "t", {"attempt": 1, "wait": 0.1, "error": FAILURE}),
        ("tool.called", "t", {"tool": "fetch"}),
        ("tool.returned", "t", {"tool": "fetch", "success": True}),
        ("step.failed", "t", {"durationMs": 1.0, "error": FAILURE}),
        FINISH,
    )
    _, step, first, second = tracer.spans
    assert first.name == second.name == "execute_tool fetch"
    assert first.attributes["error.type"] == "TOOL_TIMEOUT"
    assert first.status is not None
    assert (first.status.status_code, first.status.description) == (StatusCode.ERROR, "late")
    assert second.status is None
    assert step.events == [
        ("metier.step.retried", {"metier.attempt": 1, "error.type": "TOOL_TIMEOUT"})
    ]
    assert step.attributes["error.type"] == "TOOL_TIMEOUT"


def test_a_model_that_fails_ends_its_span_with_the_kind_of_failure() -> None:
    failed = {"model": "openai:gpt-5", "error": "slow down", "errorKind": "rateLimit"}
    tracer = told(
        BEGIN,
        ("step.started", "ask", {"type": "prompt"}),
        ("model.asked", "ask", {"model": "openai:gpt-5", "messages": 1}),
        ("model.failed", "ask", failed),
        FINISH,
    )
    span = tracer.named("chat gpt-5")
    assert span.attributes["error.type"] == "rateLimit"
    assert span.ended == (START + 3) * 10**9


def test_a_delegated_run_is_below_the_step_that_delegated() -> None:
    child = {"agent": "writer", "task": "y", "parentRunId": "r", "parentStepId": "hand"}
    tracer = told(
        BEGIN,
        ("step.started", "hand", {"type": "delegate"}),
        ("run.started", "", child, "c"),
        ("step.started", "hand", {"type": "tool"}, "c"),
        ("step.succeeded", "hand", {"durationMs": 1.0, "error": None}, "c"),
        ("run.finished", "", FINISH[2], "c"),
        ("step.succeeded", "hand", {"durationMs": 1.0, "error": None}),
        FINISH,
    )
    run, step, inner, below = tracer.spans
    assert (step.parent, inner.parent, below.parent) == (run, step, inner)
    assert all(one.ended for one in tracer.spans)


def test_steps_at_work_together_do_not_mix_their_spans() -> None:
    tracer = told(
        BEGIN,
        ("step.started", "a", {"type": "tool"}),
        ("step.started", "b", {"type": "tool"}),
        ("tool.called", "a", {"tool": "left"}),
        ("tool.called", "b", {"tool": "right"}),
        ("tool.returned", "b", {"tool": "right", "success": True}),
        ("tool.returned", "a", {"tool": "left", "success": True}),
    )
    for name, step in (("left", "a"), ("right", "b")):
        parent = tracer.named(f"execute_tool {name}").parent
        assert parent is tracer.named(f"metier.step {step}")


def test_whatever_is_open_when_a_run_ends_ends_with_it() -> None:
    tracer = told(
        BEGIN,
        ("step.started", "ask", {"type": "prompt"}),
        ("model.asked", "ask", {"model": "openai:gpt-5", "messages": 1}),
        ("run.finished", "", {"state": "cancelled", "error": FAILURE, "usage": USAGE}),
    )
    assert [one.ended for one in tracer.spans] == [(START + 3) * 10**9] * 3


def test_what_a_step_was_handed_and_its_checkpoint_are_noted() -> None:
    handed = {"abilities": ["style"], "providers": ["notes::skills/notes"], "report": "2026"}
    tracer = told(
        BEGIN,
        ("step.started", "ask", {"type": "prompt"}),
        ("step.prepared", "ask", {**handed, "tokens": 12}),
        ("checkpoint.saved", "ask", {"checkpointId": "r:1"}),
    )
    assert tracer.named("metier.step ask").events == [
        (
            "metier.step.prepared",
            {
                "metier.abilities": ["style"],
                "metier.providers": ["notes::skills/notes"],
                "metier.report.id": "2026",
            },
        ),
        ("metier.checkpoint.saved", {"metier.checkpoint.id": "r:1"}),
    ]


class Broken(Recorder):
    def start_span(self, *_: Any, **__: Any) -> Recorded:
        raise RuntimeError("the exporter is broken")


def test_a_tracer_that_fails_does_not_disturb_a_run() -> None:
    broken = told(BEGIN, ("step.started", "a", {"type": "tool"}), FINISH, tracer=Broken())
    assert broken.spans == []


@pytest.mark.parametrize("kind", ["step.dreamt", "weather.changed", "run.finished", ""])
def test_events_that_are_new_or_come_alone_are_no_error(kind: str) -> None:
    assert told((kind, "a", {})).spans == []


# When there are spans at all


def spans_in(script: str, **environment: str) -> str:
    """What a new process prints."""
    finished = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return finished.stdout.strip()


def test_nobody_asked_for_spans_so_the_package_is_not_even_loaded() -> None:
    script = (
        "import sys; from metier.run.telemetry import spans\n"
        "print(spans(), 'opentelemetry' in sys.modules)"
    )
    assert spans_in(script) == "None False"


def test_without_a_provider_there_are_no_spans() -> None:
    script = "import opentelemetry.trace; from metier.run.telemetry import spans; print(spans())"
    assert spans_in(script) == "None"


def test_without_the_package_there_are_no_spans() -> None:
    script = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from metier.run.telemetry import spans; print(spans())"
    )
    assert spans_in(script, **{telemetry.SET_BY_ENVIRONMENT: "sdk_tracer_provider"}) == "None"


def test_every_name_is_in_one_of_two_families() -> None:
    names = [
        value
        for key, value in vars(telemetry).items()
        if key.isupper() and isinstance(value, str) and "." in value
    ]
    assert len(names) > 15
    families = ("gen_ai.", "metier.", "error.")
    assert [one for one in names if not one.startswith(families)] == []


A_RUN_WITH_A_PROVIDER = """
import sys
from opentelemetry import trace
from run.test_telemetry import Recorder
from metier.cli import run

tracer = Recorder()

class Provider(trace.TracerProvider):
    def get_tracer(self, *_, **__):
        return tracer

trace.set_tracer_provider(Provider())
assert run(["run", "standard", "hello", "-q", "--root", sys.argv[1]]) == 0
for one in tracer.spans:
    print(one.name, "<", one.parent.name if one.parent else "-", one.ended is not None)
"""


def test_the_command_makes_spans_when_a_provider_is_set(tmp_path: Path) -> None:
    trust(tmp_path)
    finished = subprocess.run(
        [sys.executable, "-c", A_RUN_WITH_A_PROVIDER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert finished.stdout.splitlines()[-3:] == [
        "invoke_agent standard < - True",
        "metier.step answer < invoke_agent standard True",
        "chat template < metier.step answer True",
    ]
