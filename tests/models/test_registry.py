import re
from pathlib import Path

import pytest

from titer.errors import UnknownNameError
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
