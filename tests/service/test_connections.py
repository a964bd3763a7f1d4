"""Real connections: half-sent, too many, ambiguous."""

import resource
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from service.process import Service

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("service processes")]
HOLD = b"GET / HTTP/1.1\r\nX: "


@pytest.fixture(scope="module")
def service(recurrency_run: Path) -> Iterator[Service]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, limits[1]))
    running = Service(recurrency_run, TITER_HEADER_SECONDS="3", TITER_BODY_SECONDS="2", TITER_MAX_BODY_BYTES="8000000")
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limits[1]), limits[1]))
    yield running
    running.stop()
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def connect(service: Service) -> socket.socket:
    url = httpx2.URL(service.url)
    return socket.create_connection((url.host, url.port), timeout=30)


def answer(service: Service, request: bytes) -> bytes:
    with connect(service) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while part := connection.recv(65536):
            found += part
        return found


def test_half_sent_headers_do_not_stop_the_service(service: Service):
    held = []
    try:
        for _ in range(1100):
            held.append(connect(service))
            held[-1].sendall(HOLD)
        for _ in range(3):
            with service.client() as client:
                assert client.get("/healthz", timeout=5).status_code == 200
    finally:
        for connection in held:
            connection.close()
    assert len("".join(service.said)) < 10_000
    assert "Traceback" not in "".join(service.said)


def test_a_header_that_does_not_arrive_is_given_up(service: Service):
    with connect(service) as first, connect(service) as second:
        first.sendall(HOLD)
        second.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        found = b""
        while not found.endswith(b"}"):
            found += second.recv(65536)
        second.sendall(HOLD)  # the header of a second request on the same connection
        for connection in (first, second):
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""


@pytest.mark.parametrize(
    "head",
    [
        b"POST /v1/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n",
    ],
)
def test_ambiguous_requests_are_refused_and_the_connection_is_closed(service: Service, head: bytes):
    found = answer(service, head + b"GET /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 400")
    assert found.count(b"HTTP/1.1") == 1


def test_a_body_that_does_not_arrive_is_given_up(service: Service):
    head = b"POST /v1/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with connect(service) as connection:
        connection.sendall(head + b"Content-Length: 100\r\n\r\n{")
        assert connection.recv(65536).startswith(b"HTTP/1.1 408")


def test_the_bytes_of_all_open_bodies_are_bounded(service: Service):
    head = b"POST /v1/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    held = []
    try:
        statuses = []
        for _ in range(4):  # 3 MB each, of 8 MB in all
            held.append(connect(service))
            held[-1].sendall(head + b"Content-Length: 3000001\r\n\r\n" + b" " * 3_000_000)
        for connection in held:
            statuses.append(connection.recv(65536)[9:12])
        assert b"503" in statuses
        assert set(statuses) <= {b"503", b"408"}
    finally:
        for connection in held:
            connection.close()
    with service.client() as client:
        found = client.post("/v1/forecast", json={"subject": "Aldoria", "relation": "hold talks with"})
        assert found.status_code == 200


@pytest.mark.parametrize("path", ["/v1/forecast", "/healthz"])
def test_a_malformed_body_is_answered_once_and_leaves_no_traceback(service: Service, path: str):
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    for body in (b"fffffffffffffffffff1\r\nx\r\n", b"1\r\nx\r\nnot a size\r\n"):
        assert answer(service, head.encode() + body).startswith(b"HTTP/1.1 4")
    with service.client() as client:
        assert client.get("/healthz").status_code == 200
    assert "Traceback" not in "".join(service.said)
