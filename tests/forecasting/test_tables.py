"""Forecasts as Arrow tables, and questions and answers in files."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from titer.errors import DataError, TiterError
from titer.forecasting.answer_files import write_answers
from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.forecasting.question_files import count_rows, read_questions
from titer.forecasting.tables import SCHEMA, record_batches, to_table

ASKED = [
    Question("Caldera", "hold talks with", None, "2023-07-01"),
    Question(None, "brief", "Army of Aldoria", "2023-06-01"),
    Question("Caldora", "hold talks with", None, "2023-07-01"),
    Question("Aldoria", "invite", None, "2023-01-01"),
    Question('say "hi", <b>', "invite", None, None),
]


@pytest.fixture(scope="module")
def results(forecaster: Forecaster) -> list[Forecast | Unanswered]:
    return list(forecaster.ask_many(ASKED, top=3, explain=2))


def test_a_table_has_a_row_for_every_answer_and_one_for_every_failure(results: list[Forecast | Unanswered]):
    table = to_table(results)
    assert table.schema == SCHEMA
    rows = table.to_pylist()
    assert [row["question"] for row in rows] == [1, 1, 1, 2, 2, 2, 3, 4, 5]
    first = results[0]
    assert isinstance(first, Forecast)
    for row, answer in zip(rows[:3], first.answers, strict=True):
        assert (row["rank"], row["answer"], row["score"], row["probability"]) == (
            answer.rank,
            answer.entity,
            answer.score,
            answer.probability,
        )
        assert [item["text"] for item in row["evidence"]] == [str(reason) for reason in answer.reasons]
        assert row["evidence"][0]["facts"][0]["time"] == answer.reasons[0].facts[0].time
        assert (row["subject"], row["object"], row["ahead"], row["error"]) == ("Caldera", None, 1, None)
    assert (rows[3]["subject"], rows[3]["object"]) == (None, "Army of Aldoria")
    assert "; did you mean 'Caldera'" in rows[6]["error"]
    assert (rows[7]["no_history"], rows[7]["answer"]) == (True, None)
    assert "no earlier fact" in rows[7]["error"]
    assert rows[8]["subject"] == 'say "hi", <b>'
    of_one = [{key: value for key, value in row.items() if key not in ("question", "error")} for row in rows[:3]]
    assert first.to_table().to_pylist() == of_one


def test_batches_are_parts_of_the_table(results: list[Forecast | Unanswered]):
    batches = list(record_batches(results, 2))
    assert len(batches) > 2
    assert pa.Table.from_batches(batches).equals(to_table(results))


def read_back(path: Path) -> list[dict]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".csv":
        text = {name: pa.string() for name in SCHEMA.names if pa.types.is_string(SCHEMA.field(name).type)}
        types = {**text, "evidence": pa.string(), "no_history": pa.bool_(), "ahead": pa.int64()}
        options = pacsv.ConvertOptions(column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False)
        rows = pacsv.read_csv(path, convert_options=options).to_pylist()
        return [{**row, "evidence": json.loads(row["evidence"]) if row["evidence"] else None} for row in rows]
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "ndjson", "parquet"])
def test_answers_can_be_read_back_from_every_format(results: list[Forecast | Unanswered], tmp_path: Path, suffix: str):
    path = tmp_path / f"answers.{suffix}"
    write_answers(iter(results), path)
    found, expected = read_back(path), to_table(results).to_pylist()
    assert found == expected


def write_questions(path: Path, rows: list[dict[str, str | None]]) -> None:
    table = pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in rows[0]]))
    match path.suffix:
        case ".parquet":
            pq.write_table(table, path)
        case ".csv":
            pacsv.write_csv(table, str(path))
        case _:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("asked", ["?", "", None])
def test_questions_can_be_read_from_every_format(tmp_path: Path, suffix: str, asked: str | None):
    rows: list[dict[str, str | None]] = [
        {
            "subject": question.subject or asked,
            "relation": question.relation,
            "object": question.object or asked,
            "time": str(question.at) if question.at else None,
        }
        for question in ASKED
    ]
    path = tmp_path / f"questions.{suffix}"
    write_questions(path, rows)
    assert list(read_questions(path)) == ASKED
    assert abs(count_rows(path) - len(ASKED)) <= 1


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_file_of_answers_can_be_read_as_questions(
    forecaster: Forecaster, results: list[Forecast | Unanswered], tmp_path: Path, suffix: str
):
    """The columns of the question are those of a file of questions."""
    path = tmp_path / f"answers.{suffix}"
    write_answers(results[:1], path)
    first = results[0]
    again = list(forecaster.ask_many(read_questions(path), top=3, explain=2))
    assert again == [first] * 3


def test_a_row_that_cannot_be_read_is_unanswered(tmp_path: Path):
    path = tmp_path / "questions.csv"
    path.write_text("Subject,relation,object,time\na,r,,1\na,r\nb,r,,2\n,,,\nc,r,,3\nx,y,z,1,2\n")
    first, narrow, second, third, wide = read_questions(path)
    assert [first, second, third] == [Question(name, "r", None, str(i)) for i, name in enumerate("abc", start=1)]
    assert isinstance(narrow, Unanswered)
    assert "row 3: 2 columns instead of 4" in narrow.error
    assert isinstance(wide, Unanswered)
    assert "row 7: 5 columns instead of 4" in wide.error
    lines = tmp_path / "questions.jsonl"
    lines.write_text('{"subject": "a", "relation": "r"}\n{"subject"\n{"subject": ["a"], "relation": "r"}\n')
    good, broken, odd = read_questions(lines)
    assert good == Question("a", "r")
    assert isinstance(broken, Unanswered)
    assert "not JSON" in broken.error
    assert isinstance(odd, Unanswered)
    assert "neither text nor a number" in odd.error


def test_a_file_without_questions_is_refused(tmp_path: Path):
    path = tmp_path / "questions.csv"
    path.write_text("who,what\na,b\n")
    with pytest.raises(DataError, match="a column 'relation'"):
        read_questions(path)
    with pytest.raises(DataError, match="no such file"):
        read_questions(tmp_path / "nothing.csv")


def test_a_file_is_written_completely_or_not_at_all(results: list[Forecast | Unanswered], tmp_path: Path):
    path = tmp_path / "answers.csv"

    def broken():
        yield results[0]
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        write_answers(broken(), path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("existing")
    with pytest.raises(TiterError, match="--overwrite"):
        write_answers(results, path)
    assert path.read_text() == "existing"
    write_answers(results, path, overwrite=True)
    assert path.read_text().startswith('"question"')
    with pytest.raises(TiterError, match=r"\.xlsx"):
        write_answers(results, tmp_path / "answers.xlsx")
