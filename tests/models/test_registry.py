import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from titer.cli.main import app
from titer.errors import PluginError, UnknownNameError
from titer.models.recurrency import Recurrency
from titer.models.registry import BUILT_IN, model_class, model_names, register


def test_every_built_in_name_leads_to_a_model_of_that_name():
    for name in BUILT_IN:
        assert model_class(name).name == name
    assert set(BUILT_IN) <= set(model_names())


def test_every_built_in_model_is_held_to_the_common_cases():
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("test_*.py"))
    held = re.findall(r'^class \w+\((?:ModelCase|Test\w+)\):\n    name = "(\w+)"$', tests, flags=re.MULTILINE)
    assert set(held) >= set(BUILT_IN)


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="recurrency"):
        model_class("recurency")


def test_two_models_cannot_share_a_name():
    class Impostor(Recurrency):
        pass

    with pytest.raises(ValueError, match="already belongs"):
        register(Impostor)


def installed(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> None:
    """Install a package that brings a model by the name of newcomer."""
    about = folder / "newcomer-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: newcomer\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[titer.models]\nnewcomer = newcomer_model:Newcomer\n")
    (folder / "newcomer_model.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "newcomer_model", raising=False)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("Newcomer = 3", "no subclass of titer.Model"),
        ("from titer import Model\nclass Newcomer(Model): ...", "needs the line name = 'newcomer'"),
        ("from titer import Model\nclass Newcomer(Model):\n  name = 'newcomer'", "lacks the method score"),
    ],
)
def test_a_package_with_a_broken_model_is_told_what_to_mend_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, reason: str
):
    installed(monkeypatch, tmp_path, code)
    with pytest.raises(PluginError, match=reason):
        model_class("newcomer")
    listed = CliRunner().invoke(app, ["models"], catch_exceptions=False)
    assert reason in listed.stderr
    assert all(f"{name} " in listed.stdout for name in BUILT_IN)
    assert "newcomer" not in listed.stdout
