"""``titer forecast``: what-if questions, and files of questions."""

import csv
import json
import sys
from pathlib import Path

import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from commands import invoke, titer, titer_process
from titer.errors import MissingPackageError, TiterError

KNOWN = "Caldera | hold talks with | Drovia | 2023-06-28"


@pytest.fixture(scope="module")
def run(recurrency_run: Path) -> Path:
    return recurrency_run


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.csv"
    path.write_text(
        "subject,relation,object,time\nCaldera,invite,?,2023-07-01\n?,brief,army of ald,\nUnknownia,invite,,\n"
    )
    return path


def test_what_if_shows_the_changes(run: Path):
    words = ["forecast", run, "Caldera", "hold talks", "--at", "2023-07-01", "--without", KNOWN]
    words += [
        "--with",
        "Caldera,hold talks with,Newland,2023-06-30",
        "--with",
        "Newland | accuse | Drovia | 2023-06-29",
    ]
    shown = titer(*words, "--explain")
    assert "without: Caldera held talks with Drovia on 28 Jun 2023, 3 days before" in shown
    assert "new entities: Newland" in shown
    assert "Caldera held talks with Newland on 30 Jun 2023, 1 day before" in shown
    found = json.loads(titer(*words, "--json"))
    assert [fact["subject"] for fact in found["with"]] == ["Caldera", "Newland"]
    (drovia,) = (move for move in found["moves"] if move["entity"] == "Drovia")
    assert drovia["probability_after"] < drovia["probability_before"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--without", "Caldera | hold talks with | Drovia | 2023-06-27"], "did you mean:\n  " + KNOWN),
        (["--with", "Caldera | accuse | Drovia | 2023-07-01"], "only facts before the question's time"),
        (["--with", "Caldera accuse Drovia"], "SUBJECT | RELATION | OBJECT | DATE"),
        (["--out", "x.csv"], "--out needs --file"),
    ],
)
def test_invalid_changes_are_rejected(run: Path, words: list[str], message: str):
    with pytest.raises(TiterError) as error:
        titer("forecast", run, "Caldera", "hold talks", "--at", "2023-07-01", *words)
    assert message in str(error.value)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_many_questions_go_from_a_file_to_a_file(run: Path, questions: Path, tmp_path: Path, suffix: str):
    out = tmp_path / f"answers.{suffix}"
    result = invoke("forecast", run, "--file", questions, "--out", out, "--top", "2")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "answers to 3 questions" in result.stderr
    assert "1 of 3 questions could not be answered" in result.stderr
    if suffix == "parquet":
        rows = pq.read_table(out).to_pylist()
        assert [row["question"] for row in rows] == [1, 1, 2, 2, 3]
        assert rows[2]["answer"] == "President of Aldoria"
        assert "unknown entity 'Unknownia'" in rows[4]["error"]
    with pytest.raises(TiterError, match="--overwrite"):
        titer("forecast", run, "--file", questions, "--out", out)
    titer("forecast", run, "--file", questions, "--out", out, "--overwrite")


def test_answers_have_the_rows_of_their_questions_where_blank_rows_count(run: Path, tmp_path: Path):
    asked = ["id,subject,relation,row", "a,Caldera,invite,x", ",,,", ",,,", "b,Aldoria,accuse,y"]
    (tmp_path / "asked.csv").write_text("\n".join(asked) + "\n")
    for out in ("answers.csv", "answers/"):
        titer("forecast", run, "--file", tmp_path / "asked.csv", "--out", f"{tmp_path}/{out}", "--top", "1")
    with (tmp_path / "answers.csv").open() as file:
        one = list(csv.DictReader(file))
    many = pq.read_table(tmp_path / "answers").to_pylist()
    for rows in (one, many):
        assert [int(row["question"]) for row in rows] == [1, 2]
        assert [int(row["row"]) for row in rows] == [2, 5]
        assert [(row["id"], row["input_row"]) for row in rows] == [("a", "x"), ("b", "y")]


def test_answers_are_printed_without_an_output_file(run: Path, questions: Path):
    shown = titer("forecast", run, "--file", questions, "--top", "1")
    assert shown.index("Caldera — invite — ?") < shown.index("? — brief — Army of Aldoria") < shown.index("Unknownia")
    lines = [json.loads(line) for line in titer("forecast", run, "--file", questions, "--json").splitlines()]
    assert lines[1]["answers"][0]["entity"] == "President of Aldoria"
    assert "unknown entity" in lines[2]["error"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "SUBJECT RELATION"),
        (["Caldera"], "SUBJECT RELATION"),
        (["Caldera", "invite", "--file", "q.csv"], "--file cannot be combined"),
        (["--file", "q.csv", "--without", KNOWN], "--file cannot be combined"),
        (["--file", "missing.csv"], "no such file"),
        (["--file", "missing.csv", "--out", "answers.xlsx"], "unknown format"),
    ],
)
def test_an_incomplete_command_is_rejected_with_a_hint(run: Path, words: list[str], message: str):
    with pytest.raises(TiterError, match=message):
        titer("forecast", run, *words)


