"""Files of questions: answered on the screen, into a file, or as a batch job into a folder."""

import json as json_text
import sys
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from titer.cli.batch_options import BatchOptions, Engine, PartitionFormat
from titer.cli.interruption import INTERRUPTED, note_state
from titer.cli.screen import note, say
from titer.counted import counted
from titer.errors import TiterError

if TYPE_CHECKING:
    from titer.data.readers.options import TableOptions
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.jobs.folder import JobFolder
    from titer.forecasting.jobs.inputs import QuestionInputs
    from titer.forecasting.jobs.job import Job, PartitionResult
    from titer.forecasting.jobs.tasks import Task
    from titer.ray.engine import Cluster
    from titer.runs.run import Run


@dataclass(frozen=True)
class QuestionBatch:
    """A file of questions, and the options of the command that answers it."""

    run: Path
    options: BatchOptions

    @property
    def questions(self) -> str:
        """Where the questions are."""
        assert self.options.file is not None
        return self.options.file

    def answer(self, task: "Task") -> None:
        """Answer the questions."""
        from titer.forecasting.answer_files import check_can_write
        from titer.forecasting.jobs.inputs import QuestionInputs, QuestionLocation

        options = self.options
        if options.has_folder:
            _answer_into_folder(self, task)
            return
        if options.engine is Engine.ray:
            raise TiterError("--engine ray writes a folder: pass --out FOLDER/")
        # Errors in the files are reported before the model is loaded.
        if options.out is not None:
            check_can_write(Path(options.out), overwrite=options.overwrite)
        with QuestionLocation(self.questions).located() as found:
            inputs = QuestionInputs.open(found, _mapping(self.run), options.table)
            forecaster = self.load(task)
            if options.out is None:
                _answer_on_screen(options, task, forecaster, inputs)
            else:
                _answer_into_file(options, task, forecaster, inputs, Path(options.out))

    def load(self, task: "Task") -> "Forecaster":
        """Load the run, with its event model if the task needs it."""
        from titer.forecasting.forecaster import Forecaster

        note_state(self.run)
        forecaster = Forecaster.load(self.run, self.options.device, self.options.store)
        if task.needs_events:
            prepare_events(forecaster)
        else:
            note_no_evidence(forecaster, getattr(task, "explain", 0))
        return forecaster


def prepare_events(forecaster: "Forecaster") -> None:
    """Load the event model of a run; if it has none, train and keep it, and say so."""
    if forecaster.has_events:
        return
    note("training the event model, once for this run")
    forecaster.prepare_events()
    if forecaster.run is not None and not forecaster.has_stored_events:
        note(f"{forecaster.run.path} cannot be written to, so the event model is not kept")


def note_no_evidence(forecaster: "Forecaster", explain: int) -> None:
    """Say that a model has no evidence, if evidence is asked for."""
    if explain and not forecaster.model.explains():
        note(f"note: {forecaster.model.name} has no evidence to show")


def _mapping(run: Path) -> "TableOptions | None":
    """Return how the dataset of a run was imported, without loading its model; ``None`` if that is not known."""
    from titer.data.dataset_folder import read_mapping
    from titer.training.layout import DATASET

    return read_mapping(run / DATASET)


def _answer_on_screen(options: BatchOptions, task: "Task", forecaster: "Forecaster", inputs: "QuestionInputs") -> None:
    from titer.forecasting.forecast import Unanswered
    from titer.forecasting.question_files import questions_of
    from titer.progress import track

    questions = (question for table in inputs.tables() for question in questions_of(table))
    total = unanswered = 0
    for result in track(task.results(forecaster, questions), "answering", inputs.count()):
        say(json_text.dumps(result.to_dict(), ensure_ascii=False) if options.json else f"{result}\n")
        total += 1
        unanswered += isinstance(result, Unanswered)
    _note_unanswered(unanswered, total, "see above")


