"""Training and evaluation in one call: ``titer.train`` and ``titer.evaluate``."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from titer.data.dataset import Dataset
from titer.data.load import load_dataset
from titer.errors import ConfigError, TiterError
from titer.evaluation.evaluate import evaluate as evaluate_model
from titer.evaluation.protocol import Protocol, convention
from titer.evaluation.result import Evaluation
from titer.forecasting.forecaster import Forecaster
from titer.models.base import Model
from titer.models.registry import model_class
from titer.runs.reproduce import find_configuration
from titer.runs.run import Run
from titer.runs.train import train as train_run
from titer.suggestions import hint
from titer.trackers.registry import make_trackers
from titer.training.config import Config, TrainingConfig, read_toml


def train(
    dataset: Dataset | str | Path,
    model: str | None = None,
    *,
    config: Config | str | Path | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
    seed: int | None = None,
    device: str | None = None,
    track: Iterable[str] = (),
    **settings: Any,
) -> Forecaster:
    """Train a model on a dataset and return a forecaster that answers questions.

    The defaults are those of ``titer train``.

    >>> forecaster = titer.train("small-world", epochs=3, learning_rate=0.02, prior=False)
    >>> print(forecaster.ask("Caldera", "invite", explain=2))

    Args:
        dataset: A dataset, its folder, the name of a benchmark such as ``"ICEWS14"``, or ``"small-world"``.
        model: The name of a model; by default that of ``config``, or else ``"path_mixture"``.
        config: Settings to start from: a ``Config``, a TOML file, or the name of a published configuration such as
            ``"path_mixture/icews14"``. By default every setting has the model's default.
        out: The run directory to write. Without it nothing stays on disk.
        overwrite: Replace the run in ``out``.
        resume: Continue the interrupted training in ``out`` from its last checkpoint.
        seed: The seed of everything random.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:1"`` … or ``"auto"``, which is a GPU if there is one.
        track: Names of trackers that receive the course of the training, such as ``"mlflow"`` and ``"wandb"``.
            TensorBoard is always among them if it is installed.
        **settings: Fields of ``TrainingConfig`` or of the model's own settings, such as ``epochs=3`` or ``dim=64``.

    Returns:
        The forecaster. Its ``run`` is the run directory, or None if ``out`` was not given.

    Raises:
        ConfigError: A setting does not exist or has an impossible value.
        TiterError: The dataset or the model does not exist, or ``out`` cannot be written.
    """
    if out is None and (overwrite or resume):
        raise TiterError("overwrite and resume need out, the run directory")
    given = {"seed": seed, "device": device}
    settings |= {name: value for name, value in given.items() if value is not None}
    resolved = _resolve(config, model, settings)
    data = dataset if isinstance(dataset, Dataset) else load_dataset(dataset)
    if out is not None:
        run = train_run(data, resolved, out, overwrite=overwrite, resume=resume, trackers=make_trackers(track))
        return Forecaster.load(run, resolved.training.device)
    with TemporaryDirectory(prefix="titer-") as folder:
        trained = train_run(data, resolved, folder, trackers=make_trackers(track)).load_model(resolved.training.device)
    return Forecaster(trained, data)


def evaluate(
    what: Forecaster | Run | Model | str | Path,
    dataset: Dataset | str | Path | None = None,
    split: str = "test",
    protocol: Protocol | str | None = None,
    *,
    batch_size: int | None = None,
    device: str = "auto",
    quiet: bool = False,
) -> Evaluation:
    """Ask both queries of every fact in a split, (s, r, ?, t) and (?, r, o, t), and rank the true answers.

    Facts that were added to a run after its training are not used. ``Run.record`` stores the result in the run.

    >>> print(titer.evaluate("runs/events").metrics().mrr)

    Args:
        what: A forecaster, a run, the path of a run directory, or a model.
        dataset: The dataset of a model. A forecaster and a run have their own.
        split: ``"valid"`` or ``"test"``.
        protocol: A protocol, or the name of one: ``"realistic"`` (the default) or ``"paper"``.
        batch_size: Queries scored at once; the default depends on the device.
        device: Where to load the model of a run: ``"cpu"``, ``"cuda"`` or ``"auto"``.
        quiet: Show no progress bar.

    Returns:
        The ranks, with metrics over all queries and by group.

    Raises:
        TiterError: The run, the split or the protocol does not exist, or ``dataset`` does not go with ``what``.
    """
    model, data = _model_and_dataset(what, dataset, device)
    if split not in data.splits:
        raise TiterError(f"unknown split {split!r}{hint(split, list(data.splits))}")
    protocol = convention(protocol) if isinstance(protocol, str) else protocol
    return evaluate_model(model, data, split, protocol, batch_size=batch_size, quiet=quiet)


def configuration_file(config: str | Path) -> Path:
    """Return the TOML file of a configuration.

    Args:
        config: A path, or the name of a published configuration such as ``"path_mixture/icews14"``.

    Raises:
        UnknownNameError: There is no such file and no such published configuration.
    """
    path = Path(config)
    return path if path.is_file() or path.suffix == ".toml" else find_configuration(str(config))


def _model_and_dataset(
    what: Forecaster | Run | Model | str | Path, dataset: Dataset | str | Path | None, device: str
) -> tuple[Model, Dataset]:
    if isinstance(what, Model):
        if dataset is None:
            raise TiterError("a model is evaluated on a dataset: evaluate(model, dataset)")
        return what, dataset if isinstance(dataset, Dataset) else load_dataset(dataset)
    if dataset is not None:
        raise TiterError("a forecaster or a run is evaluated on its own dataset; give a split as split=...")
    if isinstance(what, Forecaster):
        return what.model, what.dataset
    run = what if isinstance(what, Run) else Run(what)
    return run.load_model(device), run.dataset


def _resolve(config: Config | str | Path | None, model: object, settings: dict[str, Any]) -> Config:
    """Return the configuration, with each setting in every table that has a field of its name."""
    if not isinstance(model, str | None):
        raise ConfigError(
            f"the model must be a name such as 'path_mixture', not {model!r:.50}; settings are given as epochs=3"
        )
    if isinstance(config, Config) and "preset" in settings:
        raise ConfigError("a Config has a value for every setting, which no preset changes; give one or the other")
    tables = _tables(config)
    model_name = Config.from_dict(tables, model).model_name
    for name, value in settings.items():
        for table in _tables_with(name, model_name):
            tables.setdefault(table, {})[name] = value
    return Config.from_dict(tables, model)


def _tables(config: Config | str | Path | None) -> dict[str, Any]:
    if config is None:
        return {}
    if isinstance(config, Config):
        return config.to_dict()
    return read_toml(configuration_file(config))


def _tables_with(setting: str, model_name: str) -> list[str]:
    """Return the tables with a setting: one, or both for ``seed`` and ``batch_size`` of models without gradients."""
    model_config = model_class(model_name).Config
    of_model = [field.name for field in fields(model_config)]
    if hasattr(model_config, "PRESETS"):
        of_model.append("preset")
    of_training = [field.name for field in fields(TrainingConfig)]
    tables = [table for table, names in (("model", of_model), ("training", of_training)) if setting in names]
    if not tables:
        known = list(dict.fromkeys([*of_training, *of_model]))
        raise ConfigError(f"unknown setting {setting!r} of {model_name}{hint(setting, known)}")
    return tables
