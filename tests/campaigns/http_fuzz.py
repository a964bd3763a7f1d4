"""Send random requests to a real service: no response may be a server error, and the service must stay alive.

``python tests/campaigns/http_fuzz.py --count 100000 --seed 0``; a failure prints the command that repeats it.
"""

import json
import re
import socket
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from campaigns.common import Campaign, count_by
from campaigns.hostile_requests import TOKEN, Request, random_request
from campaigns.small_run import make_small_run
from service.process import Service
from titer.service.connections import MAX_HEAD

CLIENTS = 4
SECONDS = 20
"""Time for a response: more than any request may take, with the delay of wrong tokens."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LENGTH = re.compile(rb"(?i)\r\ncontent-length: (\d+)")
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")


def main() -> None:
    """Run the campaign and print its figures."""
    campaign = Campaign(__file__, __doc__, "requests", count=100_000)
    with tempfile.TemporaryDirectory(prefix="titer-http-") as folder:
        service = Service(make_small_run(Path(folder), "recurrency"), TITER_TOKEN=TOKEN)
        try:
            statuses, kinds = send_all(campaign, service)
            check_alive(campaign, service)
        finally:
            code = service.stop()
    check_log(campaign, service, code)
    campaign.end(statuses=count_by(statuses), kinds=count_by(kinds), clients=CLIENTS)


def send_all(campaign: Campaign, service: Service) -> tuple[Counter[str], Counter[str]]:
    """Send every request from several clients; return the numbers of responses by status, and of requests by kind."""
    statuses: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    numbers, lock = campaign.numbers(), threading.Lock()

    def work() -> None:
        client = Client(service)
        while True:
            with lock:
                number = next(numbers, None)
            if number is None or service.process.poll() is not None:
                client.close()
                return
            request = random_request(number)
            status, problem = client.send(request)
            with lock:
                statuses[status] += 1
                kinds[request.kind] += 1
                if problem:
                    shown = shortened(request.encoded().decode("latin-1"))
                    campaign.problem(number, f"{problem}, for {shown!r}")

    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses, kinds


class Client:
    """Sends requests, several on one connection where possible."""

    def __init__(self, service: Service):
        host, port = service.url.removeprefix("http://").split(":")
        self.address = host, int(port)
        self.connection: socket.socket | None = None

    def send(self, request: Request) -> tuple[str, str]:
        """Send a request; return the status, or why there is none, and what is wrong."""
        is_new = self.connection is None
        try:
            content = self._exchange(request)
            if not content and request.is_framed and not is_new:
                content = self._exchange(request)  # the service had closed the connection after the last response
        except TimeoutError:
            self.close()
            return "none", f"no response within {SECONDS} seconds"
        except ConnectionRefusedError:
            return "none", "the service does not listen"
        found = STATUS.match(content)
        if found is None:
            # A connection that is closed in the middle of a long header is reset, which can overtake the response.
            is_long = len(request.path) > MAX_HEAD // 2
            return "closed", "no response" if request.kind in ("valid", "values") and not is_long else ""
        return found[1].decode(), checked(int(found[1]), content, request)

    def _exchange(self, request: Request) -> bytes:
        """Send a request, and return the response; empty if the service closed the connection."""
        self.connection = self.connection or socket.create_connection(self.address, timeout=SECONDS)
        content = b""
        try:
            self.connection.sendall(request.encoded())
            if not request.is_framed:
                self.connection.shutdown(socket.SHUT_WR)  # the service would wait for a body that never comes
            content = receive(self.connection, has_body=request.method != "HEAD")
        except (BrokenPipeError, ConnectionResetError):
            pass  # rejected before its end
        if not content or not request.is_framed or b"connection: close" in content.partition(b"\r\n\r\n")[0].lower():
            self.close()
        return content

    def close(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def checked(status: int, content: bytes, request: Request) -> str:
    """Return what is wrong with a response."""
    if status >= 500:
        return f"status {status}: {shortened(content.decode('latin-1'))}"
    if b"Traceback (most" in content or b"/site-packages/" in content:
        return f"internals in a response of status {status}"
    head, _, body = content.partition(b"\r\n\r\n")
    if length := LENGTH.search(head):
        body = body[: int(length[1])]  # what follows is the answer to bytes after the request
    # The server answers what is no HTTP by itself, in plain text.
    if status >= 400 and request.method != "HEAD" and b"application/json" in head:
        try:
            error = json.loads(body)["error"]
            return "" if error["code"] and error["message"] else "an error without a message"
        except (ValueError, KeyError, TypeError):
            return f"an error in another format: {shortened(body.decode('latin-1'))}"
    return ""


def receive(connection: socket.socket, *, has_body: bool) -> bytes:
    """Return what the service sends for one request, up to the announced length."""
    content = b""
    while block := connection.recv(1 << 16):
        content = (content + block).removeprefix(CONTINUE)
        head, separator, body = content.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if separator and (not has_body or (length and len(body) >= int(length[1]))):
            break
    return content


def check_alive(campaign: Campaign, service: Service) -> None:
    """Require that the service answers a plain question at the end."""
    if service.process.poll() is not None:
        campaign.problem(campaign.options.seed, f"the service ended with {service.process.returncode}")
        return
    with service.client(TOKEN) as client:
        response = client.post("/v1/forecast", json={"subject": "Aldoria", "relation": "hold talks with"})
    if response.status_code != 200:
        campaign.problem(campaign.options.seed, f"the last question got status {response.status_code}")


def check_log(campaign: Campaign, service: Service, code: int) -> None:
    """Require that a service that was stopped has logged no error."""
    for place, line in enumerate(service.said):
        if " ERROR " in line:
            campaign.problem(campaign.options.seed, f"in the log: {''.join(service.said[place : place + 40])}")
    if code != 0:
        campaign.problem(campaign.options.seed, f"the service ended with {code}")


def shortened(text: str) -> str:
    """Return a text for a message."""
    return text if len(text) <= 600 else f"{text[:300]} … {text[-300:]}"


if __name__ == "__main__":
    main()
