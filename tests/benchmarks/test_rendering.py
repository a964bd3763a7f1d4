"""Documents show results of files only, ours beside the published ones."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import recipes
import render
from benchmarks.made_results import cells, result, results
from published_tables import CASES
from rendering.blocks import BLOCKS, NONE, with_blocks, without_blocks
from rendering.comparison import best, later_systems_table, second_icews14_table, tried_table
from rendering.conventions import other_questions_table
from rendering.files import BENCHMARKS, Measurements
from rendering.models import calibration_table, commands, model_table, notes
from rendering.pictures import inductive_picture, other_questions_picture, time_picture
from rendering.values import SOURCES, known_figures, shown_figures
from titer.data.load import load_dataset
from titer.runs.reproduce import find_configuration
from titer.training.config import Config

DOCUMENTS = render.documents()


class TestDocuments:
    def test_all_documents_and_pictures_are_up_to_date(self, capsys: pytest.CaptureFixture[str]):
        assert render.main(["--check"]) == 0, capsys.readouterr().out

    @pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(render.ROOT)))
    def test_every_figure_of_a_document_is_in_a_file(self, path: Path, measured: Measurements):
        shown = shown_figures(without_blocks(path.read_text(encoding="utf-8")))
        assert set(shown) <= known_figures(measured, path.relative_to(render.ROOT).as_posix())

    def test_figures_are_numbers_that_look_like_metrics(self):
        assert set(
            shown_figures("an MRR of 99.87, 48.19 ± 0.08, `12.34`, 1.67 s, version 2.11.0, Python 3.11 to 3.13, 42.14.")
        ) == {*("99.87", "48.19", "42.14")}

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
