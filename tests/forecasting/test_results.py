"""Results are plain values: they turn into JSON, and a web framework can describe them."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.forecasting.what_if import WhatIf


def as_json(kind: Any, value: Any) -> Any:
    return json.loads(TypeAdapter(kind).dump_json(value, by_alias=True))


def results(forecaster: Forecaster) -> list[Any]:
    question = Question("Caldera", "hold talks with", None, "2023-07-01")
    change = {
        "without": ["Caldera | hold talks with | Drovia | 2023-06-28"],
        "with_": ["Newland | accuse | Caldera | 2023-06-29"],
    }
    (unanswered,) = forecaster.ask_many([Question("Caldora", "hold talks with", None, 7)])
    return [
        forecaster.ask("Caldera", "hold talks with", at="2023-07-01", explain=3),
        forecaster.what_if(question, **change, explain=2),
        unanswered,
    ]


def test_a_framework_writes_the_same_json_as_to_dict(forecaster: Forecaster):
    for result in results(forecaster):
        assert as_json(type(result), result) == json.loads(json.dumps(result.to_dict()))
    assert as_json(list[Forecast | Unanswered], results(forecaster)[::2]) == [
        json.loads(json.dumps(result.to_dict())) for result in results(forecaster)[::2]
    ]


@pytest.mark.parametrize("kind", [Forecast, Unanswered, WhatIf])
def test_every_field_is_described_and_always_there(kind: type):
    schema = TypeAdapter(kind).json_schema(mode="serialization", by_alias=True)
    for name, part in {kind.__name__: schema, **schema.get("$defs", {})}.items():
        assert part["description"]
        assert set(part["required"]) == set(part["properties"])
        for field, about in part["properties"].items():
            assert about.get("description"), f"{name}.{field}"


def test_an_unanswered_question_keeps_its_exception(forecaster: Forecaster):
    unanswered = results(forecaster)[2]
    assert "Caldera" in unanswered.suggestions
    assert str(unanswered).startswith("Caldora — hold talks with — ?, 7\nerror: ")
    assert unanswered.error in str(unanswered.exception).replace("\n", ". ")
