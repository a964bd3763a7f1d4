"""Results of event forecasts in documents come from their files alone."""

import json
from pathlib import Path
from typing import Any

from rendering.event_floors import event_floors, event_times
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
        "recall": {"100": 0.25, "1000": 0.75},
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
    assert "| 0.250 | 0.750 | 0.900 | 15.0 |" in found  # 90 expected of 100; the second bin has too few events to count
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


def at(horizon: int, precision: float, best: float, part: str = "at_step") -> dict[str, Any]:
    rows = {"titer": metrics(precision), "mean of rates": metrics(best / 2), "all-time rate": metrics(best)}
    return {"horizon": horizon, "at_step": {}, "in_window": {}, part: rows, "waiting": {}}


def test_each_floor_says_what_was_measured_and_whether_it_is_reached():
    short = {**file("test", 0.0), "evaluations": [at(1, 0.0741, 0.06), at(7, 0.12, 0.1, "in_window")]}
    reached = {**file("test", 0.0, "YAGO"), "evaluations": [at(1, 0.7777, 0.06)]}
    found = event_floors(Measurements({}, events=[short, reached]))
    assert "| AP ≥ 0.078 | ICEWS14 | 0.0741 (-5.0 %): **not reached** |  |  |" in found
    assert "| AP ≥ 0.77 | YAGO | 0.7777 (+1.0 %): reached |  |  |" in found
    # The best baseline counts, of the same forecasts.
    assert "| AP ≥ 1.25 × best baseline | ICEWS14 | 1.24 ×: **not reached** |  | 1.20 ×: **not reached** |" in found
    # The standard error of 1,000 forecasts of 5 % is 0.69 points; half of their errors exceed 0.7 of it, and one in 20
    # twice as much. Seven windows count as one. The other bin holds one event.
    bins = "| bins ≤ 4 points off | ICEWS14 | 15.0 (by chance 0.5, 1.4): **not reached** |  |"
    assert f"{bins} 15.0 (by chance 1.3, 3.6): **not reached** |" in found
    assert "| sum within 10 % of the events | YAGO | -10.0 %: reached |  |  |" in found


def test_a_file_of_a_part_of_a_split_stands_after_that_of_the_whole_split():
    part = {**file("test", 0.3), "until": "2014-12-30"}
    measured = Measurements({}, events=[part, file("test", 0.1), file("test", 0.2, "YAGO")])
    found = "\n".join(event_table(measured, "at_step", 1))
    assert (
        found.index("| ICEWS14, test split")
        < found.index("| ICEWS14 until 2014-12-30, test split")
        < found.index("YAGO")
    )
    assert "| AP ≥ 0.078 | ICEWS14 until 2014-12-30 | 0.3000 (+284.6 %): reached" in "\n".join(event_floors(measured))
    assert len(event_pictures(measured)) == 2


def test_the_time_of_a_forecast_is_shown_with_its_memory_for_each_machine():
    timed = {**file("valid", 0.1), "evaluations": [], "forecast_seconds": {"first": 21.26, "next": 8.123}}
    rows = [{**timed, "gigabytes": 2.5}, {**timed, "hardware": "GPU", "gpu_gigabytes": 3.35}]
    found = event_times(Measurements({}, events=rows))
    assert "| ICEWS14 | CPU | 21.3 s | 8.12 s | 2.5 GiB | `python benchmarks/events.py RUN` | 01234567 |" in found
    assert "| 3.4 GiB on the GPU |" in found[-1]
    assert len(event_floors(Measurements({}, events=rows))) == 0
