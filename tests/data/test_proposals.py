"""``titer data import`` of files that no option describes: a proposal, a question, and the complete command."""

import os
import pty
import random
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from commands import invoke, titer
from titer.data.dataset import Dataset
from titer.data.dataset_folder import open_dataset
from titer.data.detection.proposal import ProposalError
from titer.data.importing import import_dataset
from titer.errors import DataError

DAYS = [date(2015, 1, 1) + timedelta(days=3 * i) for i in range(120)]
ACTORS = ["Police Forces of India", "Rioters (India)", "Taliban", "Military Forces of Pakistan"]


def acled(path: Path) -> Path:
    """Write events as ACLED exports them: own column names, long dates, a second actor in some rows only."""
    chance = random.Random(1)
    lines = ["GWNO,EVENT_ID_CNTY,EVENT_DATE,YEAR,EVENT_TYPE,ACTOR1,ALLY_ACTOR_1,ACTOR2,COUNTRY,SOURCE,NOTES"]
    for i, day in enumerate(DAYS):
        object = chance.choice(ACTORS) if i % 3 == 0 else ""
        note = '"a ""quoted"" note, with commas"'
        lines.append(f"770,{i}PAK,{day:%d-%B-%Y},2015,Riots/Protests,{ACTORS[i % 4]},,{object},India,Dawn,{note}")
    path.write_text("\r\n".join(lines) + "\r\n")
    return path


def crunchbase(path: Path) -> Path:
    """Write deals with semicolons, Mac encoding and line ends, blank rows and two-digit years."""
    lines = ["permalink;company_name;acquirer_name;acquired_at;price"]
    for i, day in enumerate(DAYS):
        written = "01.12.60" if i == 50 else f"{day:%d.%m.%y}"
        lines.append(f"/c/{i};Société {i % 7};{['Nestlé’s', 'Yahoo'][i % 2]};{written};1.000")
    path.write_bytes("\r".join([*lines, *[";;;;"] * 9]).encode("mac_roman"))
    return path


def unix(path: Path) -> Path:
    rows = [f"{ACTORS[i % 4]}\tmeets\t{ACTORS[(i + 1) % 4]}\t{1420070400 + 86400 * i}" for i in range(100)]
    path.write_text("".join(f"{row}\n" for row in rows))  # no header
    return path


def ministers(path: Path) -> Path:
    lines = ["country,position,name,start_date,end_date"]
    lines += [f"C{i % 5},Minister {i % 3},N{i},{DAYS[i]},{DAYS[i] + timedelta(days=900)}" for i in range(60)]
    path.write_text("\n".join(lines))
    return path


