import json
from pathlib import Path
from typing import Any

import pytest

from titer.errors import DataError
from titer.evaluation.comparison import Measured, cell, main_table, standings
from titer.evaluation.published import DATASETS, METRICS, MODELS, published

ICEWS14 = {"name": "ICEWS14", "checksum": "39be55df", "train": 63685, "valid": 13823, "test": 13222}
OTHER_ICEWS14 = {"name": "ICEWS14", "checksum": "00000000", "train": 74845, "valid": 8514, "test": 7371}


def metrics(value: float) -> dict[str, float]:
    return dict.fromkeys(METRICS, value)


def of_run(source: str, model: str, mrr: float, dataset: dict[str, Any] = ICEWS14, **changes: Any) -> Measured:
    found = {
        "model": model,
        "dataset": dataset,
        "split": "test",
        "protocol": {"convention": "realistic"},
        "metrics": metrics(mrr / 2),
        "other_conventions": {"paper": metrics(mrr)},
        "config": {"model": {"dim": 8}, "training": {"seed": 0, "device": "cpu", "epochs": 3}},
    }
    return Measured.of_run(source, {**found, **changes})


def test_the_published_figures_are_those_of_the_papers_tables():
    assert [published("titer", dataset, "mrr") for dataset in DATASETS] == [41.73, 29.98, 75.50, 87.47]
    assert [published("cygnet", "WIKI", metric) for metric in METRICS] == [33.89, 29.06, 36.10, 41.86]
    assert published("tango_tucker", "ICEWS14", "mrr") is None
    assert published("tango_tucker", "ICEWS18", "hits_at_10") == 47.04
    assert published("recurrency", "ICEWS14", "mrr") is None
    for model in MODELS:
        for dataset in DATASETS:
            figures = [figure for metric in METRICS if (figure := published(model, dataset, metric)) is not None]
            if figures:
                mrr, at_1, at_3, at_10 = figures
                assert at_1 <= mrr <= at_10, model
                assert at_1 <= at_3 <= at_10, model


def test_models_are_in_the_order_of_the_paper_with_its_figures_beside_ours():
    found = standings([of_run("a", "recurrency", 0.44), of_run("b", "titer", 0.42), of_run("c", "cygnet", 0.33)])
    header, rows = main_table(found)
    assert header[:5] == ["model", "MRR", "paper", "Hits@1", "paper"]
    assert [row[:5] for row in rows] == [
        ["cygnet", "33.00", "32.73", "33.00", "23.69"],
        ["titer", "42.00", "41.73", "42.00", "32.74"],
        ["recurrency", "44.00", "–", "44.00", "–"],
    ]


def test_several_runs_are_averaged_and_a_run_evaluated_twice_counts_once():
    twice = of_run("a", "titer", 0.5), of_run("a", "titer", 0.5, protocol={"convention": "paper"}, metrics=metrics(0.4))
    (one,) = standings([*twice, of_run("b", "titer", 0.6)])
    assert one.values("mrr") == pytest.approx([40, 60])
    assert cell(one.values("mrr")) == "50.00 ± 14.14"


def test_another_dataset_of_the_same_name_has_a_table_of_its_own_without_the_papers_figures():
    found = standings([of_run("a", "titer", 0.4), of_run("b", "titer", 0.4, OTHER_ICEWS14)])
    assert [(one.checksum, one.published("mrr")) for one in found] == [("00000000", None), ("39be55df", 41.73)]


def test_evaluations_under_another_protocol_are_left_out():
    protocol = {"convention": None, "filter": "raw"}
    assert standings([of_run("a", "titer", 0.4, protocol=protocol, other_conventions={})]) == []


def test_runs_that_differ_in_more_than_their_seeds_are_recognised():
    def seeds(**changes: Any) -> list[Measured]:
        training = {"seed": 1, "device": "cuda", "epochs": 3, **changes}
        return [
            of_run("a", "titer", 0.4),
            of_run("b", "titer", 0.4, config={"model": {"dim": 8}, "training": training}),
        ]

    assert standings(seeds())[0].is_one_setting
    assert not standings(seeds(epochs=4))[0].is_one_setting


def test_a_file_that_is_not_a_result_is_rejected_by_name(tmp_path: Path):
    for text in ("{", "[]", json.dumps({"model": "titer"})):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(DataError, match=r"x\.json is not a result"):
            Measured.of_result(tmp_path / "x.json")
