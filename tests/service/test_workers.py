"""Real services whose run is replaced, and services of several processes."""

import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from commands import titer_process
from conftest import SMALL_CONFIGS
from quick_events import store_quick_events
from service.process import Service
from titer.data.dataset import Dataset
from titer.files.exchange import exchange
from titer.runs.train import train
from titer.runs.version import RunVersion
from titer.training.config import Config
from titer.training.layout import EVENTS, MODEL

TOKEN = "a secret for tests"
TALKS = {"subject": "Aldoria", "relation": "hold talks with"}
CLIENTS = 4
pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux"),
    pytest.mark.slow,
    pytest.mark.xdist_group("service processes"),
]


@pytest.fixture(scope="module")
def versions(world_data: Dataset, path_mixture_run: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two versions of a path mixture, one of them untrained, with event models, to be read only."""
    folder = tmp_path_factory.mktemp("versions")
    first, second = shutil.copytree(path_mixture_run, folder / "0"), folder / "1"
    trained = SMALL_CONFIGS["path_mixture"]
    train(world_data, replace(trained, training=replace(trained.training, epochs=0)), second)
    store_quick_events(first)
    shutil.copy(first / EVENTS, second / EVENTS)
    return [first, second]


@pytest.fixture
def run(versions: list[Path], tmp_path: Path) -> Path:
    return shutil.copytree(versions[0], tmp_path / "run")


@pytest.fixture
def start(run: Path) -> Iterator[Callable[..., Service]]:
    started: list[Service] = []

    def one(*options: str) -> Service:
        started.append(Service(run, "--token", TOKEN, *options))
        return started[-1]

    yield one
    for service in started:
        service.stop(signal.SIGTERM)


def exchange_run(run: Path, version: Path) -> str:
    """Put another version into the folder, in one step, as a training does; return its name."""
    new = shutil.copytree(version, run.with_name("new"))
    assert exchange(new, run)
    shutil.rmtree(new)
    return RunVersion.of(run).name


def served(service: Service) -> set[str]:
    """The versions that the processes of a service have in their metrics."""
    with service.client(TOKEN) as client:
        return set(re.findall(r'titer_model_info\{.*version="(\w+)"', client.get("/metrics").text))


def wait_until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def workers_of(service: Service) -> list[int]:
    """The process ids of the workers, which are forked by a child of the service."""
    return [worker for child in children(service.process.pid) for worker in children(child)]


def children(pid: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def end_all_workers(service: Service, how: signal.Signals) -> None:
    """Stop a service, and check that all of its processes end."""
    workers = workers_of(service)
    assert len(workers) == 2
    assert service.stop(how) == 0
    assert not any(map(is_running, workers))
    assert not any("Traceback" in line for line in service.said)
    with pytest.raises(httpx2.ConnectError):
        service.client().get("/healthz")


class Load:
    """Clients that ask without a pause, each request on a new connection, and keep what they got."""

    def __init__(self, service: Service):
        self.service, self.statuses = service, []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(CLIENTS)]

    def _ask(self) -> None:
        while not self._stop.is_set():
            try:
                with self.service.client(TOKEN) as client:
                    self.statuses.append(client.post("/v1/forecast", json={**TALKS, "explain": 1}).status_code)
            except httpx2.HTTPError as error:
                self.statuses.append(repr(error))

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one process", "two workers"])
def test_no_request_fails_while_the_run_is_replaced(start, run: Path, versions: list[Path], options):
    service = start(*options)
    seen = served(service)
    assert len(seen) == 1
    with Load(service) as load:
        for number, how in enumerate(("SIGHUP", "POST /v1/reload") * 2, start=1):
            new = exchange_run(run, versions[number % 2])
            if how == "SIGHUP":
                service.process.send_signal(signal.SIGHUP)
                wait_until(lambda new=new: served(service) == {new})
            else:
                with service.client(TOKEN) as client:
                    assert client.post("/v1/reload").json()["version"] == new
                assert served(service) == {new}
            answered = len(load.statuses)
            wait_until(lambda answered=answered: len(load.statuses) >= answered + CLIENTS)
    assert set(load.statuses) == {200}


def test_a_training_into_a_served_run_is_safe(start, run: Path, versions: list[Path]):
    service = start()
    before = served(service)
    with Load(service) as load:
        trained = titer_process("train", run / "dataset", "--model", "recurrency", "--out", run, "--overwrite")
        assert trained.returncode == 0, trained.stderr
        shutil.copy(versions[0] / EVENTS, run / EVENTS)  # training it takes long
        assert served(service) == before
        with service.client(TOKEN) as client:
            assert client.get("/v1/model").json()["model"] == "path_mixture"
            service.process.send_signal(signal.SIGHUP)
            wait_until(lambda: client.get("/v1/model").json()["model"] == "recurrency")
    assert set(load.statuses) == {200}


def test_workers_share_a_port_and_one_page_of_metrics_and_end_on_sigterm(start):
    service = start("--workers", "2")
    for _ in range(40):
        with service.client(TOKEN) as client:
            assert client.get("/v1/model").status_code == 200
    with service.client(TOKEN) as client:
        page = client.get("/metrics").text
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    answered = {
        sample.labels["worker"]: sample.value
        for sample in samples
        if sample.name == "titer_requests_total" and sample.labels["route"] == "/v1/model"
    }
    assert sum(answered.values()) == 40
    assert {sample.labels["worker"] for sample in samples} == {"0", "1"}
    families = re.findall(r"^# TYPE (\S+)", page, re.MULTILINE)
    assert len(families) == len(set(families))
    end_all_workers(service, signal.SIGTERM)


def test_a_dead_worker_is_replaced(start):
    service = start("--workers", "2")
    killed, kept = workers_of(service)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: len(workers_of(service)) == 2 and killed not in workers_of(service))
    with service.client(TOKEN) as client:
        assert client.post("/v1/forecast", json=TALKS).status_code == 200
    assert kept in workers_of(service)
    with service.client(TOKEN) as client:
        wait_until(lambda: client.get("/metrics").text.count("\ntiter_model_info{") == 2)


def test_workers_end_with_a_parent_that_is_killed(start):
    service = start("--workers", "2")
    workers = workers_of(service)
    service.process.kill()
    wait_until(lambda: not any(map(is_running, workers)))


def test_workers_map_weights_and_index_from_files_and_end_on_sigint(world_data: Dataset, tmp_path: Path):
    run = tmp_path / "run"
    # A table of entities that is large enough to be mapped.
    train(world_data, Config.from_dict({"model": {"dim": 2100}, "training": {"epochs": 0}}, "ttranse"), run)
    service = Service(run, "--workers", "2")
    for worker in workers_of(service):
        mapped = Path(f"/proc/{worker}/maps").read_text()
        assert f" {run / MODEL}\n" in mapped
        assert f" {run / 'dataset' / 'index' / 'history'}/" in mapped
    end_all_workers(service, signal.SIGINT)


def test_a_run_that_cannot_be_served_is_an_error(run: Path):
    (run / MODEL).unlink()
    with pytest.raises(RuntimeError, match="a worker could not be started") as refused:
        Service(run, "--workers", "2")
    assert "Traceback" not in str(refused.value)
