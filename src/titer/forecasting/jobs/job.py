"""A batch job: a folder of partitions that are answered one by one, in any order and by any number of processes."""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from titer.data.time_axis import TimeAxis
from titer.errors import TiterError
from titer.files import checksum
from titer.forecasting.answer_files import write_file
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.jobs.answering import answer_schema, answer_table
from titer.forecasting.jobs.folder import JobFolder
from titer.forecasting.jobs.partitions import partitions
from titer.forecasting.jobs.tasks import Task

MANIFEST = "_job.json"
QUESTIONS = "_questions"
FORMATS = ("parquet", "csv", "jsonl")
WORDS = {
    "inputs": "questions",
    "form": "form of the questions",
    "run": "run",
    "facts": "added facts",
    "task": "options",
    "format": "format",
    "raw_csv": "--raw-csv",
    "partition_size": "partition size",
    "titer": "version of titer",
}
"""What messages call the settings of a job."""


@dataclass(frozen=True)
class PartitionResult:
    """One answered partition."""

    partition: int
    num_questions: int
    num_unanswered: int
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Job:
    """A batch job. Its partitions can be answered in any order, by several processes at once, and again.

    Attributes:
        folder: Where the answers are written.
        task: What is asked.
        settings: Everything that the answers depend on, as plain values.
        sizes: The number of questions of each partition.
    """

    folder: JobFolder
    task: Task
    settings: dict[str, Any]
    sizes: tuple[int, ...] = ()

    @classmethod
    def find(cls, folder: JobFolder, task: Task, settings: dict[str, Any], *, overwrite: bool = False) -> "Job | None":
        """Return the job that was begun in a folder; None if there is none yet.

        Args:
            folder: The folder.
            task: What is asked.
            settings: The settings of the job.
            overwrite: Whether to remove the answers in the folder and begin again.

        Raises:
            TiterError: The folder has a job with other settings, or other files.
        """
        names = folder.names()
        if MANIFEST in names:
            manifest = _read_manifest(folder)
            different = [word for key, word in WORDS.items() if manifest["settings"].get(key) != settings.get(key)]
            if not different and not overwrite:
                return cls(folder, task, settings, tuple(manifest["sizes"]))
            if not overwrite:
                raise TiterError(
                    f"{folder} has answers of another job, which differs in: {', '.join(different)}; "
                    "choose another folder or pass --overwrite"
                )
            # The manifest last: a folder without one is not recognised as a job.
            folder.remove(*(name for name in names if name.startswith("part-")), QUESTIONS, MANIFEST)
        elif others := sorted(name for name in names if not name.startswith((".", "_"))):
            raise TiterError(f"{folder} is not empty and is not a batch job: it has {others[0]}; choose another folder")
        return None

    def prepare(self, questions: Iterable[pa.Table], axis: TimeAxis) -> "Job":
        """Write the questions as partitions, and return the job that is ready to be answered.

        Args:
            questions: Tables of questions with their numbers.
            axis: The calendar of the dataset.
        """
        self.folder.remove(QUESTIONS)
        sizes: list[int] = []
        for table in partitions(questions, axis, self.settings["partition_size"]):
            with self.folder.writing(self._questions(len(sizes))) as path:
                pq.write_table(table, path)
            sizes.append(table.num_rows)
        # Written last: a folder with this file has all partitions.
        manifest = {"settings": self.settings, "sizes": sizes}
        self.folder.write_text(MANIFEST, json.dumps({**manifest, "sha256": checksum(manifest)}, indent=2) + "\n")
        return replace(self, sizes=tuple(sizes))

    @property
    def num_questions(self) -> int:
        """The number of questions."""
        return sum(self.sizes)

    @property
    def is_ready(self) -> bool:
        """Whether the questions of all missing partitions exist. Those of a finished job are removed."""
        return {self._questions(number) for number in self.missing()} <= {
            f"{QUESTIONS}/{name}" for name in self.folder.names(QUESTIONS)
        }

    def missing(self) -> list[int]:
        """Return the partitions that are not answered yet."""
        done = self.folder.names()
        return [number for number in range(len(self.sizes)) if self._answers(number) not in done]

    def answer(self, partition: int, forecaster: Forecaster) -> PartitionResult | None:
        """Answer one partition and write its answers, unless they exist.

        Args:
            partition: The number of the partition.
            forecaster: The run of the job.

        Returns:
            What was done; None if the answers exist.

        Raises:
            TiterError: Facts were added or removed since the job began.
        """
        name = self._answers(partition)
        if name in self.folder.names():
            return None
        started, cpu_started = time.monotonic(), time.process_time()
        questions = self.folder.read_table(self._questions(partition))
        unanswered = 0

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal unanswered
            for batch in answer_table(self.task, forecaster, questions):
                unanswered += batch.num_rows - batch.column("error").null_count
                yield batch

        with self.folder.writing(name) as path:
            schema = answer_schema(self.task, questions.schema)
            suffix, raw_csv = f".{self.settings['format']}", self.settings["raw_csv"]
            write_file(counted(), schema, path, suffix, raw_csv=raw_csv)
            # Checked after the answers: the version only grows, so these facts were known all the time.
            if list(forecaster.facts_version) != self.settings["facts"]:
                raise TiterError("facts were added or removed while the job ran; begin again with --overwrite")
        seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu_started
        return PartitionResult(partition, questions.num_rows, unanswered, seconds, cpu_seconds)

    def finish(self) -> None:
        """Remove what only an unfinished job needs."""
        self.folder.remove(QUESTIONS)
        self.folder.remove_unfinished()

    def _questions(self, partition: int) -> str:
        return f"{QUESTIONS}/part-{partition:05d}.parquet"

    def _answers(self, partition: int) -> str:
        return f"part-{partition:05d}.{self.settings['format']}"


def _read_manifest(folder: JobFolder) -> dict[str, Any]:
    try:
        manifest = json.loads(folder.read_text(MANIFEST))
        if manifest.pop("sha256") != checksum(manifest):
            raise ValueError("its checksum does not match its content")
        return manifest
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TiterError(f"{folder}/{MANIFEST} is damaged: {error}; choose another folder") from error


def run_locally(job: Job, forecaster: Forecaster) -> Iterator[PartitionResult]:
    """Answer the missing partitions of a job in this process.

    Args:
        job: The job.
        forecaster: Its run.

    Yields:
        Each partition when it is answered.
    """
    for number in job.missing():
        if result := job.answer(number, forecaster):
            yield result
