"""Metrics of the service, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

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

    def page(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self.registry)
