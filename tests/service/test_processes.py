"""Real service processes: stopped, killed, sharing a database, and losing it."""

import random
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from commands import titer_process
from service.process import Service, completions
from store.postgres import Server, server
from titer.data.dataset import Dataset
from titer.runs.train import train
from titer.training.config import Config
from titer.training.layout import EVENTS
from warm import QUICK_EVENTS

TOKEN = "a secret for tests"
TALKS = {"subject": "Aldoria", "relation": "hold talks with"}
CLIENTS = 8
KILLS = 3

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("service processes")]
Start = Callable[..., Service]


@pytest.fixture(scope="module")
def run(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("processes") / "run"
    train(world_data, Config.from_dict({}, "recurrency"), path)
    return path


@pytest.fixture
def start(run: Path, tmp_path: Path) -> Iterator[Start]:
    started: list[Service] = []

    def one(store: str = f"sqlite:///{tmp_path / 'facts.db'}", **environment: str) -> Service:
        started.append(Service(run, "--store", store, "--token", TOKEN, **environment))
        return started[-1]

    yield one
    for service in started:
        service.stop()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with server() as running:
        yield running


def fact(name: str, day: int = 1) -> dict[str, str]:
    return {**TALKS, "object": name, "time": f"2023-07-{day:02}"}


def is_supported(client: httpx2.Client, name: str) -> bool:
    """Return whether a fact of July supports an answer."""
    found = client.post("/v1/explain", json={**TALKS, "answer": name}).json()
    return found["reasons"][0]["facts"][0]["time"].startswith("2023-07")


def wait_until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def kill_after(seconds: float, service: Service) -> None:
    time.sleep(seconds)
    service.process.kill()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_requests_in_progress_are_finished_before_stopping(start: Start, how: signal.Signals):
    service = start()
    many = {"questions": [TALKS] * 30, "top": 10, "explain": 20}

    def ask(_: int) -> httpx2.Response:
        with service.client(TOKEN) as client:
            return client.post("/v1/forecast", json=many)

    with ThreadPoolExecutor(CLIENTS) as clients, service.client(TOKEN) as watching:
        asked = [clients.submit(ask, i) for i in range(CLIENTS)]

        def all_wait() -> bool:
            (line,) = (
                x for x in watching.get("/metrics").text.splitlines() if x.startswith("titer_waiting_questions ")
            )
            return float(line.split()[1]) > 30 * (CLIENTS - 1)

        wait_until(all_wait)
        assert service.stop(how) == 0
        answers = [one.result() for one in asked]
    for response in answers:
        assert response.status_code == 200
        assert [len(one["answers"]) for one in response.json()["forecasts"]] == [10] * 30
    with pytest.raises(httpx2.ConnectError):
        service.client().get("/healthz")
    assert not any("Traceback" in line for line in service.said)


def test_acknowledged_facts_survive_repeated_kills(start: Start):
    chance, acknowledged = random.Random(0), set()
    for life in range(KILLS):
        service = start()
        with service.client(TOKEN) as client, ThreadPoolExecutor(1) as killer:
            known = completions(client, "entity", "entity", limit=50)
            assert acknowledged <= set(known)
            client.post("/v1/facts", json={"facts": [fact(f"entity {life} first")]}).raise_for_status()
            acknowledged.add(f"entity {life} first")
            killed = killer.submit(kill_after, chance.random() * 0.05, service)
            try:
                for number in range(8):
                    name = f"entity {life} {number}"
                    client.post("/v1/facts", json={"facts": [fact(name)]}).raise_for_status()
                    acknowledged.add(name)
            except httpx2.HTTPError:
                pass  # killed: what was sent last may be stored or not
            killed.result()
        assert service.stop() == -signal.SIGKILL
    with start().client(TOKEN) as client:
        for name in acknowledged:
            assert is_supported(client, name), name


def test_servers_that_share_a_database_see_each_others_facts_at_once(start: Start, postgres: Server):
    store = postgres.new_store()
    one, two = start(store), start(store)
    with one.client(TOKEN) as first, two.client(TOKEN) as second:
        for day, (writer, reader) in enumerate([(first, second), (second, first)] * 5, start=1):
            name = f"Newland {day}"
            assert writer.post("/v1/facts", json={"facts": [fact(name, day)]}).json()["added"] == 1
            assert name in completions(reader, "entity", name)
            found = reader.post("/v1/forecast", json={**TALKS, "top": 100}).json()
            assert found["time"] == f"2023-07-{day + 1:02}"
            assert name in [answer["entity"] for answer in found["answers"]]
            assert reader.post("/v1/facts", json={"facts": [fact(name, day)]}).json()["known"] == 1
        late = {**fact("Latecomer"), "time": "2023-03-01"}
        assert first.post("/v1/facts", json={"facts": [late], "backfill": True}).json()["backfilled"] == 1
        explained = [
            client.post("/v1/explain", json={**TALKS, "answer": "Latecomer"}).json() for client in (first, second)
        ]
        assert explained[0] == explained[1]
        assert explained[0]["reasons"][0]["facts"][0]["time"] == "2023-03-01"
        assert first.get("/v1/model").json() == second.get("/v1/model").json()


def test_a_lost_database_is_reported_and_may_come_back(start: Start):
    with server() as mine:
        service = start(mine.new_store())
        with service.client(TOKEN) as client:
            assert client.post("/v1/facts", json={"facts": [fact("Newland")]}).json()["added"] == 1
            mine.stop()
            for response in (
                client.post("/v1/forecast", json=TALKS),
                client.post("/v1/facts", json={"facts": [fact("Lostland", 2)]}),
                client.get("/v1/names?kind=entity"),
            ):
                assert (response.status_code, response.json()["error"]["code"]) == (503, "no_store")
                assert "tester" not in response.text
            assert client.get("/healthz").status_code == 200
            mine.start()
            assert is_supported(client, "Newland")
            assert client.post("/v1/facts", json={"facts": [fact("Newland", 2)]}).json()["added"] == 1
        assert service.stop() == 0  # before its database


def test_a_locked_database_does_not_block_questions(start: Start, tmp_path: Path):
    service = start(TITER_REQUEST_SECONDS="2")
    with service.client(TOKEN) as client, closing(sqlite3.connect(tmp_path / "facts.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as writer:
            slow = writer.submit(client.post, "/v1/facts", json={"facts": [fact("Newland")]})
            with service.client(TOKEN) as asking:
                for _ in range(5):
                    assert asking.post("/v1/forecast", json=TALKS).status_code == 200
            response = slow.result()
        assert (response.status_code, response.json()["error"]["code"]) == (503, "too_slow")
        other.rollback()
        # Sent again, it counts once, whether or not the first attempt was stored when the lock was gone.
        again = client.post("/v1/facts", json={"facts": [fact("Newland")]}).json()
        assert again["added"] + again["known"] == 1
        assert is_supported(client, "Newland")


def test_clients_that_disconnect_or_stay_silent_block_no_others(start: Start):
    service = start()
    host, port = service.url.removeprefix("http://").split(":")
    head = (
        f"POST /v1/forecast HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
    )
    body = b'{"subject": "Aldoria", "relation": "hold talks with", "explain": 5}'
    silent = []
    for i in range(60):
        connection = socket.create_connection((host, int(port)))
        if i % 3 == 0:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            connection.close()
        else:
            connection.sendall(f"{head}Content-Length: 1000\r\n\r\n{{".encode() if i % 3 == 1 else b"POST /v1/fo")
            silent.append(connection)
    with service.client(TOKEN) as client:
        assert client.post("/v1/forecast", json=TALKS).status_code == 200
    for connection in silent:
        connection.close()


def test_only_localhost_is_served_by_default(run: Path):
    service = Service(run)
    with service.client() as client:
        assert client.get("/v1/model").status_code == 200
        refused = client.get("/v1/model", headers={"Host": "evil.example"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "wrong_host")
    assert service.stop(signal.SIGTERM) == 0


def test_an_event_model_that_is_missing_is_trained_before_the_service_listens(
    recurrency_run: Path, run_copy: Callable[[Path], Path]
):
    run = run_copy(recurrency_run)
    (run / EVENTS).unlink(missing_ok=True)
    service = Service(run, **{QUICK_EVENTS: "1"})
    assert (run / EVENTS).is_file()
    with service.client() as client:
        assert client.get("/v1/events", params={"top": 3}).status_code == 200
    assert service.stop() == 0


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"TITER_TOKEN": ""}, "token has an invalid value"),
        ({"TITER_BATCH_SIZE": "many"}, "batch_size has an invalid value"),
    ],
)
def test_invalid_settings_are_reported_in_one_line(run: Path, environment: dict[str, str], words: str):
    with pytest.raises(RuntimeError, match=words) as refused:
        Service(run, **environment)
    assert "Traceback" not in str(refused.value)


def test_a_port_in_use_is_an_error(run: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = titer_process("serve", run, "--port", str(taken.getsockname()[1]))
    assert ended.returncode != 0
    assert "address already in use" in ended.stderr
