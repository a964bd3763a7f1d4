"""The API reference at /docs."""

import re
import sys
from dataclasses import is_dataclass
from html import unescape
from typing import Any

import pytest

from titer.forecasting.forecaster import Forecaster
from titer.service.app import create_app
from titer.service.documentation import documentation
from titer.service.results import RESULTS
from titer.service.settings import Settings


@pytest.fixture(scope="module")
def openapi(shared: Forecaster) -> dict[str, Any]:
    return create_app(shared, Settings()).openapi()


def test_every_result_class_stores_its_schema(openapi: dict[str, Any]):
    described = {
        value
        for module in list(sys.modules.values())
        if module.__name__.startswith("titer.")
        for value in vars(module).values()
        if isinstance(value, type) and is_dataclass(value) and "__pydantic_config__" in vars(value)
    }
    assert described == set(RESULTS)
    assert all("__pydantic_core_schema__" in vars(result) for result in RESULTS)
    assert {result.__name__ for result in RESULTS} <= {name.split("-")[0] for name in openapi["components"]["schemas"]}


def keys_under(page: str, heading: str) -> list[set[str]]:
    """The keys of the tables that follow a heading."""
    parts = re.split(r"<h[23]>", page)
    bodies = [part for part in parts if unescape(re.split(r"</h[23]>", part)[0]) == heading]
    return [set(re.findall(r"<tr><td[^>]*>([^<]*)</td>", body)) for body in bodies]


def refers_to(value: Any) -> set[str]:
    return set(re.findall(r"#/components/schemas/([\w.-]+)", str(value)))


@pytest.mark.slow
def test_every_request_body_is_shown_with_all_its_keys(openapi: dict[str, Any]):
    page, schemas = documentation(openapi), openapi["components"]["schemas"]
    bodies = {
        name
        for methods in openapi["paths"].values()
        for route in methods.values()
        for name in refers_to(route.get("requestBody"))
    }
    assert {"OneIn", "ManyIn", "ExplainIn", "WhatIfIn", "PictureIn", "FactsIn", "RemovalIn", "WhenIn"} <= bodies
    for name in bodies:
        assert set(schemas[name]["properties"]) in keys_under(page, f"Request: {name}"), name


def test_parameters_in_the_address_are_shown_with_type_and_meaning(openapi: dict[str, Any]):
    rows = re.findall(r"<tr>(.*?)</tr>", documentation(openapi))
    cells = [[unescape(cell) for cell in re.findall(r"<td[^>]*>([^<]*)</td>", row)] for row in rows]
    meaning = "lift lists what is most unusual: probability over the usual rate. Default: probability."
    assert ["sort", "", "probability or lift", meaning] in cells
    for part in ("subject", "relation", "object"):
        assert [part, "", "string or null", f"Only facts with this {part}."] in cells
    assert ["start", "required", "string", "One of the starts of /v1/past-forecasts."] in cells
    assert ["since", "", "integer", "Only facts with greater numbers. Default: 0."] in cells
    assert not [cell for row in cells for cell in row if cell.startswith("{")]


def test_every_parameter_and_every_field_has_a_description(openapi: dict[str, Any]):
    routes = {path: route for path, methods in openapi["paths"].items() for route in methods.values()}
    parameters = [(path, one) for path, route in routes.items() for one in route.get("parameters", [])]
    assert [(path, one["name"]) for path, one in parameters if not one.get("description")] == []
    fields = {
        f"{name}.{key}": field
        for name, schema in openapi["components"]["schemas"].items()
        for key, field in schema.get("properties", {}).items()
    }
    assert [name for name, field in fields.items() if not field.get("description")] == []


def test_every_type_that_is_mentioned_is_shown(openapi: dict[str, Any]):
    page, schemas = documentation(openapi), openapi["components"]["schemas"]
    for name in {"QuestionIn", "FactIn", "ProblemOut"}:
        assert set(schemas[name]["properties"]) in keys_under(page, name)
    headings = set(re.findall(r"<h3>(?:Request: |Response: )?([^<]+)</h3>", page)) | {"ErrorOut"}
    used = {one.removesuffix("-Input").removesuffix("-Output") for one in refers_to(openapi)}
    assert used - {"HTTPValidationError", "ValidationError"} <= headings
