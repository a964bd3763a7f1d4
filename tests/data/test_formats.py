"""Files of the sources that people have, in exactly their layout."""

import csv
import json
import random
import zipfile
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from commands import invoke
from data.samples import content
from titer.cli.import_data import Format
from titer.data.dataset import Dataset
from titer.data.importing import import_dataset
from titer.data.readers.formats import FORMATS
from titer.errors import DataError

DAYS = [date(2019, 1, 1) + timedelta(days=i) for i in range(30)]
NAMES = ["POLICE", "GOVERNMENT", "UNITED STATES", "CHINA"]

pytestmark = pytest.mark.filterwarnings("ignore:rows skipped")


def facts(dataset: Dataset) -> Counter[tuple[str, ...]]:
    return sum(content(dataset).values(), Counter())


def pairs() -> list[tuple[str, str, date]]:
    chance = random.Random(3)
    return [(*chance.sample(NAMES, 2), day) for day in DAYS]  # type: ignore[misc]


def test_the_command_offers_every_format():
    assert [str(name) for name in Format] == list(FORMATS)


def test_an_unknown_format_is_an_error_with_a_suggestion(tmp_path: Path):
    (tmp_path / "f.csv").write_text("a\n")
    with pytest.raises(DataError, match=r"unknown format 'gdeld'; did you mean 'gdelt'\?"):
        import_dataset(tmp_path / "f.csv", format="gdeld")


@pytest.mark.parametrize(("version", "width"), [(1, 57), (1, 58), (2, 61)])
def test_gdelt(tmp_path: Path, version: int, width: int):
    """No header, tabs, an empty second actor in many rows, and quotation marks that mean nothing."""
    columns = FORMATS["gdelt"].names[width]
    lines: list[str] = []
    for i, (a, b, day) in enumerate(pairs()):
        row = dict.fromkeys(columns, "")
        row |= {"GLOBALEVENTID": str(i), "SQLDATE": f"{day:%Y%m%d}", "MonthYear": f"{day:%Y%m}", "Year": str(day.year)}
        row |= {"FractionDate": "2019.0027", "Actor1Code": "COP", "Actor1Name": a, "Actor2Name": b}
        row |= {"EventCode": "042", "ActionGeo_FullName": 'Paris, "Ile-de-France", France', "NumMentions": "4"}
        lines.append("\t".join(row[name] for name in columns))
        lines.append("\t".join({**row, "Actor2Name": ""}[name] for name in columns))
    with zipfile.ZipFile(tmp_path / "20190101.export.CSV.zip", "w") as archive:
        archive.writestr("20190101.export.CSV", "\n".join(lines) + "\n")
    path = tmp_path / "20190101.export.CSV.zip"
    with pytest.raises(DataError, match=r"30 of 60 rows \(50.0 %\): column 'object': empty"):
        import_dataset(path, format="gdelt")
    dataset = import_dataset(path, format="gdelt", skip_bad_rows=True)
    assert facts(dataset) == Counter((a, "042", b, str(day)) for a, b, day in pairs())


