"""The routes to explore the known facts, against counts over all rows."""

from collections import Counter
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from titer.data.dataset import Dataset
from titer.forecasting.forecaster import Forecaster
from titer.service.app import create_app
from titer.service.settings import Settings

Rows = list[tuple[str, str, str, int]]


@pytest.fixture(scope="module")
def client(shared: Forecaster) -> Iterator[TestClient]:
    with TestClient(create_app(shared, Settings(token=None))) as client:
        yield client


@pytest.fixture(scope="module")
def rows(world_data: Dataset) -> Rows:
    """All facts in names."""
    names, facts = world_data.vocabulary, world_data.facts
    columns = (facts.subject, facts.relation, facts.object, facts.time)
    return [
        (names.entities[s], names.relations[r], names.entities[o], int(t))
        for s, r, o, t in zip(*(column.tolist() for column in columns), strict=True)
    ]


def counted(found: list[dict[str, object]]) -> dict[object, object]:
    return {one["name"]: one["facts"] for one in found}


def test_an_entity_is_counted_as_its_rows_are(client: TestClient, rows: Rows):
    for name in ("Aldoria", "President of Aldoria"):
        found = client.get("/v1/entity", params={"name": name, "limit": 50}).json()
        mine = [row for row in rows if name in (row[0], row[2])]
        assert found["facts"] == len(mine) == sum(bar["facts"] for bar in found["timeline"])
        assert counted(found["does"]) == Counter(r for s, r, _, _ in mine if s == name)
        assert counted(found["receives"]) == Counter(r for _, r, o, _ in mine if o == name)
        partners = Counter(o if s == name else s for s, _, o, _ in mine if s != o)
        assert [one["facts"] for one in found["partners"]] == sorted(partners.values(), reverse=True)[:50]
        assert all(partners[one["name"]] == one["facts"] for one in found["partners"])


def test_a_relation_is_counted_as_its_rows_are(client: TestClient, rows: Rows):
    found = client.get("/v1/relation", params={"name": "hold talks with", "limit": 50}).json()
    mine = [row for row in rows if row[1] == "hold talks with"]
    assert found["facts"] == len(mine) == sum(bar["facts"] for bar in found["timeline"])
    assert counted(found["subjects"]) == Counter(row[0] for row in mine)
    assert counted(found["objects"]) == Counter(row[2] for row in mine)
    pairs = Counter((row[0], row[2]) for row in mine)
    assert all(pairs[one["subject"], one["object"]] == one["facts"] for one in found["pairs"])
    assert [one["facts"] for one in found["pairs"]] == sorted(pairs.values(), reverse=True)[:50]


def test_the_timeline_covers_all_time_steps_in_equal_parts(client: TestClient, rows: Rows, world_data: Dataset):
    found = client.get("/v1/entity", params={"name": "Aldoria"}).json()
    span = max(row[3] for row in rows) + 1
    steps = -(-span // 60)
    assert len(found["timeline"]) == -(-span // steps)
    assert found["each"] == world_data.axis.duration(steps)
    assert found["last_bar"] == world_data.axis.duration((span - 1) % steps + 1)
    mine = Counter(row[3] // steps for row in rows if "Aldoria" in (row[0], row[2]))
    assert [bar["facts"] for bar in found["timeline"]] == [mine[i] for i in range(len(found["timeline"]))]
    assert [bar["start"] for bar in found["timeline"]] == [world_data.axis.label(i) for i in range(0, span, steps)]


def test_names_are_completed_with_the_number_of_their_facts(client: TestClient, rows: Rows):
    occurs = Counter(name for s, _, o, _ in rows for name in {s, o})
    for typed in ("", "aldo", "president"):
        found = client.get("/v1/names", params={"kind": "entity", "q": typed, "limit": 7}).json()["names"]
        assert 0 < len(found) <= 7
        assert all(occurs[one["name"]] == one["facts"] for one in found)
    frequent = client.get("/v1/names", params={"kind": "entity"}).json()["names"]
    assert [one["facts"] for one in frequent] == sorted(occurs.values(), reverse=True)[:10]
    relations = Counter(row[1] for row in rows)
    found = client.get("/v1/names", params={"kind": "relation", "q": "talks"}).json()["names"]
    assert found == [{"name": "hold talks with", "facts": relations["hold talks with"]}]


def test_the_overview_has_windows_in_words_and_examples_that_exist(client: TestClient, rows: Rows):
    found = client.get("/v1/overview").json()
    assert [one["words"] for one in found["windows"]] == ["1 day", "7 days", "14 days", "30 days"]
    known = {row[:3] for row in rows}
    assert found["examples"]
    assert all((one["subject"], one["relation"], one["object"]) in known for one in found["examples"])


def test_an_unknown_name_is_answered_with_suggestions(client: TestClient):
    for path in ("/v1/entity", "/v1/relation"):
        response = client.get(path, params={"name": "Aldorai"})
        assert response.status_code == 422
        assert response.json()["error"]["message"].startswith("unknown")
    assert "Aldoria" in client.get("/v1/entity", params={"name": "Aldorai"}).json()["error"]["suggestions"]


@pytest.mark.slow
def test_added_facts_are_counted_at_once(forecaster: Forecaster):
    token = {"Authorization": "Bearer secret"}
    with TestClient(create_app(forecaster, Settings(token="secret")), headers=token) as client:  # pyright: ignore[reportArgumentType]
        before = client.get("/v1/entity", params={"name": "Aldoria"}).json()["facts"]
        fact = {"subject": "Aldoria", "relation": "hold talks with", "object": "Newland", "time": "2023-07-02"}
        assert client.post("/v1/facts", json={"facts": [fact]}).status_code == 200
        assert client.get("/v1/entity", params={"name": "Aldoria"}).json()["facts"] == before + 1
        assert client.get("/v1/entity", params={"name": "Newland"}).json()["facts"] == 1
        names = client.get("/v1/names", params={"kind": "entity", "q": "newl"}).json()["names"]
        assert names == [{"name": "Newland", "facts": 1}]
