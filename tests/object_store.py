"""A small object store that speaks enough of the S3 protocol for Arrow's client, on a loopback port."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

Objects = dict[str, bytes]


class Handler(BaseHTTPRequestHandler):
    """Requests for objects, by their path ``bucket/key``."""

    protocol_version = "HTTP/1.1"
    objects: Objects
    parts: dict[str, dict[int, bytes]]

    @property
    def key(self) -> str:
        return unquote(urlsplit(self.path).path).strip("/")

    @property
    def query(self) -> dict[str, str]:
        found = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        return {name: values[0] for name, values in found.items()}

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def reply(self, body: bytes = b"", status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return data
        plain = b""
        while True:
            head, _, data = data.partition(b"\r\n")
            size = int(head.partition(b";")[0], 16)
            if not size:
                return plain
            plain, data = plain + data[:size], data[size + 2 :]

    def do_HEAD(self) -> None:
        if self.key in self.objects:
            self.reply(ETag='"0"', Content_Length=str(len(self.objects[self.key])), Last_Modified=LONG_AGO)
        else:
            self.reply(status=200 if "/" not in self.key else 404)

    def do_GET(self) -> None:
        if "list-type" in self.query:
            self.list()
        elif self.key not in self.objects:
            self.reply(b"<Error><Code>NoSuchKey</Code></Error>", 404)
        else:
            data = self.objects[self.key]
            if found := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")):
                start, end = int(found[1]), min(int(found[2]), len(data) - 1)
                self.reply(data[start : end + 1], 206, Content_Range=f"bytes {start}-{end}/{len(data)}")
            else:
                self.reply(data)

    def list(self) -> None:
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter", "")
        keys, folders = [], set()
        for name in sorted(self.objects):
            bucket, _, key = name.partition("/")
            if bucket != self.key or not key.startswith(prefix):
                continue
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.partition(delimiter)[0] + delimiter)
            else:
                keys.append((key, len(self.objects[name])))
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size><LastModified>2024-01-01T00:00:00.000Z</LastModified>"
            "</Contents>"
            for key, size in keys
        )
        entries += "".join(f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in folders)
        count = len(keys) + len(folders)
        head = f"<Name>{self.key}</Name><KeyCount>{count}</KeyCount><IsTruncated>false</IsTruncated>"
        self.reply(f"<ListBucketResult>{head}{entries}</ListBucketResult>".encode(), Content_Type="application/xml")

    def do_PUT(self) -> None:
        data = self.body()
        if source := self.headers.get("x-amz-copy-source"):
            self.objects[self.key] = self.objects[unquote(source).strip("/")]
            self.reply(b"<CopyObjectResult><ETag>0</ETag></CopyObjectResult>")
        elif "partNumber" in self.query:
            self.parts.setdefault(self.query["uploadId"], {})[int(self.query["partNumber"])] = data
            self.reply(ETag='"0"')
        else:
            if "/" in self.key:
                # The key of a folder ends with a slash; its object is empty.
                self.objects[unquote(urlsplit(self.path).path).lstrip("/")] = data
            self.reply(ETag='"0"')

    def do_POST(self) -> None:
        data = self.body()
        if "uploads" in self.query:
            number = str(len(self.parts))
            self.parts[number] = {}
            self.reply(
                f"<R><UploadId>{number}</UploadId></R>".encode().replace(b"R>", b"InitiateMultipartUploadResult>")
            )
        elif "uploadId" in self.query:
            parts = self.parts.pop(self.query["uploadId"])
            self.objects[self.key] = b"".join(parts[number] for number in sorted(parts))
            self.reply(b"<CompleteMultipartUploadResult><ETag>0</ETag></CompleteMultipartUploadResult>")
        else:
            for key in re.findall(rb"<Key>(.*?)</Key>", data):
                self.objects.pop(f"{self.key}/{key.decode()}", None)
            self.reply(b"<DeleteResult></DeleteResult>")

    def do_DELETE(self) -> None:
        self.objects.pop(unquote(urlsplit(self.path).path).lstrip("/"), None)
        self.reply(status=204)


LONG_AGO = "Mon, 01 Jan 2024 00:00:00 GMT"


@contextmanager
def object_store() -> Generator[tuple[str, Objects]]:
    """Yield the options of URLs of the store, and its objects."""
    objects: Objects = {}
    handler = type("StoreHandler", (Handler,), {"objects": objects, "parts": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"scheme=http&endpoint_override=127.0.0.1:{server.server_port}&region=eu", objects
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
