"""Small random worlds, and models of every kind with random weights."""

import random
from dataclasses import dataclass
from typing import Any

import torch

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.models.base import Model
from titer.models.registry import model_class
from titer.training.config import Config

MODELS: dict[str, dict[str, Any]] = {
    "cygnet": {"dim": 8},
    "de_simple": {"dim": 8},
    "path_mixture": {"dim": 8, "relation_dim": 8, "hidden_dim": 8, "first_edges": 8, "second_edges": 8},
    "random_walk": {"num_walks": 100},
    "re_gcn": {"dim": 8, "steps": 2, "layers": 1, "channels": 4},
    "recurrency": {},
    "renet": {"dim": 8, "local_steps": 4, "global_steps": 3},
    "ta_distmult": {"dim": 8},
    "tango_distmult": {"dim": 8, "steps": 2, "solver": "euler"},
    "tango_tucker": {"dim": 8, "steps": 2, "solver": "euler"},
    "tirgn": {"dim": 8, "steps": 2, "layers": 1, "channels": 4},
    "titer": {"num_edges": 20, "beam_size": 30, "entity_dim": 8, "time_dim": 4, "num_snapshots": 10},
    "tlogic": {"num_walks": 50, "num_samples": 100},
    "tntcomplex": {"dim": 8, "num_periods": 10},
    "ttranse": {"dim": 8, "num_periods": 10},
    "xerte": {"num_edges": (16, 8, 8), "kept_edges": 16, "entity_dim": 12, "time_dim": 4, "attention_dim": 8},
}
"""Settings of a small model of every kind."""


@dataclass(frozen=True)
class World:
    """Random facts, and a time in the middle of them to ask about."""

    facts: Facts
    vocabulary: Vocabulary
    time: int


def random_world(choice: random.Random) -> World:
    """Return a world with few entities and many facts, so that ties and repetitions occur."""
    num_entities, num_relations, num_steps = choice.randint(2, 12), choice.randint(1, 4), choice.randint(3, 16)
    rows = [
        (
            choice.randrange(num_entities),
            choice.randrange(num_relations),
            choice.randrange(num_entities),
            choice.randrange(num_steps),
        )
        for _ in range(choice.choice([5, 30, 120]))
    ]
    facts = Facts.from_rows(rows).sorted_by_time()
    return World(facts, Vocabulary.numbered(num_entities, num_relations), choice.randint(1, num_steps))


def prepared_model(name: str, vocabulary: Vocabulary, train: Facts, seed: int) -> Model:
    """Return a prepared model with random weights, none of them zero."""
    torch.manual_seed(seed)
    config = Config.from_dict({"model": MODELS[name]}, name)
    model = model_class(name)(vocabulary, TimeAxis(), config.model)
    model.prepare(train, Facts.empty())
    with torch.no_grad():
        for parameter in model.parameters():  # parameters that begin at 0 would hide what they are multiplied by
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()
