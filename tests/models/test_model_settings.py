"""Which values the settings of each model accept, and that an error names the wrong setting."""

import re
from dataclasses import fields
from typing import Any

import pytest

from titer.errors import ConfigError
from titer.models.common.embedding import EmbeddingConfig
from titer.models.cygnet import CyGNetConfig
from titer.models.de_simple import DESimplEConfig
from titer.models.random_walk import RandomWalkConfig
from titer.models.re_gcn.config import REGCNConfig
from titer.models.recurrency import RecurrencyConfig
from titer.models.renet.config import RENetConfig
from titer.models.tango.config import TANGOConfig
from titer.models.tirgn.config import TiRGNConfig
from titer.models.tlogic.config import TLogicConfig
from titer.models.tntcomplex import TNTComplExConfig
from titer.models.ttranse import TTransEConfig
from titer.models.xerte.config import XERTEConfig

NAN = float("nan")
COUNT = ([1, 2], [0, -1])
POSITIVE = ([0.1], [0.0, -0.1, NAN])
NOT_NEGATIVE = ([0.0, 0.1], [-0.1, NAN])
RATE = ([0.0, 0.9], [-0.1, 1.0, NAN])
SHARE = ([0.0, 1.0], [-0.1, 1.1, NAN])
ANYTHING = ([True, False], [])

EMBEDDING = {"dim": COUNT, "dropout": RATE}
EVOLUTION = {
    "dim": COUNT,
    "steps": COUNT,
    "layers": COUNT,
    "channels": COUNT,
    "dropout": RATE,
    "entity_weight": SHARE,
    "names": ANYTHING,
    "angle": NOT_NEGATIVE,
    "angle_weight": NOT_NEGATIVE,
}

SETTINGS: dict[type, dict[str, tuple[list[Any], list[Any]]]] = {
    CyGNetConfig: {
        "dim": COUNT,
        "copy_weight": ([0.1, 0.9], [0.0, 1.0, NAN]),
        "copy_range": POSITIVE,
        "frozen_vocabulary": ANYTHING,
        "dropout": RATE,
    },
    DESimplEConfig: {**EMBEDDING, "temporal_share": SHARE, "time_scale": POSITIVE},
    EmbeddingConfig: EMBEDDING,  # that of TA-DistMult
    RandomWalkConfig: {
        "num_hops": COUNT,
        "num_edges": COUNT,
        "num_walks": COUNT,
        "seed": ([0, (1 << 31) - 1], [-1, 1 << 31]),
    },
    REGCNConfig: EVOLUTION,
    RecurrencyConfig: {
        "decays": ([(0.0,), (1.0, 2.0)], [(), (1.0, -0.1), (NAN,)]),
        "mixes": ([(0.0,), (1.0, 2.0)], [(), (1.0, -0.1), (NAN,)]),
        "prior": NOT_NEGATIVE,
        "shrinkage": NOT_NEGATIVE,
        "batch_size": COUNT,
        "num_queries": COUNT,
    },
    RENetConfig: {
        "dim": ([2, 4], [0, -1]),
        "layers": COUNT,
        "block": ([1, 2, 200], [0, -1, 3]),
        "attention_dim": COUNT,
        "local_steps": COUNT,
        "global_steps": COUNT,
        "dropout": RATE,
        "question_dropout": RATE,
    },
    TANGOConfig: {
        "dim": COUNT,
        "steps": COUNT,
        "layers": COUNT,
        "jump": NOT_NEGATIVE,
        "solver": (["euler", "midpoint", "rk4"], ["dopri5"]),
        "dropout": RATE,
    },
    TiRGNConfig: {**EVOLUTION, "history_weight": ([0.1, 0.9], [0.0, 1.0, NAN])},
    TNTComplExConfig: {
        **EMBEDDING,
        "num_periods": COUNT,
        "embedding_penalty": NOT_NEGATIVE,
        "smoothness_penalty": NOT_NEGATIVE,
    },
    TLogicConfig: {
        "rule_lengths": ([(1,), (3, 1)], [(), (1, 1), (0,), (4,)]),
        "num_walks": COUNT,
        "transition": (["exponential", "uniform"], ["linear"]),
        "num_samples": COUNT,
        "min_confidence": SHARE,
        "min_body_support": COUNT,
        "top_k": ([0, 20], [-1]),
        "window": ([0, 200], [-1]),
        "confidence_weight": SHARE,
        "decay": POSITIVE,
        "smoothing": NOT_NEGATIVE,
        "popularity_weight": SHARE,
    },
    TTransEConfig: {**EMBEDDING, "num_periods": COUNT},
    XERTEConfig: {
        "num_edges": ([(1,), (5, 3)], [(), (5, 0)]),
        "kept_edges": COUNT,
        "strictly_back": ANYTHING,
        "entity_dim": COUNT,
        "time_dim": COUNT,
        "attention_dim": COUNT,
        "gamma": SHARE,
        "dropout": RATE,
    },
}

CASES = [(cls, name) for cls, settings in SETTINGS.items() for name in settings]


@pytest.mark.parametrize(("cls", "name"), CASES, ids=[f"{cls.__name__}-{name}" for cls, name in CASES])
def test_a_setting_accepts_its_range_and_an_error_names_it(cls: type, name: str):
    good, bad = SETTINGS[cls][name]
    for value in good:
        assert getattr(cls(**{name: value}), name) == value
    for value in bad:
        with pytest.raises(ConfigError, match=rf"^{re.escape(f'model.{name}')} must "):
            cls(**{name: value})


@pytest.mark.parametrize("cls", SETTINGS)
def test_every_setting_has_a_case(cls: type):
    assert set(SETTINGS[cls]) == {field.name for field in fields(cls)}


def test_the_error_about_blocks_has_both_sizes():
    with pytest.raises(ConfigError, match=r"^model\.block must divide model\.dim; 2 does not divide 5$"):
        RENetConfig(dim=5, block=2)
