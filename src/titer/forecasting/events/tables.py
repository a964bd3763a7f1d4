"""Event forecasts as Arrow tables, data frames and files: one row for every event, or for every step of ``when``."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from titer.files import atomic_path
from titer.files.cells import safe_column
from titer.forecasting.answer_files import check_can_write
from titer.forecasting.events.results import EventForecast, Likelihood, LikelyEvent, WhenForecast
from titer.forecasting.forecast import Reason, Unanswered
from titer.forecasting.tables import EVIDENCE, as_pandas

if TYPE_CHECKING:
    import pandas as pd

AnyResult = EventForecast | Likelihood | WhenForecast | Unanswered
_EVENT = [
    ("question", pa.int64()),  # number of the question, from 1
    ("start", pa.string()),
    ("end", pa.string()),
    ("steps", pa.int64()),
    ("rank", pa.int64()),
    ("subject", pa.string()),
    ("relation", pa.string()),
    ("object", pa.string()),
    ("probability", pa.float64()),
    ("expected", pa.float64()),
    ("usual", pa.float64()),
    ("lift", pa.float64()),
    ("kind", pa.string()),
    ("rate", pa.string()),
    ("times", pa.int64()),
    ("last", pa.string()),
    ("causes", EVIDENCE),
    ("reasons", EVIDENCE),
    ("error", pa.string()),
]
_STEP = [
    *_EVENT[:4],
    *_EVENT[5:8],
    ("time", pa.string()),
    ("ahead", pa.int64()),
    ("first", pa.float64()),
    ("by", pa.float64()),
    ("survival", pa.float64()),
    ("probability", pa.float64()),
    ("error", pa.string()),
]
EVENT_SCHEMA, STEP_SCHEMA = pa.schema(_EVENT), pa.schema(_STEP)
_OF_EVENT = (
    "rank",
    "subject",
    "relation",
    "object",
    "probability",
    "expected",
    "usual",
    "lift",
    "kind",
    "rate",
    "times",
)
_OF_STEP = ("time", "ahead", "first", "by", "survival", "probability")


def to_table(results: Iterable[Any]) -> pa.Table:
    """Return results of one kind of question as one Arrow table.

    Args:
        results: Results of ``events``, ``likely`` or ``when``, and questions that could not be answered.

    Returns:
        A table with one row for every event, or for every step of ``when``. A question that could not be answered has
        one row with the reason in ``error``.
    """
    found = list(results)
    schema = STEP_SCHEMA if any(isinstance(result, WhenForecast) for result in found) else EVENT_SCHEMA
    rows = [row for number, result in enumerate(found, start=1) for row in _rows(number, result)]
    return pa.Table.from_pylist(rows, schema)


def to_pandas(results: Iterable[Any]) -> "pd.DataFrame":
    """Return results as one pandas data frame, with the rows of ``to_table``.

    Args:
        results: As for ``to_table``.

    Raises:
        MissingPackageError: pandas is not installed.
    """
    return as_pandas(to_table(results))


def write_events(results: Iterable[Any], path: Path, *, overwrite: bool = False, raw_csv: bool = False) -> None:
    """Write results to a file: ``.csv``, ``.jsonl``, ``.ndjson`` or ``.parquet``. In CSV, evidence is JSON text.

    Args:
        results: As for ``to_table``.
        path: The file.
        overwrite: Whether to replace an existing file.
        raw_csv: Whether names in CSV files stay as they are, also those that a spreadsheet would run as formulas.

    Raises:
        TiterError: The format is unknown, or the file exists.
    """
    check_can_write(path, overwrite=overwrite)
    table = to_table(results)
    with atomic_path(path) as temporary:
        match path.suffix.lower():
            case ".parquet":
                pq.write_table(table, temporary)
            case ".csv":
                flat = _flat(table)
                safe = pa.table({name: safe_column(flat[name].combine_chunks()) for name in flat.column_names})
                pacsv.write_csv(flat if raw_csv else safe, str(temporary))
            case _:
                lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in table.to_pylist())
                temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _rows(number: int, result: AnyResult) -> Iterator[dict[str, Any]]:
    if isinstance(result, Unanswered):
        asked = {"subject": result.subject, "relation": result.relation, "object": result.object}
        yield {"question": number, **asked, "start": result.time, "error": result.error}
        return
    window = {"question": number, "start": result.start, "end": result.end, "steps": result.steps}
    match result:
        case WhenForecast(event=event):
            names = {"subject": event.subject, "relation": event.relation, "object": event.object}
            for step in result.curve:
                yield {**window, **names, **{name: getattr(step, name) for name in _OF_STEP}}
        case Likelihood(event=event):
            yield {**window, **_event(event)}
        case EventForecast(events=events):
            for event in events:
                yield {**window, **_event(event)}


def _event(event: LikelyEvent) -> dict[str, Any]:
    return {
        **{name: getattr(event, name) for name in _OF_EVENT},
        "last": event.last.time if event.last else None,
        "causes": [_evidence(reason) for reason in event.causes],
        "reasons": [_evidence(reason) for reason in event.reasons],
    }


def _evidence(reason: Reason) -> dict[str, Any]:
    facts = [{name: getattr(fact, name) for name in ("subject", "relation", "object", "time")} for fact in reason.facts]
    return {"share": reason.share, "count": reason.count, "text": str(reason), "facts": facts}


def _flat(table: pa.Table) -> pa.Table:
    for name in ("causes", "reasons"):
        if (place := table.schema.get_field_index(name)) >= 0:
            text = [json.dumps(item, ensure_ascii=False) if item else None for item in table.column(place).to_pylist()]
            table = table.set_column(place, name, pa.array(text, pa.string()))
    return table
