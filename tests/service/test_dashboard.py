"""The Grafana dashboard and the metrics it shows."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from titer.forecasting.forecaster import Forecaster
from titer.service.app import create_app
from titer.service.merging import merge_pages
from titer.service.settings import Settings

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana-dashboard.json"
DOCUMENT = Path(__file__).parents[2] / "docs" / "service.md"
METRIC = re.compile(r"\b((?:titer|process)_[a-z_]+)(?:\{([^}]*)\})?")
FROM_PROMETHEUS = {"job", "instance", "le"}


@pytest.fixture(scope="module")
def page(shared: Forecaster) -> Iterator[str]:
    with TestClient(create_app(shared, Settings())) as client:
        client.post("/v1/forecast", json={"subject": "Aldoria", "relation": "hold talks with"})
        yield client.get("/metrics").text


@pytest.fixture(scope="module")
def samples(page: str) -> list[Sample]:
    return [sample for family in text_string_to_metric_families(page) for sample in family.samples]


def queries() -> list[str]:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    found = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return [
        *found,
        *(one["query"]["query"] for one in dashboard["templating"]["list"] if isinstance(one["query"], dict)),
    ]


def test_every_query_of_the_dashboard_names_metrics_and_labels_that_exist(samples: list[Sample]):
    labels = {sample.name: set(sample.labels) for sample in samples}
    assert len(queries()) > 10
    for query in queries():
        named = METRIC.findall(query)
        assert named, query
        for name, filters in named:
            assert name in labels, query
            assert set(re.findall(r"(\w+)=", filters)) <= labels[name] | FROM_PROMETHEUS, query
        grouped = {label for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(", ")}
        assert grouped <= set().union(*(labels[name] for name, _ in named)) | FROM_PROMETHEUS, query


def test_the_dashboard_and_the_documentation_show_every_metric_of_the_service(samples: list[Sample]):
    parts = "_(bucket|sum|count)$"
    names = {one.name for one in samples if one.name.startswith("titer_") and not one.name.endswith("_created")}
    own = {re.sub(parts, "", name) for name in names}
    shown = {re.sub(parts, "", name) for query in queries() for name, _ in METRIC.findall(query)}
    documented = set(re.findall(r"^\| `(titer_\w+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))
    assert own <= shown
    assert own == documented


def test_panels_do_not_overlap():
    places = set()
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & places, panel["title"]
        places |= cells


def test_process_and_model_are_described(samples: list[Sample], shared: Forecaster):
    values = {sample.name: sample for sample in samples}
    assert values["process_resident_memory_bytes"].value > 1 << 20
    assert values["process_open_fds"].value > 0
    info = values["titer_model_info"]
    assert info.value == 1
    assert (info.labels["model"], info.labels["dataset"]) == ("recurrency", shared.dataset.name)
    assert re.fullmatch("[0-9a-f]{12}", info.labels["version"])


def test_merged_pages_have_every_sample_of_every_worker(page: str, samples: list[Sample]):
    merged = merge_pages({0: page, 3: page}).decode()
    found = [sample for family in text_string_to_metric_families(merged) for sample in family.samples]

    def keys(of: list[Sample]) -> set:
        return {(one.name, frozenset(one.labels.items()), one.value) for one in of}

    expected = [one._replace(labels={**one.labels, "worker": worker}) for one in samples for worker in ("0", "3")]
    assert keys(found) == keys(expected)
    assert len(found) == 2 * len(samples)
    types = re.findall(r"^# TYPE .*$", page, re.MULTILINE)
    assert sorted(re.findall(r"^# TYPE .*$", merged, re.MULTILINE)) == sorted(types)