def test_gdelt_with_a_header_that_somebody_added(tmp_path: Path):
    columns = FORMATS["gdelt"].names[58]
    with (tmp_path / "events.tsv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, delimiter="\t", restval="")
        writer.writeheader()
        for a, b, day in pairs():
            writer.writerow({"SQLDATE": f"{day:%Y%m%d}", "Actor1Name": a, "Actor2Name": b, "EventCode": "042"})
    assert len(import_dataset(tmp_path / "events.tsv", format="gdelt").facts) == 30


def test_icews(tmp_path: Path):
    header = (
        "Event ID\tEvent Date\tSource Name\tSource Sectors\tSource Country\tEvent Text\tCAMEO Code\tIntensity\t"
        "Target Name\tTarget Sectors\tTarget Country\tStory ID\tSentence Number\tPublisher\tCity\tDistrict\tProvince\t"
        "Country\tLatitude\tLongitude"
    )
    rows = [
        f"{i}\t{day}\t{a}\tGovernment,Elite\tIndia\tMake statement\t010\t0.0\t{b}\t\tIndia\t39\t5\tThe Hindu\t\t\t\t"
        "India\t28.6\t77.2"
        for i, (a, b, day) in enumerate(pairs())
    ]
    (tmp_path / "events.2019.tab").write_text("\n".join([header, *rows, "broken\trow"]) + "\n")
    dataset = import_dataset(tmp_path / "events.2019.tab", format="icews", skip_bad_rows=True)
    assert facts(dataset) == Counter((a, "Make statement", b, str(day)) for a, b, day in pairs())


POLECAT = [
    "Event ID",
    "Event Date",
    "Event Type",
    "Event Mode",
    "Intensity",
    "Quad Code",
    "Contexts",
    "Actor Name",
    "Actor Country",
    "Actor COW",
    "Primary Actor Sector",
    "Actor Sectors",
    "Actor Title",
    "Actor Name Raw",
    "Wikipedia Actor ID",
    "Recipient Name",
    "Recipient Country",
    "Recipient COW",
    "Primary Recipient Sector",
    "Recipient Sectors",
    "Recipient Title",
    "Recipient Name Raw",
    "Wikipedia Recipient ID",
    "Placename",
    "City",
    "District",
    "Province",
    "Country",
    "Latitude",
    "Longitude",
    "GeoNames ID",
    "Raw Placename",
    "Feature Type",
    "Source",
    "Publication Date",
    "Story People",
    "Story Organizations",
    "Story Locations",
    "Language",
    "Version",
]


@pytest.mark.parametrize("excess", [0, 3])
def test_polecat(tmp_path: Path, excess: int):
    """Some files have tabs after the last column, and most rows lack an actor or a recipient."""
    rows: list[list[str]] = [[*POLECAT, *[""] * excess]]
    for a, b, day in pairs():
        row = dict.fromkeys(POLECAT, "None") | {"Event Date": str(day), "Event Type": "CONSULT", "Event Mode": "visit"}
        row |= {"Actor Name": a, "Recipient Name": b, "Actor Name Raw": f'the "{a}" of;'}
        rows.append([*row.values(), *[""] * excess])
        rows.append([*(row | {"Recipient Name": "None"}).values(), *[""] * excess])
    text = "".join("\t".join(row) + "\n" for row in rows)
    (tmp_path / "ngecEvents.DV.2019.txt").write_text(text)
    dataset = import_dataset(tmp_path / "ngecEvents.DV.2019.txt", format="polecat", skip_bad_rows=True)
    assert facts(dataset) == Counter((a, "CONSULT", b, str(day)) for a, b, day in pairs())


@pytest.mark.parametrize(
    ("case", "written", "delimiter"),
    [(str.lower, "%d %B %Y", ","), (str.upper, "%d-%B-%Y", ","), (str.lower, "%Y-%m-%d", ",")],
)
def test_acled(tmp_path: Path, case: Any, written: str, delimiter: str):
    """Old exports are in capitals; the second actor of a protest is empty, and notes have quotes and line breaks."""
    columns = (
        "event_id_cnty event_date year time_precision disorder_type event_type sub_event_type actor1 assoc_actor_1 "
    )
    columns += (
        "inter1 actor2 assoc_actor_2 inter2 interaction civilian_targeting iso region country admin1 admin2 admin3 "
    )
    columns += "location latitude longitude geo_precision source source_scale notes fatalities tags timestamp"
    with (tmp_path / "acled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [case(name) for name in columns.split()], delimiter=delimiter, restval="")
        writer.writeheader()
        for i, (a, b, day) in enumerate(pairs()):
            row = {"event_date": f"{day:{written}}", "event_type": "Battles", "actor1": a, "actor2": b if i % 3 else ""}
            row |= {"country": "India", "notes": 'On 1 January, a "crowd"\ngathered', "fatalities": "0"}
            writer.writerow({case(name): value for name, value in row.items()})
    expected = Counter((a, "Battles", b if i % 3 else "India", str(day)) for i, (a, b, day) in enumerate(pairs()))
    assert facts(import_dataset(tmp_path / "acled.csv", format="acled")) == expected


def test_wikidata(tmp_path: Path):
    """Open ends are empty; an unknown value is a blank node."""
    (tmp_path / "query.csv").write_text(
        "subject,subjectLabel,propertyLabel,objectLabel,start,end\r\n"
        "http://www.wikidata.org/entity/Q1,Ada,position held,Prime Minister,2001-05-01T00:00:00Z,2003-01-01T00:00:00Z"
        "\r\n"
        "http://www.wikidata.org/entity/Q2,Ben,position held,Prime Minister,2003-01-01T00:00:00Z,\r\n"
        "http://www.wikidata.org/entity/Q3,Cleo,position held,Prime Minister,t1234,2001-01-01T00:00:00Z\r\n"
    )
    dataset = import_dataset(tmp_path / "query.csv", format="wikidata", skip_bad_rows=True, split=(1, 0, 0))
    held = [("Ada", year) for year in (2001, 2002, 2003)] + [("Ben", 2003)]
    assert facts(dataset) == Counter((who, "position held", "Prime Minister", str(year)) for who, year in held)


@pytest.mark.parametrize(
    ("header", "relations"),
    [
        ("timestamp,head,tail,relation_type", True),
        ("ts,src,dst,relation_type,num_words,score", True),
        ("ts,src,dst", False),
    ],
)
def test_tgb(tmp_path: Path, header: str, relations: bool):
    seconds = [int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) for day in DAYS]
    rest = {3: "", 4: ",7", 6: ",7,12,3"}[header.count(",") + 1]
    lines = [f"{second},{i % 4},{i % 5}{rest}" for i, second in enumerate(seconds)]
    (tmp_path / "tkgl-polecat_edgelist.csv").write_text("\n".join([header, *lines]) + "\n")
    dataset = import_dataset(tmp_path / "tkgl-polecat_edgelist.csv", format="tgb")
    relation = "7" if relations else "linked to"
    assert facts(dataset) == Counter((str(i % 4), relation, str(i % 5), str(day)) for i, day in enumerate(DAYS))


def test_tgb_with_years(tmp_path: Path):
    lines = [f"{1990 + i},Q{i},Q{i + 1},P39" for i in range(20)]
    (tmp_path / "tkgl-wikidata.csv").write_text("\n".join(["timestamp,head,tail,relation_type", *lines]))
    assert import_dataset(tmp_path / "tkgl-wikidata.csv", format="tgb").axis.unit == "year"


def test_graphiti(tmp_path: Path):
    """Edges name their nodes by id, and nodes can be in another file."""
    nodes = [{"uuid": f"n{i}", "name": name, "labels": ["Entity"], "summary": ""} for i, name in enumerate(NAMES)]
    edges = [
        {"uuid": f"e{i}", "group_id": "g", "source_node_uuid": f"n{i % 3}", "target_node_uuid": f"n{i % 3 + 1}",
         "created_at": "2024-03-09T10:00:00Z", "name": "WORKS_AT", "fact": "…", "fact_embedding": [0.1, 0.2],
         "episodes": ["x"], "expired_at": None, "valid_at": f"{DAYS[i]}T00:00:00Z",
         "invalid_at": f"{DAYS[i + 2]}T00:00:00Z" if i else None}
        for i in range(5)
    ]  # fmt: skip
    (tmp_path / "edges.jsonl").write_text("".join(json.dumps(row) + "\n" for row in edges))
    (tmp_path / "nodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in nodes))
    dataset = import_dataset([tmp_path / "edges.jsonl", tmp_path / "nodes.jsonl"], format="graphiti", split=(1, 0, 0))
    found = facts(dataset)
    assert found[("GOVERNMENT", "WORKS_AT", "UNITED STATES", str(DAYS[1]))] == 1
    assert sum(count for (subject, *_), count in found.items() if subject == "UNITED STATES") == 3
    unnamed = import_dataset(tmp_path / "edges.jsonl", format="graphiti", split=(1, 0, 0))
    assert "n0" in unnamed.vocabulary.entities


@pytest.mark.parametrize("with_properties", [True, False])
def test_neo4j(tmp_path: Path, with_properties: bool):
    """Nodes and relationships are rows of one file; older versions leave out the properties of the ends."""
    rows: list[dict[str, Any]] = [
        {"type": "node", "id": str(i), "labels": ["Actor"], "properties": {"name": name, "tags": ["x"]}}
        for i, name in enumerate(NAMES)
    ]
    for i, day in enumerate(DAYS):
        ends = {}
        for end, number in (("start", i % 3), ("end", i % 3 + 1)):
            ends[end] = {"id": str(number), "labels": ["Actor"]}
            if with_properties:
                ends[end]["properties"] = {"name": NAMES[number]}
        rows.append({"id": str(i), "type": "relationship", "label": "MET", "properties": {"date": str(day)}, **ends})
    (tmp_path / "all.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dataset = import_dataset(tmp_path / "all.json", format="neo4j")
    assert facts(dataset) == Counter((NAMES[i % 3], "MET", NAMES[i % 3 + 1], str(day)) for i, day in enumerate(DAYS))


def test_the_property_with_the_time_of_a_relationship_can_be_given(tmp_path: Path):
    ends = {end: {"id": end, "labels": [], "properties": {"name": end}} for end in ("start", "end")}
    rows = [
        {"id": "1", "type": "relationship", "label": "MET", "properties": {"seen": str(day)}, **ends} for day in DAYS
    ]
    (tmp_path / "all.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("--format", "neo4j", "--column", "time=seen", "--out", tmp_path / "out")
    assert invoke("data", "import", tmp_path / "all.json", *words).exit_code == 0
    assert invoke("data", "import", tmp_path / "all.json", *words[:2], "--out", tmp_path / "x").exit_code != 0
