"""Batch jobs: partitions ordered by time, answers in a folder, and jobs that go on after an interruption."""

import json
import shutil
import signal
import time
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import invoke, titer
from titer.data.time_axis import TimeAxis
from titer.data.time_unit import TimeUnit
from titer.errors import DataError, TiterError
from titer.forecasting.forecast import Unanswered
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.jobs import partitions as module
from titer.forecasting.jobs.begin import open_job
from titer.forecasting.jobs.folder import JobFolder
from titer.forecasting.jobs.job import Job, run_locally
from titer.forecasting.jobs.partitions import partitions
from titer.forecasting.jobs.tasks import AnswerTask
from titer.forecasting.question import Question
from titer.runs.run import Run
from titer.store.facts import FactStore, NamedFact
from warm_processes import WarmProcess

COUNTRIES = ("Aldoria", "Brenmark", "Caldera", "Drovia", "Lumeria", "Unknownia")
RELATIONS = ("invite", "accuse", "hold talks with")
AXIS = TimeAxis(TimeUnit.INTEGER, 0)


def write_questions(folder: Path, num_files: int = 3, num_rows: int = 40) -> list[dict]:
    """Write files of questions with columns of the user, and return all rows in order."""
    folder.mkdir()
    rows = [
        {
            "id": 1000 + i,
            "subject": COUNTRIES[i % len(COUNTRIES)],
            "relation": RELATIONS[i % len(RELATIONS)],
            "time": None if i % 17 == 0 else f"2023-{1 + i * 7 % 6:02d}-{1 + i * 11 % 28:02d}",
            "rank": i / 7,
            "due": date(2024, 1, 1 + i % 28),
        }
        for i in range(num_files * num_rows)
    ]
    for i in range(num_files):
        pq.write_table(pa.Table.from_pylist(rows[i * num_rows : (i + 1) * num_rows]), folder / f"{i}.parquet")
    return rows


def read_answers(folder: Path) -> list[dict]:
    """Return the answers of a job in the order of the questions."""
    return pads.dataset(folder).to_table().sort_by([("question", "ascending"), ("rank", "ascending")]).to_pylist()


