"""The code in the documents does what they say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from titer.cli.main import app
from titer.data.dataset import Dataset
from titer.forecasting.forecaster import Forecaster
from titer.runs.train import train
from titer.service.app import create_app
from titer.service.settings import Settings
from titer.training.config import Config

ROOT = Path(__file__).parents[1]


def python_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL)


def test_facts_are_added_as_the_page_shows(world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    train(world_data, Config.load(model="recurrency"), tmp_path / "runs" / "events")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(python_blocks("docs/facts.md")[0], names)
    assert names["forecast"].time == "2023-07-03"
    assert names["forecast"].answers[0].entity == "Aldoria"


def test_the_code_in_the_page_about_asking_works(
    world_data: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run = train(world_data, Config.load(model="recurrency"), tmp_path / "run")
    names: dict[str, Any] = {"run": run.path}
    for block in python_blocks("docs/forecasting.md"):
        exec(block, names)
    shown = capsys.readouterr().out
    assert "Caldera invited" in shown
    assert "? — brief — Army of Aldoria, 2023-06-01" in shown
    assert names["found"].new_entities == ("Newland",)
    assert names["table"].num_rows == 20


def test_the_page_about_the_service_shows_what_it_takes_and_gives(world_data: Dataset, tmp_path: Path):
    run = train(world_data, Config.load(model="recurrency"), tmp_path / "run")
    page = (ROOT / "docs/service.md").read_text(encoding="utf-8")
    examples = re.findall(r"```http\n(\w+) (\S+)\n(.*?)```\n\n```json\n(.*?)```", page, flags=re.DOTALL)
    service = create_app(Forecaster.load(run, "cpu"), Settings(token=SecretStr("secret")))
    with TestClient(service, headers={"Authorization": "Bearer secret"}) as client:
        for method, path, body, shown in examples:
            given = client.request(method, path, content=body, headers={"Content-Type": "application/json"}).json()
            assert form(given) == form(json.loads(shown)), path
    assert len(examples) >= 8
    for path in service.openapi()["paths"]:
        assert path in page
    for name, setting in Settings.model_fields.items():
        default = "none" if setting.default is None else setting.default
        assert f"| `TITER_{name.upper()}` | {default} |" in page


def form(value: Any) -> Any:
    """The keys of an answer, however deep."""
    if isinstance(value, dict):
        return {key: form(part) for key, part in value.items()}
    # Models differ in what speaks for an answer, not in how it is told.
    return form(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else None


def test_the_readme_shows_the_two_commands_and_every_verb():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first_screen = "\n".join(readme.splitlines()[:25])
    assert "make demo" in first_screen
    assert "make test" in first_screen
    verbs = [str(command.name) for command in app.registered_commands]
    for verb in ("data import", "data info", "data download", "facts add", *verbs):
        assert f"titer {verb}" in readme


def test_no_placeholder_is_left_in_the_documents():
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]:
        assert not re.search(r"@[A-Z_]+@", document.read_text(encoding="utf-8")), document


def test_no_link_in_the_documents_leads_nowhere():
    documents = [path for path in ROOT.rglob("*.md") if not {".venv", "build"} & set(path.relative_to(ROOT).parts)]
    for document in documents:
        for link in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / link).exists(), f"{document}: {link}"
