from typing import Any, ClassVar

from models.cases import ModelCase

SMALL: dict[str, Any] = {"num_edges": (16, 8, 8), "kept_edges": 16, "entity_dim": 12, "time_dim": 4, "attention_dim": 8}


class TestXERTE(ModelCase):
    name = "xerte"
    settings: ClassVar = SMALL
    training: ClassVar = {"epochs": 1, "batch_size": 64, "learning_rate": 0.01, "learning_rate_schedule": "triangle"}
    least_mrr = 0.7
    shares_sum_to_one = True
