"""Begin a batch job, or find the one that was interrupted."""

from dataclasses import asdict
from typing import Any

from titer.data.readers.options import TableOptions
from titer.forecasting.jobs.fingerprint import facts_version, fingerprint
from titer.forecasting.jobs.folder import JobFolder
from titer.forecasting.jobs.inputs import QuestionInputs, QuestionLocation
from titer.forecasting.jobs.job import Job
from titer.forecasting.jobs.partitions import PARTITION_SIZE
from titer.forecasting.jobs.tasks import Task
from titer.runs.run import Run
from titer.version import __version__


def open_job(
    folder: JobFolder,
    task: Task,
    run: Run,
    questions: str,
    *,
    options: TableOptions | None = None,
    store: str | None = None,
    format: str = "parquet",
    raw_csv: bool = False,
    partition_size: int = PARTITION_SIZE,
    overwrite: bool = False,
) -> Job:
    """Return the job in a folder; begin it first if the folder has none.

    Args:
        folder: Where the answers are written.
        task: What to ask.
        run: The run that answers.
        questions: A file, a folder, a pattern or a URL of questions.
        options: How the files of questions are written, where that is not the standard form.
        store: The database of added facts; None for that of the run.
        format: ``"parquet"``, ``"csv"`` or ``"jsonl"``.
        raw_csv: Whether names in CSV files stay as they are, also those that a spreadsheet would run as formulas.
        partition_size: How many questions a file of answers has at most.
        overwrite: Whether to remove the answers in the folder and begin again.

    Raises:
        DataError: The questions cannot be read.
        TiterError: The folder has a job with other settings, or other files.
    """
    location = QuestionLocation(questions)
    settings: dict[str, Any] = {
        "task": task.to_dict(),
        "run": fingerprint(run, events=task.needs_events),
        "facts": list(facts_version(store or run.store_path, run.dataset)),
        "format": format,
        "raw_csv": raw_csv,
        "partition_size": partition_size,
        "form": {} if options is None else {key: value for key, value in asdict(options).items() if value},
        "titer": __version__,
    }
    if location.is_remote:  # identified without being copied
        settings["inputs"] = location.identity(None)
        found = Job.find(folder, task, settings, overwrite=overwrite)
        if found is not None and found.is_ready:
            return found
    with location.located() as files:
        if not location.is_remote:
            settings["inputs"] = location.identity(files)
            found = Job.find(folder, task, settings, overwrite=overwrite)
            if found is not None and found.is_ready:
                return found
        inputs = QuestionInputs.open(files, run.dataset.mapping, options)
        return Job(folder, task, settings).prepare(inputs.tables(), run.dataset.axis)
