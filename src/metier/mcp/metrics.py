"""Metrics of the server for Prometheus. Loads prometheus_client, which is an extra."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from metier.mcp.traffic import Answered

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """What a server counts; every label has few values."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "metier_mcp_requests", "HTTP requests, by status.", ["status"], registry=self._registry
        )
        self._calls = Histogram(
            "metier_mcp_call_seconds",
            "Seconds that calls of tools took, by tool and outcome.",
            ["tool", "outcome"],
            buckets=_SECONDS,
            registry=self._registry,
        )

    def gauge(self, name: str, about: str, value: Callable[[], int]) -> None:
        Gauge(name, about, registry=self._registry).set_function(value)

    def answered(self, request: Answered) -> None:
        self._requests.labels(str(request.status)).inc()

    def called(self, tool: str, is_error: bool, seconds: float) -> None:
        self._calls.labels(tool, "error" if is_error else "ok").observe(seconds)

    async def page(self, _: Request) -> Response:
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)
