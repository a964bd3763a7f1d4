"""Results of event forecasts in documents come from their files alone."""

import json
from pathlib import Path
from typing import Any

from rendering.events import event_commands, event_pictures, event_table, reliability_table, waiting_table
from rendering.files import Measurements


def metrics(precision: float) -> dict[str, Any]:
    bins = [
        {"forecasts": 1000, "probability": 0.05, "frequency": 0.2},
        {"forecasts": 10, "probability": 0.9, "frequency": 0.1},
    ]
    names = ("precision_at_n", "average_precision_repeated", "average_precision_new", "brier_skill", "log_score")
    return {
        "average_precision": precision,
        **dict.fromkeys(names, 0.5),
        "expected": 90.0,
        "events": 100,
        "reliability": bins,
    }


def file(split: str, precision: float, dataset: str = "ICEWS14") -> dict[str, Any]:
    rows = {"titer": metrics(precision), "mean of rates": metrics(0.01)}
    one = {"horizon": 1, "at_step": rows, "in_window": {}, "waiting": {"titer": {"crps": 1.5, "median_error": 2.0}}}
    made = {"command": "python benchmarks/events.py RUN", "commit": "0123456789", "hardware": "CPU", "seed": 3}
    return {"dataset": {"name": dataset}, "split": split, "evaluations": [one], **made}


def test_a_table_has_the_forecast_and_the_baselines_of_each_benchmark():
    measured = Measurements({}, events=[file("test", 0.1234)])
    found = "\n".join(event_table(measured, "at_step", 1))
    assert "| ICEWS14, test split | titer | 0.1234 |" in found
    assert "|  | mean of rates | 0.0100 |" in found
    assert "| 0.900 | 15.0 |" in found  # 90 expected of 100; the second bin has too few events to count
    assert event_table(measured, "at_step", 7) == []


def test_results_on_the_validation_split_say_so_and_give_way_to_those_on_the_test_split():
    valid = Measurements({}, events=[file("valid", 0.2)])
    assert "validation split" in event_table(valid, "at_step", 1)[2]
    both = Measurements({}, events=[file("valid", 0.2), file("test", 0.1)])
    assert "0.2000" not in "\n".join(event_table(both, "at_step", 1))


def test_waiting_times_reliability_and_commands_are_shown():
    measured = Measurements({}, events=[file("test", 0.1)])
    assert "| ICEWS14, test split | titer | 1.500 | 2.00 |" in waiting_table(measured)
    found = reliability_table(measured)
    assert "| ICEWS14 | 1,000 | 0.050 | 0.200 |" in found
    (path, picture), *others = event_pictures(measured).items()
    assert not others
    assert found[-1] == f"![Reliability of the events of ICEWS14]({path})"
    assert picture.startswith("<svg")
    assert "Events of ICEWS14, test split, one step ahead" in picture
    assert "| ICEWS14 | `python benchmarks/events.py RUN` | 01234567 | CPU | 3 |" in event_commands(measured)


def test_files_are_read_from_the_folder(tmp_path: Path):
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "one.json").write_text(json.dumps(file("test", 0.1)))
    assert Measurements.load(tmp_path).events == [file("test", 0.1)]
