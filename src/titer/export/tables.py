"""Exports as tables: CSV, Parquet, and the files of triples that PyKEEN reads."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from titer.data.export import write_table
from titer.export.content import ExportContent, import_command, key_of
from titer.forecasting.answer_files import write_answers

EVIDENCE = pa.schema(
    [
        ("question", pa.int64()),
        ("rank", pa.int64()),
        ("reason", pa.int64()),
        ("share", pa.float64()),
        ("count", pa.int64()),
        ("text", pa.string()),
        ("hop", pa.int64()),
        ("subject", pa.string()),
        ("relation", pa.string()),
        ("object", pa.string()),
        ("time", pa.string()),
        ("fact", pa.int64()),  # row of the fact in the table of facts, from 1
    ]
)


def write_csv(content: ExportContent, folder: Path) -> str:
    """Write facts, forecasts and evidence as CSV files."""
    return _write(content, folder, ".csv")


def write_parquet(content: ExportContent, folder: Path) -> str:
    """Write facts, forecasts and evidence as Parquet files."""
    return _write(content, folder, ".parquet")


def write_pykeen(content: ExportContent, folder: Path) -> str:
    """Write the splits and the forecasts as tab-separated triples, followed by the time and, for forecasts, by more."""
    splits = content.facts["split"].unique().to_pylist()
    for split in splits:
        rows = content.facts.filter(pc.field("split") == split)
        columns = [rows[name].to_pylist() for name in ("subject", "relation", "object", "time")]
        _write_rows(folder / f"{split}.tsv", zip(*columns, strict=True))
    if content.forecasts:
        rows = ((p.subject, p.relation, p.object, p.time, p.rank, p.probability) for p in content.predictions())
        _write_rows(folder / "forecasts.tsv", rows)
    if evidence := list(_evidence(content)):
        write_table(pa.Table.from_pylist(evidence, EVIDENCE), folder / "evidence.csv")
    names = ["--names", "subject,relation,object,time"]
    return import_command(content.dataset, *(f"{split}.tsv" for split in splits), *names)


def _write(content: ExportContent, folder: Path, suffix: str) -> str:
    write_table(content.facts, folder / f"facts{suffix}")
    if content.forecasts:
        write_answers(content.forecasts, folder / f"forecasts{suffix}", raw_csv=True)
        write_table(pa.Table.from_pylist(list(_evidence(content)), EVIDENCE), folder / f"evidence{suffix}")
    return import_command(content.dataset, f"facts{suffix}")


def _evidence(content: ExportContent) -> Iterator[dict[str, Any]]:
    """Yield a row for each fact of each piece of evidence; evidence without facts has one row."""
    numbers = content.numbers_of_evidence()
    for prediction in content.predictions():
        for place, reason in enumerate(prediction.reasons, start=1):
            row: dict[str, Any] = {"question": prediction.question, "rank": prediction.rank, "reason": place}
            row |= {"share": reason.share, "count": reason.count, "text": reason.text}
            for hop, fact in enumerate(reason.facts, start=1):
                parts = dict(zip(("subject", "relation", "object", "time"), key_of(fact), strict=True))
                yield {**row, "hop": hop, **parts, "fact": numbers.get(key_of(fact))}
            if not reason.facts:
                yield row


def _write_rows(path: Path, rows: Any) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)
