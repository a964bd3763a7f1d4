"""The study: all trials of a search, in a database that several workers share."""

import json
import time
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from titer.data.dataset import Dataset
from titer.errors import TiterError
from titer.extras import missing
from titer.models.search_space import SearchSpace
from titer.training.config import Config

if TYPE_CHECKING:
    import optuna

HEARTBEAT_SECONDS, GRACE_SECONDS = 15, 60
"""Seconds between the heartbeats of a worker, and without one until another worker retries its trial."""
MAX_RETRIES = 2
BUSY_SECONDS = 60
"""How long a worker waits while another writes to an SQLite file."""
NUM_ATTEMPTS = 3
NUM_STARTUP_TRIALS = 5
"""Trials that are never stopped early, since there is little to compare them with."""
STARTED_FROM = "titer"
"""The attribute of a study that holds what it was started from."""


def require_optuna() -> None:
    """Check that Optuna is installed, and keep it from printing: titer reports trials itself.

    Raises:
        MissingPackageError: If it is not.
    """
    try:
        import optuna
    except ImportError as error:
        raise missing("the search for settings", "tune") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@contextmanager
def open_study(
    name: str, storage: str | Path, dataset: Dataset, config: Config, space: SearchSpace, seed: int | None
) -> "Generator[optuna.Study]":
    """Yield the study of a name, new or as workers have left it; its database is closed afterwards.

    Args:
        name: The name of the study in its database.
        storage: The URL of a database, or an SQLite file.
        dataset: The dataset, without its test split.
        config: The configuration to start from.
        space: What is searched.
        seed: Seed of the search.

    Raises:
        TiterError: If the study was started with other data, settings or ranges, or the database cannot be used.
    """
    import optuna

    with opened_storage(storage) as opened:
        study = optuna.create_study(
            study_name=name,
            direction="maximize",
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(seed=seed),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=NUM_STARTUP_TRIALS),
            storage=opened,
        )
        _check_start(study, {"dataset": dataset.checksum, "config": config.to_dict(), "space": _described(space)})
        yield study


def running_trials(study: "optuna.Study") -> "list[optuna.trial.FrozenTrial]":
    """Return the trials that workers are running; those of killed workers are ended before.

    Args:
        study: The study.
    """
    import optuna
    from optuna.trial import TrialState

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        optuna.storages.fail_stale_trials(study)
    # A worker that was killed before it chose settings has reported no heartbeat, so its trial is never ended.
    latest = datetime.now() - timedelta(seconds=GRACE_SECONDS)
    return [
        trial
        for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        if trial.params or trial.datetime_start is None or trial.datetime_start > latest
    ]


@contextmanager
def opened_storage(address: str | Path) -> "Generator[optuna.storages.RDBStorage]":
    """Open the database of a study, and close its connections afterwards."""
    storage = _open_storage(address)
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _open_storage(address: str | Path) -> "optuna.storages.RDBStorage":
    """Open a database, and create its tables if it is new."""
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    from titer.store.database import database_url

    url = database_url(address)
    waiting = {"connect_args": {"timeout": BUSY_SECONDS}} if url.get_backend_name() == "sqlite" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        retry = optuna.storages.RetryHeartbeatStaleTrialCallback(max_retry=MAX_RETRIES)
        for attempts_left in reversed(range(NUM_ATTEMPTS)):
            try:
                return optuna.storages.RDBStorage(
                    url.render_as_string(hide_password=False),
                    engine_kwargs=waiting,
                    heartbeat_interval=HEARTBEAT_SECONDS,
                    grace_period=GRACE_SECONDS,
                    heartbeat_stale_trial_callback=retry,
                )
            except ImportError as error:
                raise missing("a search in PostgreSQL", "postgres") from error
            except SQLAlchemyError as error:
                # Workers that start together may both try to create the tables.
                if not attempts_left:
                    message = f"the storage of the search cannot be used: {str(error).splitlines()[0]}"
                    raise TiterError(message) from error
                time.sleep(1)
    raise AssertionError


def _described(space: SearchSpace) -> dict[str, Any]:
    return {key: vars(values) for key, values in space.items()}


def _check_start(study: "optuna.Study", start: dict[str, Any]) -> None:
    """Record what a new study starts from; refuse to continue one that started from anything else."""
    start = json.loads(json.dumps(start))
    known = study.user_attrs.get(STARTED_FROM)
    if known is None:
        study.set_user_attr(STARTED_FROM, start)
        return
    different = [kind for kind in start if known.get(kind) != start[kind]]
    if different:
        words = {"dataset": "data", "config": "settings", "space": "ranges"}
        raise TiterError(
            f"the study {study.study_name!r} was started with other {' and '.join(words[kind] for kind in different)}; "
            "continue it with the same ones, or give another --study or --storage"
        )