FILES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "acled.csv": (acled, "--column time=EVENT_DATE --column subject=ACTOR1 --column object=ACTOR2"),
    "deals.csv": (crunchbase, "--constant relation=deals --delimiter ';' --encoding mac_roman --date-format %d.%m.%y"),
    "unix.txt": (unix, "--names subject,relation,object,time --date-format unix"),
    "ministers.csv": (ministers, "--column start=start_date --column end=end_date"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_proposal_is_refused_without_a_terminal_and_its_command_imports_the_file(tmp_path: Path, name: str):
    write, words = FILES[name]
    path = write(tmp_path / name)
    result = invoke("data", "import", path, "--out", tmp_path / "out", "--bad-rows", "skip")
    assert isinstance(result.exception, DataError)
    assert sorted(file.name for file in tmp_path.iterdir()) == [name]
    text = str(result.exception)
    assert text.startswith(f"{path}, row 1: no column")
    assert words in text
    assert text.partition("first facts:\n")[2].count(" | ") >= 9
    assert text.endswith("Run this command, or add --yes to accept what was detected.")
    command = shlex.split(text.partition("The complete command:\n")[2].splitlines()[0])
    assert command[:4] == ["titer", "data", "import", str(path)]
    titer(*command[1:])
    titer("data", "import", path, "--out", tmp_path / "accepted", "--bad-rows", "skip", "--yes")
    assert open_dataset(tmp_path / "out").checksum == open_dataset(tmp_path / "accepted").checksum


def dataset_of(path: Path) -> Dataset:
    return import_dataset(path, accept=True, split=(1, 0, 0))


def test_what_is_detected_is_right(tmp_path: Path):
    with pytest.warns(UserWarning, match="no facts for 19,753 days between 1960-12-01 and 2015-01-01"):
        deals = dataset_of(crunchbase(tmp_path / "deals.csv"))
    assert {"Nestlé’s", "Société 3"} <= {*deals.vocabulary.entities}
    assert deals.axis.label(int(deals.facts.time.min())) == "1960-12-01"
    assert deals.axis.label(int(deals.facts.time.max())) == str(DAYS[-1])
    seconds = dataset_of(unix(tmp_path / "unix.txt"))
    assert (seconds.axis.label(0), seconds.axis.unit) == ("2015-01-01", "day")
    terms = dataset_of(ministers(tmp_path / "ministers.csv"))
    assert terms.axis.unit == "month"
    assert terms.vocabulary.relations == ["Minister 0", "Minister 1", "Minister 2"]


def test_the_error_in_python_has_the_proposal(tmp_path: Path):
    with pytest.raises(ProposalError, match="this was understood") as caught:
        import_dataset(acled(tmp_path / "acled.csv"))
    assert caught.value.proposal.options.columns["object"] == "ACTOR2"
    assert "80 of 120 rows (66.7 %): column 'object': empty" in str(caught.value)


def test_columns_that_are_given_are_kept_and_the_others_detected(tmp_path: Path):
    path = acled(tmp_path / "acled.csv")
    dataset = import_dataset(path, columns={"object": "ACTOR2|COUNTRY"}, accept=True)
    assert len(dataset.facts) == len(DAYS)
    assert "India" in dataset.vocabulary.entities


def test_a_fact_that_counts_several_times_is_shown_once(tmp_path: Path):
    rows = "".join(f"{ACTORS[i % 4]},{ACTORS[(i + 1) % 4]},{day},3\n" for i, day in enumerate(DAYS))
    (tmp_path / "f.csv").write_text(f"from,to,on,goals\n{rows}")
    with pytest.raises(ProposalError) as error:
        import_dataset(tmp_path / "f.csv", columns={"weight": "goals"})
    assert len(set(error.value.proposal.facts)) == len(error.value.proposal.facts) == 3


def test_a_dataset_folder_is_not_imported_again(tmp_path: Path):
    titer("data", "import", acled(tmp_path / "acled.csv"), "--out", tmp_path / "data", "--yes", "--bad-rows", "skip")
    with pytest.raises(DataError, match="is a dataset already; titer data export"):
        import_dataset(tmp_path / "data")


def test_a_file_that_can_be_read_is_imported_without_a_proposal(tmp_path: Path):
    rows = "".join(f"{ACTORS[i % 4]},meets,{ACTORS[(i + 1) % 4]},{i}\n" for i in range(50))
    (tmp_path / "f.csv").write_text(f"subject,relation,object,time\n{rows}")
    result = invoke("data", "import", tmp_path / "f.csv", "--out", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_single_bad_row_is_an_error_and_no_proposal(tmp_path: Path):
    rows = "".join(f"Ada,meets,Ben,{day}\n" for day in DAYS)
    (tmp_path / "f.csv").write_text(f"subject,relation,object,time\n{rows}Ada,meets,Ben,soon\n")
    with pytest.raises(DataError, match="'soon' is not a date") as caught:
        import_dataset(tmp_path / "f.csv")
    assert not isinstance(caught.value, ProposalError)


def test_dates_in_named_columns_are_detected(tmp_path: Path):
    rows = "".join(f"Ada,meets,Ben,{day:%d/%m/%Y}\n" for day in DAYS)
    (tmp_path / "f.csv").write_text(f"subject,relation,object,time\n{rows}")
    with pytest.raises(ProposalError) as caught:
        import_dataset(tmp_path / "f.csv")
    assert caught.value.proposal.options.words() == ["--date-format", "%d/%m/%Y"]


@given(data=st.binary(max_size=300), text=st.text(max_size=300), suffix=st.sampled_from(["csv", "txt", "jsonl", "xyz"]))
def test_any_file_is_imported_or_a_data_error(data: bytes, text: str, suffix: str):
    for content in (data, text.encode("utf-8", "surrogatepass"), b"subject,relation,object,time\n" + data):
        with TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = Path(folder, f"f.{suffix}")
            path.write_bytes(content)
            with suppress(DataError):
                import_dataset(path, accept=True, skip_bad_rows=True)


rows = st.lists(
    st.tuples(
        *[st.sampled_from(["Ada", "Ben", "", "NA", "Zoë"])] * 3, st.sampled_from(["1/2/2015", "13/2/2015", "", "x"])
    ),
    min_size=1,
    max_size=20,
)


@settings(phases=[Phase.generate], max_examples=60)
@given(rows=rows, delimiter=st.sampled_from(",;\t|"), encoding=st.sampled_from(["utf-8", "latin-1", "utf-16"]))
@pytest.mark.slow
def test_the_command_of_a_proposal_reads_what_was_shown(rows: list[tuple[str, ...]], delimiter: str, encoding: str):
    table = [("sender", "kind", "receiver", "date"), ("Ada", "meets", "Ben", "14/2/2015"), *rows]
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "f.csv")
        path.write_bytes("".join(delimiter.join(row) + "\n" for row in table).encode(encoding))
        proposal = None
        try:
            import_dataset(path, split=(1, 0, 0))
        except ProposalError as error:
            proposal = error.proposal
        except DataError:
            assert sum(row[3] in ("", "x") for row in rows) > 0  # otherwise the column of dates is found
        if proposal is not None:
            given = import_dataset(path, skip_bad_rows=True, split=(1, 0, 0), **proposal.options.to_dict())
            accepted = import_dataset(path, skip_bad_rows=True, split=(1, 0, 0), accept=True)
            assert given.checksum == accepted.checksum
            assert len(proposal.facts) == min(3, len(set(given.facts)))  # rows may repeat a fact


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "imported"), [(b"y\n", True), (b"n\n", False)])
def test_on_a_terminal_the_command_asks(tmp_path: Path, answer: bytes, imported: bool):
    path = acled(tmp_path / "acled.csv")
    terminal, inner = pty.openpty()
    words = ["data", "import", str(path), "--out", str(tmp_path / "out"), "--bad-rows", "skip"]
    with subprocess.Popen(
        [sys.executable, "-m", "titer", *words], stdin=inner, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.write(terminal, answer)
        _, errors = process.communicate(timeout=60)
    os.close(terminal)
    os.close(inner)
    assert b"Import the file like this?" in errors
    assert (process.returncode == 0) == imported
    assert (tmp_path / "out").exists() == imported


def test_a_proposal_counts_bad_rows_of_its_sample_and_the_import_names_the_row_of_the_file(tmp_path: Path):
    path = tmp_path / "deals.csv"
    rows = [
        "buyer;target;day",
        "A;B;01.02.2012",
        "",
        "A;;02.02.2012",
        *(f"C;B;{day:02}.02.2012" for day in range(3, 20)),
    ]
    path.write_text("\n".join(rows) + "\n")
    proposal = str(invoke("data", "import", path, "--out", tmp_path / "out").exception)
    assert "  1 of 19 rows (5.3 %): column 'object': empty\n" in proposal
    done = invoke("data", "import", path, "--yes", "--bad-rows", "skip", "--out", tmp_path / "out")
    assert "column 'object': empty (first in row 4)" in done.stderr
