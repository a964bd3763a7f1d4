"""Exports of a run: what was exported can be imported again, and other tools read it."""

import csv
import itertools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from commands import invoke, titer
from conftest import SMALL_CONFIGS
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.load import load_dataset
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.export.content import frequent_questions
from titer.export.export import FORMATS
from titer.forecasting.forecast import Forecast
from titer.forecasting.forecaster import Forecaster
from titer.runs.train import train

NAMES = [
    'a "quoted", name',
    "Ünïcode 東京",
    "=SUM(A1)",
    "with/slash#hash:colon",
    "100%20percent",
    "it's <b>&amp;</b>",
    "\\n",
]


def named_facts(dataset: Dataset) -> dict[str, set[tuple[str, str, str, str]]]:
    entities, relations = dataset.vocabulary.entities, dataset.vocabulary.relations
    return {
        name: {(entities[s], relations[r], entities[o], dataset.axis.label(t)) for s, r, o, t in facts}
        for name, facts in dataset.splits.items()
    }


def import_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """Run the command that the export names, in its folder."""
    monkeypatch.chdir(folder)
    words = shlex.split(json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["import"])
    assert words[:3] == ["titer", "data", "import"]
    titer(*words[1:-1], "again")
    return load_dataset(folder / "again")


@pytest.mark.parametrize("format", list(FORMATS))
def test_the_facts_of_every_format_can_be_imported_again(
    recurrency_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
):
    shown = titer("export", recurrency_run, "--format", format, "--num-questions", "3", "--out", tmp_path / "out")
    assert "4,363 facts, forecasts for 3 questions" in shown
    again, dataset = import_again(tmp_path / "out", monkeypatch), load_dataset(recurrency_run)
    assert named_facts(again) == named_facts(dataset)
    assert {name: len(facts) for name, facts in again.splits.items()} == {
        name: len(facts) for name, facts in dataset.splits.items()
    }
    assert again.axis.unit == dataset.axis.unit


@pytest.mark.parametrize("ends", [(30, 30), (20, 20), (20, 30)], ids=["train only", "no valid", "no test"])
def test_empty_splits_are_empty_after_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: tuple[int, int]):
    rows = [(t % 3, 0, (t + 1) % 3, t) for t in range(30)]
    parts = [Facts.from_rows(rows[a:b]) for a, b in itertools.pairwise((0, *ends, 30))]
    dataset = Dataset("uneven", Vocabulary(["a", "b", "c"], ["visits"]), AXES["month"], *parts)
    train(dataset, SMALL_CONFIGS["recurrency"], tmp_path / "run")
    titer("export", tmp_path / "run", "--format", "csv", "--num-questions", "0", "--out", tmp_path / "out")
    again = import_again(tmp_path / "out", monkeypatch)
    assert {name: len(facts) for name, facts in again.splits.items()} == {
        name: len(facts) for name, facts in dataset.splits.items()
    }


AXES = {
    "integer": TimeAxis(TimeUnit.INTEGER, 5, 1),
    "hour": TimeAxis(TimeUnit.HOUR, "2023-01-01T22"),
    "week": TimeAxis(TimeUnit.WEEK, "2023-01-02"),
    "month": TimeAxis(TimeUnit.MONTH, "2023-11"),
    "quarter": TimeAxis(TimeUnit.QUARTER, "2023-10"),
    "year": TimeAxis(TimeUnit.YEAR, "1998"),
}


