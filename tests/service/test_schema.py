"""Whatever the schema allows, and much that it does not: never an error of the server's own."""

from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from pydantic import SecretStr
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from titer.data.dataset import Dataset
from titer.service.app import create_app
from titer.service.knowledge import Knowledge
from titer.service.settings import Settings
from titer.training.config import Config
from titer.training.train import train

TOKEN = "a secret for tests"
NO_HEALTH_CHECKS = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
# That a form is right does not make a name known, so a refusal (422) is no failure.
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
pytestmark = [pytest.mark.xdist_group("schema")]


@pytest.fixture(scope="module")
def api(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory):
    folder: Path = tmp_path_factory.mktemp("schema")
    run = train(world_data, Config.from_dict({}, "recurrency"), folder / "run")
    knowledge = Knowledge(run, store=f"sqlite:///{folder / 'facts.db'}", device="cpu")
    app = create_app(knowledge, Settings(token=SecretStr(TOKEN)))
    return schemathesis.openapi.from_asgi("/openapi.json", app, headers={"Authorization": f"Bearer {TOKEN}"})


def test_no_request_is_answered_by_an_error_of_the_server(api):
    operations = [result.ok() for result in api.get_all_operations()]
    assert len(operations) >= 9
    for operation in operations:

        @settings(max_examples=25, deadline=None, suppress_health_check=NO_HEALTH_CHECKS, database=None)
        @given(case=operation.as_strategy())
        def ask(case) -> None:
            response = case.call(headers={"Authorization": f"Bearer {TOKEN}"})
            assert response.status_code < 500, (case.as_curl_command(), response.text)
            case.validate_response(response, checks=CHECKS)

        ask()
