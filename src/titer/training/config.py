"""Settings: typed, documented once, and refused before any work if they are wrong."""

import math
import tomllib
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from titer.errors import ConfigError
from titer.models.registry import model_class

DEFAULT_MODEL = "path_mixture"
SCHEDULES = ("constant", "linear", "triangle")
WARM_UP_SHARE = 0.05
LARGEST_SEED = 2**31 - 1

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained, whichever it is. Models without parameters use only ``seed`` and ``device``."""

    epochs: int = 20
    """How often every training fact is looked at."""
    batch_size: int = 512
    """Questions per step."""
    learning_rate: float = 0.001
    """Step size of Adam."""
    learning_rate_schedule: str = "constant"
    """constant; linear: falling to nothing from epoch to epoch; or triangle: rising over the first twentieth of all
    steps, then falling to nothing from step to step."""
    weight_decay: float = 0.0
    """Weight decay of Adam."""
    recent_steps: int = 0
    """How many of the last time steps of the training split to learn from; 0 learns from all."""
    clip_gradient: float = 10.0
    """Largest norm of the gradient; 0 leaves it alone."""
    validate_every: int = 1
    """Epochs between two measurements on the validation split; the best model is kept, and training can resume."""
    patience: int = 0
    """Measurements without a new best after which training stops; 0 goes on to the end."""
    cuda_graph: bool = True
    """Whether to replay recorded steps on a GPU, for models that can be recorded."""
    seed: int = 0
    """Seed of everything that is random in training."""
    device: str = "auto"
    """``cpu``, ``cuda``, ``cuda:1`` …; ``auto`` takes a GPU where there is one."""

    def __post_init__(self) -> None:
        if self.learning_rate_schedule not in SCHEDULES:
            raise ConfigError(
                f"training.learning_rate_schedule is {', '.join(SCHEDULES)}, not {self.learning_rate_schedule!r}"
            )
        for name in ("batch_size", "validate_every", "learning_rate"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"training.{name} must be positive, not {getattr(self, name)}")
        if self.seed > LARGEST_SEED:
            raise ConfigError(f"training.seed must be at most {LARGEST_SEED}, not {self.seed}")
        for name in ("epochs", "weight_decay", "clip_gradient", "seed", "patience", "recent_steps"):
            if getattr(self, name) < 0:
                raise ConfigError(f"training.{name} must not be negative, as {getattr(self, name)} is")

    def learning_rate_at(self, epoch: int, done: float) -> float:
        """The step size in an epoch, counted from 1, of which a share is done."""
        begun, progress = (epoch - 1) / max(self.epochs, 1), (epoch - 1 + done) / max(self.epochs, 1)
        if self.learning_rate_schedule == "linear":
            return self.learning_rate * (1 - begun)
        if self.learning_rate_schedule == "triangle":
            return self.learning_rate * min(progress / WARM_UP_SHARE, (1 - progress) / (1 - WARM_UP_SHARE))
        return self.learning_rate


@dataclass(frozen=True)
class Config:
    """Everything that decides a run, apart from the data."""

    model_name: str
    model: Any
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def to_dict(self) -> dict[str, Any]:
        """As the tables of ``config.toml``."""
        return {"model": {"name": self.model_name, **asdict(self.model)}, "training": asdict(self.training)}

    @classmethod
    def from_dict(cls, tables: dict[str, Any], model: str | None = None) -> "Config":
        """From the tables of a TOML file; ``model`` names the model where the file does not."""
        tables = dict(tables)
        settings = dict(_table(tables, "model"))
        named = settings.pop("name", None)
        if model is not None and named is not None and model != named:
            raise ConfigError(f"the configuration is for the model {named!r}, not for {model!r}")
        if named is not None and not isinstance(named, str):
            raise ConfigError(f"model.name must be text, not {named!r}")
        model_name = model or named or DEFAULT_MODEL
        model_type = model_class(model_name)
        settings = {**_preset(model_type.Config, settings.pop("preset", None)), **settings}
        training = {**model_type.training_settings, **_table(tables, "training")}
        if tables:
            raise ConfigError(_unknown("table", next(iter(tables)), ["model", "training"]))
        return cls(model_name, build(model_type.Config, settings, "model"), build(TrainingConfig, training, "training"))

    @classmethod
    def load(cls, file: Path | None = None, model: str | None = None, overrides: list[str] | None = None) -> "Config":
        """From a TOML file, if there is one, changed by ``table.key=value`` overrides."""
        tables = read_toml(file) if file is not None else {}
        for override in overrides or []:
            _apply(tables, override)
        return cls.from_dict(tables, model)


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file, with an error that names it."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file}: {error}") from error


def build(cls: type[Settings], table: dict[str, Any], name: str) -> Settings:
    """Make a settings dataclass out of a TOML table, refusing unknown keys and wrong types."""
    hints = get_type_hints(cls)
    known = [f.name for f in fields(cls)]  # type: ignore[arg-type]
    values = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(_unknown("setting", f"{name}.{key}", [f"{name}.{k}" for k in known]))
        try:
            values[key] = _typed(value, hints[key])
        except TypeError:
            raise ConfigError(f"{name}.{key} must be {_describe(hints[key])}, not {value!r}") from None
    return cls(**values)


def _preset(cls: type, name: Any) -> dict[str, Any]:
    presets: dict[str, dict[str, Any]] = getattr(cls, "PRESETS", {})
    if name is not None and (not isinstance(name, str) or name not in presets):
        raise ConfigError(_unknown("preset", str(name), list(presets)))
    return presets[name] if name is not None else {}


def _typed(value: Any, hint: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if get_origin(hint) is tuple and isinstance(value, list | tuple):
        return tuple(_typed(item, get_args(hint)[0]) for item in value)
    if get_origin(hint) in (Union, UnionType):
        for option in get_args(hint):
            try:
                return _typed(value, option)
            except TypeError:
                continue
        raise TypeError
    if isinstance(hint, type) and isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise TypeError


def _describe(hint: Any) -> str:
    if get_origin(hint) is tuple:
        return f"a list of {_describe(get_args(hint)[0])}s".replace("a list of a ", "a list of ")
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return names.get(hint, str(hint))


def _table(tables: dict[str, Any], name: str) -> dict[str, Any]:
    table = tables.pop(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{name} must be a table with settings in it, not {table!r}")
    return table


def _apply(tables: dict[str, Any], override: str) -> None:
    path, equals, written = override.partition("=")
    table, dot, key = path.strip().partition(".")
    if not (equals and dot and table and key):
        raise ConfigError(f"--set wants table.key=value, such as training.epochs=6, not {override!r}")
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        value = written.strip()  # text need not be quoted
    if not isinstance(tables.setdefault(table, {}), dict):
        raise ConfigError(f"{table} must be a table with settings in it")
    tables[table][key] = value


def _unknown(kind: str, name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known) or 'none'}"
    return f"there is no {kind} {name!r}; {hint}"
