"""An OpenTelemetry tracer for tests, whose spans stay in memory."""

# ruff: noqa: ARG002  # the signatures are those of the API

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.util.types import Attributes


class Recorded(Span):
    """A span that remembers what it is told."""

    def __init__(
        self, number: int, name: str, parent: "Recorded | None", kind: SpanKind, start: int | None
    ) -> None:
        self.number = number
        self.name = name
        self.parent = parent
        self.kind = kind
        self.start = start
        self.ended: int | None = None
        self.attributes: dict[str, Any] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.status: Status | None = None

    def end(self, end_time: int | None = None) -> None:
        assert self.ended is None, "a span ends once"
        self.ended = end_time

    def get_span_context(self) -> SpanContext:
        return SpanContext(1, self.number, is_remote=False, trace_flags=TraceFlags(1))

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        self.attributes |= attributes

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def add_event(
        self, name: str, attributes: Attributes = None, timestamp: int | None = None
    ) -> None:
        self.events.append((name, dict(attributes or {})))

    def add_link(self, context: SpanContext, attributes: Attributes = None) -> None:
        raise AssertionError("nothing is linked")

    def update_name(self, name: str) -> None:
        self.name = name

    def is_recording(self) -> bool:
        return self.ended is None

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        assert isinstance(status, Status)
        self.status = status

    def record_exception(self, exception: BaseException, *_: Any, **__: Any) -> None:
        raise AssertionError("errors are values")


class Recorder(trace.Tracer):
    """A tracer whose spans stay in memory."""

    def __init__(self) -> None:
        self.spans: list[Recorded] = []

    def start_span(
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Attributes = None,
        links: Any = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
    ) -> Recorded:
        above = trace.get_current_span(context)
        parent = above if isinstance(above, Recorded) else None
        span = Recorded(len(self.spans) + 1, name, parent, kind, start_time)
        span.set_attributes(dict(attributes or {}))
        self.spans.append(span)
        return span

    @contextmanager
    def start_as_current_span(self, *_: Any, **__: Any) -> Iterator[Span]:  # type: ignore[override]  # unused
        raise AssertionError("spans of parallel steps have no current one")
        yield

    def named(self, name: str) -> Recorded:
        (found,) = (one for one in self.spans if one.name == name)
        return found
