"""The tables of the paper, ours beside the published ones, and what else is shown beside them."""

from benchmarks.made_results import cells, result, results
from published_tables import CASES
from rendering.case_study import case_table
from rendering.conventions import published_convention_table
from rendering.files import Measurements, Row
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
from rendering.walk import epochs_table, order_table, seeds_of_the_text, walk_table


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
