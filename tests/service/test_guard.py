"""Attacks on the service, and what holds for every response."""

import base64
import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from titer.errors import ConfigError, StoreError
from titer.forecasting.forecaster import Forecaster
from titer.runs.run import Run
from titer.service import clients
from titer.service.app import create_app
from titer.service.guard import HEADERS
from titer.service.server import read_settings
from titer.service.settings import Settings

TALKS = {"subject": "Aldoria", "relation": "hold talks with"}
FACT = {**TALKS, "object": "Newland", "time": "2023-07-01"}
JSON = {"Content-Type": "application/json"}
TOKEN = "gehëim ✓"
SMALL = 2000


@pytest.fixture(scope="module")
def client(shared: Forecaster) -> Iterator[TestClient]:
    # Errors of the service must be answered, not raised, here as well.
    with TestClient(create_app(shared, Settings(max_bytes=4 << 20))) as client:
        yield client


@pytest.fixture(scope="module")
def guarded(trained: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    forecaster = Forecaster.load(trained, "cpu", tmp_path_factory.mktemp("guarded") / "facts.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clients, "MAX_SECONDS", 0.001)  # of the delay of wrong tokens
        with TestClient(create_app(forecaster, Settings(token=SecretStr(TOKEN)))) as client:
            yield client


def problem(response) -> dict:
    """The error of a response, which has the one shape and every header, whatever it is about."""
    assert response.headers["content-type"] == "application/json"
    for name, value in HEADERS.items():
        assert response.headers[name] == value
    found = response.json()["error"]
    assert set(found) == {"code", "message", "suggestions", "details"}
    return found


class Held:
    """A part of a request that waits until another request was answered: in vain, if it blocks the event loop."""

    def __init__(self) -> None:
        self.answered, self._begun, self._free = False, Event(), Event()

    def wait(self) -> None:
        self._begun.set()
        self.answered = self._free.wait(30)

    def status(self, client: TestClient, path: str, body: dict | None) -> int:
        """Send a request that waits, then another one, and return the status of the first."""
        with ThreadPoolExecutor(1) as other:
            first = other.submit(client.request, "POST" if body else "GET", path, json=body)
            assert self._begun.wait(30)
            assert client.get("/healthz").status_code == 200
            self._free.set()
            return first.result().status_code


class TestErrors:
    @pytest.mark.parametrize(
        ("method", "path", "status", "code"),
        [
            ("GET", "/nowhere", 404, "not_found"),
            ("GET", "/v1/model/", 404, "not_found"),
            ("GET", "/page/%00", 404, "not_found"),
            ("GET", "/page/" + "a" * 5000, 404, "not_found"),
            ("GET", "/v1/forecast", 405, "wrong_method"),
            ("OPTIONS", "/v1/facts", 405, "wrong_method"),
            ("TRACE", "/", 405, "wrong_method"),
            ("POST", "/v1/forecast", 422, "bad_request"),
            ("GET", "/v1/names?kind=entity&limit=x", 422, "bad_request"),
        ],
    )
    def test_every_error_has_the_common_format_and_headers(self, client: TestClient, method, path, status, code):
        response = client.request(method, path)
        assert (response.status_code, problem(response)["code"]) == (status, code)

    def test_only_requests_with_a_body_are_told_to_send_json(self, client: TestClient):
        assert "body" not in problem(client.get("/v1/likely?subject=Aldoria"))["message"]
        assert "send the body as application/json" in problem(client.post("/v1/forecast"))["message"]

    @pytest.mark.parametrize("body", [b"{", b'{"relation": "\xff"}', b"[" * 100_000, b'{"at": ' + b"9" * 5000 + b"}"])
    def test_a_body_that_is_not_json_is_reported(self, client: TestClient, body: bytes):
        response = client.post("/v1/forecast", content=body, headers=JSON)
        assert (response.status_code, problem(response)["code"]) == (400, "not_json")

    @pytest.mark.parametrize("key", [r"\ud800", "long" * 10_000])
    def test_a_strange_key_is_quoted_safely(self, client: TestClient, key: str):
        response = client.post("/v1/explain", content=f'{{"relation": "x", "{key}": 1}}'.encode(), headers=JSON)
        assert response.status_code == 422
        assert problem(response)["details"]
        assert len(response.content) < 5000

    def test_an_unexpected_error_is_logged_and_hidden(self, client, shared, monkeypatch, caplog):
        def fail() -> None:
            raise RuntimeError("secret internals")

        monkeypatch.setattr(shared, "_current", fail)
        with caplog.at_level(logging.ERROR):
            for path, body in (("/v1/forecast", TALKS), ("/v1/explain", {**TALKS, "answer": "Drovia"})):
                response = client.post(path, json=body)
                assert (response.status_code, problem(response)["code"]) == (500, "internal")
                assert "secret" not in response.text
            assert problem(client.get("/v1/model"))["code"] == "internal"
        assert "secret internals" in caplog.text
        assert 'titer_requests_total{route="/v1/model",status="500"} 1.0' in client.get("/metrics").text
        monkeypatch.undo()
        assert client.post("/v1/forecast", json=TALKS).status_code == 200

    def test_an_unavailable_store_is_a_server_error_without_details(self, client, shared, monkeypatch, caplog):
        def fail() -> None:
            raise StoreError("postgresql://admin@inside/facts cannot be used")

        monkeypatch.setattr(shared, "_current", fail)
        for response in (client.post("/v1/forecast", json=TALKS), client.get("/v1/model")):
            assert (response.status_code, problem(response)["code"]) == (503, "no_store")
            assert "admin" not in response.text
            assert response.headers["retry-after"]
        assert "admin@inside" in caplog.text
        assert client.get("/healthz").status_code == 200


class TestSize:
    @pytest.mark.parametrize(
        "body",
        [
            {"questions": [{}] * 800_000},
            {"questions": [{"relation": "a"}] * 200_000},
            {f"key{i}": i for i in range(180_000)},
        ],
        ids=["empty", "incomplete", "unknown keys"],
    )
    def test_a_body_with_many_mistakes_is_rejected_at_the_first(self, client: TestClient, body: dict):
        """To report all of them would take seconds, in which no other request is answered."""
        response = client.post("/v1/forecast", content=json.dumps(body, separators=(",", ":")).encode(), headers=JSON)
        assert response.status_code == 422
        assert len(problem(response)["details"]) == 1

    def test_the_total_number_of_explained_answers_is_bounded(self, client: TestClient):
        many = {"questions": [TALKS] * 100, "top": 50}
        assert client.post("/v1/forecast", json=many).status_code == 200
        response = client.post("/v1/forecast", json={**many, "explain": 1})
        assert response.status_code == 422
        assert "at most 1,000, not 5,000" in problem(response)["message"]

    @pytest.mark.slow
    @pytest.mark.parametrize("path", ["/v1/forecast", "/v1/explain", "/v1/what-if", "/v1/facts", "/nowhere"])
    def test_a_chunked_body_is_limited_in_size(self, forecaster: Forecaster, path: str):
        def pieces() -> Iterator[bytes]:
            yield from [b'{"relation": "'] + [b"x" * 1000] * 5 + [b'"}']

        with TestClient(create_app(forecaster, Settings(max_bytes=SMALL))) as client:
            response = client.post(path, content=pieces(), headers=JSON)
            if path == "/nowhere":  # no route reads the body
                assert problem(response)["code"] == "not_found"
            else:
                assert (response.status_code, problem(response)["code"]) == (413, "too_large")
                assert f'route="{path}",status="413"' in client.get("/metrics").text

    @pytest.mark.slow
    def test_a_body_with_too_large_a_declared_length_is_not_read(self, forecaster: Forecaster):
        with TestClient(create_app(forecaster, Settings(max_bytes=SMALL))) as client:
            for length in (str(SMALL + 1), "9" * 100):
                response = client.post("/v1/forecast", content=b"{}", headers={**JSON, "Content-Length": length})
                assert (response.status_code, problem(response)["code"]) == (413, "too_large")


class TestToken:
    def test_everything_but_health_needs_the_token(self, guarded: TestClient):
        assert guarded.get("/healthz").status_code == 200
        for path in ("/", "/docs", "/v1/model", "/metrics", "/openapi.json", "/page/main.js", "/v1/names?kind=entity"):
            response = guarded.get(path)
            assert response.status_code == 401, path
            assert problem(response)["code"] == "needs_token"

    @pytest.mark.parametrize("kind", ["bearer", "basic"])
    def test_a_token_may_have_any_characters(self, guarded: TestClient, kind: str):
        raw = TOKEN.encode()
        sent = b"Bearer " + raw if kind == "bearer" else b"Basic " + base64.b64encode(b"anyone:" + raw)
        assert guarded.get("/v1/model", headers=[(b"Authorization", sent)]).status_code == 200

    @pytest.mark.parametrize(
        "sent",
        [b"", b"Bearer", b"Bearer ", b"Bearer \xff\xfe", "Bearer gehëim".encode(), b"Basic \xff", b"Basic /w==",
         b"Basic " + base64.b64encode(b"\xff:\xff"), b"Basic " + base64.b64encode(TOKEN.encode())],
    )  # fmt: skip
    def test_any_other_token_is_rejected(self, guarded: TestClient, sent: bytes):
        response = guarded.get("/v1/model", headers=[(b"Authorization", sent)])
        assert (response.status_code, problem(response)["code"]) == (401, "needs_token")

    @pytest.mark.parametrize(
        "path", ["/", "/healthz/", "/healthz/x", "/%68ealthz/..", "//healthz", "/nowhere", "/Healthz"]
    )
    def test_only_the_exact_health_path_is_open(self, guarded: TestClient, path: str):
        assert guarded.get(path).status_code == 401
        assert guarded.get("/v1/model", headers={"Host": "x/healthz?"}).status_code in (400, 401)

    def test_paths_cannot_be_probed_without_the_token(self, guarded: TestClient):
        for method in ("GET", "HEAD", "POST", "OPTIONS", "DELETE"):
            assert guarded.request(method, "/v1/model").status_code == 401

    @pytest.mark.parametrize("token", ["", None])
    def test_an_empty_token_is_rejected_at_startup(self, monkeypatch, token: str | None):
        monkeypatch.setenv("TITER_TOKEN", "")
        with pytest.raises(ConfigError, match="token has an invalid value"):
            read_settings(token)

    def test_the_token_is_not_shown_with_the_settings(self):
        assert "secret" not in repr(read_settings("secret"))


class TestRequests:
    def test_every_response_has_the_security_headers(self, client: TestClient):
        for path in ("/", "/healthz", "/nowhere", "/page/main.js", "/docs"):
            headers = client.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"

    def test_a_request_that_exceeds_its_time_is_ended(self, forecaster: Forecaster):
        with TestClient(create_app(forecaster, Settings(request_seconds=1e-6))) as client:
            response = client.post("/v1/forecast", json=TALKS)
            assert response.status_code == 503
            assert problem(response)["code"] == "too_slow"

    def test_a_form_of_another_site_cannot_add_facts(self, guarded: TestClient):
        """A browser sends the password it remembers with any site's request, but JSON only to its own."""
        password = b"Basic " + base64.b64encode(b"anyone:" + TOKEN.encode())
        body = json.dumps({"facts": [FACT]}).encode()
        for kind in (b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x", b""):
            sent = [(b"Authorization", password), *([(b"Content-Type", kind)] if kind else [])]
            assert guarded.post("/v1/facts", content=body, headers=sent).status_code == 415

    @pytest.mark.slow
    def test_a_foreign_host_name_is_rejected(self, forecaster: Forecaster):
        with TestClient(create_app(forecaster, Settings(local_only=True))) as client:
            for host in ("localhost", "LOCALHOST:8000", "127.0.0.1:8000", "[::1]:8000"):
                assert client.get("/v1/model", headers={"Host": host}).status_code == 200, host
            for host in ("evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "["):
                response = client.get("/v1/model", headers={"Host": host})
                assert (response.status_code, problem(response)["code"]) == (403, "wrong_host"), host
            assert client.get("/healthz", headers={"Host": "evil.example"}).status_code == 200
        with TestClient(create_app(forecaster, Settings(local_only=True, token=SecretStr("x")))) as client:
            sent = {"Host": "behind.example", "Authorization": "Bearer x"}  # such as behind a proxy
            assert client.get("/v1/model", headers=sent).status_code == 200

    def test_head_returns_the_headers_of_get(self, client: TestClient):
        for path in ("/", "/healthz", "/v1/model", "/page/main.js", "/nowhere"):
            same = {"X-Request-Id": "one"}
            full, head = client.get(path, headers=same), client.head(path, headers=same)
            assert head.content == b""
            assert (head.status_code, dict(head.headers)) == (full.status_code, dict(full.headers))

    def test_only_the_files_of_the_page_are_served(self, client: TestClient):
        assert client.get("/page/main.js").headers["content-type"].startswith("text/javascript")
        assert client.get("/page/timeline.css").headers["content-type"].startswith("text/css")
        for path in ("app.py", "..%2fapp.py", "%2e%2e/app.py", "%2fetc%2fpasswd", "", ".", "index.html%00", "main.js/"):
            assert client.get(f"/page/{path}").status_code == 404, path

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("/v1/model", None),
            ("/v1/names?kind=entity", None),
            ("/v1/forecast", TALKS),
            ("/v1/explain", {**TALKS, "answer": "Drovia"}),
            ("/v1/what-if", TALKS),
            ("/v1/facts", {"facts": [FACT]}),
        ],
    )
    def test_a_request_waiting_for_the_database_does_not_block_others(self, forecaster, monkeypatch, path, body):
        held = Held()

        def fail(*_: object, **__: object) -> None:
            held.wait()
            raise StoreError("gone after all")

        headers = {"Authorization": "Bearer x"}
        with TestClient(create_app(forecaster, Settings(token=SecretStr("x"))), headers=headers) as client:
            monkeypatch.setattr(forecaster, "_current", fail)
            monkeypatch.setattr("titer.service.facts.add_records", fail)
            assert held.status(client, path, body) == 503
            assert held.answered

    def test_a_search_for_similar_names_does_not_block_others(self, client: TestClient, monkeypatch):
        held = Held()

        def find_nothing(*_: object, **__: object) -> list[str]:
            held.wait()
            return []

        monkeypatch.setattr("titer.forecasting.names.suggest", find_nothing)
        questions = [{"subject": f"unknown{i:0>800}", "relation": "x"} for i in range(256)]
        assert held.status(client, "/v1/forecast", {"questions": questions}) == 200
        assert held.answered

    def test_requests_beyond_the_limit_are_rejected(self, forecaster: Forecaster, monkeypatch):
        app = create_app(forecaster, Settings(max_requests=1))
        with TestClient(app) as client:
            seen = []

            def ask_within() -> object:
                seen.append(client.get("/v1/model"))
                seen.append(client.get("/healthz"))
                raise StoreError("enough")

            monkeypatch.setattr(forecaster, "_current", ask_within)
            client.get("/v1/names?kind=entity")
            busy, healthy = seen
            assert (busy.status_code, problem(busy)["code"]) == (503, "busy")
            assert healthy.status_code == 200
            monkeypatch.undo()
            assert client.get("/v1/names?kind=entity").status_code == 200
