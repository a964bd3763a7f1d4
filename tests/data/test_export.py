"""Export of facts and questions."""

from pathlib import Path

import pyarrow.csv as pacsv
import pytest

from commands import titer
from titer.data.dataset import Dataset
from titer.data.export import fact_table, question_table
from titer.data.load import load_dataset
from titer.errors import DataError, TiterError


def test_exported_facts_are_imported_as_the_same_facts(world_data: Dataset, tmp_path: Path):
    titer("data", "export", "small-world", "--out", tmp_path / "facts.csv")
    titer("data", "import", tmp_path / "facts.csv", "--out", tmp_path / "data", "--unit", "day")
    again = load_dataset(tmp_path / "data")

    def named(data: Dataset) -> list[tuple[str, str, str, str]]:
        names, relations = data.vocabulary.entities, data.vocabulary.relations
        return sorted((names[s], relations[r], names[o], data.axis.label(t)) for s, r, o, t in data.facts)

    assert named(again) == named(world_data)


def test_splits_can_be_chosen(world_data: Dataset):
    table = fact_table(world_data, ["valid", "test"])
    assert table["split"].to_pylist() == ["valid"] * len(world_data.valid) + ["test"] * len(world_data.test)
    with pytest.raises(DataError, match="unknown split 'tset'"):
        fact_table(world_data, ["tset"])


def test_questions_have_their_answers_beside_them(world_data: Dataset):
    facts, asked = fact_table(world_data, ["test"]).to_pylist(), question_table(world_data).to_pylist()
    assert len(asked) == 2 * len(facts)
    for question, fact in zip(asked, [*facts, *facts], strict=True):
        (missing,) = (part for part in ("subject", "object") if question[part] is None)
        assert {**question, missing: question["answer"]} | {"split": "test"} == {**fact, "answer": fact[missing]}


def test_exported_questions_can_be_asked(recurrency_run: Path, tmp_path: Path):
    titer("data", "export", recurrency_run, "--split", "test", "--questions", "--out", tmp_path / "questions.csv")
    titer("forecast", recurrency_run, "--file", tmp_path / "questions.csv", "--out", tmp_path / "a.csv", "--top", "1")
    answers = pacsv.read_csv(tmp_path / "a.csv")
    assert answers["error"].null_count == len(answers) == 894


def test_an_existing_file_is_not_overwritten(tmp_path: Path):
    (tmp_path / "facts.csv").write_text("mine")
    with pytest.raises(TiterError, match="already exists"):
        titer("data", "export", "small-world", "--out", tmp_path / "facts.csv")
