"""Settings of event forecasts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EventConfig:
    """Settings of event forecasts. The defaults were chosen on the validation split of ICEWS14."""

    seed: int = 0
    """Seed of everything random."""
    num_rows: int = 800_000
    """Maximum number of training examples."""
    min_rows: int = 40_000
    """Minimum number of training examples to draw."""
    rows_per_fact: int = 12
    """Training examples for each fact of the training split, between these limits."""
    epochs: int = 3
    """Minimum number of passes over the examples."""
    min_batches: int = 600
    """Minimum number of batches: with few examples there are more passes."""
    batch_size: int = 2048
    """Examples in a batch."""
    learning_rate: float = 0.003
    """Largest learning rate of Adam."""
    members: int = 2
    """Networks whose log intensities are averaged."""
    num_queries: int = 2048
    """Directed pairs (entity, relation) per forecast whose answers the model scores; fewer with many entities."""
    new_per_query: int = 20
    """Facts that never occurred before, kept for each of these pairs."""
    new_relations: int = 20_000
    """New relations between entities with other facts, per forecast."""
    new_steps: int = 100
    """Time steps of the training split at which examples of these are drawn."""
    new_examples: int = 300
    """Examples of these per step, beside those that happen."""
    calibration_steps: int = 26
    """Validation steps from which forecasts are made to fit the calibration."""
    recent_steps: int = 20
    """Maximum number of steps before a forecast whose outcomes correct it; 0 for no correction."""
