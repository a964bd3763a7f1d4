"""Random requests for the service: valid ones, and ones that are wrong in their values, bodies, headers or bytes."""

import json
import random
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

TOKEN = "a-token-for-campaigns"
ENTITIES = ("Aldoria", "Caldera", "Drovia", "Lumeria", "Brenmark", "Nadia Torvald", "Copperline Rail")
RELATIONS = ("hold talks with", "invite", "accuse", "sign contract with")
DATES = ("2023-06-28", "2023-07-01", "2023-03-01", "2022-12-31")
TEXTS = (
    "",
    " ",
    "?",
    "ald",
    "aldorai",
    "\0",
    "\x1b[31mred\x07",
    "\u202e\u200b",
    "\ud800",
    "é" * 300,
    "x" * 1001,
    "x" * 70_000,
    "../../etc/passwd",
    "'; DROP TABLE facts; --",
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "${jndi:ldap://localhost}",
    "null",
    "-1",
    "🜁" * 20,
    "9999-12-31",
    "0000-00-00",
    "2023-02-30",
    "10000-01-01",
    "1e400",
    "7d",
    "99999999999999999999d",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    50,
    2**31,
    2**63,
    -(2**63) - 1,
    10**400,
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    [],
    {},
    [[]],
    [None] * 50,
    {"a": {"b": {}}},
    {f"key {i}": i for i in range(500)},
)
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "get", "X" * 40)
HEADERS = (
    ("Content-Type", "text/plain"),
    ("Content-Type", "application/json; charset=utf-16"),
    ("Content-Type", "multipart/form-data; boundary=x"),
    ("Content-Type", ""),
    ("Origin", "https://evil.example"),
    ("Origin", "null"),
    ("Sec-Fetch-Site", "cross-site"),
    ("Host", "evil.example"),
    ("Host", "localhost:99999999"),
    ("Host", "[::1"),
    ("Authorization", ""),
    ("Authorization", "Basic !!!"),
    ("Content-Length", "0"),
    ("Content-Length", "-1"),
    ("Content-Length", "1e3"),
    ("Content-Length", "99999999999999999999"),
    ("Transfer-Encoding", "chunked"),
    ("Transfer-Encoding", "gzip, chunked"),
    ("Content-Encoding", "gzip"),
    ("Expect", "100-continue"),
    ("Range", "bytes=0-1,2-3,-5"),
    ("Accept", "\xff\xfe"),
    ("Accept-Encoding", "br;q=x, , *"),
    ("Cookie", "a" * 5000),
    ("X-Forwarded-For", "1.2.3.4, unknown, ::::"),
    ("X-Request-ID", "\t\x0b" * 10),
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("If-None-Match", "*"),
)
PATHS = (
    "/../../etc/passwd",
    "/page/..%2f..%2fsettings.py",
    "/page/%00",
    "//v1/model",
    "/v1/%ff%fe",
    "/v1/forecast/",
    "/v1/" + "a" * 9000,
    "/%2e%2e/",
    "*",
    "http://evil.example/v1/model",
    "/docs?x=" + "%" * 50,
)
FRAMES = (
    b"",
    b"\r\n\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"GET /\r\n\r\n",
    b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"POST /v1/facts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /v1/facts HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\nx\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
)


@dataclass
class Request:
    """A request before it is sent; ``raw`` replaces everything else."""

    method: str
    path: str
    body: bytes = b""
    headers: list[tuple[str, str]] = field(default_factory=list)
    raw: bytes | None = None
    kind: str = "valid"

    @property
    def is_framed(self) -> bool:
        """Whether the service can tell where the request ends, so that the connection can be used again."""
        given = {name for name, _ in self.headers}
        return self.raw is None and not given & {"Content-Length", "Transfer-Encoding", "Connection", "Expect"}

    def encoded(self) -> bytes:
        """Return the bytes to send."""
        if self.raw is not None:
            return self.raw
        given = {name.lower() for name, _ in self.headers}
        usual = [("Host", "localhost"), ("Authorization", f"Bearer {TOKEN}"), ("Content-Type", "application/json")]
        if self.body or self.method == "POST":
            usual.append(("Content-Length", str(len(self.body))))
        headers = [*((name, value) for name, value in usual if name.lower() not in given), *self.headers]
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
        return "\r\n".join(lines).encode("latin-1", "replace") + self.body


def random_request(number: int) -> Request:
    """Return the request of a number: about half of them are valid, the others are wrong in one way or several."""
    choice = random.Random(number)
    if choice.random() < 0.02:
        return Request("", "", raw=_frame(choice), kind="bytes")
    method, path, query, body = _valid(choice)
    kind = "valid"
    if choice.random() < 0.35:
        kind = "values"
        for _ in range(choice.choice([1, 1, 2, 5])):
            body = _with_wrong_value(body, choice)
            query = {name: _wrong_text(choice) if choice.random() < 0.3 else value for name, value in query.items()}
    parameters = "&".join(f"{name}={quote(str(value), errors='surrogatepass')}" for name, value in query.items())
    request = Request(method, f"{path}?{parameters}" if parameters else path, _json(body), kind=kind)
    if choice.random() < 0.08:
        request.kind, request.body = "body", _damaged(request.body or b"{}", choice)
    if choice.random() < 0.12:
        request.kind, request.headers = "headers", choice.sample(HEADERS, choice.choice([1, 1, 2, 3]))
    if choice.random() < 0.04:
        request.kind, request.method = "method", choice.choice(METHODS)
    if choice.random() < 0.04:
        request.kind, request.path = "path", choice.choice(PATHS)
    if choice.random() < 0.0005:  # rare, since the service delays wrong tokens
        request.kind, request.headers = "token", [("Authorization", "Bearer wrong")]
    return request


