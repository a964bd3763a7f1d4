"""The configuration of a run: the settings of the model and of its training."""

from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from titer.errors import ConfigError
from titer.models.common.validation import check_at_most, check_not_negative, check_one_of, check_positive
from titer.models.registry import model_class
from titer.training.settings import build, override, read_toml, take_table, unknown

DEFAULT_MODEL = "path_mixture"
SCHEDULES = ("constant", "linear", "triangle")
KEPT = ("best", "last")
WARM_UP_SHARE = 0.05
MAX_SEED = 2**31 - 1


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained. Models without parameters use only ``seed`` and ``device``.

    Raises:
        ConfigError: If a value is out of range.
    """

    TABLE: ClassVar[str] = "training"

    epochs: int = 20
    """Passes over the training queries."""
    batch_size: int = 512
    """Queries per optimisation step."""
    learning_rate: float = 0.001
    """Learning rate of Adam."""
    learning_rate_schedule: str = "constant"
    """``constant``; ``linear``, which falls to zero epoch by epoch; or ``triangle``, which rises over the first
    twentieth of all optimisation steps and then falls to zero step by step."""
    weight_decay: float = 0.0
    """Weight decay of Adam. Of a table with sparse gradients, it affects the rows that a step reads."""
    recent_steps: int = 0
    """Learn only from the facts of this many last time steps of the training split; 0 learns from all."""
    clip_gradient: float = 10.0
    """Maximum norm of the gradient; 0 does not clip."""
    validate_every: int = 1
    """Epochs between two validations. Each writes a checkpoint to resume from."""
    keep: str = "best"
    """The weights of the finished run: those of the ``best`` validation, or of the ``last`` epoch."""
    patience: int = 0
    """Validations without improvement after which training stops; 0 never stops early."""
    cuda_graph: bool = True
    """Whether to replay optimisation steps as a CUDA graph, for models that support it."""
    seed: int = 0
    """Seed of all randomness in training."""
    device: str = "auto"
    """``cpu``, ``cuda``, ``cuda:1`` and so on; ``auto`` uses a GPU if there is one."""

    def __post_init__(self) -> None:
        check_one_of(self, "learning_rate_schedule", SCHEDULES)
        check_one_of(self, "keep", KEPT)
        check_positive(self, "batch_size", "validate_every", "learning_rate")
        check_not_negative(self, "epochs", "weight_decay", "clip_gradient", "seed", "patience", "recent_steps")
        check_at_most(self, MAX_SEED, "seed")

    def learning_rate_at(self, epoch: int, done: float) -> float:
        """Return the learning rate within an epoch.

        Args:
            epoch: The epoch, from 1.
            done: The share of the epoch's optimisation steps that are done, from 0 to 1.

        Returns:
            The learning rate of the next optimisation step.
        """
        begun, progress = (epoch - 1) / max(self.epochs, 1), (epoch - 1 + done) / max(self.epochs, 1)
        if self.learning_rate_schedule == "linear":
            return self.learning_rate * (1 - begun)
        if self.learning_rate_schedule == "triangle":
            return self.learning_rate * min(progress / WARM_UP_SHARE, (1 - progress) / (1 - WARM_UP_SHARE))
        return self.learning_rate


@dataclass(frozen=True)
class Config:
    """Everything that determines a run, apart from the data.

    Attributes:
        model_name: The name of the model.
        model: The settings of the model, an instance of the ``Config`` class of the model.
        training: The settings of the training.
        defaults: The names of the training settings that were not given. ``for_facts`` may change them.
    """

    model_name: str
    model: Any
    training: TrainingConfig = field(default_factory=TrainingConfig)
    defaults: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as the tables of ``config.toml``.

        Returns:
            The tables ``model`` and ``training``.
        """
        return {"model": {"name": self.model_name, **asdict(self.model)}, "training": asdict(self.training)}

    def with_seed(self, seed: int) -> "Config":
        """Return the configuration with another seed, of the training and of a model that has one of its own.

        Args:
            seed: The seed.

        Raises:
            ConfigError: If the seed is out of range.
        """
        own = {"seed": seed} if any(setting.name == "seed" for setting in fields(self.model)) else {}
        return replace(self, model=replace(self.model, **own), training=replace(self.training, seed=seed))

    def for_facts(self, num_facts: int) -> "Config":
        """Return the configuration with the defaults of the model for a number of facts, and for the device.

        Args:
            num_facts: The number of facts to train on.

        Returns:
            The same settings where they were given, and suitable ones elsewhere.

        Raises:
            ConfigError: If the device is not available.
        """
        # Help texts need the settings, and importing PyTorch takes long.
        from titer.training.device import choose_device

        given = {name: value for name, value in asdict(self.training).items() if name not in self.defaults}
        device = choose_device(self.training.device).type
        found = model_class(self.model_name).training_defaults(given, num_facts, device)
        changes = {name: value for name, value in found.items() if name in self.defaults}
        return replace(self, training=replace(self.training, **changes), defaults=frozenset())

    @classmethod
    def from_dict(cls, tables: dict[str, Any], model: str | None = None) -> "Config":
        """Make a configuration from the tables of a TOML file.

        Args:
            tables: The tables ``model`` and ``training``, each optional. ``model.name`` is the model, ``model.preset``
                one of its presets; all other keys are settings.
            model: The name of the model, if ``tables`` does not give it; by default the path mixture.

        Returns:
            The configuration. Settings that are not given have the model's defaults, and some of them may change when
            the number of facts is known (``for_facts``).

        Raises:
            ConfigError: If a setting does not exist, has the wrong type or an impossible value.
            UnknownNameError: If there is no such model.
        """
        tables = dict(tables)
        settings = dict(take_table(tables, "model"))
        named = settings.pop("name", None)
        if model is not None and named is not None and model != named:
            raise ConfigError(f"the configuration is for the model {named!r}, not for {model!r}")
        if named is not None and not isinstance(named, str):
            raise ConfigError(f"model.name must be a string, not {named!r}")
        model_name = model or named or DEFAULT_MODEL
        model_type = model_class(model_name)
        settings = {**_preset(model_type.Config, settings.pop("preset", None)), **settings}
        given = take_table(tables, "training")
        training = {**model_type.training_defaults(given), **given}
        if tables:
            raise unknown("table", next(iter(tables)), ["model", "training"])
        return cls(
            model_name,
            build(model_type.Config, settings, "model"),
            build(TrainingConfig, training, "training"),
            frozenset(one.name for one in fields(TrainingConfig)) - given.keys(),
        )

    @classmethod
    def load(cls, file: Path | None = None, model: str | None = None, overrides: list[str] | None = None) -> "Config":
        """Make a configuration from a TOML file and overrides.

        Args:
            file: A TOML file; without one, the model's defaults are used.
            model: The name of the model, if the file does not give it.
            overrides: Changes of single settings, each ``TABLE.KEY=VALUE``.

        Returns:
            The configuration.

        Raises:
            ConfigError: If the file cannot be read, or a setting is wrong.
            UnknownNameError: If there is no such model.
        """
        tables = read_toml(file) if file is not None else {}
        for change in overrides or []:
            override(tables, change)
        return cls.from_dict(tables, model)


def _preset(cls: type, name: Any) -> dict[str, Any]:
    presets: dict[str, dict[str, Any]] = getattr(cls, "PRESETS", {})
    if name is not None and (not isinstance(name, str) or name not in presets):
        raise unknown("preset", str(name), list(presets))
    return presets[name] if name is not None else {}
