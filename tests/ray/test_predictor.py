"""The predictor for map_batches, without a cluster."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from titer.errors import ConfigError, DataError
from titer.forecasting.forecast import Forecast
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.ray import Predictor

BATCH = pa.table(
    {
        "key": [1.5, 2.5, 3.5],
        "subject": ["Caldera", None, "Nowhere"],
        "relation": ["invite", "brief", "invite"],
        "object": [None, "Army of Aldoria", None],
        "time": ["2023-06-01", None, "2023-06-01"],
        "score": ["low", "high", "none"],
    }
)


@pytest.fixture(scope="module")
def predictor(recurrency_run: Path) -> Predictor:
    return Predictor(recurrency_run, top=2, explain=1)


def test_a_batch_is_answered_like_single_questions(predictor: Predictor, recurrency_run: Path):
    rows = predictor(BATCH).to_pylist()
    questions = [Question("Caldera", "invite", None, "2023-06-01"), Question(None, "brief", "Army of Aldoria")]
    expected = []
    for key, forecast in zip((1.5, 2.5), Forecaster.load(recurrency_run).ask_many(questions, top=2), strict=True):
        assert isinstance(forecast, Forecast)
        expected += [(key, answer.rank, answer.entity, answer.score) for answer in forecast.answers]
    assert [(row["key"], row["rank"], row["answer"], row["score"]) for row in rows[:-1]] == expected
    assert "unknown entity 'Nowhere'" in rows[-1]["error"]
    assert [row["input_score"] for row in rows] == ["low", "low", "high", "high", "none"]
    assert "question" not in rows[0]


def test_numpy_batches_have_the_same_answers(predictor: Predictor):
    arrays = {name: np.array(column, dtype=object) for name, column in BATCH.to_pydict().items()}
    arrays["key"] = np.array([1.5, 2.5, 3.5])
    assert predictor(arrays).equals(predictor(BATCH))


def test_an_empty_batch_has_the_columns_of_others(predictor: Predictor):
    assert predictor(BATCH.slice(0, 0)).schema == predictor(BATCH).schema


@pytest.mark.slow
def test_events_are_answered_too(event_run: Path):
    predictor = Predictor(event_run, "events", within="7d", top=3)
    table = predictor(pa.table({"subject": ["Lumeria"], "relation": ["hold talks with"], "time": ["2023-06-01"]}))
    assert table.column("rank").to_pylist() == [1, 2, 3]
    assert set(table.column("start").to_pylist()) == {"2023-06-01"}


def test_unknown_tasks_options_and_columns_are_refused(predictor: Predictor, recurrency_run: Path):
    with pytest.raises(ConfigError, match="unknown task 'forcast'"):
        Predictor(recurrency_run, "forcast")
    with pytest.raises(ConfigError, match="unexpected keyword argument 'tops'"):
        Predictor(recurrency_run, tops=3)
    with pytest.raises(DataError, match="the batch: questions need a column 'relation'"):
        predictor(pa.table({"subject": ["Caldera"]}))
