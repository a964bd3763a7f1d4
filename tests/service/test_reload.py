"""Versions of a run, and their exchange while the service answers."""

import asyncio
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from quick_events import QUICK, store_quick_events
from titer.data.dataset import Dataset
from titer.errors import RunError
from titer.files.exchange import exchange
from titer.runs.events import event_model
from titer.runs.run import Run
from titer.runs.train import train
from titer.runs.version import RunVersion
from titer.service.app import create_app
from titer.service.loaded import load_version
from titer.service.serving import Serving
from titer.service.settings import Settings
from titer.training.config import Config
from titer.training.layout import EVENTS, METRICS, MODEL

TALKS = {"subject": "Aldoria", "relation": "hold talks with"}
FACT = {**TALKS, "object": "Newland", "time": "2023-07-01"}
TOKEN = "a secret for tests"
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("reload")]  # an event model is trained, once


@pytest.fixture(scope="module")
def versions(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs that answer differently, with event models, to be read only."""
    folder = tmp_path_factory.mktemp("versions")
    first, second = (
        train(world_data, Config.from_dict({"model": {"prior": prior}}, "recurrency"), folder / str(prior))
        for prior in (0.001, 0.09)
    )
    for one in (first, second):
        store_quick_events(one.path)
    return [first.path, second.path]


@pytest.fixture
def run(versions: list[Path], tmp_path: Path) -> Path:
    return shutil.copytree(versions[0], tmp_path / "run")


@pytest.fixture
def replace(versions: list[Path], run: Path, tmp_path: Path) -> Callable[[], None]:
    """Put the second version into the folder of the first, in one step, as a training does."""

    def work() -> None:
        new = shutil.copytree(versions[1], tmp_path / "new")
        assert exchange(new, run)
        shutil.rmtree(new)

    return work


@pytest.fixture
def client(run: Path) -> Iterator[TestClient]:
    load = partial(load_version, run, "cpu", None)
    forecaster, version = load()
    app = create_app(forecaster, Settings(token=SecretStr(TOKEN)), version=version, load=load)
    with TestClient(app, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        yield client


def answers(client: TestClient) -> list[float]:
    found = client.post("/v1/forecast", json=TALKS).json()
    return [answer["probability"] for answer in found["answers"]]


def test_a_reload_serves_the_new_version_and_says_so(client: TestClient, run: Path, replace: Callable[[], None]):
    before = client.get("/v1/model").json()
    assert before["version"] == RunVersion.of(run).name
    old = answers(client)
    assert client.post("/v1/reload").json() == {
        "status": "unchanged", "version": before["version"], "trained": before["trained"],
    }  # fmt: skip
    replace()
    assert client.get("/v1/model").json() == before
    assert answers(client) == old
    found = client.post("/v1/reload")
    after = client.get("/v1/model").json()
    assert found.json() == {"status": "reloaded", "version": after["version"], "trained": after["trained"]}
    assert after["version"] == RunVersion.of(run).name != before["version"]
    assert after["config"]["model"]["prior"] == 0.09
    assert answers(client) != old
    metrics = client.get("/metrics").text
    assert f'version="{after["version"]}"' in metrics
    assert f'version="{before["version"]}"' not in metrics
    for result in ("unchanged", "loaded"):
        assert f'titer_reloads_total{{result="{result}"}} 1.0' in metrics


def test_a_run_that_cannot_be_loaded_leaves_the_old_version_in_service(
    client: TestClient, run: Path, replace: Callable[[], None], caplog
):
    old = answers(client)
    replace()
    weights = (run / MODEL).read_bytes()
    (run / MODEL).write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    refused = client.post("/v1/reload")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "not_reloaded")
    assert "damaged" in caplog.text
    assert answers(client) == old
    (run / MODEL).write_bytes(weights)
    assert client.post("/v1/reload").json()["status"] == "reloaded"
    assert answers(client) != old


def test_a_link_to_a_run_can_point_to_another_one(versions: list[Path], tmp_path: Path):
    link = tmp_path / "current"
    link.symlink_to(versions[0])
    load = partial(load_version, link, "cpu", tmp_path / "facts.db")
    forecaster, version = load()
    app = create_app(forecaster, Settings(token=SecretStr(TOKEN)), version=version, load=load)
    with TestClient(app, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        (tmp_path / "next").symlink_to(versions[1])
        (tmp_path / "next").replace(link)
        assert client.get("/v1/model").json()["version"] == RunVersion.of(versions[0]).name
        assert client.post("/v1/reload").json()["version"] == RunVersion.of(versions[1]).name


def test_a_reload_needs_a_token(run: Path):
    load = partial(load_version, run, "cpu", None)
    forecaster, version = load()
    with TestClient(create_app(forecaster, Settings(), version=version, load=load)) as client:
        refused = client.post("/v1/reload")
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "read_only")


def test_a_request_ends_with_the_version_it_began_with(client: TestClient, replace: Callable[[], None], monkeypatch):
    serving: Serving = client.app.state.serving  # type: ignore[attr-defined]
    old, expected = serving.loaded, answers(client)
    closed, begun, free = [], threading.Event(), threading.Event()
    ask_many, close = old.forecaster.ask_many, old.forecaster.close

    def wait(*given, **options):
        begun.set()
        assert free.wait(30)
        assert not closed
        return ask_many(*given, **options)

    monkeypatch.setattr(old.forecaster, "ask_many", wait)
    monkeypatch.setattr(old.forecaster, "close", lambda: closed.append(close()))
    slow: list[list[float]] = []
    asker = threading.Thread(target=lambda: slow.append(answers(client)))
    asker.start()
    assert begun.wait(30)
    replace()
    assert client.post("/v1/reload").json()["status"] == "reloaded"
    assert answers(client) != expected
    assert not closed
    free.set()
    asker.join(30)
    assert slow == [expected]
    for _ in range(100):
        if closed:
            break
        client.portal.call(asyncio.sleep, 0.05)  # type: ignore[union-attr]
    assert closed


def test_facts_are_not_acknowledged_when_their_store_was_replaced(client: TestClient, replace: Callable[[], None]):
    assert client.get("/v1/facts").json() == {"facts": []}  # the store is open, and empty
    replace()
    refused = client.post("/v1/facts", json={"facts": [FACT]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "replaced")
    assert client.post("/v1/reload").json()["status"] == "reloaded"
    assert client.post("/v1/facts", json={"facts": [FACT]}).json()["added"] == 1
    assert len(client.get("/v1/facts").json()["facts"]) == 1


def test_a_replaced_run_is_not_written_to(run: Path, replace: Callable[[], None], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("titer.runs.events.EventConfig", lambda seed: QUICK)
    (run / EVENTS).unlink()
    old = Run(run)
    model = old.load_model("cpu")
    replace()
    (run / EVENTS).unlink()
    event_model(old, model)
    assert not (run / EVENTS).exists()


def test_evaluations_belong_to_the_version_that_is_served(client: TestClient, run: Path, replace: Callable[[], None]):
    replace()
    (run / METRICS).write_text(json.dumps({"evaluations": "of another run"}), encoding="utf-8")
    assert client.get("/v1/model").status_code == 200
    assert client.get("/v1/events/record").status_code == 200


def test_a_run_that_is_replaced_while_it_is_loaded_is_loaded_as_a_whole(versions: list[Path], tmp_path: Path):
    run = shutil.copytree(versions[0], tmp_path / "run")
    prior = {RunVersion.of(path).name: value for path, value in zip(versions, (0.001, 0.09), strict=True)}
    stop = threading.Event()

    def replace_often() -> None:
        for number in range(1000):
            new = shutil.copytree(versions[(number + 1) % 2], tmp_path / "new")
            if stop.wait(0.5):
                return
            assert exchange(new, run)
            shutil.rmtree(new)

    thread = threading.Thread(target=replace_often)
    thread.start()
    try:
        seen = set()
        for _ in range(8):
            with suppress(RunError):  # replaced too often
                forecaster, version = load_version(run, "cpu", None)
                assert forecaster.run is not None
                config = forecaster.run.config.to_dict()
                assert config["model"]["prior"] == prior[version.name]
                seen.add(version.name)
    finally:
        stop.set()
        thread.join()
    assert seen