MEASURED = """
import resource, sys
from titer.cli.main import app
app(sys.argv[1:], standalone_mode=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_many_questions_need_no_more_memory_than_few(run: Path, tmp_path: Path):
    """Ten times the questions, with 400,000 answers, must fit into nearly the same memory."""

    def peak(count: int) -> int:
        questions = tmp_path / f"{count}.csv"
        rows = (f"Caldera,invite,,2023-{1 + i % 6:02d}-{1 + i % 28:02d}\n" for i in range(count))
        questions.write_text("subject,relation,object,time\n" + "".join(rows))
        words = ["forecast", run, "--file", questions, "--out", tmp_path / f"{count}.parquet", "--top", "40"]
        megabytes = int(titer_process("-c", MEASURED, *words).stdout)
        assert pq.read_metadata(tmp_path / f"{count}.parquet").num_rows > 30 * count
        return megabytes

    assert peak(10_000) < peak(1_000) + 50


class TestOptionsOfQuestionFiles:
    def test_columns_delimiter_and_date_format_can_be_given(self, run: Path, tmp_path: Path):
        path, plain = tmp_path / "asked.txt", tmp_path / "plain.csv"
        path.write_text("who;what;day\nCaldera;invite;01.07.2023\nAldoria;accuse;02.07.2023\n")
        plain.write_text("subject,relation,time\nCaldera,invite,2023-07-01\nAldoria,accuse,2023-07-02\n")
        options = ["--column", "subject=who", "--column", "relation=what", "--column", "time=day"]
        options += ["--delimiter", ";", "--date-format", "%d.%m.%Y"]
        given = titer("forecast", run, "--file", path, *options, "--json")
        assert given == titer("forecast", run, "--file", plain, "--json")

    def test_a_column_that_is_given_comes_before_one_of_the_same_name(self, run: Path, tmp_path: Path):
        path = tmp_path / "asked.csv"
        path.write_text("subject,actor,relation\nnobody,Caldera,invite\n")
        shown = titer("forecast", run, "--file", path, "--column", "subject=actor", "--top", "1")
        assert shown.startswith("Caldera — invite — ?")

    def test_a_relation_can_be_the_same_for_all_questions(self, run: Path, tmp_path: Path):
        path = tmp_path / "asked.csv"
        path.write_text("subject\nCaldera\n")
        shown = titer("forecast", run, "--file", path, "--constant", "relation=invite", "--top", "1")
        assert shown.startswith("Caldera — invite — ?")

    def test_a_file_without_a_header_row(self, run: Path, tmp_path: Path):
        path = tmp_path / "asked.csv"
        path.write_text("Caldera,invite\n")
        shown = titer("forecast", run, "--file", path, "--names", "subject,relation", "--top", "1")
        assert shown.startswith("Caldera — invite — ?")

    def test_they_apply_to_jobs_and_another_form_is_another_job(self, run: Path, tmp_path: Path):
        path, out = tmp_path / "asked.csv", f"{tmp_path}/answers/"
        path.write_text("a,b,c\nCaldera,Aldoria,invite\n")
        words = ("forecast", run, "--file", path, "--out", out, "--column", "relation=c", "--top", "1")
        titer(*words, "--column", "subject=a")
        (found,) = pads.dataset(out, format="parquet").to_table().to_pylist()
        assert (found["subject"], found["b"]) == ("Caldera", "Aldoria")
        with pytest.raises(TiterError, match="differs in: form of the questions"):
            titer(*words, "--column", "subject=b")

    def test_a_missing_column_and_a_part_that_questions_do_not_have_are_errors(self, run: Path, questions: Path):
        with pytest.raises(TiterError, match="there is no column 'whom'; the file has subject, relation"):
            titer("forecast", run, "--file", questions, "--column", "object=whom")
        with pytest.raises(TiterError, match="a question has no 'weight'"):
            titer("forecast", run, "--file", questions, "--column", "weight=subject")


def test_ray_that_is_not_installed_is_reported_before_anything_is_written(
    run: Path, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "titer.ray.engine", None)
    with pytest.raises(MissingPackageError, match=r"titer\[ray\]"):
        titer("forecast", run, "--file", questions, "--out", tmp_path / "answers", "--engine", "ray")
    assert not (tmp_path / "answers").exists()


FOLDER = ["--file", "questions.csv", "--out", "answers/"]
FILE = ["--file", "questions.csv", "--out", "answers.csv"]


@pytest.mark.parametrize("command", ["forecast", "events"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*FOLDER, "--address", "auto"], "--address needs --engine ray"),
        ([*FOLDER, "--workers", "2"], "--workers needs --engine ray"),
        ([*FOLDER, "--gpus-per-worker", "0.5"], "--gpus-per-worker needs --engine ray"),
        (["--engine", "ray"], "--engine ray needs --file"),
        ([*FILE, "--engine", "ray"], "--engine ray writes a folder"),
        ([*FILE, "--format", "parquet"], "--format is for .* a folder"),
        ([*FILE, "--partition-size", "8192"], "--partition-size is for .* a folder"),
        ([*FILE[:2], "--format", "csv"], "--format is for .* a folder"),
        (["--partition-size", "5"], "--partition-size is for .* a folder"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(run: Path, command: str, words: list[str], message: str):
    with pytest.raises(TiterError, match=message):
        titer(command, run, *words)
