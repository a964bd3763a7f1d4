"""Settings that can be changed after training, because only scoring reads them."""

from typing import Any

from titer.errors import ConfigError
from titer.models.registry import model_class
from titer.training.config import Config
from titer.training.settings import override


def with_evaluation_settings(config: Config, changes: list[str]) -> Config:
    """Return a configuration with settings changed that only the scoring of a trained model reads.

    Args:
        config: The configuration of a run.
        changes: The changes, each ``model.KEY=VALUE``.

    Returns:
        The changed configuration.

    Raises:
        ConfigError: If a setting does not exist, has an impossible value, or affects the training or the weights.
    """
    if not changes:
        return config
    changed = changed_settings(changes)
    tables = config.to_dict()
    for change in changes:
        override(tables, change)
    new = Config.from_dict(tables)  # rejects settings that do not exist before those that cannot be changed
    allowed = [f"model.{name}" for name in sorted(model_class(config.model_name).evaluation_settings)]
    for name in changed:
        if name not in allowed:
            known = f"only {', '.join(allowed)} can be" if allowed else "no setting of this model can be"
            raise ConfigError(
                f"{name} affects the training or the weights of {config.model_name}; {known} changed afterwards"
            )
    return new


def changed_settings(changes: list[str]) -> dict[str, Any]:
    """Return the values of overrides by the full name of their settings, such as ``model.mu``.

    Args:
        changes: Overrides, each ``TABLE.KEY=VALUE``.

    Raises:
        ConfigError: If an override does not have this form.
    """
    tables: dict[str, Any] = {}
    for change in changes:
        override(tables, change)
    return {f"{table}.{key}": value for table, settings in tables.items() for key, value in settings.items()}
