"""What is exported: the facts of a run, forecasts with their evidence, and where they come from."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from titer import __version__
from titer.data.dataset import SPLITS, Dataset
from titer.data.export import fact_table
from titer.data.time_axis import TimeUnit
from titer.errors import ConfigError
from titer.files import sha256_of
from titer.forecasting.forecast import Forecast, PastFact, Unanswered
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.forecasting.question_files import read_questions
from titer.runs.provenance import source
from titer.runs.run import Run
from titer.training.layout import MODEL

ADDED = "added"
"""The split of facts that were added to the run after training."""


class ExportedFact(NamedTuple):
    """A fact in words, with its number from 1."""

    number: int
    subject: str
    relation: str
    object: str
    time: str
    split: str


class Prediction(NamedTuple):
    """One answer of a forecast as a triple, with its evidence."""

    question: int
    """Number of the question, from 1."""
    subject: str
    relation: str
    object: str
    time: str
    asks: str
    """What the question asks for: ``subject`` or ``object``."""
    rank: int
    score: float
    probability: float
    reasons: tuple[Any, ...]

    @property
    def name(self) -> str:
        """A short name that no other prediction of the export has."""
        return f"{self.question}-{self.rank}"


@dataclass(frozen=True)
class ExportContent:
    """The content of an export.

    Attributes:
        dataset: The dataset of the run.
        facts: The columns subject, relation, object, time and split, a row for each fact.
        forecasts: Forecasts, with evidence if the model has any; and questions that could not be answered.
        provenance: Where all of it comes from, as plain values.
    """

    dataset: Dataset
    facts: pa.Table
    forecasts: list[Forecast | Unanswered]
    provenance: dict[str, Any]
    base: str
    """What the IRIs of RDF begin with."""

    def exported_facts(self) -> Iterator[ExportedFact]:
        """Yield the facts, with only some of them in memory."""
        number = 0
        for batch in self.facts.to_batches(max_chunksize=1 << 16):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                yield ExportedFact(number, *row)

    def predictions(self) -> Iterator[Prediction]:
        """Yield each answer of each forecast."""
        for number, result in enumerate(self.forecasts, start=1):
            if isinstance(result, Unanswered):
                continue
            for answer in result.answers:
                subject = result.subject if result.subject is not None else answer.entity
                object = result.object if result.object is not None else answer.entity
                asks = "object" if result.object is None else "subject"
                values = (answer.rank, answer.score, answer.probability, answer.reasons)
                yield Prediction(number, subject, result.relation, object, result.time, asks, *values)

    def entity_names(self) -> list[str]:
        """Return the names of all entities of facts and predictions, each once."""
        of_facts = (name for column in ("subject", "object") for name in self.facts[column].unique().to_pylist())
        of_predictions = (name for p in self.predictions() for name in (p.subject, p.object))
        return list(dict.fromkeys([*of_facts, *of_predictions]))

    def numbers_of_evidence(self) -> dict[tuple[str, str, str, str], int]:
        """Return the number of each fact that is evidence, by subject, relation, object and time."""
        wanted = {key_of(fact) for p in self.predictions() for reason in p.reasons for fact in reason.facts}
        found: dict[tuple[str, str, str, str], int] = {}
        if wanted:
            for fact in self.exported_facts():
                if (key := (fact.subject, fact.relation, fact.object, fact.time)) in wanted:
                    found.setdefault(key, fact.number)
        return found


def key_of(fact: PastFact) -> tuple[str, str, str, str]:
    """Return what identifies a fact."""
    return fact.subject, fact.relation, fact.object, fact.time


def export_content(
    run: Run,
    *,
    questions: Path | None = None,
    num_questions: int = 100,
    top: int = 3,
    reasons: int = 3,
    device: str = "auto",
    store: str | None = None,
    base: str | None = None,
) -> ExportContent:
    """Collect what is exported.

    Args:
        run: The run.
        questions: A file of questions to answer; by default, those pairs of subject and relation with most facts are
            asked about, at the time step after the last fact.
        num_questions: How many such pairs; with 0 and without a file, there are no forecasts.
        top: Answers of each question.
        reasons: Pieces of evidence of each answer.
        device: The device to compute on.
        store: The database of added facts; by default that of the run.
        base: What the IRIs of RDF begin with, such as ``https://example.org/``; by default ``urn:titer:RUN:``.

    Raises:
        ConfigError: If the base is not the beginning of an IRI.
        DataError: If the questions cannot be read.
    """
    base = base or f"urn:titer:{quote(run.path.resolve().name, safe='')}:"
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*[/#:]", base, re.ASCII):
        raise ConfigError(f"--base must be the beginning of an IRI that ends with /, # or :, not {base!r}")
    dataset = run.dataset
    splits = [name for name, facts in dataset.splits.items() if len(facts)]
    table = fact_table(dataset, splits)
    forecasts: list[Forecast | Unanswered] = []
    with Forecaster.load(run, device, store) as forecaster:
        if store is not None or run.store_path.is_file():
            table = pa.concat_tables([table, _added(forecaster, dataset)])
        asked = (
            read_questions(questions, dataset.mapping)
            if questions is not None
            else iter(frequent_questions(dataset, num_questions))
        )
        forecasts.extend(forecaster.ask_many(asked, top=top, explain=reasons))
        model = forecaster.model.name
    commit, _ = source()
    provenance = {
        "run": run.path.resolve().name,
        "model": model,
        "weights_sha256": sha256_of(run.path / MODEL),
        "dataset": dataset.name,
        "dataset_checksum": dataset.checksum,
        "titer": __version__,
        "commit": commit,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "facts": table.num_rows,
        "questions": len(forecasts),
    }
    return ExportContent(dataset, table, forecasts, provenance, base)


def frequent_questions(dataset: Dataset, count: int) -> list[Question]:
    """Return questions for the object of the pairs of subject and relation with most facts, most frequent first.

    Args:
        dataset: The dataset.
        count: How many questions.
    """
    vocabulary, facts = dataset.vocabulary, dataset.facts
    pairs, counts = np.unique(
        facts.subject.astype(np.int64) * vocabulary.num_relations + facts.relation, return_counts=True
    )
    best = pairs[np.argsort(-counts, kind="stable")[:count]]
    return [
        Question(
            vocabulary.entities[pair // vocabulary.num_relations], vocabulary.relations[pair % vocabulary.num_relations]
        )
        for pair in best.tolist()
    ]


def import_words(dataset: Dataset) -> list[str]:
    """Return the options of ``titer data import`` that restore time unit and splits of exported facts.

    Args:
        dataset: The dataset.
    """
    words = ["--unit", dataset.axis.unit.value] if dataset.axis.unit is not TimeUnit.INTEGER else []
    valid, test = (dataset.splits[name] for name in SPLITS[1:])
    if not len(valid) and not len(test):
        return [*words, "--split", "1,0,0"]
    # An empty split begins where the next one does.
    test_from = int(test.time.min()) if len(test) else int(valid.time.max()) + 1
    valid_from = int(valid.time.min()) if len(valid) else test_from
    words += ["--valid-from", dataset.axis.label(valid_from), "--test-from", dataset.axis.label(test_from)]
    return words


def import_command(dataset: Dataset, *words: str) -> str:
    """Return the command that imports exported facts again.

    Args:
        dataset: The dataset.
        *words: File and options of the format.
    """
    return shlex.join(["titer", "data", "import", *words, *import_words(dataset), "--out", "DIR"])


def _added(forecaster: Forecaster, dataset: Dataset) -> pa.Table:
    rows = [(*fact[:3], dataset.axis.label(fact.step), ADDED) for _, fact, _ in forecaster.fact_store.since(0)]
    names = ("subject", "relation", "object", "time", "split")
    columns = list(zip(*rows, strict=True)) if rows else [[]] * len(names)
    return pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)})
