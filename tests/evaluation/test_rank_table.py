"""The table with a row for each query."""

import csv
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from titer.data.dataset import Dataset
from titer.data.export import write_table
from titer.errors import TiterError
from titer.evaluation.evaluate import Evaluation, evaluate
from titer.evaluation.rank_table import rank_table
from titer.models.recurrency import Recurrency


@pytest.fixture(scope="module")
def found(world_data: Dataset) -> Evaluation:
    return evaluate(Recurrency(world_data.vocabulary, world_data.axis), world_data)


def test_a_row_has_the_fact_the_answer_and_its_rank(found: Evaluation, world_data: Dataset):
    rows = rank_table(found).to_pylist()
    names, relations = world_data.vocabulary.entities, world_data.vocabulary.relations
    facts = [(names[s], relations[r], names[o], world_data.axis.label(t)) for s, r, o, t in world_data.test]
    assert [(row["subject"], row["relation"], row["object"], row["time"]) for row in rows] == facts * 2
    assert [row["asks"] for row in rows] == ["object"] * len(facts) + ["subject"] * len(facts)
    assert all(row["answer"] == row[row["asks"]] for row in rows)
    assert [row["rank"] for row in rows] == found.ranks_under().tolist()
    assert sum(row["novelty"] == "never_seen" for row in rows) == found.by_novelty()["never_seen"].queries
    assert sum(row["top_is_right"] for row in rows) == int(found.confidence.correct.sum())


def test_it_is_written_as_parquet_and_as_csv(found: Evaluation, tmp_path: Path):
    table = rank_table(found)
    write_table(table, tmp_path / "ranks.parquet")
    assert pq.read_table(tmp_path / "ranks.parquet").equals(table)
    write_table(table, tmp_path / "ranks.csv")
    with (tmp_path / "ranks.csv").open(newline="") as file:
        assert [float(row["rank"]) for row in csv.DictReader(file)] == table["rank"].to_pylist()
    with pytest.raises(TiterError, match="already exists"):
        write_table(table, tmp_path / "ranks.csv")
    with pytest.raises(TiterError, match=r"ends in \.csv or \.parquet"):
        write_table(table, tmp_path / "ranks.txt")
