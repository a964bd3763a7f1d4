"""Search for the settings with the highest MRR on the validation split."""

import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import DataError, TiterError
from titer.models.search_space import SearchSpace
from titer.parallel.environment import num_processes
from titer.runs.train import train
from titer.trackers.base import StopTraining, TrackedTraining, Tracker
from titer.training.config import Config
from titer.tuning.space import suggest, values_of, with_settings
from titer.tuning.study import open_study, require_optuna, running_trials

if TYPE_CHECKING:
    import optuna

NOT_COUNTED = "titer: not counted"
"""The attribute of a trial that ended before it was tried."""
POLL_SECONDS = 1.0
"""How often a worker looks whether the last trials of the others have ended."""


class _SurplusTrialError(Exception):
    """Another worker has begun the last trial."""


@dataclass(frozen=True)
class SearchResult:
    """The state of a search.

    Attributes:
        config: The best configuration.
        mrr: Its MRR on the validation split.
        number: The number of its trial.
        trials: The MRR of every finished trial by number; of one that was stopped early, the last; None if it failed.
        stopped: The numbers of the trials that were stopped early.
        importance: The share of each searched setting in the differences between trials; empty if there are too few.
    """

    config: Config
    mrr: float
    number: int
    trials: Mapping[int, float | None]
    stopped: frozenset[int]
    importance: Mapping[str, float]


def tune(
    dataset: Dataset,
    config: Config,
    space: SearchSpace,
    storage: str | Path,
    *,
    study: str | None = None,
    trials: int = 50,
    timeout: float | None = None,
    seed: int | None = None,
    report: Callable[[SearchResult], None] = lambda _: None,
) -> SearchResult:
    """Search for the settings of a model with the highest MRR on the validation split.

    The test split is removed before anything else, so no trial can read it. The first trial has the given
    configuration. Trials whose validations are below the median of the others are stopped early. A trial that Ctrl-C
    interrupts is not counted, and is tried again when the search continues.

    Args:
        dataset: Supplies the training and the validation split.
        config: The configuration to start from.
        space: What to search.
        storage: The URL of a database, or an SQLite file. Workers that share it work on the same search, and a search
            that was interrupted continues.
        study: The name of the search in its database; by default that of model and dataset.
        trials: Number of trials in the database at which the search ends. A worker waits for the last trials of the
            others, so that its result is the best of all.
        timeout: Seconds after which no further trial begins, and no other worker is waited for.
        seed: Seed of the search. Workers on one storage need different ones.
        report: Called after each trial.

    Returns:
        The best configuration, and what mattered.

    Raises:
        MissingPackageError: If Optuna is not installed.
        TiterError: If there is no validation split, the study was started differently, or all trials failed.
    """
    require_optuna()
    from optuna.trial import TrialState

    if num_processes() > 1:
        raise TiterError("titer tune runs in one process; start it several times with the same --storage instead")
    if len(dataset.valid) == 0:
        raise DataError(f"{dataset.name!r} has no validation split, on which settings are chosen")
    # Attributes have a row for each fact, those of the test split too.
    dataset = replace(dataset, test=Facts.empty(), attributes=None)
    name = study or f"{config.model_name}/{dataset.name}"
    with open_study(name, storage, dataset, config, space, seed) as found:
        if not found.get_trials(deepcopy=False):
            found.enqueue_trial(values_of(config, space), skip_if_exists=True)

        def after_trial(study: "optuna.Study", trial: "optuna.trial.FrozenTrial") -> None:
            if NOT_COUNTED in trial.user_attrs:
                return
            if any(one.state == TrialState.COMPLETE for one in study.get_trials(deepcopy=False)):
                report(result_of(study, config))

        end = time.monotonic() + timeout if timeout is not None else math.inf
        is_waiting = False
        while (left := trials - len(finished_trials(found))) > 0 and time.monotonic() < end:
            running = len(running_trials(found))
            if running < left:
                found.optimize(
                    lambda trial: _objective(trial, dataset, config, space, trials),
                    n_trials=1,
                    callbacks=[after_trial],
                    catch=(TiterError, torch.OutOfMemoryError, _SurplusTrialError),
                )
                continue
            if not is_waiting:
                print(f"waiting for the last trials of other workers: {running}", file=sys.stderr)
                is_waiting = True
            time.sleep(POLL_SECONDS)
        return result_of(found, config)


def finished_trials(study: "optuna.Study") -> "list[optuna.trial.FrozenTrial]":
    """Return the finished trials that count; those that were interrupted or surplus do not.

    Args:
        study: The study.
    """
    trials = study.get_trials(deepcopy=False)
    return [trial for trial in trials if trial.state.is_finished() and NOT_COUNTED not in trial.user_attrs]


def result_of(study: "optuna.Study", config: Config) -> SearchResult:
    """Return the state of a study.

    Args:
        study: The study.
        config: The configuration that it started from.

    Raises:
        TiterError: If no trial was completed.
    """
    from optuna.importance import get_param_importances
    from optuna.trial import TrialState

    trials = finished_trials(study)
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    if not complete:
        raise TiterError("no trial was completed; their messages say why")
    differ = len({trial.value for trial in complete}) > 1
    return SearchResult(
        config=with_settings(config, study.best_trial.params),
        mrr=study.best_value,
        number=study.best_trial.number,
        trials={trial.number: trial.value for trial in trials},
        stopped=frozenset(trial.number for trial in trials if trial.state == TrialState.PRUNED),
        importance=get_param_importances(study) if differ else {},
    )


class PruningTracker(Tracker):
    """Reports every validation to a trial, and stops it if it is worse than most others were."""

    def __init__(self, trial: "optuna.Trial"):
        self._trial = trial

    def start(self, training: TrackedTraining, previous: str | None) -> str | None:
        """Do nothing: the trial has begun."""
        return None

    def log(self, epoch: int, values: Mapping[str, float]) -> None:
        """Report a validation.

        Raises:
            StopTraining: If the trial is to be stopped.
        """
        if "valid_mrr" in values:
            self._trial.report(values["valid_mrr"], epoch)
            if self._trial.should_prune():
                raise StopTraining

    def summarise(self, values: Mapping[str, float]) -> None:
        """Do nothing: the trial returns its result."""

    def close(self, *, failed: bool) -> None:
        """Do nothing: the trial ends by itself."""


def _objective(trial: "optuna.Trial", dataset: Dataset, config: Config, space: SearchSpace, max_trials: int) -> float:
    """Train with the settings of a trial; return the MRR on the validation split."""
    from optuna import TrialPruned

    # Workers that begin at the same time do not see each other's trial before, but numbers have an order.
    begun = [*running_trials(trial.study), *finished_trials(trial.study)]
    if len({one.number for one in begun if one.number < trial.number}) >= max_trials:
        trial.set_user_attr(NOT_COUNTED, "surplus")
        raise _SurplusTrialError
    settings = suggest(trial, space)
    try:
        tried = with_settings(config, settings)
        with TemporaryDirectory(prefix="titer-trial-") as folder:
            run = train(dataset, tried, folder, trackers={"trial": PruningTracker(trial)})
            return run.evaluations[-1]["metrics"]["mrr"]
    except StopTraining:
        raise TrialPruned from None
    except KeyboardInterrupt:
        trial.set_user_attr(NOT_COUNTED, "interrupted")
        trial.study.enqueue_trial(settings)
        raise
    except TiterError as error:
        print(f"trial {trial.number} failed: {error}", file=sys.stderr)
        raise
