"""The commands, from data to forecast."""

import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from commands import invoke, titer, titer_process
from titer import __version__
from titer.cli.main import app
from titer.errors import NoEvidenceError, TiterError
from titer.models.registry import BUILT_IN


@pytest.fixture(scope="module")
def runs(recurrency_run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    shutil.copytree(recurrency_run, folder / "recurrency")
    titer(
        "train", "small-world", "--model", "random_walk", "--out", folder / "random_walk", "--set", "model.num_walks=50"
    )
    for name in ("recurrency", "random_walk"):
        titer("evaluate", folder / name)
    return {path.name: path for path in folder.iterdir()}


@pytest.mark.parametrize("words", [(), ("data",), ("facts",)])
def test_the_list_of_commands_has_whole_sentences(words: tuple[str, ...]):
    assert "..." not in titer(*words, "--help").partition("Commands:")[2]


def test_help_does_not_import_torch():
    code = "import sys; from titer.cli.main import app; app(['--help'], standalone_mode=False)"
    code += "; print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "False"
    assert all(command in shown for command in ("data", "train", "evaluate", "forecast", "compare"))


def commands(command: Any, name: str = "titer") -> Iterator[tuple[str, Any]]:
    """Yield every command below a group, with its full name."""
    for part, child in getattr(command, "commands", {}).items():
        yield from commands(child, f"{name} {part}")
    if not hasattr(command, "commands"):
        yield name, command


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_describes_a_command_and_all_that_it_takes(name: str):
    command = COMMANDS[name]
    summary = command.help.partition("\n\n")[0]
    assert re.fullmatch(r"[A-Z].*\.", summary, re.DOTALL), summary
    for parameter in command.params:
        assert parameter.help, parameter.name
    assert "…" not in titer(*name.split()[1:], "--help")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_named_after_its_metavar(name: str):
    # typer 0.27 would do so if they differ in case alone: --CONFIG instead of --config.
    for parameter, declared in inspect.signature(COMMANDS[name].callback).parameters.items():
        for option in getattr(declared.annotation, "__metadata__", ()):
            # typer keeps the first name as the default, which annotations do not have.
            if isinstance(option, typer.models.OptionInfo) and not str(option.default).startswith("--"):
                assert (option.metavar or "").lower().replace("-", "_") != parameter


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_in_help_can_be_given(name: str):
    for line in (COMMANDS[name].epilog or "").splitlines()[2:]:
        words = [word for word in shlex.split(line) if not word.startswith("TITER_")]
        assert " ".join(words).startswith(f"{name} "), line
        assert COMMANDS[name].make_context(name, words[len(name.split()) :]).params


def test_python_m_titer_is_the_command():
    shown = subprocess.run([sys.executable, "-m", "titer", "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == f"titer {__version__}"


def test_models_are_listed_each_with_one_sentence():
    rows = json.loads(titer("models", "--json"))
    assert {row["model"] for row in rows} >= set(BUILT_IN)
    for row in rows:
        if row["model"] in BUILT_IN:
            assert re.fullmatch(r"[A-Z].*\.", row["description"]), row["model"]


def test_evaluate_prints_a_table_and_stores_the_result(runs: dict[str, Path]):
    shown = titer("evaluate", runs["recurrency"])
    assert "time-aware filter, realistic ties, unreachable tied, rolling history" in shown
    assert re.search(r"all +894 ", shown)
    assert "convention 'paper'" in shown
    found = json.loads(titer("evaluate", runs["recurrency"], "--convention", "paper", "--json"))
    assert found["protocol"]["convention"] == "paper"
    stored = json.loads((runs["recurrency"] / "metrics.json").read_text())["evaluations"]
    assert {(r["split"], r["protocol"]["convention"]) for r in stored} >= {("valid", "realistic"), ("test", "paper")}


def test_a_single_setting_of_the_protocol_can_be_changed(runs: dict[str, Path]):
    found = json.loads(titer("evaluate", runs["random_walk"], "--filter", "raw", "--past", "frozen-at-train", "--json"))
    assert found["protocol"]["convention"] is None
    assert (found["protocol"]["filter"], found["protocol"]["past"]) == ("raw", "frozen-at-train")


def test_compare_shows_runs_side_by_side(runs: dict[str, Path]):
    shown = titer("compare", runs["recurrency"], runs["random_walk"])
    assert "recurrency" in shown
    assert "random_walk" in shown
    assert len({row["dataset"]["checksum"] for row in json.loads(titer("compare", *runs.values(), "--json"))}) == 1


def test_compare_warns_of_different_data(runs: dict[str, Path], tmp_path: Path):
    table = tmp_path / "facts.csv"
    table.write_text(
        "subject,relation,object,time\n" + "".join(f"a,r,b{i % 3},2020-01-{i:02d}\n" for i in range(1, 29))
    )
    titer("data", "import", table, "--out", tmp_path / "data")
    titer("train", tmp_path / "data", "--model", "recurrency", "--out", tmp_path / "run")
    titer("evaluate", tmp_path / "run")
    assert "cannot be compared" in invoke("compare", tmp_path / "run", runs["recurrency"]).output


def test_compare_prints_the_papers_main_table_from_runs_and_from_results(runs: dict[str, Path]):
    shown = titer("compare", "--paper", *runs.values())
    assert "small-world" in shown
    assert re.search(r"recurrency +\d+\.\d\d +– ", shown)
    results = Path(__file__).parents[2] / "benchmarks" / "results"
    shown = titer("compare", "--paper", results)
    assert re.search(r"ICEWS14 39be55df\nmodel +MRR +paper .*\n.*\n(.*\n)*?titer +\d\d\.\d\d ± \d\.\d\d +41.73 ", shown)
    found = json.loads(titer("compare", "--paper", results, "--json"))
    (row,) = (row for row in found if (row["model"], row["dataset"]) == ("titer", "ICEWS18"))
    assert row["paper"]["mrr"] == 29.98
    assert len(row["runs"]) == len(row["ours"]["mrr"])
    one = results / "titer-icews18-seed0.json"
    assert f"{row['ours']['mrr'][0]:.2f}" in titer("compare", one)


def test_compare_names_the_command_for_missing_results(recurrency_run: Path):
    with pytest.raises(TiterError, match="run: titer evaluate"):
        titer("compare", recurrency_run)


@pytest.mark.slow
def test_faithfulness_measures_evidence_and_planted_causes(runs: dict[str, Path]):
    shown = titer("faithfulness", runs["recurrency"], runs["random_walk"], "--questions", "20").splitlines()
    taken_out, planted = (re.split("  +", line) for line in shown if line.startswith("run  "))
    assert taken_out[2:6] == ["compared", "MRR", "MRR without evidence", "MRR without random"]
    kinds = ["chain", "consequence", "latecomer", "recurring"]
    assert planted[2:] == [*(f"MRR {kind}" for kind in kinds), "ranked first", "causes found"]
    assert [line.split()[1] for line in shown if line.startswith(str(runs["recurrency"].parent))] == [
        "recurrency",
        "random_walk",
    ] * 2
    words = ["faithfulness", runs["recurrency"], "--questions", "20", "--split", "valid", "--json"]
    (found,) = json.loads(titer(*words))
    assert found["without_evidence"]["mrr"] < found["whole"]["mrr"]
    recurring = found["planted"]["recurring"]
    assert 0 < recurring["causes_found"] <= recurring["ranked_first"] <= recurring["metrics"]["queries"]


@pytest.mark.slow
def test_faithfulness_skips_runs_without_evidence(runs: dict[str, Path], tmp_path: Path):
    silent, small = tmp_path / "silent", ("--set", "training.epochs=1", "--set", "model.dim=4")
    titer("train", "small-world", "--model", "ttranse", "--out", silent, *small)
    result = invoke("faithfulness", silent, runs["recurrency"], "--questions", "20", "--json")
    assert [row["model"] for row in json.loads(result.stdout)] == ["recurrency"]
    assert f"{silent} is skipped: ttranse has no evidence to show" in result.stderr
    with pytest.raises(NoEvidenceError, match="none of these runs"):
        titer("faithfulness", silent, silent)


@pytest.mark.slow
def test_faithfulness_has_no_causes_for_other_data(tmp_path: Path):
    table = tmp_path / "events.csv"
    table.write_text("subject,relation,object,time\n" + "".join(f"a,meet,b,2020-01-0{day}\n" for day in range(1, 10)))
    titer("data", "import", table, "--out", tmp_path / "events")
    titer("train", tmp_path / "events", "--out", tmp_path / "run")
    (found,) = json.loads(titer("faithfulness", tmp_path / "run", "--json"))
    assert found["planted"] is None


def test_forecast_prints_names_dates_and_evidence(runs: dict[str, Path]):
    shown = titer(
        "forecast", runs["recurrency"], "aldoria", "hold talks", "--at", "2023-07-01", "--top", "3", "--explain"
    )
    assert shown.startswith("Aldoria — hold talks with — ?, 2023-07-01")
    assert re.search(r"1\. (Brenmark|Drovia)", shown)
    assert re.search(r"\d+%  Aldoria held talks with \w+ on \d+ Jun 2023, \d+ days? before", shown)
    found = json.loads(titer("forecast", runs["recurrency"], "?", "brief", "Army of Aldoria", "--json"))
    assert found["answers"][0]["entity"] == "President of Aldoria"


@pytest.mark.slow
@pytest.mark.slow
def test_an_error_is_one_line_on_standard_error_and_a_nonzero_exit_code(runs: dict[str, Path], tmp_path: Path):
    for words, message in (
        (("forecast", runs["recurrency"], "Aldorai", "accuse"), "did you mean 'Aldoria'"),
        (
            ("train", "small-world", "--out", tmp_path / "x", "--set", "training.epoch=2"),
            "did you mean 'training.epochs'",
        ),
        (("train", "smal-world", "--out", tmp_path / "x"), "small-world"),
        (("evaluate", tmp_path), "not a run directory"),
        (
            ("train", "small-world", "--model", "recurrency", "--out", runs["recurrency"] / "config.toml" / "x"),
            "config.toml",
        ),
        (("evaluate", runs["recurrency"], "--ties", "lucky"), "unknown --ties 'lucky'; choose from"),
    ):
        result = titer_process(*words)
        assert result.returncode == 1
        assert result.stderr.startswith("error: ") or "\nerror: " in result.stderr
        assert message in result.stderr
        assert "Traceback" not in result.stderr
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
@pytest.mark.slow
def test_training_is_not_announced_before_the_run_directory_is_checked(runs: dict[str, Path]):
    result = titer_process("train", "small-world", "--model", "recurrency", "--out", runs["recurrency"])
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: {runs['recurrency']} already holds a run")


def test_the_event_model_is_not_announced_before_the_run_directory_is_checked(tmp_path: Path):
    result = invoke("serve", tmp_path)
    assert isinstance(result.exception, TiterError)
    assert result.stderr == ""


@pytest.mark.slow
@pytest.mark.slow
def test_output_into_a_pipe_has_no_progress_bars_and_no_colours(runs: dict[str, Path]):
    result = titer_process("evaluate", runs["recurrency"])
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
