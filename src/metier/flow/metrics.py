"""Metrics of a worker for Prometheus, and its health. Needs the extra `workers`."""

import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from metier.errors import MetierError, UsageError
from metier.values.runs import Event

if TYPE_CHECKING:
    from metier.flow.worker import RunWorker

_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)
_LOCAL = "127.0.0.1"


class Metrics:
    """What a worker measures: of its own runs, and of its namespace when it is asked."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._steps = Histogram(
            "metier_step_seconds",
            "Duration of steps.",
            ["state"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._tokens = Counter(
            "metier_tokens", "Tokens of models.", ["direction"], registry=self.registry
        )
        self._cost = Counter(
            "metier_cost_dollars", "Cost of models in US dollars.", registry=self.registry
        )  # fmt: skip

    def watch(self, worker: "RunWorker") -> None:
        self.registry.register(_Figures(worker))

    def take(self, event: Event) -> None:
        """Count an event of a run."""
        topic, _, what = event.kind.partition(".")
        if topic == "step" and (took := event.data.get("durationMs")) is not None:
            self._steps.labels(what).observe(took / 1e3)
        elif event.kind == "model.answered":
            usage = event.data["usage"]
            self._tokens.labels("input").inc(usage["inputTokens"])
            self._tokens.labels("output").inc(usage["outputTokens"])
            self._cost.inc(usage["cost"])


class _Figures(Collector):
    """The counts of a worker, and figures that are the same on every worker."""

    def __init__(self, worker: "RunWorker") -> None:
        self._worker = worker

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        worker, counts = self._worker, self._worker.counts
        running = {"": len(worker.running)}
        yield _family(GaugeMetricFamily, "metier_worker_running", "Runs executing here.", running)
        ended = _family(
            CounterMetricFamily, "metier_runs_ended", "Runs that ended here.", counts.ended, "state"
        )
        yield ended
        for name, text, count in (
            ("metier_runs_taken_over", "Runs of dead workers.", counts.taken_over),
            ("metier_runs_returned", "Runs returned to the queue.", counts.returned),
            ("metier_runs_lost", "Runs that another worker took over.", counts.lost),
        ):
            yield _family(CounterMetricFamily, name, text, {"": count})
        try:
            by_state, by_queue = worker.live_runs(), worker.queue_lengths()
        except MetierError:  # PostgreSQL is away
            return
        yield _family(
            GaugeMetricFamily, "metier_runs", "Runs that have not ended.", by_state, "state"
        )
        waiting = "Runs that wait for a worker."
        yield _family(GaugeMetricFamily, "metier_queue_waiting", waiting, by_queue, "queue")


def _family(
    kind: Callable[..., GaugeMetricFamily | CounterMetricFamily],
    name: str,
    text: str,
    counts: Mapping[str, int],
    label: str = "",
) -> Metric:
    family = kind(name, text, labels=[label] if label else [])
    for key, count in counts.items():
        family.add_metric([key] if label else [], count)
    return family


# Serving


class Address(NamedTuple):
    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> "Address":
        """`PORT` on loopback, or `ADDRESS:PORT`. Raises `UsageError`."""
        host, _, port = text.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise UsageError(f"'{text}' is not a port", hint="9100, or 0.0.0.0:9100")
        return cls(host.strip("[]") or _LOCAL, int(port))


class Endpoint:
    """Answers GET requests in threads of its own."""

    def __init__(self, address: Address, pages: dict[str, Callable[[], tuple[int, bytes]]]) -> None:
        """Raises `UsageError` if nothing can listen there."""

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # fixed name
                page = pages.get(self.path.partition("?")[0])
                status, body = page() if page else (404, b"not found\n")
                self.send_response(status)
                self.send_header("Content-Type", CONTENT_TYPE_LATEST)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        try:
            self._server = ThreadingHTTPServer(address, Handler)
        except OSError as error:
            where = f"{address.host}:{address.port}"
            raise UsageError(f"cannot listen: {error.strerror}", where=where) from None
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def pages_of(
    worker: "RunWorker", metrics: Metrics | None
) -> dict[str, Callable[[], tuple[int, bytes]]]:
    """`/health`, and `/metrics` if there are any."""

    def health() -> tuple[int, bytes]:
        problem = worker.problem
        return (503, f"{problem}\n".encode()) if problem else (200, b"ok\n")

    pages = {"/health": health}
    if metrics is not None:
        registry = metrics.registry
        pages["/metrics"] = lambda: (200, generate_latest(registry))
    return pages