def _answer_into_file(
    options: BatchOptions, task: "Task", forecaster: "Forecaster", inputs: "QuestionInputs", out: Path
) -> None:
    from titer.forecasting.answer_files import write_batches
    from titer.forecasting.jobs.answering import answer_schema, answer_table
    from titer.progress import track

    total = unanswered = 0
    progress = (number for number in track(count(), "answering", inputs.count()))

    def answers() -> Iterator[Any]:
        nonlocal total, unanswered
        for table in inputs.tables():
            total += table.num_rows
            for rows in answer_table(task, forecaster, table, lambda: next(progress)):
                unanswered += rows.num_rows - rows.column("error").null_count
                yield rows

    schema = answer_schema(task, inputs.schema)
    with closing(progress):
        write_batches(answers(), schema, out, overwrite=options.overwrite, raw_csv=options.raw_csv)
    note(f"{out}: answers to {counted(total, 'question')}")
    _note_unanswered(unanswered, total, 'see the column "error"')


def _answer_into_folder(batch: QuestionBatch, task: "Task") -> None:
    from titer.forecasting.jobs.begin import open_job
    from titer.forecasting.jobs.folder import JobFolder
    from titer.forecasting.jobs.partitions import PARTITION_SIZE
    from titer.progress import track
    from titer.runs.run import Run
    from titer.training.layout import EVENTS

    options = batch.options
    assert options.out is not None
    folder = JobFolder(options.out)
    run = Run(batch.run)
    # A cluster that cannot be used is reported before the questions are divided, which may take long.
    with _cluster(options) as cluster, _locked(folder):
        if task.needs_events and not (run.path / EVENTS).is_file():
            batch.load(task)
        job = open_job(
            folder,
            task,
            run,
            batch.questions,
            options=options.table,
            store=options.store,
            format=str(options.format or PartitionFormat.parquet),
            raw_csv=options.raw_csv,
            partition_size=options.partition_size or PARTITION_SIZE,
            overwrite=options.overwrite,
        )
        missing, total = len(job.missing()), len(job.sizes)
        if missing < total:
            note(f"{folder}: {total - missing:,} of {counted(total, 'partition')} answered already")
        questions = unanswered = 0
        with _continued_later(job):
            for result in track(_results(batch, job, run, cluster), "answering partitions", missing) if missing else ():
                questions += result.num_questions
                unanswered += result.num_unanswered
        job.finish()
    note(f"{folder}: answers to {counted(job.num_questions, 'question')} in {counted(total, 'file')}")
    _note_unanswered(unanswered, questions, 'see the column "error"')


@contextmanager
def _cluster(options: BatchOptions) -> "Generator[Cluster | None]":
    """Yield the cluster that the job runs on, connected if it is a running one; None to use this process."""
    if options.engine is Engine.local:
        yield None
        return
    try:
        from titer.ray.engine import Cluster, reached
    except ImportError as error:
        from titer.extras import missing

        raise missing("--engine ray", "ray") from error
    cluster = Cluster(options.address, options.workers, options.gpus_per_worker, options.threads or 1)
    with reached(cluster):
        yield cluster


def _results(batch: QuestionBatch, job: "Job", run: "Run", cluster: "Cluster | None") -> "Iterator[PartitionResult]":
    options = batch.options
    if cluster is None:
        from titer.forecasting.jobs.job import run_locally

        return run_locally(job, batch.load(job.task))
    from titer.ray.engine import run_on_ray

    note_state(batch.run)
    return run_on_ray(job, run, job.settings["run"], options.device, options.store, cluster)


@contextmanager
def _locked(folder: "JobFolder") -> Generator[None]:
    """Keep other processes from writing a folder; an object store has no locks."""
    from titer.files import locked

    if folder.path is None:
        yield
        return
    with locked(folder.path / ".lock", folder.path):
        yield


@contextmanager
def _continued_later(job: "Job") -> Generator[None]:
    """On Ctrl-C, say how far the job is and how to continue it, and exit."""
    try:
        yield
    except KeyboardInterrupt:
        done = len(job.sizes) - len(job.missing())
        total = counted(len(job.sizes), "partition")
        note(f"\ninterrupted after {done:,} of {total}; to continue, run the same command again")
        sys.exit(INTERRUPTED)


def _note_unanswered(unanswered: int, questions: int, where: str) -> None:
    if unanswered:
        note(f"{unanswered:,} of {counted(questions, 'question')} could not be answered: {where}")
