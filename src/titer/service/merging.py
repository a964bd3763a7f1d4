"""Metrics of several processes as one page."""

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

WORKER = "worker"
"""The label that distinguishes workers."""


class _Pages(Collector):
    """The samples of several pages, with the number of the worker as a label."""

    def __init__(self, pages: Mapping[int, str]):
        self.pages = pages

    def collect(self) -> Iterable[Metric]:
        """Return all metrics, each with the samples of all workers."""
        merged: dict[str, Metric] = {}
        for number, page in sorted(self.pages.items()):
            for family in text_string_to_metric_families(page):
                into = merged.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    into.add_sample(sample.name, {**sample.labels, WORKER: str(number)}, sample.value)
        return merged.values()


def merge_pages(pages: Mapping[int, str]) -> bytes:
    """Return the metrics of all workers in the Prometheus text format.

    Args:
        pages: The metrics of each worker in the same format, by its number.
    """
    registry = CollectorRegistry()
    registry.register(_Pages(pages))
    return generate_latest(registry)
