"""Metrics of the service, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from titer import __version__
from titer.forecasting.forecaster import Forecaster
from titer.runs.version import RunVersion

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Telemetry:
    """The metrics of one service, in a registry of its own, so that a process can hold several services."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "titer_requests", "Requests by route and status.", ["route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "titer_request_seconds", "Duration by route.", ["route"], buckets=SECONDS, registry=self.registry
        )
        self.batch = Histogram(
            "titer_batch_questions",
            "Questions per batch.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
            registry=self.registry,
        )
        self.waiting = Gauge("titer_waiting_questions", "Questions in the queue.", registry=self.registry)
        self.wrong_tokens = Counter("titer_wrong_tokens", "Requests with a wrong token.", registry=self.registry)
        self.facts = Counter("titer_facts_added", "Facts added.", registry=self.registry)

        self.reloads = Counter("titer_reloads", "Reloads of the run by result.", ["result"], registry=self.registry)
        for result in ("loaded", "unchanged", "failed"):
            self.reloads.labels(result)  # so that the first reload is an increase
        self.model = Gauge(
            "titer_model_info",
            "The model that is served; always 1.",
            ["model", "dataset", "version", "trained", "titer"],
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)

    def describe(self, forecaster: Forecaster, version: RunVersion | None) -> None:
        """Set the labels of the model that is served."""
        name, trained = (version.name, version.trained) if version else ("", "")
        self.model.clear()
        self.model.labels(forecaster.model.name, forecaster.dataset.name, name, trained, __version__).set(1)

    def page(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self.registry)
