"""Phrases of a dataset: how the facts of its relations are written as sentences."""

from pathlib import Path

import pytest

import titer
from commands import invoke
from titer.data.dataset_folder import open_dataset
from titer.forecasting.wording.sentences import sentence

ROWS = "".join(f"Police,Riots/Protests,{'AB'[day % 2]},2020-01-{day:02d}\n" for day in range(1, 29))


@pytest.fixture
def events(tmp_path: Path) -> Path:
    (tmp_path / "events.csv").write_text(f"subject,relation,object,time\n{ROWS}")
    return tmp_path / "events.csv"


def test_evidence_is_worded_with_the_phrases_of_the_import(events: Path, tmp_path: Path):
    result = invoke(
        "data", "import", events, "--out", tmp_path / "data", "--phrase", "Riots/Protests=fought {} in the streets"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    dataset = open_dataset(tmp_path / "data")
    assert dataset.mapping is not None
    assert dataset.mapping.words()[-2:] == ["--phrase", "Riots/Protests=fought {} in the streets"]
    titer.train(dataset, model="recurrency", out=tmp_path / "run")
    found = titer.Forecaster.load(tmp_path / "run").ask("Police", "Riots/Protests", explain=1)
    assert found.answers[0].reasons[0].text.startswith("Police fought A in the streets on 28 Jan 2020")


def test_a_phrase_of_a_dataset_goes_before_a_known_one_and_the_object_follows():
    assert sentence("Ada", "accuse", "Ben") == "Ada accused Ben"
    assert sentence("Ada", "accuse", "Ben", {"accuse": "pointed at"}) == "Ada pointed at Ben"
    assert sentence("Ada", "riot", "Ben", {"accuse": "pointed at"}) == "Ada — riot — Ben"


def test_a_phrase_of_an_unknown_relation_is_a_warning(events: Path):
    with pytest.warns(UserWarning, match="no relation 'Riots', so its phrase is not used"):
        titer.import_dataset(events, phrases={"Riots": "rioted against"})
