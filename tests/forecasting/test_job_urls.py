"""Jobs whose questions and answers are in an object store."""

from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from commands import invoke
from object_store import object_store


@pytest.mark.slow
def test_questions_and_answers_are_in_an_object_store(
    recurrency_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with object_store() as (options, objects):
        for number in range(3):
            rows = "".join(f"{number}-{i},Caldera,invite,2023-0{1 + (i + number) % 6}-01\n" for i in range(20))
            objects[f"bucket/questions/{number}.csv"] = f"id,subject,relation,time\n{rows}".encode()
        objects["bucket/questions/notes.txt"] = b"not questions"
        words = ["forecast", recurrency_run, "--file", f"s3://bucket/questions/*.csv?{options}", "--top", "1",
                 "--partition-size", "15", "--out", f"s3://bucket/answers?{options}"]  # fmt: skip
        first = invoke(*words)
        assert first.exit_code == 0, first.output + str(first.exception)
        parts = {name: data for name, data in objects.items() if name.startswith("bucket/answers/part-")}
        tables = [pq.read_table(BytesIO(data)) for data in parts.values()]
        assert sorted(id for table in tables for id in table.column("id").to_pylist()) == sorted(
            f"{number}-{i}" for number in range(3) for i in range(20)
        )
        files = {name for name in objects if name.startswith("bucket/answers/") and not name.endswith("/")}
        assert files == {*parts, "bucket/answers/_job.json"}

        lost = sorted(parts)[1]
        del objects[lost]
        again = invoke(*words)
        assert f"{len(parts) - 1} of {len(parts)} partitions answered already" in again.stderr
        assert objects[lost] == parts[lost]
        changed = invoke(*words, "--top", "2")
        assert "differs in: options" in str(changed.exception)