@pytest.fixture(scope="module")
def strange_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function from a time unit to a run on facts whose names are difficult to write."""
    folder = tmp_path_factory.mktemp("strange")

    def run(unit: str) -> Path:
        if not (folder / unit).exists():
            vocabulary = Vocabulary(NAMES, ["visits", 'says "no"; then, leaves', "é/ü"])
            rows = [(t % 7, t % 3, (3 * t + 1) % 7, t) for t in range(30)]
            parts = [Facts.from_rows(rows[a:b]) for a, b in ((0, 20), (20, 25), (25, 30))]
            dataset = Dataset(f"strange {unit}", vocabulary, AXES[unit], *parts)
            train(dataset, SMALL_CONFIGS["recurrency"], folder / unit)
        return folder / unit

    return run


@pytest.mark.slow
@pytest.mark.parametrize("unit", list(AXES))
@pytest.mark.parametrize("format", list(FORMATS))
def test_strange_names_and_all_time_units_survive(
    strange_run: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, unit: str
):
    titer("export", strange_run(unit), "--format", format, "--num-questions", "2", "--out", tmp_path / "out")
    again = import_again(tmp_path / "out", monkeypatch)
    assert named_facts(again) == named_facts(load_dataset(strange_run(unit)))


def read_csv(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.mark.slow
def test_forecasts_are_those_of_the_forecaster_and_evidence_names_facts_before_them(
    path_mixture_run: Path, tmp_path: Path
):
    words = ["--num-questions", "4", "--top", "2", "--reasons", "2", "--device", "cpu"]
    titer("export", path_mixture_run, "--format", "csv", "--out", tmp_path / "out", *words)
    facts, forecasts, evidence = (read_csv(tmp_path / "out" / f"{n}.csv") for n in ("facts", "forecasts", "evidence"))
    asked = frequent_questions(load_dataset(path_mixture_run), 4)
    with Forecaster.load(path_mixture_run, "cpu") as forecaster:
        expected = list(forecaster.ask_many(asked, top=2, explain=2))
    answers = [
        (answer.entity, answer.probability)
        for result in expected
        if isinstance(result, Forecast)
        for answer in result.answers
    ]
    assert [row["answer"] for row in forecasts] == [name for name, _ in answers]
    assert [float(row["probability"]) for row in forecasts] == pytest.approx([p for _, p in answers])
    assert {row["time"] for row in forecasts} == {"2023-07-01"}
    with_facts = [row for row in evidence if row["fact"]]
    assert len(with_facts) > 4
    for row in with_facts:
        fact = facts[int(row["fact"]) - 1]
        assert {part: row[part] for part in ("subject", "relation", "object", "time")} == {
            part: fact[part] for part in ("subject", "relation", "object", "time")
        }
        assert row["time"] < "2023-07-01"


def test_the_provenance_names_model_and_data(recurrency_run: Path, tmp_path: Path):
    titer("export", recurrency_run, "--format", "parquet", "--num-questions", "1", "--out", tmp_path / "out")
    known = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert (known["model"], known["dataset"]) == ("recurrency", "small-world")
    assert known["dataset_checksum"] == load_dataset(recurrency_run).checksum
    assert len(known["weights_sha256"]) == 64
    nested = pq.read_table(tmp_path / "out" / "forecasts.parquet")["evidence"].to_pylist()
    assert nested[0][0]["facts"][0]["subject"]


def test_questions_come_from_a_file_and_bad_ones_are_counted(recurrency_run: Path, tmp_path: Path):
    (tmp_path / "q.csv").write_text("subject,relation,object,time\nCaldera,invite,,2023-06-01\nNobody,invite,,\n")
    words = ["--questions", tmp_path / "q.csv", "--out", tmp_path / "out"]
    result = invoke("export", recurrency_run, "--format", "rdf", *words)
    assert "forecasts for 1 question" in result.stdout
    assert "1 of 2 questions could not be answered" in result.stderr


def test_without_questions_there_are_facts_only(recurrency_run: Path, tmp_path: Path):
    for format in FORMATS:
        titer("export", recurrency_run, "--format", format, "--num-questions", "0", "--out", tmp_path / format)
        assert not [path.name for path in (tmp_path / format).iterdir() if "forecast" in path.name]


@pytest.mark.slow
def test_added_facts_are_exported_too(recurrency_run: Path, run_copy: Callable[[Path], Path], tmp_path: Path):
    run = run_copy(recurrency_run)
    (tmp_path / "new.csv").write_text("subject,relation,object,time\nCaldera,invite,Drovia,2023-07-02\n")
    titer("facts", "add", run, tmp_path / "new.csv")
    titer("export", run, "--format", "csv", "--num-questions", "1", "--out", tmp_path / "out")
    added = [row for row in read_csv(tmp_path / "out" / "facts.csv") if row["split"] == "added"]
    assert [(row["subject"], row["object"], row["time"]) for row in added] == [("Caldera", "Drovia", "2023-07-02")]
    assert read_csv(tmp_path / "out" / "forecasts.csv")[0]["time"] == "2023-07-03"


def test_an_export_is_not_overwritten_unasked_and_formats_are_suggested(recurrency_run: Path, tmp_path: Path):
    words = ["export", recurrency_run, "--num-questions", "0", "--out", tmp_path / "out", "--format"]
    titer(*words, "csv")
    assert "already exists" in str(invoke(*words, "parquet").exception)
    titer(*words, "parquet", "--overwrite")
    assert not (tmp_path / "out" / "facts.csv").exists()
    assert "unknown --format 'neo4'; did you mean 'neo4j'?" in str(invoke(*words, "neo4", "--overwrite").exception)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_pykeen_reads_the_splits(strange_run: Callable[[str], Path], tmp_path: Path):
    triples = pytest.importorskip("pykeen.triples", reason="PyKEEN is not installed: make oracles")
    titer("export", strange_run("year"), "--format", "pykeen", "--num-questions", "2", "--out", tmp_path / "out")
    options = {"load_triples_kwargs": {"column_remapping": (0, 1, 2)}}
    factory = triples.TriplesFactory.from_path(tmp_path / "out" / "train.tsv", **options)
    expected = {fact[:3] for fact in named_facts(load_dataset(strange_run("year")))["train"]}
    assert {tuple(row) for row in factory.label_triples(factory.mapped_triples).tolist()} == expected
    predicted = triples.TriplesFactory.from_path(tmp_path / "out" / "forecasts.tsv", **options)
    assert set(predicted.entity_to_id) <= set(NAMES)


def neo4j_ids(folder: Path) -> dict[str, list[str]]:
    """Return the ids of nodes by their group, as the import of Neo4j reads the headers."""
    found: dict[str, list[str]] = {}
    for name in ("entities", "forecasts", "evidence"):
        rows = read_csv(folder / f"{name}.csv")
        column = next(key for key in rows[0] if ":ID(" in key)
        found[column.partition("(")[2].rstrip(")")] = [row[column] for row in rows]
    return found


@pytest.mark.slow
def test_every_relationship_of_neo4j_has_its_nodes(strange_run: Callable[[str], Path], tmp_path: Path):
    folder = tmp_path / "out"
    titer("export", strange_run("integer"), "--format", "neo4j", "--num-questions", "3", "--out", folder)
    ids = neo4j_ids(folder)
    assert all(len(set(group)) == len(group) > 0 for group in ids.values())
    relationships = [name for name in folder.glob("*.csv") if ":START_ID" in name.read_text().partition("\n")[0]]
    assert len(relationships) == 4
    for path in relationships:
        for row in read_csv(path):
            assert row[":TYPE"]
            for column in (key for key in row if key.startswith((":START_ID", ":END_ID"))):
                assert row[column] in ids[column.partition("(")[2].rstrip(")")]
    for path in folder.glob("*.csv"):
        for row in read_csv(path):
            for column, value in row.items():
                if column.endswith((":long", ":double")) and value:
                    float(value)
    cypher = (folder / "load.cypher").read_text()
    assert {path.name for path in folder.glob("*.csv")} == set(re.findall(r"file:///(\w+\.csv)", cypher))
    for name, body in re.findall(r"file:///(\w+\.csv)' AS row\n(.*?)ROWS;", cypher, flags=re.DOTALL):
        columns = set(read_csv(folder / name)[0])
        assert set(re.findall(r"row\.`([^`]+)`", body)) | set(re.findall(r"row\.(\w+)", body)) <= columns


TERMS = "urn:titer:terms:"


@pytest.fixture
def graph(path_mixture_run: Path, tmp_path: Path) -> Any:
    rdflib = pytest.importorskip("rdflib", reason="rdflib is not installed: make oracles")
    words = ["--num-questions", "3", "--out", tmp_path / "out", "--device", "cpu"]
    titer("export", path_mixture_run, "--format", "rdf", *words)
    graph = rdflib.Dataset(default_union=True)
    graph.parse(tmp_path / "out" / "export.nq", format="nquads")
    rdflib.Graph().parse(tmp_path / "out" / "vocabulary.ttl", format="turtle")
    return graph


PREFIXES = f"""PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX titer: <{TERMS}> """


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_sparql_finds_facts_forecasts_and_their_provenance(graph: Any, path_mixture_run: Path):
    facts = graph.query(
        PREFIXES + "SELECT ?s ?p ?o ?t WHERE { ?f a rdf:Statement; rdf:subject/rdfs:label ?s; "
        "rdf:predicate/rdfs:label ?p; rdf:object/rdfs:label ?o; titer:time ?t }"
    )
    expected = set().union(*named_facts(load_dataset(path_mixture_run)).values())
    assert {tuple(str(value) for value in row) for row in facts} == expected
    not_asserted = "FILTER NOT EXISTS { ?s ?p ?o }"
    statement = "SELECT ?f WHERE { ?f a rdf:Statement; rdf:subject ?s; rdf:predicate ?p; rdf:object ?o. "
    assert list(graph.query(PREFIXES + statement + not_asserted + " }")) == []
    evidence = list(
        graph.query(
            PREFIXES + "SELECT ?forecast ?when ?fact ?then WHERE { ?forecast a titer:Forecast; titer:time ?when; "
            "prov:wasDerivedFrom ?fact. ?fact a rdf:Statement; titer:time ?then }"
        )
    )
    assert len(evidence) > 3
    assert all(row.then < row.when for row in evidence)
    made = graph.query(
        PREFIXES + "ASK { ?forecast prov:wasGeneratedBy ?activity. ?activity a prov:Activity; prov:used ?model; "
        "prov:wasAssociatedWith ?agent. ?agent a prov:SoftwareAgent. ?model prov:wasDerivedFrom ?dataset. "
        "?dataset titer:sha256 ?checksum }"
    )
    assert made.askAnswer


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_query_of_the_page_finds_answers_in_the_union_of_the_graphs(graph: Any):
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
    (query,) = re.findall(r"```text\n(PREFIX .*?)```", page, re.DOTALL)
    assert len(list(graph.query(query))) > 2
    graph.default_union = False
    assert len(list(graph.query(query))) == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unit", list(AXES))
def test_every_literal_is_valid_for_its_type(strange_run: Callable[[str], Path], tmp_path: Path, unit: str):
    rdflib = pytest.importorskip("rdflib", reason="rdflib is not installed: make oracles")
    titer("export", strange_run(unit), "--format", "rdf", "--num-questions", "2", "--out", tmp_path / "out")
    graph = rdflib.Dataset()
    graph.parse(tmp_path / "out" / "export.nq", format="nquads")
    literals = [value for _, _, value, _ in graph.quads() if isinstance(value, rdflib.Literal)]
    assert len(literals) > 30
    assert not [value for value in literals if value.ill_typed]
    # rdflib also accepts a blank instead of the T, which other libraries reject.
    times = re.findall(r'"([^"]*)"\^\^<[^>]*#dateTime>', (tmp_path / "out" / "export.nq").read_text())
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", text) for text in times)


def test_damaged_rdf_is_rejected_with_the_line(tmp_path: Path):
    (tmp_path / "x.nq").write_text("<a> <b> <c> .\nnonsense\n")
    result = invoke("data", "import", tmp_path / "x.nq", "--out", tmp_path / "out")
    assert "row 2: not a quad" in str(result.exception)


def test_iris_begin_with_a_base_of_ones_own(recurrency_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    words = ["export", recurrency_run, "--format", "rdf", "--num-questions", "1", "--out", tmp_path / "out", "--base"]
    titer(*words, "https://example.org/kg/")
    text = (tmp_path / "out" / "export.nq").read_text()
    assert "<https://example.org/kg/entity/Central%20Bank%20of%20Drovia>" in text
    assert "urn:titer:recurrency" not in text
    assert named_facts(import_again(tmp_path / "out", monkeypatch)) == named_facts(load_dataset(recurrency_run))
    words[words.index("rdf")] = "csv"
    assert "only --format rdf has" in str(invoke(*words, "https://example.org/kg/", "--overwrite").exception)
    words[words.index("csv")] = "rdf"
    for bad in ("example", "https://example.org", "https://a b/", "https://a>/"):
        assert "--base must be the beginning of an IRI" in str(invoke(*words, bad, "--overwrite").exception)