@given(
    times=st.lists(st.one_of(st.none(), st.integers(-3, 6)), max_size=60),
    size=st.integers(1, 12),
    chunk=st.integers(1, 20),
    in_memory=st.integers(1, 40),
)
def test_partitions_have_every_question_once_in_the_order_of_time(
    times: list[int | None], size: int, chunk: int, in_memory: int
):
    texts = [None if time is None else "soon" if time == 6 else str(time) for time in times]
    table = pa.table({"question": pa.array(range(1, len(times) + 1), pa.int64()), "time": pa.array(texts, pa.string())})
    chunks = [table.slice(start, chunk) for start in range(0, len(table), chunk)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SORTED_ROWS", in_memory)
        found = [part.to_pylist() for part in partitions(chunks, AXIS, size)]
    expected = sorted(
        table.to_pylist(), key=lambda row: (100 if row["time"] in (None, "soon") else int(row["time"]), row["question"])
    )
    assert [row for part in found for row in part] == expected
    assert all(1 <= len(part) <= size for part in found)
    for first, second in pairwise(found):
        step = "soon" if second[0]["time"] is None else second[0]["time"]
        if step == ("soon" if first[-1]["time"] is None else first[-1]["time"]):
            same = sum(("soon" if row["time"] is None else row["time"]) == step for row in expected)
            assert same > size, "only a step that does not fit into one partition is divided"


def test_a_job_gives_the_answers_of_the_forecaster_with_the_columns_of_the_user(recurrency_run: Path, tmp_path: Path):
    rows = write_questions(tmp_path / "questions")
    shown = invoke("forecast", recurrency_run, "--file", tmp_path / "questions", "--out", f"{tmp_path}/answers/",
                   "--top", "2", "--explain", "--partition-size", "30")  # fmt: skip
    assert shown.exit_code == 0, shown.output
    assert "answers to 120 questions in 5 files" in shown.stderr
    forecaster = Forecaster.load(recurrency_run)
    questions = [Question(row["subject"], row["relation"], None, row["time"]) for row in rows]
    expected = list(forecaster.ask_many(questions, top=2, explain=3))
    unanswered = sum(isinstance(result, Unanswered) or not result.answers for result in expected)
    assert f"{unanswered} of 120 questions could not be answered" in shown.stderr
    answers = read_answers(tmp_path / "answers")
    for number, (row, result) in enumerate(zip(rows, expected, strict=True), start=1):
        found = [answer for answer in answers if answer["question"] == number]
        assert all(answer["id"] == row["id"] and answer["due"] == row["due"] for answer in found)
        assert all(answer["input_rank"] == row["rank"] for answer in found)
        assert all(answer["file"].endswith(f"{(number - 1) // 40}.parquet") for answer in found)
        assert all(answer["row"] == (number - 1) % 40 + 1 for answer in found)
        if isinstance(result, Unanswered):
            assert "unknown entity" in found[0]["error"]
        else:
            assert found
            kept = [
                (answer["answer"], answer["score"], answer["probability"]) for answer in found if not answer["error"]
            ]
            assert kept == [(answer.entity, answer.score, answer.probability) for answer in result.answers]


def test_whole_time_steps_are_in_one_file(recurrency_run: Path, tmp_path: Path):
    write_questions(tmp_path / "questions")
    titer("forecast", recurrency_run, "--file", tmp_path / "questions", "--out", tmp_path / "answers",
          "--partition-size", "30")  # fmt: skip
    latest = ""
    for part in sorted((tmp_path / "answers").glob("part-*")):
        times = [row["time"] for row in pq.read_table(part).to_pylist() if row["time"] and not row["error"]]
        dated = [time for time in times if time < "2023-07-01"]  # later ones had no time
        assert dated == sorted(dated)
        assert not dated or dated[0] > latest
        latest = max([latest, *dated])


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_every_format_has_the_same_answers(recurrency_run: Path, tmp_path: Path, format: str):
    write_questions(tmp_path / "questions", 1, 12)
    out = tmp_path / "answers"
    titer("forecast", recurrency_run, "--file", tmp_path / "questions/0.parquet", "--out", out, "--format", format)
    whole = tmp_path / "whole.parquet"
    titer("forecast", recurrency_run, "--file", tmp_path / "questions/0.parquet", "--out", whole)
    (part,) = out.glob(f"part-*.{format}")
    if format == "parquet":
        rows = pq.read_table(part).to_pylist()
    elif format == "csv":
        rows = pacsv.read_csv(part).to_pylist()
    else:
        rows = [json.loads(line) for line in part.read_text(encoding="utf-8").splitlines()]
    expected = pq.read_table(whole).to_pylist()
    assert "file" not in expected[0]
    found = {(row["question"], row["rank"], row["answer"] or None, row["score"]) for row in rows}
    assert found == {(row["question"], row["rank"], row["answer"], row["score"]) for row in expected}


def test_columns_in_folder_names_are_parts_of_the_questions(recurrency_run: Path, tmp_path: Path):
    for day in ("2023-05-02", "2023-03-01"):
        (tmp_path / f"questions/time={day}").mkdir(parents=True)
        (tmp_path / f"questions/time={day}/a.csv").write_text("subject,relation\nCaldera,invite\n")
    titer("forecast", recurrency_run, "--file", tmp_path / "questions", "--out", tmp_path / "answers", "--top", "1")
    assert [row["time"] for row in read_answers(tmp_path / "answers")] == ["2023-03-01", "2023-05-02"]


def test_files_with_different_types_of_a_column_are_refused(recurrency_run: Path, tmp_path: Path):
    for name, value in (("a", 1), ("b", "x")):
        table = pa.table({"subject": ["Caldera"], "relation": ["invite"], "mine": [value]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    with pytest.raises(DataError, match=r"different columns.*mine"):
        titer("forecast", recurrency_run, "--file", f"{tmp_path}/*.parquet", "--out", tmp_path / "answers")


def test_a_missing_file_is_reported(recurrency_run: Path, tmp_path: Path):
    for missing in ("none.csv", "none/*.csv"):
        with pytest.raises(DataError, match=r"no such file|no file matches"):
            titer("forecast", recurrency_run, "--file", tmp_path / missing, "--out", tmp_path / "answers")


def test_a_folder_without_questions_is_reported(recurrency_run: Path, tmp_path: Path):
    (tmp_path / "questions").mkdir()
    with pytest.raises(DataError, match="questions has no files of questions"):
        titer("forecast", recurrency_run, "--file", tmp_path / "questions", "--out", tmp_path / "answers")


def begin(run: Path, tmp_path: Path, **changes) -> Job:
    options = {"partition_size": 20, **changes}
    task = AnswerTask(options.pop("top", 3))
    questions = options.pop("questions", f"{tmp_path}/questions/*.parquet")
    return open_job(JobFolder(str(tmp_path / "answers")), task, Run(run), questions, **options)


def test_a_job_with_other_settings_is_refused(recurrency_run: Path, run_copy: Callable[[Path], Path], tmp_path: Path):
    run = run_copy(recurrency_run)
    write_questions(tmp_path / "questions")
    job = begin(run, tmp_path)
    assert begin(run, tmp_path).sizes == job.sizes
    for change, message in (
        ({"top": 4}, "options"),
        ({"format": "csv"}, "format"),
        ({"raw_csv": True}, "--raw-csv"),
        ({"partition_size": 21}, "partition size"),
        ({"questions": f"{tmp_path}/questions/[01].parquet"}, "questions"),
    ):
        with pytest.raises(TiterError, match=f"differs in: {message};.*--overwrite"):
            begin(run, tmp_path, **change)
    with FactStore(Run(run).store_path, Run(run).dataset) as store:
        store.add([NamedFact("Caldera", "invite", "Drovia", 200)])
    with pytest.raises(TiterError, match="differs in: added facts"):
        begin(run, tmp_path)
    assert begin(run, tmp_path, overwrite=True).settings["facts"][:2] == [1, 0]


def test_facts_that_are_added_while_a_job_runs_stop_it(
    recurrency_run: Path, run_copy: Callable[[Path], Path], tmp_path: Path
):
    run = run_copy(recurrency_run)
    write_questions(tmp_path / "questions")
    job = begin(run, tmp_path)
    forecaster = Forecaster.load(run)
    results = run_locally(job, forecaster)
    next(results)
    with FactStore(Run(run).store_path, Run(run).dataset) as store:
        store.add([NamedFact("Caldera", "invite", "Drovia", 200)])
    with pytest.raises(TiterError, match="facts were added"):
        next(results)
    assert len(list((tmp_path / "answers").glob("part-*"))) == 1
    assert [path.name for path in (tmp_path / "answers").glob(".part*")] == []


def test_a_folder_with_other_files_is_left_alone(recurrency_run: Path, tmp_path: Path):
    write_questions(tmp_path / "questions")
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers/thesis.txt").write_text("years of work")
    for overwrite in (False, True):
        with pytest.raises(TiterError, match=r"is not a batch job: it has thesis.txt"):
            begin(recurrency_run, tmp_path, overwrite=overwrite)
    assert (tmp_path / "answers/thesis.txt").read_text() == "years of work"


def test_a_damaged_manifest_is_reported(recurrency_run: Path, tmp_path: Path):
    write_questions(tmp_path / "questions")
    begin(recurrency_run, tmp_path)
    manifest = tmp_path / "answers/_job.json"
    manifest.write_text(manifest.read_text().replace('"top": 3', '"top": 4'))
    with pytest.raises(TiterError, match="damaged"):
        begin(recurrency_run, tmp_path)


def test_damaged_questions_of_a_job_are_reported(recurrency_run: Path, tmp_path: Path):
    write_questions(tmp_path / "questions")
    job = begin(recurrency_run, tmp_path)
    forecaster = Forecaster.load(recurrency_run)
    file = tmp_path / "answers/_questions/part-00000.parquet"
    whole = file.read_bytes()
    for damaged in (b"", b"not a table", whole[:-20], bytes(len(whole) - 8) + whole[-8:]):
        file.write_bytes(damaged)
        with pytest.raises(TiterError, match=r"_questions/part-00000.parquet cannot be read: .*begin again") as caught:
            job.answer(0, forecaster)
        assert "\n" not in str(caught.value)


def test_an_interrupted_preparation_is_repeated(recurrency_run: Path, tmp_path: Path):
    write_questions(tmp_path / "questions")
    sizes = begin(recurrency_run, tmp_path).sizes
    (tmp_path / "answers/_job.json").unlink()
    (tmp_path / "answers/_questions/part-00099.parquet").touch()
    assert begin(recurrency_run, tmp_path).sizes == sizes
    assert len(list((tmp_path / "answers/_questions").iterdir())) == len(sizes)


@pytest.mark.slow
def test_a_killed_job_goes_on_and_repeats_nothing(recurrency_run: Path, tmp_path: Path):
    write_questions(tmp_path / "questions", 3, 400)
    words = [
        "forecast",
        recurrency_run,
        "--file",
        tmp_path / "questions",
        "--partition-size",
        "40",
        "--explain",
        "--top",
        "2",
    ]
    titer(*words, "--out", tmp_path / "whole")
    out = tmp_path / "answers"
    process = WarmProcess(*words, "--out", out)
    limit = time.monotonic() + 120
    while len(list(out.glob("part-*"))) < 5:
        assert time.monotonic() < limit
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in out.glob("part-*")}
    expected = {path.name: path.read_bytes() for path in (tmp_path / "whole").glob("part-*")}
    assert 5 <= len(done) < len(expected)
    assert "partitions answered already" in invoke(*words, "--out", out).stderr
    assert {path.name: path.read_bytes() for path in out.glob("part-*")} == expected
    again = {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in out.glob("part-*")}
    assert {name: again[name] for name in done} == done
    assert sorted(path.name for path in out.iterdir()) == sorted([*expected, "_job.json"]), "no partial files are left"


def test_a_question_is_answered_from_facts_before_its_time(
    recurrency_run: Path, run_copy: Callable[[Path], Path], tmp_path: Path
):
    """Facts of the time of a question and later ones change no answer of a job."""
    times = [row["time"] or "later" for row in write_questions(tmp_path / "questions", 1, 60)]
    assert "2023-05-01" in times
    run = run_copy(recurrency_run)
    dataset = Run(run).dataset
    words = ["--file", tmp_path / "questions", "--explain", "--partition-size", "20"]
    titer("forecast", run, *words, "--out", tmp_path / "before")
    later = dataset.axis.step("2023-05-01")
    with FactStore(Run(run).store_path, dataset) as store:
        store.add([
            NamedFact(subject, relation, "Drovia", later + day)
            for subject in COUNTRIES[:5] for relation in RELATIONS for day in range(40)
        ], backfill=True)  # fmt: skip
    titer("forecast", run, *words, "--out", tmp_path / "after")
    kept = ("question", "rank", "answer", "score", "probability", "evidence")
    early, late = [], []
    for before, after in zip(read_answers(tmp_path / "before"), read_answers(tmp_path / "after"), strict=False):
        same = {key: before[key] for key in kept} == {key: after[key] for key in kept}
        (early if times[before["question"] - 1] <= "2023-05-01" else late).append(same)
    assert all(early)
    assert len(early) > 50
    assert not all(late), "the facts do change later answers"


def test_a_folder_can_be_removed_and_begun_again(recurrency_run: Path, tmp_path: Path):
    write_questions(tmp_path / "questions")
    words = ["forecast", recurrency_run, "--file", tmp_path / "questions", "--out", tmp_path / "answers"]
    titer(*words, "--top", "1")
    titer(*words, "--top", "2", "--overwrite")
    first = read_answers(tmp_path / "answers")
    shutil.rmtree(tmp_path / "answers")
    titer(*words, "--top", "2")
    assert read_answers(tmp_path / "answers") == first
