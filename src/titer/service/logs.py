"""The log of the service: lines of text or of JSON, each with time, level and the id of its request."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal

LogFormat = Literal["text", "json"]
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that is being handled; empty outside of requests."""
FIELDS = "fields"
"""Attribute of a log record with values that JSON lines show as keys of their own."""


def log_config(kind: LogFormat) -> dict[str, Any]:
    """Return the configuration of all loggers of the service, which write to standard error.

    Args:
        kind: ``"text"`` or ``"json"``.
    """
    formatter = JsonFormatter if kind == "json" else TextFormatter
    handler = {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}
    logger = {"handlers": ["line"], "level": "INFO", "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": formatter}},
        "handlers": {"line": handler},
        "loggers": {"uvicorn": logger, "uvicorn.error": logger, "titer": logger},
    }


class TextFormatter(logging.Formatter):
    """Lines such as ``2026-01-31T12:00:00.000Z INFO GET /v1/model 200 in 1.2 ms [id]``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line, followed by the traceback of its error if it has one."""
        request = f" [{REQUEST_ID.get()}]" if REQUEST_ID.get() else ""
        line = f"{_time(record)} {record.levelname} {_one_line(record.getMessage())}{request}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One JSON object in each line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a JSON object."""
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "process": record.process,
        }
        if REQUEST_ID.get():
            line["request_id"] = REQUEST_ID.get()
        line |= getattr(record, FIELDS, {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _one_line(text: str) -> str:
    """Escape control characters, so that no text from a request can begin a line or control a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
