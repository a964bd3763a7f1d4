import re
import sys
from pathlib import Path

import pytest

from commands import invoke
from titer.errors import PluginError, UnknownNameError
from titer.models.recurrency import Recurrency
from titer.models.registry import BUILT_IN, model_class, model_names, register


def test_every_built_in_name_leads_to_a_model_of_that_name():
    for name in BUILT_IN:
        assert model_class(name).name == name
    assert set(BUILT_IN) <= set(model_names())


def test_every_built_in_model_has_the_common_tests():
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("test_*.py"))
    tested = re.findall(r'^class \w+\((?:ModelCase|Test\w+)\):\n    name = "(\w+)"$', tests, flags=re.MULTILINE)
    assert set(tested) >= set(BUILT_IN)


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"unknown model 'recurency'") as error:
        model_class("recurency")
    assert error.value.suggestions[0] == "recurrency"


def test_two_models_cannot_share_a_name():
    class Impostor(Recurrency):
        pass

    with pytest.raises(ValueError, match="already belongs"):
        register(Impostor)


def installed(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> None:
    """Install a package that declares a model of the name ``added``."""
    about = folder / "added-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: added\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[titer.models]\nadded = added_model:Added\n")
    (folder / "added_model.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "added_model", raising=False)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("Added = 3", "is not a subclass of titer.Model"),
        ("from titer import Model\nclass Added(Model): ...", "must set name = 'added'"),
        ("from titer import Model\nclass Added(Model):\n  name = 'added'", "does not implement score"),
    ],
)
def test_a_package_with_a_broken_model_is_reported_and_hides_no_other_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, reason: str
):
    installed(monkeypatch, tmp_path, code)
    with pytest.raises(PluginError, match=reason):
        model_class("added")
    listed = invoke("models")
    assert reason in listed.stderr
    assert all(f"{name} " in listed.stdout for name in BUILT_IN)
    assert "added" not in listed.stdout
