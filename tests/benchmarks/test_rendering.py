"""Documents show results of files only, ours beside the published ones."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import recipes
import render
from rendering.blocks import BLOCKS, NONE, with_blocks, without_blocks
from rendering.case_study import case_table
from rendering.comparison import best, later_systems_table, second_icews14_table, tried_table
from rendering.conventions import other_questions_table, published_convention_table
from rendering.files import BENCHMARKS, Measurements, Row
from rendering.models import calibration_table, commands, model_table, notes
from rendering.paper import (
    ablation_table,
    action_weight_table,
    inductive_table,
    main_table,
    robustness_table,
    size_table,
    statistics_table,
    time_table,
    unseen_table,
)
from rendering.pictures import inductive_picture, other_questions_picture, time_picture
from rendering.values import SOURCES, known_figures, shown_figures
from rendering.walk import epochs_table, order_table, seeds_of_the_text, walk_table
from titer.data.load import load_dataset
from titer.evaluation.published import CASES, METRICS
from titer.runs.reproduce import find_configuration
from titer.training.config import Config

DOCUMENTS = render.documents()


@pytest.fixture(scope="module")
def measured() -> Measurements:
    return Measurements.load()


def result(label: str, value: float, seed: int = 0, **more: Any) -> Row:
    metrics = {metric: value * (i + 1) for i, metric in enumerate(METRICS)}
    return {
        "label": label,
        "model": label.partition("/")[0],
        "dataset": {"name": label.partition("/")[2].partition("-")[0].upper()},
        "seed": seed,
        "config": {"model": {"relative_time": "static" not in label}, "training": {"seed": seed}},
        "metrics": metrics,
        "conventions": {"paper": metrics, "realistic": metrics},
        "entities": {"unseen": {metric: of_all / 2 for metric, of_all in metrics.items()}},
        "hardware": "a computer",
        "seconds": {"training": 7.0},
        "command": f"titer reproduce {label}",
        **more,
    }


def results(**values: list[float]) -> Measurements:
    """Return results by label, ``__`` instead of a slash and ``_`` instead of a dash, with a value for each seed."""
    labels = {name.replace("__", "/").replace("_", "-"): of_one for name, of_one in values.items()}
    return Measurements({label: [result(label, value, i) for i, value in enumerate(v)] for label, v in labels.items()})


def cells(lines: list[str], *first: str) -> list[str]:
    (line,) = (line for line in lines if line.startswith("| " + " | ".join(first) + " |"))
    return line[2:-2].split(" | ")[len(first) :]


class TestDocuments:
    def test_all_documents_and_pictures_are_up_to_date(self, capsys: pytest.CaptureFixture[str]):
        assert render.main(["--check"]) == 0, capsys.readouterr().out

    @pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(render.ROOT)))
    def test_every_figure_of_a_document_is_in_a_file(self, path: Path, measured: Measurements):
        shown = shown_figures(without_blocks(path.read_text(encoding="utf-8")))
        assert set(shown) <= known_figures(measured, path.relative_to(render.ROOT).as_posix())

    def test_figures_are_numbers_that_look_like_metrics(self):
        assert set(shown_figures("an MRR of 99.87, 48.19 ± 0.08, `12.34`, 1.67 s, version 2.11.0, 42.14.")) == {
            *("99.87", "48.19", "42.14")
        }

    @pytest.mark.parametrize("document", SOURCES)
    def test_nearly_every_changed_figure_of_a_document_is_found(self, document: str, measured: Measurements):
        shown = shown_figures(without_blocks((render.ROOT / document).read_text(encoding="utf-8")))
        known = known_figures(measured, document)
        changed = {f"{float(number) + change:.2f}" for number in shown for change in (-7, -1, 1, 7)}
        assert shown
        assert len(changed & known) <= len(changed) / 10

    def test_a_document_without_a_log_may_not_write_figures(self, measured: Measurements):
        assert known_figures(measured, "README.md") == set()

    @pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("rend*/*.py")), ids=lambda path: path.name)
    def test_the_code_that_renders_has_no_figures_of_its_own(self, path: Path):
        assert re.findall(r"(?<![\d.])\d+\.\d{2,}", path.read_text(encoding="utf-8")) == []

    def test_a_file_that_would_change_is_listed_and_not_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        document = tmp_path / "README.md"
        document.write_text("before\n<!-- results: recipes -->\nold\n<!-- end of results -->\nafter\n")
        monkeypatch.setattr(render, "ROOT", tmp_path)
        monkeypatch.setattr(render, "BENCHMARKS", tmp_path)
        assert render.main(["--check"]) == 1
        assert "README.md is not up to date" in capsys.readouterr().out
        assert "old" in document.read_text()
        assert render.main([]) == 0
        assert document.read_text().startswith("before\n<!-- results: recipes -->\n\n| recipe |")
        assert document.read_text().endswith("<!-- end of results -->\nafter\n")
        assert render.main(["--check"]) == 0

    def test_a_block_without_results_says_so(self):
        text = "<!-- results: walk -->\n<!-- end of results -->"
        assert NONE in with_blocks(text, Measurements({}))

    def test_every_block_is_shown_somewhere(self):
        text = "".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
        shown = re.findall(r"<!-- results: (.+?) -->", text)
        assert sorted(shown) == sorted(set(shown))
        unused = set(BLOCKS) - set(shown)
        assert {name.partition(",")[0] for name in unused} <= {"ablation"}


class TestPaper:
    def test_the_main_table_has_a_row_for_each_recipe_and_none_without_results(self):
        measured = results(cygnet__icews14=[0.1, 0.1], titer__yago=[0.2], titer__yago_released=[0.3, 0.3])
        found = main_table(measured, "hits_at_1")
        assert cells(found, "`cygnet`") == [
            *("20.00 ± 0.00", "23.69", "–", "15.90", "–", "29.06", "–", "45.36", "2 / – / – / –")
        ]
        assert cells(found, "`titer`, recipe `tuned`")[-3:] == ["40.00", "84.89", "– / – / – / 1"]
        assert cells(found, "`titer`, recipe `released`")[-3:] == ["60.00 ± 0.00", "84.89", "– / – / – / 2"]
        assert len(found) == 5

    def test_datasets_have_the_papers_sizes(self, measured: Measurements):
        for lines in (unseen_table(measured), statistics_table(measured)):
            assert len(lines) >= 6
            assert "paper:" not in "".join(lines)
        assert cells(statistics_table(measured), "ICEWS14-RE-GCN (not in the paper)")[:3] == [
            "74,845",
            "8,514",
            "7,371",
        ]

    def test_another_size_than_the_papers_is_shown_with_it(self, measured: Measurements):
        other = {**measured.datasets["YAGO"], "test": 7}
        lines = statistics_table(Measurements({}, datasets={"YAGO": other}))
        assert cells(lines, "YAGO")[2] == "7 (paper: 20,026)"

    def test_sizes_are_those_counted_beside_the_papers(self):
        size = {"parameters": 5_000_000, "multiply_adds_per_step": 1_000_000, "multiply_adds_per_question": 2_000_000}
        nothing = {"parameters": 0, "multiply_adds_per_step": None, "multiply_adds_per_question": 0}
        counted = {"cygnet/icews14": size, "tango_tucker/icews14": size, "recurrency/icews14": nothing}
        found = size_table(Measurements({}, sizes=counted))
        assert cells(found, "`cygnet`, ICEWS14") == ["5.000 M", "1.000 M", "2.000 M", "8.568 M", "8.554 M"]
        assert cells(found, "`tango_tucker`, ICEWS14") == ["5.000 M", "1.000 M", "2.000 M", "–", "–"]
        assert cells(found, "`xerte`, ICEWS14") == ["–", "–", "–", "2.927 M", "225.895 M"]
        assert not any("recurrency" in line for line in found)

    def test_the_ablation_is_beside_the_papers(self):
        measured = results(titer__icews18_released=[0.1, 0.2], titer__icews18_released_no_weights=[0.1])
        found = ablation_table(measured, "ICEWS18", "released")
        assert cells(found, "TITer") == ["15.00 ± 7.07", "30.00 ± 14.14", "45.00 ± 21.21", "60.00 ± 28.28", "2"]
        assert cells(found, "without weighted action scoring (β = 0.5), paper")[:2] == ["29.25", "20.84"]
        assert cells(found, "TITer, paper")[0] == "29.98"
        assert ablation_table(measured, "ICEWS18", "tuned") == []

    def test_the_gain_of_the_inductive_mean_is_that_of_the_same_trainings(self):
        measured = results(
            titer__wiki=[0.2, 0.4, 0.1], titer__wiki_inductive_mean=[0.6], titer__wiki_no_inductive_mean=[0.1, 0.2]
        )
        # Seed 0 was trained twice, and the first training was evaluated without the mean.
        measured.rows["titer/wiki"][0]["seconds"]["training"] = 9.0
        found = inductive_table(measured)
        assert cells(found, "WIKI", "paper")[0] == "+1.52"
        assert cells(found, "", "ours, recipe `tuned`")[0] == "+17.50 ± 10.61"
        assert cells(found, "", "ours, recipe `tuned`")[-1] == "2"

    def test_the_weights_of_actions_are_shown_for_each_run(self):
        config = {"training": {"epochs": 3}}
        row = {"dataset": "YAGO", "split": "valid", "config": config, "mrr": {"learned": 0.5, "0.5": 0.25}}
        found = action_weight_table(Measurements({}, action_weights={"yago-seed0": row}))
        assert cells(found, "YAGO, valid split, 3 epochs", "learned β") == ["50.00"]
        assert cells(found, "YAGO, valid split, 3 epochs", "β = 0.5") == ["25.00"]
        assert action_weight_table(Measurements({})) == []

    def test_trials_with_another_order_of_facts_are_beside_those_of_the_files(self):
        def trial(name: str, split: str, values: list[float]) -> tuple[tuple[str, str], list[Row]]:
            rows = [result(name, value, seed) for seed, value in enumerate(values)]
            for row in rows:
                row["config"]["training"]["epochs"] = 20
            return (name, split), rows

        found = order_table(
            Measurements(
                {},
                trials=dict(
                    [
                        trial("titer/icews18-released-reversed-20-epochs", "valid", [0.1, 0.2]),
                        trial("titer/icews18-released-20-epochs", "valid", [0.3]),
                        trial("re_gcn/icews18-20", "valid", [0.4]),
                    ]
                ),
            )
        )
        assert cells(found, "ICEWS18", "20", "valid", "of the files")[0] == "30.00"
        assert cells(found, "ICEWS18", "20", "valid", "reverse")[0].startswith("15.00")
        assert len(found) == 4  # two lines of a heading, two rows
        assert order_table(Measurements({})) == []

    def test_results_that_differ_from_released_in_their_epochs_are_beside_the_papers(self):
        measured = results(
            titer__icews14_released=[0.40],
            titer__icews14_walk_12_all_expansions=[0.41, 0.42],
            titer__icews14=[0.43],
            titer__icews18_released=[0.29],
            titer__icews18_released_400_epochs=[0.30],
        )
        epochs = {"titer/icews14-walk-12-all-expansions": 100, "titer/icews14": 100, "titer/icews18-released": 68}
        for name, rows in measured.rows.items():
            for row in rows:
                row["config"]["training"]["epochs"] = epochs.get(name, 400)
                row["config"]["model"]["dropout"] = 0.3 if name == "titer/icews14" else 0
        found = epochs_table(measured)
        assert cells(found, "ICEWS14", "the paper, epochs not stated")[0] == "41.73"
        assert cells(found, "", "100 epochs")[4:] == ["-0.23", "2"]
        assert cells(found, "", "400 epochs, the recipe")[4:] == ["-1.73", "1"]
        assert cells(found, "", "68 epochs, the recipe")[4:] == ["-0.98", "1"]
        assert cells(found, "", "400 epochs")[4:] == ["+0.02", "1"]
        assert found[-2:] == [
            "- ICEWS14: closest to the paper after 100 epochs, 0.23 MRR below it.",
            "- ICEWS18: closest to the paper after 400 epochs, 0.02 MRR above it.",
        ]
        del measured.rows["titer/icews18-released-400-epochs"]
        assert cells(epochs_table(measured), "", "400 epochs")[-1] == "not trained"
        assert epochs_table(Measurements({})) == []

    def test_every_seed_of_the_text_is_named(self):
        found = seeds_of_the_text(results(titer__icews14_paper=[0.1, 0.2]))
        assert "10.00 (seed 0), 20.00 (seed 1)" in found[0]
        assert seeds_of_the_text(Measurements({})) == []

    def test_the_static_model_is_compared_with_the_temporal_one_of_the_same_settings(self):
        measured = results(titer__wiki=[0.1], titer__wiki_static=[0.08], titer__wiki_other=[0.3])
        measured.rows["titer/wiki"][0]["config"]["training"]["epochs"] = 3
        measured.rows["titer/wiki-static"][0]["config"]["training"]["epochs"] = 2
        measured.rows["titer/wiki-other"][0]["config"]["training"]["epochs"] = 2
        found = time_table(measured)
        assert cells(found, "WIKI, recipe `tuned`")[1] == "60.00"
        assert cells(found, "without relative time encoding")[4] == "+275.00 % (paper: +18.51 %)"

    def test_deviations_are_beside_the_papers_with_the_seeds(self):
        found = robustness_table(results(titer__icews14_paper=[0.1, 0.2]))
        assert cells(found, "ICEWS14", "paper") == [
            *("41.75 ± 0.21", "32.75 ± 0.12", "46.46 ± 0.09", "58.44 ± 0.05", "five")
        ]
        assert cells(found, "", "ours, recipe `paper`")[-1] == "0, 1"

    def test_the_walk_names_what_each_step_changes_and_adds(self):
        measured = results(
            titer__icews14_paper=[0.1, 0.1],
            titer__icews14_paper_moving_average=[0.12],
            titer__icews14_walk_01_epochs=[0.2, 0.4],
            titer__icews14_walk_02_back=[0.15],
            titer__icews14=[0.3],
        )
        for number, (label, rows) in enumerate(measured.rows.items()):
            for row in rows:
                row["config"]["training"]["epochs"] = 400 if label == "titer/icews14-paper" else 100
                row["config"]["model"]["strictly_back"] = number >= 3
                row["config"]["model"]["dropout"] = 0.3 if label == "titer/icews14" else 0
                row["config"]["model"]["baseline"] = "moving_average" if "average" in label else "standardised"
        found = walk_table(measured)
        assert [line.split(" | ")[0].removeprefix("| ") for line in found[2:]] == [
            "recipe `paper`",
            "`training.epochs=100`",
            "*only here: `model.baseline=moving_average`*",
            "`model.strictly_back=true`",
            "`model.dropout=0.3`: recipe `tuned`",
        ]
        assert cells(found, "`training.epochs=100`")[-2:] == ["+20.00", "2"]
        # Only the seeds that both results have are compared.
        assert cells(found, "`model.strictly_back=true`")[-2:] == ["-5.00", "1"]
        assert walk_table(results(titer__icews14=[0.3])) == []

    def test_our_paths_of_the_case_study_are_beside_the_papers(self):
        fact = {"subject": "Armed Rebel (Comoros)", "relation": "Fight", "object": "Military (Comoros)", "time": "2018"}
        path = {"facts": [{**fact, "numbers": {"probability": 0.25, "beta": 0.5}}]}
        case = CASES[1]
        explained = {
            **{name: getattr(case, name) for name in ("subject", "relation", "object", "time")},
            "unseen": ["Military (Comoros)"],
            "rank": 7,
            "paths": [path],
            "path_of_the_paper": {"place": 2, **path},
        }
        found = case_table(Measurements({}, case_study={"cases": [explained]}))
        query = "Military (Comoros) †, Use conventional military force, Armed Rebel (Comoros), 2018-10-26"
        assert cells(found, query) == [
            f"Armed Rebel (Comoros), {case.path[0].relation}, Military (Comoros), 2018-10-19 (printed as Investigate)",
            *("0.54", "7", "Armed Rebel (Comoros), Fight, Military (Comoros), 2018 (π 0.25, β 0.50)"),
            "2: π 0.25, β 0.50",
        ]
        assert len(found) == 7
        assert case_table(Measurements({})) == []

    def test_results_under_the_published_convention_are_beside_the_common_ones(self):
        row = result("cygnet/wiki-frozen", 0.2, published_convention={"metrics": {"mrr": 0.3}})
        older = {name: [result(name, 0.1)] for name in ("cygnet/wiki", "xerte/wiki", "tango_tucker/wiki", "titer/wiki")}
        older["titer/wiki"][0]["conventions"]["paper"] = {"mrr": 0.4}
        found = published_convention_table(Measurements({"cygnet/wiki-frozen": [row], **older}))
        words = "static filter, realistic ties, unreachable tied, frozen-at-train history"
        assert cells(found, "`cygnet`, copying from the training split only", "WIKI") == [
            *(words, "30.00", "20.00", "20.00", "33.89", "1")
        ]
        # Their conventions are among those that every result has.
        assert cells(found, "`tango_tucker`", "WIKI")[1:] == ["10.00", "10.00", "10.00", "50.43", "1"]
        assert cells(found, "`titer`, recipe `tuned`", "WIKI")[1:4] == ["40.00", "40.00", "10.00"]
        assert len(found) == 5


class TestRecipes:
    def test_stored_results_of_a_recipe_have_its_configuration(self, measured: Measurements):
        for training in recipes.trainings():
            changes = [*training.changes, f"training.seed={training.seed}"]
            expected = Config.load(find_configuration(training.configuration), overrides=changes)
            for row in measured.of(training.label):
                if row["seed"] == training.seed:
                    assert Config.from_dict(row["config"]) == expected, training.label

    @pytest.mark.real_data
    def test_the_queries_and_paths_of_the_case_study_are_facts_of_icews18(self, datasets_folder: Path):
        """Also the two whose printed relation is another one, with the next id."""
        dataset = load_dataset(datasets_folder / "ICEWS18")
        entities, relations = dataset.vocabulary.entities, dataset.vocabulary.relations
        known = set(dataset.test)
        for case in CASES:
            for fact in (case, *case.path):
                ids = entities.index(fact.subject), relations.index(fact.relation), entities.index(fact.object)
                assert (*ids, dataset.axis.step(fact.time)) in known
            for hop in case.path:
                assert not hop.printed or relations.index(hop.printed) == relations.index(hop.relation) + 1


class TestResults:
    def test_notes_have_the_label_of_their_result(self):
        rows = {
            "renet/wiki": [result("renet/wiki", 0.1, note="ran out of time")],
            "renet/x": [result("x", 1, note="y")],
        }
        assert notes(Measurements(rows)) == ["- renet/wiki: ran out of time"]

    def test_every_result_has_its_command_its_commit_and_its_cost(self):
        made = {"gpu_gigabytes": 4.52, "commit": "0123456789abcdef", "modified": True}
        older = result("titer/wiki", 0.6, recorded_in="fedcba9876543210")
        rows = {"renet/wiki": [result("renet/wiki", 0.5, **made)], "titer/wiki": [older]}
        found = commands(Measurements(rows))
        took = ["50.00", "a computer", "7", "4.5 GB", "`012345678+`", "`titer reproduce renet/wiki`"]
        assert cells(found, "renet/wiki, seed 0") == took
        assert cells(found, "titer/wiki, seed 0")[3:5] == ["–", "in `fedcba987`"]

    @pytest.mark.parametrize("folder", ["results", "trials", "other_questions", "small_world"])
    def test_every_result_file_says_where_it_comes_from(self, folder: str):
        paths = sorted((BENCHMARKS / folder).glob("*.json"))
        assert paths
        for path in paths:
            row = json.loads(path.read_text(encoding="utf-8"))
            commit = row.get("commit") or row["recorded_in"]
            assert re.fullmatch(r"[0-9a-f]{8,40}", commit), path.name
            assert re.fullmatch(r"[0-9a-f]{64}", row["dataset"]["checksum"]), path.name
            assert row["config"]["training"]["seed"] == row["seed"], path.name
            assert set(row["config"]) == {"model", "training"}, path.name
            assert row["command"].startswith(("titer ", "python ")), path.name
            assert row["hardware"], path.name
            assert {"titer", "python", "torch"} <= set(row["versions"]), path.name
            assert {"training", "testing"} <= set(row["seconds"]), path.name

    def test_results_without_calibration_are_named(self):
        calibrated = result("titer/yago", 0.2, calibration={"expected_calibration_error": 0.03, "temperature": 2.0})
        found = calibration_table(Measurements({"titer/yago": [calibrated, result("titer/yago", 0.2, 1)]}))
        assert cells(found, "`titer`, recipe `tuned`", "expected calibration error, %")[3] == "3.00"
        assert found[-1].endswith("have none: titer/yago, seed 1.")
        assert calibration_table(Measurements({"titer/yago": [calibrated]}))[-1].startswith("|")

    def test_a_group_of_queries_has_its_own_table(self):
        measured = results(titer__yago=[0.2])
        assert cells(model_table(measured), "`titer`, recipe `tuned`")[3] == "20.00"
        assert cells(model_table(measured, "unseen"), "`titer`, recipe `tuned`")[3] == "10.00"

    def test_every_published_system_has_a_source(self, measured: Measurements):
        noted = measured.notes["other_systems"]
        for system in noted["systems"]:
            assert re.search(r"20\d\d", noted["sources"][system["source"]])
            assert system["code"] in ("yes", "no", "unknown")

    def test_the_best_published_result_may_need_public_code(self, measured: Measurements):
        names = [(best(measured, "ICEWS18", with_code=code) or {})["name"] for code in (False, True)]
        assert names == ["CID-TKG", "NADEx"]

    def test_the_other_split_of_icews14_has_its_own_table(self, measured: Measurements):
        ours = results(titer__icews14_re_gcn=[0.4], recurrency__icews14_re_gcn=[0.45], titer__icews14=[0.1])
        found = second_icews14_table(Measurements(ours.rows, notes=measured.notes))
        assert [line.split(" | ")[0] for line in found[2:5]] == ["| `recurrency`", "| `titer`", "| CID-TKG"]
        assert cells(found, "`titer`")[0] == "40.00"

    def test_later_systems_are_beside_their_published_figures(self, measured: Measurements):
        ours = results(tirgn__icews18=[0.3]).rows
        found = later_systems_table(Measurements(ours, notes=measured.notes))
        assert cells(found, "`tirgn`", "ICEWS18") == ["30.00", "33.70", "-3.70", "Gastinger 2024"]
        assert len(found) == 3

    def test_trials_name_the_settings_that_were_not_kept(self):
        kept, trial = result("tirgn/icews18", 0.3), result("tirgn/icews18-6-epochs", 0.2)
        for row, epochs in ((kept, 12), (trial, 6)):
            row["config"]["training"]["epochs"] = epochs
        trials = {("tirgn/icews18-6-epochs", "valid"): [trial], ("tirgn/icews18-6-epochs", "test"): [trial]}
        found = tried_table(Measurements({"tirgn/icews18": [kept]}, trials=trials))
        assert cells(found, "`tirgn`", "ICEWS18", "`training.epochs=6`")[0] == "20.00"
        assert len(found) == 3


class TestOtherQuestions:
    def test_every_kind_of_knowledge_has_a_row_and_a_bar(self):
        known = results(icews14__both_directions=[0.2]).rows
        measured = Measurements(results(path_mixture__icews14=[0.1, 0.1]).rows, other_questions=known)
        measured.rows["path_mixture/icews14"] = measured.rows.pop("path-mixture/icews14")
        found = other_questions_table(measured)
        assert cells(found, "ICEWS14", "nothing")[0] == "10.00 ± 0.00"
        assert cells(found, "", "both directions")[0] == "20.00"
        assert found[-1].startswith("![")
        assert "ICEWS14, both directions" in words_of(other_questions_picture(measured))
        assert other_questions_table(Measurements({})) == []


def words_of(picture: str) -> list[str]:
    svg = ElementTree.fromstring(picture)
    assert svg.tag.endswith("svg")
    return [text for element in svg.iter() if element.tag.endswith("text") and (text := element.text)]


class TestPictures:
    def test_the_inductive_picture_has_every_model_titer_without_the_mean_and_the_line_of_the_random_walk(self):
        measured = results(
            titer__icews14=[0.2, 0.4],
            titer__icews14_no_inductive_mean=[0.1],
            cygnet__icews14=[0.1],
            random_walk__icews14=[0.02],
            titer__yago=[0.9],
        )
        measured.rows["random_walk/icews14"] = measured.rows.pop("random-walk/icews14")
        picture = inductive_picture(measured)
        words = words_of(picture)
        assert words[:6] == ["cygnet", "5.0", "20.0", "titer tuned", "15.0", "60.0"]
        assert words[6:12] == ["titer tuned, seed 0", "10.0", "40.0", "titer tuned, seed 0, w/o IM", "5.0", "20.0"]
        assert {"random walk: MRR 1.0", "random walk: Hits@10 4.0"} <= set(words)
        bars = [
            float(element.get("width", "nan"))
            for element in ElementTree.fromstring(picture).iter()
            if element.tag.endswith("rect") and element.get("height") == "12" and element.get("y") != "14"
        ]
        assert bars[2] == pytest.approx(3 * bars[0], rel=1e-2)

    def test_the_time_picture_has_the_papers_bars_beside_ours(self):
        words = words_of(time_picture(results(titer__wiki=[0.1], titer__wiki_static=[0.05])))
        assert words[words.index("WIKI, published") + 1 :][:2] == ["73.0", "61.6"]
        assert words[words.index("WIKI, tuned") + 1 :][:2] == ["20.0", "10.0"]
        assert {"temporal", "static"} <= set(words)


def test_a_recipe_with_a_result_file_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recipes, "RESULTS", tmp_path)
    one, other = recipes.Training("icews14", "released", 3), recipes.Training("icews14", "paper", 3, "-walk-01-a")
    (tmp_path / "titer-icews14-released-seed3.json").touch()
    assert one.has_result
    assert not other.has_result
    (tmp_path / "titer-icews14-walk-01-a-seed3.json").touch()
    assert other.has_result
