"""Settings of event forecasts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EventConfig:
    """Settings of event forecasts. The defaults were chosen on the validation split of ICEWS14."""

    seed: int = 0
    """Seed of everything random."""
    num_rows: int = 300_000
    """Maximum number of training examples."""
    rows_per_fact: int = 20
    """Training examples for each fact of the training split, if these are fewer."""
    epochs: int = 4
    """Minimum number of passes over the examples."""
    min_batches: int = 600
    """Minimum number of batches: with few examples there are more passes."""
    batch_size: int = 2048
    """Examples in a batch."""
    learning_rate: float = 0.003
    """Largest learning rate of Adam."""
    members: int = 1
    """Networks whose log intensities are averaged."""
    num_queries: int = 512
    """Directed pairs (entity, relation) per forecast whose answers the model scores."""
    new_per_query: int = 20
    """Facts that never occurred before, kept for each of these pairs."""
    calibration_steps: int = 26
    """Validation steps from which forecasts are made to fit the calibration."""