def _valid(choice: random.Random) -> tuple[str, str, dict[str, Any], Any]:
    """Return method, path, query parameters and body of a valid request."""
    one, other = choice.sample(ENTITIES, 2)
    relation, date = choice.choice(RELATIONS), choice.choice(DATES)
    question = {"subject": one, "relation": relation}
    event = {**question, "object": other}
    fact = {**event, "time": date if choice.random() < 0.7 else "2023-07-02"}
    new = {**fact, "object": f"Newland {choice.randint(0, 99)}"}
    routes: list[tuple[str, str, dict[str, Any], Any]] = [
        ("POST", "/v1/forecast", {}, {**question, "top": choice.randint(1, 20)}),
        ("POST", "/v1/forecast", {}, {**question, "at": date, "explain": choice.randint(0, 3), "top": 3}),
        ("POST", "/v1/forecast", {}, {"questions": [{**question, "at": date}, {"relation": relation, "object": one}]}),
        ("POST", "/v1/explain", {}, {**question, "answer": other, "limit": 2}),
        ("POST", "/v1/what-if", {}, {**question, "with": [{**event, "time": "2023-03-01"}], "at": "2023-06-01"}),
        ("POST", "/v1/when", {}, {**event, "explain": 1}),
        ("GET", "/v1/events", {"within": choice.choice(["1", "7d"]), "top": 5, "subject": one}, None),
        ("GET", "/v1/likely", {**event, "within": "3"}, None),
        ("GET", "/v1/when", event, None),
        ("GET", "/v1/past-events", {"entity": one, "limit": 5}, None),
        ("GET", "/v1/events/record", {}, None),
        ("GET", "/v1/past-forecasts", {}, None),
        ("GET", "/v1/overview", {"limit": 3}, None),
        ("GET", "/v1/names", {"kind": choice.choice(["entity", "relation"]), "q": one[:3]}, None),
        ("GET", "/v1/entity", {"name": one}, None),
        ("GET", "/v1/relation", {"name": relation}, None),
        ("GET", "/v1/names", {"kind": "entity", "q": one[:2]}, None),
        ("GET", "/v1/names", {"kind": "relation", "q": relation[:2]}, None),
        ("GET", "/v1/model", {}, None),
        ("GET", "/v1/facts", {"since": choice.randint(0, 50), "limit": 20}, None),
        ("POST", "/v1/facts", {}, {"facts": [fact], "backfill": choice.random() < 0.8}),
        (
            "POST",
            "/v1/facts",
            {},
            {"facts": [new], "backfill": True},
        ),
        ("POST", "/v1/facts/remove", {}, {"sequences": [choice.randint(1, 300)], "note": "campaign"}),
        ("POST", "/v1/facts/undo", {}, None),
        ("POST", "/v1/reload", {}, None),
        ("GET", "/metrics", {}, None),
        ("GET", "/readyz", {}, None),
        ("GET", choice.choice(["/", "/docs", "/facts", "/openapi.json", "/page/titer.js"]), {}, None),
    ]
    # Forecasts of events take longer than everything else, so fewer of them are asked.
    is_slow = [path in ("/v1/when", "/v1/events", "/v1/likely") for _, path, _, _ in routes]
    return choice.choices(routes, [1 if slow else 4 for slow in is_slow])[0]


def _wrong_text(choice: random.Random) -> str:
    return choice.choice(TEXTS)


def _with_wrong_value(body: Any, choice: random.Random) -> Any:
    """Return a body in which one value, at any depth, is replaced, removed or added."""
    if isinstance(body, dict) and body and choice.random() < 0.9:
        changed = dict(body)
        key = choice.choice(list(changed))
        match choice.randrange(4):
            case 0:
                del changed[key]
            case 1:
                changed[choice.choice(["extra", "at", "top", "with", "allow_future", "\0"])] = _wrong(choice)
            case _:
                changed[key] = _with_wrong_value(changed[key], choice)
        return changed
    if isinstance(body, list) and body and choice.random() < 0.7:
        if choice.random() < 0.1:
            return body * 300
        place = choice.randrange(len(body))
        return [*body[:place], _with_wrong_value(body[place], choice), *body[place + 1 :]]
    return _wrong(choice)


def _wrong(choice: random.Random) -> Any:
    return _wrong_text(choice) if choice.random() < 0.5 else choice.choice(VALUES)


def _json(body: Any) -> bytes:
    return b"" if body is None else json.dumps(body).encode()


def _damaged(content: bytes, choice: random.Random) -> bytes:
    """Return a body with a few wrong bytes, or something that is no JSON at all."""
    place = choice.randrange(len(content))
    match choice.randrange(7):
        case 0:
            return content[:place]
        case 1:
            return content[:place] + choice.randbytes(choice.choice([1, 8])) + content[place + 1 :]
        case 2:
            return content * 2
        case 3:
            return b"[" * choice.choice([10, 1000, 100_000])
        case 4:
            return content.decode().encode("utf-16")
        case 5:
            return b'{"relation": "' + b"\\ud800" * 100 + b'"}'
        case _:
            return choice.randbytes(choice.choice([1, 100, 10_000]))


def _frame(choice: random.Random) -> bytes:
    """Return bytes that are no valid HTTP."""
    if choice.random() < 0.6:
        return choice.choice(FRAMES)
    return _damaged(Request("GET", "/healthz").encoded(), choice)
