"""Build the model of a configuration."""

from titer.data.dataset import Dataset
from titer.errors import ConfigError
from titer.models.base import Model
from titer.models.registry import model_class
from titer.training.config import Config


def build_model(config: Config, dataset: Dataset) -> Model:
    """Return a new model.

    Raises:
        ConfigError: If the settings do not fit the data, or the model does not fit into memory.
    """
    try:
        return model_class(config.model_name)(dataset.vocabulary, dataset.axis, config.model)
    except (RuntimeError, MemoryError, OverflowError) as error:  # PyTorch's error for sizes beyond the memory
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ConfigError(f"the model {config.model_name} cannot be built with these settings: {reason}") from error
