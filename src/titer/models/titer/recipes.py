"""The three recipes of TITer, each in full: the text of the paper, the released code, and the tuned settings.

A recipe has a value for every setting of the model in which two of the recipes differ. Settings that depend on the
dataset, such as N and the unit of time, and settings of the training are in the configuration files.
"""

from typing import Any

PAPER: dict[str, Any] = {
    "strictly_back": False,
    "may_stay_at_first": True,
    "loop_counts_as_edge": False,
    "start_relation": "own",
    "initialisation": "xavier",
    "time_initialisation": "xavier",
    "freeze_state_on_self_loop": True,
    "sampled_reward": True,
    "entropy_decays_per": "epoch",
    "final_beam": True,
}
"""What the text says. Where it is silent, what the released code does."""

RELEASED: dict[str, Any] = {
    "strictly_back": True,
    "may_stay_at_first": False,
    "loop_counts_as_edge": True,
    "start_relation": "self_loop",
    "initialisation": "normal",
    "time_initialisation": "scales",
    "freeze_state_on_self_loop": False,
    "sampled_reward": True,
    "entropy_decays_per": "batch",
    "final_beam": False,
}
"""What the code of the authors does on a GPU, https://github.com/JHL-HUST/TITer at commit 2f79a63."""

TUNED: dict[str, Any] = {
    "strictly_back": True,
    "may_stay_at_first": False,
    "loop_counts_as_edge": False,
    "start_relation": "own",
    "initialisation": "normal",
    "time_initialisation": "scales",
    "freeze_state_on_self_loop": False,
    "sampled_reward": False,
    "entropy_decays_per": "batch",
    "final_beam": False,
}
"""The defaults. The configurations for the benchmarks add settings chosen on each validation split."""

PRESETS = {"paper": PAPER, "released": RELEASED, "tuned": TUNED}
